"""The examples of the docstrings."""

import doctest
import importlib
import pkgutil

import pytest

import tulle

pytest.importorskip("scipy.sparse")

modules = ["tulle"] + [f"tulle.{m.name}" for m in pkgutil.iter_modules(tulle.__path__) if not m.name.startswith("_tulle")
                       and m.name != "_cuda"]


@pytest.mark.parametrize("name", modules)
def test_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
