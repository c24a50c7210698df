"""Judges what plans take for several right-hand sides on a CPU: CSR, whatever the matrix. There is nothing to fit.

    tools/tune cpu_many RECORD.jsonl [--results FILE.json]

A record is what `tulle_choice_many_cpu RECORD.jsonl SECONDS 1` writes (bench/choice_many_cpu.cpp). Printed, and written for
tools/bench_table.py: how far each kernel is from the fastest one, geometric mean and worst, and how often it is within 2% of it."""
import argparse
import json
from pathlib import Path

import tune_costs

KERNELS = ["csr.serial", "packed", "bsr", "bin_bsr.compact"]
HEADINGS = ["columns", "precision", "families", "matrices", *KERNELS]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", type=Path)
    parser.add_argument("--results", type=Path)
    args = parser.parse_args()
    context, *matrices = [json.loads(line) for line in args.record.open()]
    rows = []
    for fitted, group in ((False, "left out"), (True, "others")):
        for task in ("8r", "32r", "8c", "32c"):
            for precision in ("f64", "f32"):
                of = [{k: us for k, us in m[precision][task]["us"].items() if k in KERNELS} for m in matrices if m["fitted"] == fitted]
                cells = []
                for kernel in KERNELS:
                    regrets = [us[kernel] / min(us.values()) for us in of if kernel in us]
                    near = sum(r <= 1.02 for r in regrets)
                    cells.append(f"{tune_costs.geometric_mean(regrets):.3f} / {max(regrets):.2f} ({near})")
                rows.append([f"{int(task[:-1])}, by {'rows' if task[-1] == 'r' else 'columns'}", precision, group, str(len(of)), *cells])
                print(*rows[-1], sep="; ")
    if args.results:
        args.results.write_text(json.dumps({"context": context["context"], "header": HEADINGS, "rows": rows}, indent=1) + "\n")
