"""Linear classifiers of rows that are linearly independent, such as indicators of buckets.

In: rows of which few are distinct. Out: a learner, where every decision of the distinct rows is that of a linear
classifier; `game.engine` asks for it. Costs are then answered exactly: a distinct row is predicted 1 where that costs
less than predicting 0. The distinct rows sorted by that gain are a family, one classifier for each length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.cells import Cells
from ..data.features import dense
from ..data.sample import Sample
from ..mixtures import Source
from .linear import FittedLinear
from .messages import Family

Array = NDArray[np.float64]

MAX_DISTINCT_ROWS = 400
"""Largest number of distinct rows: a system of as many equations is solved, and a family has as many classifiers."""
REPEATED = 5
"""Mean number of examples per distinct row from which on deciding each row separately does not overfit."""
_EXACT = 1e-6
"""Largest error of the scores of the distinct rows."""


class IndependentRows(FittedLinear):
    """Answers of linear classifiers to costs, for rows whose distinct ones are linearly independent.

    Parameters
    ----------
    weights
        (features and intercept, distinct rows): weights of a score that is 1 at one distinct row and 0 at the others.
    counts
        (cells, distinct rows): weight of the examples of each cell that are equal to each distinct row.
    names
        Names of the features.
    """

    def __init__(self, weights: Array, counts: Array, names: tuple[str, ...] | None) -> None:
        super().__init__(names)
        self.weights, self.counts = weights, counts

    @classmethod
    def of(cls, sample: Sample, cells: Cells) -> IndependentRows | None:
        """A learner for these rows; None where they are too many, or not independent."""
        shared = cells.shared
        distinct = _distinct(sample.X)
        if shared.some(distinct is None):
            return None
        assert distinct is not None
        rows = _distinct(np.concatenate(shared.gather(distinct)))
        if rows is None or shared.total(len(sample)) < REPEATED * len(rows):
            return None
        design = np.column_stack([rows, np.ones(len(rows))])
        weights = np.linalg.pinv(design)
        if not np.abs(design @ weights - np.eye(len(rows))).max(initial=0.0) <= _EXACT:
            return None
        nearest = np.asarray(dense(sample.X) @ weights[:-1] + weights[-1]).argmax(axis=1)
        counts = np.zeros((len(cells), len(rows)))
        np.add.at(counts, (cells.index, nearest), cells.weights)
        (counts,) = shared.add(counts)
        return cls(weights, counts, sample.names)

    def respond(self, costs: Array) -> list[Family]:
        """For each of the costs (cells, answers), the distinct rows sorted by the gain from predicting 1."""
        size = np.maximum(self.counts.sum(axis=0), 1e-300)
        return [self._ordered(np.argsort(cost @ self.counts / size, kind="stable")) for cost in costs.T]

    def _ordered(self, order: NDArray[np.intp]) -> Family:
        sums = np.concatenate([np.zeros((len(self.counts), 1)), self.counts[:, order].cumsum(axis=1)], axis=1)
        sign = np.where(np.arange(len(order))[:, None] < np.arange(len(order) + 1), 1.0, -1.0)
        return Family(sums, Source.PRICED, self.weights[:, order] @ sign)


def _distinct(X: Any) -> Array | None:
    """The distinct rows, sorted; None if more than the features and the intercept, or than `MAX_DISTINCT_ROWS`."""
    most = min(X.shape[1] + 1, MAX_DISTINCT_ROWS)
    for rows in (slice(0, 8 * most), slice(None)):  # usually the first rows are enough to see that there are too many
        distinct = np.unique(dense(X[rows]), axis=0)
        if len(distinct) > most:
            return None
    return np.asarray(distinct, dtype=float)
