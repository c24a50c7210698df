"""tulle: sparse linear algebra at memory speed, on CPUs and NVIDIA GPUs.

SciPy and CuPy keep the containers, tulle does the work:

>>> import numpy as np, scipy.sparse as sp, tulle
>>> a = sp.csr_array(np.diag([1., 2., 3.]))
>>> A = tulle.operator(a)       # analyse once
>>> A @ np.ones(3)              # multiply often
array([1., 2., 3.])
>>> with tulle.install():       # or put tulle under SciPy's own products
...     a @ np.ones(3)
array([1., 2., 3.])
"""

from . import io, linalg
from ._core import core as _compiled
from ._errors import InvalidStructure, NotConverged
from ._install import install, uninstall
from ._operator import operator
from ._plot import spy
from ._products import matmul, plan_matmul, triple_product
from ._reorder import order_quality, reorder
from ._report import bench, doctor, info
from ._solve import SolveInfo, solve, solver

__version__ = _compiled.__version__

__all__ = ["InvalidStructure", "NotConverged", "SolveInfo", "bench", "doctor", "info", "install", "io", "linalg", "matmul",
           "operator", "order_quality", "plan_matmul", "reorder", "solve", "solver", "spy", "triple_product", "uninstall"]
