"""Matrix Market files: what SciPy reads and writes, tulle does."""

import bz2
import gzip
import io
import lzma

import numpy as np
import pytest

import tulle

sp = pytest.importorskip("scipy.sparse")
scipy_io = pytest.importorskip("scipy.io")

TEXTS = {
    "general": "%%MatrixMarket matrix coordinate real general\n% said\n3 4 4\n1 1 1.5\n3 4 -2e-3\n2 2 7\n1 4 0\n",
    "symmetric": "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 4\n3 1 -1.25\n3 3 2\n",
    "skew": "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 4\n3 1 -1.25\n",
    "pattern": "%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 3\n2 1\n",
    "integer": "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 3\n2 1 -4\n",
    "wide": "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 3000000000\n2 1 -4\n",
    "duplicates": "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 2 3\n1 2 0.5\n2 1 -4\n",
    "complex": "%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 2 3 -1\n2 1 -4 2\n",
    "hermitian": "%%MatrixMarket matrix coordinate complex hermitian\n3 3 4\n3 1 1 -1\n1 1 3 0\n2 1 -4 2\n2 1 1 1\n",
    "complex skew": "%%MatrixMarket matrix coordinate complex skew-symmetric\n3 3 2\n3 2 -4 2\n2 1 1 5\n",
    "array": "%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n0\n5\n6\n",
    "array symmetric": "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
    "empty": "%%MatrixMarket matrix coordinate real general\n5 4 0\n",
}


def dense(a):
    return a.toarray() if sp.issparse(a) else a


@pytest.mark.parametrize("name", TEXTS)
def test_reads_what_scipy_reads(tmp_path, name):
    file = tmp_path / "a.mtx"
    file.write_text(TEXTS[name])
    ours, theirs = tulle.io.mmread(file), scipy_io.mmread(file, spmatrix=True)
    assert type(ours) is type(theirs) and ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_array_equal(dense(ours), dense(theirs))
    if sp.issparse(ours):  # entry by entry, in the order of the file
        for of_ours, of_theirs in ((ours.row, theirs.row), (ours.col, theirs.col), (ours.data, theirs.data)):
            assert of_ours.dtype == of_theirs.dtype
            np.testing.assert_array_equal(of_ours, of_theirs)
    for source in (io.StringIO(TEXTS[name]), io.BytesIO(TEXTS[name].encode())):
        np.testing.assert_array_equal(dense(tulle.io.mmread(source)), dense(theirs))


@pytest.mark.parametrize("ending, pack", [(".mtx.gz", gzip.compress), (".mtx.bz2", bz2.compress), (".mtx.xz", lzma.compress)])
def test_compressed(tmp_path, ending, pack):
    (tmp_path / f"a{ending}").write_bytes(pack(TEXTS["general"].encode()))
    expected = tulle.io.mmread(io.StringIO(TEXTS["general"]))
    np.testing.assert_array_equal(tulle.io.mmread(tmp_path / f"a{ending}").toarray(), expected.toarray())


def test_forms():
    read = lambda **how: tulle.io.mmread(io.StringIO(TEXTS["general"]), **how)
    assert isinstance(read(), sp.coo_matrix) and isinstance(read(spmatrix=False), sp.coo_array)
    assert isinstance(read(format="csr", spmatrix=False), sp.csr_array)
    assert read(format="csr").nnz == 4  # the stored 0 stays
    assert read(format="csr").indices.dtype == read(format="csr").indptr.dtype == np.int32
    with pytest.raises(ValueError, match="format"):
        read(format="lil")


def test_errors_by_cause(tmp_path):
    with pytest.raises(FileNotFoundError):
        tulle.io.mmread(tmp_path / "nothing.mtx")
    with pytest.raises(ValueError, match="3"):
        tulle.io.mmread(io.StringIO("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 5\n"))
    with pytest.raises(ValueError):
        tulle.io.mmread(io.StringIO(TEXTS["duplicates"]), strict=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.int64, np.int8, np.bool_, np.complex128])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_matrix, sp.bsr_array])
def test_written_and_read_back(tmp_path, rng, dtype, form):
    values = rng.integers(-50, 50, (7, 9)) * (rng.random((7, 9)) < 0.4)
    a = form((values if dtype != np.complex128 else values * (1 + 0.5j)).astype(dtype))
    tulle.io.mmwrite(tmp_path / "a.mtx", a)
    np.testing.assert_array_equal(scipy_io.mmread(tmp_path / "a.mtx", spmatrix=False).toarray(), a.toarray())
    np.testing.assert_array_equal(tulle.io.mmread(tmp_path / "a.mtx").toarray(), a.toarray())


