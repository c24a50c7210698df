"""A @ x and conjugate gradients of tulle and of CuPy on one device, from Python. Prints JSON.

Times are of the host and the device together: `repeat` calls in a row between two synchronisations, divided by their number,
the least of five such runs; "host" is what the call itself takes on a matrix so small that the device has nothing to do.
"""

import argparse
import datetime
import inspect
import json
import time

import cupy
import cupyx.scipy.sparse as csp
import cupyx.scipy.sparse.linalg as clinalg
import numpy as np
import scipy.sparse as sp

import tulle
from tulle._core import core


HEADER = ["what", "nonzeros", "kernel", "tulle, us", "CuPy, us", "speed"]


def row(what, nnz, kernel, ours, theirs):
    return [what, f"{int(nnz):,}", kernel, f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.2f}"]


def microseconds(f, budget=0.3):
    f()
    cupy.cuda.Device().synchronize()
    begin = time.perf_counter()
    f()
    cupy.cuda.Device().synchronize()
    repeat = int(np.clip(budget / 5 / max(time.perf_counter() - begin, 1e-6), 1, 1000))
    best = np.inf
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(repeat):
            f()
        cupy.cuda.Device().synchronize()
        best = min(best, (time.perf_counter() - begin) / repeat)
    return 1e6 * best


