"""Products of an operator whose matrix is on a CUDA device, on CuPy's current stream."""

import numpy as np

from . import _matrix, _types


def _layout(x):
    """(vectors, distance, by row) of an array of at most two dimensions; None where tulle does not read it."""
    size = x.itemsize
    if x.ndim == 1:
        return (0, 1, True) if x.size <= 1 or x.strides[0] == size else None
    (rows, count), (down, across) = x.shape, x.strides
    if count and (count == 1 or across == size) and (rows <= 1 or (down % size == 0 and down >= count * size)):
        return count, down // size if rows > 1 else count, True
    if count and (rows <= 1 or down == size) and across % size == 0 and across >= rows * size:
        return count, across // size, False
    return None


def _queue(op, alpha, x, beta, y, *layout):
    """Queues y = alpha A x + beta y on the current stream, which waits for what the operator still does on another: its workspace
    is one. No other thread may queue between the two."""
    import cupy

    with op._queueing:
        stream = cupy.cuda.get_current_stream()
        last = op._stream
        if last is not None and last.ptr != stream.ptr:
            stream.wait_event(last.record())
        op._stream = stream
        op._apply_device(alpha, x.data.ptr, beta, y.data.ptr, *layout, stream.ptr)


def apply(op, x, out, alpha, beta):
    layouts = _layout(x), _layout(out)
    if x.dtype != op._computed or out.dtype != op._computed or None in layouts or x.ndim != out.ndim:
        raise TypeError(f"x and out must be device arrays of {op._computed} with rows or columns side by side")
    if x.shape[0] != op.shape[1] or out.shape[0] != op.shape[0] or x.shape[1:] != out.shape[1:]:
        raise ValueError(f"x has the shape {x.shape}, out {out.shape}, A is {op.shape[0]} x {op.shape[1]}")
    (count, x_ld, x_by_row), (_, y_ld, y_by_row) = layouts
    _queue(op, alpha, x, beta, out, count, x_ld, x_by_row, y_ld, y_by_row)
    return out


def multiply(op, x):
    import cupy

    if _matrix.is_sparse(x):
        from ._products import matmul

        return matmul(op, x)
    if not isinstance(x, cupy.ndarray):
        if not _matrix.is_device_array(x):
            raise TypeError(f"A is on a CUDA device, x is a {type(x).__name__}: give an array of CuPy")
        x = cupy.asarray(x)
    if x.ndim not in (1, 2) or x.shape[0] != op.shape[1]:
        raise ValueError(f"x has the shape {x.shape}, A is {op.shape[0]} x {op.shape[1]}")
    common = _types.common(op.dtype, x.dtype)
    if common.kind == "c" and op.dtype.kind != "c":
        return _by_parts(op, x, common)
    working = _types.working(common)
    if working is None:
        raise TypeError(f"x of type {x.dtype}: tulle takes {', '.join(sorted(t.name for t in _types.native))}")
    y = _product(op if working == op._computed else op._in(working), _types.cast(x, common))
    return _types.back(y, common)


def _product(op, x):
    """A @ x for x in the type that the plan computes in."""
    import cupy

    if x.ndim == 2 and x.shape[1] == 0:
        return cupy.empty((op.shape[0], 0), op._computed)
    layout = _layout(x)
    if layout is None:
        x = cupy.ascontiguousarray(x)
        layout = _layout(x)
    count, ld, by_row = layout
    rows = op.shape[0]
    y = cupy.empty((rows,) + x.shape[1:], op._computed, order="C" if by_row else "F")
    _queue(op, 1.0, x, 0.0, y, count, ld, by_row, count if by_row else max(rows, 1), by_row)
    return y


def _by_parts(op, x, common):
    import cupy

    real = np.dtype(f"f{common.itemsize // 2}")
    wide = cupy.ascontiguousarray(x, dtype=common)
    y = cupy.ascontiguousarray((op if real == op._computed else op._in(real)) @ _types.side_by_side(wide, real))
    return y.view(common).reshape((op.shape[0],) + wide.shape[1:])
