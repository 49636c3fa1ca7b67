"""Checkpoints: a whole play in a folder, so that one that was killed goes on as if it had never stopped.

In: the loop's game (players, record) and the learner (networks, optimisers, ledger, batches, random numbers). Out: a
folder with one file for the state, written whole or not at all, and one for each recorded network, written before the
state names it. The state is plain data and tensors, read with ``weights_only=True``: nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .._core.atomic import write_whole
from .._core.errors import FileError
from ..mixtures import Cut
from .snapshots import Snapshot, in_file, in_memory, write

if TYPE_CHECKING:
    from .learner import TorchLearner

VERSION = 1
STATE = "state.pt"
_ARRAYS = ("rates", "losses", "multipliers", "slacks", "lagrangian", "shares")
_SUMS = ("residual_sum", "multiplier_sum", "lagrangian_sum", "model_sum", "dual_bound")
_WHEN = ("diverged", "retired", "left_domain")
_GAME = ("active", "theta_rate", "lambda_rate", "slack_rate", "levels")


class Checkpoints:
    """Keeps a play in a folder, whenever an iterate was recorded and at the end."""

    def __init__(self, folder: str | os.PathLike[str], learner: TorchLearner) -> None:
        self.folder, self.learner = Path(folder), learner
        self.kept: int | None = None
        """The last round that is kept."""

    @property
    def path(self) -> Path:
        """The file of the state."""
        return self.folder / STATE

    def said(self) -> str:
        """What is kept, for an error."""
        if self.kept is None:
            return f"nothing was kept in {self.folder} yet"
        return f"the last good checkpoint, of round {self.kept}, is kept in {self.folder}"

    # -- keeping --------------------------------------------------------------------------------------

    def keep(self, game: Any, progress: Any, t: int, last: bool) -> None:
        """Keep the play if its record has grown, or it is over."""
        record = game.record
        if not last and (not record.rounds or record.rounds[-1] != t):
            return
        if not bool(self.learner.finite().all()):
            return  # the last good one stays
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
            "progress": progress_state(progress),
        }
        write_tensors(self.path, state)
        self.kept = t
        for left in set(self.folder.glob("snapshot-*.safetensors")) - {self.folder / name for name in names}:
            left.unlink(missing_ok=True)

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
        """Bring a game to where it was kept; the round, or the last one where the play was over."""
        if not self.path.exists():
            return 0
        state = read_tensors(self.path)
        self._check(state, game)
        restore_play(game, state["play"])
        game.record.snapshots = [self._found(name, nbytes) for name, nbytes in state["snapshots"]]
        self.learner.resume(state["learner"])
        restore_progress(progress, state["progress"])
        self.kept = state["round"]
        return int(game.rules.n_rounds if state["over"] else state["round"])

    def _found(self, name: str, nbytes: int) -> Snapshot:
        path = self.folder / name
        snapshot = in_file(path, nbytes)
        if not self.learner.shelf.on_disk(nbytes):
            snapshot = in_memory(snapshot.states())
        snapshot.kept = path
        return snapshot

    def _check(self, state: Any, game: Any) -> None:
        if not isinstance(state, dict) or state.get("version") != VERSION:
            raise FileError(f"{self.path} is no checkpoint of this version of equirate: choose another folder")
        own, kept = fingerprint(self.learner, game), state["of"]
        differing = [name for name in own if own[name] != kept.get(name)]
        if differing:
            raise FileError(
                f"the checkpoint in {self.folder} is of another run (other {', '.join(differing)}): give another "
                "folder, or remove it"
            )


def fingerprint(learner: TorchLearner, game: Any) -> dict[str, str]:
    """What must be the same for a run to be the same, by name."""
    rows, setting, rules = learner.rows, learner.setting, game.rules
    data = hashlib.sha256()
    for part in (rows.cells.of, rows.cells.weights, rows.trained.weights, rows.cells.labels):
        data.update(np.ascontiguousarray(part).tobytes())
    some = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), 64)).astype(np.int64))
    taken = learner.inputs.take(some)
    inputs = taken.cpu().numpy().tobytes() if isinstance(taken, torch.Tensor) else repr(taken).encode()
    shapes = {name: (tuple(t.shape), str(t.dtype)) for name, t in learner.networks[0].module.state_dict().items()}
    settings = {**setting.plain(), "memory": None, "optimizer": type(learner.networks[0].optimizer).__name__}
    players = game.players
    kinds = [type(player).__name__ for player in (players.slack, players.multipliers, players.model)]
    steps = [rules.n_rounds, rules.record_every, rules.lambda_rate.tolist(), rules.slack_rate.tolist()]
    named = {
        "problem": repr(game.table.program.problem),
        "rows": data.hexdigest(),
        "features": hashlib.sha256(inputs).hexdigest(),
        "module": repr(shapes),
        "settings": repr((sorted(settings.items()), steps, players.model.bounds.name, kinds)),
    }
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in named.items()}


def play_state(game: Any) -> dict[str, Any]:
    """Where the players stand, and the record without its snapshots."""
    record = game.record
    return {
        "slacks": packed(game.slacks),
        "multipliers": packed(game.multipliers),
        "every": game.every,
        "stored": game.stored,
        **{name: packed(getattr(game, name)) for name in _GAME},
        "record": {
            "rounds": list(record.rounds),
            "actives": packed(record.actives),
            "played": record.played,
            **{name: packed(getattr(record, name)) for name in (*_ARRAYS, *_SUMS)},
            **{name: dict(getattr(record, name)) for name in _WHEN},
        },
    }


def restore_play(game: Any, state: Mapping[str, Any]) -> None:
    """Put players and record where they stood; the snapshots are to be put back by who has them."""
    active = unpacked(state["active"], None)
    if len(active) < len(game.active):
        game._keep(np.isin(game.active, active))
    game.slacks = unpacked(state["slacks"], game.slacks)
    game.multipliers = unpacked(state["multipliers"], game.multipliers)
    game.every, game.stored = state["every"], state["stored"]
    for name in _GAME:
        setattr(game, name, unpacked(state[name], None))
    record, kept = game.record, state["record"]
    record.rounds, record.played = list(kept["rounds"]), kept["played"]
    record.actives = unpacked(kept["actives"], None)
    for name in (*_ARRAYS, *_SUMS):
        setattr(record, name, unpacked(kept[name], None))
    for name in _WHEN:
        setattr(record, name, {int(c): int(t) for c, t in kept[name].items()})


# -- plain data and tensors ---------------------------------------------------------------------------


def packed(value: Any) -> Any:
    """States of players as dicts, arrays as tensors; everything else is plain already."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.array(value))
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value) and not isinstance(value, type):
        return {"is": type(value).__name__} | {part.name: packed(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, (list, tuple)):
        return [packed(part) for part in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise FileError(f"a player's state holds a {type(value).__name__}, which a checkpoint cannot keep")


def unpacked(value: Any, like: Any) -> Any:
    """The same back; ``like`` is a state of the same player, whose class is used."""
    if isinstance(value, torch.Tensor):
        return value.numpy().copy()
    if isinstance(value, list):
        return [unpacked(part, None) for part in value]
    if not isinstance(value, dict):
        return value
    parts = {name: part for name, part in value.items() if name != "is"}
    if value.get("is") == Cut.__name__:
        return Cut(**{name: unpacked(part, None) for name, part in parts.items()})
    if not is_dataclass(like) or isinstance(like, type) or type(like).__name__ != value.get("is"):
        raise FileError("the checkpoint is of other players than those of this game")
    return replace(like, **{name: unpacked(part, getattr(like, name, None)) for name, part in parts.items()})


def progress_state(progress: Any) -> dict[str, Any] | None:
    """Where a progress callback stands, if it is a dataclass: what it shows is left out."""
    if not is_dataclass(progress) or isinstance(progress, type):
        return None
    return {part.name: packed(getattr(progress, part.name)) for part in fields(progress) if part.name != "line"}


def restore_progress(progress: Any, state: Mapping[str, Any] | None) -> None:
    """Put a progress callback where it stood."""
    for name, value in (state or {}).items():
        setattr(progress, name, unpacked(value, getattr(progress, name, None)))


def write_tensors(path: Path, state: Any) -> None:
    """Write tensors and plain data in containers, whole or not at all."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    write_whole(path, [buffer.getbuffer()])


def read_tensors(path: Path) -> Any:
    """Read them back; nothing in the file is executed."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise FileError(f"{path} cannot be read: {type(error).__name__}: {str(error).splitlines()[0]}") from None
