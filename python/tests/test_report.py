"""Orders, statistics, tables and pictures."""

import numpy as np
import pytest

import tulle

sp = pytest.importorskip("scipy.sparse")


@pytest.fixture
def shuffled(rng):
    n = 300
    band = sp.diags_array([np.ones(n - 1), 4 * np.ones(n), np.ones(n - 1)], offsets=[-1, 0, 1], format="csr")
    p = rng.permutation(n)
    return sp.csr_array(band[p][:, p])


@pytest.mark.parametrize("method", ["rcm", "degree", "random", "natural"])
def test_orders_of_unknowns(shuffled, method):
    b, order = tulle.reorder(shuffled, method)
    assert sorted(order) == list(range(300)) and order.dtype == np.int32
    np.testing.assert_array_equal(b.toarray(), shuffled[order][:, order].toarray())
    assert isinstance(b, sp.csr_array)


def test_rcm_narrows_the_band(shuffled):
    assert tulle.order_quality(tulle.reorder(shuffled, "rcm").matrix)["bandwidth"] == 1
    assert tulle.order_quality(shuffled)["bandwidth"] > 100


def test_orders_of_rows(rng):
    a = sp.random_array((40, 30), density=0.2, rng=rng, format="csr")
    b, order = tulle.reorder(a, "length")
    np.testing.assert_array_equal(b.toarray(), a[order].toarray())
    assert list(np.diff(b.indptr)) == sorted(np.diff(a.indptr), reverse=True)
    square = sp.csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
    assert list(tulle.reorder(square, "match_diagonal").order) == [1, 0]
    with pytest.raises(ValueError, match="rcm"):
        tulle.reorder(square, "best")
    with pytest.raises(ValueError):
        tulle.reorder(a, "rcm")


def test_info(rng):
    a = sp.random_array((40, 30), density=0.2, rng=rng, format="csr")
    facts = tulle.info(a)
    lengths = np.diff(a.indptr)
    assert facts["nonzeros"] == a.nnz and facts["longest_row"] == lengths.max() and facts["empty_rows"] == (lengths == 0).sum()
    assert facts["mean_row"] == pytest.approx(lengths.mean()) and facts["dtype"] in ("f8", "float64")
    assert "<table>" in facts._repr_html_() and "longest row" in repr(facts)


def test_bench(rng):
    a = sp.random_array((40, 30), density=0.2, rng=rng, format="csr")
    times = tulle.bench(a, seconds=1e-4)
    assert "SciPy" in times and len(times) >= 3 and all(t > 0 for t in times.values())
    assert "(chosen)" in repr(times) and "<table>" in times._repr_html_()


def test_doctor():
    facts = tulle.doctor()
    assert facts["version"] == tulle.__version__ and facts["threads"] >= 1
    assert facts["devices"] or facts["why no device"] != "-"
    assert "<table>" in facts._repr_html_()


class Axes:
    """Keeps what is drawn."""

    def imshow(self, image, **options):
        return image, options


def test_spy(rng):
    a = sp.random_array((1000, 500), density=0.01, rng=rng, format="csr")
    image, options = tulle.spy(a, Axes(), pixels=100, alpha=0.5)
    drawn = np.expm1(image)
    assert drawn.shape == (100, 50) and round(drawn.sum()) == a.nnz
    assert options["extent"] == (-0.5, 499.5, 999.5, -0.5) and options["alpha"] == 0.5
    corner, _ = tulle.spy(sp.csr_array(([1.0], ([3], [0])), shape=(4, 4)), Axes())
    assert np.argwhere(corner).tolist() == [[3, 0]]
    with pytest.raises(TypeError):
        tulle.spy(np.eye(3), Axes())


def test_spy_on_matplotlib(rng):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    image = tulle.spy(sp.eye_array(50, format="csr"), Figure().subplots())
    assert np.asarray(image.get_array()).shape == (50, 50)
