#!/usr/bin/env python3
"""Multiplies A by A under the least memory limit that tulle keeps, which is found by trying, and under larger ones, and
checks that the bytes counted never pass the limit and that C stays the same. Writes --output; exits with 1 if a limit was not kept.

Under the least limit a panel may be a single row, so that one is set for matrices of at most --least-rows rows only."""
import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SQUARES = ["gen:stencil:points=7,n=128", "gen:stencil:points=27,n=64", "gen:fem:dof=3,n=30", "gen:uniform:n=1048576,degree=8",
           "gen:rmat:scale=16,degree=8", "gen:short:n=4194304", "gen:stencil:points=7,n=16", "gen:stencil:points=27,n=16",
           "gen:fem:dof=3,n=12", "gen:uniform:n=8192,degree=8", "gen:rmat:scale=12,degree=8", "gen:short:n=8192"]


def product(args, matrix, limit):
    """What `tulle spgemm --json` says, or its error."""
    command = [args.tulle, "spgemm", matrix, matrix, "--backend", args.backend, "--json"]
    command += ["--memory-limit", str(limit)] if limit else []
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout)


def measured(args, matrix):
    """One record a limit: the least, found by trying what the refusals say is needed, and `--times` it."""
    least = 1
    while "error" in (refused := product(args, matrix, least)):
        least = int(re.search(r"at least (\d+) bytes", refused["error"]["message"])[1])
    whole = product(args, matrix, None)
    out = []
    times = [t for t in args.times if t > 1 or whole["rows"] <= args.least_rows]
    for limit in [least * t for t in times] + [None]:
        run = whole if limit is None else product(args, matrix, limit)
        kept = "error" not in run and (limit is None or run["peak_bytes"] <= limit)
        out.append({"matrix": matrix, "least": least, "limit": limit, "kept": kept, "same_bits": run.get("hash") == whole["hash"],
                    **{key: run.get(key) for key in ("peak_bytes", "microseconds", "products", "nnz", "reason", "error")}})
        print(f"{matrix}: limit {limit}, peak {run.get('peak_bytes')}, {run.get('microseconds')} us, "
              f"{'kept' if kept and out[-1]['same_bits'] else 'NOT KEPT'}", flush=True)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", nargs="*", default=SQUARES)
    parser.add_argument("--tulle", default=ROOT / "build" / "release" / "bin" / "tulle")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--times", type=int, nargs="+", default=[1, 2, 8, 64], help="limits, in multiples of the least")
    parser.add_argument("--least-rows", type=int, default=10_000, help="rows up to which the least itself is set")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help="where to write the records")
    parser.add_argument("--commit", help="recorded where there is no git checkout")
    args = parser.parse_args()
    machine = json.loads(subprocess.run([args.tulle, "doctor", "--json"], capture_output=True, text=True).stdout)
    commit = args.commit or subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12"], cwd=ROOT, capture_output=True,
                                           text=True).stdout.strip()
    records = [record for matrix in args.matrices for record in measured(args, matrix)]
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    args.output.write_text(json.dumps({"context": {"date": date, "commit": commit, "backend": args.backend, "machine": machine},
                                     "limits": records}, indent=1) + "\n")
    sys.exit(0 if all(record["kept"] and record["same_bits"] for record in records) else 1)


if __name__ == "__main__":
    main()
