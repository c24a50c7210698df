"""tulle.operator: layouts, types, errors, threads."""

import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import tulle
from conftest import assert_product, native, sparse, values

sp = pytest.importorskip("scipy.sparse")


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_takes_every_container(rng, format, kind):
    a = sparse(rng, 30, 24)
    A = tulle.operator(kind(a).asformat(format))
    assert A.shape == (30, 24) and A.dtype == np.float64
    assert_product(a, x := values(rng, 24, "f8"), A @ x)
    assert_product(a, x := values(rng, (24, 5), "f8"), A @ x)


@pytest.mark.parametrize("dtype", native)
def test_native_types(rng, dtype):
    a = sparse(rng, 40, 50, dtype=dtype)
    A = tulle.operator(a)
    for shape in (50, (50, 1), (50, 4)):
        assert_product(a, x := values(rng, shape, dtype), A @ x)


@pytest.mark.parametrize("of_a", ["f4", "f8", "i4", "i1", "u2"])
@pytest.mark.parametrize("of_x", ["f4", "f8", "c8", "c16", "i4", "i2"])
def test_mixed_types(rng, of_a, of_x):
    a = sparse(rng, 20, 15, dtype=of_a)
    A = tulle.operator(a)
    for shape in (15, (15, 3)):
        x = values(rng, shape, of_x)
        assert_product(a.astype(A.dtype), x, A @ x)


def test_refuses_types_it_has_not(rng):
    with pytest.raises(TypeError, match="float128|longdouble"):
        tulle.operator(sparse(rng, 5, 5).astype(np.longdouble))


@pytest.mark.parametrize("block", [(2, 2), (3, 3), (2, 3), (1, 1)])
def test_blocks(rng, block):
    a = sparse(rng, 24, 24, 0.2).tobsr(blocksize=block)
    A = tulle.operator(a)
    dense = sp.csr_array(a.toarray())
    assert_product(dense, x := values(rng, 24, "f8"), A @ x)
    assert_product(dense, x := values(rng, (24, 3), "f8"), A @ x)
    strided = values(rng, 48, "f8")[::2]
    assert_product(dense, strided, A @ strided)


def layouts(rng, n, k):
    wide = values(rng, (2 * n, 3 * k), "f8")
    yield wide[:n, :k]
    yield wide[::2, ::3]
    yield wide[n - 1 :: -1, k - 1 :: -1] if n > 1 else wide[:n, :k]
    yield np.asfortranarray(wide[:n, :k])
    yield np.asfortranarray(wide)[:n, :k]
    yield np.broadcast_to(wide[0, :k], (n, k))
    yield wide[:n, :k].astype(">f8")
    yield np.frombuffer(b"0" + wide[:n, :k].tobytes(), np.uint8)[1:].view("f8").reshape(n, k)  # misaligned


def test_layouts(rng):
    a = sparse(rng, 19, 13)
    A = tulle.operator(a)
    for x in layouts(rng, 13, 4):
        assert_product(a, np.array(x, "f8"), A @ x)
        assert_product(a, np.array(x[:, 1], "f8"), A @ x[:, 1])


def test_from_the_left(rng):
    a = sparse(rng, 19, 13)
    A, t = tulle.operator(a), a.T.tocsr()
    assert_product(t, x := values(rng, 19, "f8"), x @ A)
    assert_product(t, x := values(rng, (19, 3), "f8"), (x.T @ A).T)
    assert_product(t, x, A.T @ x)
    assert_product(t, x, A.H @ x)
    assert A.T.T is A and A.T.shape == (13, 19)


def test_lists_and_other_objects(rng):
    A = tulle.operator(sparse(rng, 3, 2))
    np.testing.assert_array_equal(A @ [1, 2], A @ np.array([1.0, 2.0]))
    assert isinstance(A @ np.asmatrix([[1.0], [2.0]]), np.matrix)
    for wrong in (np.ones(3), np.ones((2, 2, 2)), [[1.0]]):
        with pytest.raises(ValueError):
            A @ wrong
    with pytest.raises(TypeError):
        A @ 2.0
    with pytest.raises(TypeError):
        A @ "text"


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0), (1, 1)])
def test_empty(shape):
    a = sp.csr_array(shape)
    A = tulle.operator(a)
    assert (A @ np.ones(shape[1])).shape == (shape[0],)
    assert (A @ np.ones((shape[1], 3))).shape == (shape[0], 3)
    assert (A @ np.ones((shape[1], 0))).shape == (shape[0], 0)


