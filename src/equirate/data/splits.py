"""Splitting examples into parts that look alike: stratified by cell, so that every part can measure every rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.seeds import stream
from .cells import Cells

Parts = list[NDArray[np.intp]]


def split_by_cell(cells: Cells, shares: Sequence[float], seed: int | None) -> Parts:
    """Split into parts with given shares, cell by cell; every part is sorted.

    Every part has its share of every cell to within one example. Each cell is dealt out from a place of its own
    (systematic sampling), so that many small cells do not all round the same way.

    Examples
    --------
    >>> import equirate as eq
    >>> from equirate.data.examples import Examples
    >>> examples = Examples.of([0, 1] * 20, {"g": [0, 0, 1, 1] * 10})
    >>> cells = Cells.of_examples(examples, [eq.attr("g") == 1], [])
    >>> [len(part) for part in split_by_cell(cells, (0.6, 0.4), 0)]
    [24, 16]
    """
    n = len(cells.of)
    ends = np.cumsum(np.asarray(shares, dtype=float) / np.sum(shares))[:-1]
    rng = stream("split", seed)
    order = np.lexsort((rng.random(n), cells.of))
    start = (rng.permutation(len(cells)) + 0.5) / len(cells)
    sizes = np.bincount(cells.of, minlength=len(cells))
    place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    part = np.empty(n, dtype=np.intp)
    part[order] = np.searchsorted(ends, (place + np.repeat(start, sizes)) / np.repeat(sizes, sizes), side="right")
    return [np.flatnonzero(part == k) for k in range(len(shares))]


def measurable(rates: Iterable[Any], cells: Cells, fewest: int = 1) -> bool:
    """Whether both labels are there, and every rate has at least ``fewest`` examples of positive weight behind it.

    ``rates`` have a ``slice``, which the cells tell apart, and a ``kind``.
    """
    counts = np.bincount(cells.of[cells.weights > 0], minlength=len(cells))
    behind = [counts[cells.members[rate.slice] & np.isin(cells.labels, rate.kind.labels)].sum() for rate in rates]
    both = all(counts[cells.labels == label].any() for label in (0, 1))
    return both and all(number >= fewest for number in behind)
