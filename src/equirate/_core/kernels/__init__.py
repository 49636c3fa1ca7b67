"""Compiled passes over the examples: an optional speed-up of what `models.design` and `players.steps` do in numpy.

Needs numba (the extra ``fast``); results agree up to rounding (tests/models/test_design.py). Loading them takes about
half a second, and compiling them the first time on a machine a few: they are used from `MIN_COMPILED_WORK` on.
The choice is by the amount of work alone, never by what happens to be loaded, so that the same call gives the same
numbers in any process. ``EQUIRATE_KERNELS`` in the environment overrules it: 0 for never, 1 for always.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

LANES = 16
"""Configurations that a compiled pass handles at once."""
MIN_COMPILED_WORK = 3e8
"""The compiled passes are used from this many multiplications on (rows x columns x configurations x rounds).

Measured with dense features, they save 0.35 to 1.5 ns of each, and loading them takes 0.5 to 0.6 s: the first run
breaks even somewhere between 300 million and 1.5 billion, and later ones in the same process have them for nothing.
"""

_spent = 0.0
"""Work that came in small pieces so far."""
_ahead: ContextVar[float] = ContextVar("ahead", default=math.inf)


def ready(work: float | None = None) -> bool:
    """Whether to use the compiled passes: there is a compiler, and the work is worth loading it.

    ``work`` is a number of multiplications, by default what `expecting` has announced, and without that infinite.
    """
    wish = os.environ.get("EQUIRATE_KERNELS")
    ahead = _ahead.get() if work is None else work
    return wish != "0" and (wish == "1" or ahead >= MIN_COMPILED_WORK) and _available()


def ready_by_now(work: float) -> bool:
    """Whether to use the compiled passes for work that comes in small pieces, over and over.

    Once they are loaded they are used; they are loaded when the pieces so far are worth it together. That depends on
    what a process did before, so it is for passes alone whose numbers are the same with and without a compiler.
    """
    global _spent
    _spent += work
    return ready(math.inf if compiled.cache_info().currsize else _spent)


@contextmanager
def expecting(work: float) -> Iterator[None]:
    """Announce the work ahead, so that all parts of a training make the same choice."""
    before = _ahead.set(work)
    try:
        yield
    finally:
        _ahead.reset(before)


@cache
def _available() -> bool:
    try:
        return bool(compiled().ENABLED)
    except ImportError:  # no numba, or one that does not know this numpy
        return False


@cache
def compiled() -> Any:
    """The module of the compiled passes; importing it loads numba, which takes a moment."""
    return importlib.import_module(".passes", __name__)
