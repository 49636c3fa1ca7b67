"""Peers that torchrun has started: `fit` and `solve` find them by the environment, and `processes` with settings.

In: the environment that torchrun leaves (rank, number of processes, where their store is). Out: `GlooPeers`. The store
is the launcher's own, which outlives the processes that it restarts, so checkpoints in it need no folder.
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

_MADE = itertools.count()
EVERY = 5.0
"""Seconds between checkpoints."""


@contextmanager
def processes(
    *, timeout: float = TIMEOUT, checkpoints: str | os.PathLike[str] | None = None, every: float = EVERY
) -> Iterator[Peers]:
    """Fit together with the processes that torchrun has started, with settings of one's own.

    Inside torchrun, `fit` and `solve` need no such context: this one is for another timeout, or for checkpoints in a
    folder. In a process that was started by itself, rows are fitted as ever, and the checkpoints are kept all the same.

    Parameters
    ----------
    timeout
        Seconds to wait for the other processes before the fit ends with an error. A process that dies ends it at once.
    checkpoints
        A folder of one's own, on a disk that process 0 reaches, for the state of a fit: started again, it goes on from
        there. By default torchrun's own store keeps it while torchrun restarts the processes.
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
    """Fit, solve or evaluate on the rows of this process alone, whatever the others do.

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
    """The processes that torchrun has started with this one, with the usual settings."""
    return _peers(TIMEOUT, None, EVERY)


def _peers(timeout: float, place: Place | None, every: float) -> Peers:
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        return ALONE if place is None else GlooPeers(None, 0, 1, place=place, every=every)
    rank, size, attempt = (_number(name) for name in ("RANK", "WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT"))
    made = next(_MADE)  # on every process, if all of them do the same
    store = _store(rank, timeout)
    kept = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    place = InStore(store, f"{made}") if place is None and kept else place
    return GlooPeers(
        store, rank, size, timeout=timeout, place=place, every=every, name=f"{attempt}-{made}", ended=ended
    )


def _store(rank: int, timeout: float) -> Any:
    """The store that torchrun keeps; where it keeps none, process 0 does."""
    distributed = needed("torch.distributed")
    address, port = os.environ.get("MASTER_ADDR", "localhost"), _number("MASTER_PORT")
    keeps = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True" and rank == 0
    try:
        return distributed.TCPStore(
            address, port, None, keeps, timeout=timedelta(seconds=timeout), wait_for_workers=False, multi_tenant=True
        )
    except RuntimeError as error:
        keeper = "torchrun" if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True" else "process 0"
        said = str(error).splitlines()[0]
        raise ProcessError(f"cannot reach the store that {keeper} keeps at {address}:{port}: {said}") from error


def ended() -> list[int]:
    """The ranks that torchrun started on this machine and that have ended, where the system tells (Linux).

    torchrun ends everybody when a process fails, but not when one ends well without having come to the fit.
    """
    ours = _environment("self")
    if not all(name in ours for name in ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", LAUNCHED)):
        return []  # not Linux, or not started as a program of its own
    same = {name: ours.get(name) for name in (LAUNCHED, "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT")}
    first = int(ours["RANK"]) - int(ours["LOCAL_RANK"])
    here = range(first, first + int(ours["LOCAL_WORLD_SIZE"]))
    found = [_environment(process) for process in os.listdir("/proc") if process.isdigit()]
    alive = {each.get("RANK") for each in found if all(each.get(name) == value for name, value in same.items())}
    return [rank for rank in here if str(rank) not in alive]


def _environment(process: str) -> dict[str, str]:
    """What a process was started with, if the system tells; one that has ended has nothing."""
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
