"""A plugin of pytest (-p count_cupy_products) that counts the sparse products that CuPy makes by its vendor's library, and writes
them to $COUNT_PRODUCTS_FILE as JSON, as tools/count_products.py does for SciPy. With COUNT_PRODUCTS_TULLE=1 tulle makes them (A x
and A X by a tulle.operator, C = A B by tulle.matmul), and what is counted is what it left to the vendor. CuPy's containers, their
checks and everything around a product stay CuPy's."""

import collections
import functools
import json
import os

counts = collections.Counter()
errors = collections.Counter()


def _dense(a, x, y=None, alpha=1, beta=0, transa=False, transb=False):
    import tulle

    if y is not None or alpha != 1 or beta != 0:
        return None
    op = tulle.operator(a)
    return (op.T if transa else op) @ (x.T if transb else x)


def _sparse(a, b, alpha=1):
    import tulle

    return tulle.matmul(a, b) if alpha == 1 else None


def _product(name, vendors, by_tulle):
    @functools.wraps(vendors)
    def product(a, other, *args, **options):
        if by_tulle is not None:
            try:
                made = by_tulle(a, other, *args, **options)
            except (TypeError, ValueError, AttributeError) as e:  # CuPy says what is wrong with operands
                errors[f"{type(e).__name__}: {e}"] += 1
                made = None
            if made is not None:
                return made
        result = vendors(a, other, *args, **options)
        counts[f"{name} {result.dtype}"] += 1
        return result

    return product


def pytest_configure(config):
    from cupyx import cusparse

    with_tulle = os.environ.get("COUNT_PRODUCTS_TULLE") == "1"
    for name, by_tulle in (("spmv", _dense), ("spmm", _dense), ("spgemm", _sparse)):
        setattr(cusparse, name, _product(name, getattr(cusparse, name), by_tulle if with_tulle else None))


def pytest_sessionfinish(session):
    for error, count in errors.most_common(20):
        print(f"left to CuPy {count} times: {error}")
    file = os.environ.get("COUNT_PRODUCTS_FILE")
    if file:
        with open(file, "w") as to:
            json.dump(counts, to)
