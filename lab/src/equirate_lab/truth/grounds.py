"""Data on which all linear classifiers are known: what can be reached is a polytope of four numbers.

In: a kind and a seed. Out: a `Ground`: features, labels and groups for a classifier to be fitted on, and its `Reach`:
the shares of examples predicted positive, by group and label, that mixtures of linear classifiers can have.
One-hot features: every bucket is decided by itself, so the shares fill a zonotope. One feature: thresholds in both
directions. Two features: half-planes, of which there are finitely many by what they hold, through pairs of points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

Array = NDArray[np.float64]

CELLS = ((0, 0), (0, 1), (1, 0), (1, 1))
"""(Group, label) of the four shares, in order."""


@dataclass(frozen=True, eq=False)
class Reach:
    """The shares ``generators @ x`` of examples predicted positive, by cell.

    ``x`` holds weights of a mixture (at least 0, their sum is 1) if ``mixed``, else a probability for each bucket.
    ``totals`` are the shares of the cells themselves.
    """

    generators: Array
    totals: Array
    mixed: bool

    @property
    def width(self) -> int:
        """Number of variables."""
        return int(self.generators.shape[1])

    def draw(self, rng: np.random.Generator) -> Array:
        """Draw shares that can be reached."""
        x = rng.dirichlet(np.full(self.width, 0.3)) if self.mixed else rng.random(self.width)
        return np.asarray(self.generators @ x)

    def support(self, direction: Array) -> float:
        """The largest inner product of a direction with what can be reached."""
        gains = direction @ self.generators
        return float(gains.max() if self.mixed else np.maximum(gains, 0.0).sum())


@dataclass(frozen=True, eq=False)
class Ground:
    """Data, and what linear classifiers can reach on them."""

    kind: str
    name: str
    X: Array
    y: NDArray[np.int64]
    group: NDArray[np.int64]
    reach: Reach

    @property
    def attributes(self) -> dict[str, NDArray[np.int64]]:
        """The group, as estimators take it."""
        return {"g": self.group}


def one_hot(seed: int, buckets: int, each: int = 50) -> Ground:
    """Indicators of buckets; the groups differ in which they are in and in how often the label is 1 there."""
    rng = np.random.default_rng([1, seed])
    n = buckets * each
    group = (rng.random(n) < rng.uniform(0.25, 0.5)).astype(np.int64)
    where = np.array([rng.dirichlet(np.full(buckets, 3.0)) for _ in range(2)])
    bucket = np.array([rng.choice(buckets, p=where[g]) for g in group])
    bucket[:buckets] = np.arange(buckets)  # nobody's indicator is constant
    chance = np.clip(rng.beta(0.8, 1.4, size=buckets) + rng.normal(0, 0.15, size=(2, buckets)), 0.02, 0.95)
    y = (rng.random(n) < chance[group, bucket]).astype(np.int64)
    totals = _shares(np.ones((1, n), dtype=bool), group, y)[:, 0]
    generators = _shares(bucket == np.arange(buckets)[:, None], group, y)
    X = np.eye(buckets)[bucket]
    return Ground("one-hot", f"{buckets} buckets, {n} rows, seed {seed}", X, y, group, Reach(generators, totals, False))


def one_feature(seed: int, n: int) -> Ground:
    """One feature that shifts with the group and bends with the label; thresholds in both directions are known."""
    rng = np.random.default_rng([2, seed])
    group = (rng.random(n) < rng.uniform(0.3, 0.5)).astype(np.int64)
    x = rng.normal(size=n) + rng.uniform(-0.8, 0.8) * group
    chance = 1 / (1 + np.exp(-(rng.uniform(0.6, 2.0) * x - rng.uniform(0.0, 1.2) + rng.uniform(-1, 1) * group)))
    y = (rng.random(n) < chance).astype(np.int64)
    order = np.argsort(x)
    above = np.ones((n + 1, n), dtype=bool)
    for k in range(n):
        above[k + 1 :, order[k]] = False
    return _mixed("one feature", f"{n} rows, seed {seed}", x[:, None], y, group, np.vstack([above, ~above]))


def two_features(seed: int, n: int) -> Ground:
    """Two features; all half-planes are known."""
    rng = np.random.default_rng([3, seed])
    group = (rng.random(n) < rng.uniform(0.35, 0.5)).astype(np.int64)
    X = rng.normal(size=(n, 2)) + np.outer(group, rng.uniform(-0.9, 0.9, size=2))
    slope = rng.uniform(0.4, 1.6, size=2) * rng.choice([-1, 1], size=2)
    bend = rng.uniform(-0.4, 0.4)
    chance = 1 / (1 + np.exp(-(X @ slope + bend * X[:, 0] * X[:, 1] - rng.uniform(0.0, 0.9))))
    y = (rng.random(n) < chance).astype(np.int64)
    return _mixed("two features", f"{n} rows, seed {seed}", X, y, group, half_planes(X))


def half_planes(X: Array) -> NDArray[np.bool_]:
    """(dichotomies, points): every way in which a line divides points in general position, both sides; some twice.

    A line that divides points can be turned and moved until it goes through two of them; so it is enough to take the
    lines through all pairs, and to give each of the two points to either side.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.1], [0.1, 1.0], [1.1, 1.2]])
    >>> len(np.unique(half_planes(square), axis=0))  # n (n - 1) + 2
    14
    """
    found = [np.zeros((1, len(X)), dtype=bool)]
    for i in range(len(X)):
        for j in range(i + 1, len(X)):
            along, beyond = X[j] - X[i], X - X[i]
            side = np.tile(along[0] * beyond[:, 1] - along[1] * beyond[:, 0] > 0, (4, 1))
            side[:, i], side[:, j] = (False, False, True, True), (False, True, False, True)
            found.append(side)
    sides = np.concatenate(found)
    return np.concatenate([sides, ~sides])


def _mixed(
    kind: str, name: str, X: Array, y: NDArray[np.int64], group: NDArray[np.int64], decided: NDArray[np.bool_]
) -> Ground:
    """A ground whose classifiers are listed; those that others mix to are left out."""
    totals = _shares(np.ones((1, len(y)), dtype=bool), group, y)[:, 0]
    every = np.unique(_shares(decided, group, y), axis=1)
    corners = every[:, np.sort(ConvexHull(every.T).vertices)]
    return Ground(kind, name, X, y, group, Reach(corners, totals, True))


def _shares(decided: NDArray[np.bool_], group: NDArray[np.int64], y: NDArray[np.int64]) -> Array:
    """(cells, decisions): the share of all examples that are predicted positive and in the cell."""
    cells = np.array([(group == g) & (y == label) for g, label in CELLS])
    return np.asarray(cells.astype(float) @ decided.T / len(y))


@cache
def grounds() -> tuple[Ground, ...]:
    """All of them. With fewer rows for its features, a default `RateClassifier` would choose on held-out rows alone."""
    hot = [one_hot(seed, buckets) for seed, buckets in enumerate((5, 5, 8, 8, 12, 12, 16, 20))]
    one = [one_feature(seed, n) for seed, n in enumerate((120, 150, 200, 250, 300, 400))]
    return (*hot, *one, *(two_features(seed, n) for seed, n in enumerate((80, 90, 100, 110, 120))))
