"""Which rows train, which are held out, and which test a margin.

In: `Settings`, a problem and its cells. Out: `Parts`, three slices of the rows, and the order of rows that they need.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError, NotSolvedWarning
from .._core.warning import warn
from ..data.cells import Cells
from ..data.splits import measurable, split_by_cell
from ..problem.problem import Problem
from .settings import SPLIT, Settings

RowIndex = NDArray[np.intp]
MIN_EXAMPLES_PER_RATE = 5
"""Fewest examples of a rate in every part; with fewer, fit uses all data for everything, with a warning."""


@dataclass(frozen=True)
class Parts:
    """How the examples are laid out: first those to train on, then those held out, then those to test margins on.

    ``choose`` are the rows that the mixture is chosen on. ``order`` brings the examples into this layout; None where
    they stay as they are.
    """

    order: RowIndex | None
    train: slice
    validation: slice | None
    choose: slice
    test: slice | None = None

    def held_out(self, rows: int) -> NDArray[np.bool_] | None:
        """Which of the first rows are held out, where they are before `order` is applied; None where none are."""
        if self.validation is None:
            return None
        held_out = np.zeros(rows, dtype=bool)
        held_out[self.validation if self.order is None else self.order[self.validation]] = True
        return held_out

    @classmethod
    def of(cls, settings: Settings, problem: Problem, cells: Cells, width: int, seed: int | None) -> Parts:
        """Split into a part to train on, one to choose on and, for the strict method of confidence, one to test on."""
        share, tested, everything = settings.validation, settings.test_share, slice(0, len(cells.index))
        if settings.resolved_model.capabilities.out_of_sample and not settings.referee:
            share = 0.0  # the model's rates are those of rows that it has not seen: none need to be held out
        if share == 0 and not tested:
            return cls(None, everything, None, everything)
        shares = [(1 - tested) * (1 - share), (1 - tested) * share, tested]
        rows = split_by_cell(cells, [part for part in shares if part], seed)
        if all(measurable(problem.rates(), cells.batch(part), MIN_EXAMPLES_PER_RATE) for part in rows):
            ends = np.cumsum([0, *map(len, rows)]).tolist()
            parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
            test = parts.pop() if tested else None
            # Both parts together choose best (the held-out one alone is small), unless the model overfits.
            on_all = settings.may_mix_on_training_rows(cells.shared.total(len(rows[0])), width)
            choose = slice(0, ends[len(parts)]) if on_all else parts[-1]
            small: Any = np.int32 if ends[-1] < 2**31 else np.intp  # it is kept as long as the rows
            return cls(np.concatenate(rows, dtype=small), parts[0], parts[1] if share else None, choose, test)
        if tested and settings.confidence_method == SPLIT:  # without a test there is no certificate
            return cls.of(replace(settings, confidence=None), problem, cells, width, seed)
        message = f"too few examples behind some rate to hold data out{_smallest(problem, cells)}"
        if tested or settings.two_sets:
            wish = "two_sets" if settings.two_sets else 'confidence_method="holdout"'
            raise DataError(f"{message}, so {wish} is not possible: give more data or larger slices")
        advice = "min_support= leaves small groups out of ready-made constraints"
        message += f": the mixture is chosen on the training data. {advice}"
        warn(message, NotSolvedWarning)
        return cls(None, everything, None, everything)


def _smallest(problem: Problem, cells: Cells) -> str:
    """The rate with the fewest examples, and how many these are."""
    counts = cells.sizes(positive=True)
    rate, count = min(((rate, int(counts[cells.behind(rate)].sum())) for rate in problem.rates()), key=itemgetter(1))
    return f" ({rate!r} has {count:,})"
