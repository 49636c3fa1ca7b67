"""Answers of slow rivals, kept: a rival that has not changed is not asked again because equirate has.

In: a rival, the rows it works on, and a request. Out: its answer, and the arrays that came with it. Answers are kept as
files by the rival's versions, its script, the rows, the request, the threads and the processor. Answers that took less
than `SLOW` seconds are not kept, so that such rivals take turns with equirate in every run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..experiments.files import read_json, write_json
from .environments import SCRIPTS, Rival

SLOW = 2.0
"""Seconds of processor time from which an answer is kept."""


@dataclass(frozen=True)
class Answer:
    """What a rival said, the arrays that it wrote, and whether that was in an earlier run."""

    said: dict[str, Any]
    arrays: dict[str, Any]
    kept: bool = False

    @property
    def seconds(self) -> float:
        """Processor time."""
        return float(self.said["seconds"])


@dataclass(frozen=True)
class Answers:
    """The answers in a folder."""

    folder: Path
    machine: str

    def path(self, rival: Rival, rows: str, request: Mapping[str, Any], turn: int) -> Path:
        """The file of an answer."""
        script = (SCRIPTS / rival.script).read_text("utf-8")
        known = [list(rival.requirements), script, rows, dict(request), turn, self.machine]
        key = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:20]
        return self.folder / rival.name / f"{key}.json"

    def get(self, path: Path, ask: Callable[[], tuple[dict[str, Any], dict[str, Any]]]) -> Answer:
        """The answer in a file; asked for, and kept if it was slow, where there is none."""
        said = read_json(path)
        if said is not None:
            with np.load(path.with_suffix(".npz")) as stored:
                return Answer(said, {name: stored[name] for name in stored.files}, kept=True)
        said, arrays = ask()
        if "error" not in said and float(said["seconds"]) >= SLOW:
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(path.with_suffix(".npz"), **arrays)  # first: the other file says that both are there
            write_json(path, said)
        return Answer(said, arrays)


def fingerprint(arrays: Mapping[str, Any]) -> str:
    """A hash of arrays by name.

    Examples
    --------
    >>> fingerprint({"y": np.zeros(2)}) == fingerprint({"y": np.zeros(2)}) != fingerprint({"y": np.ones(2)})
    True
    """
    found = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype} {array.shape} ".encode())
        found.update(array.data.cast("B") if array.size else b"")
    return found.hexdigest()
