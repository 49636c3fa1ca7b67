"""Docstrings of the API reference: what numpydoc checks when the site is built, without building it."""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import equirate as eq

DOCS = Path(__file__).resolve().parents[2] / "docs"


def listed() -> dict[str, list[str]]:
    """The names of the API reference by module."""
    names: dict[str, list[str]] = {}
    module = ""
    for line in (DOCS / "api" / "index.rst").read_text("utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split(":: ")[1]
        elif re.fullmatch(r"   \w+", line):
            names.setdefault(module, []).append(line.strip())
    return names


def imported(module: str) -> Any:
    """A module by its public name; skips where its extra is not installed."""
    part = module.removeprefix("equirate.")
    if part == "equirate" or part in eq.__all__:
        return eq if part == "equirate" else getattr(eq, part)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        pytest.skip(f"could not import {error.name!r}")


def documented(module: str) -> Iterator[tuple[str, Any]]:
    """The functions and classes of a module, with the public methods that equirate defines."""
    part = imported(module)
    for name in listed()[module]:
        each = getattr(part, name)
        if inspect.isfunction(each) or inspect.isclass(each):
            yield f"{module}.{name}", each
        for inner in sorted({inner for base in getattr(each, "__mro__", ()) for inner in vars(base)}):
            method = getattr(each, inner, None)
            method = getattr(method, "__func__", method)
            own = str(getattr(method, "__module__", "")).startswith("equirate")
            routing = re.fullmatch(r"set_\w+_request", inner)  # scikit-learn writes these methods
            if inspect.isfunction(method) and own and not inner.startswith("_") and not routing:
                yield f"{module}.{name}.{inner}", method


@pytest.fixture
def findings(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Any], list[str]]:
    """A function that checks an object as the site does."""
    docscrape = pytest.importorskip("numpydoc.docscrape")
    validate = importlib.import_module("numpydoc.validate").validate
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    settings = importlib.import_module("docstring_checks")

    def check(name: str, each: Any) -> list[str]:
        if any(re.search(pattern, name) for pattern in settings.EXEMPT):
            return []
        errors = validate(docscrape.get_doc_object(each))["errors"]
        return [f"{name}: {code} {text}" for code, text in errors if code in settings.CHECKS]

    return check


@pytest.mark.parametrize("module", sorted(listed()))
def test_every_parameter_and_result_is_documented(module: str, findings: Callable[[str, Any], list[str]]) -> None:
    assert [finding for name, each in documented(module) for finding in findings(name, each)] == []


def test_a_parameter_that_is_not_documented_is_a_finding(findings: Callable[[str, Any], list[str]]) -> None:
    def half(whole: float) -> float:
        """Half of a number."""
        return whole / 2

    assert [finding.split()[1] for finding in findings("half", half)] == ["PR01", "RT01"]
