"""Change the code in small ways, one at a time, and name the changes that no test notices.

    python tools/mutate.py record tests/problem tests/game      # once: which tests run which lines, and for how long
    python tools/mutate.py try src/equirate/problem/table.py --seconds 300
    python tools/mutate.py sample --each 10                     # of every package, and how many the tests notice

Numbers, comparisons, signs, `and`/`or`, `not`, and lists of constants are changed; decorators stay as they are. The
changed module lies in a copy of the package, in a temporary folder; each change is tried in a process of its own, with
everything but equirate imported already, on the tests that run its lines, the quickest first. Of a constant, those are
the lines that name it; of another line that runs when the module is imported, any line of the module. Compiled
functions are left out: coverage does not see them, and tests compare them with numpy. A change that survives is not
always a fault: read it, and write the test that is missing, or let it be. A test that fails with the change must pass
without it, in the same copy. What is recorded goes by line numbers: remove it, and record again, when the code has
changed. `record` and `sample` go on where they were interrupted.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
QUIET = [
    *("-q", "-m", "not slow", "-p", "no:cacheprovider"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # of what is imported already
]
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """What a node could be instead."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1)
        yield ast.Constant((node.value / 10 or 0.5) if isinstance(node.value, float) else 0 if node.value else 2)
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


def mutants(source: str) -> Iterator[tuple[str, tuple[int, int], Callable[[], str]]]:
    """Every change of a module: what it is, the lines that it is on, and the text with it, until the next one."""
    tree = ast.parse(source)
    decorators = [each for node in ast.walk(tree) for each in getattr(node, "decorator_list", ())]
    left = {id(node) for each in decorators for node in ast.walk(each)}
    for parent in ast.walk(tree):
        if id(parent) in left:
            continue
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
                    yield said, (node.lineno, node.end_lineno or node.lineno), lambda: ast.unparse(tree)
                    setattr(parent, name, value)


class Recorded:
    """Which tests run which lines of a module, the quickest first."""

    def __init__(self, folder: Path) -> None:
        from coverage import CoverageData

        if not (folder / "coverage").exists():
            sys.exit(f"there is nothing in {folder}: record first")
        self.data = CoverageData(str(folder / "coverage"))
        self.data.read()
        self.seconds: dict[str, float] = {}
        for path in sorted(folder.glob("*.xml")):
            cases = ElementTree.parse(path).iter("testcase")  # a file that this tool has written
            self.seconds |= {_short(f"{c.get('classname')}::{c.get('name')}"): float(c.get("time") or 0) for c in cases}

    def tests(self, module: Path, first: int, last: int, budget: float) -> list[str]:
        """Tests that run some of the lines, or else any of the module, as many as the seconds allow."""
        source = module.read_text("utf-8")
        own = _inside_functions(source)
        lines = {line: c for line, c in self.data.contexts_by_lineno(str(module.resolve())).items() if line in own}
        text = source.splitlines()
        names = set(re.findall(r"\b_?[A-Z][A-Z_0-9]+\b", text[first - 1].partition("=")[0]))
        using = [k + 1 for k, line in enumerate(text) if names & set(re.findall(r"\w+", line))]
        for some in (range(first, last + 1), using, lines):
            found = {c.split("|")[0] for line in some for c in lines.get(line, ()) if c}
            if found:
                break
        chosen, spent = [], 0.0
        for test in sorted(found, key=lambda test: (self._time(test), test)):
            spent += self._time(test) + 0.01
            if chosen and spent > budget:
                break
            chosen.append(test)
        return chosen

    def _time(self, test: str) -> float:
        return self.seconds.get(_short(test), 0.1)


def _inside_functions(source: str) -> set[int]:
    """Lines of a module that run when it is used; another line runs in the test that happens to import it first."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    bodies = [part for node in functions for part in (node.body if isinstance(node.body, list) else [node.body])]
    return {line for part in bodies for line in range(part.lineno, (part.end_lineno or part.lineno) + 1)}


def _short(test: str) -> str:
    """A test's name as both files have it."""
    return test.replace(".py::", "::").replace("/", ".")


def record(tests: list[str], folder: Path) -> None:
    """Run the tests once, one folder or file after the other, and write down what each of them runs."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "COVERAGE_FILE": str(folder / "coverage")}
    for each in tests:
        times, written = folder / f"{each.strip('/').replace('/', '.')}.xml", folder / "times.new"
        if times.exists():
            continue
        asked = ["--cov=equirate", "--cov-context=test", "--cov-report=", "--cov-append", f"--junitxml={written}"]
        code = subprocess.run([sys.executable, "-m", "pytest", *QUIET, *asked, each], env=environment, check=False)
        if code.returncode not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
            sys.exit(f"{each}: tests fail without any change")
        written.replace(times)


class Failures:
    """A plugin of pytest that writes down which test failed first."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _keep(self, report: Any) -> None:
        if report.failed and not self.path.exists():
            self.path.write_text(report.nodeid, "utf-8")

    pytest_runtest_logreport = pytest_collectreport = _keep


