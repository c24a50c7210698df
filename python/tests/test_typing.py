"""What is public says its types, and a type checker agrees with what a program does."""

import inspect
import os
import subprocess
import sys
import typing
from importlib.util import find_spec
from pathlib import Path

import pytest

import tulle

PROGRAM = """
import numpy as np
import tulle

A: tulle.operator = tulle.operator((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2), effort="max")
rows: int = A.shape[0]
name: str = A.kernel + A.explain() + A.T.kernel
y = A @ np.ones(2)
y.sum()
A.update(np.ones(2)).autotune().apply(np.ones(2), y, alpha=2.0)
x, info = tulle.solve(A, y, preconditioner="jacobi", callback=lambda i, r: None)
plan: tulle.plan_matmul = tulle.plan_matmul(A, A)
plan.update(np.ones(2), np.ones(2))(out=plan())
with tulle.install():
    pass
z, code = tulle.linalg.cg(A, y)
count: int = code + tulle.order_quality(A)["bandwidth"]
tulle.io.mmwrite("a.mtx", tulle.io.mmread("b.mtx"), symmetry=None)
try:
    pass
except tulle.NotConverged as e:
    e.info, e.x
"""
WRONG = """
import tulle

tulle.operator(None, effort="much")
tulle.operator(None).kernel + 1
tulle.solve(None, None, callback=3)
tulle.matmul(None)
tulle.reorder(None, 1)
"""


def public():
    for module in (tulle, tulle.io, tulle.linalg):
        for name in module.__all__:
            yield f"{module.__name__}.{name}", getattr(module, name)


FUNCTIONS = dict((name, f) for name, f in public() if inspect.isfunction(f))
CLASSES = dict((name, c) for name, c in public() if inspect.isclass(c))


def functions():
    yield from FUNCTIONS.items()
    for name, c in CLASSES.items():
        for member, f in vars(c).items():
            f = f.fget if isinstance(f, property) else f
            if inspect.isfunction(f) and (not member.startswith("_") or member in ("__init__", "__call__")):
                yield f"{name}.{member}", f


@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in functions()])
def test_public_functions_are_annotated(f):
    hints = typing.get_type_hints(f)  # the names in it exist
    for name in list(inspect.signature(f).parameters) + ["return"]:
        assert name in hints or name == "self", f"{name} has no annotation"


def test_the_extension_has_its_stub():
    """Made by the build, with everything that the package uses."""
    import ast

    package = Path(tulle.__file__).parent
    assert (package / "py.typed").exists()
    stub = ast.parse((package / "_tulle.pyi").read_text())
    there = {n.name for n in stub.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    from tulle._core import core

    assert {n for n in vars(core) if not n.startswith("_") and callable(getattr(core, n))} <= there


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """mypy's complaints about a program."""
    if find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    folder = tmp_path_factory.mktemp("mypy")
    source = Path(tulle.__file__).parents[1]
    env = os.environ | ({} if "site-packages" in source.parts else {"MYPYPATH": str(source)})

    def run(text):
        (folder / "program.py").write_text(text)
        done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", folder / "cache", "--follow-imports=silent",
                               "--no-error-summary", "program.py"], cwd=folder, env=env, capture_output=True, text=True)
        return [line for line in done.stdout.splitlines() if line.startswith("program.py")], done

    return run


def test_mypy_takes_what_is_right(check):
    complaints, done = check(PROGRAM)
    assert not complaints and done.returncode == 0, done.stdout + done.stderr


def test_mypy_refuses_what_is_wrong(check):
    complaints, done = check(WRONG)
    assert len({line.split(":")[1] for line in complaints}) == 5, done.stdout + done.stderr
