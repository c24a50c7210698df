#!/usr/bin/env python3
"""PyAMG as it is, PyAMG with tulle.install(), and tulle's own conjugate gradients, on the same systems.

Needs a Python with tulle, scipy and pyamg:
  OMP_NUM_THREADS=2 bench/compare_pyamg.py -o bench/results/pyamg.json
  tools/bench_table.py docs/python.md

A hierarchy by smoothed aggregation (pyamg.smoothed_aggregation_solver) is set up and takes part in conjugate gradients to a relative
residual of 1e-8; tulle solves the same by tulle.solve with Chebyshev polynomials and by its products of three matrices makes the first
coarse matrix. In turns, --rounds times; the median counts. Residuals are computed by SciPy and held to twice what was asked for.
"""
import argparse
import json
import os
import time

from compare_python import median

TOLERANCE = 1e-8


def systems():
    import numpy as np
    from pyamg import gallery

    yield "5 points, 500 x 500", gallery.poisson((500, 500), format="csr")
    yield "7 points, 60 x 60 x 60", gallery.poisson((60, 60, 60), format="csr")
    yield "27 points, 45 x 45 x 45", gallery.stencil_grid(np.where(np.arange(27) == 13, 26.0, -1.0).reshape(3, 3, 3), (45, 45, 45), format="csr")
    yield "elasticity, 150 x 150", gallery.linear_elasticity((150, 150))[0].tocsr()


def in_turns(calls, rounds):
    """Median seconds of each call."""
    times = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - begin)
    return {name: median(kept) for name, kept in times.items()}


def measure(name, a, rounds):
    import numpy as np
    import pyamg
    import tulle

    b = np.random.default_rng(1).standard_normal(a.shape[0])
    solver = pyamg.smoothed_aggregation_solver(a)
    level = solver.levels[0]
    r, p = level.R.tocsr(), level.P.tocsr()

    def installed(call):
        def with_tulle():
            with tulle.install():
                return call()
        return with_tulle

    def cycle():
        return solver.solve(b, tol=TOLERANCE, accel="cg", maxiter=200)

    def by_tulle():
        return tulle.solve(a, b, method="cg", preconditioner="chebyshev", rtol=TOLERANCE, precision="uniform")[0]

    for x in (cycle(), installed(cycle)(), by_tulle()):
        left = np.linalg.norm(b - a @ x) / np.linalg.norm(b)
        if not left <= 2 * TOLERANCE:
            raise SystemExit(f"{name}: a residual of {left:.2g} where {TOLERANCE:.0e} was asked for")
    t = in_turns({"set up": lambda: pyamg.smoothed_aggregation_solver(a),
                  "set up, installed": installed(lambda: pyamg.smoothed_aggregation_solver(a)),
                  "solve": cycle, "solve, installed": installed(cycle), "tulle.solve": by_tulle,
                  "R A P": lambda: r @ (a @ p), "tulle's R A P": lambda: tulle.triple_product(r, a, p)}, rounds)
    row = [name, f"{a.nnz:,}"]
    for ours, theirs in (("set up, installed", "set up"), ("solve, installed", "solve"), ("tulle's R A P", "R A P")):
        row += [f"{1e3 * t[theirs]:.1f}", f"{1e3 * t[ours]:.1f}", f"{t[theirs] / t[ours]:.2f}"]
    return row + [f"{1e3 * t['tulle.solve']:.1f}", f"{(t['set up'] + t['solve']) / t['tulle.solve']:.2f}"]


def main():
    import platform
    from importlib.metadata import version

    import tulle

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    rows = []
    for name, a in systems():
        rows.append(measure(name, a, args.rounds))
        print(*rows[-1], sep="\t", flush=True)
    doctor = tulle.doctor()
    device = (f"{next((c.split(':')[1].strip() for c in open('/proc/cpuinfo') if c.startswith('model name')), platform.machine())}, "
              f"{os.environ.get('OMP_NUM_THREADS', os.cpu_count())} threads, PyAMG {version('pyamg')}, SciPy {version('scipy')}, ms")
    header = ["matrix", "nonzeros", "set up", "with tulle", "speed", "solve", "with tulle", "speed", "R A P", "tulle", "speed",
              "tulle.solve", "speed over set up and solve"]
    context = {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": doctor["commit"], "device": device}
    with open(args.output, "w") as to:
        json.dump({"context": context, "header": header, "rows": rows}, to, indent=1)
        to.write("\n")


if __name__ == "__main__":
    main()
