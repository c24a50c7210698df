"""C = A B, plans of it, triple products."""

import copy
import gc
import pickle

import numpy as np
import pytest

import tulle
from conftest import gamma, native, sparse, values

sp = pytest.importorskip("scipy.sparse")


def assert_same(c, a, b, dtype):
    """C = a b within the error bound of its entries."""
    a, b = a.toarray(), b.toarray()
    assert c.dtype == dtype and c.has_sorted_indices
    if np.dtype(dtype).kind in "iub":
        np.testing.assert_array_equal(c.toarray(), (a.astype("i8") @ b.astype("i8")).astype(dtype))
        return
    exact = np.clongdouble if np.dtype(dtype).kind == "c" else np.longdouble
    terms = (a != 0).astype("i8") @ (b != 0).astype("i8") + 2
    bound = gamma(terms, dtype) * (abs(a).astype("f8") @ abs(b).astype("f8"))
    assert np.all(abs(c.toarray() - a.astype(exact) @ b.astype(exact)) <= bound)


@pytest.mark.parametrize("dtype", sorted(set(native) | {"i1", "u2", "b1"}))
def test_types(rng, dtype):
    a, b = sparse(rng, 20, 30, 0.2, dtype), sparse(rng, 30, 25, 0.2, dtype)
    assert_same(tulle.matmul(a, b), a, b, dtype)


def test_mixed_types(rng):
    a, b = sparse(rng, 20, 30, 0.2, "f4"), sparse(rng, 30, 25, 0.2, "i4")
    assert_same(tulle.matmul(a, b), a, b, np.float64)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_formats(rng, format):
    a, b = sparse(rng, 20, 30, 0.2), sparse(rng, 30, 25, 0.2)
    c = tulle.matmul(a.asformat(format), b)
    assert isinstance(c, sp.csr_array)
    assert_same(c, a, b, "f8")
    assert isinstance(tulle.matmul(sp.csr_matrix(a), b), sp.csr_matrix)


def test_results_own_their_memory(rng):
    a = sparse(rng, 200, 200)
    c = tulle.matmul(a, a)
    data, indices, indptr = c.data.copy(), c.indices.copy(), c.indptr.copy()
    assert c.data.base is not None and c.data.flags.writeable  # no copy out
    arrays = c.data, c.indices, c.indptr
    del c
    gc.collect()
    tulle.matmul(a, a)
    for kept, before in zip(arrays, (data, indices, indptr)):
        np.testing.assert_array_equal(kept, before)


def test_mask_and_limit(rng):
    a, b = sparse(rng, 40, 40, 0.2), sparse(rng, 40, 40, 0.2)
    mask = sparse(rng, 40, 40, 0.1)
    whole = tulle.matmul(a, b)
    masked = tulle.matmul(a, b, mask=mask)
    np.testing.assert_array_equal(masked.toarray(), whole.toarray() * (mask.toarray() != 0))
    np.testing.assert_array_equal(tulle.matmul(a, b, memory_limit=1 << 20).toarray(), whole.toarray())
    with pytest.raises(MemoryError):
        tulle.matmul(a, b, memory_limit=1)


def test_plan(rng):
    a, b = sparse(rng, 20, 30, 0.2), sparse(rng, 30, 25, 0.2)
    plan = tulle.plan_matmul(a, b)
    c = plan()
    assert plan.shape == (20, 25) and plan.kernel in plan.explain()
    other = values(rng, a.nnz, "f8")
    assert plan.update(other, b.data)(out=c) is c
    a2 = a.copy()
    a2.data[:] = other
    assert_same(c, a2, b, "f8")
    with pytest.raises(ValueError):
        plan.update(other[:-1], b.data)
    with pytest.raises(ValueError, match="out"):
        plan(out=a)


def test_triple_product(rng):
    r, a, p = sparse(rng, 8, 20, 0.3), sparse(rng, 20, 20, 0.3), sparse(rng, 20, 9, 0.3)
    c = tulle.triple_product(r, a, p)
    np.testing.assert_allclose(c.toarray(), r.toarray() @ a.toarray() @ p.toarray(), atol=1e-12)


def test_operators_as_operands(rng):
    a, b = sparse(rng, 20, 30, 0.2), sparse(rng, 30, 20, 0.2)
    A = tulle.operator(a)
    assert_same(A @ b, a, b, "f8")
    assert_same(tulle.matmul(A.T, b.T.tocsr()), a.T, b.T, "f8")


def test_errors(rng):
    a = sparse(rng, 5, 6)
    with pytest.raises(ValueError):
        tulle.matmul(a, a)
    with pytest.raises(TypeError):
        tulle.matmul(a, np.ones((6, 2)))
    with pytest.raises(ValueError, match="kernel"):
        tulle.matmul(a, a.T, kernel="no.such")


def test_out_must_have_the_arrays_that_the_plan_made():
    a = sp.csr_array(np.ones((2, 2)))
    b = sp.csr_array(np.array([[1.0, 1], [-1, 1]]))
    plan = tulle.plan_matmul(a, b)
    c = plan()
    c.data = c.data * 10
    with pytest.raises(ValueError, match="other arrays"):
        plan(out=c)
    c = plan()
    c.eliminate_zeros()
    with pytest.raises(ValueError, match="other arrays"):
        plan(out=c)


def test_plans_take_values_like_the_container_has_them():
    d = sp.diags_array([-np.ones(5), 4 * np.arange(1, 7.0), -np.ones(5)], offsets=[-1, 0, 1], shape=(6, 6))
    plan = tulle.plan_matmul(d, d)
    assert (plan.update(2 * d.data, d.data)() != 2 * (d @ d)).nnz == 0


def test_results_are_copied_and_pickled():
    a = sp.random_array((20, 20), density=0.2, format="csr", rng=np.random.default_rng(1))
    for made in (tulle.matmul(a, a), tulle.reorder(a, "natural").matrix):
        for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            assert (other != made).nnz == 0
    with pytest.raises(ValueError):
        tulle.plan_matmul(a, a)(out=copy.deepcopy(tulle.matmul(a, a)))
