"""Splitting examples into parts that look alike: stratified by cell, so that every part can measure every rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.peers import peers
from .._core.seeds import stream
from .cells import Cells

Array = NDArray[np.float64]
Parts = list[NDArray[np.intp]]


def split_by_cell(cells: Cells, shares: Sequence[float], seed: int | None) -> Parts:
    """Split into parts with given shares, cell by cell; every part is sorted.

    Every part has its share of every cell to within one example. Each cell is dealt out from a place of its own
    (systematic sampling), so that many small cells do not all round the same way. Rows that several processes share are
    split as if they were all in one place, those of process 0 first; each is told the parts of its own.

    Examples
    --------
    >>> import equirate as eq
    >>> from equirate.data.examples import Examples
    >>> examples = Examples.of([0, 1] * 20, {"g": [0, 0, 1, 1] * 10})
    >>> cells = Cells.of_examples(examples, [eq.attr("g") == 1], [])
    >>> [len(part) for part in split_by_cell(cells, (0.6, 0.4), 0)]
    [24, 16]
    """
    first, total = peers().places(len(cells.of))
    rng = stream("split", seed)
    numbers = _numbers(rng, first, len(cells.of), total)
    start = (rng.permutation(len(cells)) + 0.5) / len(cells)
    ends = np.cumsum(np.asarray(shares, dtype=float) / np.sum(shares))[:-1]
    part = _dealt(cells, numbers, start, ends) if peers().size == 1 else _dealt_together(cells, numbers, start, ends)
    return [np.flatnonzero(part == k) for k in range(len(shares))]


def _numbers(rng: np.random.Generator, first: int, count: int, total: int) -> Array:
    """The draws of the rows that are here, as if all rows were: each takes one step of the generator."""
    if peers().size == 1:
        return rng.random(total)
    rng.bit_generator.advance(first)  # type: ignore[attr-defined]  # that of `stream` can
    numbers = rng.random(count)
    rng.bit_generator.advance(total - first - count)  # type: ignore[attr-defined]
    return numbers


def _dealt(cells: Cells, numbers: Array, start: Array, ends: Array) -> NDArray[np.intp]:
    """The part of each row: cell by cell, in the order of the numbers drawn."""
    n = len(cells.of)
    order = np.lexsort((numbers, cells.of))
    sizes = np.bincount(cells.of, minlength=len(cells))
    place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    part = np.empty(n, dtype=np.intp)
    part[order] = np.searchsorted(ends, (place + np.repeat(start, sizes)) / np.repeat(sizes, sizes), side="right")
    return part


def _dealt_together(cells: Cells, numbers: Array, start: Array, ends: Array) -> NDArray[np.intp]:
    """The same over the rows of all processes, none of which are moved.

    A part ends at some place in the order of a cell, so at some number. That is found by bisection: each step counts
    the smaller numbers over all processes. The numbers are multiples of 2^-53.
    """
    order = np.lexsort((numbers, cells.of))
    here = np.bincount(cells.of, minlength=len(cells))
    edges = np.concatenate([[0], np.cumsum(here)])
    sizes = np.asarray(peers().total(here))
    wanted = _before(sizes, start, ends)
    sorted_ = numbers[order]
    low, high = np.zeros(wanted.shape, np.int64), np.full(wanted.shape, 2**53, np.int64)
    for _ in range(54):
        middle = (low + high) // 2
        smaller = np.stack(
            [np.searchsorted(sorted_[a:b], row * 2.0**-53) for a, b, row in zip(edges, edges[1:], middle, strict=False)]
        )
        enough = np.asarray(peers().total(smaller)) >= wanted
        low, high = np.where(enough, low, np.minimum(middle + 1, high)), np.where(enough, middle, high)
    limits = high * 2.0**-53  # numbers below these are in the parts before
    part = np.zeros(len(numbers), dtype=np.intp)
    for k in range(len(ends)):
        part += numbers >= limits[cells.of, k]
    return part


def _before(sizes: NDArray[Any], start: Array, ends: Array) -> NDArray[np.int64]:
    """(cells, ends): how many rows of each cell lie before each end, as `_dealt` deals them."""
    size = np.maximum(sizes, 1)[:, None]
    count = np.ceil(ends * size - start[:, None]).astype(np.int64)
    for step in (1, -1):  # as the same division rounds it
        inside = (count + (0 if step > 0 else -1) + start[:, None]) / size < ends
        count += np.where(inside if step > 0 else ~inside, step, 0)
    return np.asarray(np.clip(count, 0, sizes[:, None]), dtype=np.int64)


def measurable(rates: Iterable[Any], cells: Cells, fewest: int = 1) -> bool:
    """Whether both labels are there, and every rate has at least ``fewest`` examples of positive weight behind it.

    ``rates`` have a ``slice``, which the cells tell apart, and a ``kind``.
    """
    counts = peers().total(np.bincount(cells.of[cells.weights > 0], minlength=len(cells)))
    behind = [counts[cells.members[rate.slice] & np.isin(cells.labels, rate.kind.labels)].sum() for rate in rates]
    both = all(counts[cells.labels == label].any() for label in (0, 1))
    return both and all(number >= fewest for number in behind)
