"""Errors that Python has no class for."""

from typing import Any


class InvalidStructure(ValueError, IndexError):
    """Offsets that do not ascend, or indices beyond the shape; the message names the row and the entry."""


class NotConverged(RuntimeError):
    """A solve that did not reach its tolerance: too few iterations, a breakdown, or a matrix that is not positive definite.

    `x` is what was reached and `info` says how far, where a solver raised it.
    """

    x: Any = None
    info: Any = None
