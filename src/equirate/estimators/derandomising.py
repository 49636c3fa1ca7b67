"""Making a mixture deterministic: which member decides in which bin of one score, so that every rate stays.

In: a mixture, the table it was chosen on, and the sample behind that table. Out: a `Classifier` of one member with
(nearly) the mixture's rates, or None where the members have no scores, or there are as many rates as bins.

The rows on which members disagree are cut into bins along their mean score. A share of each member in each bin is a
point of a small linear programme whose equalities are the rates; the mixture's own weights in every bin are feasible,
so there is a basic solution, and that has no more fractional bins than there are rates. Those are given, one after the
other, to the member that is best for the problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog

from .._core.errors import AlgorithmError
from .._core.peers import peers
from ..data.sample import Sample
from ..game.classifiers import Classifier
from ..models.derandomised import Derandomised
from ..problem.table import Table

Array = NDArray[np.float64]

MOST_BINS = 400
"""Bins of the rows that members disagree on; each fractional one costs a fraction of its share."""
MOST_SCORES = 1 << 20
"""Scores that processes send each other to cut bins by."""
FEWEST = 4
"""Rows in a bin, about: smaller ones would be decided by the noise in them."""


def derandomised(
    mixture: Classifier, judge: Table, sample: Sample, cost: Callable[[Array], Array]
) -> Classifier | None:
    """Give every bin to a member. ``cost`` judges rates (rates, columns): objective and violation as one number."""
    members, weights = mixture.members, mixture.weights
    if len(members) == 1:
        return mixture
    attributes = sample.examples.columns
    decided = members.decide(sample.X, attributes=attributes)
    try:
        score = members.mean_score(sample.X, weights=weights, attributes=attributes)
    except AlgorithmError:
        return None
    apart = np.flatnonzero(decided.any(axis=1) & ~decided.all(axis=1) & (judge.cells.weights > 0))
    scores = gathered(score[apart])
    edges = _edges(scores, min(MOST_BINS, max(len(scores) // FEWEST, 1)))
    if len(judge.program.rates) > len(edges):  # a basic solution would share every bin
        return None
    bins = np.searchsorted(edges, score[apart], side="right")
    rates = _rates_of_bins(judge, decided, apart, bins, len(edges) + 1)
    agreed = np.asarray(decided.all(axis=1))
    fixed = judge.rates(judge.cells.sums_of_all(agreed[:, None]))[:, 0]
    shares = _basic(rates, weights)
    choice = _settled(rates, fixed, shares, cost)
    single = Derandomised(members, weights, edges, choice.astype(np.int64))
    return replace(mixture, members=single, weights=np.ones(1), origin="derandomised", chosen=(), notes={})


def gathered(score: Array) -> Array:
    """The scores of all processes; of very many, quantiles of each process's, in proportion to how many it has."""
    _, total = peers().places(len(score))
    if total > MOST_SCORES:
        count = max(len(score) * MOST_SCORES // total, 1)
        score = np.quantile(score, (np.arange(count) + 0.5) / count, method="nearest") if len(score) else score
    return np.concatenate(peers().gather(score))


def _edges(score: Array, count: int) -> Array:
    """Edges between rising scores, each in the middle of a gap, with about as many rows in every bin."""
    values = np.unique(score)
    if len(values) < 2:
        return np.zeros(0)
    places = np.unique(np.searchsorted(values, np.quantile(score, np.arange(1, count) / count), side="right"))
    places = places[(places > 0) & (places < len(values))]
    middle = (values[places - 1] + values[places]) / 2
    return np.unique(middle[(values[places - 1] < middle) & (middle < values[places])])


def _rates_of_bins(
    judge: Table, decided: NDArray[np.bool_], apart: NDArray[np.intp], bins: NDArray[np.intp], count: int
) -> Array:
    """(rates, bins, members): what each member adds to each rate in each bin."""
    cells, size = judge.cells, len(judge.cells)
    place = bins * size + cells.of[apart]
    sums = np.stack(
        [
            np.bincount(place, weights=cells.weights[apart] * member, minlength=count * size)
            for member in decided[apart].T
        ],
        axis=1,
    )
    sums = peers().total(sums)
    per_cell = sums.reshape(count, size, -1).transpose(1, 0, 2).reshape(size, -1)
    matrix = judge.rate_matrix
    return np.asarray(matrix @ per_cell).reshape(matrix.shape[0], count, -1)


def _basic(rates: Array, weights: Array) -> Array:
    """Shares of the members in the bins (bins, members) with the mixture's rates; few bins are shared."""
    n_rates, bins, members = rates.shape
    if not bins:
        return np.zeros((0, members))
    flat = rates.reshape(n_rates, -1)
    scale = np.maximum(np.abs(flat).max(axis=1), 1e-12)
    whole = sp.kron(sp.eye_array(bins), np.ones((1, members)))
    wanted = np.tile(weights, bins)
    parts: Any = [sp.csr_array(flat / scale[:, None]), whole]
    A: Any = sp.csr_array(sp.vstack(parts))
    b = np.concatenate([flat @ wanted / scale, np.ones(bins)])
    # Any objective gives a corner. Random costs spread the members over the whole score, as a draw would, so that the
    # rates hold beyond these rows; an ordered one would meet them by what is particular to the bins.
    favour = np.random.default_rng(0).exponential(1 / np.maximum(wanted, 1e-6))
    found = linprog(favour, A_eq=A, b_eq=b, bounds=(0, 1), method="highs-ds")
    return (np.asarray(found.x) if found.status == 0 else wanted).reshape(bins, members)


def _settled(rates: Array, fixed: Array, shares: Array, cost: Callable[[Array], Array]) -> NDArray[np.intp]:
    """Give the shared bins to one member each, the largest first, with the others as they are shared so far."""
    choice: NDArray[np.intp] = np.argmax(shares, axis=1)
    current = shares.copy()
    total = fixed + np.einsum("rbm,bm->r", rates, current)
    mass = np.abs(rates).sum(axis=(0, 2))
    for b in sorted(np.flatnonzero((shares > 1e-9).sum(axis=1) > 1), key=lambda b: -mass[b]):
        without = total - rates[:, b] @ current[b]
        options = np.flatnonzero(current[b] > 1e-9)
        best = int(options[np.argmin(cost(without[:, None] + rates[:, b, options]))])
        choice[b], current[b] = best, np.eye(rates.shape[2])[best]
        total = without + rates[:, b, best]
    return choice