def test_shares_the_arrays(rng):
    a = sparse(rng, 200, 200)
    A = tulle.operator(a)
    x = values(rng, 200, "f8")
    a.data *= 2
    A.update()
    assert_product(a, x, A @ x)
    other = values(rng, a.nnz, "f8")
    A.T, A @ x.astype("c16"), A.update(other)
    b = a.copy()
    b.data[:] = other
    assert_product(b, x, A @ x)
    assert_product(b.T.tocsr(), x, A.T @ x)
    with pytest.raises(ValueError):
        A.update(other[:-1])
    arrays = a.data, a.indices, a.indptr
    del a, A
    gc.collect()
    A = tulle.operator(arrays, shape=(200, 200))
    del arrays
    gc.collect()
    A @ x


def test_values_of_other_types_follow(rng):
    a = sparse(rng, 20, 20, dtype="i2")
    A = tulle.operator(a)
    x = values(rng, 20, "i4")
    y = A @ values(rng, 20, "f8")
    a.data[:] = 3
    A.update()
    assert_product(a.astype("i4"), x, A @ x)
    assert_product(a.astype("i4"), x.astype("f8"), A @ x.astype("f8"))
    assert y.dtype == np.float64


def test_out(rng):
    a = sparse(rng, 20, 10)
    A, x = tulle.operator(a), values(rng, 10, "f8")
    out = np.full(20, np.nan)
    assert A.apply(x, out) is out
    assert_product(a, x, out)
    twice = A.apply(x, out.copy(), beta=1)
    np.testing.assert_allclose(twice, 2 * out, rtol=4e-16, atol=1e-15)
    with pytest.raises(ValueError, match="overlap"):
        square = tulle.operator(sparse(rng, 10, 10))
        square.apply(x, x)
    with pytest.raises(TypeError):
        A.apply(x.astype("f4"), out)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="written"):
        A.apply(x, out)


def test_structure_is_looked_at():
    data, indices, indptr = np.ones(3), np.array([0, 1, 2], "i4"), np.array([0, 1, 2, 3], "i4")
    A = tulle.operator((data, indices, indptr))
    assert A.shape == (3, 3)
    with pytest.raises(IndexError, match="row 2"):
        tulle.operator((data, np.array([0, 1, 3], "i4"), indptr), shape=(3, 3))
    with pytest.raises(ValueError, match="row"):
        tulle.operator((data, indices, np.array([0, 2, 1, 3], "i4")), shape=(3, 3))
    with pytest.raises(ValueError, match="indptr has"):
        tulle.operator((data, indices, indptr[:-1]), shape=(3, 3))
    with pytest.raises(ValueError, match="data has 2"):
        tulle.operator((data[:2], indices, indptr), shape=(3, 3))
    with pytest.raises(IndexError, match="32 bits"):
        tulle.operator((data, np.array([0, 1, 2**32], "i8"), indptr), shape=(3, 3))
    with pytest.raises(TypeError, match="indices"):
        tulle.operator((data, np.array([0.0, 1, 2]), indptr), shape=(3, 3))
    with pytest.raises(OverflowError):
        tulle.operator((data, indices, indptr), shape=(3, 2**31))
    with pytest.raises(TypeError, match="not a sparse"):
        tulle.operator(np.eye(3))


def test_unusual_containers(rng):
    x = values(rng, 3, "f8")
    unsorted = sp.csr_array((np.array([1.0, 2, 3, 4]), np.array([2, 0, 1, 1]), np.array([0, 2, 4, 4])), shape=(3, 3))
    np.testing.assert_allclose(tulle.operator(unsorted) @ x, unsorted.toarray() @ x, rtol=1e-14)  # with duplicates
    longer = (np.array([1.0, 2, 9, 9]), np.array([2, 0, 7, 7], "i4"), np.array([0, 1, 2, 2], "i4"))
    np.testing.assert_array_equal(tulle.operator(longer, shape=(3, 3)) @ x, [x[2], 2 * x[0], 0])
    backwards = (np.array([2.0, 1])[::-1], np.array([0, 2], ">i8")[::-1], np.array([0, 1, 2, 2], "u2"))
    np.testing.assert_array_equal(tulle.operator(backwards, shape=(3, 3)) @ x, [x[2], 2 * x[0], 0])
    big = (np.array([1.0, 2], ">f8"), np.array([2, 0], "i8"), np.array([0, 1, 2, 2], "i8"))
    np.testing.assert_array_equal(tulle.operator(big, shape=(3, 3)) @ x, [x[2], 2 * x[0], 0])


class Exported:
    """An array of nobody in particular."""

    def __init__(self, a):
        self.a = a

    def __dlpack__(self, **options):
        return self.a.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()

    def __len__(self):
        return len(self.a)


