"""Splitting examples into parts that look alike: stratified by cell, so that every part can measure every rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._core.seeds import stream
from .cells import Cells
from .examples import Examples

Parts = list[NDArray[np.intp]]


class Rated(Protocol):
    """Anything that names the rates it is about: a problem, or a part of one."""

    def rates(self) -> Iterable[Any]:
        """The linear rates, each with ``kind``, ``slice`` and ``baseline``."""


def split_by_cell(problem: Rated, examples: Examples, shares: Sequence[float], seed: int | None) -> Parts:
    """Split into parts with given shares, cell by cell; every part is sorted.

    A cell is a label, a membership of each of the problem's slices, and each baseline's prediction. Every part has its
    share of every cell to within one example. Each cell is dealt out from a place of its own (systematic sampling), so
    that many small cells do not all round the same way.

    Examples
    --------
    >>> import equirate as eq
    >>> problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr(eq.attr("g") == 1) >= 0.5])
    >>> examples = Examples.of([0, 1] * 20, {"g": [0, 0, 1, 1] * 10})
    >>> [len(part) for part in split_by_cell(problem, examples, (0.6, 0.4), 0)]
    [24, 16]
    """
    rates = list(problem.rates())
    names = [rate.baseline for rate in rates if rate.baseline is not None]
    cells = Cells.of_examples(examples, [rate.slice for rate in rates], names)
    ends = np.cumsum(np.asarray(shares, dtype=float) / np.sum(shares))[:-1]
    rng = stream("split", seed)
    order = np.lexsort((rng.random(len(examples)), cells.of))
    start = (rng.permutation(len(cells)) + 0.5) / len(cells)
    sizes = np.bincount(cells.of, minlength=len(cells))
    place = np.arange(len(examples)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    part = np.empty(len(examples), dtype=np.intp)
    part[order] = np.searchsorted(ends, (place + np.repeat(start, sizes)) / np.repeat(sizes, sizes), side="right")
    return [np.flatnonzero(part == k) for k in range(len(shares))]


def measurable(problem: Rated, examples: Examples, fewest: int = 1) -> bool:
    """Whether every rate of a problem has at least ``fewest`` examples behind it."""
    return all(np.count_nonzero(examples.denominator(rate.kind, rate.slice)) >= fewest for rate in problem.rates())


def subset(examples: Examples, rows: NDArray[np.intp]) -> Examples:
    """Some of the examples."""
    columns = {name: column[rows] for name, column in examples.columns.items()}
    return replace(examples.with_columns(columns), labels=examples.labels[rows], weights=examples.weights[rows])
