"""The model player: moves the classifier, which the game sees only through its scores.

Strategies: `Descent`, a gradient step on the surrogate Lagrangian, and `BestResponse`, a cost-sensitive oracle
that minimises the true one. What a model can do (``can_descend``, ``can_respond``) is the model's own business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..losses import LOSSES, signs
from ..surrogates import HINGE, Surrogate
from ..table import Table
from .steps import Adam, StepRule

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ModelPlayer:
    """Base of the strategies."""


@dataclass(frozen=True)
class BestResponse(ModelPlayer):
    """Let the model's oracle minimise the true weighted sum of rates."""


@dataclass(frozen=True)
class Descent(ModelPlayer):
    """Take a gradient step on the surrogate weighted sum of rates, plus the objective's ordinary losses."""

    step: StepRule = Adam()
    surrogate: Surrogate = HINGE

    def score_gradient(self, table: Table, scores: NDArray[Any], up: Array, down: Array) -> NDArray[Any]:
        """Gradient of the surrogate Lagrangian with respect to the scores (examples, configurations).

        ``up`` and ``down`` are the per-cell coefficients on the upper and lower bounds of the predictions.
        """
        cells, dtype = table.cells, scores.dtype
        s = self.surrogate
        gradient = up.astype(dtype)[cells.of] * s.upper_slope(scores)
        gradient += down.astype(dtype)[cells.of] * s.lower_slope(scores)
        for name, coefficient in table.loss.items():
            slopes = LOSSES[name].slope(scores, signs(table.examples.labels, dtype))
            gradient += coefficient.astype(dtype)[cells.of][:, None] * slopes
        gradient *= cells.weights.astype(dtype)[:, None]
        return gradient
