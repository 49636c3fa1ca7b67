"""Peers: the processes that share the rows of one fit, as each of them sees the others.

In: sums over the rows of this process. Out: sums over the rows of all processes, added in the same order on each.
`all_processes` is where `fit`, `solve` and the evaluation of data begin: inside it the rows of all processes count, and
an error on one process ends all of them. `Examples` take the processes from there when they are made, and everything
that is made of examples (cells, rows, tables) has them as ``shared`` and adds up over them; nothing else asks `peers`.
Who the others are is set by `equirate.distributed` (`among`), or by torchrun, which starts one program several times.
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
"""What torchrun leaves in the environment of the processes that it starts."""
BY_TORCHRUN = "equirate.distributed.torchrun"
"""The module that finds the others then; it needs an extra, so it is imported only there."""


class Peers:
    """The processes that fit together, as one of them sees them. Here there is this one alone."""

    size: int = 1
    rank: int = 0
    wide: bool = False
    """Whether slopes are added up in double precision, so that how rows are shared out does not show."""

    keeps: bool = False
    """Whether a folder was given for checkpoints."""

    def add(self, *parts: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """Add arrays up over all processes."""
        return parts

    def gather(self, value: Any) -> list[Any]:
        """What each process gives, by rank."""
        return [value]

    def checkpoints(self, about: Callable[[], str]) -> Any:
        """Where to leave the state of a play, ``about`` which it is, to go on from; None where nothing is kept."""
        return None

    def begin(self) -> None:
        """Meet the others."""

    def end(self) -> None:
        """Wait for the others to come to the end."""

    def explained(self, error: BaseException) -> BaseException:
        """Tell the others of an error, or find out what happened to them if that is what it is about."""
        return error

    # -- what follows from these -------------------------------------------------------------------

    def total(self, value: Any) -> Any:
        """A number or an array, added up over all processes."""
        if self.size == 1:
            return value
        (found,) = self.add(np.atleast_1d(np.asarray(value)))
        return found if np.ndim(value) else found[0].item()

    def some(self, flag: Any) -> bool:
        """Whether it is so on at least one process."""
        return bool(flag) if self.size == 1 else bool(self.total(int(bool(flag))))

    def range(self, low: float, high: float) -> tuple[float, float]:
        """Smallest and largest of what all processes have; (inf, -inf) from one that has nothing."""
        if self.size == 1:
            return low, high
        found = self.gather((low, high))
        return min(each[0] for each in found), max(each[1] for each in found)

    def first(self, value: Any) -> Any:
        """What process 0 says."""
        return value if self.size == 1 else self.gather(value)[0]

    def places(self, count: int) -> tuple[int, int]:
        """How many rows the processes before this one have, and all of them: the rows have numbers over all."""
        if self.size == 1:
            return 0, count
        counts = self.gather(count)
        return sum(counts[: self.rank]), sum(counts)

    def check_alone(self, what: str) -> None:
        """Refuse what needs all rows in one process, where several processes share them."""
        if self.size > 1:
            raise AlgorithmError(
                f"{what} must see all rows in one place, and here {self.size} processes share them: take a "
                'RateClassifier with model="linear" or a network, or fit a sample of the rows in one process, inside '
                "equirate.distributed.alone()"
            )

    def agree(self, what: str, value: Any) -> None:
        """Refuse to go on where processes were given different things: ``value`` is text, or something with a repr."""
        if self.size == 1:
            return
        said = [text if isinstance(text, str) else repr(text) for text in self.gather(value)]
        other = next((k for k, text in enumerate(said) if text != said[0]), None)
        if other is not None:
            raise DataError(
                f"{what} must be the same on every process: process 0 has {_short(said[0])}, process {other} has "
                f"{_short(said[other])}"
            )


ALONE = Peers()
_known: ContextVar[Peers | None] = ContextVar("known", default=None)
_active: ContextVar[Peers] = ContextVar("active", default=ALONE)


def peers() -> Peers:
    """The processes whose rows count here: this one alone outside of `all_processes`."""
    return _active.get()


@contextmanager
def among(others: Peers) -> Iterator[Peers]:
    """Say who the peers are, whatever started this process; `ALONE` to fit on one's own rows."""
    before = _known.set(others)
    try:
        yield others
    finally:
        _known.reset(before)


@contextmanager
def all_processes() -> Iterator[Peers]:
    """Count the rows of all processes, which all come here; an error of one of them ends the others, too."""
    found = _known.get()
    if found is None and _active.get() is ALONE and LAUNCHED in os.environ:
        found = importlib.import_module(BY_TORCHRUN).launched()
    if found is None or found is ALONE or _active.get() is not ALONE:
        yield _active.get()
        return
    before = _active.set(found)
    try:
        found.begin()
        yield found
        found.end()
    except BaseException as error:
        told = found.explained(error)
        if told is error:
            raise
        raise told from error
    finally:
        _active.reset(before)


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:297]}..."
