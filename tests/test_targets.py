"""Every test is in exactly one of ``make test`` and ``make test-all``, and continuous integration runs both."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted([*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "lab" / "tests").rglob("test_*.py")])


def recipe(target: str) -> str:
    """The commands of a target of the Makefile, as they are written there."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert found is not None, target
    return found[1].strip()


def test_the_two_targets_are_complements() -> None:
    assert recipe("test") == '@$(PYTEST) -m "not slow" $(ARGS)'
    assert recipe("test-all") == '@$(PYTEST) -m "slow" $(ARGS)'
    assert re.search(r"^check: lint types test ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_continuous_integration_runs_both() -> None:
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    run = {line.split()[-1] for line in lines if line.startswith("make ")}
    assert run >= {"lint", "types", "test", "test-all"}


def marks_slow(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr == "slow" for part in ast.walk(node))


@pytest.mark.parametrize("fixture", ["browser", "client"])
def test_browsers_and_clusters_are_slow(fixture: str) -> None:
    users = 0
    for path in FILES:
        tree = ast.parse(path.read_text("utf-8"))
        whole = any(isinstance(node, ast.Assign) and marks_slow(node) for node in tree.body)
        tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
        for test in tests:
            if fixture in {argument.arg for argument in test.args.args}:
                users += 1
                assert whole or any(marks_slow(each) for each in test.decorator_list), f"{path}: {test.name}"
    assert users > 0
