"""Linear models, all configurations side by side: one matrix product for the scores, one for the gradient."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from ..errors import AlgorithmError, DataError
from ..players.steps import StepRule
from ..seeds import stream
from ..table import Table
from .base import Array, Choice, Members, Model, Player, feature_names, features


@dataclass(frozen=True)
class Linear(Model):
    """A linear score ``x . w + b``.

    Parameters
    ----------
    intercept
        Whether there is a b.
    radius
        Keep (w, b) inside an L2 ball of this radius; None for no bound.
    penalty
        Weight of the penalty |w|^2 / 2 (b is free).
    spread
        Standard deviation of the random first parameters; 0 begins at zero.
    """

    intercept: bool = True
    radius: float | None = None
    penalty: float = 0.0
    spread: float = 0.0

    @property
    def can_descend(self) -> bool:
        """One matrix product."""
        return True

    def __post_init__(self) -> None:
        if self.radius is not None and not self.radius > 0:
            raise AlgorithmError(f"the radius of Linear must be positive; got {self.radius!r}")
        if not self.penalty >= 0 or not self.spread >= 0:
            raise AlgorithmError("the penalty and the spread of Linear must not be negative")

    def bind(self, X: Any, table: Table, count: int, step: StepRule, seeds: Sequence[int]) -> Player:
        """Make the parameters."""
        return LinearPlayer(self, features(X, len(table.examples)), step, seeds, feature_names(X))


class LinearPlayer(Player):
    """Weights (features, configurations), with the intercepts in the last row."""

    def __init__(
        self, setting: Linear, X: Any, step: StepRule, seeds: Sequence[int], names: tuple[str, ...] | None = None
    ) -> None:
        self.setting, self.X, self.step, self.names = setting, X, step, names
        self.ones = np.ones(X.shape[0], X.dtype)
        width = X.shape[1] + setting.intercept
        columns = [stream("parameters", seed).standard_normal(width) for seed in seeds]
        self.W: NDArray[Any] = np.ascontiguousarray((setting.spread * np.stack(columns, axis=1)).astype(X.dtype))
        self._project()
        self.state = step.start(self.W.shape, self.W.dtype)

    def scores(self) -> NDArray[Any]:
        """One matrix product."""
        return linear_scores(self.X, self.W, self.setting.intercept)

    def descend(self, gradient: NDArray[Any], rate: Array) -> None:
        """One matrix product, one step, one projection."""
        slope = np.empty_like(self.W)
        d = self.X.shape[1]
        slope[:d] = self.X.T @ gradient
        if self.setting.intercept:
            slope[d] = self.ones @ gradient  # several times faster than a sum along the first axis
        if self.setting.penalty:
            slope[:d] += self.setting.penalty * self.W[:d]
        move, self.state = self.step.move(self.state, slope, rate.astype(self.W.dtype))
        self.W = self.W - move
        self._project()

    def respond(self, table: Table, coefficients: Array) -> None:
        """Weighted logistic regression on the costs, with the cheapest threshold on its scores: an approximate oracle.

        With an intercept it is never dearer than saying the same to everybody.
        """
        costs = table.cells.spread(coefficients)
        for c in range(self.W.shape[1]):
            self.W[:, c] = self._respond_one(costs[:, c])
        self._project()  # decisions do not depend on the scale

    def _respond_one(self, cost: Array) -> NDArray[Any]:
        weights, wanted, size = np.zeros(len(self.W), self.W.dtype), cost < 0, np.abs(cost)
        used = size > 0
        if wanted[used].any() and not wanted[used].all():
            strength = 1 / self.setting.penalty if self.setting.penalty else 1e4 * len(cost) / size.sum()
            learner = LogisticRegression(C=strength, fit_intercept=self.setting.intercept, max_iter=300, tol=1e-3)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the oracle is approximate anyway
                learner.fit(self.X[used], wanted[used], sample_weight=size[used])
            weights[: self.X.shape[1]] = learner.coef_[0]
        if self.setting.intercept:
            weights[-1] = -best_threshold(np.asarray(self.X @ weights[:-1]), cost)
        return weights

    def photograph(self) -> NDArray[Any]:
        """Copy the weights."""
        return self.W.copy()

    def resume(self, photograph: NDArray[Any]) -> None:
        """Take the weights over."""
        if photograph.shape != self.W.shape:
            raise AlgorithmError(
                f"cannot continue: the earlier play has weights of shape {photograph.shape}, this one {self.W.shape}"
            )
        self.W = photograph.astype(self.W.dtype)

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop the other columns."""
        self.W = np.ascontiguousarray(self.W[:, columns])
        self.state = StepRule.keep(self.state, columns)

    def finite(self) -> NDArray[np.bool_]:
        """Columns without NaN or infinity."""
        finite: NDArray[np.bool_] = np.isfinite(self.W).all(axis=0)
        return finite

    def members(self, photographs: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Put the chosen columns side by side."""
        W = np.stack([photographs[t][:, c] for t, c in chosen], axis=1)
        return LinearMembers(W, self.setting.intercept, self.names)

    def average(self, photographs: Sequence[Any], chosen: Sequence[Choice], weights: Array) -> Members:
        """Average the chosen columns."""
        W = sum(weight * photographs[t][:, c] for (t, c), weight in zip(chosen, weights, strict=True))
        return LinearMembers(np.asarray(W, dtype=self.W.dtype)[:, None], self.setting.intercept, self.names)

    def _project(self) -> None:
        if self.setting.radius is not None:
            norm = np.sqrt((self.W**2).sum(0))
            self.W *= np.minimum(1.0, self.setting.radius / np.maximum(norm, 1e-12)).astype(self.W.dtype)


@dataclass(frozen=True, eq=False)
class LinearMembers(Members):
    """Linear classifiers, one column each; the intercepts are the last row."""

    W: NDArray[Any]
    intercept: bool = True
    names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        """Count the columns."""
        return int(self.W.shape[1])

    def scores(self, X: Any, attributes: Any = None) -> NDArray[Any]:
        """Scores of new examples (examples, classifiers)."""
        given = feature_names(X)
        if self.names is not None and given is not None and given != self.names:
            raise DataError(
                f"X has the columns {', '.join(given)}; the classifier was trained on {', '.join(self.names)}, "
                "in that order"
            )
        X = features(X)
        wanted = self.W.shape[0] - self.intercept
        if X.shape[1] != wanted:
            raise DataError(f"X has {X.shape[1]} features, but the classifier was trained on {wanted}")
        return linear_scores(X, self.W, self.intercept)

    def decide(self, X: Any, attributes: Any = None) -> NDArray[np.bool_]:
        """Predict 1 where the score is above 0."""
        return np.asarray(self.scores(X) > 0)

    def take(self, indices: Sequence[int]) -> Members:
        """Keep some columns."""
        return LinearMembers(self.W[:, list(indices)], self.intercept, self.names)


def best_threshold(scores: NDArray[Any], cost: Array) -> float:
    """Find the threshold above which predicting 1 costs least in sum, in the middle of a gap between scores.

    Examples
    --------
    >>> best_threshold(np.array([3.0, 1.0, 2.0]), np.array([-1.0, 4.0, -2.0]))
    1.5
    """
    values, of = np.unique(scores, return_inverse=True)
    above = np.bincount(of.reshape(-1), weights=cost)[::-1].cumsum()[::-1]
    best = int(np.argmin(np.append(above, 0.0)))
    edges = np.concatenate([[values[0] - 1], values, [values[-1] + 1]]).astype(float)
    return float(edges[best : best + 2].mean())


def linear_scores(X: Any, W: NDArray[Any], intercept: bool) -> NDArray[Any]:
    """``X @ W[:-1] + W[-1]``."""
    if not intercept:
        return np.asarray(X @ W)
    result = np.asarray(X @ W[:-1])
    result += W[-1]
    return result
