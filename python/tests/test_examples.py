"""The notebooks' scripts run, and hold what they assert; every one becomes a notebook with its code."""

import ast
import json
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
