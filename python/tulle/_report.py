"""What a matrix looks like, how fast its kernels are, what this installation has: for terminals and notebooks."""

from __future__ import annotations

import html
import time
from typing import Any, Iterable

import numpy as np

from . import _matrix
from ._core import core, why_no_cuda


def table(header, rows):
    """A table of HTML."""
    cells = lambda row, tag: "".join(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in row)
    body = "".join(f"<tr>{cells(r, 'td')}</tr>" for r in rows)
    return f"<table><thead><tr>{cells(header, 'th')}</tr></thead><tbody>{body}</tbody></table>"


class Report(dict[str, Any]):
    """A dictionary that shows itself as a table: `header` and `rows` are what is shown."""

    def __init__(self, values: dict[str, Any], header: list[str], rows: list[Any]) -> None:
        super().__init__(values)
        self.header = header
        self.rows = rows

    def __repr__(self) -> str:
        lines = [[str(c) for c in row] for row in [self.header, *self.rows]]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return table(self.header, self.rows)


def info(a: Any) -> Report:
    """Statistics of a sparse matrix, by one pass over its pattern: a dictionary that shows itself as a table.

    Keys: rows, columns, nonzeros, mean_row, longest_row, row_deviation (of the rows' lengths), empty_rows, bandwidth (the
    greatest |i - j|), dtype.

    >>> import scipy.sparse as sp, tulle
    >>> tulle.info(sp.csr_array([[1., 2.], [0., 3.]]))["longest_row"]
    2
    """
    matrix = _matrix.as_matrix(a)
    values = dict(core.describe(matrix), dtype=np.dtype(matrix.dtype).name)
    show = lambda v: f"{v:,}" if isinstance(v, int) else f"{v:.4g}" if isinstance(v, float) else v
    return Report(values, ["", f"{matrix.shape[0]:,} x {matrix.shape[1]:,}"], [(k.replace("_", " "), show(v)) for k, v in values.items()])


def _seconds(call, at_least=0.02, rounds=3):
    call()
    begin = time.perf_counter()
    call()
    once = max(time.perf_counter() - begin, 1e-7)
    times, count = [], max(1, int(at_least / once))
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - begin) / count)
    return min(times)


def bench(a: Any, columns: int = 0, *, kernels: Iterable[str] | None = None, seconds: float = 0.02) -> Report:
    """Times A @ x (or A @ X with so many columns) on the host by every kernel that takes the matrix, and by SciPy.

    kernels : their names; all of the production ones by default. seconds : least time of a measurement, of which the best of
    three counts. Returns a dictionary {name: seconds of one product}, which shows itself as a table, fastest first.
    """
    from ._operator import operator

    chosen = operator(a, columns=columns)
    if chosen.device != "cpu":
        raise ValueError("bench takes matrices on the host")
    shape = (chosen.shape[1], columns) if columns else (chosen.shape[1],)
    x = np.random.default_rng(1).uniform(-1, 1, shape).astype(chosen.dtype)
    known = [k for k in core.kernels(False) if k["operation"] == "y = A x"]
    if kernels is None:
        kernels = [k["name"] for k in known if k["role"] == "production"]
    elif unknown := set(kernels := list(kernels)) - {k["name"] for k in known}:
        raise ValueError(f"no kernel {', '.join(sorted(unknown))}; there are {', '.join(k['name'] for k in known)}")
    times = {}
    for kernel in kernels:
        try:
            op = operator(a, kernel=kernel, columns=columns)
            times[kernel] = _seconds(lambda: op @ x, seconds)
        except (ValueError, NotImplementedError, OverflowError):
            continue  # not for this matrix
    if not isinstance(a, (tuple, list)):
        times["SciPy"] = _seconds(lambda: a @ x, seconds)
    rows = [(name + (" (chosen)" if name == chosen.kernel else ""), f"{t * 1e6:.2f}", f"{chosen.nnz * max(columns, 1) * 2 / t * 1e-9:.3g}")
            for name, t in sorted(times.items(), key=lambda item: item[1])]
    return Report(times, ["kernel", "µs", "Gflop/s"], rows)


def _version(package):
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def doctor() -> Report:
    """What this tulle is and runs on, and what is missing: a dictionary that shows itself as a table.

    >>> import tulle
    >>> tulle.doctor()["version"] == tulle.__version__
    True
    """
    built, machine = core.build_info(), core.machine()
    values = {"version": built["version"], "commit": built["commit"], "compiler": built["compiler"],
              "CUDA compiler": built["cuda"] or "none", "CPU": machine["cpu"], "threads": machine["threads"],
              "devices": core.device_count(), "why no device": why_no_cuda or core.why_no_device() or "-",
              "value types": ", ".join(core.value_types)}
    for package in ("numpy", "scipy", "cupy", "matplotlib", "tqdm"):
        values[package] = _version(package)
    return Report(values, ["tulle", built["version"]], list(values.items())[1:])
