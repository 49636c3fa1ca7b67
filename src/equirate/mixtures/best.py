"""The best mixture of columns, or the best single column: the only module that shrinks, polishes and selects.

In: a table and `Columns`. Out: `Weights` over the columns, or the index of one of them. "Best" has three definitions:

- *by ranks*: each column has the larger of its ranks in objective and violation, and the smallest is best (Cotter et
  al. 2019), as in the paper;
- *by violation*: the largest violation first, then the objective;
- *priced*: objective plus `PENALTY` times the violation, in one number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..problem.table import Table
from .branching import Search
from .columns import Columns
from .margins import Margins
from .polishing import polish_weights
from .programme import Cut
from .ratios import PENALTY
from .shrinking import Weights, best_index, shrink_weights
from .values import largest, values

Array = NDArray[np.float64]

_SAME = 1e-6
"""Violations that differ by less than this count as equal, and the objective decides."""


def shrink(table: Table, columns: Columns) -> Weights:
    """The paper's sparse mixture: a linear programme over each column's own objective and violations."""
    return shrink_weights(*values(table, columns.rates, columns.losses))


def best_by_ranks(table: Table, columns: Columns) -> int:
    """The single best column by ranks."""
    return best_index(*values(table, columns.rates, columns.losses))


def best_by_violation(table: Table, columns: Columns, tolerance: float, constrained: bool = True) -> int:
    """The single column with the best objective among those with the smallest violation, if ``constrained``."""
    objective, violations = values(table, columns.rates, columns.losses)
    worst = largest(violations if constrained else violations[:0])
    worst = np.where(np.isfinite(objective) & np.isfinite(worst), worst, np.inf)
    good = worst <= max(float(worst.min()), tolerance)
    return int(np.argmin(np.where(good, objective, np.inf)))


def best(table: Table, columns: Columns, search: Search | None = None) -> Weights:
    """The best mixture by violation: at least as good as the shrunk one and as every single column.

    For affine and convex problems, and if one ratio is the objective, this is the global optimum; ``search`` limits the
    search for the global optimum of several ratios.
    """
    objective, violations = values(table, columns.rates, columns.losses)
    count = len(columns)
    candidates = [shrink_weights(objective, violations).weights, np.eye(1, count, best_index(objective, violations))[0]]
    rows = table.rows_from_rates(columns.rates, columns.losses)
    ratios = table.program.has_ratios
    # Where nobody is predicted 1, two precisions are both 0/0, hence equal: a local optimum that the first two starts
    # may not leave. The uniform mixture starts elsewhere.
    starts = [*candidates, np.full(count, 1 / count)] if ratios else candidates[:1]
    polished: list[Weights] = []
    for start in starts:
        solution = polish_weights(table, rows, start, search=None if polished else search)
        polished += [] if solution is None else [solution]
    candidates += [solution.weights for solution in polished]
    k, worst = _by_violation(table, columns, candidates)
    smallest = worst if ratios or not polished else min(polished[0].smallest_violation, worst)
    return Weights(candidates[k], smallest, polished[0].bound if polished else None)


def best_priced(table: Table, columns: Columns, tolerance: float, cuts: list[Cut]) -> tuple[float, float]:
    """Minimised objective and violation of the best mixture in the priced order."""
    weights = shrink(table, columns).weights
    rows = table.rows_from_rates(columns.rates, columns.losses)
    polished = polish_weights(table, rows, weights, tolerance=max(tolerance, 1e-6), cuts=cuts)
    mixtures = np.stack([weights] if polished is None else [weights, polished.weights], axis=1)
    objective, violations = values(table, columns.rates @ mixtures, columns.losses @ mixtures)
    worst = largest(violations)
    k = int(np.argmin(objective + PENALTY * worst))
    return float(objective[k]), float(worst[k])


def shrunk_cost(objective: Array, violations: Array) -> float:
    """Cost of the paper's sparse mixture in the priced order, from the objective and violations of each column."""
    shrunk = shrink_weights(objective, violations)
    return float(objective @ shrunk.weights + PENALTY * shrunk.smallest_violation)


def best_with_margins(
    table: Table,
    columns: Columns,
    start: Array,
    margins: Margins | None = None,
    *,
    shift: Array | None = None,
    rounds: int = 30,
    tolerance: float = 1e-5,
) -> Weights | None:
    """The best mixture of columns whose constraints have margins; None where the programme has no solution.

    ``margins`` are standard errors of the mixture itself; ``shift`` adds a fixed margin to each constraint.
    """
    rows = table.rows_from_rates(columns.rates, columns.losses)
    if shift is not None:
        rows[table.constraints] += shift[:, None]
    return polish_weights(table, rows, start, rounds=rounds, tolerance=tolerance, margins=margins)


def _by_violation(table: Table, columns: Columns, candidates: list[Array]) -> tuple[int, float]:
    """Of several mixtures, the one with the smallest violation, then the smallest objective; and its violation."""
    weights = np.stack(candidates, axis=1)
    objective, violations = values(table, columns.rates @ weights, columns.losses @ weights)
    worst = largest(violations)
    worst = np.where(np.isnan(worst) | np.isnan(objective), np.inf, worst)
    k = int(np.argmin(np.where(worst <= worst.min() + _SAME, objective, np.inf)))
    return k, float(worst[k])
