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
from ..data.examples import to_numpy
from ..players.steps import StepRule
from .contract import Array, Asked, Choice, Learner, Members, Model, Rows, Seen
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

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Keep the features as they are: the estimator knows best."""
        return OracleLearner(self.estimator, rows, count)


class OracleLearner(Learner):
    """One fitted classifier per configuration."""

    def __init__(self, estimator: Any, rows: Rows, count: int) -> None:
        self.estimator, self.rows = estimator, rows
        self.X = rows.X if hasattr(rows.X, "shape") else to_numpy(rows.X)
        self.fitted: list[Any] = [Always(False)] * count

    def answer(self, asked: Asked) -> Seen:
        """Refit, configuration by configuration."""
        costs = self.rows.trained.spread(asked.costs)
        self.fitted = [self._fit(cost) for cost in costs.T]
        return Seen(self.rows.cells.sums(decisions(self.fitted, self.X, len(self.rows))))

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

    def resume(self, state: list[Any]) -> None:
        """Take the fitted classifiers over."""
        self.fitted = list(state)

    def snapshot(self) -> list[Any]:
        """Keep the fitted classifiers."""
        return list(self.fitted)

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop the other configurations."""
        self.fitted = [self.fitted[c] for c in columns]

    def finite(self) -> NDArray[np.bool_]:
        """Always."""
        return np.ones(len(self.fitted), dtype=bool)

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Collect the fitted classifiers."""
        return FiniteMembers(tuple(snapshots[t][c] for t, c in chosen))


@dataclass(frozen=True)
class Always:
    """The classifier that says the same to everybody."""

    answer: bool

    def decision_function(self, X: Any) -> Array:
        """+1 or -1 for everybody."""
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        return np.full(rows, 1.0 if self.answer else -1.0)
