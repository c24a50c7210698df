"""CuPy's arrays in and out, on its current stream."""

import inspect

import numpy as np
import pytest

import tulle
from conftest import assert_product, sparse, values

cupy = pytest.importorskip("cupy")
cupyx = pytest.importorskip("cupyx.scipy.sparse")
pytestmark = pytest.mark.gpu

from tulle._core import core  # noqa: E402

if core.device_count() == 0:
    pytest.skip(core.why_no_device(), allow_module_level=True)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_products(rng, dtype, format):
    a = sparse(rng, 60, 50, dtype=dtype)
    A = tulle.operator(cupyx.csr_matrix(a).asformat(format))
    assert A.device == "cuda"
    for shape in (50, (50, 4)):
        x = values(rng, shape, dtype)
        y = A @ cupy.asarray(x)
        assert isinstance(y, cupy.ndarray)
        assert_product(a, x, y.get())
        if x.ndim == 2:
            assert_product(a, x, (A @ cupy.asfortranarray(cupy.asarray(x))).get())
            assert_product(a, np.ascontiguousarray(x[:, ::2]), (A @ cupy.asarray(x)[:, ::2]).get())
    x = values(rng, 60, dtype)
    assert_product(a.T.tocsr(), x, (A.T @ cupy.asarray(x)).get())


def test_streams(rng):
    a = sparse(rng, 4000, 4000, 0.01)
    A = tulle.operator(cupyx.csr_matrix(a))
    x = values(rng, 4000, "f8")
    for stream in (cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(), cupy.cuda.Stream.null):
        with stream:
            d = cupy.asarray(x)
            for _ in range(20):
                y = A @ d
            assert_product(a, x, y.get(stream=stream))


def test_matmul(rng):
    a, b = sparse(rng, 50, 60, 0.2), sparse(rng, 60, 40, 0.2)
    c = tulle.matmul(cupyx.csr_matrix(a), cupyx.csr_matrix(b))
    assert isinstance(c, cupyx.csr_matrix)
    np.testing.assert_allclose(c.get().toarray(), a.toarray() @ b.toarray(), atol=1e-12)
    np.testing.assert_array_equal(c.indices.get(), tulle.matmul(a, b).indices)


def test_takes_its_place_in_cupys_solvers(rng):
    linalg = pytest.importorskip("cupyx.scipy.sparse.linalg")
    a = sparse(rng, 200, 200, 0.05)
    a = (a @ a.T + 30 * np.eye(200)).astype("f8")
    from scipy.sparse import csr_array

    A, b = tulle.operator(cupyx.csr_matrix(csr_array(a))), cupy.ones(200)
    x, info = linalg.cg(A, b, **{tolerance(linalg.cg): 1e-10})
    assert info == 0 and float(cupy.linalg.norm(A @ x - b)) <= 1e-8


def tolerance(cg):
    """What this CuPy calls it."""
    return "rtol" if "rtol" in inspect.signature(cg).parameters else "tol"


def test_refuses_host_arrays(rng):
    A = tulle.operator(cupyx.csr_matrix(sparse(rng, 5, 5)))
    with pytest.raises(TypeError, match="device"):
        A @ np.ones(5)


def test_update(rng):
    a = sparse(rng, 50, 50)
    d = cupyx.csr_matrix(a)
    A, x = tulle.operator(d), values(rng, 50, "f8")
    d.data *= 2
    A.update()
    assert_product(2 * a, x, (A @ cupy.asarray(x)).get())
