"""How calls behave beside other threads, after fork, and when they are to end."""

import collections
import contextlib
import multiprocessing
import operator
import os
import signal
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest

import tulle
from conftest import assert_product, sparse, values
from tulle import _matrix
from tulle._core import core

sp = pytest.importorskip("scipy.sparse")


def poisson(n):
    one = sp.diags_array([-np.ones(n - 1), 2.1 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    return sp.csr_array(sp.kron(one, sp.eye_array(n)) + sp.kron(sp.eye_array(n), one))


# Every call that works, as the compiled part has it: what Python does around it may give the GIL away by itself.

CALLS = {}


def call(f):
    CALLS[f.__name__] = f
    return f


def prepared():
    a = poisson(150)
    return a, _matrix.as_matrix(a)


@call
def plans(tmp_path):
    return partial(core.Operator, prepared()[1])


@call
def multiplies(tmp_path):
    A, x = tulle.operator(poisson(150)), np.ones(150**2)
    return lambda: A @ x


@call
def multiplies_many(tmp_path):
    A, x = tulle.operator(poisson(150)), np.ones((150**2, 4))
    return lambda: A @ x


@call
def multiplies_wider(tmp_path):
    A, x = tulle.operator(poisson(150).astype("f4")), np.ones(150**2)
    return lambda: A @ x


@call
def applies(tmp_path):
    A, x = tulle.operator(poisson(150)), np.ones(150**2)
    return partial(A._apply, 1.0, x, 0.0, np.empty(150**2))


@call
def updates(tmp_path):
    a, m = prepared()
    return partial(core.Operator(m)._update, a.data)


@call
def autotunes(tmp_path):
    return core.Operator(prepared()[1])._autotune


@call
def explains(tmp_path):
    return core.Operator(prepared()[1]).explain


@call
def multiplies_matrices(tmp_path):
    _, m = prepared()
    return partial(core.multiply, m, m)


@call
def multiplies_three_matrices(tmp_path):
    _, m = prepared()
    return partial(core.triple_product, m, m, m)


@call
def plans_a_product(tmp_path):
    _, m = prepared()
    return partial(core.ProductPlan, m, m)


@call
def makes_a_planned_product(tmp_path):
    _, m = prepared()
    return core.ProductPlan(m, m).multiply


@call
def fills_a_planned_product(tmp_path):
    _, m = prepared()
    plan = core.ProductPlan(m, m)
    return partial(plan.numeric, plan.multiply())


@call
def makes_a_solver(tmp_path):
    return partial(core.CgSolver, prepared()[1], {})


@call
def solves(tmp_path):
    s = core.CgSolver(prepared()[1], {})
    return partial(s.solve, np.ones(150**2), np.zeros(150**2))


@call
def orders(tmp_path):
    return partial(core.order, prepared()[1], "rcm")


@call
def permutes(tmp_path):
    return partial(core.permuted, prepared()[1], np.arange(150**2, dtype="i4")[::-1].copy(), "rows")


@call
def judges_an_order(tmp_path):
    return partial(core.order_quality, prepared()[1])


@call
def describes(tmp_path):
    return partial(core.describe, prepared()[1])


@call
def narrows(tmp_path):
    return partial(core.narrow, np.arange(100_000))


@call
def writes(tmp_path):
    return partial(core.write_matrix_market, str(tmp_path / "a.mtx"), prepared()[1], False, "real")


@call
def reads(tmp_path):
    writes(tmp_path)()
    return partial(core.read_matrix_market, str(tmp_path / "a.mtx"), None, "f8", 1, False)


@call
def lists(tmp_path):
    writes(tmp_path)()
    return partial(core.list_matrix_market, str(tmp_path / "a.mtx"), None, "f8", 1, False)


@call
def multiplies_under_scipy(tmp_path):
    a = poisson(150)
    return partial(core.multiply_dense, *a.shape, a.indptr, a.indices, a.data, np.ones(150**2), False)


@call
def multiplies_matrices_under_scipy(tmp_path):
    a = poisson(150)
    n = a.shape[0]
    return partial(core.multiply_sparse, n, n, n, a.indptr, a.indices, a.data, a.indptr, a.indices, a.data)


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is no GIL")
@pytest.mark.parametrize("name", CALLS)
def test_the_gil_is_free_while_tulle_works(tmp_path, monkeypatch, name):
    """Another thread gets on while the call runs, though nobody may be asked to hand the GIL over."""
    monkeypatch.setenv("TULLE_CACHE_DIR", str(tmp_path))
    work = CALLS[name](tmp_path)
    work()
    steps, over = [0], False

    def count():
        while not over:
            steps[0] += 1
            time.sleep(0)

    before = sys.getswitchinterval()
    other = threading.Thread(target=count)
    try:
        sys.setswitchinterval(1000)
        other.start()
        for _ in range(10_000):
            seen = steps[0]
            work()
            if steps[0] != seen:
                break
        else:
            pytest.fail("no other thread ran in 10 000 calls")
    finally:
        over = True
        sys.setswitchinterval(before)
        other.join()


def in_threads(*works):
    """Runs them side by side; what one of them raises is raised."""
    raised = []

    def guarded(work):
        try:
            work()
        except BaseException as e:
            raised.append(e)

    threads = [threading.Thread(target=guarded, args=(w,)) for w in works]
    [t.start() for t in threads]
    [t.join() for t in threads]
    if raised:
        raise raised[0]


def test_a_solver_from_many_threads(rng):
    s = tulle.solver(poisson(20), rtol=1e-8)
    sides = [values(rng, 400, "f8") for _ in range(4)]
    expected = [s.solve(b)[0] for b in sides]

    def work(b, x):
        for _ in range(10):
            np.testing.assert_array_equal(s.solve(b)[0], x)

    in_threads(*(partial(work, *pair) for pair in zip(sides, expected)))


def test_a_product_plan_from_many_threads(rng):
    a = sparse(rng, 300, 300, 0.05)
    plan = tulle.plan_matmul(a, a)
    expected = plan()

    def make():
        for _ in range(20):
            np.testing.assert_array_equal(plan().data, expected.data)

    def fill():
        c = plan()
        for _ in range(20):
            np.testing.assert_array_equal(plan(out=c).data, expected.data)

    in_threads(make, fill, make, fill)


def test_products_beside_other_values(rng):
    """Every product is that of one set of values: none is half old, half new."""
    a = sparse(rng, 2000, 2000, 0.01)
    A, x = tulle.operator(a), values(rng, 2000, "f8")
    once = A @ x
    over = threading.Event()

    def change():
        for k in range(100):
            A.update(a.data * 2.0 ** (k % 3))
        over.set()

    def multiply():
        while not over.is_set():
            y = A @ x
            assert any(np.array_equal(y, once * 2.0**k) for k in range(3))
            A.kernel, A.explain(), A.workspace_bytes

    in_threads(change, multiply, multiply)


def test_a_callback_must_not_come_back():
    s = tulle.solver(poisson(10), precision="uniform")
    with pytest.raises(ValueError, match="callback"):
        s.solve(np.ones(100), callback=lambda i, r: s.solve(np.ones(100)))
    with pytest.raises(ValueError, match="callback"):
        s.solve(np.ones(100), callback=lambda i, r: s.update(poisson(10).data))
    assert s.solve(np.ones(100), callback=lambda i, r: s.kernel and s.explain())[1].converged


def exit_code_of_child(work):
    """Of a child of fork; 60 s are a hang."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(60)
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_of_fork_goes_on_with_plans_that_were_at_work():
    """Another thread of the parent is in the middle of a solve, which holds the solver's lock."""
    a = poisson(20)
    s, b = tulle.solver(a, precision="uniform"), np.ones(400)
    expected = s.solve(b)[0]
    begun, go_on = threading.Event(), threading.Event()

    def wait(iterations, residual):
        begun.set()
        go_on.wait()

    busy = threading.Thread(target=lambda: s.solve(b, callback=wait))
    busy.start()
    begun.wait()
    try:
        code = exit_code_of_child(lambda: np.array_equal(s.solve(b)[0], expected))
    finally:
        go_on.set()
        busy.join()
    assert code == 0
    assert np.array_equal(s.solve(b)[0], expected)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_of_fork_does_everything(rng, tmp_path):
    a = sparse(rng, 3000, 3000, 0.01)
    A, plan, x = tulle.operator(a), tulle.plan_matmul(a, a), values(rng, 3000, "f8")
    y, c = A @ x, plan()
    file = tmp_path / "a.mtx"
    tulle.io.mmwrite(file, a)

    def work():
        b = tulle.io.mmread(file, format="csr")
        return (np.array_equal(A @ x, y) and np.array_equal(plan().data, c.data) and np.array_equal(tulle.operator(b) @ x, y)
                and np.array_equal(tulle.matmul(b, b).data, c.data) and tulle.solve(poisson(20), np.ones(400))[1].converged)

    assert exit_code_of_child(work) == 0
    # and a child of a child, with threads of its own
    assert exit_code_of_child(lambda: exit_code_of_child(work) == 0 and work()) == 0


_kept = {}


def _multiply_kept(x):
    return _kept["A"] @ x


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_multiprocessing(rng):
    a = sparse(rng, 3000, 3000, 0.01)
    _kept["A"] = tulle.operator(a)
    xs = [values(rng, 3000, "f8") for _ in range(6)]
    expected = [_kept["A"] @ x for x in xs]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for y, wanted in zip(pool.map(_multiply_kept, xs), expected):
            np.testing.assert_array_equal(y, wanted)
    _kept.clear()


def in_one_go(*calls):
    """The calls one after another without a line of Python between them, in which a signal could be heard."""
    collections.deque(map(operator.methodcaller("__call__"), calls), maxlen=0)


@contextlib.contextmanager
def interrupted_after(seconds):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def assert_ends_early(work):
    """KeyboardInterrupt comes out of the middle of a call that takes seconds."""
    after = []
    with pytest.raises(KeyboardInterrupt), interrupted_after(0.05):
        in_one_go(work, partial(after.append, 1))
    assert not after


@pytest.fixture(scope="module")
def many_products():
    """A (20000 x 1000, 500 entries a row) and B (1000 x 400, full): 4 10^9 products."""
    rng = np.random.default_rng(3)
    indices = np.sort(rng.integers(0, 2, (20_000, 500), dtype="i4") + 2 * np.arange(500, dtype="i4"), axis=1)
    a = sp.csr_array((rng.standard_normal(indices.size), indices.ravel(), np.arange(20_001) * 500), shape=(20_000, 1000))
    b = sp.csr_array(rng.standard_normal((1000, 400)))
    return _matrix.as_matrix(a), _matrix.as_matrix(b)


def test_keyboard_interrupt_ends_a_product(many_products):
    a, b = many_products
    assert_ends_early(partial(core.multiply, a, b))
    assert_ends_early(core.ProductPlan(a, b).multiply)


def test_keyboard_interrupt_ends_autotuning(tmp_path, monkeypatch):
    monkeypatch.setenv("TULLE_CACHE_DIR", str(tmp_path))
    rng = np.random.default_rng(3)
    n = 200_000
    indices = rng.integers(0, n, 20 * n, dtype="i4")
    a = sp.csr_array((np.ones(20 * n), indices, np.arange(n + 1) * 20), shape=(n, n))
    A, x = tulle.operator(a), np.ones(n)
    y, kernel = A @ x, A.kernel
    assert_ends_early(A._autotune)
    assert A.kernel == kernel
    np.testing.assert_array_equal(A @ x, y)


def test_keyboard_interrupt_ends_a_read_that_waits(tmp_path):
    pipe = tmp_path / "a.mtx"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)  # holds it open; nothing more comes
    try:
        os.write(writer, b"%%MatrixMarket matrix coordinate real general\n2 2 1\n")
        assert_ends_early(partial(core.read_matrix_market, str(pipe), None, "f8", 0, False))
    finally:
        os.close(writer)


def test_keyboard_interrupt_ends_a_write_that_waits(tmp_path):
    pipe = tmp_path / "a.mtx"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR)  # holds it open, and reads nothing
    try:
        assert_ends_early(partial(core.write_matrix_market, str(pipe), prepared()[1], False, "real"))
    finally:
        os.close(reader)


