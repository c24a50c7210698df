"""A @ x and conjugate gradients of tulle and of CuPy on one device, from Python. Prints JSON.

Times are of the host and the device together: `repeat` calls in a row between two synchronisations, divided by their number,
the least of five such runs; "host_us" is what the call itself takes on a matrix so small that the device has nothing to do.
"""

import argparse
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


def irregular(n, mean, seed):
    """Rows of geometrically distributed lengths, columns anywhere."""
    rng = np.random.default_rng(seed)
    lengths = rng.geometric(1 / mean, n)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype("i4")
    a = sp.csr_array((rng.standard_normal(indptr[-1]), rng.integers(0, n, indptr[-1]).astype("i4"), indptr), shape=(n, n))
    a.sum_duplicates()
    return a


def products():
    matrices = {"poisson-20": poisson(20), "poisson-60": poisson(60), "poisson-150": poisson(150),
                "irregular-1e4": irregular(10_000, 20, 1), "irregular-1e6": irregular(1_000_000, 20, 2),
                "banded-1e6": sp.csr_array(sp.diags_array([np.ones(1_000_000)] * 15, offsets=range(-7, 8), shape=(1_000_000,) * 2))}
    records = []
    for name, a in matrices.items():
        for dtype in ("f8", "f4"):
            d = csp.csr_matrix(a.astype(dtype))
            x = cupy.ones(a.shape[1], dtype)
            A = tulle.operator(d)
            assert float(abs(A @ x - d @ x).max()) <= 1e-3
            ours, theirs = microseconds(lambda: A @ x), microseconds(lambda: d @ x)
            records.append(dict(name=f"spmv/{name}/{dtype}", nnz=int(a.nnz), kernel=A.kernel, tulle_us=ours, cupy_us=theirs,
                                ratio=theirs / ours))
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
        t = [microseconds(f, 1.0) for f in (ours, theirs, lambda: kept.solve(b))]
        records.append(dict(name=f"cg/poisson-{n}", unknowns=a.shape[0], tulle_us=t[0], cupy_us=t[1], ratio=t[1] / t[0], kept_us=t[2],
                            tulle_residual=residual[0], cupy_residual=residual[1]))
    return records


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--solves", type=int, nargs="*", default=[17, 46, 100, 215])
    parser.add_argument("--no-products", action="store_true")
    o = parser.parse_args()
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    tiny = tulle.operator(csp.csr_matrix(poisson(4)))
    x = cupy.ones(64)
    out = cupy.empty(64)
    context = dict(device=device, driver=cupy.cuda.runtime.driverGetVersion(), cupy=cupy.__version__, tulle=tulle.__version__,
                   build=core.build_info(),
                   host_us=dict(matmul=microseconds(lambda: tiny @ x), apply=microseconds(lambda: tiny.apply(x, out)),
                                cupy=microseconds(lambda d=csp.csr_matrix(poisson(4)): d @ x)))
    records = [] if o.no_products else products()
    if hasattr(tulle, "linalg"):
        records += solves(o.solves)
    print(json.dumps(dict(context=context, benchmarks=records), indent=1))
