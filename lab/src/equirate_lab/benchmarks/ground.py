"""The ground that measurements stand on: settings, data, the rivals' environments, and somebody to tell.

In: `Settings` and a cache folder. Out: `Ground`, which every measurement gets and nothing else; and `Measured`, what a
measurement gives back.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import equirate as eq

from .. import experiments
from ..experiments.bench import Bench
from ..experiments.splits import make_split
from .answers import Answer, Answers, fingerprint
from .environments import RIVALS, Environments, Process
from .provenance import processor
from .settings import Settings

OURS = "equirate"
Quality = dict[str, dict[str, list[float]]]
"""``quality[side][part] = [objective, constraint]``."""


@dataclass(frozen=True)
class Comparison:
    """Samples of one quantity, by side."""

    what: str
    unit: str
    samples: Mapping[str, list[float]]
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"what": self.what, "unit": self.unit, "samples": dict(self.samples), "note": self.note}


@dataclass(frozen=True)
class Measured:
    """What a measurement gives back.

    Attributes
    ----------
    comparisons
        Samples, by what was measured.
    quality, measures
        Objective and constraint of every side on every part, and what the two are called.
    facts
        Whatever else is worth keeping: sizes, rounds, memory.
    """

    comparisons: tuple[Comparison, ...]
    quality: Quality = field(default_factory=dict)
    measures: tuple[str, str] = ("", "")
    facts: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "comparisons": [comparison.as_dict() for comparison in self.comparisons],
            "quality": self.quality,
            "measures": list(self.measures),
            "facts": self.facts,
        }


class Ground:
    """What every measurement gets.

    Parameters
    ----------
    settings
        How much to measure.
    cache
        Folder of the rivals' environments.
    results
        Folder of the results, and of models that several measurements share.
    tell
        Called with a line about what is going on.
    """

    def __init__(
        self, settings: Settings, cache: Path, results: Path, tell: Callable[[str], None] = lambda text: None
    ) -> None:
        self.settings, self.results, self.tell = settings, results, tell
        self.environments = Environments(cache / "environments", settings.cores, tell)
        self.answers = Answers(cache / "answers", f"{processor()}, {settings.cores} threads")
        self._benches: dict[str, Bench] = {}
        self._open: dict[str, Process] = {}

    def bench(self, dataset: str) -> Bench:
        """The first split of a data set, with UncError."""
        if dataset not in self._benches:
            known = experiments.PRINTED if self.settings.rounds >= 1000 else experiments.QUICK
            store = self.results / "models" / dataset
            self._benches[dataset] = Bench(make_split(dataset, 0), known, store)
        return self._benches[dataset]

    def rival(self, name: str, job: Mapping[str, Any], arrays: Mapping[str, Any]) -> Process:
        """Start a rival on a job."""
        return self.environments.start(RIVALS[name], job, arrays)

    def given(self, name: str, job: Mapping[str, Any], arrays: Mapping[str, Any]) -> Process:
        """A rival that stays open for several measurements, because starting one takes longer than many of them."""
        process = self._open.get(name)
        if process is None or process.process.poll() is not None:
            process = self.rival(name, {**job, "for": os.getpid()}, arrays)  # another run has files of its own
            process.__enter__()
            self._open[name] = process
        else:
            process.give(arrays)
        return process

    def asked(
        self,
        name: str,
        arrays: Mapping[str, Any],
        request: Mapping[str, Any],
        *,
        warm: int | None = None,
        turn: int = 0,
        most: float | None = None,
    ) -> Answer:
        """A rival's answer about some rows; that of an earlier run where the rival is slow (`answers`).

        ``warm`` rows are asked about before a method's first answer, to load what is loaded at first use. ``turn``
        counts equal requests. A rival that needs more than ``most`` seconds of processor time is unavailable.
        """
        method = str(request["method"])

        def ask() -> tuple[dict[str, Any], dict[str, Any]]:
            process = self.given(name, {}, arrays)
            if most is not None:
                process.limit(most)
            if warm is not None and method not in process.warmed:
                process.ask(**request, rows=warm)
                process.warmed.add(method)
            said = process.ask(**request)
            return said, {} if "error" in said else process.arrays(method)

        return self.answers.get(self.answers.path(RIVALS[name], fingerprint(arrays), request, turn), ask)

    def close(self) -> None:
        """End the rivals that stayed open."""
        while self._open:
            self._open.popitem()[1].end()

    def solve(self, problem: eq.Problem, *given: Any, **options: Any) -> eq.Solution:
        """`equirate.solve` without its warnings; an interrupted game is no result."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eq.EquirateWarning)
            solution = eq.solve(problem, *given, **options)
        if solution.interrupted:
            raise KeyboardInterrupt
        return solution
