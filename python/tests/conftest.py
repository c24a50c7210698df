"""Matrices, and the bound that results are held to."""

import numpy as np
import pytest

from tulle import _types

try:
    import scipy.sparse as sp
except ImportError:  # the tests that need it skip
    sp = None


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def roundoff(dtype):
    dtype = np.dtype(dtype)
    return 0.0 if dtype.kind in "iub" else np.finfo(dtype).eps / 2


def gamma(k, dtype):
    """Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1; twice that for complex products."""
    u = roundoff(dtype) * (3 if np.dtype(dtype).kind == "c" else 1)
    return k * u / (1 - k * u)


def assert_product(a, x, y):
    """y = a x within the error bound, by sums in twice the precision; integers exactly. `a` has no duplicates."""
    a = a.tocsr()
    dtype = np.result_type(a.dtype, x.dtype)
    assert y.dtype == dtype and y.shape == (a.shape[0],) + x.shape[1:]
    if dtype.kind in "iub":
        expected = a.toarray().astype(object) @ x.astype(object) if dtype.kind != "b" else a.astype(int) @ x.astype(int)
        np.testing.assert_array_equal(y, np.asarray(expected).astype(dtype))
        return
    exact = np.clongdouble if dtype.kind == "c" else np.longdouble
    dense = a.toarray()
    expected = dense.astype(exact) @ x.astype(exact)
    terms = np.diff(a.indptr) + 2
    allowed = gamma(terms, dtype).reshape((-1,) + (1,) * (x.ndim - 1)) * (abs(dense) @ abs(x).astype(np.float64))
    assert np.all(np.abs(y - expected) <= allowed), np.max(np.abs(y - expected) - allowed)


def values(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def sparse(rng, rows, cols, density=0.1, dtype="f8", format="csr"):
    mask = rng.random((rows, cols)) < density
    mask[:: max(rows // 7, 3)] = False  # empty rows
    return sp.csr_array(np.where(mask, values(rng, (rows, cols), dtype), np.zeros((), dtype)).astype(dtype)).asformat(format)


native = sorted(t.str[1:] for t in _types.native)
