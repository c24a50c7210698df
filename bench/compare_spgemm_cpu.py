#!/usr/bin/env python3
"""C = A A (A A^T where A is rectangular) on the CPU beside Eigen, MKL and SciPy, on the same matrices.

Needs a build of tulle (cmake --preset cpu-only), g++, Eigen (libeigen3-dev) and a Python with numpy, scipy and mkl:
  python3 -m venv venv && venv/bin/pip install numpy scipy mkl
  venv/bin/python bench/compare_spgemm_cpu.py --matrices FOLDER of .mtx or .mtx.xz -o bench/results/spgemm_cpu.json
  venv/bin/python bench/compare_spgemm_cpu.py --generated -o bench/results/spgemm_cpu_stencils.json
  venv/bin/python bench/compare_spgemm_cpu.py --table bench/results/spgemm_cpu.json

bench/spgemm_cpu_peers.cpp is compiled here with -O3 -march=native and measures the whole call of tulle from A and B to a
sorted C, tulle's numeric phase alone, Eigen's row-major product, which is sorted as well, and MKL's (mkl_sparse_spmm, alone
and with mkl_sparse_order), in turns in one process; --before: tulle of another build, in a process that follows.
SciPy, which has one thread as Eigen has, follows on the same arrays: A @ B, whose rows are not sorted, and the same with
sort_indices(). Values are random. Every C is checked: its pattern exactly, its values against the bound of
ARCHITECTURE.md (SciPy's against tulle's, with twice the bound). Measure on a quiet machine.
"""
import argparse
import json
import lzma
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compare_spmv_cpu import ROOT, context, median_min, save


GENERATED = {
    "5-point 1000²": "gen:stencil:points=5,n=1000",
    "9-point 700²": "gen:stencil:points=9,n=700",
    "7-point 100³": "gen:stencil:points=7,n=100",
    "27-point 50³": "gen:stencil:points=27,n=50",
    "5-point 1500 × 300": "gen:stencil:points=5,nx=1500,ny=300",
    "7-point 16 × 150 × 300": "gen:stencil:points=7,nx=16,ny=150,nz=300",
    "tridiagonal, 1M": "gen:banded:n=1000000,width=1",
    "band of 5, 1M": "gen:banded:n=1000000,width=2",
    "band of 41, 100k": "gen:banded:n=100000,width=20",
    "5-point 30²": "gen:stencil:points=5,n=30",
    "9-point 60²": "gen:stencil:points=9,n=60",
    "band of 7, 2000": "gen:banded:n=2000,width=3",
    "FEM, 3 unknowns, 16³": "gen:fem:dof=3,n=16",
    "1 to 4 a row, 500k": "gen:short:n=500000",
    "uniform, 8 a row, 200k": "gen:uniform:n=200000,degree=8",
}


