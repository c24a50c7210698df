"""Solvers with the calls of scipy.sparse.linalg (and cupyx.scipy.sparse.linalg)."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from . import _matrix, _types
from ._core import core
from ._operator import operator
from ._products import _plain
from ._solve import solver

__all__ = ["cg"]

_NAMES = ("none", "jacobi", "block_jacobi", "chebyshev")


def cg(A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None,
       callback: Callable[[Any], Any] | None = None) -> tuple[Any, int]:
    """Conjugate gradients for Hermitian positive definite A, called as SciPy's: returns (x, info).

    A : n x n sparse matrix of SciPy or CuPy, a tulle.operator, or anything else that SciPy takes (LinearOperator, dense).
    b : (n,) or (n, 1). x0 : the first guess. Done when ||b - A x|| <= max(rtol ||b||, atol). maxiter : 10 n if None.
    M : the inverse's approximation, as in SciPy; or the name of one of tulle's: "jacobi", "block_jacobi", "chebyshev".
    callback : called as callback(x) after every iteration; x is the iterate itself, not to be changed.

    x has the shape (n,) and info is 0, or the iterations done where the tolerance was not reached. A real sparse A without a
    callback and without an M of the caller's goes to tulle's own solver; the rest runs SciPy's recurrence, with products of a
    sparse A by tulle. Raises ValueError, TypeError, and tulle.NotConverged where a preconditioner cannot be made (a_ii <= 0).

    >>> import numpy as np, scipy.sparse as sp, tulle
    >>> a = sp.csr_array(np.array([[4., 1.], [1., 3.]]))
    >>> x, info = tulle.linalg.cg(a, np.array([1., 2.]), rtol=1e-10)
    >>> np.round(a @ x, 6), info
    (array([1., 2.]), 0)
    """
    if atol is None or isinstance(atol, str) or not atol >= 0:
        raise ValueError(f"atol = {atol}: must be a number, 0 or above")
    if isinstance(M, str) and M not in _NAMES:
        raise ValueError(f"M = {M}: must be one of {', '.join(_NAMES)}, or an operator")
    b = _matrix.as_array(b)
    n = A.shape[0]
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A is {A.shape[0]} x {A.shape[1]}: a solver needs a square matrix")
    if b.shape not in ((n,), (n, 1)):
        raise ValueError(f"b has the shape {b.shape}, A is {n} x {n}")
    b = b.ravel()
    maxiter = 10 * n if maxiter is None else maxiter
    own = M is None or isinstance(M, str)
    if own and callback is None and _is_ours(A, b, x0):
        return _compiled(A, b, x0, rtol, atol, maxiter, M or "none")
    return _recurrence(A, b, x0, rtol, atol, maxiter, M, callback)


def _source(A):
    return A._current() if isinstance(A, operator) and not A._is_transposed else A


def _is_ours(A, b, x0):
    a = _source(A)
    if not _matrix.is_sparse(a) or len(a.shape) != 2 or a.dtype.kind not in "fiub" or b.dtype.kind not in "fiub":
        return False
    if x0 is not None and np.dtype(getattr(x0, "dtype", float)).kind == "c":
        return False
    return _types.working(a.dtype) is not None and _types.working(b.dtype) is not None


def _compiled(A, b, x0, rtol, atol, maxiter, preconditioner):
    a = _source(A)
    common = np.result_type(a.dtype, b.dtype, np.float32)
    common = np.dtype(np.float32) if common == np.float32 else np.dtype(np.float64)
    if a.dtype != common:
        a = a.astype(common)
    most = int(min(maxiter, 2**31 - 1))
    made = solver(a, preconditioner=preconditioner, rtol=rtol, atol=atol, max_iterations=most, reorder="never",
                  precision="uniform", history=False, once=True)
    x, info = made.solve(b, x0, check=False)
    return x, 0 if info.converged else max(int(info.iterations), 1)


def _recurrence(A, b, x0, rtol, atol, maxiter, M, callback):
    arrays = _matrix._cupy() if _matrix.is_device_array(b) else np
    apply = _apply(A)
    if isinstance(M, str):
        if M not in ("none", "jacobi"):
            raise NotImplementedError(f"M = {M} goes with a real sparse A and without a callback")
        diagonal = None if M == "none" else _diagonal(A)
        precondition = (lambda r: r.copy()) if diagonal is None else (lambda r: r / diagonal)
    else:
        precondition = (lambda r: r.copy()) if M is None else _apply(M)
    dtype = np.result_type(getattr(A, "dtype", np.float64), b.dtype, np.float32)
    if _types.working(dtype) is None:  # long double, objects
        dtype = np.dtype(np.complex128 if dtype.kind == "c" else np.float64)
    x = arrays.zeros(b.shape, dtype) if x0 is None else arrays.array(x0, dtype=dtype).ravel()
    norm_b = float(arrays.linalg.norm(b))
    if norm_b == 0:
        return arrays.zeros_like(x), 0
    target = max(float(atol), float(rtol) * norm_b)
    r = b - apply(x) if x0 is not None else b.astype(dtype)
    p = rho = None
    for _ in range(maxiter):
        if float(arrays.linalg.norm(r)) <= target:
            return x, 0
        z = precondition(r)
        before, rho = rho, arrays.vdot(r, z)
        p = z.copy() if p is None else z + (rho / before) * p
        q = apply(p)
        alpha = rho / arrays.vdot(p, q)
        x += alpha * p
        r = r - alpha * q
        if callback is not None:
            callback(x)
    return x, 0 if float(arrays.linalg.norm(r)) <= target else int(maxiter)


def _diagonal(A):
    a = A if hasattr(A, "diagonal") else _plain(A)
    if not hasattr(a, "diagonal"):
        raise ValueError(f"M = jacobi: a {type(A).__name__} has no diagonal")
    diagonal = a.diagonal()
    return diagonal if _matrix.is_device_array(diagonal) else np.asarray(diagonal)


def _apply(A):
    """x -> A x, by tulle where A is a sparse matrix that it takes."""
    if isinstance(A, np.matrix):
        A = np.asarray(A)
    if isinstance(A, core.Operator):
        return lambda x: A @ x
    if _matrix.is_sparse(A) and _types.working(A.dtype) is not None:
        op = operator(A)
        return lambda x: op @ x
    if hasattr(A, "matvec"):
        return A.matvec
    return lambda x: A @ x
