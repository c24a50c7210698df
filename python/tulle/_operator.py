"""tulle.operator: y = A x, planned once and applied often."""

from __future__ import annotations

import copy
import os
import threading
import weakref
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _matrix, _types
from ._core import core


class _Family:
    """What an operator, its transpose and their conjugates share: who they are, and a lock for making and updating them."""

    _all: weakref.WeakSet[_Family] = weakref.WeakSet()

    def __init__(self):
        self.lock = threading.RLock()
        self.members = weakref.WeakSet()
        self._all.add(self)

    @classmethod
    def _renew(cls):
        """In a child of fork, where nobody holds a lock."""
        for family in list(cls._all):
            family.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Family._renew)


class operator(core.Operator):
    """A sparse matrix ready to be multiplied by: analysed once, applied as often as wanted.

    Parameters
    ----------
    a : csr, csc, coo or bsr array or matrix of SciPy or CuPy, others by way of CSR; or (data, indices, indptr) of a CSR,
        of anything with `__array_interface__`, `__cuda_array_interface__` or DLPack. Nothing is copied where the layout
        allows it: values of a native type, 32-bit indices, contiguous arrays.
    shape : (rows, columns), for three arrays.
    dtype : of values, where it is not that of `a`. Results have the type that SciPy's would have.
    kernel : its name, as `tulle kernels` lists them; empty: chosen.
    effort : "none" (nothing is validated), "standard" or "max" (kernels are timed).
    reorder : "never", "auto" or "always": whether rows and columns may be stored in another order.
    columns : how many vectors `A @ X` will be given at once; 0: not known.
    tolerance : what storing float64 values in fewer bits may add to the error, relative to |A| |x|; 0: nothing.
    threads : of the CPU; 0: as many as OpenMP would use.

    Raises
    ------
    TypeError, ValueError, tulle.InvalidStructure, OverflowError, NotImplementedError, MemoryError.

    Arrays are read where they are: after values were changed in place, call `A.update()` before the next product, and leave
    the indices alone. Results have an error of at most gamma(n_i + 2) |A| |x| in row i, n_i its nonzeros (Higham, Accuracy
    and Stability of Numerical Algorithms, 2002, section 3.1), and the same bits in every run.

    >>> import numpy as np, scipy.sparse as sp, tulle
    >>> a = sp.csr_array(np.array([[4., 1., 0.], [1., 4., 1.], [0., 1., 4.]]))
    >>> A = tulle.operator(a)
    >>> A @ np.ones(3)
    array([5., 6., 5.])
    >>> A.shape, A.dtype
    ((3, 3), dtype('float64'))
    """

    ndim = 2
    __array_ufunc__ = None  # array @ A comes to __rmatmul__
    __array_priority__ = 20

    dtype: np.dtype[Any]

    def __init__(self, a: Any, *, shape: tuple[int, int] | None = None, dtype: npt.DTypeLike | None = None, kernel: str = "",
                 effort: Literal["none", "standard", "max"] = "standard",
                 reorder: Literal["never", "auto", "always"] = "never", reorder_method: str = "", columns: int = 0,
                 tolerance: float = 0.0, threads: int = 0) -> None:
        self._source = a = _matrix.container_of(a, shape)
        self._source_dtype = None if dtype is None else np.dtype(dtype)
        options = dict(kernel=kernel, effort=effort, reorder=reorder, reorder_method=reorder_method, columns=columns,
                       tolerance=tolerance, threads=threads)
        self._set_up(_matrix.as_matrix(a, dtype=dtype), options, False)

    def _set_up(self, matrix, options, transposed, conjugated=False):
        computed = np.dtype(matrix.dtype)
        given = _matrix.dtype_of(self._source) if self._source_dtype is None else self._source_dtype
        self.dtype = given.newbyteorder("=")
        core.Operator.__init__(self, matrix, transpose=transposed, conjugate=conjugated,
                               plain=bool(_types.common(self.dtype, computed) == computed), **options)
        self._matrix = matrix
        self._options = options
        self._is_transposed, self._is_conjugated = transposed, conjugated
        self._family = _Family()
        self._family.members.add(self)
        self._root = None  # of a relative: a weak reference to whom it was made of, and who keeps it
        self._relatives = {}  # by (transposed, conjugated)
        self._others = {}  # of the same matrix in other types
        self._computed = computed  # the type of values and vectors in the plan
        self._values = None  # of the last update, where these are not the container's
        self._stream = None  # the last one, on a device
        self._queueing = threading.Lock()

    def _matmul_any(self, x):
        """A @ x for what the compiled part leaves over: lists, other types and layouts, sparse matrices, devices."""
        if self._matrix.on_device:
            from . import _device

            return _device.multiply(self, x)
        if _matrix.is_sparse(x):
            from ._products import matmul

            return matmul(self, x)
        if isinstance(x, core.Operator) or np.isscalar(x):
            return NotImplemented
        if isinstance(x, np.matrix):
            return np.asmatrix(self @ np.asarray(x))
        x = np.asarray(_matrix.host_array(x))
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ValueError(f"x has the shape {x.shape}, A is {self.shape[0]} x {self.shape[1]}")
        common = _types.common(self.dtype, x.dtype)
        if common.kind == "c" and self.dtype.kind != "c":
            return self._by_parts(x, common)
        working = _types.working(common)
        if working is None:
            raise TypeError(f"x of type {x.dtype}: tulle takes {', '.join(sorted(t.name for t in _types.native))}")
        x = np.require(_types.cast(x, common), requirements=["C", "A"])
        if not x.dtype.isnative:
            x = x.astype(x.dtype.newbyteorder("="))
        y = (self if working == self._computed else self._in(working))._multiply(x)
        if y is None:
            raise TypeError(f"x of type {x.dtype} and strides {x.strides} cannot be read")
        return _types.back(y, common)

    def _by_parts(self, x, common):
        """A real A times complex x: real and imaginary parts are two vectors side by side."""
        real = np.dtype(f"f{common.itemsize // 2}")
        wide = np.ascontiguousarray(x, dtype=common)
        parts = _types.side_by_side(wide, real)
        as_it_is = real == self._computed or self._computed == np.float32  # which multiplies float64 vectors without a copy
        y = np.ascontiguousarray((self if as_it_is else self._in(real)) @ parts)
        return y.view(common).reshape((self.shape[0],) + wide.shape[1:])

    def _in(self, dtype):
        """The same operator in another type."""
        other = self._others.get(dtype)
        if other is not None:
            return other
        with self._family.lock:
            if (other := self._others.get(dtype)) is None:
                other = operator.__new__(operator)
                other._source, other._source_dtype = self._source, dtype
                matrix = _matrix.as_matrix(self._source, dtype=dtype)
                other._set_up(matrix, _plain_options(self._options), self._is_transposed, self._is_conjugated)
                if self._values is not None:
                    other._update(self._typed(self._values, dtype))
                elif self._source_dtype is not None:  # which may have lost digits
                    other._update(self._typed(_matrix.values_now(self._source, self._matrix), dtype))
                self._others[dtype] = other
        return other

    def _typed(self, values, dtype):
        """Values of A in A's type, and then in another one."""
        values = _matrix.as_array(values)
        if values.dtype.kind == "c" and self.dtype.kind != "c":
            raise TypeError("data is complex, A is not")
        if values.dtype != self.dtype:
            values = _types.back(_matrix.values_of(values, self.dtype), self.dtype)
        return _matrix.values_of(values, dtype).ravel()

    def __rmatmul__(self, x: Any) -> Any:
        """x @ A."""
        x = x if _matrix.is_sparse(x) or hasattr(x, "T") else np.asarray(x)
        y = self.T @ x.T
        return y.T if getattr(y, "ndim", 1) == 2 else y

    def apply(self, x: Any, out: Any, *, alpha: float = 1.0, beta: float = 0.0) -> Any:
        """out = alpha A x + beta out, without new memory. x and out: arrays of A's type (of int32 for integers of less bits, of
        the signed type for uint32 and uint64), of one or two dimensions. alpha and beta: real numbers, whole ones for integers,
        0 or 1 for booleans. beta = 0 overwrites out, NaN included. Returns out."""
        if self._matrix.on_device:
            from . import _device

            return _device.apply(self, x, out, alpha, beta)
        if not self._apply(alpha, x, beta, out) and not self._apply(alpha, _plain_array(x), beta, _plain_array(out)):
            raise TypeError(f"x and out must be arrays of {self._computed} with positive strides, in rows or columns side by side")
        return out

    @property
    def T(self) -> operator:
        """The operator of the transpose. It is made once, and costs about 20 products."""
        return self._relative(not self._is_transposed, self._is_conjugated)

    def _relative(self, transposed, conjugated):
        if (transposed, conjugated) == (self._is_transposed, self._is_conjugated):
            return self
        root = self if self._root is None else self._root()
        if root is None:  # it is gone
            root, self._root = self, None
        if (transposed, conjugated) == (root._is_transposed, root._is_conjugated):
            return root
        other = root._relatives.get((transposed, conjugated))
        if other is not None:
            return other
        with self._family.lock:
            if (other := root._relatives.get((transposed, conjugated))) is None:
                other = operator.__new__(operator)
                other._source, other._source_dtype = self._source, self._source_dtype
                other._set_up(self._matrix, _plain_options(self._options), transposed, conjugated)
                if self._values is not None:
                    other._update(self._typed(self._values, other._computed))
                    other._values = self._values
                other._family, other._root = self._family, weakref.ref(root)
                other._family.members.add(other)
                root._relatives[transposed, conjugated] = other
        return other

    @property
    def H(self) -> operator:
        """The operator of the conjugate transpose."""
        return self._relative(not self._is_transposed, self._is_conjugated ^ (self.dtype.kind == "c"))

    def transpose(self) -> operator:
        return self.T

    def adjoint(self) -> operator:
        return self.H

    def rmatvec(self, x: Any) -> Any:
        """A.H @ x."""
        return self.H @ x

    rmatmat = rmatvec

    def update(self, data: Any = None) -> operator:
        """Other values in the same pattern, like the container's `data` or, where it is none of csr, csc, coo and bsr in square
        blocks of 2 to 8, in the order of its CSR; without any: those that were changed in place, or that the container has now.
        Raises ValueError where it has other entries now. Returns the operator."""
        with self._family.lock:
            values = (_matrix.values_now(self._source, self._matrix) if data is None
                      else _matrix.in_order(data, self._source, self._matrix))
            if self._matrix.on_device:
                _matrix._cupy().cuda.get_current_stream().synchronize()  # which may still compute them
            for one in list(self._family.members):
                for other in [one, *list(one._others.values())]:
                    other._update(self._typed(values, other._computed))
                one._values = None if data is None else values
        return self

    def _current(self):
        """The container, with the values of the last update, in the operator's type."""
        if self._values is None and (self._source_dtype is None or self._source_dtype == _matrix.dtype_of(self._source)):
            return self._source
        made = copy.copy(self._source if _matrix.is_taken_as_it_is(self._source) else _matrix.to_csr(self._source))
        blocks = np.shape(made.data)[1:]
        values = made.data if self._values is None else self._values
        values = _matrix.as_array(values).ravel()[: self._matrix.nnz].reshape((-1, *blocks))
        made.data = _types.back(_matrix.values_of(values, self.dtype), self.dtype)
        return made

    def autotune(self) -> operator:
        """Times every kernel that suits the matrix and keeps the fastest. Returns the operator."""
        self._autotune()
        return self

    @property
    def nnz(self) -> int:
        """Stored entries."""
        return self._matrix.nnz

    @property
    def device(self) -> Literal["cpu", "cuda"]:
        """"cpu" or "cuda"."""
        return "cuda" if self._matrix.on_device else "cpu"

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"<tulle.operator: {rows} x {cols}, {self.nnz} nonzeros of {self.dtype}, {self.kernel} on {self.device}>"

    def __reduce__(self):
        raise TypeError("a tulle.operator belongs to this process: pickle the matrix and make another")


def _plain_options(options):
    """For an operator beside the one that they were given for."""
    return dict(options, kernel="", reorder="never", reorder_method="")


def _plain_array(a):
    """As an array of NumPy's own class, in the same memory, where it is one of a class of others."""
    return np.asarray(a) if isinstance(a, np.ndarray) else a