def compile_program(build: Path, folder: Path, name: str = "spgemm_cpu_peers") -> Path:
    program = folder / name
    command = ["g++", "-std=c++20", "-O3", "-march=native", "-fopenmp", "-DNDEBUG", f"-I{ROOT}/include", f"-I{build}/include",
               "-I/usr/include/eigen3", str(ROOT / "bench/spgemm_cpu_peers.cpp"), str(build / "src/libtulle.a"),
               "-lfmt", "-lz", "-lzstd", "-llzma", "-ldl", "-lamd", "-lmetis", "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def unpacked(file: Path, folder: Path) -> Path | None:
    """The matrix as a plain file; None where it is no real sparse matrix."""
    opened = lzma.open(file) if file.suffix == ".xz" else open(file, "rb")
    with opened as text:
        header = text.readline().split()
        if header[2] != b"coordinate" or header[3] == b"complex":
            return None
        if file.suffix != ".xz":
            return file
        to = folder / "matrix.mtx"
        with open(to, "wb") as out:
            out.write(b" ".join(header) + b"\n")
            shutil.copyfileobj(text, out)
        return to


def load(folder: Path, which: str, shape: tuple[int, int], real):
    import numpy as np
    import scipy.sparse

    part = lambda name, kind: np.fromfile(folder / f"{which}_{name}", kind)
    return scipy.sparse.csr_array((part("values", real), part("colind", np.int32), part("rowptr", np.int32)), shape=shape)


def measure_scipy(folder: Path, record: dict, seconds: float) -> list[dict]:
    import numpy as np

    real = np.float32 if record["precision"] == "f32" else np.float64
    rows, inner, cols = record["rows"], record["inner"], record["cols"]
    a, b = load(folder, "a", (rows, inner), real), load(folder, "b", (inner, cols), real)
    raw, ordered = [], []
    begin = time.perf_counter()
    while len(raw) < 3 or (time.perf_counter() - begin < seconds and len(raw) < 1000):
        c = None
        start = time.perf_counter()
        c = a @ b
        raw.append(1e6 * (time.perf_counter() - start))
        c.sort_indices()
        ordered.append(1e6 * (time.perf_counter() - start))
    ours = load(folder, "c", (rows, cols), real)
    ratio = math.inf
    if np.array_equal(c.indptr, ours.indptr) and np.array_equal(c.indices, ours.indices):
        magnitude = abs(a) @ abs(b)
        magnitude.sort_indices()
        k = (np.diff(a.indptr).max(initial=0) + 2) * np.finfo(real).eps / 2
        bound = 2 * k / (1 - k) * magnitude.data.astype(np.float64)
        error = np.abs(c.data.astype(np.float64) - ours.data)
        ratio = float(np.max(np.divide(error, bound, out=np.where(error > 0, np.inf, 0.0), where=bound > 0), initial=0))
    return [{"name": "scipy", "us": median_min(raw), "error_ratio": ratio},
            {"name": "scipy.sorted", "us": median_min(ordered), "error_ratio": ratio}]


def measure(args: argparse.Namespace) -> dict:
    result = {"context": context(args.build, args.threads), "results": []}
    environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads), "MKL_THREADING_LAYER": "GNU",
                   "LD_LIBRARY_PATH": f"{args.mkl.parent}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = compile_program(args.build, folder)
        before = compile_program(args.before, folder, "before") if args.before else None
        files = sorted(args.matrices.glob("*.mtx*")) if args.matrices else []
        matrices = {**(GENERATED if args.generated else {}), **{file.name.split(".mtx")[0]: file for file in files}}
        for matrix, file in matrices.items():
            if args.only and not any(word in matrix for word in args.only):
                continue
            plain = unpacked(file, folder) if isinstance(file, Path) else file
            if plain is None:
                continue
            dumped = folder / "dump"
            dumped.mkdir(exist_ok=True)
            run = lambda *command: json.loads(subprocess.run([*args.under, *command], check=True, capture_output=True, text=True,
                                                             env=environment).stdout)
            common = [plain, args.precision, str(args.threads), str(args.seconds)]
            record = {**run(program, *common, dumped, args.mkl if args.mkl.exists() else "-", *args.kernels), "matrix": matrix,
                      "load": os.getloadavg()[0]}
            if before:
                record["peers"] += [{**p, "name": p["name"].replace("tulle", "before")}
                                    for p in run(before, *common, "-", "-")["peers"] if p["name"].startswith("tulle")]
            record["peers"] += measure_scipy(dumped, record, args.seconds)
            shutil.rmtree(dumped)
            result["results"].append(record)
            save(result, args.output)
            print(line_of(record), file=sys.stderr, flush=True)
    return result


OTHERS = {"before": "before", "eigen": "Eigen", "mkl": "MKL", "mkl.sorted": "MKL, sorted", "scipy": "SciPy `A @ B`",
          "scipy.sorted": "sorted"}


def others_in(records: list[dict]) -> list[str]:
    return [o for o in OTHERS if any(p["name"] == o for r in records for p in r["peers"])]


def times(record: dict, statistic: str) -> dict[str, float]:
    return {p["name"]: p["us"][statistic] for p in record["peers"] if p["error_ratio"] <= 1}


