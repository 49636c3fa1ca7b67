"""What the documentation says: it is short, complete and up to date."""

import ast
import importlib
import inspect
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import equirate as eq

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DEVELOPERS = {"architecture.md", "developers.md", "modules.md", "releasing.md"}
USER_PAGES = sorted(path for path in DOCS.glob("*.md") if path.name not in DEVELOPERS)
GALLERY = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
API = (DOCS / "api" / "index.rst").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")


SHADOWING = {"abs", "max", "min"}
"""Public names that ``from equirate import *`` leaves out, because Python has functions of these names."""


def words(text: str) -> int:
    return len(text.split())


def imported(folder: Path, module: str):
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(module)
    finally:
        sys.path.remove(str(folder))


def measured():
    return imported(DOCS / "_ext", "measured")


def test_the_readme_is_one_screen() -> None:
    assert words(README) <= 900


def test_the_user_documentation_is_short() -> None:
    assert len(USER_PAGES) > 15
    assert sum(words(path.read_text("utf-8")) for path in USER_PAGES) <= 15_000


def test_the_numbers_of_the_readme_are_those_of_the_result_files() -> None:
    table = README.split("## Five figures")[1].split("## Limits")[0]
    shown = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| ")
    ]
    known = {f"{figure.what}; beside {figure.rival}": figure for figure in measured().figures().values()}
    rows = [row for row in shown if row[0]]
    assert len(rows) == 5
    assert [tuple(row[1:]) for row in rows] == [known[row[0]].shown for row in rows]
    lost = [known[row[0]].lost for row in rows]
    assert lost == sorted(lost, reverse=True)


def test_what_lost_is_listed_first() -> None:
    page = measured()
    verdicts = re.findall(r"^\| (lost|won) \|", page.figure_table(), re.MULTILINE)
    assert len(verdicts) == 10
    assert verdicts == sorted(verdicts)
    assert {f"{figure.source}.md" for figure in page.figures().values()} <= {
        path.name for path in (ROOT / "lab" / "results").glob("*.md")
    }


def test_result_files_say_when_they_were_measured() -> None:
    pages = [path for path in (ROOT / "lab" / "results").glob("*.md") if path.name != "README.md"]
    assert len(pages) >= 10
    for path in pages:
        assert re.search(r"commit [0-9a-f]{7}", path.read_text("utf-8")), path.name


@pytest.mark.parametrize(
    "path", [*DOCS.rglob("*.md"), *(ROOT / "lab" / "results").glob("*.md")], ids=lambda path: path.name
)
def test_headings_skip_no_level(path: Path) -> None:
    """The site's build refuses a page whose headings jump from the first to the third level."""
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    levels = [len(marks) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]
    assert all(later <= earlier + 1 for earlier, later in pairwise([0, *levels]))


def test_the_list_of_modules_is_up_to_date() -> None:
    written = imported(ROOT / "tools", "list_modules").page()
    assert (DOCS / "modules.md").read_text("utf-8") == written, "run python tools/list_modules.py"


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_pages_for_developers_name_files_that_exist(page: str) -> None:
    # Folders beside the clone (../...) may be absent.
    named = set(re.findall(r"`(\w[\w.]*(?:/[\w.]+)+/?)`", (ROOT / page).read_text("utf-8")))
    assert len(named) > 10
    assert (
        sorted(name for name in named if not any((root / name).exists() for root in (ROOT, ROOT / "src/equirate")))
        == []
    )


def test_every_module_says_what_it_is() -> None:
    lines = [line for line in (DOCS / "modules.md").read_text("utf-8").splitlines() if line.startswith("| `")]
    assert len(lines) > 200
    assert [line for line in lines if len(line.split(" | ")[-1]) < 10] == []  # of a module, or of a number


def listed() -> dict[str, list[str]]:
    """The names of the API reference by module."""
    found: dict[str, list[str]] = {}
    module = ""
    for line in API.splitlines():
        if line.startswith((".. module:: ", ".. currentmodule:: ")):
            module = line.split(":: ")[1]
        elif re.fullmatch(r"   \w+", line):
            found.setdefault(module, []).append(line.strip())
    return found


