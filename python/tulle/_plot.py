"""Pictures of matrices."""

from typing import Any

import numpy as np

from . import _matrix


def spy(a: Any, ax: Any = None, *, pixels: int = 512, cmap: str = "Greys", **options: Any) -> Any:
    """Draws where the entries of a sparse matrix are, on axes of matplotlib; dark where they are dense. Returns the image.

    a : sparse matrix of SciPy. ax : the axes; the current ones by default. pixels : of the longer side at most, each the
    number of entries in its part of the matrix on a logarithmic scale. options : of `Axes.imshow`. Memory: 8 bytes an entry
    beside the picture.
    """
    if not _matrix.is_sparse(a) or len(a.shape) != 2:
        raise TypeError("spy takes a sparse matrix of two dimensions")
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.gca()
    rows, cols = a.shape
    scale = min(1.0, pixels / max(rows, cols, 1))
    height, width = max(1, round(rows * scale)), max(1, round(cols * scale))
    coo = a.tocoo()
    where = coo.row.astype(np.int64) * height // max(rows, 1) * width + coo.col.astype(np.int64) * width // max(cols, 1)
    count = np.bincount(where, minlength=height * width).reshape(height, width)
    options.setdefault("interpolation", "nearest")
    options.setdefault("extent", (-0.5, cols - 0.5, rows - 0.5, -0.5))
    return ax.imshow(np.log1p(count), cmap=cmap, **options)
