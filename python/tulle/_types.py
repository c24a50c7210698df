"""Which types of values tulle computes in, and what becomes of the others."""

import numpy as np

from ._core import core

#: The types that tulle takes as they are.
native = frozenset(np.dtype(t) for t in core.value_types)

_i32, _i64, _f32 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float32)


def common(*types):
    """The type of a product of values of these types, as SciPy has it: NumPy's, but float32 for float16."""
    dtype = np.result_type(*types)
    return _f32 if dtype == np.float16 else dtype


def working(dtype):
    """The type that values of `dtype` are computed in so that nothing is lost, or None where tulle has none.

    Integers of 8 and 16 bits are computed in int32, float16 in float32, unsigned ones of 32 and 64 bits in the signed type of
    the same size: sums have the same last bits. long double and objects have none.
    """
    dtype = np.dtype(dtype).newbyteorder("=")
    if dtype in native:
        return dtype
    if dtype.kind in "iu":
        return _i32 if dtype.itemsize <= 4 else _i64
    if dtype == np.float16:
        return _f32
    return None


def cast(values, dtype):
    """`values` in the working type of `dtype`: no copy where they are in it already, or unsigned of the same size."""
    target = working(dtype)
    if values.dtype == target:
        return values
    if target.kind == "i" and np.dtype(dtype).kind == "u":
        values = values.astype(np.dtype(dtype).newbyteorder("="), copy=False)
        return values.view(target) if values.dtype.itemsize == target.itemsize else values.astype(target)
    return values.astype(target)


def back(values, dtype):
    """What was computed in the working type of `dtype`, as `dtype`: of integers the last bits."""
    if values.dtype == dtype:
        return values
    wraps = np.dtype(dtype).kind == "u" and values.dtype.kind == "i" and np.dtype(dtype).itemsize == values.dtype.itemsize
    return values.view(dtype) if wraps else values.astype(dtype)


def side_by_side(x, real):
    """Real and imaginary parts of complex vectors as vectors beside each other."""
    return x.view(real).reshape(x.shape[0], 2 * (x.shape[1] if x.ndim == 2 else 1))
