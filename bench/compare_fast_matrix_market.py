#!/usr/bin/env python3
"""Reading speed beside the PyPI package fast_matrix_market, on the same files and threads.

Needs fast_matrix_market, numpy and scipy (pip install fast_matrix_market numpy scipy) and a build of bench/:
  bench/compare_fast_matrix_market.py --reader build/cpu-only/bin/tulle_read_matrix_market FILE... [--threads 1 2]

Prints the best of --repeats runs, in MB of text a second. tulle's time ends with a CSR with sorted rows;
fast_matrix_market's is given for triplets (read_coo) and for a SciPy COO matrix with symmetry expanded (mmread).
"""
import argparse
import json
import os
import subprocess
import time

import fast_matrix_market as fmm


def best_seconds(call, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--reader", required=True)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    print(f"{'file':24} {'threads':>7} {'tulle':>8} {'read_coo':>8} {'mmread':>8}  MB/s")
    for file in args.files:
        megabytes = os.path.getsize(file) / 1e6
        for threads in args.threads:
            command = [args.reader, file, str(threads), str(args.repeats)]
            tulle = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["seconds"]
            coo = best_seconds(lambda: fmm.read_coo(file, parallelism=threads), args.repeats)
            mmread = best_seconds(lambda: fmm.mmread(file, parallelism=threads), args.repeats)
            speeds = "".join(f" {megabytes / seconds:8.0f}" for seconds in (tulle, coo, mmread))
            print(f"{os.path.basename(file):24} {threads:7}{speeds}", flush=True)


if __name__ == "__main__":
    main()
