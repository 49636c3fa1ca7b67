"""Ctrl-C: whether an interrupted computation may return its result so far.

A training that is interrupted returns what was recorded. That is useful to a user who waits for a classifier, but not
to a test that counts only when it is complete: inside `complete`, the interruption is raised. Code that returns early
after a ``KeyboardInterrupt`` calls `may_end_early` first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .peers import peers

_complete: ContextVar[bool] = ContextVar("complete", default=False)


@contextmanager
def complete() -> Iterator[None]:
    """Raise interruptions inside: the result counts only when it is complete."""
    before = _complete.set(True)
    try:
        yield
    finally:
        _complete.reset(before)


def may_end_early() -> bool:
    """Whether to return the result so far after an interruption; False inside `complete` and with several processes.

    Examples
    --------
    >>> may_end_early()
    True
    >>> with complete():
    ...     may_end_early()
    False
    """
    return not _complete.get() and peers().size == 1