def test_dlpack(rng):
    a = sparse(rng, 12, 9)
    A = tulle.operator(tuple(Exported(v) for v in (a.data, a.indices, a.indptr)), shape=a.shape)
    assert_product(a, x := values(rng, 9, "f8"), A @ x)
    np.testing.assert_array_equal(A @ Exported(x), A @ x)


def test_is_a_linear_operator(rng):
    linalg = pytest.importorskip("scipy.sparse.linalg")
    a = sparse(rng, 30, 30, 0.2)
    a = (a @ a.T + 10 * sp.eye_array(30)).tocsr()
    A, b = tulle.operator(a), values(rng, 30, "f8")
    L = linalg.aslinearoperator(A)
    np.testing.assert_array_equal(L.matvec(b), A @ b)
    np.testing.assert_array_equal(L.rmatvec(b), A.H @ b)
    np.testing.assert_array_equal(L.matmat(np.outer(b, b)), A @ np.outer(b, b))
    x, info = linalg.cg(A, b, rtol=1e-10)
    assert info == 0 and np.linalg.norm(a @ x - b) <= 1e-9 * np.linalg.norm(b)
    assert linalg.eigsh(A, k=2, return_eigenvectors=False).shape == (2,)


def test_says_what_it_does(rng):
    a = sparse(rng, 30, 30)
    A = tulle.operator(a)
    assert A.kernel in A.explain() and A.kernel in repr(A)
    assert A.nnz == a.nnz and A.device == "cpu" and A.plan_seconds > 0 and A.matrix_bytes > 0
    assert tulle.operator(a, kernel="csr.serial").kernel == "csr.serial"
    with pytest.raises(ValueError, match="kernel"):
        tulle.operator(a, kernel="no.such")
    with pytest.raises(ValueError, match="effort"):
        tulle.operator(a, effort="much")
    assert_product(a, x := values(rng, 30, "f8"), tulle.operator(a, reorder="always") @ x)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(A)


def test_autotune(rng, tmp_path, monkeypatch):
    monkeypatch.setenv("TULLE_CACHE_DIR", str(tmp_path))
    a = sparse(rng, 50, 50)
    A = tulle.operator(a)
    assert A.autotune() is A
    assert_product(a, x := values(rng, 50, "f8"), A @ x)


def test_from_many_threads(rng):
    a = sparse(rng, 3000, 3000, 0.01)
    A = tulle.operator(a)
    xs = [values(rng, 3000, "f8") for _ in range(4)]
    expected = [A @ x for x in xs]
    pairs = [A @ np.stack([x, -x], 1) for x in xs]
    wrong = []

    def work(x, y, pair):
        for _ in range(50):
            if not np.array_equal(A @ x, y) or not np.array_equal(A @ np.stack([x, -x], 1), pair):
                wrong.append(1)

    threads = [threading.Thread(target=work, args=v) for v in zip(xs, expected, pairs)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_after_fork(rng):
    A, x = tulle.operator(sparse(rng, 3000, 3000, 0.01)), values(rng, 3000, "f8")
    y = A @ x
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(A @ x, y) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_imports_without_a_driver():
    """Nothing but NumPy is imported, and no device is needed."""
    code = "import sys, tulle; print('scipy' in sys.modules, 'cupy' in sys.modules)"
    env = dict(os.environ, TULLE_BACKEND="cpu")
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "False"]


def test_operators_are_freed_at_once_and_their_relatives_with_them():
    A = tulle.operator(sp.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]])))
    B = A.T
    assert B.T is A and A.T is B
    seen = weakref.ref(A), weakref.ref(B)
    del A
    assert seen[0]() is None
    assert (B.T @ np.ones(2)).tolist() == [3, 3]  # made again
    del B
    assert seen[1]() is None


def test_updates_reach_relatives_of_an_operator_that_is_gone():
    a = sp.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
    A = tulle.operator(a)
    transposed = A.T
    del A
    again = transposed.T
    transposed.update(2 * a.data)
    assert (transposed @ np.ones(2)).tolist() == [2, 10] and (again @ np.ones(2)).tolist() == [6, 6]


