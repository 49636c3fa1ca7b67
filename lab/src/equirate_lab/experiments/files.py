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


BEGIN, END = "<!-- table -->", "<!-- /table -->"
"""Marks around the tables in a page of documentation."""


def check_page(page: Path) -> tuple[str, str]:
    """What stands before and after the place for the tables in a page; refuses a page that has none."""
    before, begin, rest = page.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no place for the tables: put {BEGIN} and {END} where they belong")
    return before, after


def fill(page: Path, text: str) -> None:
    """Put text between the marks of a page, in place of what was there."""
    before, after = check_page(page)
    write_text(page, f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
