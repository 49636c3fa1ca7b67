"""The model player: moves the classifier, which the game sees only through its scores.

Strategies: `Descent`, a gradient step on the surrogate Lagrangian, and `BestResponse`, a cost-sensitive oracle
that minimises the true one. Every model can best-respond; whether it can also descend is its own business
(``can_descend``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.cells import Cells
from ..problem.table import Table
from .losses import LOSSES, signs
from .steps import ADAM, StepRule
from .surrogates import HINGE, Surrogate

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ModelPlayer:
    """Base of the strategies."""


@dataclass(frozen=True)
class BestResponse(ModelPlayer):
    """Let the model's oracle minimise the true weighted sum of rates."""


@dataclass(frozen=True)
class Descent(ModelPlayer):
    """Take a gradient step on the surrogate weighted sum of rates, plus the objective's ordinary losses.

    ``net`` says what is bounded: the net coefficient of every example's prediction, after all rows are added up, or
    each row's coefficient by itself. Both give an upper bound on the weighted sum of rates. The net one is tighter: two
    rows that pull a prediction both ways cancel instead of pinning its score near 0. Multipliers that see surrogate
    rates (SPADE and its kin) need the rows, because only then is the surrogate linear in the multipliers.
    """

    step: StepRule = ADAM
    surrogate: Surrogate = HINGE
    net: bool = True

    def coefficients(self, table: Table, multipliers: Array, levels: Array | None) -> tuple[Array, Array]:
        """Per-cell coefficients (>= 0, <= 0) on the upper and lower bounds of the predictions."""
        if not self.net:
            return table.split_coefficients(multipliers, levels)
        total = table.coefficients(multipliers, levels)
        return np.maximum(total, 0.0), np.minimum(total, 0.0)

    def score_gradient(
        self, table: Table, scores: NDArray[Any], up: Array, down: Array, objective: Array
    ) -> NDArray[Any]:
        """Gradient of the surrogate Lagrangian with respect to the scores (examples, configurations).

        ``up`` and ``down`` are the per-cell coefficients on the upper and lower bounds of the predictions;
        ``objective`` is the objective's multiplier, which its ordinary losses share.
        """
        cells, dtype = table.cells, scores.dtype
        s = self.surrogate
        if s is HINGE:
            gradient = hinge_slopes(cells, scores, up, down)
        else:
            gradient = np.take(up.astype(dtype), cells.of, axis=0) * s.upper_slope(scores)
            gradient += np.take(down.astype(dtype), cells.of, axis=0) * s.lower_slope(scores)
            _weigh(gradient, cells)
        for name, coefficient in table.loss.items():
            slopes = LOSSES[name].slope(scores, signs(table.examples.labels, dtype))
            gradient += _weigh((coefficient[:, None] * objective).astype(dtype)[cells.of] * slopes, cells)
        return gradient


def hinge_slopes(cells: Cells, scores: NDArray[Any], up: Array, down: Array) -> NDArray[Any]:
    """Slope of the hinge bounds: weight times up where the score is above -1, plus weight times down where below 1.

    Where only one of up and down is not 0 (net bounds), both cases are ``net * score + |net| > 0`` with net their sum,
    so a few passes over the scores do.
    """
    dtype = scores.dtype
    if ((up == 0) | (down == 0)).all():
        gradient = np.take((up + down).astype(dtype), cells.of, axis=0)
        active = scores * gradient
        active += np.abs(gradient)
        gradient *= active > 0
    else:
        gradient = np.take(up.astype(dtype), cells.of, axis=0) * (scores > -1)
        gradient += np.take(down.astype(dtype), cells.of, axis=0) * (scores < 1)
    return _weigh(gradient, cells)


def _weigh(gradient: NDArray[Any], cells: Cells) -> NDArray[Any]:
    if not cells.unweighted:
        gradient *= cells.weights.astype(gradient.dtype)[:, None]
    return gradient
