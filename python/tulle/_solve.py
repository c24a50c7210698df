"""A x = b by tulle's solvers."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from . import _matrix
from ._core import core
from ._errors import NotConverged

_MIXED = ("none", "jacobi")
_NARROW = ("block_jacobi", "chebyshev")


class SolveInfo:
    """How a solve ended.

    status : "SUCCESS", "NOT_CONVERGED", "BREAKDOWN", "INDEFINITE" or "NOT_FINITE"; iterations; residual : ||b - A x||,
    computed from x at the end; rhs : ||b||; history : the residual's norm before iteration 0, 1, ... and after the last (empty
    where it was not kept); row : of a diagonal entry or block that is not positive definite, or -1; corrections and
    wide_iterations : of mixed precision; setup_seconds, solve_seconds; kernel and explanation : what solved it, and why.
    """

    status: str
    iterations: int
    residual: float
    rhs: float
    history: np.ndarray
    row: int
    corrections: int
    wide_iterations: int
    setup_seconds: float
    solve_seconds: float

    def __init__(self, report: dict[str, Any], kernel: str, explanation: str) -> None:
        self.__dict__.update(report)
        self.kernel = kernel
        self.explanation = explanation

    @property
    def converged(self) -> bool:
        return self.status == "SUCCESS"

    @property
    def relative_residual(self) -> float:
        """||b - A x|| / ||b||; ||b - A x|| where b is 0."""
        return self.residual / self.rhs if self.rhs else self.residual

    def __repr__(self) -> str:
        return (f"<{self.status} after {self.iterations} iterations, ||b - A x|| = {self.relative_residual:.3g} ||b||, "
                f"{self.solve_seconds:.3g} s, {self.kernel}>")

    def _repr_html_(self):
        from ._report import table

        rows = [("status", self.status), ("iterations", self.iterations), ("residual", f"{self.residual:.4g}"),
                ("of the right-hand side", f"{self.relative_residual:.4g}"), ("set-up", f"{self.setup_seconds:.4g} s"),
                ("solve", f"{self.solve_seconds:.4g} s"), ("kernel", self.kernel)]
        return table(["solve", ""], rows)


class solver:
    """A x = b for one square A: analysed once, solved with often. Parameters as of `tulle.solve`.

    >>> import numpy as np, scipy.sparse as sp, tulle
    >>> a = sp.csr_array(np.array([[2., -1.], [-1., 2.]]))
    >>> s = tulle.solver(a)
    >>> x, info = s.solve(np.array([1., 1.]))
    >>> np.round(x, 6), info.converged
    (array([1., 1.]), True)
    """

    def __init__(self, a: Any, *, method: str = "cg", preconditioner: str = "auto", rtol: float = 1e-8, atol: float = 0.0,
                 max_iterations: int = 10_000, reorder: str = "auto", precision: str = "auto", history: bool = True,
                 threads: int = 0, **options: Any) -> None:
        self._source = _matrix.container_of(a)
        self._matrix = _floating(self._source)
        if preconditioner == "auto":
            preconditioner = "block_jacobi" if self._matrix.format == "bsr" else "jacobi"
        self.dtype = np.dtype(self._matrix.dtype)
        if precision == "auto":
            takes = preconditioner in _MIXED or method == "jacobi"
            precision = "mixed" if takes and self.dtype == np.float64 else "uniform"
        if precision == "mixed" and method == "cg" and preconditioner in _NARROW:
            precision = "uniform"  # its blocks or its copy of A are narrow by themselves, where that loses nothing
        given = dict(options, rtol=float(rtol), atol=float(atol), max_iterations=int(max_iterations), reorder=reorder,
                     precision=precision, history=bool(history))
        known = {"check_interval", "reorder_method", "kernel"}
        if method == "cg":
            given["preconditioner"] = preconditioner
            known |= {"replace_interval", "block", "degree", "once"}
            make = core.CgSolver
        elif method == "jacobi":
            known |= {"omega"}
            make = core.JacobiSolver
        else:
            raise ValueError(f"method = {method}: must be cg or jacobi")
        if unknown := set(options) - known:
            raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
        if history and method == "jacobi":
            given.setdefault("check_interval", 10)
        self._solver = make(self._matrix, given, int(threads))

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)"""
        return self._matrix.shape

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self._solver.kernel

    def explain(self) -> str:
        """One sentence: the solver's kernel and why, the preconditioner, and the plan's own sentence."""
        return self._solver.explain()

    def update(self, data: Any) -> solver:
        """Other values in the same pattern, like the container's `data` or in the order of its CSR; lent until the next ones. Where
        it raises, as for a diagonal that is not positive, solve again after an update that does not."""
        self._solver.update(_matrix.values_of(_matrix.in_order(data, self._source, self._matrix), self.dtype).ravel())
        return self

    def solve(self, b: Any, x0: Any = None, *, callback: Callable[[int, float], Any] | None = None, progress: bool = False,
              check: bool = True) -> tuple[Any, Any]:
        """(x, info) for b of shape (n,), or (n, k): then column by column, with a list of infos. See `tulle.solve`."""
        b = _matrix.as_array(b)
        n = self.shape[0]
        if b.ndim not in (1, 2) or b.shape[0] != n:
            raise ValueError(f"b has the shape {b.shape}, A is {n} x {n}")
        if b.ndim == 2:
            starts = [None] * b.shape[1]
            if x0 is not None:
                x0 = _matrix.as_array(x0)
                if x0.shape != b.shape:
                    raise ValueError(f"x0 has the shape {x0.shape}, b {b.shape}")
                starts = x0.T
            all = [self.solve(b[:, j], starts[j], callback=callback, progress=progress, check=check)
                   for j in range(b.shape[1])]
            xs = [x for x, _ in all]
            stack = np if not _matrix.is_device_array(b) else _matrix._cupy()
            return (stack.stack(xs, axis=1) if xs else stack.empty((n, 0), self.dtype)), [info for _, info in all]
        if b.dtype.kind == "c":
            raise TypeError("b is complex: tulle's solvers take real systems")
        b = _matrix._contiguous(b.astype(self.dtype, copy=False))
        x = self._start(b, x0)
        with _Progress(progress) as shown:
            report = self._solver.solve(b, x, shown.joined(callback))
        info = SolveInfo(report, self.kernel, self.explain())
        if check and not info.converged:
            error = NotConverged(f"{info.status} after {info.iterations} iterations: ||b - A x|| = {info.residual:.3e}"
                                 + (f"; row {info.row} of A is not positive definite" if info.row >= 0 else ""))
            error.x, error.info = x, info
            raise error
        return x, info

    def _start(self, b, x0):
        arrays = _matrix._cupy() if _matrix.is_device_array(b) else np
        if x0 is None:
            x = arrays.zeros(b.shape, self.dtype)
        else:
            x = arrays.array(x0, dtype=self.dtype).ravel()  # a copy
            if x.shape != b.shape:
                raise ValueError(f"x0 has the shape {np.shape(x0)}, b {b.shape}")
        if arrays is not np:
            arrays.cuda.get_current_stream().synchronize()  # the solver has a stream of its own
        return x