def poisson(n):
    """The 7-point operator on n^3 points."""
    i = np.arange(n**3)
    bands = {0: np.full(n**3, 6.0)}
    for step in (1, n, n * n):
        bands[step] = bands[-step] = -((i // step) % n != n - 1)[: n**3 - step].astype("f8")
    a = sp.csr_array(sp.diags_array(list(bands.values()), offsets=list(bands)))
    a.eliminate_zeros()
    return a


def csr_of_table(columns, there):
    """Of row r the columns columns[r, there[r]], which increase, with random values; on the device."""
    indptr = cupy.zeros(len(columns) + 1, "i4")
    indptr[1:] = there.sum(axis=1).cumsum()
    indices = columns[there].astype("i4")
    return csp.csr_matrix((cupy.random.standard_normal(len(indices)), indices, indptr), shape=(len(columns), len(columns)))


def csr_of_pairs(rows, cols, n):
    """The different pairs of these, sorted, with random values; on the device."""
    keys = cupy.unique(rows.astype("i8") * n + cols)
    indptr = cupy.searchsorted(keys, cupy.arange(n + 1, dtype="i8") * n).astype("i4")
    return csp.csr_matrix((cupy.random.standard_normal(len(keys)), (keys % n).astype("i4"), indptr), shape=(n, n))


def stencil(n, points, dof=1):
    """A grid of n^3 nodes with 7 or 27 points, each a full block of dof x dof."""
    node = cupy.arange(n**3, dtype="i4")
    at = (node // (n * n), node // n % n, node % n)
    steps = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if points == 27 or abs(x) + abs(y) + abs(z) <= 1]
    there = cupy.stack([cupy.stack([(c + s >= 0) & (c + s < n) for c, s in zip(at, step)]).all(axis=0) for step in steps], axis=1)
    columns = cupy.stack([node + (x * n + y) * n + z for x, y, z in steps], axis=1)
    if dof > 1:
        columns = (columns[:, :, None] * dof + cupy.arange(dof, dtype="i4")).reshape(n**3, -1)
        columns, there = columns.repeat(dof, axis=0), there.repeat(dof, axis=1).repeat(dof, axis=0)
    return csr_of_table(columns, there)


def uniform(n, degree):
    return csr_of_pairs(cupy.arange(n * degree) // degree, cupy.random.randint(0, n, n * degree), n)


def rmat(scale, degree, a=0.57, b=0.19, c=0.19):
    edges = degree << scale
    row, col = cupy.zeros(edges, "i8"), cupy.zeros(edges, "i8")
    for _ in range(scale):
        draw = cupy.random.random(edges)
        down = draw >= a + b
        right = cupy.where(down, draw >= a + b + c, draw >= a)
        row, col = 2 * row + down, 2 * col + right
    return csr_of_pairs(row, col, 1 << scale)


def short(n, width=16):
    """1 to 4 entries a row within `width` of the diagonal."""
    row = cupy.arange(n).repeat(4)
    wanted = cupy.random.randint(1, 5, n).repeat(4)
    row = row[cupy.tile(cupy.arange(4), n) < wanted]
    return csr_of_pairs(row, cupy.clip(row + cupy.random.randint(-width, width + 1, len(row)), 0, n - 1), n)


def arrow(n, dense):
    diagonal = cupy.arange(n)
    full = cupy.arange(n * dense)
    return csr_of_pairs(cupy.concatenate([diagonal, full // n]), cupy.concatenate([diagonal, full % n]), n)


def corner(n, size):
    block = cupy.arange(size * size)
    return csr_of_pairs(n - size + block // size, n - size + block % size, n)


# The sizes of `tulle bench --suite peers`.
SUITE = {"stencil27-200": lambda: stencil(200, 27), "stencil7-256": lambda: stencil(256, 7), "fem3-80": lambda: stencil(80, 27, 3),
         "stencil7-100": lambda: stencil(100, 7), "fem3-20": lambda: stencil(20, 27, 3), "uniform-4M": lambda: uniform(1 << 22, 16),
         "rmat-22": lambda: rmat(22, 16), "rmat-18": lambda: rmat(18, 16), "short-8M": lambda: short(1 << 23),
         "corner-1M": lambda: corner(1 << 20, 8192), "arrow-2M": lambda: arrow(1 << 21, 16)}


def products():
    records = []
    for name, make in SUITE.items():
        whole = make()
        for dtype in ("f8", "f4"):
            d = whole.astype(dtype)
            x = cupy.random.standard_normal(d.shape[1]).astype(dtype)
            A = tulle.operator(d)
            magnitude = csp.csr_matrix((abs(d.data), d.indices, d.indptr), shape=d.shape)
            gamma = (int(cupy.diff(d.indptr).max()) + 2) * np.finfo(dtype).eps
            assert bool((abs(A @ x - d @ x) <= 2 * gamma * (magnitude @ abs(x))).all()), name
            ours, theirs = microseconds(lambda: A @ x), microseconds(lambda: d @ x)
            records.append(row(f"A @ x, {name}, {dtype}", d.nnz, A.kernel, ours, theirs))
        cupy.get_default_memory_pool().free_all_blocks()
    return records


def solves(sizes):
    records = []
    tolerance = {"rtol" if "rtol" in inspect.signature(clinalg.cg).parameters else "tol": 1e-8}
    for n in sizes:
        a = poisson(n)
        d, b = csp.csr_matrix(a), cupy.ones(a.shape[0])

        def theirs():
            return clinalg.cg(d, b, **tolerance)[0]

        def ours():
            return tulle.linalg.cg(d, b, rtol=1e-8)[0]

        kept = tulle.solver(d, preconditioner="none", rtol=1e-8)
        residual = [float(cupy.linalg.norm(d @ f() - b) / cupy.linalg.norm(b)) for f in (ours, theirs)]
        assert max(residual) <= 2e-8, residual
        times = [microseconds(f, 1.0) for f in (ours, theirs, lambda: kept.solve(b))]
        records.append(row(f"cg, 7 points, {n}^3", d.nnz, "", times[0], times[1]))
        records.append(row(f"by a kept solver, mixed precision, {n}^3", d.nnz, kept.kernel, times[2], times[1]))
    return records


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--solves", type=int, nargs="*", default=[17, 46, 100, 215])
    parser.add_argument("--no-products", action="store_true")
    parser.add_argument("--commit", help="recorded in place of the library's")
    o = parser.parse_args()
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    tiny = csp.csr_matrix(poisson(4))
    A, x, out = tulle.operator(tiny), cupy.ones(64), cupy.empty(64)
    host = [row("host: A @ x", tiny.nnz, A.kernel, microseconds(lambda: A @ x), microseconds(lambda: tiny @ x)),
            row("host: A.apply(x, out)", tiny.nnz, A.kernel, microseconds(lambda: A.apply(x, out)), microseconds(lambda: tiny @ x))]
    records = host + ([] if o.no_products else products()) + solves(o.solves)
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    context = dict(device=device, driver=cupy.cuda.runtime.driverGetVersion(), cupy=cupy.__version__, tulle=tulle.__version__,
                   commit=o.commit or core.build_info()["commit"], date=date)
    print(json.dumps(dict(context=context, header=HEADER, rows=records), indent=1))
