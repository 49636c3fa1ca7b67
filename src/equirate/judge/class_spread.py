"""Spread with more than two classes: sums over the different pairs of a cell and probabilities of the answers.

In: cells and probabilities (examples, classes). Out: what `spread` gathers for two classes. There powers of one
probability are enough; here rows of one cell with the same probabilities are put together, which are few where a few
classifiers are mixed. Slopes are by count, answers 1, 2 ... one after the other; offsets are by cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.peers import Peers
from ..data.cells import Cells
from ..data.kinds import class_terms
from ..language.nodes import Rate
from ..problem.table import class_slopes

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassSums:
    """Every example by itself: groups of examples with the same cell and the same probabilities."""

    answers: sp.csr_array
    """(groups, counts): probabilities of answers 1, 2 ... in the group's cell."""
    cells: sp.csr_array
    """(groups, cells): 1 in the group's cell."""
    squares: Array
    """Sums of w^2 in each group."""
    cubes: Array
    """Sums of w^3."""
    shared: Peers
    """The processes that share the examples; the groups are those of one process."""

    @classmethod
    def of(cls, cells: Cells, weights: Array, predictions: Array, drawn: bool = False) -> ClassSums:
        """Gather the sums; ``drawn`` predictions are one answer each, with these probabilities."""
        there = np.flatnonzero(weights > 0)
        of, w, p = cells.index[there], weights[there], predictions[there]
        if drawn:  # every answer by itself, as often as it is drawn
            rows, answers = np.nonzero(p)
            chance, of, w = p[rows, answers], of[rows], w[rows]
            places, group = np.unique(of.astype(np.int64) * p.shape[1] + answers, return_inverse=True)
            of, p = places // p.shape[1], np.eye(p.shape[1])[places % p.shape[1]]
            two, three = (np.bincount(group, weights=chance * w**k, minlength=len(places)) for k in (2, 3))
        else:
            keys = np.ascontiguousarray(np.concatenate([of[:, None].astype(float), p + 0.0], axis=1))
            whole = keys.view(np.dtype((np.void, keys.dtype.itemsize * keys.shape[1])))[:, 0]
            first, group = np.unique(whole, return_index=True, return_inverse=True)[1:]
            of, p = of[first], p[first]
            two, three = (np.bincount(group.reshape(-1), weights=w**k, minlength=len(first)) for k in (2, 3))
        return cls(*_laid_out(of, p, cells), two.astype(float), three.astype(float), cells.shared)

    def times(self, factor: float) -> ClassSums:
        """The same for shares of a sample that has ``factor`` times as many such examples."""
        return replace(self, squares=self.squares / factor, cubes=self.cubes / factor**2)

    def _values(self, a: Array, b: Array) -> Array:
        found: Array = self.answers @ a + self.cells @ b
        return found

    def moments(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Sums of the squares and of the cubes of u."""
        u = self._values(a.T, b.T)
        square = u * u
        second, third = self.shared.total(np.array([self.squares @ square, self.cubes @ (square * u)]))
        return np.maximum(second, 0.0), third

    def covariances(self, a: Array, b: Array, slopes: Array, offsets: Array) -> Array:
        """Sums of u times each of several other such functions."""
        u = self._values(a, b)
        weighed = u * (self.squares if u.ndim == 1 else self.squares[:, None])
        found: Array = slopes.T @ (self.answers.T @ weighed) + offsets.T @ (self.cells.T @ weighed)
        return np.asarray(self.shared.total(found), dtype=float)

    def merged(self, number: int, into: NDArray[np.intp]) -> ClassSums:
        """Cells are not put together here."""
        raise NotImplementedError

    def concentration(self, inside: Array) -> Array:
        """Sum of squared shares of examples."""
        found = [self.squares @ (self.cells @ own) ** 2 for own in inside]
        return np.asarray(self.shared.total(np.array(found)), dtype=float)


def _laid_out(of: NDArray[Any], p: Array, cells: Cells) -> tuple[sp.csr_array, sp.csr_array]:
    groups, size = len(of), len(cells)
    rows, answers = np.nonzero(p[:, 1:])
    places = answers * size + of[rows]
    by_answer = sp.csr_array((p[rows, answers + 1], (rows, places)), shape=(groups, cells.n_counts))
    return by_answer, sp.csr_array((np.ones(groups), (np.arange(groups), of)), shape=(groups, size))


def class_columns(cells: Cells, rates: Sequence[Rate]) -> tuple[Array, Array, Array]:
    """Slopes (counts, rates), offsets and 1 (cells, rates) of rates, over their denominators."""
    slopes = np.zeros((cells.n_classes - 1, len(cells), len(rates)))
    offsets, inside = np.zeros((2, len(cells), len(rates)))
    for k, rate in enumerate(rates):
        chosen = np.flatnonzero(cells.members[rate.slice] & rate.among(cells.labels))
        total = cells.totals[chosen].sum()
        if total > 0:
            own, offset = class_slopes(rate, cells, chosen)
            slopes[:, chosen, k], offsets[chosen, k], inside[chosen, k] = own.T / total, offset / total, 1 / total
    return slopes.reshape(cells.n_counts, len(rates)), offsets, inside


def class_rates_by_key(cells: Cells, rates: Iterable[Rate], counts: Array) -> dict[tuple[Any, ...], float]:
    """Values of rates from the weighted counts of answers; rates with nobody in them are left out."""
    some = list({rate.key: rate for rate in rates}.values())
    slopes, offsets, inside = class_columns(cells, some)
    values = slopes.T @ counts + offsets.T @ cells.totals
    there = (inside.sum(axis=0) > 0).tolist()
    return {
        rate.key: min(max(float(value), 0.0), 1.0)
        for rate, value, known in zip(some, values, there, strict=True)
        if known
    }


def class_outcomes(rate: Rate, n_classes: int, baselines: bool) -> Array:
    """What an example of each sort contributes to a rate: label (among those it is measured on), baseline, answer."""
    others = n_classes if baselines else 1
    labels, other, answers = (part.reshape(-1) for part in np.indices((n_classes, others, n_classes)))
    known = np.flatnonzero(rate.among(np.arange(n_classes)))
    terms = class_terms(rate.kind, rate.codes, known[labels % len(known)], other)
    value = terms.offset.copy()
    for coefficient, target in terms.targets:
        value += np.where(answers == target, coefficient, 0.0)
    return value


def class_contributions(rate: Rate, cells: Cells) -> Array:
    """What an example of each cell and answer contributes to a rate, (cells, classes)."""
    slopes, offset = class_slopes(rate, cells, np.arange(len(cells)))
    found: Array = offset[:, None] + np.concatenate([np.zeros((len(cells), 1)), slopes], axis=1)
    return found
