"""C = A B of sparse matrices; results own tulle's memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _matrix, _types
from ._core import core


def _plain(a):
    """What stands behind an operator."""
    if isinstance(a, core.Operator):
        source = a._current().T if a._is_transposed else a._current()
        return source.conj() if a._is_conjugated else source
    return a


def _as_it_is(a):
    """A csr container of SciPy whose arrays tulle takes as they are. None: others."""
    kind = type(a)
    if kind.__name__ not in ("csr_array", "csr_matrix") or not kind.__module__.startswith("scipy.") or len(a.shape) != 2:
        return None
    try:
        return core.Matrix("csr", *a.shape, a.data, a.indices, a.indptr) if a.data.dtype in _types.native else None
    except (TypeError, ValueError, OverflowError):
        return None  # _matrix finds the words


def _operands(*all):
    all = [_plain(a) for a in all]
    taken = [_as_it_is(a) for a in all]
    if None not in taken and len({a.data.dtype for a in all}) == 1:
        return all[0].data.dtype, taken
    common = _types.common(*(_matrix.dtype_of(a) for a in all))
    if _types.working(common) is None:
        raise TypeError(f"values of type {common}: tulle takes {', '.join(sorted(t.name for t in _types.native))}")
    return common, [_matrix.as_matrix(a, dtype=common) for a in all]


def _same_array(a, b):
    return a.size == b.size and a.dtype == b.dtype and a.ctypes.data == b.ctypes.data


def _result(c, common, like):
    made = _matrix.to_container(c, like)
    if made.dtype != common:
        made.data = _types.back(made.data, common)
    return made


def matmul(a: Any, b: Any, mask: Any = None, memory_limit: int | None = None, *, kernel: str = "") -> Any:
    """C = A B, or only its entries in the pattern of `mask`.

    a, b, mask : sparse matrices of SciPy or of CuPy (all on one side), rows x inner, inner x columns, rows x columns.
    memory_limit : the most bytes that the product may hold beyond operands and C; C is made by panels of rows within it.

    Returns a csr_array (csr_matrix where `a` is a matrix of SciPy, or on a device) with sorted indices, which owns the memory
    that tulle filled. Entries whose terms cancel stay. Error of an entry: gamma(n + 2) (|A| |B|), n its terms. Raises
    ValueError, TypeError, tulle.InvalidStructure, MemoryError (also where one row passes the limit).

    >>> import scipy.sparse as sp, tulle
    >>> a = sp.csr_array([[1., 2.], [0., 3.]])
    >>> tulle.matmul(a, a).toarray()
    array([[1., 8.],
           [0., 9.]])
    """
    a = _plain(a)
    common, (left, right) = _operands(a, b)
    masked = None if mask is None else _matrix.as_matrix(_plain(mask), dtype=common)
    c = core.multiply(left, right, masked, int(memory_limit or 0), kernel)
    return _result(c, common, a)


def triple_product(r: Any, a: Any, p: Any, *, memory_limit: int | None = None) -> Any:
    """R A P by panels of rows, so that neither R A nor A P exists whole: the Galerkin product of algebraic multigrid.

    Shapes, types, results and errors as in `matmul`.

    >>> import scipy.sparse as sp, tulle
    >>> a, p = sp.csr_array([[2., 1.], [1., 2.]]), sp.csr_array([[1.], [1.]])
    >>> tulle.triple_product(p.T.tocsr(), a, p).toarray()
    array([[6.]])
    """
    common, (left, middle, right) = _operands(r, a, p)
    return _result(core.triple_product(left, middle, right, int(memory_limit or 0)), common, _plain(r))


class plan_matmul:
    """C = A B, made again and again for other numbers in the same patterns.

    Parameters as in `matmul`. `plan()` makes a C; `plan.update(a_data, b_data)` gives other values, in the order of the
    containers' `data`, and `plan(out=c)` fills a C that the plan made with what they give, without symbolic work.

    >>> import scipy.sparse as sp, tulle
    >>> a = sp.csr_array([[1., 2.], [0., 3.]])
    >>> plan = tulle.plan_matmul(a, a)
    >>> c = plan()
    >>> _ = plan.update(2 * a.data, a.data)
    >>> plan(out=c).toarray()
    array([[ 2., 16.],
           [ 0., 18.]])
    """

    def __init__(self, a: Any, b: Any, mask: Any = None, memory_limit: int | None = None, *, kernel: str = "") -> None:
        self._sources = _plain(a), _plain(b)
        self._dtype, self._taken = _operands(*self._sources)
        left, right = self._taken
        masked = None if mask is None else _matrix.as_matrix(_plain(mask), dtype=self._dtype)
        self._plan = core.ProductPlan(left, right, masked, int(memory_limit or 0), kernel)

    def __call__(self, out: Any = None) -> Any:
        if out is None:
            return _result(self._plan.multiply(), self._dtype, self._sources[0])
        c = getattr(out, "_tulle", None)
        if c is None or self._dtype not in _types.native:
            raise ValueError("out must be a C that a plan of a native type made")
        if not c.on_device and not all(map(_same_array, c.arrays(), (out.indptr, out.indices, out.data))):
            raise ValueError("out has other arrays than the C that a plan made: let it make another")
        self._plan.numeric(c)
        return out

    def update(self, a_data: Any, b_data: Any) -> plan_matmul:
        """Other values, lent until the next ones. Returns the plan."""
        given = map(_matrix.in_order, (a_data, b_data), self._sources, self._taken)
        self._plan.update(*(_matrix.values_of(data, self._dtype).ravel() for data in given))
        return self

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self._plan.kernel

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of C."""
        return self._plan.shape

    def explain(self) -> str:
        """One sentence: the kernel, and why."""
        return self._plan.explain()
