#!/usr/bin/env python3
"""y = A x on the CPU beside MKL's inspector-executor, Eigen and SciPy, on the same matrices, vectors and threads.

Needs a build of tulle (cmake --preset cpu-only), g++, Eigen (libeigen3-dev) and a Python with numpy, scipy and mkl:
  python3 -m venv venv && venv/bin/pip install numpy scipy mkl
  venv/bin/python bench/compare_spmv_cpu.py [--matrices FOLDER of .mtx or .mtx.xz] -o bench/results/cpu_peers.json
  venv/bin/python bench/compare_spmv_cpu.py --table bench/results/cpu_peers.json

bench/spmv_cpu_peers.cpp is compiled here with -O3 -march=native and measures tulle, MKL (GNU OpenMP, optimised with
10000 expected calls; `mkl` may keep a copy in its own format, `mkl.in_place` may not) and Eigen in turns in one process; SciPy,
which has one thread, follows on the same arrays. Values and x are random, every answer is held to tulle's bound. Cold:
512 MB are overwritten before each run. Measure on a quiet machine.
"""
import argparse
import json
import lzma
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GENERATED = {
    "27-point 140³": "gen:stencil:points=27,n=140",
    "7-point 200³": "gen:stencil:points=7,n=200",
    "FEM, 3 unknowns, 40³": "gen:fem:dof=3,n=40",
    "uniform, 16 a row": "gen:uniform:n=1000000,degree=16",
    "R-MAT 18": "gen:rmat:scale=18,degree=16",
    "1 to 4 a row": "gen:short:n=2000000",
}
LEAST_NONZEROS = 100_000