def test_what_a_handler_raises_arrives(many_products):
    """Not only KeyboardInterrupt."""

    class Enough(Exception):
        pass

    def stop(*_):
        raise Enough

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Enough):
            core.multiply(*many_products)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_other_threads_do_not_hear_signals(rng):
    """Only the main thread handles them: a product in another one goes to its end."""
    a = sparse(rng, 300, 300)
    made = []
    in_threads(lambda: made.append(tulle.matmul(a, a)))
    assert_product(a, x := values(rng, 300, "f8"), tulle.operator(a) @ x)
    assert made[0].shape == (300, 300)


class Stream:
    """Of a CuPy that only keeps a list of what happens."""

    def __init__(self, ptr, log):
        self.ptr, self.log = ptr, log

    def record(self):
        self.log.append(("record", self.ptr))
        return self.ptr

    def wait_event(self, event):
        self.log.append(("wait", self.ptr, event))


def test_a_product_on_another_stream_waits_for_the_last(monkeypatch):
    from types import SimpleNamespace

    from tulle import _device

    log = []
    one, other = Stream(1, log), Stream(2, log)
    current = [one]
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(get_current_stream=lambda: current[0])))
    op = SimpleNamespace(_queueing=threading.Lock(), _stream=None, _apply_device=lambda *given: log.append(("product", given[-1])))
    vector = SimpleNamespace(data=SimpleNamespace(ptr=0))
    for stream in (one, one, other, one):
        current[0] = stream
        _device._queue(op, 1.0, vector, 0.0, vector, 0, 1, True, 1, True)
    assert log == [("product", 1), ("product", 1), ("record", 1), ("wait", 2, 1), ("product", 2), ("record", 2), ("wait", 1, 2),
                   ("product", 1)]
