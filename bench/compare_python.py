#!/usr/bin/env python3
"""tulle for Python beside SciPy, on the same matrices and arrays: A @ x, A @ X of 8 and 32 columns, A @ B and mmread.

Needs a Python with tulle, numpy and scipy:
  OMP_NUM_THREADS=2 bench/compare_python.py --matrices FOLDER -o bench/results/python.json
  bench/compare_python.py --table bench/results/python.json

FOLDER has .mtx or .mtx.xz files, of which those with real values and --least nonzeros are taken; products are made with random
values in their patterns; B is A, or its transpose where A is not square. Where C has more than --most-entries entries A @ B is left out. tulle multiplies by a kept operator (`x`, `X8`, `X32`), by tulle.install() under SciPy's own @ (`x installed`) and by
tulle.matmul; mmread is timed on the unpacked file, the result a COO. Both in turns, --rounds times; the median counts. SciPy's
products have one thread, its mmread as many as tulle. Products are held to tulle's error bound against SciPy's. --processor-time
counts what all threads spend, which other programs disturb less: with one thread it is what a quiet machine would take.
"""
import argparse
import json
import lzma
import math
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

COLUMNS = {"x": "A @ x", "x installed": "A @ x, installed", "X8": "8 columns", "X32": "32 columns", "AB": "A @ B", "mmread": "mmread"}
BARS = {"x": 1.5, "X8": 2, "X32": 2, "AB": 3, "mmread": 5}


def files(source, folder, least):
    """Name and path of the matrices that are taken; .xz files are unpacked into `folder`."""
    for file in sorted(source.glob("*.mtx*")):
        opened = lzma.open(file) if file.suffix == ".xz" else open(file, "rb")
        with opened as text:
            header = text.readline().lower().split()
            line = text.readline()
            while line.startswith(b"%"):
                line = text.readline()
        if header[2] != b"coordinate" or header[3] == b"complex" or int(line.split()[2]) < least:
            continue
        name = file.name.split(".mtx")[0]
        if file.suffix == ".xz":
            unpacked = folder / f"{name}.mtx"
            with lzma.open(file) as packed, open(unpacked, "wb") as to:
                shutil.copyfileobj(packed, to)
            file = unpacked
        yield name, file


def median(times):
    return sorted(times)[len(times) // 2]


clock = time.perf_counter


def both(ours, theirs, rounds, at_least):
    """Median seconds of a call, (ours, theirs), in turns."""
    counts = []
    for call in (ours, theirs):
        call()
        begin = clock()
        call()
        counts.append(max(1, int(at_least / max(clock() - begin, 1e-7))))
    times = [], []
    for _ in range(rounds):
        for call, count, kept in zip((ours, theirs), counts, times):
            begin = clock()
            for _ in range(count):
                call()
            kept.append((clock() - begin) / count)
    return median(times[0]), median(times[1])


def ratio(a, x, ours, theirs):
    """The largest difference as a share of what two results within the bound may differ by."""
    import numpy as np

    eps = 2.0**-53
    k = (np.diff(a.indptr) + 2.0) * eps
    bound = abs(a) @ abs(x)
    bound *= (2 * k / (1 - k))[:, None] if bound.ndim == 2 else 2 * k / (1 - k)
    error = abs(ours - theirs)
    return float(np.max(np.where(error > 0, error / np.where(bound > 0, bound, 5e-324), 0), initial=0))


def product_ratio(a, b, ours, theirs):
    """The same for C = A B, with gamma(n + 2) for the longest row n of A."""
    import numpy as np

    n = int(np.diff(a.indptr).max(initial=0))
    scale = abs(a) @ abs(b)
    error = abs(ours - theirs)
    if error.nnz == 0:
        return 0.0
    bound = 2 * (n + 2) * 2.0**-53
    over = error - scale * bound
    return 0.5 if over.nnz == 0 or over.data.max(initial=0) <= 0 else 2.0


def measure_one(name, file, args):
    import numpy as np
    import scipy.io
    import scipy.sparse
    import tulle

    record = {"matrix": name, "seconds": {}, "error_ratio": 0.0}
    times = record["seconds"]
    times["mmread"] = both(lambda: tulle.io.mmread(file, spmatrix=False), lambda: scipy.io.mmread(file, spmatrix=False), args.rounds, args.at_least)
    a = scipy.sparse.csr_array(scipy.io.mmread(file, spmatrix=False).astype(float))
    a.sum_duplicates()
    rng = np.random.default_rng(1)
    a.data[:] = rng.uniform(-1, 1, a.nnz)
    record |= {"rows": a.shape[0], "cols": a.shape[1], "nnz": int(a.nnz), "bytes": file.stat().st_size, "mmread": True}
    worst = []
    for key, columns in (("x", 0), ("X8", 8), ("X32", 32)):
        op = tulle.operator(a, columns=columns)
        x = rng.uniform(-1, 1, (a.shape[1], columns) if columns else a.shape[1])
        worst.append(ratio(a, x, op @ x, a @ x))
        times[key] = both(lambda: op @ x, lambda: a @ x, args.rounds, args.at_least)
        record.setdefault("kernels", {})[key] = op.kernel
        record.setdefault("plan_seconds", {})[key] = op.plan_seconds
        if key == "x":
            with tulle.install():
                worst.append(ratio(a, x, a @ x, op @ x))

            def installed():
                with tulle.install():
                    for _ in range(32):
                        a @ x

            def plain():
                for _ in range(32):
                    a @ x

            times["x installed"] = [t / 32 for t in both(installed, plain, args.rounds, args.at_least)]
    b = a if a.shape[0] == a.shape[1] else scipy.sparse.csr_array(a.T)
    products = int(np.diff(b.indptr)[a.indices].sum())
    ours = tulle.matmul(a, b) if products <= 100 * args.most_entries else None
    if ours is not None and ours.nnz <= args.most_entries:
        worst.append(product_ratio(a, b, ours, a @ b))
        del ours
        times["AB"] = both(lambda: tulle.matmul(a, b), lambda: a @ b, args.rounds, args.at_least)
    record["error_ratio"] = max(worst)
    return record


def context(threads):
    import numpy
    import scipy
    import tulle

    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": tulle.doctor()["commit"], "cpu": cpu,
            "cpus": os.cpu_count(), "threads": threads, "load_before": os.getloadavg()[0], "python": platform.python_version(),
            "numpy": numpy.__version__, "scipy": scipy.__version__}


