"""A plugin of pytest (-p count_products) that counts the sparse products that SciPy's compiled functions make, by function and by
the type of the result, and writes them to the file $COUNT_PRODUCTS_FILE as JSON. With COUNT_PRODUCTS_TULLE=1 tulle.install() stands
for the whole run: what is counted then is what tulle left to SciPy. The row sums that a dia container's `sum` makes by the same
functions are no products, and are not counted."""

import collections
import json
import os
import sys

PRODUCTS = [f"{f}_{kind}" for f in ("csr", "csc", "bsr", "dia", "coo") for kind in ("matvec", "matvecs", "matmat")] + [
    "coo_matmat_dense", "coo_matmat_dense_nd", "coo_matvec_nd"]

counts = collections.Counter()
_wrapped = {}


def _counted(name, function):
    def product(*args):
        result = function(*args)
        if sys._getframe(1).f_code.co_name == "sum":
            return result
        last = result[-1] if isinstance(result, tuple) else args[-1]
        counts[f"{name} {getattr(last, 'dtype', '?')}"] += 1
        return result

    product.__name__ = name
    product.__doc__ = function.__doc__
    return product


def _wrap():
    """Wherever a module holds one of the functions under a name, as from `from ._sparsetools import csr_matmat`."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if not names or not any(name in names for name in PRODUCTS):
            continue
        for name in PRODUCTS:
            if id(names.get(name)) in _wrapped:
                setattr(module, name, _wrapped[id(names[name])])


def pytest_configure(config):
    import scipy.sparse.linalg  # noqa: F401 - so that its modules are there
    from scipy.sparse import _sparsetools

    kept = [getattr(_sparsetools, name) for name in PRODUCTS if hasattr(_sparsetools, name)]
    for function in kept:
        _wrapped[id(function)] = _counted(function.__name__, function)
    config._count_products_kept = kept  # their ids stay theirs
    _wrap()
    if os.environ.get("COUNT_PRODUCTS_TULLE") == "1":
        import tulle

        tulle.install()


def pytest_collection_finish(session):
    _wrap()  # modules that came meanwhile


def pytest_sessionfinish(session):
    file = os.environ.get("COUNT_PRODUCTS_FILE")
    if file:
        with open(file, "w") as to:
            json.dump(counts, to)
