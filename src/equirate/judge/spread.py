"""Spread: how much sums over a sample vary from one sample to the next, by cells of examples or by clusters.

In: examples with predictions, the linear rates that are asked about, and which examples belong together. Out: for a
linear function of the rates, in which example i moves the total by :math:`u_i = w_i (a_c p_i + b_c)` with a and b of
its cell c, the sums of :math:`u^2` and :math:`u^3` and the covariances with the rates. No confidence level enters.

Without clusters all sums are those of powers of w and p in each cell, gathered once: a direction then costs nothing
that grows with the number of examples. With clusters :math:`u` is added up within each cluster first (cluster-robust),
and second moments are multiplied by G / (G - 1) for G clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.errors import DataError
from .._core.peers import Peers
from ..data.arrays import missing_values, one_dimensional, same_length, to_numpy
from ..data.cells import Cells
from ..data.kinds import RateKind, among, class_terms
from ..language.nodes import Rate
from ..problem.rate_matrix import contributions

Array = NDArray[np.float64]
_BLOCK = 1 << 20
_SORTS = 8  # of examples of two classes: label, baseline and prediction
_SLICES = 256  # slices whose cells are added up together
Clusters = NDArray[np.int64]
"""Number of the cluster that each example belongs to: 0, 1, 2 ..."""


@dataclass(frozen=True, eq=False)
class CellSums:
    """Sums over independent examples: powers of w and p in each cell.

    An axis of functions stands before that of the cells where each function has cells of its own (`linear`).
    """

    squares: Array
    """Sums of w^2, w^2 p and w^2 p^2, (3, cells)."""
    cubes: Array
    """Sums of w^3 times 1, p, p^2 and p^3, (4, cells)."""

    @classmethod
    def of(cls, cells: Cells, weights: Array, predictions: Array, drawn: bool = False) -> CellSums:
        """Gather the sums; ``drawn`` predictions are 0 or 1 with probability p, so that all their powers are p."""
        two, three = np.zeros((3, len(cells))), np.zeros((4, len(cells)))
        for first in range(0, len(weights), _BLOCK):  # temporary arrays of one block only
            rows = slice(first, first + _BLOCK)
            of, w, p = cells.index[rows], weights[rows], predictions[rows]
            equal = bool((w == 1).all())
            alike = drawn or bool(((p == 0) | (p == 1)).all())  # all powers are p
            values = w if equal else w * w
            for k in range(4):
                if k < 2 or not alike:
                    counting = equal and k == 0
                    added = np.bincount(of, weights=None if counting else values, minlength=len(cells))
                    cubed = added if equal else np.bincount(of, weights=values * w, minlength=len(cells))
                if k < 3:
                    two[k] += added
                three[k] += cubed
                if k == 0 or not alike:
                    values = p if counting else values * p
        return cls(*cells.shared.add(two, three))

    def times(self, factor: float) -> CellSums:
        """The same for shares of a sample that has ``factor`` times as many such examples."""
        return CellSums(self.squares / factor, self.cubes / factor**2)

    def moments(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Sums of the squares and of the cubes of u, for each of several: rows of a and b."""
        two, three = self.squares, self.cubes
        aa, ab, bb = a * a, a * b, b * b  # numpy's powers take far longer than products
        second = (aa * two[2] + 2 * ab * two[1] + bb * two[0]).sum(axis=-1)
        third = (aa * a * three[3] + 3 * aa * b * three[2] + 3 * ab * b * three[1] + bb * b * three[0]).sum(axis=-1)
        return np.maximum(second, 0.0), np.asarray(third)

    def covariances(self, a: Array, b: Array, slopes: Array, offsets: Array) -> Array:
        """Sums of u times each of several other such functions, whose a and b are columns; u may be several, too."""
        zero, one, two = (sums.reshape(-1, *(1,) * (a.ndim - 1)) for sums in self.squares)
        covariances: Array = slopes.T @ (two * a + one * b) + offsets.T @ (one * a + zero * b)
        return covariances

    def merged(self, number: int, into: NDArray[np.intp]) -> CellSums:
        """The same with cells put together: which of ``number`` new cells each cell goes ``into``."""
        two, three = (
            np.stack([np.bincount(into, weights=row, minlength=number) for row in sums]).astype(float, copy=False)
            for sums in (self.squares, self.cubes)
        )
        return CellSums(two, three)

    def concentration(self, inside: Array) -> Array:
        """Sum of squared shares: 1 over the effective number of independent examples (Kish).

        ``inside`` (functions, cells, rates) is 1 / total in the cells of a rate.
        """
        return np.asarray((self.squares[0][..., None] * inside * inside).sum(axis=-2))


