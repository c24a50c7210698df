#!/usr/bin/env python3
"""What a product costs from Python beyond the C++ call: a kept operator, a kept operator into a given array, and SciPy's own `@`
with tulle.install() (a plan for each product), beside SciPy's and beside the same kernel called from C++.

Needs a Python with tulle, numpy and scipy, and the command line:
  OMP_NUM_THREADS=1 bench/python_overhead.py --tulle build/cpu-only/bin/tulle -o bench/results/python_overhead.json
  bench/python_overhead.py --table bench/results/python_overhead.json

Matrices of n rows, 5 entries each in random columns, f64. From Python: the least of --rounds runs of 5 ms and more, by turns. From
C++: the median of 200 calls, as `tulle bench --latency` has it. Microseconds of one product.
"""
import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WAYS = {"apply": "A.apply(x, y)", "kept": "A @ x", "installed": "a @ x, installed", "scipy": "a @ x of SciPy"}
BARS = {"kept": 2.0, "installed": 6.0}  # microseconds beyond the C++ call


def loop(work, count):
    begin = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - begin) / count


def from_python(a, x, rounds):
    """(least seconds of each way, the kernel of the kept operator)"""
    import numpy as np
    import tulle

    A, y = tulle.operator(a), np.empty(a.shape[0])
    works = {"apply": lambda: A.apply(x, y), "kept": lambda: A @ x, "installed": lambda: a @ x, "scipy": lambda: a @ x}
    least = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for way, work in works.items():
            if way == "installed":
                tulle.install()
            count = max(10, int(0.005 / max(loop(work, 10), 1e-8)))
            least[way] = min(least[way], loop(work, count))
            if way == "installed":
                tulle.uninstall()
    return least, A.kernel


def from_cpp(program, file, kernel):
    """Median seconds of a call, from its beginning to its end."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([program, "bench", file, "--latency", "--warm", "--no-diagnosis", "--no-bandwidth", "--kernels", kernel,
                        "--repeat", "200", "-o", out.name], check=True, capture_output=True)
        return 1e-6 * json.loads(Path(out.name).read_text())["benchmarks"][0]["host_us"]


def measure(args):
    import numpy as np
    import scipy
    import tulle

    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    context = {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": tulle.doctor()["commit"], "cpu": cpu,
               "threads": tulle.doctor()["threads"], "load_before": os.getloadavg()[0], "python": platform.python_version(),
               "numpy": np.__version__, "scipy": scipy.__version__}
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for n in args.rows:
            file = Path(folder) / f"{n}.mtx"
            subprocess.run([args.tulle, "generate", f"gen:uniform:n={n},degree=5", "-o", file], check=True, capture_output=True)
            a = tulle.io.mmread(file, format="csr", spmatrix=False)
            x = np.random.default_rng(1).uniform(-1, 1, n)
            seconds, kernel = from_python(a, x, args.rounds)
            seconds["cpp"] = from_cpp(args.tulle, file, kernel)
            records.append({"rows": n, "nnz": int(a.nnz), "kernel": kernel, "python_calls": seconds})
            print(n, kernel, {way: f"{1e6 * s:.2f}" for way, s in seconds.items()}, file=sys.stderr, flush=True)
    return {"context": context, "results": records}


def table(run):
    lines = ["| rows | kernel | C++ | " + " | ".join(WAYS.values()) + " |", "| --: | :-- | --: |" + " --: |" * len(WAYS)]
    for r in run["results"]:
        micro = {way: 1e6 * s for way, s in r["python_calls"].items()}

        def cell(way):
            over = micro[way] - micro["cpp"] > BARS.get(way, float("inf"))
            return f"**{micro[way]:.2f}**" if over else f"{micro[way]:.2f}"

        lines.append(f"| {r['rows']:,} | `{r['kernel']}` | {micro['cpp']:.2f} | " + " | ".join(cell(way) for way in WAYS) + " |")
    c = run["context"]
    lines += ["", f"Microseconds of one product; bold where the kept operator takes more than {BARS['kept']:g} µs beyond the C++ call, or the "
              f"product under `tulle.install()` more than {BARS['installed']:g}. {c['cpu']}, {c['threads']} thread{'s' * (c['threads'] != 1)}, Python "
              f"{c['python']}, NumPy {c['numpy']}, SciPy {c['scipy']}; commit {c['commit']}, {c['date'][:10]}."]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="tulle", help="the command line")
    parser.add_argument("--rows", type=int, nargs="+", default=[10, 100, 1000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--table", type=Path, help="measure nothing: print the Markdown table of these records")
    args = parser.parse_args()
    result = json.loads(args.table.read_text()) if args.table else measure(args)
    if args.output:
        args.output.write_text(json.dumps(result, indent=1) + "\n")
    print(table(result))


if __name__ == "__main__":
    main()
