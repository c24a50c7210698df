"""Arrays as others have them: taken as they are, converted, or refused by name."""

import numpy as np
import pytest

import tulle
from conftest import assert_product, sparse, values
from tulle._core import core

sp = pytest.importorskip("scipy.sparse")


class ArrayInterface:
    """An array of somebody who knows no NumPy."""

    def __init__(self, a):
        self._kept = a
        self.__array_interface__ = a.__array_interface__

    def __len__(self):
        return len(self._kept)


class CudaArrayInterface:
    """An array that says it is on a device."""

    shape, dtype = (3,), np.dtype("f8")
    __cuda_array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (1 << 40, False), "version": 3}

    def __len__(self):
        return 3


class CudaDlpack:
    def __dlpack__(self, **_):
        raise AssertionError("not asked for its memory")

    def __dlpack_device__(self):
        return 2, 0

    def __len__(self):
        return 3


def test_array_interface(rng):
    a = sparse(rng, 12, 9)
    A = tulle.operator(tuple(ArrayInterface(v) for v in (a.data, a.indices, a.indptr)), shape=a.shape)
    x = values(rng, 9, "f8")
    assert_product(a, x, A @ x)
    np.testing.assert_array_equal(A @ ArrayInterface(x), A @ x)
    a.data *= 2  # in place: nothing was copied
    A.update()
    assert_product(a, x, A @ x)
    c = tulle.matmul(A, a.T.tocsr())
    assert c.shape == (12, 12)
    s = a.T @ a + 5 * sp.eye_array(9)
    b, _ = tulle.solve(tuple(ArrayInterface(v) for v in (s.data, s.indices, s.indptr)), ArrayInterface(x))
    assert np.linalg.norm(s @ b - x) <= 1.01e-8 * np.linalg.norm(x)


@pytest.mark.skipif(core.device_count() > 0, reason="there is a device")
@pytest.mark.parametrize("array", [CudaArrayInterface(), CudaDlpack()], ids=["interface", "dlpack"])
def test_arrays_of_a_device_that_is_not_there(rng, array):
    a = sp.csr_array(np.eye(3))
    for use in (lambda: tulle.operator((array, array, array), shape=(3, 3)), lambda: tulle.solve(a, array),
                lambda: tulle.matmul((array, array, array), a), lambda: tulle.operator(a).update(array)):
        with pytest.raises(NotImplementedError, match="CUDA device.*(driver|without CUDA|TULLE_BACKEND|no device)"):
            use()


def test_vectors_of_a_device_that_is_not_there(rng):
    with pytest.raises((TypeError, NotImplementedError), match="CUDA device"):
        tulle.operator(sparse(rng, 3, 3)) @ CudaArrayInterface()


@pytest.mark.parametrize("which", ["data", "indices", "indptr", "all"])
@pytest.mark.parametrize("how", ["strided", "backwards", "swapped", "misaligned", "read-only", "longer", "list"])
def test_layouts_of_the_three_arrays(rng, which, how):
    a = sparse(rng, 12, 9)
    change = {
        "strided": lambda v: np.repeat(v, 2)[::2],
        "backwards": lambda v: v[::-1].copy()[::-1],
        "swapped": lambda v: v.astype(v.dtype.newbyteorder(">")),
        "misaligned": lambda v: np.frombuffer(b"0" + v.tobytes(), np.uint8)[1:].view(v.dtype),
        "read-only": lambda v: np.frombuffer(v.tobytes(), v.dtype),
        "longer": lambda v: np.concatenate([v, v]),
        "list": lambda v: v.tolist(),
    }[how]
    arrays = [change(v) if which in (name, "all") else v for name, v in
              (("data", a.data), ("indices", a.indices), ("indptr", a.indptr))]
    x = values(rng, 9, "f8")
    assert_product(a, x, tulle.operator(tuple(arrays), shape=a.shape) @ x)


