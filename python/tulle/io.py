"""Matrix Market files, with the calls of scipy.io."""

import bz2
import gzip
import io as _io
import lzma
import os
import zlib
from typing import Any

import numpy as np

from . import _matrix, _types
from ._core import core

__all__ = ["mminfo", "mmread", "mmwrite"]

_FIELDS = {"integer": "i8", "real": "f8", "double": "f8", "pattern": "f8", "complex": "c16"}


def mmread(source: Any, *, spmatrix: bool = True, format: str = "coo", threads: int = 0, strict: bool = False) -> Any:
    """Reads a Matrix Market file: a sparse matrix, or an ndarray where the file is dense. As scipy.io.mmread, whose results it
    returns: a COO has the entries as the file lists them, mirror images after them where it is symmetric. A CSR has sorted
    rows and duplicates added up.

    source : a path (.mtx, .mtx.gz, .mtx.zst, .mtx.bz2, .mtx.xz), or a file that is open for reading text or bytes.
    spmatrix : True for coo_matrix, False for coo_array.
    format : "coo", or "csr", which takes less time than a COO and its tocsr().
    threads : 0 for as many as OpenMP would use. strict : True refuses duplicates; entries are in order of rows then.

    Values: real and pattern float64, integer int64, complex complex128. Raises OSError (also FileNotFoundError), ValueError
    with the line's number, OverflowError, MemoryError.

    >>> import io, tulle
    >>> text = "%%MatrixMarket matrix coordinate real symmetric\\n2 2 2\\n1 1 4\\n2 1 -1.5\\n"
    >>> tulle.io.mmread(io.StringIO(text)).toarray()
    array([[ 4. , -1.5],
           [-1.5,  0. ]])
    """
    if format not in ("coo", "csr"):
        raise ValueError(f"format = {format}: must be coo or csr")
    name, text, banner = _open(source)
    words = banner.lower().split()
    field = words[3] if len(words) > 3 else "real"
    if field == "unsigned-integer":
        return _by_scipy(name, text, spmatrix, format)
    dtype = _FIELDS.get(field, "f8")
    if format == "coo" and words[2:3] == ["coordinate"]:
        return _listed(name, text, dtype, spmatrix, threads, strict)
    return _read(name, text, dtype, spmatrix, threads, strict)


def _listed(name, text, dtype, spmatrix, threads, strict):
    from scipy import sparse

    rows, cols, row, col, data = core.list_matrix_market(name, text, dtype, threads, strict)
    kind = sparse.coo_matrix if spmatrix else sparse.coo_array
    made = _matrix.coo(kind, (rows, cols), row, col, data)
    made.has_canonical_format = strict
    return made


def _read(name, text, dtype, spmatrix, threads, strict):
    matrix, facts = core.read_matrix_market(name, text, dtype, threads, strict)
    indptr, indices, data = matrix.arrays()
    if facts["array"]:
        return data.reshape(matrix.shape)
    from scipy import sparse

    if data.size < 2**31:
        indptr = indptr.astype(np.int32, copy=False)  # else SciPy would widen the indices
    return _matrix.csr(sparse.csr_matrix if spmatrix else sparse.csr_array, tuple(matrix.shape), indptr, indices, data)


def _by_scipy(name, text, spmatrix, format):
    from scipy.io import mmread as scipys

    made = scipys(name if text is None else _io.BytesIO(text), spmatrix=spmatrix)
    return made.tocsr() if format == "csr" and hasattr(made, "tocsr") else made


def _open(source):
    """(name, bytes or None, first line)"""
    if hasattr(source, "read"):
        text = source.read()
        text = text.encode() if isinstance(text, str) else bytes(text)
        return str(getattr(source, "name", "stream")), text, text[:200].split(b"\n")[0].decode("latin1")
    name = os.fspath(source)
    name = name.decode() if isinstance(name, bytes) else name
    try:
        first = _begin(name)
    except FileNotFoundError:
        for ending in (".mtx", ".mtx.gz", ".mtx.bz2"):
            if os.path.exists(name + ending):
                name += ending
                break
        else:
            raise FileNotFoundError(f"{name}: no such file") from None
        first = _begin(name)
    try:
        if first[:3] == b"BZh":
            text = bz2.open(name).read()
        elif first[:6] == b"\xfd7zXZ\x00":
            text = lzma.open(name).read()
        else:
            return name, None, _banner(name, first)
    except (EOFError, lzma.LZMAError, zlib.error) as error:
        raise OSError(f"{name}: {error}") from error
    return name, text, text[:200].split(b"\n")[0].decode("latin1")


