"""Values of every type: results with SciPy's types and bits."""

import io

import numpy as np
import pytest

import tulle
from conftest import assert_product, sparse, values

sp = pytest.importorskip("scipy.sparse")

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


def whole_range(rng, shape, dtype):
    """Integers of all sizes, whose products wrap around."""
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def integers(rng, rows, cols, dtype):
    return sp.csr_array(np.where(rng.random((rows, cols)) < 0.4, whole_range(rng, (rows, cols), dtype), np.dtype(dtype).type(0)))


@pytest.mark.parametrize("of_a", INTEGERS)
@pytest.mark.parametrize("of_x", INTEGERS + ["?", "f2", "f4", "f8"])
def test_integers_have_scipys_type_and_bits(rng, of_a, of_x):
    a = integers(rng, 13, 9, of_a)
    A = tulle.operator(a)
    assert A.dtype == a.dtype
    for shape in (9, (9, 3)):
        x = whole_range(rng, shape, of_x) if of_x[0] in "iu" else values(rng, shape, of_x)
        y, expected = A @ x, a @ x
        assert y.dtype == expected.dtype
        if y.dtype.kind == "f":
            np.testing.assert_allclose(y, expected, rtol=1e-5 if y.dtype == "f4" else 1e-12)
        else:
            np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("dtype", INTEGERS + ["?"])
def test_products_of_integers_wrap_around(rng, dtype):
    a, b = (integers(rng, 11, 11, dtype) if dtype != "?" else sparse(rng, 11, 11, 0.3, dtype) for _ in range(2))
    expected = a @ b
    for c in (tulle.matmul(a, b), tulle.triple_product(sp.eye_array(11, dtype=dtype).tocsr(), a, b), tulle.plan_matmul(a, b)()):
        assert c.dtype == expected.dtype
        np.testing.assert_array_equal(c.toarray(), expected.toarray())


def test_booleans_are_or_and_and(rng):
    a = sparse(rng, 30, 20, 0.2, "?")
    A, x = tulle.operator(a), values(rng, 20, "?")
    assert (A @ x).dtype == bool
    np.testing.assert_array_equal(A @ x, a.toarray() @ x)
    np.testing.assert_array_equal(A @ np.ones(20, "?"), a.toarray().any(1))
    np.testing.assert_array_equal(A @ x.astype("i1"), a @ x.astype("i1"))
    np.testing.assert_array_equal((a.T.tocsr() @ a).toarray(), tulle.matmul(a.T.tocsr(), a).toarray())


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_operators(rng, dtype):
    a = sparse(rng, 25, 18, 0.3, dtype)
    A = tulle.operator(a)
    x, y = values(rng, 18, dtype), values(rng, 25, dtype)
    assert_product(a, x, A @ x)
    assert_product(a.T.tocsr(), y, A.T @ y)
    assert_product(a.conj().T.tocsr(), y, A.H @ y)
    assert_product(a.conj().T.tocsr(), y, A.rmatvec(y))
    assert_product(a.conj(), x, A.H.T @ x)
    assert A.H.H is A and A.T.T is A and A.H.T is A.T.H and A.H.shape == (18, 25)
    assert_product(a.T.tocsr(), y, y @ A)
    other = values(rng, a.nnz, dtype)
    A.update(other)
    b = a.copy()
    b.data[:] = other
    assert_product(b.conj().T.tocsr(), y, A.H @ y)
    assert_product(b, x, A @ x)
    assert_product(b.conj(), x, A.H.T @ x)
    np.testing.assert_allclose(tulle.matmul(A.H, A).toarray(), (b.conj().T @ b).toarray(), rtol=1e-5, atol=1e-5)
    late = tulle.operator(a).update(other)  # whose relatives are made after it
    assert_product(b.conj().T.tocsr(), y, late.H @ y)
    assert_product(b.conj(), x, late.H.T @ x)
    assert_product(b.astype("c16"), x.astype("c16"), late @ x.astype("c16"))


def test_values_of_an_update_take_the_type_of_the_operator(rng):
    a, b = integers(rng, 9, 9, "i4"), integers(rng, 9, 5, "i4")
    A = tulle.operator(a).update(np.full(a.nnz, 2.0))
    two = a.copy()
    two.data[:] = 2
    c = tulle.matmul(A, b)
    assert c.dtype == np.int32
    np.testing.assert_array_equal(c.toarray(), (two @ b).toarray())


