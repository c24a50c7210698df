"""Sparse matrices of other packages as tulle's, without a copy where their layout allows it."""

import copy
import copyreg

import numpy as np

from . import _types
from ._core import core, why_no_cuda
from ._errors import InvalidStructure


def _nothing():
    return None


# A container that owns tulle's memory is pickled and copied with its arrays, and its copy's arrays are NumPy's.
copyreg.pickle(core.Matrix, lambda matrix: (_nothing, ()))


def is_device_array(a):
    return hasattr(a, "__cuda_array_interface__")


def is_sparse(a):
    """SciPy's and CuPy's containers, known by what they offer."""
    return hasattr(a, "format") and hasattr(a, "tocsr") and hasattr(a, "shape")


def host_array(a):
    """Whatever holds numbers on the host as an array of NumPy: no copy of what has an array interface or DLPack."""
    if isinstance(a, np.ndarray):
        return a
    if is_device_array(a):
        raise TypeError("the array is in the memory of a CUDA device, the matrix in that of the host")
    if hasattr(a, "__array_interface__") or hasattr(a, "__array__") or not hasattr(a, "__dlpack__"):
        return np.asarray(a)
    return np.from_dlpack(a)


def _cupy():
    import cupy  # only where somebody gave one of its arrays, or one of a device

    return cupy


def _require_device():
    if core.device_count() == 0:
        why = why_no_cuda or core.why_no_device()
        raise NotImplementedError(f"the array is in the memory of a CUDA device, which tulle cannot reach: {why}")


def as_array(a):
    if is_device_array(a):
        _require_device()
        return a if hasattr(a, "astype") else _cupy().asarray(a)
    if hasattr(a, "__dlpack_device__") and not hasattr(a, "__array_interface__") and a.__dlpack_device__()[0] == 2:
        _require_device()
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
    if indices.size == 0:
        indices = indices.astype(np.int32)  # of an empty list NumPy makes floats
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


class Compressed:
    """Three arrays as the container that they would be in SciPy, whether that is there or not."""

    def __init__(self, format, shape, data, indices, indptr):
        self.format, self.shape = format, (int(shape[0]), int(shape[1]))
        self.data, self.indices, self.indptr = as_array(data), indices, indptr

    @property
    def dtype(self):
        return self.data.dtype

    @property
    def T(self):
        return Compressed("csc" if self.format == "csr" else "csr", self.shape[::-1], self.data, self.indices, self.indptr)

    def conj(self):
        return Compressed(self.format, self.shape, self.data.conj(), self.indices, self.indptr)

    def astype(self, dtype):
        return Compressed(self.format, self.shape, self.data.astype(dtype), self.indices, self.indptr)

    def tocsr(self):
        raise TypeError("three arrays have one format")


def container_of(a, shape=None):
    """`a`, or (data, indices, indptr) of a CSR as a container; `shape` is (rows, columns) of those, guessed where it is None."""
    if not isinstance(a, (tuple, list)) or len(a) != 3:
        return a
    data, indices, indptr = a
    if shape is None:
        indices = as_array(indices)
        shape = (len(indptr) - 1, int(indices.max()) + 1 if len(indices) else 0)
    return Compressed("csr", shape, data, indices, indptr)


def is_taken_as_it_is(a):
    """Whether a container's arrays are those of tulle's matrix; else it goes by way of CSR."""
    if a.format == "bsr":
        rows, cols = a.blocksize
        return rows == cols and 2 <= rows <= 8
    return a.format in ("csr", "csc", "coo")


def to_csr(a):
    """A container of SciPy or CuPy as CSR. SciPy's own conversions trust indices, which are looked at first."""
    try:
        if a.format in ("csc", "bsr") and not is_device_array(a.data):
            a.check_format(full_check=True)
        elif a.format == "coo" and hasattr(a, "_check") and not is_device_array(a.data):
            a._check()
    except ValueError as error:
        raise InvalidStructure(str(error)) from None
    return a.tocsr()


def in_order(data, source, matrix):
    """Values for `matrix`, which was made of `source`, in its order: given like the data of the container, or in the order of the
    CSR that it went by."""
    if isinstance(source, core.Matrix) or is_taken_as_it_is(source):
        return data
    if source.format in ("dia", "bsr") and np.ndim(data) > 1 and np.shape(data) == np.shape(source.data):
        changed = copy.copy(source)
        changed.data = data
        return values_now(changed, matrix)
    if np.size(data) != matrix.nnz:
        raise ValueError(f"data has {np.size(data)} elements, the matrix {matrix.nnz}")
    return data


def values_now(source, matrix):
    """The values that a container has now in the pattern of `matrix`, which was made of it. Raises ValueError for another one."""
    if is_taken_as_it_is(source):
        return source.data
    now = to_csr(source)
    if not matrix.on_device:
        indptr, indices, _ = matrix.arrays()
        same = np.array_equal(indptr, now.indptr) and np.array_equal(indices, now.indices)
    else:
        same = now.nnz == matrix.nnz
    if not same:
        raise ValueError(f"the matrix has other entries now ({now.nnz}; there were {matrix.nnz}): make another")
    return now.data


def as_matrix(a, shape=None, dtype=None):
    """`a` as a core.Matrix, which keeps the arrays that it shares alive.

    a: a container of SciPy or CuPy, or (data, indices, indptr) of a CSR with `shape` (rows, columns); dtype: of its values
    in the result, where it is not that of `a`. Raises TypeError, ValueError, IndexError, OverflowError.
    """
    if isinstance(a, core.Matrix):
        return a
    a = container_of(a, shape)
    if not is_sparse(a):
        raise TypeError(f"a {type(a).__name__} is not a sparse matrix of SciPy or CuPy, nor (data, indices, indptr)")
    if len(a.shape) != 2:
        raise ValueError(f"a sparse array with {len(a.shape)} dimensions: two are needed")
    if not is_taken_as_it_is(a):
        a = to_csr(a)
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


_templates = {}  # an empty container of each kind


def sound(kind, shape, **arrays):
    """A container of SciPy with arrays that are known to be sound: the constructor would look at every index."""
    if kind not in _templates:
        _templates[kind] = kind((1, 1))
    made = copy.copy(_templates[kind])
    made._shape = shape
    for name, array in arrays.items():
        setattr(made, name, array)
    return made


def csr(kind, shape, indptr, indices, data, canonical=True):
    """A csr container of SciPy; `canonical`: its rows are sorted and have no duplicates. Else SciPy will look."""
    if indptr.dtype == indices.dtype:
        made = sound(kind, shape, indptr=indptr, indices=indices, data=data)
    else:
        made = kind((data, indices, indptr), shape=shape, copy=False)
    if canonical:
        made.has_sorted_indices = made.has_canonical_format = True
    else:
        for known in ("_has_sorted_indices", "_has_canonical_format"):
            vars(made).pop(known, None)
    return made


def coo(kind, shape, row, col, data):
    """A coo container of SciPy, its entries in any order."""
    made = sound(kind, shape, data=data)
    if hasattr(made, "coords"):
        made.coords = (row, col)
    else:  # before SciPy 1.13
        made.row, made.col = row, col
    made.has_canonical_format = False
    return made


def to_container(c, like=None, canonical=True):
    """A CSR of tulle's as a container that shares its memory: SciPy's, or CuPy's where it is on a device.

    An array container, or a matrix one where `like` is one. `canonical`: as in `csr`.
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
        made = csr(kind, tuple(c.shape), *c.arrays(), canonical)
    made._tulle = c
    return made
