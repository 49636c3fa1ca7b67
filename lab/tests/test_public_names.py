"""The laboratory uses equirate's public names alone, like any user."""

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import equirate_lab
import pytest

import equirate
import equirate.torch
from equirate import boosting, datasets, distributed

LAB = Path(equirate_lab.__file__).parent
MODULES: dict[str, ModuleType] = {
    "equirate": equirate,
    "equirate.algorithms": equirate.algorithms,
    "equirate.baselines": equirate.baselines,
    "equirate.boosting": boosting,
    "equirate.datasets": datasets,
    "equirate.distributed": distributed,
    "equirate.mixtures": equirate.mixtures,
    "equirate.models": equirate.models,
    "equirate.torch": equirate.torch,
}
"""The modules whose names are public; `datasets` needs an extra, so it is no attribute of the package."""
FILES = sorted(path for path in LAB.rglob("*.py") if path.parent.name != "rivals")
"""The rivals' scripts run in environments of their own, without equirate."""


def public(module: str, name: str) -> bool:
    return name in dir(MODULES[module]) or f"{module}.{name}" in MODULES


def private_names(text: str) -> Iterator[str]:
    """Names of equirate that a module imports or looks up and that are not public."""
    tree, known = ast.parse(text), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] != "equirate":
                    continue
                if alias.name in MODULES:
                    known[alias.asname or "equirate"] = alias.name if alias.asname else "equirate"
                else:
                    yield alias.name
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "equirate":
            for alias in node.names:
                path = f"{node.module}.{alias.name}"
                if node.module not in MODULES or not public(node.module, alias.name):
                    yield path
                elif path in MODULES:
                    known[alias.asname or alias.name] = path
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield from _looked_up(node, known)


def _looked_up(node: ast.Attribute, known: dict[str, str]) -> Iterator[str]:
    *path, last = ast.unparse(node).split(".")
    if path[0] in known:
        module = ".".join([known[path[0]], *path[1:]])
        if module in MODULES and not public(module, last) and not last.startswith("__"):
            yield f"{module}.{last}"
    private = last.startswith("_") and not last.startswith("__")
    if private and path not in (["self"], ["cls"]) and (*path, last) != ("os", "_exit"):
        yield ast.unparse(node)


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(LAB)) for path in FILES])
def test_only_public_names(path: Path) -> None:
    assert list(private_names(path.read_text("utf-8"))) == []


def test_every_module_is_looked_at() -> None:
    assert len(FILES) > 30


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import equirate as eq\neq.models.LinearMembers, eq.f1, eq.Solution.on, eq.__version__", []),
        ("from equirate import datasets, algorithms\ndatasets.load, algorithms.coco", []),
        ("from equirate.models import Linear\nfrom numpy import _core", []),
        ("from equirate.models import Design", ["equirate.models.Design"]),
        ("from equirate.game.loop import values", ["equirate.game.loop.values"]),
        ("from equirate.game import algorithms", ["equirate.game.algorithms"]),
        ("from equirate import game", ["equirate.game"]),
        ("import equirate.game.loop", ["equirate.game.loop"]),
        ("import equirate as eq\neq.game.loop", ["equirate.game"]),
        ("import equirate as eq\neq.algorithms.choose(1)", ["equirate.algorithms.choose"]),
        ("from equirate import models as m\nm.design", ["equirate.models.design"]),
        ("def f():\n    from equirate.reports.text import aligned", ["equirate.reports.text.aligned"]),
        ("solution._values(1)", ["solution._values"]),
        ("self._own", []),
    ],
)
def test_private_names_are_found(text: str, found: list[str]) -> None:
    assert list(private_names(text)) == found
