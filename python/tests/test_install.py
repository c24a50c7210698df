"""tulle under SciPy's own products."""

import numpy as np
import pytest

import tulle
from conftest import assert_product, sparse, values
from tulle import _install

sp = pytest.importorskip("scipy.sparse")

types = ["?", "b", "B", "h", "H", "i", "I", "l", "L", "f", "d", "g", "F", "D"]


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("of_a", types)
@pytest.mark.parametrize("of_x", types)
def test_same_types_and_values_as_scipy(rng, format, of_a, of_x):
    a, b = sparse(rng, 12, 9, 0.3, of_a, format), sparse(rng, 9, 7, 0.3, of_x, format)
    for x in (values(rng, 9, of_x), values(rng, (9, 3), of_x), np.asfortranarray(values(rng, (9, 3), of_x)), b):
        expected = a @ x
        with tulle.install():
            y = a @ x
        assert type(y) is type(expected) and y.dtype == expected.dtype and y.shape == expected.shape
        if sp.issparse(y):
            assert y.format == expected.format
            y, expected = y.toarray(), expected.toarray()
        eps = 0 if y.dtype.kind in "iub" else np.finfo(y.dtype).eps
        np.testing.assert_allclose(y, expected, rtol=40 * eps, atol=400 * eps)


def test_puts_everything_back(rng):
    a = sparse(rng, 12, 9)
    before = type(a)._matmul_vector if hasattr(type(a), "_matmul_vector") else type(a)._mul_vector
    name = before.__name__
    with tulle.install():
        assert getattr(type(a), name) is not before
        with tulle.install():
            pass
        assert getattr(type(a), name) is not before
    assert getattr(type(a), name) is before
    tulle.uninstall()
    assert getattr(type(a), name) is before


def test_counts(rng):
    a, x = sparse(rng, 12, 9), values(rng, 9, "f8")
    with tulle.install():
        _install.reset_counts()
        a @ x, a @ a.T.tocsr(), a.T @ values(rng, 12, "f8"), a @ x.astype(np.longdouble)
        assert _install.counts["tulle"] == 3 and sum(_install.counts["scipy"].values()) == 1


def test_other_layouts(rng):
    a = sparse(rng, 12, 9)
    with tulle.install():
        for x in (values(rng, 18, "f8")[::2], values(rng, 9, "f8")[::-1], values(rng, 9, ">f8"), values(rng, (18, 6), "f8")[::2, ::2]):
            assert_product(a, np.array(x, "f8"), a @ x)
        wide = sp.csr_array((a.data, a.indices.astype("i8"), a.indptr.astype("i8")), shape=a.shape)
        assert_product(a, x := values(rng, 9, "f8"), wide @ x)
        with pytest.raises(ValueError):
            a @ np.ones(10)


def test_empty():
    with tulle.install():
        for shape in ((0, 0), (0, 3), (3, 0)):
            for kind in (sp.csr_array, sp.csc_array):
                a = kind(shape)
                assert (a @ np.ones(shape[1])).shape == (shape[0],)
                assert (a @ np.ones((shape[1], 2))).shape == (shape[0], 2)
                assert (a @ a.T).shape == (shape[0], shape[0])


@pytest.mark.parametrize("count", [1, 2, 4, 5, 8, 16, 32, 33, 64])
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_several_vectors(rng, format, count):
    a = sparse(rng, 700, 500, 0.1, "f8", format)  # enough for several threads
    with tulle.install():
        assert_product(a, x := values(rng, (500, count), "f8"), a @ x)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("wide", ["neither", "left", "right"])
def test_indices_have_scipys_type(rng, form, wide):
    def make(is_wide, density=0.2):
        a = form(sp.random_array((20, 20), density=density, rng=rng))
        if is_wide:
            a.indptr, a.indices = a.indptr.astype(np.int64), a.indices.astype(np.int64)
        return a

    for density in (0.2, 0.0):
        a, b = make(wide == "left", density), make(wide == "right")
        expected = a @ b
        with tulle.install():
            c = a @ b
        assert type(c) is type(expected) and c.dtype == expected.dtype
        assert c.indices.dtype == expected.indices.dtype and c.indptr.dtype == expected.indptr.dtype


def test_one_install_is_taken_back_once():
    a = sp.csr_array([[1.0]])
    with tulle.install():
        inner = tulle.install()
        with inner:
            pass
        with inner:
            pass
        counted = _install.counts["tulle"]
        a @ np.ones(1)
        assert _install.counts["tulle"] == counted + 1
    a @ np.ones(1)  # SciPy's again
    assert _install.counts["tulle"] == counted + 1
