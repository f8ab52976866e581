"""The public API is documented in one form, and the examples in its docstrings are true."""

import doctest
import inspect
import re
import typing
import warnings
from dataclasses import fields, is_dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import algophase

PUBLIC = [name for name in algophase.__all__ if not name.startswith("_")]
SECTIONS = ("Arguments", "Attributes", "Returns", "Raises", "Example")
HEAD = re.compile(rf"^({'|'.join(SECTIONS)}):$", re.MULTILINE)
ITEM = re.compile(r"^    (\w+(?:, \w+)*): \S", re.MULTILINE)


def _sections(value: object) -> dict[str, str]:
    """A docstring's sections by name; its prose is under ""."""
    prose, *rest = HEAD.split(inspect.getdoc(value) or "")
    names, bodies = rest[::2], rest[1::2]
    assert len(set(names)) == len(names)
    assert names == sorted(names, key=SECTIONS.index), "sections are out of order"
    return {"": prose, **dict(zip(names, bodies, strict=True))}


def _explained(section: str) -> list[str]:
    """The names that a section explains, as `name: ...` or `first, second: ...`."""
    return [name for names in ITEM.findall(section) for name in names.split(", ")]


def _parameters(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def _has_signature(value: type) -> bool:
    """Whether a class is made with arguments of its own, and not only those of an exception."""
    return "__init__" in vars(value)


def _members(value: type) -> dict[str, Any]:
    """The public methods and properties that a class defines itself."""
    own = {name: member for name, member in vars(value).items() if not name.startswith("_")}
    kinds = (property, cached_property, classmethod, staticmethod)
    return {
        name: member
        for name, member in own.items()
        if inspect.isfunction(member) or isinstance(member, kinds)
    }


CLASSES = [name for name in PUBLIC if inspect.isclass(getattr(algophase, name))]
FUNCTIONS = [name for name in PUBLIC if name not in CLASSES]


def _results() -> dict[str, type]:
    """The dataclasses that public functions return and that have no public name themselves."""
    results = {}
    for name in FUNCTIONS:
        returned = inspect.signature(getattr(algophase, name)).return_annotation
        for kind in (returned, *typing.get_args(returned)):
            if inspect.isclass(kind) and is_dataclass(kind) and kind.__name__ not in CLASSES:
                results[kind.__name__] = kind
    return results


RESULTS = _results()
METHODS = [(name, member) for name in CLASSES for member in _members(getattr(algophase, name))]


@pytest.mark.parametrize("name", PUBLIC)
def test_it_begins_with_a_sentence(name: str) -> None:
    first = _sections(getattr(algophase, name))[""].split("\n\n")[0]
    assert 10 < len(first) < 200
    assert first.rstrip().endswith(".")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_explains_arguments_and_result(name: str) -> None:
    function = getattr(algophase, name)
    sections = _sections(function)
    assert _explained(sections.get("Arguments", "")) == _parameters(function)
    returns_nothing = inspect.signature(function).return_annotation in (None, "None")
    assert "Returns" in sections or returns_nothing


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_explains_its_fields(name: str) -> None:
    value = getattr(algophase, name)
    sections = _sections(value)
    assert "Returns" not in sections
    if _has_signature(value):
        explained = [*_explained(sections.get("Arguments", ""))]
        explained = explained or _explained(sections["Attributes"])
        assert explained == _parameters(value)


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_explains_its_fields(name: str) -> None:
    result = RESULTS[name]
    explained = _explained(_sections(result)["Attributes"])
    assert explained == [field.name for field in fields(result)]


@pytest.mark.parametrize(("name", "member"), METHODS)
def test_a_method_explains_arguments_and_result(name: str, member: str) -> None:
    value = getattr(algophase, name)
    sections = _sections(getattr(value, member))
    assert len(sections[""].strip()) > 10
    function = getattr(value, member)
    if not callable(function) or isinstance(vars(value)[member], property | cached_property):
        return
    parameters = _parameters(function)
    assert _explained(sections.get("Arguments", "")) == parameters
    returns_nothing = inspect.signature(function).return_annotation in (None, "None")
    assert "Returns" in sections or not parameters or returns_nothing


def test_raises_names_errors() -> None:
    documented = [getattr(algophase, name) for name in PUBLIC]
    documented += [getattr(getattr(algophase, name), member) for name, member in METHODS]
    for value in documented:
        errors = _explained(_sections(value).get("Raises", ""))
        assert {*errors} <= {"InputError", "Stopped"}


@pytest.mark.parametrize("name", PUBLIC)
def test_its_example_is_true(name: str, tmp_path: Path) -> None:
    value = getattr(algophase, name)
    assert "Example" in _sections(value)
    _run_example(value, name, value.__module__, tmp_path)


@pytest.mark.parametrize(("name", "member"), METHODS)
def test_the_example_of_a_method_is_true(name: str, member: str, tmp_path: Path) -> None:
    value = getattr(algophase, name)
    method = getattr(value, member)
    if "Example" in _sections(method):
        _run_example(method, f"{name}.{member}", value.__module__, tmp_path)


def _run_example(value: Any, name: str, module: str, directory: Path) -> None:
    names = {**vars(import_module(module)), "directory": directory}
    (example,) = doctest.DocTestFinder(recurse=False).find(value, name, globs=names)
    assert example.examples, f"{name} has no example"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = doctest.DocTestRunner(verbose=False).run(example)
    assert result.failed == 0
