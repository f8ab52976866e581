"""The public API is documented, and the examples in its docstrings are true."""

import doctest
import inspect
import warnings
from importlib import import_module
from pathlib import Path

import pytest

import algophase

PUBLIC = [name for name in algophase.__all__ if not name.startswith("_")]


@pytest.mark.parametrize("name", PUBLIC)
def test_it_has_a_docstring(name: str) -> None:
    assert len(inspect.getdoc(getattr(algophase, name)) or "") > 20


@pytest.mark.parametrize("name", PUBLIC)
def test_its_example_is_true(name: str, tmp_path: Path) -> None:
    value = getattr(algophase, name)
    names = {**vars(import_module(value.__module__)), "directory": tmp_path}
    (example,) = doctest.DocTestFinder(recurse=False).find(value, name, globs=names)
    assert example.examples, f"{name} has no example"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = doctest.DocTestRunner(verbose=False).run(example)
    assert result.failed == 0
