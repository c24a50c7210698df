"""Writes rcm_scipy.json: bandwidth and profile after SciPy's reverse_cuthill_mckee, of the square matrices with a symmetric
pattern of a folder of .mtx.xz files. Needs SciPy, which the tests do not.

    rcm_scipy.py FOLDER
"""
import json
import lzma
import pathlib
import sys
import tempfile

import numpy
import scipy
from scipy import io, sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee


def quality(pattern, order):
    """The greatest |i - j|, and the sum over rows of i - the least j <= i."""
    moved = pattern[order][:, order].tocoo()
    rows, columns = moved.row.astype(numpy.int64), moved.col.astype(numpy.int64)
    first = numpy.arange(pattern.shape[0], dtype=numpy.int64)
    numpy.minimum.at(first, rows, columns)
    return {"bandwidth": int(abs(rows - columns).max(initial=0)),
            "profile": int((numpy.arange(pattern.shape[0]) - first).sum())}


def pattern_of(file):
    with tempfile.NamedTemporaryFile(suffix=".mtx") as unpacked:
        unpacked.write(lzma.decompress(file.read_bytes()))
        unpacked.flush()
        a = sparse.csr_matrix(io.mmread(unpacked.name))
    pattern = sparse.csr_matrix((numpy.ones(a.nnz, numpy.float32), a.indices, a.indptr), a.shape)
    pattern.sum_duplicates()
    pattern.data[:] = 1
    return pattern


def main():
    found = {}
    for file in sorted(pathlib.Path(sys.argv[1]).glob("*.mtx.xz")):
        pattern = pattern_of(file)
        if pattern.shape[0] != pattern.shape[1] or (pattern != pattern.T).nnz:
            continue
        found[file.name.removesuffix(".mtx.xz")] = quality(pattern, reverse_cuthill_mckee(pattern, True))
    to = pathlib.Path(__file__).with_suffix(".json")
    lines = ",\n".join(f'  "{name}": {json.dumps(values)}' for name, values in found.items())
    to.write_text(f'{{\n "scipy": "{scipy.__version__}",\n "matrices": {{\n{lines}\n }}\n}}\n')


main()
