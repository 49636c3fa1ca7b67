"""Progress of the benchmarks on standard error: a line per measurement, and what is going on while it is made."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .runner import Done, Watch

_WIDTH = 110


@contextmanager
def watching() -> Iterator[tuple[Watch, Callable[[str], None]]]:
    """Give a callback for what is done, and one for what is going on; the latter is shown in a terminal only."""
    start, live = time.monotonic(), sys.stderr.isatty()

    def clear() -> None:
        if live:
            print("\r" + " " * _WIDTH, end="\r", file=sys.stderr)

    def watch(done: Done) -> None:
        clear()
        print(f"{time.monotonic() - start:6.0f} s  {done}", file=sys.stderr, flush=True)

    def tell(text: str) -> None:
        if live:
            clear()
            print(f"          {text}"[:_WIDTH], end="", file=sys.stderr, flush=True)
        elif text.startswith("installing"):
            print(f"{time.monotonic() - start:6.0f} s  {text}", file=sys.stderr, flush=True)

    try:
        yield watch, tell
    finally:
        clear()
