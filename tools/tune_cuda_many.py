"""Makes the costs that a plan chooses CUDA kernels for several right-hand sides by: src/plan/spmm_tuning_cuda.hpp.

    tools/tune cuda_many RECORD.jsonl [--against OTHER.jsonl] [--judge] [--results FILE.json]

A record is what `tulle_choice_many RECORD.jsonl SECONDS` writes (bench/choice_many.cpp). Costs are microseconds a term
(src/plan/spmm_terms_cuda.hpp), fitted as those for one vector are (tools/tune_cuda.py), for each number of columns, order and
precision apart. How good choices are is said of the record's families, by costs that they were left out of and by the final ones,
and with --against of those of another record, none of them fitted. --judge: writes no costs. --results: rows for
tools/bench_table.py. Needs tulle_choice_many_terms. Then build again."""
import argparse
import json
import subprocess
from collections import defaultdict
from pathlib import Path

import tune_costs
import tune_cuda

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "src/plan/tuning/many/nvidia_h200.json"
HEADER = ROOT / "src/plan/spmm_tuning_cuda.hpp"
TASKS = ["8r", "32r", "128r", "8c", "32c"]
LEAST_SAMPLES = 20
MOST_LINES = 16  # of short rows that csr.warp is fitted to with many columns, over those that stay whole
LEAST_GAIN = 1.001  # of a kernel that is ever chosen: what the others would take in the mean, were it not there
NOT_JUDGED = {"default", "measured"}


def read(record, program):
    lines = subprocess.run([program, record], check=True, capture_output=True, text=True).stdout.splitlines()
    cases = defaultdict(list)
    for case in map(json.loads, lines):
        case["ours"] = {k: us for k, us in case["us"].items() if not k.startswith("cusparse") and k not in NOT_JUDGED}
        case["fastest"] = min(case["ours"].values())
        cases[case["task"], case["precision"]].append(case)
    return cases


def is_wide(case):
    return case["task"] in ("32r", "128r")


def has_short_rows(case):
    """Whether csr.warp stands for csr.pieces there, or nearly (short_rows of src/kernels/row_lanes.hpp)."""
    return is_wide(case) and case["of_few_lines"] is not None and case["of_few_lines"] <= MOST_LINES


def fitted(case, kernel):
    """Whether costs are fitted to what it took there."""
    if kernel == "bin_bsr.compact" and (is_wide(case) or case["fill"] < 0.4 or case["skew"] >= 16 or case["block_rows"] < 4096):
        return False
    if kernel == "csr.warp" and is_wide(case) and not has_short_rows(case):
        return False
    walks_a_row = case["longest"] > 1000 or case["skew"] >= 16  # by one block
    if kernel == "csr.warp" and not is_wide(case) and walks_a_row and not case["whole"]:
        return False
    if kernel == "csr.pieces" and case["whole"]:
        return False
    return kernel in case["ours"]


def considered(case, kernel):
    """As spmm_choice_cuda.cpp. Blocks that are less full won nowhere."""
    if kernel == "csr.warp" and is_wide(case) and not case["whole"]:
        return False
    return fitted(case, kernel) and (kernel != "bin_bsr.compact" or case["fill"] >= 0.7)


def gain(cases, kernel):
    def fastest(case, without=None):
        return min((us for k, us in case["ours"].items() if k != without and considered(case, k)), default=float("inf"))

    return tune_costs.geometric_mean([fastest(c, kernel) / fastest(c) for c in cases])


def fit_all(cases):
    out = {}
    for kernel in cases[0]["terms"]:
        samples = [(c["terms"][kernel], c["ours"][kernel], c["fastest"]) for c in cases if fitted(c, kernel)]
        taken = len(samples) >= LEAST_SAMPLES and gain(cases, kernel) >= LEAST_GAIN
        out[kernel] = tune_cuda.fit(samples, 0) if taken else [1e9] + [0.0] * (len(cases[0]["terms"][kernel]) - 1)
    return out


def choice(case, costs):
    of = {k: tune_cuda.predicted(costs[k], case["terms"][k]) for k in costs if considered(case, k)}
    return min(of, key=of.get)


def choices_left_out(cases):
    """What is chosen by costs that its family was left out of, a sixth of the families at a time."""
    families = sorted({c["family"] for c in cases})
    costs = {}
    for part in (families[i::6] for i in range(6)):
        costs |= dict.fromkeys(part, fit_all([c for c in cases if c["family"] not in part]))
    return [choice(c, costs[c["family"]]) for c in cases]


