"""Rows that repeat: whether there are such, and how the hashed output draws for them.

In: the hashes of the rows, and the cells of a problem. Out: `Draws`, the hashes with the salts to choose among, or None
where rows are distinct. `selection.salts` chooses a salt.

The hashed output decides equal rows alike. Where (nearly) all rows are distinct, its draws average out and the rates
of new rows are those of the mixture. Where rows repeat they do not, and once the salt is drawn the classifier is a
function of the row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.hashing import Hashes, feature_hashes, salted, uniform
from .._core.seeds import stream
from ..data.cells import Cells
from ..data.labels import one_hot
from ..data.sample import Sample
from ..game.classifiers import Classifier
from ..problem.problem import Problem

Array = NDArray[np.float64]
Rows = NDArray[np.intp] | slice

REPEATED = 0.01
"""Mean number of other rows that equal a row, from which on rows repeat.

The variance over salts of a rate, as served on new rows, is at most this share of its sampling variance below it."""
SALTS = 256
"""Salts to choose among: the best is better than 99 % of all draws, and keeps several constraints at their limits."""


def hashes_of(X: Any) -> Hashes | None:
    """The hash of each row that the hashed output draws by, before the salt; None for what is no table of numbers."""
    if sp.issparse(X):
        return feature_hashes(X)
    if not isinstance(X, np.ndarray) or X.ndim > 2 or X.dtype.kind not in "biuf":
        return None
    return feature_hashes(X.reshape(len(X), -1))


def rows_repeat(hashes: Hashes, groups: Iterable[NDArray[np.bool_]] = (), copies: Array | None = None) -> bool:
    """Whether rows repeat among all of them, or within one of some groups of rows.

    ``copies`` are how many rows each stands for; by default one.

    Examples
    --------
    >>> rows_repeat(np.arange(1000, dtype=np.uint64)), rows_repeat(np.arange(1000, dtype=np.uint64) % 5)
    (False, True)
    """
    copies = np.ones(len(hashes)) if copies is None else copies
    _, place = np.unique(hashes, return_inverse=True)
    place = place.reshape(-1)
    if _equal_others(place, copies, float(copies.sum())) >= REPEATED:
        return True
    twice = np.flatnonzero(np.bincount(place, weights=copies)[place] > 1)
    return len(twice) > 0 and any(
        _equal_others(place[there], copies[there], float(copies[inside].sum())) >= REPEATED
        for inside in groups
        for there in [twice[inside[twice]]]
        if len(there)
    )


def _equal_others(place: NDArray[np.intp], copies: Array, rows: float) -> float:
    """Mean number of other rows that equal a row."""
    counts = np.bincount(place, weights=copies) if len(place) else np.zeros(1)
    return float((counts * np.maximum(counts - 1, 0.0)).sum()) / max(rows, 1.0)


@dataclass(frozen=True, eq=False)
class Draws:
    """The hashes of rows that repeat, and the salts to choose among; the first is the one that rows draw by else."""

    hashes: Hashes
    salts: tuple[int, ...]

    @classmethod
    def of(
        cls, hashes: Hashes | None, problem: Problem, cells: Cells, seed: int | None, counted: bool = False
    ) -> Draws | None:
        """The draws of some rows; None where they are distinct, or several processes share them.

        With ``counted``, a weight that is a whole number stands for as many copies of its row.
        """
        if hashes is None or cells.shared.size > 1:
            return None
        there = cells.weights > 0
        behind = {rate.population: rate for rate in problem.rates()}.values()
        masks = (cells.members[rate.slice] & rate.among(cells.labels) for rate in behind)
        weights = cells.weights[there]
        copies = weights if counted and bool((weights == np.floor(weights)).all()) else None
        if not rows_repeat(hashes[there], (mask[cells.index[there]] for mask in masks), copies):
            return None
        return cls(hashes, tuple(map(int, stream("salt", seed).integers(2**63, size=SALTS))))

    def take(self, rows: Rows) -> Draws:
        """The draws of some of the rows."""
        return replace(self, hashes=self.hashes[rows])

    def decisions(self, classifier: Classifier, sample: Sample, salt: int) -> Array:
        """What a classifier decides with a salt, row by row: 0 or 1, or 1 for one of several classes."""
        decided = classifier.members.decide(sample.X, attributes=sample.examples.columns)
        picked = classifier.pick(decided, uniform(salted(self.hashes, salt)))
        return picked.astype(float) if classifier.n_classes == 2 else one_hot(picked, classifier.n_classes)