def compile_program(build: Path, folder: Path) -> Path:
    program = folder / "spmv_cpu_peers"
    command = ["g++", "-std=c++20", "-O3", "-march=native", "-fopenmp", "-DNDEBUG", f"-I{ROOT}/include", f"-I{build}/include",
               "-I/usr/include/eigen3", str(ROOT / "bench/spmv_cpu_peers.cpp"), str(build / "src/libtulle.a"),
               "-lfmt", "-lz", "-lzstd", "-llzma", "-ldl", "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def real_matrices(source: Path, folder: Path) -> dict[str, str]:
    """Name and file of the matrices with enough nonzeros; .xz files are unpacked into `folder`."""
    found = {}
    for file in sorted(source.glob("*.mtx*")):
        opened = lzma.open(file) if file.suffix == ".xz" else open(file, "rb")
        with opened as text:
            header = text.readline().split()
            line = text.readline()
            while line.startswith(b"%"):
                line = text.readline()
            if header[2] != b"coordinate" or header[3] == b"complex":
                continue
            stored = int(line.split()[2]) * (1 if header[4] == b"general" else 2)
        if stored < LEAST_NONZEROS:
            continue
        name = file.name.split(".mtx")[0]
        if file.suffix == ".xz":
            unpacked = folder / f"{name}.mtx"
            with lzma.open(file) as packed, open(unpacked, "wb") as to:
                shutil.copyfileobj(packed, to)
            file = unpacked
        found[name] = str(file)
    return found


def median_min(times: list[float]) -> dict:
    times = sorted(times)
    return {"min": times[0], "median": times[len(times) // 2]}


def measure_scipy(dumped: Path, record: dict, repeats: int) -> dict:
    import numpy as np
    import scipy.sparse

    real = np.float32 if record["precision"] == "f32" else np.float64
    load = lambda name, kind: np.fromfile(dumped / name, kind)
    x, reference, bound = load("x", real), load("reference", np.float64), load("bound", np.float64)
    a = scipy.sparse.csr_array((load("values", real), load("colind", np.int32), load("rowptr", np.int32)),
                               shape=(record["rows"], record["cols"]))
    sweep = np.zeros(512 << 20, np.uint8)
    error = np.abs((a @ x).astype(np.float64) - reference)
    ratio = float(np.max(np.divide(error, bound, out=np.where(error > 0, np.inf, 0.0), where=bound > 0), initial=0))
    cold, warm = [], []
    for _ in range(repeats):
        sweep[::64] += 1
        for times in (cold, None, warm):
            start = time.perf_counter()
            a @ x
            if times is not None:
                times.append(1e6 * (time.perf_counter() - start))
    return {"name": "scipy", "how": "one thread", "plan_us": 0, "cold_us": median_min(cold), "warm_us": median_min(warm),
            "error_ratio": ratio, "moved_bytes": 0}


def package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "-"


def context(build: Path, threads: int) -> dict:
    tulle = build / "bin/tulle"
    doctor = json.loads(subprocess.run([tulle, "doctor", "--json"], check=True, capture_output=True).stdout)
    run = lambda *command: subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.strip()
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    eigen = Path("/usr/include/eigen3/Eigen/src/Core/util/Macros.h").read_text()
    part = lambda name: eigen.split(f"#define EIGEN_{name}_VERSION ")[1].split()[0]
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": run("git", "rev-parse", "--short=12", "HEAD"),
            "cpu": cpu, "cpus": os.cpu_count(), "threads": threads, "load_before": os.getloadavg()[0],
            "compiler": run("g++", "-dumpfullversion"), "mkl": package("mkl"), "scipy": package("scipy"),
            "numpy": package("numpy"), "eigen": ".".join(part(n) for n in ("WORLD", "MAJOR", "MINOR")), "doctor": doctor}


def save(result: dict, file: Path | None) -> None:
    if file:
        file.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def measure(args: argparse.Namespace) -> dict:
    result = {"context": context(args.build, args.threads), "results": []}
    environment = {**os.environ, "MKL_THREADING_LAYER": "GNU", "OMP_NUM_THREADS": str(args.threads),
                   "LD_LIBRARY_PATH": f"{args.mkl.parent}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = compile_program(args.build, folder)
        matrices = dict(GENERATED)
        if args.matrices:
            matrices |= real_matrices(args.matrices, folder)
        if args.only:
            matrices = {m: spec for m, spec in matrices.items() if any(word in m for word in args.only)}
        for matrix, spec in matrices.items():
            for precision in args.precisions:
                dumped = folder / "dump"
                dumped.mkdir(exist_ok=True)
                command = [program, spec, precision, str(args.threads), str(args.repeats), args.mkl,
                           "-" if args.no_scipy else dumped, *args.kernels]
                done = subprocess.run([*args.under, *command], check=True, capture_output=True, text=True, env=environment)
                record = {**json.loads(done.stdout), "matrix": matrix, "spec": Path(spec).name, "load": os.getloadavg()[0]}
                if not args.no_scipy:
                    record["peers"].append(measure_scipy(dumped, record, args.repeats))
                    shutil.rmtree(dumped)
                result["results"].append(record)
                save(result, args.output)
                print(line_of(record), file=sys.stderr, flush=True)
    return result


def speeds(record: dict, state: str, statistic: str) -> tuple[float, str, float]:
    """tulle's time, and the name and time of the fastest other whose answer was right."""
    time_of = lambda p: p[f"{state}_us"][statistic]
    own = next(p for p in record["peers"] if p["name"] == "tulle")
    others = [p for p in record["peers"] if not p["name"].startswith("tulle") and p["error_ratio"] <= 1]
    best = min(others, key=time_of)
    return time_of(own), best["name"], time_of(best)


def line_of(record: dict) -> str:
    text = f"{record['matrix']:24} {record['precision']} load {record['load']:.1f}"
    for state in ("cold", "warm"):
        own, name, best = speeds(record, state, "median")
        text += f"  {state} {own:9.1f} us, {name} {best:9.1f}: {best / own:.2f}"
    return text


def table(result: dict, statistic: str) -> str:
    bandwidth = 1e9 * result["context"]["doctor"]["cpu"]["bandwidth"]["read_gbs"]
    lines = ["| matrix | nonzeros | | kernel | cold, µs | % of bandwidth | best of the others | speed | warm, µs | best of the others | speed |",
             "| :-- | --: | :-- | :-- | --: | --: | :-- | --: | --: | :-- | --: |"]
    ratios: dict[str, list[float]] = {"cold": [], "warm": []}
    for r in result["results"]:
        own = next(p for p in r["peers"] if p["name"] == "tulle")
        cells = [r["matrix"], f"{r['nnz']:,}", r["precision"], f"`{own['how'].split(':')[0]}`"]
        for state in ("cold", "warm"):
            mine, name, best = speeds(r, state, statistic)
            ratio = best / mine
            ratios[state].append(ratio)
            cells.append(f"{mine:.0f}" if mine >= 1000 else f"{mine:.1f}")
            if state == "cold":
                cells.append(f"{100 * own['moved_bytes'] / (mine * 1e-6) / bandwidth:.0f}")
            cells += [f"{best:.1f} (`{name}`)", f"{ratio:.2f}" if ratio >= 1 else f"**{ratio:.2f}**"]
        lines.append("| " + " | ".join(cells) + " |")
    c = result["context"]
    lines.append("")
    for state, all_of in ratios.items():
        if all_of:
            mean = math.exp(sum(map(math.log, all_of)) / len(all_of))
            lines.append(f"{state.capitalize()}: geometric mean {mean:.2f}, least {min(all_of):.2f}, "
                         f"{sum(v < 0.95 for v in all_of)} of {len(all_of)} below 0.95.")
    lines.append(f"{c['cpu']}, {c['threads']} threads; MKL {c['mkl']}, Eigen {c['eigen']}, SciPy {c['scipy']}; {statistic} times; "
                 f"commit {c['commit']}, {c['date'][:10]}.")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/cpu-only")
    parser.add_argument("--mkl", type=Path, default=Path(sys.prefix) / "lib/libmkl_rt.so.3")
    parser.add_argument("--matrices", type=Path, help="folder of .mtx and .mtx.xz files; those above 1e5 nonzeros are taken")
    parser.add_argument("--only", nargs="+", help="matrices whose names hold one of these words")
    parser.add_argument("--precisions", nargs="+", default=["f64", "f32"])
    parser.add_argument("--kernels", nargs="*", default=[], help="tulle's kernels to measure besides the plan's choice")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--no-scipy", action="store_true")
    parser.add_argument("--under", nargs="+", default=[], help="a command to run each measurement under, such as: flock FILE")
    parser.add_argument("-o", "--output", type=Path, help="where to write the records")
    parser.add_argument("--table", type=Path, help="measure nothing: print the Markdown table of these records")
    parser.add_argument("--statistic", choices=["median", "min"], default="median", help="of the table")
    args = parser.parse_args()
    result = json.loads(args.table.read_text()) if args.table else measure(args)
    print(table(result, args.statistic))


if __name__ == "__main__":
    main()
