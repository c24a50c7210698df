"""Which types of values tulle computes in, and what becomes of the others."""

import numpy as np

from ._core import core

#: The types that tulle takes as they are.
native = frozenset(np.dtype(t) for t in core.value_types)

_i32, _i64 = np.dtype(np.int32), np.dtype(np.int64)


def working(dtype):
    """The type that values of `dtype` are computed in so that nothing is lost, or None where tulle has none.

    Integers of 8 and 16 bits and booleans are computed in int32, float16 in float32, unsigned ones of 32 and 64 bits in the
    signed type of the same size (whose sums have the same bits). long double and objects have none.
    """
    dtype = np.dtype(dtype).newbyteorder("=")
    if dtype in native:
        return dtype
    if dtype.kind == "b" or (dtype.kind in "iu" and dtype.itemsize <= 4):
        return _i32
    if dtype.kind in "iu" and _i64 in native:
        return _i64
    if dtype == np.float16:
        return np.dtype(np.float32)
    return None


def cast(values, dtype):
    """`values` in the working type of `dtype`: no copy where they are in it already."""
    target = working(dtype)
    if values.dtype == target:
        return values
    if target.kind == "i" and np.dtype(dtype).kind == "u":
        return values.astype(dtype, copy=False).astype(target)  # wraps around: the same bits
    return values.astype(target)


def back(values, dtype):
    """What was computed in the working type of `dtype`, as `dtype`."""
    if values.dtype == dtype:
        return values
    return values != 0 if np.dtype(dtype).kind == "b" else values.astype(dtype)
