#!/usr/bin/env python3
"""Products under tulle.install() beside SciPy's own, by the type of the values and by the container, in turns in one run:

  bench/compare_python_types.py -o bench/results/python_types.json      (tools/bench_table.py makes the table)

Matrices: 10 x 10, for what a call costs, and the 5-point stencil on 300 x 300 points (blocks: in blocks of 3 x 3). Values are random;
every result is compared with SciPy's. Times are the least of so many rounds, each as long as --at-least.
"""
import argparse
import json
import os
import time

import numpy as np
import scipy.sparse as sp

import tulle

TYPES = ["f8", "f4", "c16", "c8", "i8", "i4", "?", "u8", "i1"]


def values(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind in "biu":
        return rng.integers(0, 2 if dtype.kind == "b" else 9, shape).astype(dtype)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def stencil(points):
    line = sp.diags_array([-np.ones(points - 1), 2 * np.ones(points), -np.ones(points - 1)], offsets=[-1, 0, 1])
    one = sp.eye_array(points)
    return (sp.kron(line, one) + sp.kron(one, line)).tocsr()


def matrices(rng, dtype, size):
    """{format: matrix} of one pattern, but for blocks of 3 x 3."""
    a = sp.random_array((10, 10), density=0.3, rng=rng).tocsr() if size == "small" else stencil(300)
    a = sp.csr_array((values(rng, a.nnz, dtype), a.indices, a.indptr), shape=a.shape)
    n = a.shape[0]
    diagonals = sp.dia_array((values(rng, (5, n), dtype), [-300 if n > 10 else -3, -1, 0, 1, 300 if n > 10 else 3]), shape=(n, n))
    pattern = a[: n // 3, : n // 3]
    blocks = sp.bsr_array((values(rng, (pattern.nnz, 3, 3), dtype), pattern.indices, pattern.indptr), shape=(3 * (n // 3),) * 2)
    return {"csr": a, "csc": a.tocsc(), "coo": a.tocoo(), "dia": diagonals, "bsr": blocks}


def least(call, at_least, rounds):
    call()
    begin = time.perf_counter()
    call()
    count = max(1, int(at_least / max(time.perf_counter() - begin, 1e-7)))
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - begin) / count)
    return min(times)


def compare(call, args):
    """(SciPy's seconds, tulle's), in turns; the results agree."""
    expected = call()
    with tulle.install():
        y = call()
    y, expected = (v.toarray() if sp.issparse(v) and v.shape[0] <= 10 else v.tocsr().data.sum() if sp.issparse(v) else v for v in (y, expected))
    exact = np.asarray(expected).dtype.kind in "biu"
    np.testing.assert_allclose(y, expected, rtol=0 if exact else 1e-3, atol=0 if exact else 1e-3)
    theirs, ours = [], []
    for _ in range(2):
        theirs.append(least(call, args.at_least, args.rounds))
        with tulle.install():
            ours.append(least(call, args.at_least, args.rounds))
    return min(theirs), min(ours)


def cell(pair):
    ratio = pair[0] / pair[1]
    text = f"{1e6 * pair[1]:.3g} ({ratio:.2f})"
    return f"**{text}**" if ratio < 0.9 else text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", nargs="+", default=TYPES)
    parser.add_argument("--at-least", type=float, default=0.003, help="seconds of a measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    rows, rng = [], np.random.default_rng(1)
    for size in ("small", "large"):
        for dtype in args.types:
            for format, a in matrices(rng, dtype, size).items():
                if format != "csr" and dtype not in ("f8", "c16", "i8"):
                    continue
                x, several = values(rng, a.shape[1], dtype), values(rng, (a.shape[1], 8), dtype)
                pairs = [compare(lambda: a @ x, args), compare(lambda: a @ several, args)]
                pairs.append(None if format == "coo" else compare(lambda: a @ a, args))
                what = "10 x 10" if size == "small" else f"{a.shape[0]:,} rows"
                rows.append([f"{np.dtype(dtype).name}, {format}, {what}", *(cell(p) if p else "-" for p in pairs)])
                print(*rows[-1], sep=" | ", flush=True)
    about = tulle.doctor()
    result = {"context": {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": about["commit"],
                          "device": f"{about['CPU']}, {about['threads']} threads, load {os.getloadavg()[0]:.1f}, SciPy {about['scipy']}, NumPy {about['numpy']}"},
              "header": ["values, container, matrix", "A @ x, µs (speed over SciPy)", "A @ X, 8 columns", "A @ A"], "rows": rows}
    if args.output:
        with open(args.output, "w") as to:
            json.dump(result, to, indent=1, ensure_ascii=False)
            to.write("\n")


if __name__ == "__main__":
    main()
