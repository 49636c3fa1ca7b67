"""Rates as linear functions of the sums over cells: what each cell contributes to each rate.

In: rates and cells. Out: the factors of the matrix of rates and their offsets; an empty slice is refused by name.
`table` builds on these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.errors import DataError
from ..data.cells import Cells
from ..data.examples import Examples, empty_message
from ..data.kinds import class_terms
from ..language.measuring import Measure
from ..language.nodes import Rate
from .matrices import work_of_shape

Array = NDArray[np.float64]


def without_predictions(cells: Cells, examples: Examples) -> Measure:
    """Measure what no prediction changes, such as `base_rate`, from the totals of the cells."""

    def measure(part: Any) -> float:
        inside = np.flatnonzero(cells.behind(part))
        totals = cells.totals[inside]
        if totals.sum() <= 0:
            raise DataError(empty_message(part, examples))
        _, offsets = contributions(part, cells, inside)
        return min(max(float(offsets @ totals / totals.sum()), 0.0), 1.0)

    return measure


def rate_matrix(rates: Sequence[Rate], cells: Cells, examples: Examples) -> tuple[tuple[sp.csr_array, ...], Array]:
    """The factors of the matrix of rates, last factor first, and the offsets of the rates.

    A rate of most cells, such as that of everybody but a group, is a sum over all cells, which it has in common with
    other rates, less one over the few cells outside. Where that is less work, the sums are a factor of their own.
    """
    labelled: dict[tuple[Any, ...], NDArray[np.bool_]] = {}
    inside, outside, totals = [], [], []
    for rate in rates:
        which = (rate.kind.labels, rate.codes)
        if which not in labelled:
            labelled[which] = rate.among(cells.labels)
        chosen = cells.members[rate.slice] & labelled[which]
        total = cells.totals[chosen].sum()
        if total <= 0:
            raise DataError(empty_message(rate, examples))
        inside.append(np.flatnonzero(chosen))
        outside.append(np.flatnonzero(labelled[which] & ~chosen))
        totals.append(total)
    size, answers = cells.n_counts, cells.n_classes - 1
    common = {(rate.kind.labels, rate.kind.contributions, rate.baseline, rate.codes): rate for rate in rates}
    entries_inside = answers * sum(map(len, inside))
    entries_factored = answers * sum(
        min(len(own), 1 + len(others)) for own, others in zip(inside, outside, strict=True)
    )
    sums = work_of_shape(len(common) + size, size, size * (len(common) + 1))
    factored = work_of_shape(len(rates), size + len(common), entries_factored) + sums < work_of_shape(
        len(rates), size, entries_inside
    )
    places = {key: size + k for k, key in enumerate(common)}
    rows, columns, values, offsets = [], [], [], []
    for k, rate in enumerate(rates):
        where, each, offset = _contributions(rate, cells, inside[k])
        offsets.append(float(offset @ cells.totals[inside[k]] / totals[k]))
        if factored and 1 + len(outside[k]) < len(inside[k]):
            where, each, _ = _contributions(rate, cells, outside[k])
            place = places[rate.kind.labels, rate.kind.contributions, rate.baseline, rate.codes]
            where, each = np.append(where, place), np.append(-each, 1.0)
        rows.append(np.full(len(where), k))
        columns.append(where)
        values.append(each / totals[k])
    matrix = _sparse(rows, columns, values, (len(rates), size + factored * len(common)))
    if not factored:
        return (matrix,), np.array(offsets, dtype=float)
    every = [
        _contributions(rate, cells, np.flatnonzero(labelled[rate.kind.labels, rate.codes])) for rate in common.values()
    ]
    numbers = [np.full(len(where), k) for k, (where, _, _) in enumerate(every)]
    added = _sparse(numbers, [each[0] for each in every], [each[1] for each in every], (len(common), size))
    return (sp.csr_array(sp.vstack([sp.eye_array(size), added])), matrix), np.array(offsets, dtype=float)


def _sparse(rows: Sequence[Any], columns: Sequence[Any], values: Sequence[Any], shape: tuple[int, int]) -> sp.csr_array:
    if not rows:
        return sp.csr_array(shape)
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return sp.csr_array(sp.coo_array(entries, shape=shape))


def _contributions(rate: Rate, cells: Cells, chosen: NDArray[np.intp]) -> tuple[NDArray[np.intp], Array, Array]:
    """The counts of some cells that move a rate, by how much each does, and what each cell adds without predictions."""
    slopes, offset = contributions(rate, cells, chosen)
    if cells.n_classes == 2:
        return chosen, slopes[:, 0], offset
    answers, places = np.nonzero(slopes.T)
    return answers * len(cells) + chosen[places], slopes[places, answers], offset


def contributions(rate: Rate, cells: Cells, chosen: NDArray[np.intp]) -> tuple[Array, Array]:
    """What answers 1, 2 ... add to answer 0 in some cells, (cells, classes - 1), and what answer 0 gives."""
    other = None if rate.baseline is None else cells.baselines[rate.baseline][chosen]
    if cells.n_classes > 2:
        return class_terms(rate.kind, rate.codes, cells.labels[chosen], other).by_answer(cells.n_classes)
    slope, offset = np.array(rate.kind.contributions)[cells.labels[chosen], 0 if other is None else other].T
    return slope[:, None], offset
