"""Splitting rows into parts that look alike: by cell, so that each measures every rate, clusters together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.seeds import stream
from .cells import Cells

Array = NDArray[np.float64]
RowLists = list[NDArray[np.intp]]
_BLOCK = 1 << 20


def split_by_cell(cells: Cells, shares: Sequence[float], seed: int | None, use: str = "split") -> RowLists:
    """Split into parts with given shares, cell by cell; every part is sorted. ``use`` names the random stream.

    Every part has its share of every cell to within one example. Each cell is dealt out from an offset of its own
    (systematic sampling), so that many small cells do not all round the same way. Rows that several processes share are
    split as if they were all on one process, those of process 0 first; each process gets the parts of its own rows.
    Examples of a cluster stay together: clusters are split, each counted in the rarest cell of its examples.

    Examples
    --------
    >>> import equirate as eq
    >>> from equirate.data.examples import Examples
    >>> examples = Examples.of([0, 1] * 20, {"g": [0, 0, 1, 1] * 10})
    >>> cells = Cells.of_examples(examples, [eq.attr("g") == 1], [])
    >>> [len(part) for part in split_by_cell(cells, (0.6, 0.4), 0)]
    [24, 16]
    """
    if cells.clusters is not None:
        parts = split_by_cell(clusters_as_examples(cells), shares, seed, use)
        part_of = np.zeros(1 + int(cells.clusters.max(initial=0)), dtype=np.intp)
        known = np.unique(cells.clusters)
        for k, part in enumerate(parts):
            part_of[known[part]] = k
        return [np.flatnonzero(part_of[cells.clusters] == k) for k in range(len(shares))]
    first, total = cells.shared.places(len(cells.index))
    rng = stream(use, seed)
    numbers = _numbers(rng, first, len(cells.index), total)
    start = (rng.permutation(len(cells)) + 0.5) / len(cells)
    ends = np.cumsum(np.asarray(shares, dtype=float) / np.sum(shares))[:-1]
    limits = _limits(cells, numbers, start, ends)
    part = np.zeros(len(numbers), dtype=np.int8 if len(shares) < 128 else np.intp)
    for first in range(0, len(numbers), _BLOCK):
        rows = slice(first, first + _BLOCK)
        for end in limits.T:
            part[rows] += numbers[rows] >= end[cells.index[rows]]
    return [np.flatnonzero(part == k) for k in range(len(shares))]


def clusters_as_examples(cells: Cells) -> Cells:
    """The cells of clusters, in the order of their numbers: each has the rarest cell among those of its examples.

    Rare cells are then dealt out as evenly as they can be.
    """
    assert cells.clusters is not None
    order = np.argsort(np.bincount(cells.index, minlength=len(cells))[cells.index], kind="stable")
    first = order[np.unique(cells.clusters[order], return_index=True)[1]]
    return replace(cells, index=cells.index[first], weights=np.ones(len(first)), clusters=None)


def _numbers(rng: np.random.Generator, first: int, count: int, total: int) -> Array:
    """The draws of this process's rows, as if all rows were here: each row takes one step of the generator."""
    if count == total:
        return rng.random(total)
    rng.bit_generator.advance(first)  # type: ignore[attr-defined]  # that of `stream` can
    numbers = rng.random(count)
    rng.bit_generator.advance(total - first - count)  # type: ignore[attr-defined]
    return numbers


def _limits(cells: Cells, numbers: Array, start: Array, ends: Array) -> Array:
    """(cells, ends): the rows of a cell whose draw is below this limit belong to the parts before an end.

    With the rows of a cell sorted by their draws, a part ends at some row, and so at some draw. Where processes share
    the rows, that is found by bisection without moving any: each step counts the smaller draws over all processes. The
    draws are multiples of 2^-53.
    """
    sizes = np.bincount(cells.index, minlength=len(cells))
    edges = np.concatenate([[0], np.cumsum(sizes)])
    by_cell = numbers[cells.order]
    drawn = [by_cell[a:b] for a, b in itertools.pairwise(edges)]
    wanted = _before(cells.sizes(), start, ends)
    if cells.shared.size == 1:
        return np.array([_at_ranks(each, row) for each, row in zip(drawn, wanted, strict=True)])
    for each in drawn:
        each.sort()
    low, high = np.zeros(wanted.shape, np.int64), np.full(wanted.shape, 2**53, np.int64)
    for _ in range(54):
        middle = (low + high) // 2
        smaller = [np.searchsorted(each, row * 2.0**-53) for each, row in zip(drawn, middle, strict=True)]
        enough = np.asarray(cells.shared.total(np.array(smaller))) >= wanted
        low, high = np.where(enough, low, np.minimum(middle + 1, high)), np.where(enough, middle, high)
    return np.asarray(high * 2.0**-53, dtype=float)


def _at_ranks(numbers: Array, ranks: NDArray[np.int64]) -> Array:
    """The numbers of these ranks, counted from 0 for the smallest; beyond the last one, 1."""
    inside = ranks[ranks < len(numbers)]
    if len(inside):
        numbers = np.partition(numbers, inside)
    return np.append(numbers, 1.0)[ranks]


def _before(sizes: NDArray[Any], start: Array, ends: Array) -> NDArray[np.int64]:
    """(cells, ends): how many rows of each cell lie before each end, if each is dealt out from its start."""
    size = np.maximum(sizes, 1)[:, None]
    count = np.ceil(ends * size - start[:, None]).astype(np.int64)
    for step in (1, -1):  # correct the rounding of the division
        inside = (count + (0 if step > 0 else -1) + start[:, None]) / size < ends
        count += np.where(inside if step > 0 else ~inside, step, 0)
    return np.asarray(np.clip(count, 0, sizes[:, None]), dtype=np.int64)


def measurable(rates: Iterable[Any], cells: Cells, fewest: int = 1) -> bool:
    """Whether all labels occur, and every rate is measured on at least ``fewest`` examples of positive weight.

    ``rates`` have a ``slice``, which is a union of cells, and say which labels they are measured among.
    """
    counts = cells.sizes(positive=True)
    every = all(counts[cells.labels == label].any() for label in range(cells.n_classes))
    return every and all(counts[cells.behind(rate)].sum() >= fewest for rate in rates)
