"""Makes the costs that a plan chooses CUDA kernels by from measurements: src/plan/spmv_tuning_cuda.hpp.

    tools/tune cuda RECORD.jsonl                  fits; measures first where there is no such file and a GPU is
    tools/tune cuda RECORD.jsonl --judge          how good choices are on families left out of the fit, one family at a time
    tools/tune cuda RECORD.jsonl --against OTHER.jsonl    and on the families of another record, none of them fitted

A record is what `tulle_choice_cuda RECORD.jsonl SECONDS all` writes (bench/choice_cuda.cpp). Its device gets a file of its own
in src/plan/tuning; the header has those of all files. Costs are microseconds a term (src/plan/spmv_terms_cuda.hpp), not
negative, by least squares of relative errors, f64 and f32 apart. Where a kernel is far from the fastest only that counts: its
prediction need not be right, but must not come near (docs/notes/0027-choice-cuda.md). Needs tulle_choice_cuda_terms, which a
build without CUDA has too. Then build again.
"""

import argparse
import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import tune_costs

ROOT = Path(__file__).resolve().parent.parent
TUNING = ROOT / "src/plan/tuning"
HEADER = ROOT / "src/plan/spmv_tuning_cuda.hpp"
FAR = 1.6  # times the fastest: from here on a prediction is not asked to be right
BLOCKS, LEAST_BLOCK_ROWS = "bin_bsr.compact", 4096e-6  # in millions; fewer are never chosen
BYTES, LEAST_BYTES = 4, 0.12  # the term, and the least microseconds of a megabyte: 60% of what an H200's memory takes
MARGIN = {"packed": 1.03, "sell": 1.03, "ell": 1.03}  # margin_cuda of src/plan/spmv_costs_cuda.hpp
MOST_BYTES = 3  # times those of csr5: blocks with so many holes are never chosen


def fit(samples, least_bytes=LEAST_BYTES):
    """Costs from (terms, microseconds, microseconds of the fastest kernel)."""
    rows = []
    for terms, us, fastest in samples:
        far = us > FAR * fastest
        target = min(us, 2.2 * fastest) if far else us
        rows.append((terms, target, (0.5 if far else 1) / target, far, FAR * 1.15 * fastest))
    active = [True] * len(rows)
    for _ in range(40):  # until no sample changes sides
        n = len(rows[0][0])
        gram, right = [[0.0] * n for _ in range(n)], [0.0] * n
        for (terms, target, weight, _, _), used in zip(rows, active):
            if not used:
                continue
            weighted = [t * weight for t in terms]
            hit = [i for i in range(n) if weighted[i]]
            for i in hit:
                right[i] += weighted[i] * (target - least_bytes * terms[BYTES]) * weight
                for j in hit:
                    gram[i][j] += weighted[i] * weighted[j]
        costs = tune_costs.non_negative(gram, right)
        costs[BYTES] += least_bytes
        now = [not far or predicted(costs, terms) < near for terms, _, _, far, near in rows]
        if now == active:
            break
        active = now
    return costs


def predicted(costs, terms):
    return sum(c * t for c, t in zip(costs, terms))


def is_ours(kernel):
    return not kernel.startswith("cusparse")


def read_terms(record, program):
    """The cases of a record by precision, with what the fastest of our kernels took."""
    lines = subprocess.run([program, record], check=True, capture_output=True, text=True).stdout.splitlines()
    cases = defaultdict(list)
    for line in lines:
        case = json.loads(line)
        if not case["us"]:
            continue
        case["fastest"] = min(us for kernel, us in case["us"].items() if is_ours(kernel))
        cases[case["precision"]].append(case)
    return cases


def considered(case, kernel):
    """Whether `default` would predict that kernel (plan/choose_spmv.cpp), and it was measured."""
    if kernel not in case["us"]:
        return False
    terms, csr5 = case["terms"][kernel], case["terms"]["csr5"]
    return kernel != BLOCKS or (terms[10] >= LEAST_BLOCK_ROWS and terms[4] < MOST_BYTES * csr5[4])


def fit_all(cases):
    kernels = list(cases[0]["terms"])
    out = {}
    for k in kernels:
        samples = [(c["terms"][k], c["us"][k], c["fastest"]) for c in cases if considered(c, k)]
        out[k] = fit(samples) if samples else [1e9] + [0.0] * (len(cases[0]["terms"][k]) - 1)
    return out


def choice(case, costs):
    of = {k: predicted(costs[k], case["terms"][k]) * MARGIN.get(k, 1) for k in costs if considered(case, k)}
    return min(of, key=of.get)


