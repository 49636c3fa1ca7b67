"""Making a mixture deterministic: one member decides in each bin of a score, and every rate nearly stays.

In: a mixture, the table it was chosen on, and the sample behind that table. Out: a `Classifier` of one member with
nearly the mixture's rates, or None where the members have no scores, or there are as many rates as bins.

The rows on which members disagree are cut into bins along their mean score. A linear programme gives each member a
share of each bin, such that the rates are those of the mixture. The weights of the mixture, as the shares in every bin,
are a solution, so there is a basic solution too, and that divides no more bins than there are rates. Each of these bins
is then given to one member, bin by bin: to the one that is best for objective and constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from .._core.peers import Peers
from ..data.cells import Cells
from ..data.sample import Sample
from ..game.classifiers import Classifier
from ..mixtures.bins import shares_by_bin
from ..models.derandomised import Derandomised, disagree, scores_of_disputed
from ..problem.table import Table

Array = NDArray[np.float64]

MOST_BINS = 400
"""Bins of the rows that members disagree on; each fractional one costs a fraction of its share."""
MOST_SCORES = 1 << 20
"""Scores that processes send each other to cut bins by."""
ROWS_PER_BIN = 4
"""Rows in a bin, about: smaller ones would be decided by the noise in them."""


def derandomised(
    mixture: Classifier, judge: Table, sample: Sample, cost: Callable[[Array], Array]
) -> Classifier | None:
    """Give every bin to a member. ``cost`` judges rates (rates, columns): objective and violation as one number."""
    members, weights = mixture.members, mixture.weights
    if len(members) == 1:
        return mixture
    decided = members.decide_sample(sample)
    try:
        disputed, score = scores_of_disputed(members, weights, sample)
    except AlgorithmError:
        return None
    weighted = judge.cells.weights[disputed] > 0
    disputed, score = disputed[weighted], score[weighted]
    scores = gathered(score, judge.cells.shared)
    edges = _edges(scores, min(MOST_BINS, max(len(scores) // ROWS_PER_BIN, 1)))
    if len(judge.program.rates) > len(edges):  # a basic solution would share every bin
        return None
    bins = np.searchsorted(edges, score, side="right")
    rates = _rates_of_bins(judge, decided, disputed, bins, len(edges) + 1)
    fixed = judge.rates(agreed_sums(judge.cells, decided))[:, 0]
    shares = shares_by_bin(rates, weights)
    choice = _rounded(rates, fixed, shares, cost)
    single = Derandomised(members, weights, edges, choice.astype(np.int64))
    return replace(mixture, members=single, weights=np.ones(1), origin="derandomised", chosen=(), notes={})


def agreed_sums(cells: Cells, decided: NDArray[Any]) -> Array:
    """Sums over the rows that all members decide alike, in one column."""
    disputed = disagree(decided)
    if decided.dtype == bool:
        return cells.sums((decided[:, 0] & ~disputed)[:, None])
    return replace(cells, weights=np.where(disputed, 0.0, cells.weights)).counts(decided[:, :1])


def gathered(score: Array, shared: Peers) -> Array:
    """The scores of all processes; of very many, quantiles of each process's, in proportion to how many it has."""
    _, total = shared.places(len(score))
    if total > MOST_SCORES:
        count = max(len(score) * MOST_SCORES // total, 1)
        score = np.quantile(score, (np.arange(count) + 0.5) / count, method="nearest") if len(score) else score
    return np.concatenate(shared.gather(score))


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
    judge: Table, decided: NDArray[Any], disputed: NDArray[np.intp], bins: NDArray[np.intp], count: int
) -> Array:
    """(rates, bins, members): what each member adds to each rate in each bin."""
    cells = judge.cells
    size = cells.n_classes * len(cells)
    place, weights = bins * size + cells.index[disputed], cells.weights[disputed]
    sums = np.stack(
        [
            np.bincount(place + member.astype(np.intp) * len(cells), weights=weights, minlength=count * size)
            for member in decided[disputed].T
        ],
        axis=1,
    )
    counted = sums.reshape(count, size, -1)[:, len(cells) :]  # the answers 1, 2 ...: those of the answer 0 follow
    by_count = cells.shared.total(np.ascontiguousarray(counted)).transpose(1, 0, 2)
    return judge.moved_rates(by_count.reshape(cells.n_counts, -1)).reshape(len(judge.rate_offset), count, -1)


def _rounded(rates: Array, fixed: Array, shares: Array, cost: Callable[[Array], Array]) -> NDArray[np.intp]:
    """Give each shared bin to one member, the largest bin first, with the other bins as they are so far."""
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
