"""Writing result files so that an interrupted run leaves whole files or none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write_text(path: Path, text: str) -> None:
    """Write a file in one step: under another name first, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text, "utf-8")
    beside.replace(path)


def write_json(path: Path, value: Any) -> None:
    """Write plain values as JSON, in one step."""
    write_text(path, json.dumps(value, indent=1, allow_nan=True) + "\n")


def read_json(path: Path) -> Any:
    """Read a file that `write_json` wrote; None if it is not there or not whole."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


TABLE = "table"
"""The name in the marks around the tables of a page, where it has only one place for them."""


def marks(name: str) -> tuple[str, str]:
    """What stands before and after the tables of a name.

    Examples
    --------
    >>> marks("table")
    ('<!-- table -->', '<!-- /table -->')
    """
    return f"<!-- {name} -->", f"<!-- /{name} -->"


def check_page(page: Path, name: str = TABLE) -> tuple[str, str]:
    """What stands before and after the place for the tables in a page; refuses a page that has none."""
    (opening, closing), text = marks(name), page.read_text("utf-8")
    before, begin, rest = text.partition(opening)
    _, end, after = rest.partition(closing)
    if not begin or not end:
        raise ValueError(f"{page} has no place for the tables: put {opening} and {closing} where they belong")
    return before, after


def fill(page: Path, text: str, name: str = TABLE) -> None:
    """Put text between the marks of a page, in place of what was there."""
    before, after = check_page(page, name)
    opening, closing = marks(name)
    write_text(page, f"{before}{opening}\n\n{text}\n\n{closing}{after}")