def report(name, cases, choices):
    """One line, and the worst ones."""
    regrets = [c["us"][k] / c["fastest"] for c, k in zip(cases, choices)]
    vendor = [min(us for v, us in c["us"].items() if not is_ours(v)) / c["us"][k] for c, k in zip(cases, choices)]
    by_size = sorted(zip(regrets, cases, choices), key=lambda t: -t[0])
    print(f"{name}: {len(cases)} matrices, regret {tune_costs.geometric_mean(regrets):.4f}, worst {max(regrets):.2f}, "
          f"above 1.05 {sum(r > 1.05 for r in regrets)}, above 1.12 {sum(r > 1.12 for r in regrets)}; "
          f"vendor / chosen {tune_costs.geometric_mean(vendor):.3f}, least {min(vendor):.2f}, below 1 {sum(v < 1 for v in vendor)}")
    for regret, c, k in by_size[:8]:
        best = min((v for v in c["us"] if is_ours(v)), key=c["us"].get)
        print(f"   {regret:.2f} {c['family']} {c['parameters']} ({c['nnz']}): {k} {c['us'][k]}, {best} {c['us'][best]}")


def choices_left_out(of):
    """For every case what is chosen by costs that its family was left out of."""
    by_family = {family: fit_all([c for c in of if c["family"] != family]) for family in sorted({c["family"] for c in of})}
    return [choice(c, by_family[c["family"]]) for c in of]


def write_results(file, context, cases, others, costs):
    """What tools/bench_table.py makes tables of."""
    found = [(True, c, k) for of in cases.values() for c, k in zip(of, choices_left_out(of))]
    found += [(False, c, choice(c, costs[p])) for p, of in others.items() for c in of]
    lines = [json.dumps({"family": c["family"], "parameters": c["parameters"], "nnz": c["nnz"], "precision": c["precision"],
                         "fitted": fitted, "chosen": k, "measured_us": c["measured_us"], "us": c["us"]}) for fitted, c, k in found]
    file.write_text(json.dumps({"context": context})[:-1] + ',\n"choice_cuda": [\n' + ",\n".join(lines) + "\n]}\n")


def write_header():
    entries = []
    for file in sorted(TUNING.glob("*.json")):
        d = json.loads(file.read_text())
        c = d["context"]
        tables = []
        for precision in ("f64", "f32"):
            lines = [", ".join(f"{v:.4g}" for v in costs) for costs in d[precision].values()]
            kernels = list(d[precision])
            body = "".join(f"        {{{line}}},  // {k}\n" for k, line in zip(kernels, lines))
            tables.append("      {{\n" + "".join("    " + l + "\n" for l in body.splitlines()) + "      }},\n")
        entries.append(f"    // {file.name}: commit {c['commit']}, {c['date']}\n    {{\"{c['device']}\", {c['compute_capability']}, "
                       f"{c['multiprocessors']}, {c['memory_gbs']:.0f},\n" + "".join(tables) + "    },\n")
    text = ("// Made by tools/tune from src/plan/tuning. Microseconds a term, in the order of spmv_terms_cuda::term, by kernel in\n"
            "// the order of cuda_candidates: f64, then f32.\n#pragma once\n\n#include <array>\n\n"
            "#include \"plan/spmv_costs_cuda.hpp\"\n\nnamespace tulle {\n\n// clang-format off\n"
            f"inline constexpr std::array<spmv_device_class, {len(entries)}> spmv_tuning_cuda = {{{{\n" + "".join(entries) +
            "}};\n// clang-format on\n\n}  // namespace tulle\n")
    HEADER.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", type=Path)
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--against", type=Path)
    parser.add_argument("--results", type=Path, help="with --against: where both go for tools/bench_table.py")
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin", help="where the bench programs are")
    args = parser.parse_args()
    if not args.record.exists():
        subprocess.run([args.bin / "tulle_choice_cuda", args.record, "300", "all"], check=True)
    terms = args.bin / "tulle_choice_cuda_terms"
    cases = read_terms(args.record, terms)
    context = json.loads(args.record.open().readline())["context"]
    if args.judge:
        for precision, of in cases.items():
            report(f"{precision}, one family left out", of, choices_left_out(of))
        return None
    costs = {precision: fit_all(of) for precision, of in cases.items()}
    if args.against:
        others = read_terms(args.against, terms)
        for precision, of in others.items():
            report(f"{precision}, {args.against.name}", of, [choice(c, costs[precision]) for c in of])
        if args.results:
            write_results(args.results, context, cases, others, costs)
        return None
    TUNING.mkdir(exist_ok=True)
    file = TUNING / (re.sub(r"\W+", "_", context["device"].lower()) + ".json")
    table = {p: {k: [float(f"{v:.4g}") for v in of] for k, of in costs[p].items()} for p in costs}
    file.write_text(json.dumps({"context": context, **table}, indent=1) + "\n")
    write_header()
    for precision, of in cases.items():
        report(f"{precision}, all fitted", of, [choice(c, costs[precision]) for c in of])
    return None