@pytest.mark.parametrize("of_a, of_x", [("c8", "f4"), ("c16", "f8"), ("f4", "c8"), ("f8", "c16"), ("f4", "c16"), ("c8", "f8"), ("i8", "c8"), ("?", "c16")])
def test_complex_meets_real(rng, of_a, of_x):
    a = sparse(rng, 25, 18, 0.3, of_a)
    A, common = tulle.operator(a), np.result_type(of_a, of_x)
    for shape in (18, (18, 4)):
        x = values(rng, shape, of_x)
        assert_product(a.astype(common), x.astype(common), A @ x)
        with tulle.install():
            assert_product(a.astype(common), x.astype(common), a @ x)
    b = sparse(rng, 18, 7, 0.3, of_x)
    c = tulle.matmul(a, b)
    assert c.dtype == common
    np.testing.assert_allclose(c.toarray(), (a @ b).toarray(), rtol=1e-5, atol=1e-5)


def test_values_change_under_an_operator_of_unsigned_ones(rng):
    a = integers(rng, 9, 9, "u4")
    A, x = tulle.operator(a), whole_range(rng, 9, "i4")
    A @ x, A.T @ x
    a.data[:] = whole_range(rng, a.nnz, "u4")
    A.update()
    np.testing.assert_array_equal(A @ x, a @ x)
    np.testing.assert_array_equal(A.T @ x.astype("u4"), a.T @ x.astype("u4"))


@pytest.mark.parametrize("format", ["bsr", "coo", "dia"])
@pytest.mark.parametrize("of_a", ["?", "b", "H", "i", "L", "f", "d", "F", "D", "g"])
@pytest.mark.parametrize("of_x", ["?", "B", "l", "e", "f", "d", "D"])
def test_other_formats_under_install(rng, format, of_a, of_x):
    if format == "dia" and of_x == "e":
        pytest.skip("SciPy's dia fails with float16")
    a, b = (sparse(rng, 12, 9, 0.3, of_a), sparse(rng, 9, 8, 0.3, of_x if of_x != "e" else "f"))
    a = a.tobsr(blocksize=(3, 3)) if format == "bsr" else a.asformat(format)
    by_vectors = [values(rng, 9, of_x), values(rng, (9, 3), of_x), np.asfortranarray(values(rng, (9, 3), of_x))]
    if format == "dia":  # SciPy drops the diagonals of booleans, and fails without any
        a, b = (sp.dia_array((values(rng, (3, n), t), [-2, 0, 1]), shape=(12 if n == 9 else 9, n)) for n, t in ((9, of_a), (8, of_x if of_x != "e" else "f")))
    for x in by_vectors + [b, b.tocsr() if format == "dia" else b.asformat(format)]:
        expected = a @ x
        with tulle.install():
            y = a @ x
        assert type(y) is type(expected) and y.dtype == expected.dtype and y.shape == expected.shape
        if sp.issparse(y):
            assert y.format == expected.format and getattr(y, "blocksize", 0) == getattr(expected, "blocksize", 0)
            y, expected = y.toarray(), expected.toarray()
        eps = 0 if y.dtype.kind in "iub" else np.finfo(y.dtype).eps
        np.testing.assert_allclose(y, expected, rtol=40 * eps, atol=400 * eps)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "dia"])
@pytest.mark.parametrize("dtype", ["?", "b", "H", "I", "q", "Q", "f", "d", "F", "D"])
def test_every_type_is_by_tulle(rng, kind, dtype):
    from tulle import _install

    a = sparse(rng, 12, 12, 0.3, dtype, kind)
    with tulle.install():
        _install.reset_counts()
        a @ values(rng, 12, dtype), a @ values(rng, (12, 2), dtype), a @ a
        few_bits = np.dtype(dtype).kind in "iu" and np.dtype(dtype).itemsize < 4  # vectors of these are SciPy's
        assert _install.counts["tulle"] == (1 if few_bits else 3)


@pytest.mark.parametrize("shapes", [((2, 3), (3, 2)), ((1, 1), (1, 1)), ((6, 2), (2, 6)), ((3, 3), (3, 3))])
def test_blocks_of_any_shape(rng, shapes):
    left, right = shapes
    a, b = (sp.bsr_array(sparse(rng, 12, 12, 0.2), blocksize=shape) for shape in (left, right))
    expected = a @ b
    with tulle.install():
        c = a @ b
        np.testing.assert_allclose(a @ np.eye(12), a.toarray(), rtol=1e-15)
    assert c.blocksize == expected.blocksize and c.indices.dtype == expected.indices.dtype
    c.check_format()
    np.testing.assert_allclose(c.toarray(), expected.toarray(), rtol=1e-13, atol=1e-14)