def test_entries_in_any_order_and_more_than_once(rng):
    rows, cols, data = rng.integers(0, 20, 300), rng.integers(0, 15, 300), values(rng, 300, "f8")
    coo = sp.coo_array((data, (rows, cols)), shape=(20, 15))
    plain, x = coo.tocsr(), values(rng, 15, "f8")
    bound = 2 * 40 * 2.0**-53 * (abs(coo).tocsr() @ abs(x))
    order = np.argsort(rows, kind="stable")
    csr = sp.csr_array((data[order], cols[order], np.searchsorted(rows[order], np.arange(21))), shape=(20, 15))
    assert csr.nnz == 300  # duplicates are there
    for a in (coo, csr, csr.tocsc(), coo.tocsc()):
        assert np.all(abs(tulle.operator(a) @ x - plain @ x) <= bound)
        assert np.all(abs(tulle.operator(a).T @ np.ones(20) - plain.T @ np.ones(20)) <= 2 * 40 * 2.0**-53 * (abs(coo).T @ np.ones(20)))
    product = tulle.matmul(csr, plain.T.tocsr())
    np.testing.assert_allclose(product.toarray(), (plain @ plain.T).toarray(), rtol=1e-12, atol=1e-12)
    assert product.has_sorted_indices


@pytest.mark.parametrize("bad, error, says", [
    (dict(data=np.array(["a", "b"])), TypeError, "values"),
    (dict(data=np.array([None, 1], object)), TypeError, "values"),
    (dict(indices=np.array([True, False])), TypeError, "indices"),
    (dict(indices=np.array([0.0, 1.0])), TypeError, "indices"),
    (dict(indptr=np.array([0.0, 1, 2])), TypeError, "indptr"),
    (dict(indices=np.array([0, -1])), IndexError, "row 1"),
    (dict(indices=np.array([0, 2**64 - 1], "u8")), IndexError, "row 1|32 bits"),
    (dict(indices=np.array([0, 2])), IndexError, "row 1"),
    (dict(indptr=np.array([0, 2, 1])), ValueError, "row"),
    (dict(indptr=np.array([1, 1, 2])), ValueError, "0"),
    (dict(indptr=np.array([0, 1, -1])), ValueError, "below 0"),
    (dict(indptr=np.array([0, 1, 3])), ValueError, "3"),
    (dict(indptr=np.array([0, 2])), ValueError, "indptr has 2"),
    (dict(shape=(2, -1)), OverflowError, "columns = -1"),
], ids=lambda v: ",".join(v) if isinstance(v, dict) else None)
def test_what_is_refused(bad, error, says):
    good = dict(data=np.array([1.0, 2.0]), indices=np.array([0, 1]), indptr=np.array([0, 1, 2]), shape=(2, 2))
    given = good | bad
    arrays = given["data"], given["indices"], given["indptr"]
    with pytest.raises(error, match=says):
        tulle.operator(arrays, shape=given["shape"])
    for use in EVERYTHING:
        with pytest.raises(error, match=says):
            use(Container("csr", given["shape"], *arrays))


class Container:
    """A sparse matrix that nobody looked at."""

    def __init__(self, format, shape, data, indices, outer):
        self.format, self.shape, self.data, self.indices, self.indptr = format, shape, data, indices, outer
        self.row, self.col, self.dtype, self.blocksize = outer, indices, data.dtype, data.shape[1:]

    def tocsr(self):
        return self


EVERYTHING = [tulle.operator, lambda a: tulle.matmul(a, a), lambda a: tulle.plan_matmul(a, a), lambda a: tulle.triple_product(a, a, a),
              lambda a: tulle.solve(a, np.ones(a.shape[0])), tulle.reorder, lambda a: tulle.reorder(a, "length"),
              lambda a: tulle.reorder(a, "match_diagonal"), tulle.order_quality, tulle.info]


@pytest.mark.parametrize("format, indices, outer", [
    ("csr", [0, 5], [0, 1, 2]), ("csr", [0, -1], [0, 1, 2]), ("csr", [0, 1], [0, 2, 1]), ("csr", [0, 1], [0, 5, 2]),
    ("csc", [0, 5], [0, 1, 2]), ("csc", [0, -1], [0, 1, 2]), ("csc", [0, 1], [0, 2, 1]), ("csc", [0, 1], [0, 5, 2]),
    ("coo", [0, 5], [0, 1]), ("coo", [0, 1], [0, 5]), ("coo", [0, 1], [0, -7]),
    ("bsr", [0, 5], [0, 1, 2]), ("bsr", [0, 1], [0, 5, 2]), ("bsr", [0, -1], [0, 1, 2])])
