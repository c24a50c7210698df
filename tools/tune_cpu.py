"""Fits the costs of src/plan/spmv_costs_cpu.hpp to records of bench/choice_cpu.cpp and writes them there.

  tools/tune cpu [--program build/cpu-only/bin/tulle_choice_cpu] [--write] RECORD.json...

Each record was measured on one class of processors (its context says which). Costs are fitted on the families that the records of a class
call fitted, on one thread, where predictions are used (up to 4 or 32 MB of values and columns, or whatever the size), but not to
times of kernels that a record's context calls changed: their code is another since. Printed: the regret (time of what
is predicted fastest over that of the fastest kernel there is, geometric mean and worst) on them, on those left out, and by leaving out each
family of the fitted in turn. With --write the costs are written into the header, and into each record what was fitted on what."""
import argparse
import json
import math
import re
import subprocess
from pathlib import Path

import tune_costs

ROOT = Path(__file__).resolve().parent.parent
HEADER = ROOT / "src/plan/spmv_costs_cpu.hpp"
KERNELS = ["csr.serial", "packed", "sell", "bsr", "bin_bsr.compact"]  # kernels_cpu of the header
TERMS = 12
MOST_BYTES = {"gathers": 4 << 20, "loads": math.inf, "narrow": 32 << 20, ("narrow", "f32"): 64 << 20}  # by class of processors, as most_predicted_bytes_cpu of the header
FITTED_WHOLE = {("narrow", "f32")}  # to matrices of all sizes: better on the fitted families too. In f64 it is not
LEAST_SAMPLES = 12
LEAST_NONZEROS = 50


def value_bytes(run):
    return 8 if run["precision"] == "f64" else 4


def small(run):
    """Whether predictions decide for it."""
    most = MOST_BYTES.get((run["processor"], run["precision"]), MOST_BYTES[run["processor"]])
    return run["nnz"] * (value_bytes(run) + 4) <= most


def is_fitted(run):
    """Whether costs are fitted to it."""
    sized = small(run) or (run["processor"], run["precision"]) in FITTED_WHOLE
    return run["fitted"] and run["nnz"] >= LEAST_NONZEROS and sized


def fit_all(runs):
    """{(kernel, precision): costs} of runs on one thread."""
    costs = {}
    for kernel in KERNELS:
        for precision in ("f64", "f32"):
            samples = [(r["kernels"][kernel]["terms"], 1000 * r["us"][kernel]) for r in runs
                       if r["precision"] == precision and r["threads"] == 1 and kernel in r["kernels"] and kernel in r["us"]
                       and kernel not in r["changed"]]
            samples = [([*terms, *[0] * (TERMS - len(terms))], ns) for terms, ns in samples]
            costs[kernel, precision] = tune_costs.fit(samples) if len(samples) >= LEAST_SAMPLES else None
    return costs


def bring_to_speed(runs, of):
    """Times of one record as on the machine of another, `of`, by what the same kernels took on the same matrices on one thread: costs
    are proportions, and a kernel that changed is fitted on fewer machines than the others."""
    key = lambda r: (r["family"], r["nnz"], r["precision"], r["threads"])
    there = {key(r): r["us"] for r in of}
    ratios = [there[key(r)][k] / us for r in runs if r["threads"] == 1 and key(r) in there for k, us in r["us"].items()
              if k in there[key(r)] and k not in r["changed"] and r["nnz"] >= LEAST_NONZEROS]
    factor = tune_costs.geometric_mean(ratios)
    return [r | {"us": {k: us * factor for k, us in r["us"].items()}} for r in runs]


def predicted(run, costs):
    """{kernel: microseconds} of those that the run has."""
    return {k: sum(c * t for c, t in zip(costs[k, run["precision"]], of["terms"])) / of["shares"]
            for k, of in run["kernels"].items() if costs[k, run["precision"]] and time_of(run, k)}


def time_of(run, kernel):
    """On one thread both kernels of CSR are the same."""
    csr = [k for k in ("csr.serial", "csr.balanced") if k in run["us"]]
    if run["threads"] > 1:
        csr = ["csr.serial" if run["kernels"][KERNELS[0]]["shares"] == 1 else "csr.balanced"]
    return min((run["us"][k] for k in csr if k in run["us"]), default=None) if kernel == KERNELS[0] else run["us"].get(kernel)