def solve(a: Any, b: Any, x0: Any = None, *, method: str = "cg", preconditioner: str = "auto", rtol: float = 1e-8,
          atol: float = 0.0, max_iterations: int = 10_000, reorder: str = "auto", precision: str = "auto",
          history: bool = True, threads: int = 0, callback: Callable[[int, float], Any] | None = None,
          progress: bool = False, check: bool = True, **options: Any) -> tuple[Any, Any]:
    """Solves A x = b. Returns (x, info), info a `SolveInfo`.

    Parameters
    ----------
    a : n x n matrix of SciPy or CuPy, or (data, indices, indptr) of a CSR. For "cg" symmetric positive definite, which is not
        checked; for "jacobi" diagonally dominant. Integers are computed in float64.
    b : array (n,) or (n, k), on the matrix's side: NumPy's or CuPy's. It is taken in A's type: of float32, float64 b is rounded.
    x0 : the first guess, of the shape of b; 0 where it is None.
    method : "cg", preconditioned conjugate gradients (Hestenes, Stiefel, 1952), or "jacobi".
    preconditioner : of cg: "none", "jacobi", "block_jacobi" or "chebyshev"; "auto": block_jacobi for matrices in blocks
        (bsr), else jacobi.
    rtol, atol : done when ||b - A x|| <= max(rtol ||b||, atol), by the residual computed from x; Euclidean norms.
    reorder : "never", "auto" (where the iterations to be expected repay it) or "always"; `reorder_method` names the order.
    precision : "uniform", "mixed" or "auto": mixed wherever it can be. Mixed, for float64 systems, iterates in float32 with the
        preconditioners none and jacobi and corrects in float64 to the same rtol; with block_jacobi and chebyshev it iterates in
        float64, and what is stored in fewer bits is the preconditioner, as info.explanation says.
    history : whether info.history is kept.
    callback : called as callback(iterations, residual norm) wherever the solver looks, on a CPU in every iteration.
    progress : True shows a bar, where tqdm is installed.
    check : True raises tulle.NotConverged, which has x and info, where the tolerance was not reached. Where a preconditioner
        cannot be made (a_ii <= 0), it is raised in any case, and has neither.
    options : block (1 to 8, of block_jacobi), degree (of chebyshev), omega (of jacobi), check_interval, replace_interval,
        kernel, reorder_method.

    Raises ValueError, TypeError, tulle.InvalidStructure, tulle.NotConverged, MemoryError, NotImplementedError; and
    KeyboardInterrupt, for which a solve on a CPU looks ten times a second.

    >>> import numpy as np, scipy.sparse as sp, tulle
    >>> a = sp.diags_array([-np.ones(9), 2.5 * np.ones(10), -np.ones(9)], offsets=[-1, 0, 1], format="csr")
    >>> x, info = tulle.solve(a, a @ np.ones(10), rtol=1e-10)
    >>> bool(np.max(np.abs(x - 1)) < 1e-9), info.status
    (True, 'SUCCESS')
    """
    if method == "cg" and np.ndim(b) == 1:
        options.setdefault("once", True)
    made = solver(a, method=method, preconditioner=preconditioner, rtol=rtol, atol=atol, max_iterations=max_iterations,
                  reorder=reorder, precision=precision, history=history, threads=threads, **options)
    return made.solve(b, x0, callback=callback, progress=progress, check=check)


def _floating(a):
    """`a` as a matrix of floats: integers and booleans as float64."""
    dtype = getattr(a, "dtype", None)
    wanted = np.float64 if dtype is not None and np.dtype(dtype).kind in "iub" else None
    made = _matrix.as_matrix(a, dtype=wanted)
    if np.dtype(made.dtype) not in (np.float32, np.float64):
        raise TypeError(f"values of {np.dtype(made.dtype)}: tulle's solvers take float32 and float64")
    return made


class _Progress:
    """A bar of tqdm, or nothing."""

    def __init__(self, wanted):
        self._bar = None
        if wanted:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(unit=" iterations", leave=False)

    def joined(self, callback):
        if self._bar is None:
            return callback

        def both(iterations, residual):
            self._bar.n = iterations
            self._bar.set_postfix(residual=f"{residual:.2e}", refresh=False)
            self._bar.update(0)
            if callback is not None:
                callback(iterations, residual)

        return both

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()
