"""A x = b: residuals are recomputed in twice the precision, and held to what was asked for."""

import signal
import threading
import time

import numpy as np
import pytest

import tulle

sp = pytest.importorskip("scipy.sparse")
spla = pytest.importorskip("scipy.sparse.linalg")


def poisson(n):
    one = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    eye = sp.eye_array(n)
    return sp.csr_array(sp.kron(one, eye) + sp.kron(eye, one) + sp.eye_array(n * n) * 1e-3)


def true_residual(a, x, b):
    a = a.tocoo()
    ax = np.zeros(a.shape[0], np.longdouble)
    np.add.at(ax, a.row, a.data.astype(np.longdouble) * x.astype(np.longdouble)[a.col])
    r = b.astype(np.longdouble) - ax
    return float(np.sqrt(np.sum(r * r)))


def norm(b):
    return float(np.sqrt(np.sum(b.astype(np.longdouble) ** 2)))


@pytest.mark.parametrize("precision", ["uniform", "mixed"])
@pytest.mark.parametrize("preconditioner", ["none", "jacobi", "block_jacobi", "chebyshev"])
def test_cg_reaches_what_was_asked_for(rng, preconditioner, precision):
    a = poisson(20)
    b = rng.uniform(-1, 1, a.shape[0])
    x, info = tulle.solve(a, b, preconditioner=preconditioner, precision=precision, rtol=1e-9)
    assert info.converged and 0 < info.iterations < 400
    assert true_residual(a, x, b) <= 1.01e-9 * norm(b)  # the residual itself is rounded
    assert info.residual <= 1e-9 * norm(b)


def test_every_choice_by_name(rng):
    a = sp.csr_array(poisson(20))
    b = rng.uniform(-1, 1, 400)
    x, info = tulle.solve(a, b, method="cg", preconditioner="block_jacobi", rtol=1e-9, reorder="auto", precision="mixed")
    assert (info.status, info.converged, info.kernel in info.explanation) == ("SUCCESS", True, True)
    assert info.iterations > 0 and len(info.history) > 0 and info.residual <= 1e-9 * norm(b)
    assert "block_jacobi" in info.explanation and true_residual(a, x, b) <= 1.01e-9 * norm(b)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array, sp.coo_array, lambda a: sp.bsr_array(a, blocksize=(4, 4))])
def test_every_container(rng, make):
    a = poisson(8)
    b = rng.uniform(-1, 1, 64)
    x, info = tulle.solve(make(a), b, rtol=1e-10)
    assert true_residual(a, x, b) <= 1.01e-10 * norm(b)


def test_jacobi(rng):
    a = sp.csr_array(poisson(8) + 5 * sp.eye_array(64))
    b = rng.uniform(-1, 1, 64)
    x, info = tulle.solve(a, b, method="jacobi", rtol=1e-9)
    assert info.converged and true_residual(a, x, b) <= 1.01e-9 * norm(b)


def test_several_right_hand_sides_and_guesses(rng):
    a = poisson(8)
    b = rng.uniform(-1, 1, (64, 3))
    x, infos = tulle.solve(a, b, rtol=1e-9)
    assert x.shape == (64, 3) and all(i.converged for i in infos)
    again, infos = tulle.solve(a, b, x, rtol=1e-8)
    assert all(i.iterations == 0 for i in infos)
    np.testing.assert_array_equal(again, x)


def test_float32_and_integers(rng):
    a = poisson(8)
    b = rng.uniform(-1, 1, 64).astype(np.float32)
    x, _ = tulle.solve(a.astype(np.float32), b, rtol=1e-4)
    assert x.dtype == np.float32 and true_residual(a, x, b) <= 1.2e-4 * norm(b)
    whole = sp.csr_array(np.diag([2, 4, 8]))
    x, _ = tulle.solve(whole, np.array([2, 4, 8]))
    assert x.dtype == np.float64 and true_residual(whole, x, np.array([2, 4, 8])) <= 1.01e-8 * norm(np.array([2, 4, 8]))


def test_update(rng):
    a = poisson(8)
    b = rng.uniform(-1, 1, 64)
    s = tulle.solver(a, rtol=1e-10)
    s.solve(b)
    s.update(2 * a.data)
    x, _ = s.solve(b)
    assert true_residual(2 * a, x, b) <= 1.01e-10 * norm(b)


def test_history_and_callback():
    a = poisson(10)
    seen = []
    x, info = tulle.solve(a, np.ones(100), callback=lambda i, r: seen.append((i, r)), precision="uniform")
    assert len(info.history) >= info.iterations and info.history[0] == pytest.approx(10)
    assert seen and seen[-1][0] <= info.iterations
    assert "SUCCESS" in repr(info) and "<table>" in info._repr_html_()


def test_what_does_not_converge_is_raised():
    a = poisson(20)
    with pytest.raises(tulle.NotConverged) as caught:
        tulle.solve(a, np.ones(400), max_iterations=2, precision="uniform")
    assert caught.value.info.status == "NOT_CONVERGED" and caught.value.x.shape == (400,)
    _, info = tulle.solve(a, np.ones(400), max_iterations=2, precision="uniform", check=False)
    assert not info.converged and info.iterations == 2
    with pytest.raises(tulle.NotConverged):
        tulle.solve(sp.csr_array(np.array([[1.0, 2.0], [2.0, 1.0]])), np.array([1.0, -1.0]), precision="uniform")


