"""Standard output and error that are closed, full, not UTF-8, or a pipe without a reader.

`prepare` makes both streams writable when the process starts; `write` writes to standard output and raises an
`EquirateError` when that fails. Nothing but the standard library is imported here.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json as json_
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

CLOSED = "it is closed"


def prepare() -> None:
    """Make standard output and error writable.

    A closed stream is replaced by the null device, which also keeps files that are opened later from getting its file
    descriptor. Characters that the encoding of a stream does not have are written as escapes.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor, which is this one
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (open until the process ends)
            setattr(sys, name, stream)
        if isinstance(stream, io.TextIOWrapper) and not _is_utf8(stream):
            stream.reconfigure(errors="backslashreplace")


def is_closed() -> bool:
    """Whether standard output was closed when the process started."""
    return getattr(sys.stdout, "name", "") == os.devnull


def as_text(plain: Any, written: Callable[[Any], str]) -> str:
    """Plain data as JSON by ``written``, with ASCII escapes where standard output is not UTF-8."""
    text = written(plain)
    return text if _is_utf8(sys.stdout) else json_.dumps(json_.loads(text), indent=1) + "\n"


def _is_utf8(stream: Any) -> bool:
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").replace("_", "") == "utf8"


def write(text: str) -> None:
    """Write a text to standard output and flush it; a reader who has closed the pipe is no error."""
    from .._core.errors import EquirateError

    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
    except OSError as error:
        silence()
        raise EquirateError(f"cannot write to standard output: {error.strerror or error}") from None


def silence() -> None:
    """Discard everything that is written from now on, also what is flushed when Python exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def end_process(code: int) -> NoReturn:
    """End the process with an exit code after the registered exit functions, without finalising Python."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
