"""Contribution of each feature to the score by which a member decides.

In: features, and linear weights or trees. Out: `Contributions`, which add up to the score: above 0 where 1 is
predicted. For trees these are path contributions: each split adds the change in the mean value of the leaves
below, which is attributed to the feature that is split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.features import dense

if TYPE_CHECKING:
    from .forests import Forest

Array = NDArray[np.float64]


class Contributions(NamedTuple):
    """Parts of the scores of members: ``base + groups + features.sum(axis=2)`` is the score.

    Attributes
    ----------
    base
        Constant part of the score (rows, members): intercept or mean of the trees, less the threshold.
    features
        Contribution of each feature (rows, members, features).
    groups
        Contribution of the estimated groups of a row (rows, members): the threshold of a plug-in rule depends on them.
        It is infinite where the rule decides by them alone.
    """

    base: Array
    features: Array
    groups: Array

    @classmethod
    def of(cls, base: Any, features: Array, groups: Array | None = None) -> Contributions:
        """Bring the parts to one shape."""
        shape = features.shape[:2]
        return cls(
            np.broadcast_to(np.asarray(base, dtype=float), shape),
            features,
            np.zeros(shape) if groups is None else np.broadcast_to(groups, shape),
        )

    @property
    def scores(self) -> Array:
        """The scores (rows, members)."""
        return np.asarray(self.base + self.groups + self.features.sum(axis=2))

    def picked(self, members: NDArray[np.intp]) -> Contributions:
        """Of one member for each row."""
        rows = np.arange(len(members))
        return Contributions(*(part[rows, members][:, None] for part in self))

    def in_order(self, order: NDArray[Any]) -> Contributions:
        """The members in another order, or some of them."""
        return Contributions(*(part[:, order] for part in self))

    def mean(self, weights: Array) -> Contributions:
        """Of the weighted mean of the scores."""
        return Contributions(*(np.einsum("rm...,m->r...", part, weights)[:, None] for part in self))

    def merged(self, parts: Sequence[slice]) -> Contributions:
        """Sum the contributions of groups of features."""
        sums = [self.features[:, :, part].sum(axis=2) for part in parts]
        return Contributions(self.base, np.stack(sums, axis=2), self.groups)

    @staticmethod
    def beside(parts: Sequence[Contributions]) -> Contributions:
        """Those of several members, side by side."""
        return Contributions(*(np.concatenate(each, axis=1) for each in zip(*parts, strict=True)))


def linear_contributions(X: Any, W: NDArray[Any]) -> Contributions:
    """Of linear scores: each feature times its weight; the intercepts are the last row of W."""
    V = W.astype(float)
    features = dense(X).astype(W.dtype).astype(float)[:, None, :] * V[:-1].T
    return Contributions.of(V[-1], features)


def node_means(left: NDArray[Any], right: NDArray[Any], value: Array, cover: Array) -> Array:
    """Values of nodes: those of leaves as they are, those of others the mean of the leaves below by their cover.

    ``cover`` is how much of the training data fell into each node. Children come after their parents.
    """
    means = value.copy()
    for node in np.flatnonzero(left != np.arange(len(left)))[::-1].tolist():
        a, b = int(left[node]), int(right[node])
        total = cover[a] + cover[b]
        share = cover[a] / total if total > 0 else 0.5
        means[node] = share * means[a] + (1 - share) * means[b]
    return means


def tree_contributions(forest: Forest, X: Any) -> tuple[Array, Array]:
    """Means (scores,) and path contributions (rows, scores, features) of the scores of a forest."""
    features = forest.checked_features(X)
    columns = np.ascontiguousarray(features.T)
    base = forest.offset.copy()
    contributions = np.zeros((len(features), len(base), forest.width))
    for root, column in zip(forest.roots.tolist(), forest.column.tolist(), strict=True):
        base[column] += forest.value[root]
        for parent, node, rows in forest.visits(columns, root):
            contributions[rows, column, forest.feature[parent]] += forest.value[node] - forest.value[parent]
    return base, contributions
