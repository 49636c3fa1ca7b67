"""Checkpoints: the state of a play, left every few seconds where a restarted process finds it.

In: what the next round depends on (`game.pausing.Paused`), and a `Place` to leave it: a folder, or the store that the
launcher keeps while it restarts the processes. Out: the last state that was left for the same play, on every process.
All processes have the same state, so process 0 writes alone, and on a restart reads for all.

A checkpoint is the head (weights, players, random state: a few kilobytes) and a piece with the iterates recorded since
the last one. The head is written last, in one step: a process that dies while it writes leaves the one before.
"""

from __future__ import annotations

import os
import pickle
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from .._core.atomic import write_whole
from .._core.errors import FileError
from .._core.peers import Peers


class Place(Protocol):
    """Somewhere to leave bytes under a name."""

    def put(self, name: str, content: bytes) -> None:
        """Write, whole or not at all."""

    def get(self, name: str) -> bytes | None:
        """Read; None where there is nothing."""


class Folder:
    """Files in a folder, which must be one's own: they are read back as pickles."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def put(self, name: str, content: bytes) -> None:
        """Write a file."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / f"{name}.checkpoint", [content])

    def get(self, name: str) -> bytes | None:
        """Read a file."""
        try:
            return (self.path / f"{name}.checkpoint").read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FileError(f"cannot read the checkpoint {name} in {self.path}: {error.strerror}") from None


class InStore:
    """Keys of the launcher's store, which outlives the processes that it restarts."""

    def __init__(self, store: Any, name: str = "") -> None:
        self.store, self.name = store, name

    def put(self, name: str, content: bytes) -> None:
        """Set a key."""
        self.store.set(f"equirate/checkpoint/{self.name}/{name}", content)

    def get(self, name: str) -> bytes | None:
        """Get a key, if there is one."""
        key = f"equirate/checkpoint/{self.name}/{name}"
        return bytes(self.store.get(key)) if self.store.check([key]) else None


class Checkpoints:
    """The checkpoints of one play.

    Parameters
    ----------
    place, name
        Where they are, and what the play is called there.
    about
        What is played: a checkpoint of something else is not taken.
    shared
        The processes that play.
    every
        Seconds between checkpoints.
    """

    def __init__(self, place: Place, name: str, about: str, shared: Peers, every: float) -> None:
        self.place, self.name, self.about, self.shared, self.every = (
            place,
            re.sub(r"\W", "-", name),
            about,
            shared,
            every,
        )
        self.left = time.monotonic()
        self.pieces: list[tuple[str, list[int]]] = []
        """Names of the pieces that the head refers to, each with the recorded rounds that are in it."""
        self.written = 0

    def last(self) -> Any:
        """The state that was left last, the same on every process; None where there is none."""
        found = self._read() if self.shared.rank == 0 else None
        state, self.pieces, self.written = self.shared.first((found, self.pieces, self.written))
        return state

    def _read(self) -> Any:
        content = self.place.get(f"{self.name}-head")
        if content is None:
            return None
        head = pickle.loads(content)
        if head["about"] != self.about:
            return None
        record: dict[str, list[Any]] = {}
        for name, _ in head["pieces"]:
            piece = self.place.get(name)
            if piece is None:
                return None
            for field, entries in pickle.loads(piece).items():
                record.setdefault(field, []).extend(entries)
        self.pieces, self.written = head["pieces"], head["written"]
        return head["state"], record

    def offer(self, make: Callable[[], tuple[Any, dict[str, list[Any]]]]) -> None:
        """Leave the state that ``make`` gives, if it is time to: what the next round needs, and the record so far."""
        if self.shared.rank != 0 or time.monotonic() - self.left < self.every:
            return
        state, record = make()
        rounds = record["rounds"]
        known = [t for _, piece in self.pieces for t in piece]
        if known != rounds[: len(known)]:  # the record was thinned out
            self.pieces, known = [], []
        new = {field: entries[len(known) :] for field, entries in record.items()}
        if new["rounds"]:
            name = f"{self.name}-{self.written}"
            self.place.put(name, pickle.dumps(new))
            self.pieces, self.written = [*self.pieces, (name, new["rounds"])], self.written + 1
        head = {"about": self.about, "pieces": self.pieces, "written": self.written, "state": state}
        self.place.put(f"{self.name}-head", pickle.dumps(head))
        self.left = time.monotonic()
