"""Messages of a command that stops: bad input with exit code 2, an interruption with 130."""

from __future__ import annotations

import sys

from .._core.errors import DisciplineError, EquirateError, ParseError, TableError

BAD_INPUT, INTERRUPTED = 2, 130


def refused(message: str) -> int:
    """Print what is wrong with the input, and return the exit code."""
    sys.stderr.write(f"equirate: {message}\n")
    return BAD_INPUT


def interrupted(suffix: str = "") -> int:
    """Print that the command was interrupted, and return the exit code."""
    sys.stderr.write(f"equirate: interrupted{suffix}\n")
    return INTERRUPTED


def shown_error(error: EquirateError) -> str:
    """An error in one line, with three exceptions.

    An error of a table has a line for each decision, one of a problem a line for the rule and one for the fix; one of
    the language has the text below it, and a caret.
    """
    if isinstance(error, (TableError, DisciplineError)):
        return str(error)
    if not isinstance(error, ParseError):
        return " ".join(line.strip() for line in str(error).splitlines())
    if error.column is None or not error.text:
        return str(error)
    start = error.text.rfind("\n", 0, error.column) + 1
    line = error.text[start:].partition("\n")[0].replace("\t", " ")
    return f"{error.reason}\n  {line}\n  {' ' * (error.column - start)}^"
