#!/usr/bin/env python3
"""Y = A X on the CPU beside MKL's inspector-executor, 8 and 32 columns, both orders, f32 and f64.

Needs a build of tulle (cmake --preset cpu-only), g++ and a Python with mkl:
  python3 -m venv venv && venv/bin/pip install mkl
  venv/bin/python bench/compare_spmm_cpu.py --matrices FOLDER of .mtx or .mtx.xz --threads 1 2 -o bench/results/spmm_cpu.json
  venv/bin/python bench/compare_spmm_cpu.py --table bench/results/spmm_cpu.json

bench/spmm_cpu_peers.cpp is compiled here and measures both in turns in one process: generated families
(bench/spmv_families.cpp) of about 3000, 30,000 and 300,000 nonzeros, and real matrices. Values and X are random, every answer
is held to tulle's bound. MKL: GNU OpenMP, optimised for 1000 products of that many columns. Ratios are of medians; where other
programs keep the machine busy (`load`), those of the fastest runs are given beside.
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
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def compile_program(build: Path, folder: Path) -> Path:
    program = folder / "spmm_cpu_peers"
    sources = [str(ROOT / "bench" / name) for name in ("spmm_cpu_peers.cpp", "spmv_families.cpp")]
    subprocess.run(["g++", "-std=c++20", "-O2", "-fopenmp", "-DNDEBUG", "-DFMT_SHARED", f"-I{ROOT}/include", f"-I{build}/include",
                    *sources, str(build / "src/libtulle.a"), "-lfmt", "-lz", "-lzstd", "-llzma", "-lmetis", "-lamd", "-ldl", "-o", str(program)],
                   check=True)
    return program


def unpacked(source: Path, folder: Path, least: int) -> list[str]:
    """Real matrices in coordinates of real numbers with at least so many stored entries."""
    files = []
    for file in sorted(source.glob("*.mtx*")):
        opened = lzma.open(file) if file.suffix == ".xz" else open(file, "rb")
        with opened as text:
            header = text.readline().split()
            line = text.readline()
            while line.startswith(b"%"):
                line = text.readline()
        if header[2] != b"coordinate" or header[3] == b"complex" or int(line.split()[2]) < least:
            continue
        to = file
        if file.suffix == ".xz":
            to = folder / file.name.removesuffix(".xz")
            with lzma.open(file) as packed, open(to, "wb") as out:
                shutil.copyfileobj(packed, out)
        files.append(str(to))
    return files


def mkl_library() -> str:
    found = sorted(Path(sys.prefix).glob("lib/libmkl_rt.so*"))
    if not found:
        sys.exit("no MKL in this Python: pip install mkl")
    return str(found[0])


def measure(args: argparse.Namespace) -> dict:
    run = lambda *command: subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.strip()
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    result = {"context": {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": run("git", "rev-parse", "--short=12", "HEAD"),
                          "device": f"{cpu}, {os.cpu_count()} cores", "load": [], "compiler": run("g++", "-dumpfullversion")}, "records": []}
    kept = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = compile_program(args.build, folder)
        matrices = unpacked(args.matrices, folder, args.least) if args.matrices else []
        families = [f"families:{size}:{variant}" for variant, size in enumerate(args.sizes)]
        for threads in args.threads:
            environment = {**os.environ, "MKL_THREADING_LAYER": "GNU", "OMP_NUM_THREADS": str(threads),
                           "LD_LIBRARY_PATH": str(Path(sys.prefix) / "lib")}
            for spec in args.rounds * (families + matrices):
                result["context"]["load"].append(os.getloadavg()[0])
                done = subprocess.run([program, str(threads), str(args.milliseconds), mkl_library(), spec], env=environment,
                                      capture_output=True, text=True)
                for line in done.stdout.splitlines():
                    keep_fastest(kept, json.loads(line))
                result["records"] = list(kept.values())
                if done.returncode != 0:
                    print(f"{spec}: {done.stderr}", file=sys.stderr)
                if args.output:
                    write(result, args.output)
                print(f"{len(result['records'])} records, {spec}", file=sys.stderr)
    return result


def keep_fastest(kept: dict[tuple, dict], r: dict) -> None:
    """One record for each case, with what each library took in its fastest round."""
    before = kept.setdefault(tuple(r[k] for k in ("matrix", "type", "columns", "order", "threads", "nnz")), r)
    for library in ("tulle", "mkl"):
        if r[library]["min_us"] < before[library]["min_us"]:
            before[library] = r[library]


HEADER = ["threads, columns, order, type", "matrices", "over MKL, of the fastest runs", "of medians", "least", "of", "below 0.95"]


def rows(records: list[dict]) -> list[list[str]]:
    """Geometric means and losses by threads, columns, order and type."""
    groups = defaultdict(list)
    for r in records:
        groups[r["threads"], r["columns"], r["order"], r["type"]].append(r)
    out = []
    for (threads, columns, order, of_type), those in sorted(groups.items()):
        ratio = lambda r, what: r["mkl"][what] / r["tulle"][what]
        mean = lambda what: math.exp(sum(math.log(ratio(r, what)) for r in those) / len(those))
        least = min(those, key=lambda r: ratio(r, "min_us"))
        out.append([f"{threads}, {columns}, {order}-major, {of_type}", str(len(those)), f"{mean('min_us'):.2f}", f"{mean('us'):.2f}",
                    f"{ratio(least, 'min_us'):.2f}", f"{least['matrix'].strip()}, {least['nnz']} nonzeros",
                    str(sum(ratio(r, "min_us") < 0.95 for r in those))])
    return out


def write(result: dict, to: Path) -> None:
    """As tools/bench_table.py reads it: the table, and the records it is made of, a line each."""
    lines = ",\n".join(json.dumps(r, ensure_ascii=False) for r in result["records"])
    head = {"context": result["context"], "header": HEADER, "rows": rows(result["records"])}
    to.write_text(json.dumps(head, indent=1, ensure_ascii=False)[:-2] + f',\n "records": [\n{lines}]\n}}\n')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/cpu-only")
    parser.add_argument("--matrices", type=Path)
    parser.add_argument("--least", type=int, default=5000, help="stored entries of a real matrix")
    parser.add_argument("--sizes", type=int, nargs="*", default=[3000, 30000, 300000], help="nonzeros of the generated ones")
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--milliseconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=1, help="of all matrices; a machine may be slow for minutes")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--table", type=Path)
    args = parser.parse_args()
    result = json.loads(args.table.read_text()) if args.table else measure(args)
    for row in [HEADER, *rows(result["records"])]:
        print(" | ".join(row))


if __name__ == "__main__":
    main()