def report(key, group, cases, chosen):
    """Prints a line and the worst; a row of the table."""
    name = f"{key[0]} {key[1]} {group}"
    regrets = [c["ours"][k] / c["fastest"] for c, k in zip(cases, chosen)]
    before = [c["us"]["default"] / c["fastest"] for c in cases]
    measured = [c["us"]["measured"] / c["fastest"] for c in cases if "measured" in c["us"]]
    text = f"{name}: {len(cases)} matrices, regret {tune_costs.geometric_mean(regrets):.3f} / {max(regrets):.2f}"
    text += f", of what plans took {tune_costs.geometric_mean(before):.3f} / {max(before):.2f}"
    vendor = [min((us for k, us in c["us"].items() if k.startswith("cusparse")), default=0) / c["ours"][k] for c, k in zip(cases, chosen)]
    if min(vendor) > 0:
        text += f"; vendor / chosen {tune_costs.geometric_mean(vendor):.2f}, least {min(vendor):.2f}, below 1 {sum(v < 1 for v in vendor)}"
    if measured:
        text += f"; at effort max {tune_costs.geometric_mean(measured):.3f} / {max(measured):.2f}"
    print(text)
    for regret, c, k in sorted(zip(regrets, cases, chosen), key=lambda t: -t[0])[:3]:
        print(f"   {regret:.2f} {c['family']} {c['parameters']} ({c['nnz']}): {k}, {min(c['ours'], key=c['ours'].get)}")
    regret = [f"{tune_costs.geometric_mean(r):.3f} / {max(r):.2f}" if r else "-" for r in (regrets, before, measured)]
    over = [f"{tune_costs.geometric_mean(vendor):.2f} / {min(vendor):.2f}", str(sum(v < 1 for v in vendor))] if min(vendor) > 0 else ["-", "-"]
    return [f"{int(key[0][:-1])}, by {'rows' if key[0][-1] == 'r' else 'columns'}", key[1], group, str(len(cases)), *regret, *over]


HEADINGS = ["columns", "precision", "families", "matrices", "regret, chosen by costs", "of plans when measured", "at effort max", "over the vendor", "below 1"]


def as_cpp(costs):
    lines = "".join("        {" + ", ".join(f"{v:.4g}" for v in of) + f"}},  // {k}\n" for k, of in costs.items())
    return "      {{\n" + lines + "      }},\n"


def write(context, fitted):
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text(json.dumps({"context": context, **{f"{t}/{p}": {k: [float(f"{v:.4g}") for v in of] for k, of in c.items()}
                                                       for (t, p), c in fitted.items()}}, indent=None).replace('], "', '],\n"') + "\n")
    body = "".join(f"    {{{int(t[:-1])}, {'true' if t[-1] == 'r' else 'false'},\n{as_cpp(fitted[t, 'f64'])}{as_cpp(fitted[t, 'f32'])}    }},\n"
                   for t in TASKS)
    HEADER.write_text("// Made by tools/tune cuda_many; the same numbers are in src/plan/tuning/many. Microseconds a term, in the order of\n"
                      "// spmm_terms_cuda::term, by kernel in the order of many_candidates: f64, then f32.\n#pragma once\n\n"
                      "#include \"plan/spmm_choice_cuda.hpp\"\n\nnamespace tulle {\n\n// clang-format off\n"
                      f"inline constexpr spmm_device_class spmm_tuning_cuda{{\"{context['device']}\", {context['multiprocessors']}, "
                      f"{context['memory_gbs']:.0f}, {{{{\n{body}}}}}}};\n// clang-format on\n\n}}  // namespace tulle\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", type=Path)
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--against", type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin", help="where the bench programs are")
    args = parser.parse_args()
    terms = args.bin / "tulle_choice_many_terms"
    cases = read(args.record, terms)
    fitted = {key: fit_all(of) for key, of in cases.items()}
    rows = []
    if args.against:
        rows += [report(key, "left out", of, [choice(c, fitted[key]) for c in of]) for key, of in read(args.against, terms).items()]
    rows += [report(key, "fitted, left out by sixths", of, choices_left_out(of)) for key, of in cases.items()]
    rows += [report(key, "fitted", of, [choice(c, fitted[key]) for c in of]) for key, of in cases.items()]
    if args.results:
        context = json.loads(args.record.open().readline())["context"]
        if args.against:
            context["commit"] += "; left out " + json.loads(args.against.open().readline())["context"]["commit"]
        args.results.write_text(json.dumps({"context": context, "header": HEADINGS, "rows": rows}, indent=1) + "\n")
    if not args.judge:
        write(json.loads(args.record.open().readline())["context"], fitted)
