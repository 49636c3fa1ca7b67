"""Rows that repeat: whether there are any, and how the hashed output draws for them.

In: the hashes of the rows, and the cells of a problem. Out: `Draws`, the hashes with the salts to choose among, or None
where rows are distinct. `selection.salts` chooses a salt.

The hashed output decides equal rows alike. Where (nearly) all rows are distinct, its draws average out and the rates
of new rows are those of the mixture. Where rows repeat they do not, and once the salt is drawn the classifier is a
function of the row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.hashing import Hashes, feature_hashes, salted, uniform
from .._core.peers import ALONE, Peers
from .._core.seeds import stream
from ..data.cells import Cells
from ..data.labels import one_hot
from ..data.sample import Sample
from ..game.classifiers import Classifier
from ..problem.problem import Problem

Array = NDArray[np.float64]
RowIndex = NDArray[np.intp] | slice

REPEATED = 0.01
"""Rows count as repeated if a row equals, on average, at least this many other rows.

With fewer, the choice of a salt adds at most this share of a rate's sampling variance to its variance on new rows."""
MAX_ROWS_COMPARED = 200_000
"""Distinct rows of all processes that are compared with each other; of more, the most frequent and a sample."""
FEWEST_COPIES = 10
"""Equal rows whose labels must agree to look like copies; by chance that has a probability near 1 in 1,000."""
COPIES = (
    "equal rows always have the same label here, as copies made by oversampling do. Copies are not independent: if "
    "these are some, the test of the constraints says too much; name the copies of a row with fit(clusters=...)"
)
_SAMPLE_SALT = 0
"""The salt of the hashes that choose this sample."""
SAMPLED = 100
"""Rows of a cell, over the root of their number, that `may_repeat` compares."""
_VARIED = 256
"""Rows that show which features vary most."""
SALTS = 256
"""Salts to choose among: the best is better than 99 % of all draws, and keeps several constraints at their limits."""


