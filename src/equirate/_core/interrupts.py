"""Ctrl-C: whether an interrupted computation may return its result so far.

A training that is interrupted returns what was recorded. That is useful to a user who waits for a classifier, but not
to a test that counts only when it is complete: inside `complete`, the interruption is raised. Code that returns early
after a ``KeyboardInterrupt`` calls `may_end_early` first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from .peers import peers

T = TypeVar("T")
_complete: ContextVar[bool] = ContextVar("complete", default=False)


@contextmanager
def complete() -> Iterator[None]:
    """Raise interruptions inside: the result counts only when it is complete."""
    before = _complete.set(True)
    try:
        yield
    finally:
        _complete.reset(before)


def retry_after_interrupt(step: Callable[[], T]) -> tuple[T, bool]:
    """The result of a last step, without which all before it is lost, and whether it was interrupted.

    It is taken again after an interruption; a second one is raised.
    """
    try:
        return step(), False
    except KeyboardInterrupt:
        if not may_end_early():
            raise
    return step(), True


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
