"""The best mixture of columns for the problem itself: which of the programmes to solve.

In: a table, the signed rows of every column, a mixture to begin at. Out: `Weights`. `game.solution`, `players` and
`estimators` call this.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..problem.table import Table
from . import convex, ratios
from .columns import Columns, Cut
from .convex import Priced
from .shrinking import Weights

Array = NDArray[np.float64]


def polish_weights(
    table: Table,
    rows: Array,
    start: Array,
    rounds: int = 60,
    tolerance: float = 1e-6,
    cuts: list[Cut] | None = None,
) -> Weights | None:
    """The best mixture of columns for the problem itself.

    Parameters
    ----------
    table
        Gives the atoms and their boxes.
    rows
        (multiplier rows, columns): signed row values of every column.
    start
        Weights to begin at (the shrunk mixture): where the linearisation of ratios starts.
    cuts
        Cuts of an earlier call for the same problem, which hold whatever the columns; new ones are added.

    Returns
    -------
    Weights or None
        None where the problem has black boxes or is in biconvex form, which have no cuts, or where no column of
        ``start`` has finite rows.
    """
    if any(group.form.grid or group.direct is not None for group in table.groups):
        return None
    usable = np.flatnonzero(np.isfinite(rows).all(axis=0))
    if not start[usable].sum() > 0:
        return None
    begin = start[usable] / start[usable].sum()
    columns = Columns(table, rows[:, usable], [] if cuts is None else cuts, begin)
    found = _with_ratios if columns.ratios else _convex
    mu, smallest, bound, least = found(columns, begin, rounds, tolerance)
    weights = np.zeros(rows.shape[1])
    weights[usable] = columns.sparse(mu)
    return Weights(weights, smallest, bound, least)


def _convex(columns: Columns, start: Array, rounds: int, tolerance: float) -> tuple[Array, float, float | None, float]:
    violation, least = 0.0, 0.0
    if columns.j and columns.judge(start)[1] > 0:
        first = convex.least_violation(columns, start, rounds, tolerance)
        start, violation, least = first.weights, first.value, max(first.bound, 0.0)
    best = convex.least_objective(columns, start, violation, rounds, tolerance)
    smallest = violation if violation > 10 * tolerance else 0.0
    return best.weights, smallest, best.bound if np.isfinite(best.bound) else None, least


def _with_ratios(
    columns: Columns, start: Array, rounds: int, tolerance: float
) -> tuple[Array, float, float | None, float]:
    mu = ratios.local(columns, start, rounds, tolerance)
    return mu, columns.judge(mu)[1], None, 0.0


def best_mixture(table: Table, rows: Array, penalty: float, tolerance: float, cuts: list[Cut]) -> Priced | None:
    """Minimise objective + penalty * violation over mixtures of columns, with the duals; for convex problems.

    ``rows`` and ``cuts`` are as in `polish_weights`. None where the programme has no solution.
    """
    columns = Columns(table, rows, cuts, np.full(rows.shape[1], 1 / rows.shape[1]))
    return convex.priced(columns, penalty, tolerance)
