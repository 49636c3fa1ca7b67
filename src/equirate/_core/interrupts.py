"""Ctrl-C: whether a computation that is interrupted may end with what it has.

A play that is interrupted returns what was recorded. That serves a user who waits for a classifier, and not a test that
counts only when it is complete: inside `complete`, the interruption is raised. Whatever returns early after a
``KeyboardInterrupt`` asks `may_end_early` first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .peers import peers

_complete: ContextVar[bool] = ContextVar("complete", default=False)


@contextmanager
def complete() -> Iterator[None]:
    """Raise interruptions inside: what is computed here counts only when it is complete."""
    before = _complete.set(True)
    try:
        yield
    finally:
        _complete.reset(before)


def may_end_early() -> bool:
    """Whether to return what there is after an interruption: nobody needs all of it, and no process waits for this one.

    Examples
    --------
    >>> may_end_early()
    True
    >>> with complete():
    ...     may_end_early()
    False
    """
    return not _complete.get() and peers().size == 1