def regret(run, costs):
    times = predicted(run, costs)
    return time_of(run, min(times, key=times.get)) / min(run["us"].values())


def told(name, regrets):
    return f"{name:28} {len(regrets):5} {tune_costs.geometric_mean(regrets):.3f} {max(regrets):.2f}" if regrets else f"{name:28}     -"


def report(runs, costs):
    for precision in ("f64", "f32"):
        for threads in sorted({r["threads"] for r in runs}):
            those = [r for r in runs if (r["precision"], r["threads"]) == (precision, threads) and small(r)]
            for group, chosen in (("fitted", lambda r: r["fitted"]), ("left out", lambda r: not r["fitted"])):
                print(told(f"{precision} {threads} threads {group}", [regret(r, costs) for r in those if chosen(r)]))


def leave_one_out(runs):
    families = sorted({r["family"] for r in runs})
    left = tune_costs.leave_one_out(families, lambda those: fit_all([r for r in runs if r["family"] in those]),
                                    lambda costs, family: [regret(r, costs) for r in runs if r["family"] == family])
    print(told("each fitted family left out", [g for regrets in left.values() for g in regrets]))


def as_cpp(name, costs):
    def one(kernel, precision):
        found = costs[kernel, precision]
        return "{" + ", ".join(f"{c:.3g}" for c in found) + "}" if found else "{1e9}"
    lines = [f"    {{{{{one(k, 'f64')},\n      {one(k, 'f32')}}}}},  // {k}" for k in KERNELS]
    return f"inline constexpr spmv_costs_cpu {name}{{{{\n" + "\n".join(lines) + "\n}};\n"


def write_split(file, runs):
    """What was fitted on and what was left out, into the record's context; a line for each matrix, as the program writes it."""
    record, most = json.loads(file.read_text()), MOST_BYTES[runs[0]["processor"]]
    record["context"]["fit"] = {"on": sorted({r["family"] for r in runs if r["fitted"]}),
                                "left_out": sorted({r["family"] for r in runs if not r["fitted"]}),
                                "threads": 1, "most_bytes": most if most < math.inf else None, "least_nonzeros": LEAST_NONZEROS}
    lines = ",\n".join(json.dumps(m, separators=(",", ":"), ensure_ascii=False) for m in record["choice_cpu"])
    context = json.dumps(record["context"], separators=(",", ":"), ensure_ascii=False)
    file.write_text(f'{{"context": {context},\n"choice_cpu": [\n{lines}]}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "build/cpu-only/bin/tulle_choice_cpu")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--no-leaving-out", action="store_true", help="as it takes a minute")
    parser.add_argument("records", type=Path, nargs="+")
    args = parser.parse_args()
    header = HEADER.read_text()
    of_class = {}
    for file in args.records:
        context = json.loads(file.read_text())["context"]
        processor, of_file = context["processor"], {"processor": context["processor"], "changed": context.get("changed", [])}
        lines = subprocess.run([args.program, file, "terms"], check=True, capture_output=True, text=True).stdout
        runs = [json.loads(line) | of_file for line in lines.splitlines()]
        of_class.setdefault(processor, {})[file] = runs
    for processor, records in of_class.items():
        first = next(iter(records.values()))
        fitted = [r for runs in records.values() for r in (runs if runs is first else bring_to_speed(runs, first)) if is_fitted(r)]
        costs = fit_all(fitted)
        for file, runs in records.items():
            print(f"{file.name} ({processor})")
            report(runs, costs)
            if args.write:
                write_split(file, runs)
        if not args.no_leaving_out:
            leave_one_out([r for r in fitted if r["threads"] == 1])
        header = re.sub(rf"inline constexpr spmv_costs_cpu costs_by_{processor}\b.*?;\n", lambda _: as_cpp(f"costs_by_{processor}", costs),
                        header, flags=re.S)
    if args.write:
        HEADER.write_text(header)
