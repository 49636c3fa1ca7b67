r"""The logit-adjusted surrogate: costs become shifts of the score instead of weights of the loss.

It is that of Narasimhan and Menon (2021), "Training over-parameterized models with non-decomposable objectives". A
network that fits its training data ends with the same decisions whatever the weights of its examples. A shift asks for
a larger margin instead, and keeps its effect. Cells that differ in their label alone are a pair with the costs
:math:`-a_1 < 0 < a_0` of predicting 1. An example with the sign s = +1, -1 of its label loses

.. math:: \frac{a_1 + a_0}{2 \ln 2} \ln\bigl(1 + e^{-s (f - \delta)}\bigr), \qquad \delta = \ln(a_1 / a_0).

The slope at f = 0 is the example's cost (times 1 / (2 ln 2), as for the logistic surrogate), so the best score of every
x has the sign that the costs ask for, also where x does not tell the pair. Pairs whose costs have one sign keep the
logistic surrogate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .._core.errors import AlgorithmError
from ..data.cells import Cells
from ..models.messages import Array, Asked, Scores
from ..models.rows import Batch
from ..players.surrogates import LOGISTIC

LARGEST_SHIFT = 10.0


@dataclass(frozen=True, eq=False)
class LogitAdjusted(Asked):
    """The request to one configuration, with shifts for pairs of cells whose labels have costs of opposite signs."""

    shift: Array | None = None
    """Shift of the score, by cell; NaN where costs stay weights."""
    size: Array | None = None
    """Weight of a shifted loss, by cell."""

    def slope(self, batch: Batch, scores: Scores) -> Scores:
        """Slope of the shifted losses, and of the logistic surrogate for the other cells."""
        plain = super().slope(batch, scores)
        shifted, sign, shift, size = self._of(batch, scores)
        slopes = -size * sign * expit(-sign * (scores - shift))
        slopes *= batch.trained.weights.astype(scores.dtype)[:, None]
        return np.where(shifted, slopes, plain).astype(scores.dtype)

    def value(self, batch: Batch, scores: Scores) -> Array:
        """Value of the function whose gradient `slope` is."""
        shifted, sign, shift, size = self._of(batch, scores)
        cells = batch.trained
        costs = self.costs[cells.index]
        plain = np.where(costs > 0, costs * LOGISTIC.upper(scores), costs * LOGISTIC.lower(scores))
        losses = size * np.logaddexp(0, -sign * (scores - shift))
        return np.asarray((np.where(shifted, losses, plain) * cells.weights[:, None]).sum(axis=0), dtype=float)

    def _of(self, batch: Batch, scores: Scores) -> tuple[NDArray[np.bool_], Scores, Scores, Scores]:
        assert self.shift is not None  # `adjusted` makes both
        assert self.size is not None
        cells = batch.trained
        shift = self.shift[cells.index].astype(scores.dtype)[:, None]
        shifted = ~np.isnan(shift)
        sign = np.where(cells.labels[cells.index] == 1, 1, -1).astype(scores.dtype)[:, None]
        return shifted, sign, np.where(shifted, shift, 0), self.size[cells.index].astype(scores.dtype)[:, None]


def adjusted(asked: Asked, cells: Cells, pairs: NDArray[np.intp] | None) -> Asked:
    """The request to one configuration, logit-adjusted if `partners` of the cells are given."""
    if pairs is None:
        return asked
    if asked.losses:
        raise AlgorithmError(
            f"logit_adjusted is for rates alone, and the objective has {next(iter(asked.losses))}(): leave one out"
        )
    cost = asked.costs[:, 0]
    paired = pairs >= 0
    other = np.where(paired, cost[pairs], np.nan)
    positive = cells.labels == 1
    gain = np.where(positive, -cost, -other)  # a_1
    loss = np.where(positive, other, cost)  # a_0
    good = paired & (gain > 0) & (loss > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(good, np.clip(np.log(gain / loss), -LARGEST_SHIFT, LARGEST_SHIFT), np.nan)
    size = np.where(good, (gain + loss) / (2 * math.log(2)), 0.0)
    parameters = {field.name: getattr(asked, field.name) for field in fields(Asked)}
    return LogitAdjusted(**{**parameters, "surrogate": LOGISTIC}, shift=shift, size=size)


def partners(cells: Cells) -> NDArray[np.intp]:
    """For each cell the one that differs in the label only; -1 if there is none."""
    kinds = np.array(
        [*(inside.astype(np.int8) for inside in cells.members.values()), *cells.baselines.values()], dtype=np.int8
    ).reshape(-1, len(cells))
    places = {(kinds[:, c].tobytes(), int(cells.labels[c])): c for c in range(len(cells))}
    partner = [places.get((kinds[:, c].tobytes(), 1 - int(cells.labels[c])), -1) for c in range(len(cells))]
    return np.array(partner, dtype=np.intp)