def test_every_digit_comes_back(tmp_path, rng):
    a = sp.random_array((200, 200), density=0.1, rng=rng, format="csr")
    tulle.io.mmwrite(tmp_path / "a", a)
    b = tulle.io.mmread(tmp_path / "a.mtx", format="csr")
    np.testing.assert_array_equal(a.toarray(), b.toarray())


def test_symmetric_and_comments(tmp_path):
    a = sp.csr_array(np.array([[2.0, 1.0], [1.0, 3.0]]))
    tulle.io.mmwrite(tmp_path / "a.mtx", a)  # small: looked at, as SciPy does
    assert "symmetric" in (tmp_path / "a.mtx").read_text().split("\n")[0]
    tulle.io.mmwrite(tmp_path / "b.mtx", a, comment="a remark", symmetry="general")
    assert "a remark" in (tmp_path / "b.mtx").read_text()
    out = io.BytesIO()
    tulle.io.mmwrite(out, a)
    assert out.getvalue().startswith(b"%%MatrixMarket")
    assert tulle.io.mminfo(tmp_path / "a.mtx")[:3] == (2, 2, 3)
    tulle.io.mmwrite(tmp_path / "c.mtx", a, field="pattern")
    assert (tmp_path / "c.mtx").read_text().startswith("%%MatrixMarket matrix coordinate pattern")
    np.testing.assert_array_equal(tulle.io.mmread(tmp_path / "c.mtx").toarray(), np.ones((2, 2)))
    np.testing.assert_array_equal(a.toarray(), [[2, 1], [1, 3]])  # as it was


def test_symmetric_but_for_stored_zeros(tmp_path):
    z = sp.csr_array((np.array([0.0, 1.0]), np.array([1, 1]), np.array([0, 1, 2])), shape=(2, 2))
    tulle.io.mmwrite(tmp_path / "z.mtx", z)
    assert (tulle.io.mmread(tmp_path / "z.mtx").toarray() == z.toarray()).all()
    with pytest.raises(ValueError):
        tulle.io.mmwrite(tmp_path / "z.mtx", z, symmetry="symmetric")


def test_integers_written_as_real(tmp_path):
    tulle.io.mmwrite(tmp_path / "q.mtx", sp.csr_array([[1, 2]]), field="real")
    assert (tmp_path / "q.mtx").read_text().split("\n")[0].split()[3] == "real"


def test_what_goes_through_scipy_is_compressed_by_its_name_too(tmp_path):
    a = sp.csr_array([[1.0, 2.0]])
    for ending, magic in ((".gz", b"\x1f\x8b"), (".xz", b"\xfd7z")):
        name = tmp_path / f"q.mtx{ending}"
        tulle.io.mmwrite(name, a, comment="said")
        assert name.read_bytes().startswith(magic)
        assert (tulle.io.mmread(name).toarray() == a.toarray()).all()
    assert tulle.io.mminfo(name) == (1, 2, 2, "coordinate", "real", "general")
    with pytest.raises(ValueError, match="zstd"):
        tulle.io.mmwrite(tmp_path / "q.mtx.zst", a, comment="said")
    assert not list(tmp_path.glob("*.mtx.*.mtx"))


def test_text_and_files_of_all_sorts(tmp_path):
    text = "%%MatrixMarket matrix coordinate real hermitian\n% a dash \u2014 in a comment\n2 2 1\n2 1 3\n"
    assert tulle.io.mmread(io.StringIO(text)).toarray().tolist() == [[0, 3], [3, 0]]
    (tmp_path / "cut.mtx.xz").write_bytes(lzma.compress(text.encode())[:40])
    with pytest.raises(OSError):
        tulle.io.mmread(tmp_path / "cut.mtx.xz")


def test_broken_columns_are_refused_before_they_are_written(tmp_path):
    m = sp.csc_array(np.eye(3))
    m.indices = np.array([0, -1, 2], np.int32)
    with pytest.raises(tulle.InvalidStructure):
        tulle.io.mmwrite(tmp_path / "z.mtx", m, symmetry="general")
