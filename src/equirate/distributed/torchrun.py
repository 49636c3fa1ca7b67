"""Peers that torchrun has started: `fit` and `solve` find them in the environment; `processes` changes their settings.

In: the environment variables of torchrun (rank, number of processes, address of their store). Out: `GlooPeers`. The
store is the launcher's own, which outlives the processes that it restarts, so checkpoints in it need no folder.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import Any

from .._core.errors import ProcessError
from .._core.peers import ALONE, LAUNCHED, Peers, among
from ..storage.checkpoints import Folder, InStore, Place
from .extra import needed
from .gloo import TIMEOUT, GlooPeers

_NUMBERS = itertools.count()
EVERY = 5.0
"""Seconds between checkpoints."""


@contextmanager
def processes(
    *, timeout: float = TIMEOUT, checkpoints: str | os.PathLike[str] | None = None, every: float = EVERY
) -> Iterator[Peers]:
    """Fit together with the processes that torchrun has started, with other settings than the defaults.

    Inside torchrun, `fit` and `solve` need no such context: it is for another timeout, or for checkpoints in a folder.
    In a process without torchrun, a fit uses the rows of that process, and checkpoints are written as well.

    Parameters
    ----------
    timeout
        Seconds to wait for the other processes before the fit ends with an error. A process that dies ends it at once.
    checkpoints
        A folder for the checkpoints of this fit alone, on a disk that process 0 can write to: when started again, the
        fit continues from there. By default torchrun's own store keeps them while torchrun restarts the processes.
    every
        Seconds between checkpoints.

    Yields
    ------
    Peers
        The processes that share the rows: ``rank`` and ``size``.

    Examples
    --------
    >>> with processes(timeout=60) as shared:
    ...     shared.size
    1
    """
    shared = _peers(timeout, None if checkpoints is None else Folder(checkpoints), every)
    with among(shared):
        yield shared


@contextmanager
def alone() -> Iterator[Peers]:
    """Fit, solve or evaluate on the rows of this process alone, independently of the others.

    Yields
    ------
    Peers
        The processes that share the rows: ``rank`` and ``size``.

    Examples
    --------
    >>> with alone() as shared:
    ...     shared.size
    1
    """
    with among(ALONE):
        yield ALONE


@cache
def launched() -> Peers:
    """The processes that torchrun has started with this one, with the default settings."""
    return _peers(TIMEOUT, None, EVERY)


def _peers(timeout: float, place: Place | None, every: float) -> Peers:
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        return ALONE if place is None else GlooPeers(None, 0, 1, place=place, every=every)
    rank, size, attempt = (_number(name) for name in ("RANK", "WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT"))
    number = next(_NUMBERS)  # the same on every process, if all make the same calls
    store = _store(rank, timeout)
    kept = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    place = InStore(store, f"{number}") if place is None and kept else place
    return GlooPeers(
        store, rank, size, timeout=timeout, place=place, every=every, name=f"{attempt}-{number}", ended=ended
    )


def _store(rank: int, timeout: float) -> Any:
    """Connect to the store that torchrun hosts; if it hosts none, process 0 does."""
    distributed = needed("torch.distributed")
    address, port = os.environ.get("MASTER_ADDR", "localhost"), _number("MASTER_PORT")
    keeps = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True" and rank == 0
    try:
        return distributed.TCPStore(
            address, port, None, keeps, timeout=timedelta(seconds=timeout), wait_for_workers=False, multi_tenant=True
        )
    except RuntimeError as error:
        keeper = "torchrun" if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True" else "process 0"
        reason = str(error).splitlines()[0]
        raise ProcessError(f"cannot reach the store that {keeper} keeps at {address}:{port}: {reason}") from error


def ended() -> list[int]:
    """The ranks that torchrun started on this machine and that have ended, as far as /proc shows it (Linux).

    torchrun ends all processes when one fails, but not when one exits normally before it reaches the fit.
    """
    ours = _environment("self")
    if not all(name in ours for name in ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", LAUNCHED)):
        return []  # not Linux, or not started by torchrun as a separate program
    same = {name: ours.get(name) for name in (LAUNCHED, "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT")}
    first = int(ours["RANK"]) - int(ours["LOCAL_RANK"])
    ranks = range(first, first + int(ours["LOCAL_WORLD_SIZE"]))
    environments = [_environment(process) for process in os.listdir("/proc") if process.isdigit()]
    alive = {
        environment.get("RANK")
        for environment in environments
        if all(environment.get(name) == value for name, value in same.items())
    }
    return [rank for rank in ranks if str(rank) not in alive]


def _environment(process: str) -> dict[str, str]:
    """The environment of a process; empty if it has ended or cannot be read."""
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            pairs = file.read().decode(errors="replace").split("\0")
    except OSError:
        return {}
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _number(name: str) -> int:
    value = os.environ.get(name, "0")
    if not value.isdigit():
        raise ProcessError(
            f"the environment has {name}={value!r}, which is no number: start the processes with torchrun"
        )
    return int(value)