def line_of(record: dict) -> str:
    t = times(record, "median")
    speeds = ", ".join(f"{t[o] / t['tulle']:.2f} x {o}" for o in OTHERS if o in t)
    return (f"{record['matrix']:36} load {record['load']:.1f}  {t['tulle']:11.1f} us: {speeds}; "
            f"whole / numeric {t['tulle'] / t['tulle.numeric']:.2f}")


def table(result: dict, statistic: str) -> str:
    others = others_in(result["results"])
    lines = ["| matrix | | products | compression | tulle, µs | GFLOPS | numeric alone, µs | "
             + " | ".join(f"{OTHERS[o]}, µs | speed" for o in others) + " |",
             "| :-- | :-- | " + " | ".join(["--:"] * (5 + 2 * len(others))) + " |"]
    ratios: dict[str, list[float]] = {o: [] for o in (*others, "whole / numeric")}
    show = lambda us: f"{us:,.0f}" if us >= 1000 else f"{us:.1f}"
    for r in sorted(result["results"], key=lambda r: r["products"]):
        t = times(r, statistic)
        own = t["tulle"]
        cells = [r["matrix"], r["operation"], f"{r['products']:,}", f"{r['products'] / max(r['nnz_c'], 1):.1f}", show(own),
                 f"{2e-3 * r['products'] / own:.2f}", show(t["tulle.numeric"])]
        ratios["whole / numeric"].append(own / t["tulle.numeric"])
        for other in others:
            if other not in t:
                cells += ["wrong", "-"]
                continue
            ratio = t[other] / own
            ratios[other].append(ratio)
            cells += [show(t[other]), f"{ratio:.2f}" if ratio >= 1 else f"**{ratio:.2f}**"]
        lines.append("| " + " | ".join(cells) + " |")
    c = result["context"]
    lines.append("")
    for name, all_of in ratios.items():
        if all_of:
            mean = math.exp(sum(map(math.log, all_of)) / len(all_of))
            lines.append(f"{name}: geometric mean {mean:.2f}, least {min(all_of):.2f}, {sum(v < 1 for v in all_of)} of {len(all_of)} "
                         "below 1.  ")
    mkl = f"MKL {c['mkl']}, " if "mkl" in others else ""
    lines.append(f"{c['cpu']}, {c['threads']} threads; {mkl}Eigen {c['eigen']}, SciPy {c['scipy']}; {statistic} times; commit {c['commit']}, "
                 f"{c['date'][:10]}.")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/cpu-only")
    parser.add_argument("--matrices", type=Path, help="folder of .mtx and .mtx.xz files")
    parser.add_argument("--generated", action="store_true", help="stencils, bands and others that are generated")
    parser.add_argument("--mkl", type=Path, default=Path(sys.prefix) / "lib/libmkl_rt.so.3", help="left out where it is no file")
    parser.add_argument("--before", type=Path, help="another build of tulle, to be measured as well")
    parser.add_argument("--only", nargs="+", help="matrices whose names hold one of these words")
    parser.add_argument("--precision", choices=["f64", "f32"], default="f64")
    parser.add_argument("--kernels", nargs="*", default=[], help="tulle's kernels to measure besides the plan's choice")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1, help="of runs for a matrix, 3 runs at least")
    parser.add_argument("--under", nargs="+", default=[], help="a command to run each measurement under, such as: flock FILE")
    parser.add_argument("-o", "--output", type=Path, help="where to write the records")
    parser.add_argument("--table", type=Path, help="measure nothing: print the Markdown table of these records")
    parser.add_argument("--statistic", choices=["median", "min"], default="median", help="of the table")
    args = parser.parse_args()
    if not args.table and not args.matrices and not args.generated:
        parser.error("--matrices, --generated or --table is needed")
    print(table(json.loads(args.table.read_text()) if args.table else measure(args), args.statistic))


if __name__ == "__main__":
    main()
