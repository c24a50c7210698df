"""Reverse Cuthill-McKee on the CPU beside SciPy's, on meshes whose unknowns are numbered at random. Needs SciPy.

    compare_rcm_cpu.py TULLE_ORDERINGS [-o FILE] [--threads N] SPEC...

SPEC is a stencil as tulle's generator names it, gen:stencil:n=128,points=7; times are the best of three runs.
"""
import argparse
import json
import re
import subprocess
import time

import numpy
import scipy
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee


def stencil(n, points):
    """A CSR with sorted columns: every point of a grid of n^3 beside its 6 or 26 neighbours, numbered at random."""
    place = numpy.random.default_rng(1).permutation(n**3).astype(numpy.int32)
    at = numpy.arange(n**3, dtype=numpy.int32).reshape(n, n, n)
    rows, columns = [], []
    for dz in (-1, 0, 1):
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if points == 7 and abs(dx) + abs(dy) + abs(dz) > 1:
                    continue
                cut = [(slice(max(0, d), n + min(0, d)), slice(max(0, -d), n + min(0, -d))) for d in (dz, dy, dx)]
                rows.append(at[cut[0][0], cut[1][0], cut[2][0]].ravel())
                columns.append(at[cut[0][1], cut[1][1], cut[2][1]].ravel())
    rows, columns = place[numpy.concatenate(rows)], place[numpy.concatenate(columns)]
    a = sparse.csr_matrix((numpy.ones(len(rows), numpy.float32), (rows, columns)), (n**3, n**3))
    a.sort_indices()
    return a


def of_scipy(n, points):
    a, best = stencil(n, points), float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        order = reverse_cuthill_mckee(a, True)
        best = min(best, time.perf_counter() - begin)
    place = numpy.empty(n**3, numpy.int64)
    place[order] = numpy.arange(n**3)
    rows = numpy.repeat(numpy.arange(n**3), numpy.diff(a.indptr))
    return 1e3 * best, int(abs(place[rows] - place[a.indices]).max())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("specs", nargs="+")
    parser.add_argument("--threads", default="2")
    parser.add_argument("-o", dest="output")
    arguments = parser.parse_args()
    rows, context = [], None
    for spec in arguments.specs:
        n, points = (int(re.search(rf"{key}=(\d+)", spec)[1]) for key in ("n", "points"))
        theirs, their_bandwidth = of_scipy(n, points)
        file = "/tmp/tulle_rcm_cpu.json"
        subprocess.run([arguments.program, "cpu", "--threads", arguments.threads, "-o", file, "--meshes", spec], check=True)
        record = json.load(open(file))
        context = record["context"]
        ours, bandwidth = float(record["rows"][0][1]), record["rows"][0][3]
        rows.append([spec.removeprefix("gen:"), f"{ours:.0f}", bandwidth, f"{theirs:.0f}", str(their_bandwidth),
                     f"{theirs / ours:.2f}"])
        print(rows[-1], flush=True)
    if arguments.output:
        header = ["mesh, renumbered", f"tulle, {arguments.threads} threads, ms", "bandwidth", f"SciPy {scipy.__version__}, ms",
                  "bandwidth", "times as fast"]
        text = ",\n  ".join(json.dumps(row) for row in rows)
        with open(arguments.output, "w") as out:
            out.write(f'{{\n "context": {json.dumps(context)},\n "header": {json.dumps(header)},\n "rows": [\n  {text}\n ]\n}}\n')


main()