def test_wide_indices_and_empty_matrices(rng):
    for kind in (sp.bsr_array, sp.coo_array, sp.dia_array):
        a = kind(sparse(rng, 12, 9))
        for name in ("indices", "indptr", "offsets"):
            if hasattr(a, name):
                setattr(a, name, getattr(a, name).astype(np.int64))
        if kind is sp.coo_array:
            a.coords = tuple(c.astype(np.int64) for c in a.coords)
        with tulle.install():
            assert_product(a, x := values(rng, 9, "f8"), a @ x)
            for shape in ((0, 3), (3, 0)):
                e = kind(shape)
                assert (e @ np.ones(shape[1])).shape == shape[:1] and (e @ np.ones((shape[1], 2))).shape == (shape[0], 2)
            assert (a @ np.ones((9, 0))).shape == (12, 0)


def test_one_dimension(rng):
    a = sp.csr_array(values(rng, 9, "f8") * (rng.random(9) < 0.5))
    x, several = values(rng, 9, "D"), values(rng, (9, 3), "f8")
    expected, of_several = a @ x, a @ several
    with tulle.install():
        assert type(a @ x) is type(expected) and abs(a @ x - expected) < 1e-12
        y = a @ several
    assert y.shape == of_several.shape
    np.testing.assert_allclose(y, of_several, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["c8", "c16", "i8", "?"])
def test_orders_and_reports(rng, dtype):
    a = sparse(rng, 20, 20, 0.2, dtype)
    b, order = tulle.reorder(a, "rcm")
    assert b.dtype == a.dtype
    np.testing.assert_array_equal(b.toarray(), a.toarray()[order][:, order])
    assert tulle.info(a)["dtype"] == a.dtype.name and tulle.order_quality(a)["bandwidth"] >= 0
    assert tulle.bench(a, seconds=1e-4)


def test_complex_files(tmp_path, rng):
    scipy_io = pytest.importorskip("scipy.io")
    dense = values(rng, (8, 8), "c16") * (rng.random((8, 8)) < 0.4)
    hermitian = dense + dense.conj().T
    for name, a in (("general", dense), ("hermitian", hermitian), ("symmetric", dense + dense.T)):
        file = tmp_path / f"{name}.mtx"
        tulle.io.mmwrite(file, sp.coo_array(a))
        assert file.read_text().split("\n")[0] == f"%%MatrixMarket matrix coordinate complex {name}"
        np.testing.assert_array_equal(tulle.io.mmread(file).toarray(), a)
        np.testing.assert_array_equal(scipy_io.mmread(file, spmatrix=False).toarray(), a)
    assert tulle.io.mmread(tmp_path / "hermitian.mtx", format="csr").dtype == np.complex128
    tulle.io.mmwrite(tmp_path / "a.mtx.zst", sp.csr_array(dense))
    np.testing.assert_array_equal(tulle.io.mmread(tmp_path / "a.mtx.zst").toarray(), dense)
    with pytest.raises(ValueError, match="line 3: entry .1, 1. of a hermitian matrix"):
        tulle.io.mmread(io.StringIO("%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 2 3\n"))


@pytest.mark.parametrize("dtype", ["u1", "u4", "u8", "i8", "?"])
def test_integers_in_files(tmp_path, dtype):
    a = sp.coo_array(np.array([[0, np.iinfo(dtype).max if dtype != "?" else 1], [dtype != "?" and 3, 0]], dtype))
    tulle.io.mmwrite(tmp_path / "a.mtx", a)
    read = tulle.io.mmread(tmp_path / "a.mtx")
    assert read.dtype == (np.uint64 if dtype in ("u4", "u8") else np.int64)
    np.testing.assert_array_equal(read.toarray(), a.toarray())
    text = io.StringIO("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9223372036854775808\n")
    with pytest.raises(OverflowError):
        tulle.io.mmread(text)


def test_orders_keep_types():
    big = sp.csr_array(np.array([[2**63 + 5]], np.uint64))
    assert tulle.reorder(big).matrix.toarray().tolist() == [[2**63 + 5]]
    small = sp.csr_array(np.array([[100, 100], [0, 1]], np.int8))
    assert tulle.reorder(small, "natural").matrix.dtype == np.int8


def test_orders_say_no_more_of_rows_than_is_so():
    m = sp.csr_array((np.array([1.0, 2, 2, 5]), np.array([0, 0, 1, 0]), np.array([0, 3, 4])), shape=(2, 2))
    r = tulle.reorder(m, "natural").matrix
    assert not r.has_canonical_format
    r.sum_duplicates()
    assert r.nnz == 3 and (r.toarray() == m.toarray()).all()