def test_what_is_made_beside_an_update_has_its_values():
    a = sp.random_array((300, 300), density=0.05, format="csr", rng=np.random.default_rng(1))
    x = np.ones(300)
    for _ in range(50):
        A = tulle.operator(a)
        threads = [threading.Thread(target=lambda: A.T), threading.Thread(target=A.update, args=(2 * a.data,)),
                   threading.Thread(target=lambda: A._in(np.dtype(np.complex128)))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        np.testing.assert_allclose(A.T @ x, 2 * (a.T @ x), rtol=1e-12)
        np.testing.assert_allclose(A @ (1j * x), 2j * (a @ x), rtol=1e-12)


def test_values_of_containers_that_go_by_csr_come_in_their_order():
    d = sp.diags_array([-np.ones(5), 4 * np.arange(1, 7.0), -np.ones(5)], offsets=[-1, 0, 1], shape=(6, 6))
    x = np.arange(6.0)
    assert (tulle.operator(d).update(2 * d.data) @ x).tolist() == (2 * d @ x).tolist()
    assert (tulle.operator(d).update(2 * d.tocsr().data) @ x).tolist() == (2 * d @ x).tolist()
    blocks = sp.bsr_array(np.arange(1.0, 37).reshape(6, 6), blocksize=(2, 3))
    assert (tulle.operator(blocks).update(2 * blocks.data) @ x).tolist() == (2 * (blocks @ x)).tolist()
    with pytest.raises(ValueError, match="elements"):
        tulle.operator(d).update(np.ones(17))


def test_updates_refuse_another_pattern():
    k = sp.dok_array((2, 2))
    k[0, 0] = 1.0
    A = tulle.operator(k)
    del k[0, 0]
    k[1, 1] = 4.0
    with pytest.raises(ValueError, match="other entries"):
        A.update()
    d = sp.dia_array(([[1.0, 0, 3]], [0]), shape=(3, 3))
    A = tulle.operator(d)
    d.data[0] = [0, 5, 7]
    with pytest.raises(ValueError, match="other entries"):
        A.update()


def test_a_type_that_loses_digits_loses_them_for_every_vector():
    f = sp.csr_array(np.array([[1.7]]))
    A = tulle.operator(f, dtype=np.int8)
    assert (A @ np.ones(1)).tolist() == [1.0] == (f.astype("i1") @ np.ones(1)).tolist()
    assert tulle.matmul(A, sp.csr_array([[1.0]])).toarray().tolist() == [[1.0]]
    A = tulle.operator(sp.csr_array(np.array([[1, 2]])))
    assert (A.update(np.array([1.5, 2.5])) @ np.ones(2)).tolist() == [3.0]
    with pytest.raises(TypeError, match="complex"):
        A.update(np.array([1j, 2]))


def test_arrays_of_classes_of_others(tmp_path):
    a = sp.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
    x = np.memmap(tmp_path / "x", dtype=float, shape=(2,), mode="w+")
    x[:] = 1
    y = np.memmap(tmp_path / "y", dtype=float, shape=(2,), mode="w+")
    A = tulle.operator(a)
    assert (A @ x).tolist() == [3, 3]
    assert A.apply(x, y) is y and y.tolist() == [3, 3]


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_no_columns_and_complex_vectors(format):
    a = sp.csr_array((3, 0)).asformat(format)
    assert (tulle.operator(a) @ np.zeros(0, complex)).tolist() == [0, 0, 0]
    with tulle.install():
        assert (a @ np.zeros(0, complex)).tolist() == [0, 0, 0]
        assert (a @ np.zeros((0, 2), complex)).shape == (3, 2)


def test_what_cannot_be_multiplied():
    A = tulle.operator(sp.csr_array(np.eye(2)))
    for call in (A.dot, A.matvec, A.matmat, A):
        with pytest.raises(TypeError):
            call(2.0)
    assert ([1.0, 2.0] @ A).tolist() == [1, 2]
    with pytest.raises(ValueError):
        tulle.operator(sp.csr_array(np.eye(2)), threads=-1)


def test_empty_lists_are_indices():
    assert (tulle.operator(([], [], [0, 0, 0]), shape=(2, 3)) @ np.ones(3)).tolist() == [0, 0]


def test_other_types_of_an_operator_need_not_its_kernel_or_order():
    a = sp.csr_array(np.array([[2, 1], [1, 3]], np.float32))
    assert (tulle.operator(a, kernel="sell") @ np.array([1j, 1])).tolist() == [1 + 2j, 3 + 1j]


def test_indices_are_looked_at_before_scipy_converts():
    m = sp.bsr_array(np.eye(6), blocksize=(2, 3))
    m.indptr = np.array([0, 5000000, 1, 2], np.int32)
    with pytest.raises(tulle.InvalidStructure):
        tulle.operator(m)
    c = sp.coo_array((np.ones(3), ([0, 1, 1], [0, 1, 0])), shape=(2, 2))
    c.coords = (np.array([0, 1], np.int32), np.array([0, 1, 2], np.int32))
    with pytest.raises(ValueError):
        tulle.operator(c)
