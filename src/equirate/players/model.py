"""The model player: moves the classifier, which the game sees only through its scores.

Strategies: `Descent`, a gradient step on the surrogate Lagrangian, and `BestResponse`, a cost-sensitive oracle
that minimises the true one. What a model can do (``can_descend``, ``can_respond``) is the model's own business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

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
            gradient += coefficient.astype(dtype)[cells.of][:, None] * LOSS_SLOPES[name](scores, cells.labels[cells.of])
        gradient *= cells.weights.astype(dtype)[:, None]
        return gradient


def _log_loss_slope(scores: NDArray[Any], labels: NDArray[np.int8]) -> NDArray[Any]:
    return expit(scores) - labels[:, None].astype(scores.dtype)


def _hinge_loss_slope(scores: NDArray[Any], labels: NDArray[np.int8]) -> NDArray[Any]:
    sign = (2 * labels[:, None] - 1).astype(scores.dtype)
    return -sign * (sign * scores < 1)


LOSS_SLOPES = {"log_loss": _log_loss_slope, "hinge_loss": _hinge_loss_slope}


def loss_values(name: str, scores: NDArray[Any], labels: NDArray[np.int8]) -> NDArray[Any]:
    """Value of an ordinary loss, example by example."""
    sign = (2 * labels[:, None] - 1).astype(scores.dtype)
    return np.logaddexp(0, -sign * scores) if name == "log_loss" else np.maximum(0, 1 - sign * scores)
