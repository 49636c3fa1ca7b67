"""Snapshots: the parameters of networks at one moment, in memory or, where they are large, in safetensors files.

In: state dicts of tensors. Out: `Snapshot`, which returns them. Files are removed with the last reference to the
snapshot, unless they belong to a checkpoint.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save

from .._core.atomic import write_whole
from .._core.errors import FileError

State = dict[str, torch.Tensor]
TEMPORARY, UNKEPT = "equirate-", "unkept-"
"""Beginnings of the names of temporary folders: the system's, and those in the folder of a checkpoint."""
MANY = 16
"""Number of snapshots that must fit into memory; otherwise they are written to disk."""


def copied(state: State) -> State:
    """A copy of a state dict on the CPU; tensors that the module shares are copied separately."""
    return {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in state.items()}


def size_of(state: State) -> int:
    """Bytes of a state dict."""
    return sum(tensor.numel() * tensor.element_size() for tensor in state.values())


class Snapshot:
    """State dicts of networks, one per configuration."""

    def __init__(self, nbytes: int, load: Callable[[], list[State]], path: Path | None = None) -> None:
        self.nbytes, self._load, self.path = nbytes, load, path
        self.kept: Path | None = None
        """Its file in a checkpoint."""

    def states(self) -> list[State]:
        """The state dicts."""
        return self._load()


def in_memory(states: Sequence[State]) -> Snapshot:
    """A snapshot that holds the state dicts themselves."""
    stored = list(states)
    return Snapshot(sum(map(size_of, stored)), lambda: stored)


def in_file(path: Path, nbytes: int, temporary: bool = False) -> Snapshot:
    """A snapshot in a file that `write` wrote; a temporary file is removed with the snapshot."""
    snapshot = Snapshot(nbytes, lambda: read(path), path)
    if temporary:
        weakref.finalize(snapshot, path.unlink, missing_ok=True)
    return snapshot


def write(path: Path, states: Sequence[State]) -> None:
    """Write state dicts as one safetensors file, atomically."""
    write_whole(path, [save({f"{c}.{name}": t for c, state in enumerate(states) for name, t in state.items()})])


def read(path: Path) -> list[State]:
    """Read state dicts back."""
    try:
        tensors = load_file(path)
    except Exception as error:
        raise FileError(f"the snapshot {path} cannot be read: {error}") from None
    states: dict[int, State] = {}
    for name, tensor in tensors.items():
        number, _, key = name.partition(".")
        states.setdefault(int(number), {})[key] = tensor
    return [states[c] for c in sorted(states)]


class Shelf:
    """Storage for the snapshots of a run: in memory if there is room for many, else in a folder.

    Parameters
    ----------
    memory
        Bytes that snapshots may take in memory.
    folder
        Where larger ones go; by default a temporary folder that goes with the shelf.
    within
        Where the temporary folder is made. One that a killed process left there is removed.
    """

    def __init__(self, memory: float, folder: Any = None, within: Path | None = None) -> None:
        self.memory, self.folder, self.within = memory, None if folder is None else Path(folder), within
        self._count = 0
        for left in () if within is None else within.glob(f"{UNKEPT}*"):
            shutil.rmtree(left, ignore_errors=True)

    def on_disk(self, nbytes: int) -> bool:
        """Whether snapshots of a size go to disk."""
        return nbytes * MANY > self.memory

    def budget(self, nbytes: int) -> float:
        """Bytes that the snapshots of a run may take, in memory or on disk; with more, every second one is left out."""
        return max(MANY * 4 * nbytes, 1.0) if self.on_disk(nbytes) else self.memory

    def put(self, states: Sequence[State]) -> Snapshot:
        """Store copies of state dicts."""
        copies = [copied(state) for state in states]
        nbytes = sum(map(size_of, copies))
        if not self.on_disk(nbytes):
            return in_memory(copies)
        self._count += 1
        path = self._place() / f"snapshot-{self._count:06d}.safetensors"
        write(path, copies)
        return in_file(path, nbytes, temporary=True)

    def _place(self) -> Path:
        if self.folder is None:
            if self.within is not None:
                self.within.mkdir(parents=True, exist_ok=True)
            prefix = TEMPORARY if self.within is None else UNKEPT
            self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=self.within))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder
