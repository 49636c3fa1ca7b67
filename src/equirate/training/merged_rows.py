"""Equal rows as one row with the sum of their weights, in an order that depends on the rows alone.

In: a `Training` that holds nothing out. Out: the same on merged rows, so that a weight of 2 trains exactly as the row
given twice does, and a weight of 0 as the row left out: sums are added up in the same order, and round alike.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._core.hashing import row_hashes
from ..data.sample import Sample, taken
from ..models.design import stored_values
from .parts import Parts
from .training import Training

MAX_VALUES_COPIED = 1 << 24
"""Most values for which features are copied: a tenth of a second. With more rows, rounding hardly matters."""


def merged(training: Training) -> Training:
    """The same training on merged rows; as it is where rows are held out, or are many."""
    settings, sample, cells = training.settings, training.sample, training.cells
    nothing_held_out = training.parts.validation is None and training.parts.test is None
    plain = settings.resolved_model.capabilities.all_parts and settings.confidence is None
    if not (nothing_held_out and plain) or cells.shared.size > 1 or stored_values(sample.X) > MAX_VALUES_COPIED:
        return training
    used = np.flatnonzero(cells.weights > 0)
    hashes = row_hashes(taken(sample.X, used))
    order = used[np.lexsort((cells.index[used], hashes))]
    X = taken(sample.X, order)
    differ = np.asarray((X[1:] != X[:-1]).sum(axis=1)).reshape(-1) > 0
    new = np.concatenate([[True], differ | (np.diff(cells.index[order]) != 0)])
    first = order[new]
    weights = np.add.reduceat(cells.weights[order], np.flatnonzero(new))
    rows = sample.take(first)
    all_rows = slice(0, len(first))
    return replace(
        training,
        sample=Sample(rows.X, replace(rows.examples, weights=weights, clusters=None), rows.names),
        cells=replace(cells.batch(first).weighing(weights), clusters=None),
        parts=Parts(None, all_rows, None, all_rows),
        draws=None if training.draws is None else training.draws.take(first),
    )
