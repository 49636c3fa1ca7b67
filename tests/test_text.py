"""Files that documents, docstrings and comments name are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = [
    path
    for pattern in ("*.md", "docs/**/*.md", "lab/**/*.md", "Makefile", ".ci/*", "src/**/*.py", "lab/src/**/*.py")
    for path in sorted(ROOT.glob(pattern))
    if path.name != "CHANGELOG.md"  # the first tells of what was
]
NAMED = re.compile(r"(?<![\w/.-])(?:src|lab|tests|docs|examples|tools|constraints|benchmarks)/[\w./-]*\w")
LINKED = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_named_files_are_there(path: Path) -> None:
    text = path.read_text("utf-8")
    gone = [name for name in NAMED.findall(text) if not (ROOT / name).exists()]
    if path.suffix == ".md":
        gone += [name for name in LINKED.findall(text) if not (path.parent / name).exists()]
    assert gone == []