def _begin(name):
    """The first bytes of a file."""
    file = os.open(name, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        return os.read(file, 200)
    finally:
        os.close(file)


def _banner(name, first):
    if first[:2] == b"\x1f\x8b":
        with gzip.open(name) as file:
            first = file.read(200)
    elif first[:4] == b"\x28\xb5\x2f\xfd":
        return _banner_of_zstd(name)
    return first.split(b"\n")[0].decode("latin1")


def _banner_of_zstd(name):
    """What the field is, without a library for zstd: what tulle itself says when it reads."""
    _, facts = core.read_matrix_market(name, None, "c16", 0, False)
    kind = "array" if facts["array"] else "coordinate"
    return f"%%MatrixMarket matrix {kind} {facts['field']} {facts['symmetry']}"


def mmwrite(target: Any, a: Any, comment: "str | None" = None, field: "str | None" = None, precision: "int | None" = None,
            symmetry: "str | None" = "AUTO") -> None:
    """Writes a Matrix Market file. As scipy.io.mmwrite; without `precision` every number has the fewest digits that read back
    to itself, and the file is there whole or not at all. `.gz`, `.zst` and `.xz` names are compressed.

    target : a path, or a file that is open for writing. a : a sparse matrix, or a dense array. field : "real", "integer",
    "complex" or "pattern"; symmetry : "general", "symmetric", "AUTO" (matrices of less than 100 rows are looked at, as SciPy
    does, and complex ones may be found hermitian).

    A comment, a precision, dense values, unsigned ones of 32 and 64 bits, symmetries that were asked for of complex values, skew symmetry and open
    files go through SciPy's own. Raises OSError, ValueError.

    >>> import os, tempfile, scipy.sparse as sp, tulle
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tulle.io.mmwrite(os.path.join(folder, "a.mtx"), sp.coo_array([[0., 1.], [2., 0.]]))
    ...     print(open(os.path.join(folder, "a.mtx")).read(), end="")
    %%MatrixMarket matrix coordinate real general
    2 2 2
    1 2 1
    2 1 2
    """
    plain = (not hasattr(target, "write") and not comment and precision is None and _matrix.is_sparse(a) and len(a.shape) == 2
             and _types.working(a.dtype) is not None and (a.dtype.kind != "u" or a.dtype.itemsize <= 2))
    if plain:
        is_complex = a.dtype.kind == "c"
        plain = field in ((None, "complex") if is_complex else (None, "real", "integer", "pattern"))
        asked = symmetry not in ("AUTO", None)
        if plain and not asked and (symmetry is None or max(a.shape, default=0) < 100):
            from scipy.io._mmio import MMFile

            symmetry = MMFile._get_symmetry(a.astype(np.int64) if a.dtype.kind in "bu" else a)  # which have no sign
        symmetry = "general" if symmetry in ("AUTO", None) else symmetry
        known = ("general",) if asked and is_complex else ("general", "symmetric", "hermitian") if is_complex else ("general", "symmetric")
        plain = plain and symmetry in known
    if not plain:
        return _write_by_scipy(target, a, comment, field, precision, symmetry)
    name = os.fspath(target)
    name = name.decode() if isinstance(name, bytes) else name
    if not name.endswith((".mtx", ".gz", ".zst", ".xz")):
        name += ".mtx"
    if field is None:
        field = {"f": "real", "c": "complex"}.get(a.dtype.kind, "integer")
    elif field == "integer" and a.dtype.kind == "f":
        a = a.astype(np.int64)
    elif field == "real" and a.dtype.kind != "f":
        a = a.astype(np.float64)
    a = _matrix.to_csr(a)
    if field == "pattern":
        a = a.copy()
        a.data[:] = 1
    matrix = _matrix.as_matrix(a)
    try:
        core.write_matrix_market(name, matrix, symmetry != "general", field)
    except ValueError:
        if asked or symmetry == "general":
            raise
        core.write_matrix_market(name, matrix, False, field)  # symmetric in its values, its zeros aside


def _write_by_scipy(target, a, comment, field, precision, symmetry):
    from scipy.io import mmwrite as scipys

    options = {"comment": comment, "field": field, "precision": precision, "symmetry": symmetry}
    name = "" if hasattr(target, "write") else os.fspath(target)
    name = name.decode() if isinstance(name, bytes) else name
    if name.endswith(".zst"):
        raise ValueError(f"{name}: a comment, a precision, or what else goes through SciPy's own cannot be compressed by zstd")
    compress = {".gz": gzip.compress, ".xz": lzma.compress}.get(os.path.splitext(name)[1])
    if compress is None:
        return scipys(target, a, **options)
    text = _io.BytesIO()
    scipys(text, a, **options)
    with open(name, "wb") as file:
        file.write(compress(text.getvalue()))


def mminfo(source: Any) -> "tuple[int, int, int, str, str, str]":
    """(rows, columns, entries, format, field, symmetry), as scipy.io.mminfo."""
    from scipy.io import mminfo as scipys

    if not hasattr(source, "read") and os.fspath(source).endswith(".xz" if isinstance(os.fspath(source), str) else b".xz"):
        return scipys(_io.BytesIO(_open(source)[1]))
    return scipys(source)