def test_errors_by_cause():
    a = poisson(4)
    with pytest.raises(ValueError, match="square"):
        tulle.solve(a[:3], np.ones(3))
    with pytest.raises(ValueError, match="preconditioner"):
        tulle.solve(a, np.ones(16), preconditioner="ilu")
    with pytest.raises(ValueError, match="shape"):
        tulle.solve(a, np.ones(15))
    with pytest.raises(TypeError, match="unknown options"):
        tulle.solve(a, np.ones(16), tolerance=1)
    with pytest.raises(ValueError, match="method"):
        tulle.solve(a, np.ones(16), method="gmres")


def test_what_a_callback_raises_arrives_and_the_solver_lives_on():
    a = poisson(20)
    s = tulle.solver(a, precision="uniform")

    def stop(i, r):
        if i > 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        s.solve(np.ones(400), callback=stop)
    assert s.solve(np.ones(400))[1].converged


def test_keyboard_interrupt_ends_a_long_solve():
    n = 200_000
    a = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1], format="csr")
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            tulle.solve(a, np.ones(n), rtol=0, max_iterations=10_000_000, precision="uniform", history=False, check=False)
            time.sleep(30)  # solved all of it: then the test fails
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def test_linalg_cg_is_scipys(rng):
    a = poisson(12)
    b = rng.uniform(-1, 1, 144)
    for options in ({}, {"rtol": 1e-10}, {"M": sp.diags_array(1 / a.diagonal(), format="csr")}, {"x0": rng.uniform(-1, 1, 144)}):
        x, info = tulle.linalg.cg(a, b, **options)
        theirs, their_info = spla.cg(a, b, **options)
        target = options.get("rtol", 1e-5) * norm(b)
        assert info == their_info == 0 and true_residual(a, x, b) <= 1.01 * target
    assert tulle.linalg.cg(a, b, maxiter=3)[1] == spla.cg(a, b, maxiter=3)[1] == 3
    assert tulle.linalg.cg(a, np.zeros(144))[1] == 0
    assert tulle.linalg.cg(a, b[:, None])[0].shape == spla.cg(a, b[:, None])[0].shape


def test_linalg_cg_calls_back_as_often_as_scipys(rng):
    a = poisson(8)
    b = rng.uniform(-1, 1, 64)
    ours, theirs = [], []
    tulle.linalg.cg(a, b, callback=lambda x: ours.append(x.copy()))
    spla.cg(a, b, callback=lambda x: theirs.append(x.copy()))
    assert abs(len(ours) - len(theirs)) <= 1 and ours[0].shape == (64,)


def test_linalg_cg_of_operators_and_complex(rng):
    a = poisson(8)
    b = rng.uniform(-1, 1, 64)
    x, info = tulle.linalg.cg(spla.aslinearoperator(a), b, rtol=1e-9)
    assert info == 0 and true_residual(a, x, b) <= 1.01e-9 * norm(b)
    x, info = tulle.linalg.cg(tulle.operator(a), b, rtol=1e-9, M="jacobi")
    assert info == 0 and true_residual(a, x, b) <= 1.01e-9 * norm(b)
    z = b + 1j * b[::-1]
    x, info = tulle.linalg.cg(a, z, rtol=1e-9)
    assert info == 0 and np.linalg.norm(a @ x - z) <= 1.01e-9 * np.linalg.norm(z)


def test_a_failed_update_leaves_nothing_behind_that_is_freed():
    n = 200_000
    i = np.arange(n, dtype=np.int32)
    s = tulle.solver(sp.csr_array((np.full(n, 2.0), i, np.arange(n + 1, dtype=np.int32)), shape=(n, n)))
    with pytest.raises(tulle.NotConverged):
        s.update(np.full(n, -1.0))
    noise = [np.full(n, np.nan) for _ in range(8)]  # where the values would have been
    with pytest.raises(tulle.NotConverged, match="a_ii = -1"):
        s.solve(np.ones(n), check=False)
    del noise
    x, info = s.update(np.full(n, 4.0)).solve(np.ones(n))
    assert info.converged and abs(x[0] - 0.25) < 1e-6


def test_solvers_take_values_like_the_container_has_them():
    d = sp.diags_array([-np.ones(5), 4 * np.arange(1, 7.0), -np.ones(5)], offsets=[-1, 0, 1], shape=(6, 6))
    x, _ = tulle.solver(d).update(2 * d.data).solve(np.ones(6))
    np.testing.assert_allclose(2 * (d @ x), np.ones(6), rtol=1e-6)


def test_options_and_guesses_of_a_wrong_kind():
    a = sp.csr_array(np.array([[2.0, -1], [-1, 2]]))
    for options in ({"kernel": 3}, {"preconditioner": None}, {"reorder": True}, {"degree": 2.5}, {"max_iterations": 10**10}):
        with pytest.raises(TypeError):
            tulle.solve(a, np.ones(2), **options)
    with pytest.raises(ValueError, match="x0"):
        tulle.solve(a, np.ones((2, 2)), np.ones((2, 5)))
    x, infos = tulle.solve(a, np.ones((2, 2)), [[0, 0], [0, 0]])
    assert x.shape == (2, 2) and all(info.converged for info in infos)


def test_cg_of_other_matrices_and_types():
    a = np.array([[2.0, -1], [-1, 2]])
    for A, M in ((np.matrix(a), None), (sp.csr_array(a), np.matrix(np.eye(2))), (tulle.operator(sp.csr_array(a)).T, "jacobi")):
        x, info = tulle.linalg.cg(A, np.ones(2), M=M, callback=lambda _: None)
        assert info == 0 and np.allclose(x, 1, atol=1e-4)
    for dtype in (np.longdouble, object):
        x, info = tulle.linalg.cg(sp.csr_array(a), np.ones(2, dtype))
        assert info == 0 and np.allclose(x.astype(float), 1, atol=1e-4)
