"""tulle's products under SciPy's own `@`."""

import functools
import threading

import numpy as np

from . import _types
from ._core import core

_lock = threading.Lock()
_depth = 0
_replaced = []  # (class, name, SciPy's function)

#: Products since the last `reset_counts`: by tulle, and what was left to SciPy by the types of both sides.
counts = {"tulle": 0, "scipy": {}}


def reset_counts():
    counts["tulle"] = 0
    counts["scipy"] = {}


def _left(a, x):
    types = a.dtype, x.dtype
    counts["scipy"][types] = counts["scipy"].get(types, 0) + 1


def _narrow(indices):
    """Indices of 32 bits. None: one does not fit."""
    if indices.dtype == np.int32:
        return np.ascontiguousarray(indices)
    try:
        return core.narrow(np.ascontiguousarray(indices, dtype=np.int64))
    except IndexError:
        return None


def _plain_values(values, common):
    if values.dtype == common and common in _types.native and values.flags.carray:
        return values
    return np.ascontiguousarray(_types.cast(values, common))


# How containers multiply a dense x: multiply(a, data, x) with a's arrays as they are, or made into what tulle takes where `tidy`.
# None: not for tulle.


def _csr(a, data, x, tidy=False):
    shape = a._shape
    rows, cols = shape if len(shape) == 2 else (1, *shape)
    indptr, indices = a.indptr, a.indices
    if tidy:
        indptr, indices = np.ascontiguousarray(indptr), _narrow(indices)
    if a.format == "csr":
        return core.multiply_dense(rows, cols, indptr, indices, data, x, False)
    return core.multiply_dense(cols, rows, indptr, indices, data, x, True)


def _blocks(a, data, x, tidy=False):
    rows, cols = a._shape
    indptr, indices = a.indptr, a.indices
    if tidy:
        indptr, indices = np.ascontiguousarray(indptr), _narrow(indices)
    return core.multiply_bsr(rows, cols, indptr, indices, data, x)


def _coo(a, data, x, tidy=False):
    rows, cols = a._shape
    if rows == 1:  # of an array SciPy makes a number
        return None
    row, col = a.coords if hasattr(a, "coords") else (a.row, a.col)
    if tidy:
        row, col = _narrow(row), _narrow(col)
    return core.multiply_coo(rows, cols, row, col, data, x)


def _dia(a, data, x, tidy=False):
    rows, cols = a._shape
    return core.multiply_dia(rows, cols, _narrow(a.offsets) if tidy else a.offsets, data, x)


_known = {}  # what _common_of found


def _common_of(a, x):
    """(type of the product, the real type that parts of it are computed in or None) of two types; (None, None): SciPy's."""
    found = _known.get((a, x))
    if found is None:
        common, real = _types.common(a, x), None
        if common.kind == "c" and a.kind != "c" and common.itemsize <= 16:
            real = np.dtype(f"f{common.itemsize // 2}")
        elif _types.working(common) is None or (common.itemsize < 4 and common.kind in "iu"):  # of few bits SciPy's loop is faster
            common = None
        found = _known[a, x] = common, real
    return found


def _converted(a, x, multiply):
    """a @ x with what the first try left over: other types, layouts and indices. None: SciPy's."""
    common, real = _common_of(a.dtype, x.dtype)
    if common is None:
        return None
    if real is not None:  # real and imaginary parts side by side
        wide = np.ascontiguousarray(x, dtype=common)
        data, parts = _plain_values(a.data, real), _types.side_by_side(wide, real)
        y = multiply(a, data, parts)
        if y is None:
            y = multiply(a, data, parts, True)
        return None if y is None else y.view(common).reshape(y.shape[:1] + wide.shape[1:])
    y = multiply(a, _plain_values(a.data, common), _plain_values(x, common), True)
    return None if y is None else _types.back(y, common)


def _make_dense(multiply):
    def make(scipys):
        @functools.wraps(scipys)
        def product(self, other):
            if type(other) is np.ndarray:
                y = None
                if len(self._shape) == 2:
                    y = multiply(self, self.data, other)
                    if y is None:
                        y = _converted(self, other, multiply)
                elif self.format == "csr":  # of one dimension: a row
                    y = _converted(self, other, multiply)
                    y = None if y is None else y[0]
                if y is not None:
                    counts["tulle"] += 1
                    return y
            _left(self, other)
            return scipys(self, other)

        return product

    return make


def _make_sparse(multiply):
    def make(scipys):
        @functools.wraps(scipys)
        def product(self, other):
            if self.ndim == 2 and other.ndim == 2:
                made = multiply(self, other)
                if made is not None:
                    counts["tulle"] += 1
                    return made
            _left(self, other)
            return scipys(self, other)

        return product

    return make


def _index_type(a, arrays, nnz):
    """That of SciPy's own product, which keeps indices of 64 bits where an operand has them."""
    choose = getattr(a, "_get_index_dtype", None)
    if choose is None:  # before SciPy 1.11
        from scipy.sparse._sputils import get_index_dtype as choose
    return choose(arrays, maxval=nnz)