def test_the_api_reference_has_every_public_name_once() -> None:
    names = listed()["equirate"]
    assert len(names) == len(set(names))
    modules = {"algorithms", "models", "baselines", "mixtures", "datasets", "__version__"}
    assert set(names) == (set(eq.__all__) | SHADOWING) - modules


@pytest.mark.parametrize("module", ["models", "torch", "boosting", "distributed", "datasets"])
def test_the_api_reference_has_every_name_of_a_module(module: str) -> None:
    try:
        found = importlib.import_module(f"equirate.{module}")
    except ImportError as error:
        pytest.skip(f"could not import {error.name!r}")
    assert set(listed()[f"equirate.{module}"]) == set(found.__all__)


def test_the_gallery_is_large_and_every_example_draws() -> None:
    assert len(GALLERY) >= 16
    for path in GALLERY:
        text = path.read_text("utf-8")
        assert re.match(r'"""\n.+\n=+\n', text), path.name
        assert "plt." in text, path.name


def test_the_front_page_answers_the_common_questions() -> None:
    front = (DOCS / "index.md").read_text("utf-8")
    questions = re.findall(r"^- \[(.+?)\]\((.+?)\)$", front, re.MULTILINE)
    text = " ".join(question.lower() for question, _ in questions)
    for part in (
        *("recall at precision 0.9", "40 people", "certified", "pytorch", "random part", "faster than fairlearn"),
        *("one row at a time", "rows repeat", "five classes"),
    ):
        assert part in text, part


def test_twenty_constraints_can_be_written_as_the_page_says() -> None:
    page = (DOCS / "constraints.md").read_text("utf-8").split("## From words to expressions")[1].split("\n## ")[0]
    codes = [re.findall(r"`([^`]+)`", row.split("|")[2]) for row in page.splitlines() if row.startswith("| ")]
    expressions = [code for row in codes for code in row if "(" in code]
    assert len(expressions) >= 20
    names = {name: getattr(eq, name) for name in {*eq.__all__, *SHADOWING} if not name.startswith("_")}
    names["women"] = eq.attr("sex") == "Female"
    for expression in expressions:
        made = eval(expression, {}, names)  # the text of our own page
        assert isinstance(made, (eq.Constraint, eq.Expression, list)), expression


def test_every_error_and_status_is_explained() -> None:
    page = (DOCS / "troubleshooting.md").read_text("utf-8")
    errors = {name for name in eq.__all__ if name.endswith("Error")} - {"EquirateError"}
    assert {name for name in errors if name not in page} == set()
    for status in ("feasible", "conflict", "bound", "certified", "interrupted", "diverged", "left_domain"):
        assert status in page, status


KNOWN = {"clf": eq.RateClassifier, "monitor": eq.Monitor}
"""What the names of the pages stand for."""


def calls(text: str) -> list[ast.Call]:
    """The calls of our functions and methods in the Python of a page, blocks and inline."""
    codes = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    codes += re.findall(rf"`((?:eq|{'|'.join(KNOWN)})\.\w+\([^`\n]*\))`", text)
    nodes = [node for code in codes for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    return [
        node
        for node in nodes
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in {"eq", *KNOWN}
    ]


@pytest.mark.parametrize("path", [*USER_PAGES, ROOT / "README.md"], ids=lambda path: path.name)
def test_calls_in_the_pages_have_arguments_that_are_taken(path: Path) -> None:
    for call in calls(path.read_text("utf-8")):
        owner, name = ast.unparse(call.func).split(".")
        function = getattr(KNOWN.get(owner, eq), name)
        given = [None] * (len(call.args) + (owner in KNOWN))  # self comes first
        named = {keyword.arg: None for keyword in call.keywords if keyword.arg}
        if any(isinstance(part, ast.Constant) and part.value is Ellipsis for part in call.args):
            continue  # what is left out
        try:
            inspect.signature(function).bind(*given, **named)
        except TypeError as error:
            pytest.fail(f"{ast.unparse(call)}: {error}")


def test_the_pages_have_calls_to_look_at() -> None:
    assert sum(len(calls(path.read_text("utf-8"))) for path in USER_PAGES) > 50
