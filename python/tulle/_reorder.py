"""Orders of rows and unknowns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _matrix, _types
from ._core import core


class Reordered(NamedTuple):
    """A matrix in another order, and the order: row i of `matrix` is row order[i] of the one that was given."""

    matrix: Any
    order: np.ndarray


_OF_ROWS = ("length", "match_diagonal")


def reorder(a: Any, method: str = "rcm", *, part_rows: int = 0, window: int = 1024, seed: int = 1) -> Reordered:
    """`a` in another order, and that order: (matrix, order).

    a : sparse matrix of SciPy or CuPy, square but for "length" and "random".
    method : "rcm" (reverse Cuthill-McKee: small bandwidth), "amd" (little fill), "nd" and "partition" (METIS), "degree",
        "random", "natural": rows and columns alike, a[order][:, order]; "length" (rows of like length together) and
        "match_diagonal" (large entries onto the diagonal): rows alone, a[order].
    part_rows : of partition; window : of length; seed : of random.

    order : int32, (rows,). A system goes along: (P A P^T) (P x) = P b, with P b = b[order]. Raises ValueError (the method, the
    shape), tulle.InvalidStructure, NotImplementedError where this build lacks the library.

    >>> import scipy.sparse as sp, tulle
    >>> a = sp.csr_array([[1., 0., 2.], [0., 3., 0.], [2., 0., 4.]])
    >>> b, order = tulle.reorder(a, "rcm")
    >>> tulle.order_quality(a)["bandwidth"], tulle.order_quality(b)["bandwidth"]
    (2, 1)
    """
    matrix = _matrix.as_matrix(a)
    order = core.order(matrix, method, part_rows, window, seed)
    rows_alone = method in _OF_ROWS or matrix.shape[0] != matrix.shape[1]
    made = core.permuted(matrix, order, "rows" if rows_alone else "symmetric")
    result = _matrix.to_container(made, a, canonical=False)
    result.data = _types.back(result.data, _matrix.dtype_of(a).newbyteorder("="))
    return Reordered(result, order)


def order_quality(a: Any) -> dict[str, int]:
    """{"bandwidth": the greatest |i - j| of an entry, "profile": the sum over rows of i minus the least j <= i}."""
    return core.order_quality(_matrix.as_matrix(a))