def may_repeat(X: Any, cells: Cells) -> bool:
    """Whether rows may repeat, by two features of some of them; False only where they (almost surely) do not.

    Rows are equal only where their two most varied features are. Of a cell of N rows, `SAMPLED` times the root of N are
    compared. Rows that repeat as often as `REPEATED` says, in a slice of N rows, make 50 pairs there on average, or
    10 copies of a single row: that no two agree has a probability below 1 in 1,000.
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f" or not cells.unweighted:
        return True
    if cells.shared.size > 1:  # a row's copies may be on other processes
        return True
    sizes = np.maximum(np.bincount(cells.index, minlength=len(cells)), 1)
    share = SAMPLED / np.sqrt(sizes)
    if (share < 1).any():
        rows = np.flatnonzero(np.random.default_rng(0).random(len(X)) < share[cells.index])
    else:
        rows = np.arange(len(X))
    first = np.sort(X[rows[:_VARIED]], axis=0)
    varied = np.argsort(-(first[1:] != first[:-1]).sum(axis=0), kind="stable")[:2]
    hashes = np.sort(feature_hashes(np.stack([X[:, k][rows] for k in varied], axis=1))) if len(varied) else rows * 0
    return bool((hashes[1:] == hashes[:-1]).any())


def rows_repeat(
    hashes: Hashes,
    groups: Iterable[NDArray[np.bool_]] = (),
    copies: Array | None = None,
    shared: Peers = ALONE,
) -> bool:
    """Whether rows repeat, among all rows or within one of the groups.

    ``copies`` are how many rows each represents; by default one. ``shared`` are the processes that share the rows.

    Examples
    --------
    >>> rows_repeat(np.arange(1000, dtype=np.uint64)), rows_repeat(np.arange(1000, dtype=np.uint64) % 5)
    (False, True)
    """
    copies = np.ones(len(hashes)) if copies is None else copies
    masks = chain([np.ones(len(hashes), dtype=bool)], groups)
    if shared.size > 1:
        return any(_equal_others_of_all(hashes[inside], copies[inside], shared) >= REPEATED for inside in masks)
    _, place = np.unique(hashes, return_inverse=True)
    place = place.reshape(-1)
    twice = np.flatnonzero(np.bincount(place, weights=copies)[place] > 1)

    def equal_others(inside: NDArray[np.bool_]) -> float:
        rows = twice[inside[twice]]
        counts = np.bincount(place[rows], weights=copies[rows])
        return _pairs(counts) / max(float(copies[inside].sum()), 1.0)

    return len(twice) > 0 and any(equal_others(inside) >= REPEATED for inside in masks)


def _pairs(counts: NDArray[Any]) -> float:
    """Number of pairs of a row and another one that equals it, from the counts of equal rows."""
    return float((counts * np.maximum(counts - 1, 0.0)).sum())


def _equal_others_of_all(hashes: Hashes, copies: Array, shared: Peers, most: int = MAX_ROWS_COMPARED) -> float:
    """Mean number of other rows, on all processes, that equal a row; estimated for more than ``most`` distinct rows.

    The estimate counts all copies of rows that are frequent on some process, and of a random sample of the others. The
    sample is drawn by hash: a row has the same hash on every process, so all of its copies are drawn or none.
    """
    values, place = np.unique(hashes, return_inverse=True)
    counts = np.bincount(place.reshape(-1), weights=copies, minlength=len(values))
    distinct, rows = shared.total(len(values)), shared.total(float(copies.sum()))
    share = min(most / max(distinct, 1), 1.0)
    frequent = np.sort(values[np.argsort(-counts, kind="stable")[: most // shared.size]])
    common = np.unique(np.concatenate(shared.gather(frequent)))
    known = np.isin(values, common)
    at = np.searchsorted(common, values[known])
    often = shared.total(np.bincount(at, weights=counts[known], minlength=len(common)))
    some = ~known & (uniform(salted(values, _SAMPLE_SALT)) < share)
    parts = shared.gather((values[some], counts[some]))
    _, place = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    seldom = np.bincount(place.reshape(-1), weights=np.concatenate([part[1] for part in parts]))
    return float((_pairs(often) + _pairs(seldom) / share) / max(rows, 1.0))


def are_copies(hashes: Hashes, labels: NDArray[Any]) -> bool:
    """Whether rows repeat and equal rows always have the same label, as copies made by oversampling do.

    Examples
    --------
    >>> hashes = np.repeat(np.arange(20, dtype=np.uint64), 2)
    >>> are_copies(hashes, np.repeat(np.arange(20) % 2, 2)), are_copies(hashes, np.arange(40) % 2)
    (True, False)
    """
    order = np.argsort(hashes, kind="stable")
    equal = hashes[order][1:] == hashes[order][:-1]
    agree = labels[order][1:] == labels[order][:-1]
    return bool(equal.sum() >= FEWEST_COPIES and agree[equal].all())


@dataclass(frozen=True, eq=False)
class Draws:
    """The hashes of rows that repeat, and the salts to choose among; the first is the default."""

    hashes: Hashes
    salts: tuple[int, ...]

    @classmethod
    def of(
        cls, hashes: Hashes | None, problem: Problem, cells: Cells, seed: int | None, counted: bool = False
    ) -> Draws | None:
        """The draws of some rows; None where they are distinct.

        With ``counted``, a weight that is a whole number counts as that many copies of its row.
        """
        if hashes is None:
            return None
        weighted = cells.weights > 0
        behind = {rate.population: rate for rate in problem.rates()}.values()
        weights = cells.weights[weighted]
        whole_numbers = counted and not cells.shared.some((weights != np.floor(weights)).any())
        inside = (cells.behind(rate)[cells.index[weighted]] for rate in behind)
        if not rows_repeat(hashes[weighted], inside, weights if whole_numbers else None, cells.shared):
            return None
        return cls(hashes, tuple(map(int, stream("salt", seed).integers(2**63, size=SALTS))))

    def take(self, rows: RowIndex) -> Draws:
        """The draws of some of the rows."""
        return replace(self, hashes=self.hashes[rows])

    def decisions(self, classifier: Classifier, sample: Sample, salt: int) -> Array:
        """What a classifier decides with a salt, row by row: 0 or 1, or 1 for one of several classes."""
        decided = classifier.members.decide(sample.X, attributes=sample.examples.columns)
        picked = classifier.pick(decided, uniform(salted(self.hashes, salt)))
        return picked.astype(float) if classifier.n_classes == 2 else one_hot(picked, classifier.n_classes)