@dataclass(frozen=True, eq=False)
class UnitSums:
    """The same over independent units: clusters, or groups of examples with one cell and the same probabilities."""

    answers: sp.csr_array
    """(units, counts): sums of w p, over those of w in groups of examples."""
    totals: sp.csr_array
    """(units, cells): sums of w, or 1 in the cell of a group of examples."""
    squares: Array
    """Factor of the square of each unit's u: 1, or the sum of w^2."""
    cubes: Array
    """Factor of its cube: 1, or the sum of w^3."""
    clusters: float | None = None
    """Number of clusters; None for groups of examples."""

    @classmethod
    def of_clusters(cls, cells: Cells, weights: Array, predictions: Array, clusters: Clusters) -> UnitSums:
        """Gather the sums over examples that have a weight."""
        positive = weights > 0
        names, rows = np.unique(clusters[positive], return_inverse=True)
        shape, columns = (len(names), len(cells)), cells.index[positive]

        def gathered(values: Array) -> sp.csr_array:
            return sp.csr_array((values[positive], (rows.reshape(-1), columns)), shape=shape)

        by_answer = predictions[:, None] if predictions.ndim == 1 else predictions[:, 1:]
        answers = sp.csr_array(sp.hstack([gathered(weights * chances) for chances in by_answer.T]))
        ones = np.ones(len(names))
        return cls(answers, gathered(weights), ones, ones, len(names))

    def times(self, factor: float) -> UnitSums:
        """The same for shares of a sample that has ``factor`` times as many such units."""
        clusters = None if self.clusters is None else self.clusters * factor
        return replace(self, squares=self.squares / factor, cubes=self.cubes / factor**2, clusters=clusters)

    @property
    def _correction(self) -> float:
        return 1.0 if self.clusters is None else self.clusters / max(self.clusters - 1, 0.5)

    def moments(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Sums of the squares and of the cubes of u."""
        u = self.answers @ a.T + self.totals @ b.T
        square = u * u
        return self.squares @ square * self._correction, self.cubes @ (square * u) * self._correction

    def covariances(self, a: Array, b: Array, slopes: Array, offsets: Array) -> Array:
        """Sums of u times each of several other such functions."""
        u = self.answers @ a + self.totals @ b
        weighed = (u.T * self.squares).T
        covariances: Array = slopes.T @ (self.answers.T @ weighed) + offsets.T @ (self.totals.T @ weighed)
        return covariances * self._correction

    def merged(self, number: int, into: NDArray[np.intp]) -> UnitSums:
        """The same with cells of two classes put together."""
        adder = sp.csr_array((np.ones(len(into)), (np.arange(len(into)), into)), shape=(len(into), number))
        return replace(self, answers=self.answers @ adder, totals=self.totals @ adder)

    def concentration(self, inside: Array) -> Array:
        """Sum of squared shares of units."""
        return np.array([self.squares @ (self.totals @ own) ** 2 for own in inside], dtype=float)


Sums = CellSums | UnitSums


def clusters_of(values: Any, length: int, shared: Peers) -> Clusters | None:
    """Number the clusters; an error for missing values, wrong lengths, and a single cluster."""
    if values is None:
        return None
    if shared.size > 1:
        raise DataError("clusters need all rows in one place: judge a sample of the rows inside alone()")
    array = one_dimensional(to_numpy(values), "clusters")
    same_length(array, length, "clusters")
    missing = int(missing_values(array).sum())
    if missing:
        raise DataError(f"clusters has {missing} missing values: give an example without a cluster a unique name")
    names, numbers = np.unique(array.astype(str) if array.dtype == object else array, return_inverse=True)
    if len(names) < 2:
        raise DataError(
            "clusters holds one cluster only: give two at least, since uncertainty is estimated between them"
        )
    return np.asarray(numbers.reshape(-1), dtype=np.int64)


def columns(cells: Cells, rates: Sequence[Rate]) -> tuple[Array, Array, Array]:
    """Slopes (counts, rates), offsets and 1 (cells, rates) of rates, over their denominators."""
    slopes = np.zeros((cells.n_classes - 1, len(cells), len(rates)))
    offsets, inside = np.zeros((2, len(cells), len(rates)))
    for k, rate in enumerate(rates):
        chosen = np.flatnonzero(cells.behind(rate))
        total = cells.totals[chosen].sum()
        if total > 0:
            slope, offset = contributions(rate, cells, chosen)
            share = 1 / total
            slopes[:, chosen, k], offsets[chosen, k], inside[chosen, k] = slope.T * share, offset * share, share
    return slopes.reshape(cells.n_counts, len(rates)), offsets, inside


def outcomes(rate: Rate, n_classes: int = 2, baselines: bool = True) -> Array:
    """What an example of each sort contributes to a rate: label (among those it is measured on), baseline, answer."""
    if n_classes == 2:
        return np.resize(np.array(rate.outcomes[1], dtype=float), _SORTS)
    others = n_classes if baselines else 1
    labels, other, answers = (part.reshape(-1) for part in np.indices((n_classes, others, n_classes)))
    known = np.flatnonzero(rate.among(np.arange(n_classes)))
    terms = class_terms(rate.kind, rate.codes, known[labels % len(known)], other)
    value = terms.offset.copy()
    for coefficient, target in terms.targets:
        value += np.where(answers == target, coefficient, 0.0)
    return value


def rates_by_key(cells: Cells, rates: Iterable[Rate], counts: Array) -> dict[tuple[Any, ...], float]:
    """Values of rates from the weighted counts of answers in each cell; rates without examples are left out."""
    if cells.n_classes > 2:
        unique = {rate.key: rate for rate in rates}
        slopes, offsets, inside = columns(cells, list(unique.values()))
        measured = np.clip(slopes.T @ counts + offsets.T @ cells.totals, 0.0, 1.0).tolist()
        return {key: value for key, value, own in zip(unique, measured, inside.T, strict=True) if own.any()}
    values: dict[tuple[Any, ...], float] = {}
    by_kind: dict[tuple[RateKind, str | None], dict[tuple[Any, ...], Rate]] = {}
    for rate in rates:
        by_kind.setdefault((rate.kind, rate.baseline), {})[rate.key] = rate
    for (kind, baseline), same_kind in by_kind.items():
        b = 0 if baseline is None else cells.baselines[baseline]
        slope, offset = np.array(kind.contributions)[cells.labels, b].T
        counted = among(kind, None, cells.labels)
        each = np.where(counted, slope * counts + offset * cells.totals, 0.0), np.where(counted, cells.totals, 0.0)
        members = [cells.members[rate.slice] for rate in same_kind.values()]
        for key, (value, total) in zip(same_kind, sums_by_slice(members, np.stack(each, axis=1)), strict=True):
            if total > 0:
                values[key] = min(max(value / total, 0.0), 1.0)
    return values


def sums_by_slice(members: Sequence[NDArray[np.bool_]], values: Array) -> Iterator[list[float]]:
    """Sums of values (cells, columns) over the cells in each of several slices."""
    for first in range(0, len(members), _SLICES):  # no more than blocks beside what was given
        yield from (np.array(members[first : first + _SLICES], dtype=float) @ values).tolist()
