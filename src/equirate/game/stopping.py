"""Stopping rules: progress callbacks that end a play when the best mixture of the iterates no longer improves.

In: states of a play. Out: whether to end it, or which configurations to end.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mixtures import PENALTY, Cut, best_priced, shrunk_cost, values
from .loop import Moment
from .progress import ProgressLine


@dataclass(eq=False)
class Watch:
    """A stopping rule whose state can be saved and restored, for plays that are paused."""

    patience: int
    tolerance: float
    every: int = 10
    line: ProgressLine | None = None
    seen: int = 0

    def state(self) -> dict[str, Any]:
        """All fields but the progress line."""
        return {part.name: copy.copy(getattr(self, part.name)) for part in fields(self) if part.name != "line"}

    def resume(self, state: dict[str, Any]) -> None:
        """Restore the state."""
        for name, value in state.items():
            setattr(self, name, copy.copy(value))


@dataclass(eq=False)
class Plateau(Watch):
    """A progress callback that ends the play when the best mixture of the recorded iterates no longer improves.

    Every ``every`` recorded rounds the iterates so far are mixed for the problem itself; after ``patience`` such checks
    without an improvement of more than ``tolerance`` (objective and violation together) the play ends.
    """

    best: float = np.inf
    stale: int = 0
    cuts: list[Cut] = field(default_factory=list)

    def __call__(self, moment: Moment) -> bool:
        """Return True to end the play."""
        self.seen += 1
        mixed = None
        if not self.seen % self.every:
            mixed = best_priced(moment.table, moment.record.columns(), 0.1 * self.tolerance, self.cuts)
        if self.line is not None:
            if mixed is not None:
                self.line.mixture = (self.line.sign * mixed[0], mixed[1])
            self.line(moment)
        if mixed is None:
            return False
        value = mixed[0] + PENALTY * mixed[1]
        self.stale = 0 if value < self.best - self.tolerance else self.stale + 1
        self.best = min(self.best, value)
        return self.stale >= self.patience


@dataclass(eq=False)
class LevelPlateaus(Watch):
    """A progress callback for a run over several levels of the constraints: levels that no longer improve are ended.

    Every ``every`` recorded rounds, all iterates so far (of all levels) are mixed for each level that is still played;
    after ``patience`` checks without an improvement of more than ``tolerance`` its configurations retire. The play ends
    with the last level.
    """

    best: dict[int, float] = field(default_factory=dict)
    stale: dict[int, int] = field(default_factory=dict)

    def __call__(self, moment: Moment) -> bool | NDArray[np.intp]:
        """Return the configurations that are done."""
        if self.line is not None:
            self.line(moment)
        self.seen += 1
        if self.seen % self.every:
            return False
        assert moment.levels is not None  # the run is over levels
        columns = moment.record.columns()
        objective, violations = values(moment.table, columns.rates, columns.losses)
        levels, of = np.unique(moment.levels, axis=1, return_inverse=True)
        done = []
        for k in np.unique(of[moment.active]):
            value = shrunk_cost(objective, violations - levels[:, [k]])
            best = self.best.get(k, np.inf)
            self.stale[k] = 0 if value < best - self.tolerance else self.stale.get(k, 0) + 1
            self.best[k] = min(best, value)
            if self.stale[k] >= self.patience:
                done.append(k)
        return moment.active[np.isin(of[moment.active], done)]
