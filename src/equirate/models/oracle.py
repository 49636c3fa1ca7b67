"""A cost-sensitive oracle around any scikit-learn classifier that takes ``sample_weight``.

The best response to per-example costs :math:`k_i` on predicting 1 is weighted classification: the wanted label is
1 where the cost is negative, and the weight is the cost's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from ..data.examples import same_length, to_numpy
from ..players.steps import StepRule
from ..problem.table import Table
from .base import Array, Choice, Members, Model, Player
from .finite import FiniteMembers, decisions


@dataclass(frozen=True, eq=False)
class Oracle(Model):
    """Refit a classifier at every best response.

    Parameters
    ----------
    estimator
        A scikit-learn classifier whose ``fit`` takes ``sample_weight``. It is cloned, never changed.
    """

    estimator: Any

    def __post_init__(self) -> None:
        from sklearn.utils.validation import has_fit_parameter  # takes a second: only where it is used

        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise AlgorithmError(
                f"the oracle {self.estimator!r} does not take sample_weight in fit, so it cannot weigh costs: "
                "choose one that does, such as LogisticRegression, or a plug-in"
            )

    def bind(self, X: Any, table: Table, count: int, step: StepRule, seeds: Sequence[int]) -> Player:
        """Keep the features as they are: the estimator knows best."""
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        same_length(np.empty(rows), len(table.examples), "X")
        X = X if hasattr(X, "shape") else to_numpy(X)
        return OraclePlayer(self.estimator, X, len(table.examples), count)


class OraclePlayer(Player):
    """One fitted classifier per configuration."""

    def __init__(self, estimator: Any, X: Any, length: int, count: int) -> None:
        self.estimator, self.X = estimator, X
        self.fitted: list[Any] = [Always(False)] * count
        self.decided = np.zeros((length, count), dtype=bool)

    def scores(self) -> NDArray[Any]:
        """+1 or -1."""
        return np.where(self.decided, 1.0, -1.0)

    def sums(self, table: Table) -> Array:
        """Add the decisions up."""
        return table.cells.sums(self.decided)

    def respond(self, table: Table, coefficients: Array) -> None:
        """Refit, configuration by configuration."""
        costs = table.cells.spread(coefficients)
        for c in range(costs.shape[1]):
            self.fitted[c] = self._fit(costs[:, c])
            self.decided[:, c] = decisions([self.fitted[c]], self.X, len(costs))[:, 0]

    def _fit(self, cost: Array) -> Any:
        from sklearn.base import clone

        wanted, size = cost < 0, np.abs(cost)
        used = size > 0
        if not used.any() or not wanted[used].any():
            return Always(False)
        if wanted[used].all():
            return Always(True)
        weights = size * (used.sum() / size.sum())
        return clone(self.estimator).fit(self.X, wanted.astype(int), sample_weight=weights)

    def photograph(self) -> list[Any]:
        """Keep the fitted classifiers."""
        return list(self.fitted)

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop the other configurations."""
        self.fitted = [self.fitted[c] for c in columns]
        self.decided = self.decided[:, columns]

    def finite(self) -> NDArray[np.bool_]:
        """Always."""
        return np.ones(len(self.fitted), dtype=bool)

    def members(self, photographs: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Collect the fitted classifiers."""
        return FiniteMembers(tuple(photographs[t][c] for t, c in chosen))

    def average(self, photographs: Sequence[Any], chosen: Sequence[Choice], weights: Array) -> Members:
        """Refuse: classifiers of any kind have no average."""
        raise AlgorithmError("an oracle's classifiers cannot be averaged: use uniform(), shrink() or polish()")


@dataclass(frozen=True)
class Always:
    """The classifier that says the same to everybody."""

    answer: bool

    def decision_function(self, X: Any) -> Array:
        """+1 or -1 for everybody."""
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        return np.full(rows, 1.0 if self.answer else -1.0)
