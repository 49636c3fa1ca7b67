"""Peers: the processes that share the rows of one fit, as each of them sees the others.

In: sums over the rows of this process. Out: sums over the rows of all processes, added in the same order on each.
`fit`, `solve` and the evaluation of data run inside `all_processes`: there the rows of all processes count, and an
error on one process ends all of them. `Examples` take the processes from there when they are made, and everything made
from examples (cells, rows, tables) has them as ``shared`` and sums over them; nothing else calls `peers`. The other
processes are set by `equirate.distributed` (`among`), or by torchrun, which starts one program several times.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import AlgorithmError, DataError

LAUNCHED = "TORCHELASTIC_RUN_ID"
"""An environment variable of the processes that torchrun starts."""
BY_TORCHRUN = "equirate.distributed.torchrun"
"""The module that finds the others then; it needs an extra, so it is imported only if needed."""


class Peers:
    """The processes that fit together, seen from one of them. This base class is a single process."""

    size: int = 1
    rank: int = 0
    wide: bool = False
    """Whether slopes are summed in double precision, so that results do not depend on how rows are distributed."""

    keeps: bool = False
    """Whether a folder was given for checkpoints."""

    def add(self, *parts: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """Add arrays up over all processes."""
        return parts

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes, by rank."""
        return [value]

    def checkpoints(self, about: Callable[[], str]) -> Any:
        """Where to save the state of a training that ``about`` describes; None if nothing is saved."""
        return None

    def begin(self) -> None:
        """Wait for the others to begin."""

    def end(self) -> None:
        """Wait for the others to end."""

    def explained(self, error: BaseException) -> BaseException:
        """Send an error to the others; if it comes from them, return one that says what happened there."""
        return error

    # -- derived from these ------------------------------------------------------------------------

    def total(self, value: Any) -> Any:
        """A number or an array, summed over all processes."""
        if self.size == 1:
            return value
        (total,) = self.add(np.atleast_1d(np.asarray(value)))
        return total if np.ndim(value) else total[0].item()

    def some(self, flag: Any) -> bool:
        """Whether a flag is set on at least one process."""
        return bool(flag) if self.size == 1 else bool(self.total(int(bool(flag))))

    def range(self, low: float, high: float) -> tuple[float, float]:
        """Smallest and largest over all processes; a process without values gives (inf, -inf)."""
        if self.size == 1:
            return low, high
        ranges = self.gather((low, high))
        return min(each[0] for each in ranges), max(each[1] for each in ranges)

    def first(self, value: Any) -> Any:
        """The value of process 0."""
        return value if self.size == 1 else self.gather(value)[0]

    def places(self, count: int) -> tuple[int, int]:
        """Number of rows on the processes before this one, and on all of them, to number the rows over all."""
        if self.size == 1:
            return 0, count
        counts = self.gather(count)
        return sum(counts[: self.rank]), sum(counts)

    def require_single_process(self, what: str) -> None:
        """Raise an error for what needs all rows in one process, if several processes share them."""
        if self.size > 1:
            raise AlgorithmError(
                f"{what} must see all rows in one place, and here {self.size} processes share them: take a "
                'RateClassifier with model="linear" or a network, or fit a sample of the rows in one process, inside '
                "equirate.distributed.alone()"
            )

    def agree(self, what: str, value: Any) -> None:
        """Raise an error if processes have different values: ``value`` is text, or has a repr."""
        if self.size == 1:
            return
        texts = [text if isinstance(text, str) else repr(text) for text in self.gather(value)]
        other = next((k for k, text in enumerate(texts) if text != texts[0]), None)
        if other is not None:
            raise DataError(
                f"{what} must be the same on every process: process 0 has {_short(texts[0])}, process {other} has "
                f"{_short(texts[other])}"
            )


ALONE = Peers()
_known: ContextVar[Peers | None] = ContextVar("known", default=None)
_active: ContextVar[Peers] = ContextVar("active", default=ALONE)


def peers() -> Peers:
    """The processes whose rows count here: this one alone outside of `all_processes`."""
    return _active.get()


@contextmanager
def among(others: Peers) -> Iterator[Peers]:
    """Set the peers, whatever started this process; `ALONE` to fit on the rows of this process."""
    before = _known.set(others)
    try:
        yield others
    finally:
        _known.reset(before)


@contextmanager
def all_processes() -> Iterator[Peers]:
    """Count the rows of all processes, all of which must enter; an error of one of them ends the others, too."""
    others = _known.get()
    if others is None and _active.get() is ALONE and LAUNCHED in os.environ:
        others = importlib.import_module(BY_TORCHRUN).launched()
    if others is None or others is ALONE or _active.get() is not ALONE:
        yield _active.get()
        return
    before = _active.set(others)
    try:
        others.begin()
        yield others
        others.end()
    except BaseException as error:
        explained = others.explained(error)
        if explained is error:
            raise
        raise explained from error
    finally:
        _active.reset(before)


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:297]}..."
