"""tulle's products under SciPy's own `@`."""

import threading

import numpy as np

from . import _types
from ._core import core

_lock = threading.Lock()
_depth = 0
_replaced = []  # (class, name, SciPy's function)

#: Products since the last `reset_counts`: by tulle, and what was left to SciPy by the type it would have been computed in.
counts = {"tulle": 0, "scipy": {}}


def reset_counts():
    counts["tulle"] = 0
    counts["scipy"] = {}


def _left(dtype):
    counts["scipy"][dtype.name] = counts["scipy"].get(dtype.name, 0) + 1


def _indices(a):
    """Index arrays as tulle takes them: offsets of 32 or 64 bits, indices of 32."""
    if a.indices.dtype == np.int32:
        return a.indptr, a.indices
    try:
        return a.indptr, core.narrow(np.ascontiguousarray(a.indices, dtype=np.int64))
    except IndexError:
        return None, None


def _dense(a, x):
    """a @ x with what the first try left over: other types, layouts and indices. None: SciPy's."""
    rows, cols = a._shape_as_2d if hasattr(a, "_shape_as_2d") else a.shape
    common = np.result_type(a.dtype, x.dtype)
    if common.kind == "c" and common not in _types.native:
        if a.dtype.kind == "c" or common.itemsize > 16:
            return None
        real = np.dtype(f"f{common.itemsize // 2}")
        wide = np.ascontiguousarray(x, dtype=common)
        parts = wide.view(real).reshape(wide.shape[0], -1)
        y = _in_working(a, rows, cols, parts, real)
        return None if y is None else y.view(common).reshape((rows,) + wide.shape[1:])
    y = _in_working(a, rows, cols, x, common)
    return None if y is None else _types.back(y, common)


def _in_working(a, rows, cols, x, common):
    if _types.working(common) is None:
        return None
    indptr, indices = _indices(a)
    if indptr is None:
        return None
    swapped = a.format == "csc"
    outer, inner = (cols, rows) if swapped else (rows, cols)
    values = np.ascontiguousarray(_types.cast(a.data, common))
    return core.multiply_dense(outer, inner, np.ascontiguousarray(indptr), indices, values,
                               np.ascontiguousarray(_types.cast(x, common)), swapped)


def _make_dense(scipys):
    multiply = core.multiply_dense

    def product(self, other):
        if self.ndim == 2 and type(other) is np.ndarray:
            rows, cols = self._shape
            if self.format == "csr":
                y = multiply(rows, cols, self.indptr, self.indices, self.data, other, False)
            else:
                y = multiply(cols, rows, self.indptr, self.indices, self.data, other, True)
            if y is None:
                y = _dense(self, other)
            if y is not None:
                counts["tulle"] += 1
                return y
        _left(np.result_type(self.dtype, other.dtype))
        return scipys(self, other)

    product.__name__ = scipys.__name__
    product.__doc__ = scipys.__doc__
    return product


def _make_sparse(scipys):
    def product(self, other):
        if self.ndim == 2 and other.ndim == 2:
            made = _sparse(self, other)
            if made is not None:
                counts["tulle"] += 1
                return made
        _left(np.result_type(self.dtype, other.dtype))
        return scipys(self, other)

    product.__name__ = scipys.__name__
    product.__doc__ = scipys.__doc__
    return product


def _index_type(a, arrays, nnz):
    """That of SciPy's own product, which keeps indices of 64 bits where an operand has them."""
    choose = getattr(a, "_get_index_dtype", None)
    if choose is None:  # before SciPy 1.11
        from scipy.sparse._sputils import get_index_dtype as choose
    return choose(arrays, maxval=nnz)


def _sparse(a, b):
    """a @ b in the format of a. None: SciPy's."""
    common = np.result_type(a.dtype, b.dtype)
    if _types.working(common) is None:
        return None
    (rows, inner), (same, cols) = a.shape, b.shape
    if inner != same:
        return None
    b = a.__class__(b)  # as SciPy does, into this format
    left, right = (a, b) if a.format == "csr" else (b, a)  # of columns: C^T = B^T A^T
    outer = (rows, inner, cols) if a.format == "csr" else (cols, inner, rows)
    arrays = []
    for m in (left, right):
        indptr, indices = _indices(m)
        if indptr is None:
            return None
        arrays += [np.ascontiguousarray(indptr), indices, np.ascontiguousarray(_types.cast(m.data, common))]
    made = core.multiply_sparse(*outer, *arrays)
    if made is None:
        return None
    indptr, indices, data = made
    if len(data) == 0:
        return a.__class__((rows, cols), dtype=common)
    index = _index_type(a, (a.indptr, a.indices, b.indptr, b.indices), len(data))
    indices, indptr = indices.astype(index, copy=False), indptr.astype(index, copy=False)
    result = a.__class__((_types.back(data, common), indices, indptr), shape=(rows, cols))
    result.has_sorted_indices = result.has_canonical_format = True
    return result


def _replace(owner, names, make):
    for name in names:
        if name in vars(owner):
            scipys = vars(owner)[name]
            _replaced.append((owner, name, scipys))
            setattr(owner, name, make(scipys))
            return
    raise ImportError(f"tulle.install: this SciPy has none of {', '.join(names)} in {owner.__name__}")


class _Installed:
    def __enter__(self) -> "_Installed":
        return self

    def __exit__(self, *_: object) -> None:
        uninstall()


def install() -> _Installed:
    """Puts tulle's products under SciPy's own: `@`, `*` of matrices, `dot`, of csr and csc with vectors, several vectors and
    sparse matrices. What tulle does not take (long double, objects, other formats) stays SciPy's, silently. Results have
    SciPy's types; indices of products are sorted. Calls nest: each has its `uninstall`. As a context manager it lasts for a block.

    >>> import numpy as np, scipy.sparse as sp, tulle
    >>> with tulle.install():
    ...     sp.csr_array([[0., 2.], [1., 0.]]) @ np.array([1., 10.])
    array([20.,  1.])
    """
    global _depth
    from scipy.sparse import _compressed

    with _lock:
        if _depth == 0:
            try:
                owner = _compressed._cs_matrix
                _replace(owner, ("_matmul_vector", "_mul_vector"), _make_dense)
                _replace(owner, ("_matmul_multivector", "_mul_multivector"), _make_dense)
                _replace(owner, ("_matmul_sparse", "_mul_sparse_matrix"), _make_sparse)
            except BaseException:
                _put_back()
                raise
        _depth += 1
    return _Installed()


def _put_back():
    while _replaced:
        owner, name, scipys = _replaced.pop()
        setattr(owner, name, scipys)


def uninstall() -> None:
    """Takes back one `install`."""
    global _depth
    with _lock:
        _depth = max(_depth - 1, 0)
        if _depth == 0:
            _put_back()
