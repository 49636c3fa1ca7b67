"""Checkpoints: the state of a play in a folder, from which a killed process continues exactly.

In: the loop's game (players, record) and the learner (networks, optimisers, ledger, batches, random numbers). Out: a
folder with one file for the state, written atomically, and one for each recorded network, written before the state
names it. The state is plain data and tensors, read with ``weights_only=True``: nothing in it is executed.

Processes that share the rows each keep a folder of their own in it, and the state before the last: a process may be
killed when some have kept a round and others not yet. They go on from the last round that all have kept.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .._core.atomic import write_whole
from .._core.errors import FileError
from ..game.pausing import iterates, paused, resume, rewatch, watched
from .snapshots import Snapshot, in_file, in_memory, write

if TYPE_CHECKING:
    from .learner import TorchLearner

VERSION = 2
STATE, BEFORE = "state.pt", "before.pt"


class NetworkCheckpoints:
    """Writes the state of a play to a folder, whenever an iterate was recorded and at the end."""

    def __init__(self, folder: str | os.PathLike[str], learner: TorchLearner) -> None:
        self.learner, self.shared = learner, learner.rows.shared
        subfolder = "" if self.shared.size == 1 else f"process-{self.shared.rank}-of-{self.shared.size}"
        self.folder = Path(folder) / subfolder
        self.kept: int | None = None
        """The last round that was saved."""

    @property
    def path(self) -> Path:
        """The file of the state."""
        return self.folder / STATE

    @property
    def before(self) -> Path:
        """The file of the state before, where several processes keep theirs."""
        return self.folder / BEFORE

    def describe(self) -> str:
        """The last checkpoint, for error messages."""
        if self.kept is None:
            return f"nothing was kept in {self.folder} yet"
        return f"the last good checkpoint, of round {self.kept}, is kept in {self.folder}"

    # -- keeping --------------------------------------------------------------------------------------

    def save(self, game: Any, progress: Any, t: int, last: bool) -> None:
        """Save the play if an iterate was recorded, or at the end."""
        record = game.record
        if not last and (not record.rounds or record.rounds[-1] != t):
            return
        if not bool(self.learner.finite().all()):
            return  # keep the last good checkpoint
        self.folder.mkdir(parents=True, exist_ok=True)
        names = [self._placed(snapshot, t) for snapshot, t in zip(record.snapshots, record.rounds, strict=True)]
        state = {
            "version": VERSION,
            "of": fingerprint(self.learner, game),
            "round": t,
            "over": last,
            "play": play_state(game),
            "snapshots": [[name, snapshot.nbytes] for name, snapshot in zip(names, record.snapshots, strict=True)],
            "learner": self.learner.state(),
            "progress": tensors(watched(progress)),
        }
        if self.shared.size > 1 and self.path.exists():
            os.replace(self.path, self.before)
        write_tensors(self.path, state)
        self.shared.end()  # all have saved this round: the files of the one before are not needed any more
        self.kept = t
        for path in set(self.folder.glob("snapshot-*.safetensors")) - {self.folder / name for name in names}:
            path.unlink(missing_ok=True)

    def _placed(self, snapshot: Snapshot, t: int) -> str:
        """Write a snapshot into the folder, once."""
        name = f"snapshot-{t:08d}.safetensors"
        path = self.folder / name
        if snapshot.kept != path:
            write(path, snapshot.states())
            snapshot.kept = path
        return name

    # -- resuming -------------------------------------------------------------------------------------

    def resume(self, game: Any, progress: Any) -> int:
        """Restore a game from its checkpoint; returns the round, or the last one if the play was over."""
        states = {}
        for path in (self.path, self.before):
            if path.exists():
                state = read_tensors(path)
                self._check(state, game)
                states[int(state["round"])] = state
        common = set.intersection(*map(set, self.shared.gather(list(states))))
        if not common:
            return 0
        state = states[max(common)]
        restore_play(game, state["play"])
        game.record.snapshots = [self._restored(name, nbytes) for name, nbytes in state["snapshots"]]
        self.learner.resume(state["learner"])
        rewatch(progress, arrays(state["progress"]))
        self.kept = state["round"]
        return int(game.rules.n_rounds if state["over"] else state["round"])

    def _restored(self, name: str, nbytes: int) -> Snapshot:
        path = self.folder / name
        snapshot = in_file(path, nbytes)
        if not self.learner.shelf.on_disk(nbytes):
            snapshot = in_memory(snapshot.states())
        snapshot.kept = path
        return snapshot

    def _check(self, state: Any, game: Any) -> None:
        if not isinstance(state, dict) or state.get("version") != VERSION:
            raise FileError(f"{self.path} is no checkpoint of this version of equirate: choose another folder")
        expected, stored = fingerprint(self.learner, game), state["of"]
        differing = [name for name in expected if expected[name] != stored.get(name)]
        if differing:
            raise FileError(
                f"the checkpoint in {self.folder} is of another run (other {', '.join(differing)}): give another "
                "folder, or remove it"
            )


def fingerprint(learner: TorchLearner, game: Any) -> dict[str, str]:
    """Hashes of everything that must be equal to continue a run, by name."""
    rows, setting, rules = learner.rows, learner.setting, game.rules
    data = hashlib.sha256()
    for part in (rows.cells.index, rows.cells.weights, rows.trained.weights, rows.cells.labels):
        data.update(np.ascontiguousarray(part).tobytes())
    sample = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), 64)).astype(np.int64))
    batch = learner.inputs.take(sample)
    inputs = batch.cpu().numpy().tobytes() if isinstance(batch, torch.Tensor) else repr(batch).encode()
    shapes = {name: (tuple(t.shape), str(t.dtype)) for name, t in learner.networks[0].module.state_dict().items()}
    settings = {**setting.plain(), "memory": None, "optimizer": type(learner.networks[0].optimizer).__name__}
    players = game.algorithm
    kinds = [type(player).__name__ for player in (players.slack, players.multipliers, players.model)]
    steps = [rules.n_rounds, rules.record_every, rules.lambda_rate.tolist(), rules.slack_rate.tolist()]
    named = {
        "problem": repr(game.table.program.problem),
        "rows": data.hexdigest(),
        "features": hashlib.sha256(inputs).hexdigest(),
        "module": repr(shapes),
        "settings": repr((sorted(settings.items()), steps, players.model.surrogate.name, kinds)),
    }
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in named.items()}


def play_state(game: Any) -> dict[str, Any]:
    """State of the players, and the record without its snapshots."""
    return {**tensors(paused(game)), "iterates": tensors(iterates(game))}


def restore_play(game: Any, state: Mapping[str, Any]) -> None:
    """Restore players and record; the caller restores the snapshots."""
    restored = arrays(state)
    resume(game, restored, restored["iterates"])


# -- plain data and tensors ---------------------------------------------------------------------------


def tensors(value: Any) -> Any:
    """Arrays in plain data as tensors, which can be read without executing anything."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.array(value))
    if isinstance(value, dict):
        return {name: tensors(part) for name, part in value.items()}
    return [tensors(part) for part in value] if isinstance(value, list) else value


def arrays(value: Any) -> Any:
    """Tensors in plain data as arrays."""
    if isinstance(value, torch.Tensor):
        return value.numpy().copy()
    if isinstance(value, Mapping):
        return {name: arrays(part) for name, part in value.items()}
    return [arrays(part) for part in value] if isinstance(value, list) else value


def write_tensors(path: Path, state: Any) -> None:
    """Write tensors and plain data in containers, atomically."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    write_whole(path, [buffer.getbuffer()])


def read_tensors(path: Path) -> Any:
    """Read them back; nothing in the file is executed."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise FileError(f"{path} cannot be read: {type(error).__name__}: {str(error).splitlines()[0]}") from None
