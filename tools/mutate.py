"""Change the code in small ways, one at a time, and name the changes that no test notices.

    python tools/mutate.py src/equirate/mixtures/ratios.py tests/mixtures --seconds 300

Numbers, comparisons, signs, `and`/`or`, `not`, and lists of constants are changed. The changed module lies in a copy of
the package, in a temporary folder; each change is tried in a process of its own, with everything but equirate imported
already. A change that survives is not always a fault: read it, and write the test that is missing, or let it be.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """What a node could be instead."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value / 10 if isinstance(node.value, float) else 0 if node.value else 2)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        other = copy.copy(node)
        other.ops = [SWAPPED[type(node.ops[0])](), *node.ops[1:]]  # type: ignore[list-item]
        yield other
    elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPPED:
        other = copy.copy(node)
        other.op = SWAPPED[type(node.op)]()  # type: ignore[assignment]
        yield other
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and ast.unparse(node.targets[0]).isupper():
        other = copy.copy(node)
        other.value = ast.Tuple(node.value.elts[:1], ast.Load())
        yield other


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """Every change of a module: what it is, and the text with it."""
    tree = ast.parse(source)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            nodes = value if isinstance(value, list) else [value]
            for place, node in enumerate(nodes):
                if not isinstance(node, ast.expr | ast.stmt):
                    continue
                for other in changed(node):
                    ast.copy_location(other, node)
                    said = f"{node.lineno}: {ast.unparse(node)} -> {ast.unparse(ast.fix_missing_locations(other))}"
                    new = [*nodes[:place], other, *nodes[place + 1 :]] if isinstance(value, list) else other
                    setattr(parent, name, new)
                    yield said, ast.unparse(tree)
                    setattr(parent, name, value)


def passes(package: Path, tests: list[str], seconds: float) -> bool:
    """Whether the tests pass with the package in that folder, in time."""
    child = os.fork()
    if not child:
        os.setsid()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1), os.dup2(quiet, 2)
        os.environ["PYTHONPATH"] = str(package)
        sys.path.insert(0, str(package))
        early = "ignore::pytest.PytestAssertRewriteWarning"  # of what is imported already
        os._exit(int(pytest.main(["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-W", early, *tests])))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status == 0
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def main() -> None:
    """Read the arguments and try the changes, in random order, until the time is over."""
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("module", type=Path)
    read.add_argument("tests", nargs="+")
    read.add_argument("--seconds", type=float, default=300.0)
    read.add_argument("--only", default="", help="changes that have this in their text")
    given = read.parse_args()
    source = given.module.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder)
        shutil.copytree(ROOT / "src" / "equirate", package / "equirate")
        place = package / given.module.resolve().relative_to(ROOT / "src")
        begun = time.monotonic()
        if not passes(package, given.tests, 3600):
            sys.exit("the tests fail without any change")
        limit = 5 * (time.monotonic() - begun) + 10
        found = [mutant for mutant in mutants(source) if given.only in mutant[0]]
        random.Random(0).shuffle(found)
        tried = survived = 0
        for said, text in found:
            if time.monotonic() > begun + given.seconds:
                break
            place.write_text(text, "utf-8")
            tried += 1
            if passes(package, given.tests, limit):
                survived += 1
                print(f"{given.module}:{said}", flush=True)
        print(f"{given.module}: {survived} of {tried} survived, of {len(found)} possible changes", flush=True)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    import pandas  # noqa: F401  # so that every try has these already
    import pytest
    import scipy.optimize  # noqa: F401
    import sklearn.linear_model  # noqa: F401

    main()