def _compressed(multiply, a, b, shape, common):
    """a @ b of two containers with indptr and indices, in the format of a."""
    left, right = (b, a) if a.format == "csc" else (a, b)  # of columns: C^T = B^T A^T
    arrays = []
    for m in (left, right):
        arrays += [np.ascontiguousarray(m.indptr), _narrow(m.indices), _plain_values(m.data, common)]
    made = multiply(*(reversed(shape) if a.format == "csc" else shape), *arrays)
    if made is None:
        return None
    indptr, indices, data, is_sorted = made
    rows, _, cols = shape
    if len(data) == 0:
        return a.__class__((rows, cols), dtype=common, **_blocks_of(a, b))
    index = _index_type(a, (a.indptr, a.indices, b.indptr, b.indices), len(indices))
    indices, indptr = indices.astype(index, copy=False), indptr.astype(index, copy=False)
    result = a.__class__((_types.back(data, common), indices, indptr), shape=(rows, cols), **_blocks_of(a, b))
    if is_sorted:
        result.has_sorted_indices = result.has_canonical_format = True
    return result


def _blocks_of(a, b):
    return {"blocksize": (a.blocksize[0], b.blocksize[1])} if a.format == "bsr" else {}


def _common_of_sparse(a, b):
    """The type of a @ b, None where it is not for tulle."""
    common = _types.common(a.dtype, b.dtype)
    return None if _types.working(common) is None or a.shape[1] != b.shape[0] else common


def _sparse(a, b):
    common = _common_of_sparse(a, b)
    if common is None:
        return None
    return _compressed(core.multiply_sparse, a, a.__class__(b), a.shape + b.shape[1:], common)  # b as SciPy has it: in a's format


def _sparse_bsr(a, b):
    common = _common_of_sparse(a, b)
    if common is None:
        return None
    inner, width = a.blocksize[1], b.blocksize[1] if b.format == "bsr" else 1  # as SciPy takes b
    b = b.tobsr(blocksize=(inner, width), copy=False) if b.format == "csr" and inner == 1 else b.tobsr(blocksize=(inner, width))
    return _compressed(core.multiply_bsr_sparse, a, b, a.shape + b.shape[1:], common)


def _sparse_dia(a, b):
    common = _common_of_sparse(a, b)
    if common is None or b.format != "dia" or 0 in a.shape or 0 in b.shape:
        return None
    made = core.multiply_dia_sparse(*a.shape, b.shape[1], _narrow(a.offsets), _plain_values(a.data, common),
                                    _narrow(b.offsets), _plain_values(b.data, common))
    if made is None:
        return None
    offsets, data = made
    return a.__class__((_types.back(data, common), offsets), shape=(a.shape[0], b.shape[1]))


def _replace(owner, names, make):
    for name in names:
        if name in vars(owner):
            scipys = vars(owner)[name]
            _replaced.append((owner, name, scipys))
            setattr(owner, name, make(scipys))
            return
    raise ImportError(f"tulle.install: this SciPy has none of {', '.join(names)} in {owner.__name__}")


_VECTOR, _SEVERAL = ("_matmul_vector", "_mul_vector"), ("_matmul_multivector", "_mul_multivector")
_SPARSE = ("_matmul_sparse", "_mul_sparse_matrix")


def _replace_all():
    from scipy.sparse import _bsr, _compressed as compressed, _coo as coo, _dia as dia

    for module, classes, dense, sparse in ((compressed, ("_cs_matrix",), _csr, _sparse), (_bsr, ("_bsr_base", "bsr_matrix"), _blocks, _sparse_bsr),
                                           (coo, ("_coo_base", "coo_matrix"), _coo, None),
                                           (dia, ("_dia_base", "dia_matrix"), _dia, _sparse_dia)):
        owner = next(getattr(module, name) for name in classes if hasattr(module, name))
        for names, make in ((_VECTOR, _make_dense(dense)), (_SEVERAL, _make_dense(dense)), (_SPARSE, _make_sparse(sparse))):
            inherits = module in (coo, dia) and not any(name in vars(owner) for name in names)  # from SciPy's way by csr
            if not inherits and not (names is _SPARSE and sparse is None):
                _replace(owner, names, make)


class _Installed:
    _ended = False

    def __enter__(self) -> "_Installed":
        return self

    def __exit__(self, *_: object) -> None:
        if not self._ended:
            self._ended = True
            uninstall()


def install() -> _Installed:
    """Puts tulle's products under SciPy's own: `@`, `*` of matrices, `dot`, of csr, csc, bsr, coo and dia with vectors, several
    vectors and sparse matrices. What tulle does not take (long double, objects, more than two dimensions) stays SciPy's, silently.
    Results have SciPy's types; indices of products are sorted, but for those of up to 4096 multiplications, which have SciPy's
    order and no zeros. Calls nest: each has its `uninstall`. As a context manager it lasts for a block.

    >>> import numpy as np, scipy.sparse as sp, tulle
    >>> with tulle.install():
    ...     sp.csr_array([[0., 2.], [1., 0.]]) @ np.array([1., 10.])
    array([20.,  1.])
    """
    global _depth
    with _lock:
        if _depth == 0:
            try:
                _replace_all()
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
