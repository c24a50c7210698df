#!/usr/bin/env python3
"""Times `tulle spmv` and `spgemm` on one and two threads on a quiet machine and beside processes that keep its cores busy,
with another build alternating (--before). Medians of --runs processes in microseconds. Writes --output, which
tools/bench_table.py turns into a table; exits with 1 where two threads take more than 1.5 times what one takes under load."""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

GENERATED = ["gen:stencil:n=30", "gen:stencil:n=60", "gen:rmat:scale=12", "gen:diagonal:n=20000"]
SQUARES = ["gen:stencil:n=20", "gen:rmat:scale=9"]
MOST = 1.5


def run(tulle, words, threads):
    command = [tulle, *words, "--backend", "cpu", "--threads", str(threads), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def cases(args):
    spmv = [["spmv", m, "--repeat", "200"] for m in args.matrices + GENERATED]
    return spmv + [["spgemm", m, m, "--repeat", "20"] for m in args.squares + SQUARES]


def measure(args, busy):
    binaries = {"after": args.tulle} | ({"before": args.before} if args.before else {})
    out = []
    for words in cases(args):
        times = {}
        for _ in range(args.runs):
            for name, tulle in binaries.items():
                for threads in (1, 2):
                    times.setdefault(f"{name}_{threads}", []).append(run(tulle, words, threads)["microseconds"])
        name = pathlib.Path(words[1]).name.removesuffix(".mtx")
        out.append({"operation": words[0], "matrix": name, "busy": busy, **{k: statistics.median(v) for k, v in times.items()}})
        print(out[-1], flush=True)
    plans = {name: statistics.median(run(tulle, ["spmv", "gen:diagonal:n=5", "--repeat", "1"], 2)["plan_us"] for _ in range(9))
             for name, tulle in binaries.items()}
    out.append({"operation": "plan", "matrix": "gen:diagonal:n=5", "busy": busy, **{f"{k}_2": v for k, v in plans.items()}})
    print(out[-1], flush=True)
    return out


def table(record):
    """Header and rows, for bench_table."""
    number = lambda r, key: f"{r[key]:.3g}" if key in r else "-"
    header = ["operation", "matrix", "busy processes", "before, 2 threads", "before, 1", "2 threads", "1", "2 threads over 1"]
    rows = [[r["operation"], r["matrix"], str(r["busy"]), *(number(r, k) for k in ("before_2", "before_1", "after_2", "after_1")),
             f"{r['after_2'] / r['after_1']:.2f}" if "after_1" in r else "-"] for r in record["busy"]]
    return header, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", required=True)
    parser.add_argument("--before", help="an earlier build, measured in turn with the other")
    parser.add_argument("--matrices", nargs="*", default=[], help="files for y = A x, besides generated ones")
    parser.add_argument("--squares", nargs="*", default=[], help="files for C = A A, besides generated ones")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    args = parser.parse_args()
    machine = lambda tulle: json.loads(subprocess.run([tulle, "doctor", "--json", "--backend", "cpu"], capture_output=True, text=True).stdout)
    after = machine(args.tulle)
    context = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "commit": after["commit"],
               "before": machine(args.before)["commit"] if args.before else None, "cpu": after["cpu"]["name"], "cores": os.cpu_count()}
    found = measure(args, 0)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
    try:
        time.sleep(1)
        found += measure(args, len(busy))
    finally:
        for process in busy:
            process.kill()
    args.output.write_text(json.dumps({"context": context, "busy": found}, indent=1) + "\n")
    sys.exit(any(r["busy"] and r.get("after_1") and r["after_2"] > MOST * r["after_1"] for r in found))


if __name__ == "__main__":
    main()