def passes(package: Path, tests: list[str], seconds: float) -> bool:
    """Whether the tests pass with the package in that folder; a file there names the first that fails.

    They may take so many seconds of the processor, and ten times as long by the clock, since others may use it too.
    """
    failed = package / "failed"
    failed.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1), os.dup2(quiet, 2)
        os.environ["PYTHONPATH"] = str(package)
        sys.path.insert(0, str(package))
        os._exit(int(pytest.main(["-x", *QUIET, *tests], plugins=[Failures(failed)])))
    end = time.monotonic() + 10 * seconds
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status == 0
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def sampled(each: int, seed: int, packages: str = "") -> dict[str, list[tuple[Path, int]]]:
    """Changes of every package, drawn at random: modules, and places in the order of `mutants`."""
    root = ROOT / "src" / "equirate"
    possible: dict[str, list[tuple[Path, int]]] = {}
    for module in sorted(root.rglob("*.py")):
        package = module.relative_to(root).parts[0].removesuffix(".py")
        if (packages and package not in packages.split(",")) or "kernels" in module.parts:
            continue
        source = module.read_text("utf-8")
        possible.setdefault(package, []).extend((module, place) for place, _ in enumerate(mutants(source)))
    drawn = {}
    for package, changes in possible.items():
        drawn[package] = random.Random(f"{package} {seed}").sample(changes, min(each, len(changes)))
    return drawn


def sample(
    recorded: Recorded, package: Path, results: Path, drawn: dict[str, list[tuple[Path, int]]], budget: float
) -> None:
    """Try a number of changes of every package, and print how many of them the tests notice."""
    known = [json.loads(line) for line in results.read_text("utf-8").splitlines()] if results.exists() else []
    done = {(entry["module"], entry["place"]): entry["outcome"] for entry in known}
    sound: dict[str, bool] = {}
    for name, changes in drawn.items():
        for module, place in changes:
            key = (str(module.relative_to(ROOT)), place)
            if key not in done:
                entry = _outcome(recorded, package, module, place, budget, sound)
                done[key] = entry["outcome"]
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"module": key[0], "place": place, **entry}) + "\n")
        outcomes = [done[str(module.relative_to(ROOT)), place] for module, place in changes]
        counted = {outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))}
        print(name, counted, flush=True)


def _outcome(
    recorded: Recorded, package: Path, module: Path, place: int, budget: float, sound: dict[str, bool]
) -> dict[str, str]:
    """What became of one change, and which test noticed it."""
    source = module.read_text("utf-8")
    said, (first, last), text = next(mutant for k, mutant in enumerate(mutants(source)) if k == place)
    tests = recorded.tests(module, first, last, budget)
    if not tests:
        return {"change": said, "outcome": "no test", "test": ""}
    changed_module = package / module.resolve().relative_to(ROOT / "src")
    changed_module.write_text(text(), "utf-8")
    try:
        survived = passes(package, tests, 5 * budget + 20)
    finally:
        shutil.copy2(module, changed_module)
    if survived:
        return {"change": said, "outcome": "survived", "test": ""}
    failed = package / "failed"
    by = failed.read_text("utf-8") if failed.exists() else ""
    if by and by not in sound:
        sound[by] = passes(package, [by], 5 * budget + 20)
    return {"change": said, "outcome": "killed" if not by or sound[by] else "failed before", "test": by}


def tried(module: Path, recorded: Recorded, package: Path, only: str, seconds: float, budget: float) -> None:
    """Try the changes of a module, in random order, until the time is over."""
    source = module.read_text("utf-8")
    place = package / module.resolve().relative_to(ROOT / "src")
    found = [(said, lines, text()) for said, lines, text in mutants(source) if only in said]
    random.Random(0).shuffle(found)
    end, count, survived, idle = time.monotonic() + seconds, 0, 0, 0
    for said, (first, last), text in found:
        if time.monotonic() > end:
            break
        tests = recorded.tests(module, first, last, budget)
        place.write_text(text, "utf-8")
        count += 1
        idle += not tests
        if not tests or passes(package, tests, 5 * budget + 20):
            survived += 1
            print(f"{module}:{said}  ({len(tests)} tests)", flush=True)
    place.write_text(source, "utf-8")
    print(f"{module}: {survived} of {count} survived ({idle} without a test), of {len(found)} possible", flush=True)


def main() -> None:
    """Read the arguments."""
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation", help="what is recorded")
    what = read.add_subparsers(dest="what", required=True)
    what.add_parser("record").add_argument("tests", nargs="+")
    trying = what.add_parser("try")
    trying.add_argument("modules", type=Path, nargs="+")
    trying.add_argument("--seconds", type=float, default=300.0, help="for each module")
    trying.add_argument("--budget", type=float, default=20.0, help="seconds of tests for a change")
    trying.add_argument("--only", default="", help="changes that have this in their text")
    sampling = what.add_parser("sample")
    sampling.add_argument("--each", type=int, default=10, help="changes of each package")
    sampling.add_argument("--seed", type=int, default=0)
    sampling.add_argument("--packages", default="", help="some packages, with commas; all by default")
    sampling.add_argument("--budget", type=float, default=8.0, help="seconds of tests for a change")
    given = read.parse_args()
    if given.what == "record":
        record(given.tests, given.folder)
        return
    recorded = Recorded(given.folder)
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder)
        shutil.copytree(ROOT / "src" / "equirate", package / "equirate")
        if given.what == "sample":
            drawn = sampled(given.each, given.seed, given.packages)
            sample(recorded, package, given.folder / "sample.jsonl", drawn, given.budget)
            return
        for module in given.modules:
            tried(module, recorded, package, given.only, given.seconds, given.budget)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    import pandas  # noqa: F401  # so that every try has these already
    import pytest
    import scipy.optimize  # noqa: F401
    import sklearn.linear_model  # noqa: F401

    main()
