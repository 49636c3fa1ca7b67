r"""Folds: one model trained on several parts of the rows side by side, in one play.

In: the fold of every row, and which configuration is trained without which folds. Out: a `Learner` around another one.

A fold is one more bit of a cell. The inner learner knows cells by fold, :math:`(c, f)`; a configuration that is trained
without the folds h has no costs there, and the sums that the game sees of it are those of the other rows, weighed so
that every cell counts as much as in all rows:

.. math:: q_c = \sum_{f \notin h} \frac{T_c}{\sum_{f' \notin h} T_{cf'}}\, q_{cf}.

So one table, that of all rows, is right for all configurations, and the game need not know of folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.peers import peers
from ..data.cells import Cells
from ..players.steps import StepRule
from .contract import Array, Asked, Choice, Learner, Members, Model, Rows, Seen


@dataclass(frozen=True, eq=False)
class Folds:
    """Which fold each row is in, and which folds are left out, part by part.

    Attributes
    ----------
    of
        Fold of each row: 0, 1, 2 ...
    out
        (parts, folds): which folds are left out of the training for each part.
    configurations
        The configurations of the grid that are played for each part; None for all of them.
    """

    of: NDArray[np.intp]
    out: NDArray[np.bool_]
    configurations: tuple[int, ...] | None = None

    def repeated(self, grid: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The configurations of a grid, each for every part."""
        kept = range(len(grid)) if self.configurations is None else self.configurations
        return [{**grid[c], "fold": part} for c in kept for part in range(len(self.out))]

    def cells(self, cells: Cells) -> Cells:
        """Cells by fold: number ``cell * folds + fold``."""
        folds = self.out.shape[1]
        of = (cells.of.astype(np.int64) * folds + self.of).astype(np.int32)
        return Cells(
            of,
            cells.weights,
            peers().total(np.bincount(of, weights=cells.weights, minlength=folds * len(cells)).astype(float)),
            np.repeat(cells.labels, folds),
            {name: np.repeat(inside, folds) for name, inside in cells.members.items()},
            {name: np.repeat(values, folds) for name, values in cells.baselines.items()},
        )

    def factors(self, cells: Cells, left_out: NDArray[np.bool_]) -> Array:
        """(cells, folds, parts): what a sum over a cell and a fold counts, for parts that leave some folds out."""
        totals = self.cells(cells).totals.reshape(len(cells), -1)
        there = np.where(left_out, 0.0, totals[:, None, :])  # (cells, parts, folds)
        sums = there.sum(axis=2, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(there > 0, totals.sum(axis=1)[:, None, None] / sums, 0.0)
        return np.ascontiguousarray(found.transpose(0, 2, 1))

    def bind(
        self, model: Model, rows: Rows, parts: Sequence[int], step: StepRule[Any], seeds: Sequence[int]
    ) -> Learner:
        """Join a model with the rows; ``parts`` says which part each configuration is trained on."""
        trained = self.cells(rows.trained)
        cells = trained if rows.cells is rows.trained else self.cells(rows.cells)
        inner = model.bind(Rows(rows.sample, cells, trained), len(parts), step, seeds)
        return FoldedLearner(inner, self.factors(rows.cells, self.out), np.asarray(parts, dtype=np.intp))


class FoldedLearner(Learner):
    """A learner whose configurations are trained and seen on parts of the rows; see the module's docstring."""

    def __init__(self, inner: Learner, factors: Array, parts: NDArray[np.intp]) -> None:
        self.inner, self.factors, self.parts = inner, factors, parts
        self.budget, self.width = inner.budget, inner.width

    @cached_property
    def _own(self) -> Array:
        """What counts for each configuration: (cells, folds, configurations)."""
        return self.factors[:, :, self.parts]

    def _spread(self, costs: Array) -> Array:
        """Costs per cell as costs per cell and fold."""
        found: Array = (costs[:, None, :] * self._own).reshape(-1, costs.shape[1])
        return found

    def _gathered(self, sums: Array) -> Array:
        """Sums per cell and fold as sums per cell; any axes before them stay."""
        cells, folds, count = self._own.shape
        found: Array = (sums.reshape(*sums.shape[:-2], cells, folds, count) * self._own).sum(axis=-2)
        return found

    def expecting(self, rounds: int) -> AbstractContextManager[None]:
        """As the inner learner does."""
        return self.inner.expecting(rounds)

    def answer(self, asked: Asked) -> Seen:
        """Ask the inner learner by fold, and add up what is seen."""
        losses = {name: self._spread(part) for name, part in asked.losses.items()}
        by_fold = replace(asked, up=self._spread(asked.up), down=self._spread(asked.down), losses=losses)
        seen = self.inner.answer(by_fold)
        return seen.of_parts([self._gathered(part) for part in seen.parts()])

    def advance(self, rate: Array) -> None:
        """As the inner learner does."""
        self.inner.advance(rate)

    def snapshot(self) -> Any:
        """Of the inner learner."""
        return self.inner.snapshot()

    def start_from(self, snapshot: Any) -> None:
        """As the inner learner does."""
        self.inner.start_from(snapshot)

    def state(self) -> Any:
        """Of the inner learner."""
        return self.inner.state()

    def resume(self, state: Any) -> None:
        """As the inner learner does."""
        self.inner.resume(state)

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop the other configurations."""
        self.inner.keep(columns)
        self.parts = self.parts[columns]
        self.__dict__.pop("_own", None)

    def finite(self) -> NDArray[np.bool_]:
        """Of the inner learner."""
        return self.inner.finite()

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Of the inner learner."""
        return self.inner.members(snapshots, chosen)

    def average(self, snapshots: Sequence[Any], chosen: Sequence[Choice], weights: Array) -> Members:
        """Of the inner learner."""
        return self.inner.average(snapshots, chosen, weights)

    def measurer(self, rows: Rows) -> Callable[[Members], Array]:
        """Of the inner learner, on rows without folds."""
        return self.inner.measurer(rows)
