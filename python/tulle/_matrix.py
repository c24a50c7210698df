"""Sparse matrices of other packages as tulle's, without a copy where their layout allows it."""

import numpy as np

from . import _types
from ._core import core


def is_device_array(a):
    return hasattr(a, "__cuda_array_interface__")


def is_sparse(a):
    """SciPy's and CuPy's containers, known by what they offer."""
    return hasattr(a, "format") and hasattr(a, "tocsr") and hasattr(a, "shape")


def host_array(a):
    """Whatever holds numbers on the host as an array of NumPy: no copy of what has an array interface or DLPack."""
    if isinstance(a, np.ndarray):
        return a
    if hasattr(a, "__array_interface__") or hasattr(a, "__array__") or not hasattr(a, "__dlpack__"):
        return np.asarray(a)
    return np.from_dlpack(a)


def _cupy():
    import cupy  # only where somebody gave one of its arrays, or one of a device

    return cupy


def as_array(a):
    if is_device_array(a):
        return a if hasattr(a, "astype") else _cupy().asarray(a)
    if hasattr(a, "__dlpack_device__") and not hasattr(a, "__array_interface__") and a.__dlpack_device__()[0] == 2:
        return _cupy().from_dlpack(a)
    return host_array(a)


def dtype_of(a):
    """Of the values of whatever `as_matrix` takes."""
    return as_array(a[0]).dtype if isinstance(a, (tuple, list)) else np.dtype(a.dtype)


def _contiguous(a):
    return _cupy().ascontiguousarray(a) if is_device_array(a) else np.require(a, requirements=["C", "A"])


def values_of(data, dtype=None):
    """The values in a type that tulle takes, contiguous and in this machine's byte order."""
    data = as_array(data)
    wanted = data.dtype if dtype is None else np.dtype(dtype)
    if _types.working(wanted) is None:
        raise TypeError(f"values of type {wanted}: tulle takes {', '.join(sorted(t.name for t in _types.native))}")
    return _contiguous(_types.cast(data, wanted))


def indices_of(indices):
    """Indices in 32 bits. Raises IndexError where one does not fit."""
    indices = as_array(indices)
    if indices.dtype != np.int32:
        if indices.dtype.kind not in "iu":
            raise TypeError(f"indices of type {indices.dtype}: integers are needed")
        if is_device_array(indices):
            if indices.size and not (0 <= int(indices.min()) and int(indices.max()) < 2**31):
                raise IndexError("indices: one does not fit 32 bits")
            indices = indices.astype(np.int32)
        else:
            indices = core.narrow(np.ascontiguousarray(indices, dtype=np.int64).ravel())
    return _contiguous(indices)


def offsets_of(indptr):
    indptr = as_array(indptr)
    if indptr.dtype.newbyteorder("=") not in (np.int32, np.int64):
        if indptr.dtype.kind not in "iu":
            raise TypeError(f"indptr of type {indptr.dtype}: integers are needed")
        indptr = indptr.astype(np.int64)
    if not is_device_array(indptr) and not indptr.dtype.isnative:
        indptr = indptr.astype(indptr.dtype.newbyteorder("="))
    return _contiguous(indptr)


def _device_of(a):
    if not is_device_array(a):
        return 0
    _cupy().cuda.get_current_stream().synchronize()  # what is planned reads the arrays on a stream of its own
    return getattr(getattr(a, "device", None), "id", 0)


def _from_arrays(format, shape, data, indices, outer, dtype, block=0):
    data = values_of(data, dtype)
    outer = indices_of(outer) if format == "coo" else offsets_of(outer)
    return core.Matrix(format, int(shape[0]), int(shape[1]), data, indices_of(indices), outer, block, _device_of(data))


def as_matrix(a, shape=None, dtype=None):
    """`a` as a core.Matrix, which keeps the arrays that it shares alive.

    a: a container of SciPy or CuPy, or (data, indices, indptr) of a CSR with `shape` (rows, columns); dtype: of its values
    in the result, where it is not that of `a`. Raises TypeError, ValueError, IndexError, OverflowError.
    """
    if isinstance(a, core.Matrix):
        return a
    if isinstance(a, (tuple, list)) and len(a) == 3:
        data, indices, indptr = a
        if shape is None:
            indices = as_array(indices)
            shape = (len(indptr) - 1, int(indices.max()) + 1 if len(indices) else 0)
        return _from_arrays("csr", shape, data, indices, indptr, dtype)
    if not is_sparse(a):
        raise TypeError(f"a {type(a).__name__} is not a sparse matrix of SciPy or CuPy, nor (data, indices, indptr)")
    if len(a.shape) != 2:
        raise ValueError(f"a sparse array with {len(a.shape)} dimensions: two are needed")
    if a.format == "bsr":
        rows, cols = a.blocksize
        if rows != cols or not 2 <= rows <= 8:
            a = a.tocsr()
    elif a.format not in ("csr", "csc", "coo"):
        a = a.tocsr()
    if a.format == "coo":
        return _from_arrays("coo", a.shape, a.data, a.col, a.row, dtype)
    block = a.blocksize[0] if a.format == "bsr" else 0
    return _from_arrays(a.format, a.shape, a.data, a.indices, a.indptr, dtype, block)


def _device_vector(pointer, count, dtype, owner):
    cupy = _cupy()
    if count == 0:
        return cupy.empty(0, dtype)
    memory = cupy.cuda.UnownedMemory(pointer, count * np.dtype(dtype).itemsize, owner)
    return cupy.ndarray((count,), dtype, cupy.cuda.MemoryPointer(memory, 0))


def to_container(c, like=None):
    """A CSR of tulle's as a container that shares its memory: SciPy's, or CuPy's where it is on a device.

    An array container, or a matrix one where `like` is one.
    """
    if c.on_device:
        from cupyx.scipy.sparse import csr_matrix

        offsets, columns, values = c.pointers
        indptr = _device_vector(offsets, c.shape[0] + 1, f"i{c.offset_bytes}", c)
        indices = _device_vector(columns, c.nnz, "i4", c)
        data = _device_vector(values, c.nnz, c.dtype, c)
        if c.offset_bytes == 8:
            indices = indices.astype("i8")
        made = csr_matrix((data, indices, indptr), shape=c.shape, copy=False)
    else:
        from scipy import sparse

        kind = sparse.csr_matrix if isinstance(like, sparse.spmatrix) else sparse.csr_array
        indptr, indices, data = c.arrays()
        made = kind((data, indices, indptr), shape=c.shape, copy=False)
        made.has_sorted_indices = made.has_canonical_format = True
    made._tulle = c
    return made