def measure(args):
    from scipy.io import _fast_matrix_market

    _fast_matrix_market.PARALLELISM = args.threads
    result = {"context": context(args.threads) | {"clock": "processor" if args.processor_time else "wall"}, "results": []}
    with tempfile.TemporaryDirectory() as folder:
        for name, file in files(args.matrices, Path(folder), args.least):
            if args.only and name not in args.only:
                continue
            record = measure_one(name, file, args)
            result["results"].append(record)
            if args.output:
                args.output.write_text(json.dumps(result, indent=1) + "\n")
            speeds = "  ".join(f"{key} {theirs / ours:.2f}" for key, (ours, theirs) in record["seconds"].items())
            print(f"{name:32} {record['nnz']:9,}  {speeds}  error {record['error_ratio']:.2f}", file=sys.stderr, flush=True)
            if file.parent == Path(folder):
                file.unlink()
    return result


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def table(result, statistic="median"):
    speed = lambda r, key: r["seconds"][key][1] / r["seconds"][key][0] if key in r["seconds"] else None
    speeds = {key: [v for r in result["results"] if (v := speed(r, key)) is not None] for key in COLUMNS}
    show = lambda v: "" if v is None else f"{v:.2f}" if v >= 0.9 else f"**{v:.2f}**"
    lines = ["| matrix | nonzeros | A @ x, µs | " + " | ".join(COLUMNS.values()) + " |", "| :-- " + "| --: " * (len(COLUMNS) + 2) + "|"]
    for r in result["results"]:
        cells = [r["matrix"], f"{r['nnz']:,}", f"{1e6 * r['seconds']['x'][0]:.1f}", *(show(speed(r, key)) for key in COLUMNS)]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("| **geometric mean** | | | " + " | ".join(f"**{mean(speeds[key]):.2f}**" for key in COLUMNS) + " |")
    lines.append("| least | | | " + " | ".join(show(min(speeds[key])) for key in COLUMNS) + " |")
    c = result["context"]
    lines += ["", f"Speed over SciPy {c['scipy']}; below 0.9 in bold. {c['cpu']}, {c['threads']} threads, Python {c['python']}, NumPy {c['numpy']}; "
              f"{statistic} times{' of the processor' if c.get('clock') == 'processor' else ''}; largest error {max(r['error_ratio'] for r in result['results']):.2f} of the bound; commit {c['commit']}, {c['date'][:10]}"
              + (f", in {len(c['runs'])} runs one after another; without {', '.join(c['left_out'])}." if "runs" in c else ".")]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matrices", type=Path)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--least", type=int, default=10_000, help="entries in a file that is taken")
    parser.add_argument("--most-entries", type=int, default=10**8, help="of a C that is made")
    parser.add_argument("--threads", type=int, default=2, help="of both sides' mmread; products take OMP_NUM_THREADS")
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--at-least", type=float, default=0.005, help="seconds of a measurement")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--table", type=Path, help="measure nothing: print the Markdown table of these records")
    args = parser.parse_args()
    if args.processor_time:
        global clock
        clock = time.process_time
    result = json.loads(args.table.read_text()) if args.table else measure(args)
    print(table(result))


if __name__ == "__main__":
    main()