@pytest.mark.parametrize("use", EVERYTHING, ids=range(len(EVERYTHING)))
def test_broken_structure_is_refused_by_everything(use, format, indices, outer):
    block = format == "bsr"
    data = np.ones((2, 2, 2)) if block else np.ones(2)
    shape = (4, 4) if block else (2, 2)
    with pytest.raises(tulle.InvalidStructure):
        use(Container(format, shape, data, np.array(indices, "i4"), np.array(outer, "i4")))


def test_what_is_made_after_an_update_has_the_new_values(rng):
    a, b = sparse(rng, 30, 25), sparse(rng, 25, 20)
    blocks = sp.csr_array(np.kron(rng.random((6, 5)) < 0.5, np.ones((5, 5))) * values(rng, (30, 25), "f8"))
    x, y = values(rng, 25, "f8"), values(rng, 30, "f8")
    for given in (a, a.tocoo(), a.tocsc(), blocks.tobsr(blocksize=(5, 5)), (a.data, a.indices, a.indptr)):
        plain = a if isinstance(given, tuple) else given.tocsr()
        A = tulle.operator(given, shape=a.shape)
        data = given[0] if isinstance(given, tuple) else given.data
        A.update(2 * data.ravel())
        assert_product(2 * plain, x, A @ x)
        assert_product((2 * plain).T.tocsr(), y, A.T @ y)
        assert_product((2 * plain).T.tocsr(), y, A.H @ y)
        assert_product(2 * plain, x.astype("c16"), A @ x.astype("c16"))
        np.testing.assert_allclose(tulle.matmul(A, b).toarray(), 2 * (plain @ b).toarray(), rtol=1e-12, atol=1e-12)
        data *= 3
        A.update()  # those of the container, changed in place
        assert_product(a if isinstance(given, tuple) else given.tocsr(), x, A @ x)
        data /= 3


@pytest.mark.parametrize("format", ["dia", "lil", "dok", "bsr"])
def test_updates_of_containers_that_go_by_way_of_csr(rng, format):
    a = sparse(rng, 30, 24)
    given = a.tobsr(blocksize=(2, 3)) if format == "bsr" else a.asformat(format)
    A, x = tulle.operator(given), values(rng, 24, "f8")
    for i, j in np.argwhere(a.toarray())[:5]:
        a[i, j] = 7
        if format in ("lil", "dok"):
            given[i, j] = 7
    if format in ("dia", "bsr"):
        given.data[:] = (a.tobsr(blocksize=(2, 3)) if format == "bsr" else a.asformat(format)).data
    A.update()
    assert_product(a, x, A @ x)
    A.update(2 * given.tocsr().data)
    assert_product(2 * a, x, A @ x)
    np.testing.assert_allclose(tulle.matmul(A, a.T.tocsr()).toarray(), 2 * (a @ a.T).toarray(), rtol=1e-12, atol=1e-12)
    if format == "lil":
        given[0, :] = 1
        with pytest.raises(ValueError, match="make another"):
            A.update()


def test_an_operator_of_three_arrays_keeps_its_shape(rng):
    a = sp.csr_array((np.ones(2), np.array([0, 1]), np.array([0, 1, 2, 2])), shape=(3, 5))
    A, b = tulle.operator((a.data, a.indices, a.indptr), shape=(3, 5)), sparse(rng, 5, 4, 0.5)
    np.testing.assert_array_equal(tulle.matmul(A, b).toarray(), (a @ b).toarray())
    np.testing.assert_array_equal((A @ b).toarray(), (a @ b).toarray())
    np.testing.assert_array_equal(tulle.matmul(b.T.tocsr(), A.T).toarray(), (a @ b).T.toarray())
