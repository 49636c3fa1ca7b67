"""Checkpoints: the state of training, saved every few seconds where a restarted process finds it.

In: what the next round depends on (`game.pausing.Paused`), and a `Place` to save it: a folder, or the store that the
launcher keeps while it restarts the processes. Out: the last state that was saved for the same training, on every
process. All processes have the same state, so process 0 writes alone, and on a restart reads for all.

A checkpoint is the head (weights, players, random state: a few kilobytes) and a piece with the iterates recorded since
the last one. The head is written last, atomically: a process that dies while it writes leaves the one before. Both are
plain data and arrays with a checksum, in the layout of saved classifiers: reading them executes nothing.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._core.atomic import write_whole
from .._core.errors import FileError
from .._core.peers import Peers
from .._core.rules import Fields, ListOf, Text, Whole
from . import container

KIND = "checkpoint"
_PIECES = ListOf(Fields({"name": Text(200), "rounds": ListOf(Whole(0), 10**6)}), 10**5)


class Place(Protocol):
    """A store of bytes by name."""

    def put(self, name: str, content: bytes) -> None:
        """Write atomically."""

    def get(self, name: str) -> bytes | None:
        """Read; None if the name does not exist."""


class Folder:
    """Files in a folder."""

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
    """The checkpoints of one training.

    Parameters
    ----------
    place, name
        Where they are, and the name of the training there.
    about
        A description of the training: a checkpoint of another one is ignored.
    shared
        The processes that train.
    every
        Seconds between checkpoints.
    """

    def __init__(self, place: Place, name: str, about: str, shared: Peers, every: float) -> None:
        self.place, self.name = place, re.sub(r"\W", "-", name)
        self.about, self.shared, self.every = about, shared, every
        self.left = time.monotonic()
        self.pieces: list[dict[str, Any]] = []
        """Names of the pieces that the head refers to, each with the recorded rounds that are in it."""
        self.written = 0

    def last(self) -> Any:
        """The last saved state, the same on every process; None if there is none."""
        saved = self._read() if self.shared.rank == 0 else None
        state, self.pieces, self.written = self.shared.first((saved, self.pieces, self.written))
        return state

    def _read(self) -> Any:
        content = self.place.get(f"{self.name}-head")
        head = None if content is None else unpacked(content, f"{self.name}-head")
        if head is None or head.get("about") != self.about:
            return None
        _PIECES.check(head["pieces"], "the checkpoint")
        record: dict[str, list[Any]] = {}
        for each in head["pieces"]:
            piece = self.place.get(each["name"])
            if piece is None:
                return None
            for field, entries in unpacked(piece, each["name"]).items():
                record.setdefault(field, []).extend(entries)
        self.pieces, self.written = head["pieces"], int(head["written"])
        return head["state"], record

    def offer(self, make: Callable[[], tuple[Any, dict[str, list[Any]]]]) -> None:
        """Save the state that ``make`` returns, if it is time: what the next round needs, and the record so far."""
        if self.shared.rank != 0 or time.monotonic() - self.left < self.every:
            return
        state, record = make()
        rounds = record["rounds"]
        known = [t for piece in self.pieces for t in piece["rounds"]]
        if known != rounds[: len(known)]:  # entries of the record were dropped
            self.pieces, known = [], []
        new = {field: entries[len(known) :] for field, entries in record.items()}
        if new["rounds"]:
            name = f"{self.name}-{self.written}"
            self.place.put(name, packed(new))
            self.pieces, self.written = [*self.pieces, {"name": name, "rounds": new["rounds"]}], self.written + 1
        head = {"about": self.about, "pieces": self.pieces, "written": self.written, "state": state}
        self.place.put(f"{self.name}-head", packed(head))
        self.left = time.monotonic()


# -- bytes -------------------------------------------------------------------------------------------


def packed(value: dict[str, Any]) -> bytes:
    """Plain data with arrays in it as bytes.

    Examples
    --------
    >>> unpacked(packed({"a": [np.arange(2), np.arange(2)], "b": 1.5}), "nothing")
    {'a': [array([0, 1]), array([0, 1])], 'b': 1.5}
    """
    arrays: dict[str, NDArray[Any]] = {}
    manifest = {"kind": KIND, "value": _with_references(value, arrays)}
    return container.to_bytes(manifest, arrays)


def unpacked(content: bytes, name: str) -> Any:
    """Read it back; an error if the bytes are damaged or no checkpoint."""
    try:
        manifest, arrays = container.from_bytes(content)
        if manifest.get("kind") != KIND:
            raise FileError("it is something else")
        return _with_arrays(manifest["value"], arrays)
    except (FileError, KeyError, IndexError, TypeError) as error:
        raise FileError(f"{name} is no checkpoint: {error}. Remove it to begin anew") from None


def _with_references(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Plain data in which arrays are references; consecutive arrays of one shape are stored as one."""
    if isinstance(value, np.ndarray):
        arrays[f"{len(arrays)}"] = value
        return {"array": len(arrays) - 1}
    if isinstance(value, dict):
        return {name: _with_references(part, arrays) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    if not value or not all(isinstance(part, np.ndarray) for part in value):
        return [_with_references(part, arrays) for part in value]
    runs: list[list[NDArray[Any]]] = []
    for part in value:
        if runs and (runs[-1][0].shape, runs[-1][0].dtype) == (part.shape, part.dtype):
            runs[-1].append(part)
        else:
            runs.append([part])
    return {"arrays": [_with_references(np.stack(run), arrays)["array"] for run in runs]}


def _with_arrays(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, list):
        return [_with_arrays(part, arrays) for part in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"array"}:
        return arrays[f"{value['array']}"]
    if value.keys() == {"arrays"}:
        return [part.copy() for k in value["arrays"] for part in arrays[f"{k}"]]
    return {name: _with_arrays(part, arrays) for name, part in value.items()}
