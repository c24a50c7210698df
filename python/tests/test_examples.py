"""The notebooks' scripts run, and hold what they assert; every one becomes a notebook with its code."""

import ast
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("scipy.sparse")
ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "examples" / "python").glob("*.py"))


def test_there_are_some():
    assert {s.stem for s in SCRIPTS} >= {"pagerank", "poisson", "graph_convolution", "cardiac"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.stem)
def test_runs(script):
    runpy.run_path(str(script), run_name="__main__")


def test_notebooks(tmp_path):
    subprocess.run([sys.executable, ROOT / "tools" / "make_notebooks", "-o", tmp_path], check=True, capture_output=True)
    for script in SCRIPTS:
        made = json.loads((tmp_path / f"{script.stem}.ipynb").read_text())
        code = "\n".join("".join(c["source"]) for c in made["cells"] if c["cell_type"] == "code")
        assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(script.read_text()))
        assert made["cells"][0]["cell_type"] == "markdown"


def snippets():
    """The Python of docs/python.md, by heading."""
    text = (ROOT / "docs" / "python.md").read_text()
    for part in text.split("\n## ")[1:]:
        code = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
        if code:
            yield pytest.param("\n".join(code), id=part.split("\n")[0])


@pytest.mark.parametrize("code", list(snippets()))
def test_what_the_page_shows(code, tmp_path, monkeypatch):
    """Each block by itself, with the names that those before it left."""
    import numpy as np
    import scipy.sparse as sp

    import tulle

    monkeypatch.chdir(tmp_path)
    a = sp.csr_array(sp.diags_array([-np.ones(99), 3 * np.ones(100), -np.ones(99)], offsets=[-1, 0, 1]))
    names = dict(a=a, b=np.ones(100), p=sp.csr_array(np.kron(np.eye(10), np.ones((10, 1)))), x=np.ones(100), X=np.ones((100, 3)),
                 np=np, sp=sp, tulle=tulle)
    tulle.io.mmwrite("a.mtx.gz", a)
    exec(compile(code, "docs/python.md", "exec"), names)
