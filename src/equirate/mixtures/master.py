"""The master problem of column generation: the best mixture of the columns so far, and its prices.

In: a table, and the signed rows of columns, to which more are added. Out: `Mixture`: weights over the columns, with
their prices (duals). A classifier that costs less at these prices than every column improves the mixture.
`game.column_generation` calls this.

One linear programme is kept for the whole fit, so that each solve is warm-started. The violation is minimised first,
then the objective with no larger violation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..problem.table import Table
from . import convex, ratios
from .black_boxes import best_for_black_boxes
from .linear import FEASIBLE
from .pricing import PRICED_VIOLATION, black_box_prices, local_prices
from .programme import MixtureProgramme, basic, judged, violations_at
from .shrinking import shrink_weights

Array = NDArray[np.float64]

ROUNDS, TOLERANCE = 60, 1e-5
"""Largest number of rounds of cutting planes in one solve, and the tolerance of convex atoms."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """The best mixture of some columns.

    Attributes
    ----------
    weights
        A distribution over the columns.
    objective, violation
        Minimised objective and largest violation (at least 0).
    bound
        No mixture of these columns with this violation has a smaller objective; None where that is not known.
    prices
        Multipliers of the signed rows: for the violation first, if there is one, then for the objective.
    """

    weights: Array
    objective: float
    violation: float
    bound: float | None
    prices: tuple[Array, ...]

    @property
    def value(self) -> tuple[float, float]:
        """Rounded violation and objective: mixtures are compared by these, in this order."""
        return round(self.violation, 6), self.objective


class Master:
    """The best mixture of a growing set of columns; see the module's docstring.

    Parameters
    ----------
    table
        The problem joined with data.
    rows
        (signed rows, columns): values of the first columns.
    """

    def __init__(self, table: Table, rows: Array) -> None:
        self.table, self.rows = table, rows
        self.black_boxes = any(group.form.grid for group in table.groups)
        self.weights = self._start()
        self._programme = None if self.black_boxes else MixtureProgramme(table, rows, [], self.weights)

    def _start(self) -> Array:
        """The initial mixture: the best by each column's own values, near which ratios have a good local optimum.

        Linear programmes have no other optima, so there the best single column is enough.
        """
        if not self.table.groups:
            values = [_comparable(*judged(self.table, column)) for column in self.rows.T]
            return np.asarray(np.eye(1, len(values), values.index(min(values)))[0])
        atoms = self.table.arguments(self.rows)[1]
        objective = self.rows[0] + self.table.atom_weights[0] @ atoms
        return basic(self.rows, shrink_weights(objective, violations_at(self.table, self.rows, atoms)).weights)

    @property
    def has_ratios(self) -> bool:
        """Whether the problem has ratios, so that optima may be local."""
        return self._programme is not None and bool(self._programme.ratios)

    def add(self, rows: Array) -> None:
        """Add columns, given by their signed rows."""
        self.rows = np.concatenate([self.rows, rows], axis=1)
        self.weights = np.concatenate([self.weights, np.zeros(rows.shape[1])])
        if self._programme is not None:
            self._programme.extend(rows)

    def best(self, start: Array | None = None) -> Mixture:
        """Solve for all columns so far, from the last mixture or another one."""
        begin = self.weights if start is None else start
        mixture = self._solved(begin)
        if self._value(mixture.weights) > self._value(begin):  # programmes are exact only up to their tolerances
            mixture = Mixture(begin, *self.judge(begin), mixture.bound, mixture.prices)
        if start is None or mixture.value <= self._value(self.weights):
            self.weights = mixture.weights
        return mixture

    def judge(self, weights: Array) -> tuple[float, float]:
        """Minimised objective and largest violation of a mixture."""
        return judged(self.table, self.rows @ weights)

    def _value(self, weights: Array) -> tuple[float, float]:
        return _comparable(*self.judge(weights))

    def _solved(self, start: Array) -> Mixture:
        if self._programme is None:
            return self._for_black_boxes(start)
        return (self._local if self._programme.ratios else self._convex)(self._programme, start)

    def _convex(self, programme: MixtureProgramme, start: Array) -> Mixture:
        prices, (_, violation) = [], programme.judge(start)
        if violation > FEASIBLE:
            first = convex.best(programme, start, None, ROUNDS, TOLERANCE)
            start, violation = first.weights, first.value
            if violation > PRICED_VIOLATION:
                prices.append(np.concatenate([[0.0], programme.prices]))
        room = violation if violation > PRICED_VIOLATION else 0.0
        best = convex.best(programme, start, room, ROUNDS, TOLERANCE)
        prices.append(np.concatenate([[1.0], programme.prices]))
        return Mixture(best.weights, *programme.judge(best.weights), best.known_bound, tuple(prices))

    def _local(self, programme: MixtureProgramme, start: Array) -> Mixture:
        weights = ratios.local(programme, start, ROUNDS, TOLERANCE)
        return Mixture(weights, *programme.judge(weights), None, tuple(local_prices(programme, weights)))

    def _for_black_boxes(self, start: Array) -> Mixture:
        searched = best_for_black_boxes(self.table, self.rows)
        weights = start if searched is None else searched
        return Mixture(weights, *self.judge(weights), None, tuple(black_box_prices(self.table, self.rows, weights)))


def _comparable(objective: float, violation: float) -> tuple[float, float]:
    """Violation and objective as `Mixture.value` has them; infinite if one of them is not finite."""
    return (round(violation, 6), objective) if np.isfinite(objective + violation) else (np.inf, np.inf)
