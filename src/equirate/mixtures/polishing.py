"""The best mixture of columns for the problem itself: chooses the method that the problem needs.

In: a table, the signed rows of every column, an initial mixture. Out: `Weights`. `game.solution`, `players` and
`certification` call this.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..problem.table import Table
from . import branching, convex, ratios
from .black_boxes import best_for_black_boxes
from .branching import Effort, Search
from .margins import MarginProgramme, Margins
from .programme import Cut, MixtureProgramme, basic
from .shrinking import Weights

Array = NDArray[np.float64]


def polish_weights(
    table: Table,
    rows: Array,
    start: Array,
    rounds: int = 60,
    tolerance: float = 1e-6,
    cuts: list[Cut] | None = None,
    search: Search | None = None,
    margins: Margins | None = None,
) -> Weights | None:
    """The best mixture of columns for the problem itself.

    Parameters
    ----------
    table
        Gives the atoms and their boxes.
    rows
        (multiplier rows, columns): signed row values of every column.
    start
        Initial weights (the shrunk mixture), where ratios are linearised first.
    cuts
        Cuts of an earlier call for the same problem, which hold for any columns; new ones are added.
    search
        Limits of the search for the global optimum of ratios; None for a local one. Only denominators at or above
        their floors are searched (`equirate.problem.canonical.RATIO_FLOOR`, unless the user promised a larger one).
    margins
        Margins of the constraints, which depend on the mixture.

    Returns
    -------
    Weights or None
        None if the problem has black boxes together with other atoms or is in biconvex form, which have no cuts, or if
        no column of ``start`` has finite rows.
    """
    if any(group.direct is not None for group in table.groups):
        return None
    usable = np.flatnonzero(np.isfinite(rows).all(axis=0))
    if not start[usable].sum() > 0:
        return None
    weights = np.zeros(rows.shape[1])
    if any(group.form.grid for group in table.groups):
        searched = best_for_black_boxes(table, rows[:, usable])
        if searched is None:
            return None
        weights[usable] = searched
        return Weights(weights, 0.0)
    begin = start[usable] / start[usable].sum()
    begin = basic(rows[:, usable], begin) if margins is None else begin
    given = (table, rows[:, usable], [] if cuts is None else cuts, begin)
    columns = MixtureProgramme(*given) if margins is None else MarginProgramme(*given, margins.among(usable))
    solution = (_local if columns.ratios else _convex)(columns, begin, rounds, tolerance)
    if columns.ratios and search is not None:
        solution = _global(columns, solution, rounds, tolerance, search)
    # A basic mixture has the same rates, but not the same standard errors.
    weights[usable] = basic(columns.rows, solution.weights) if margins is None else solution.weights
    return replace(solution, weights=weights)


def _convex(columns: MixtureProgramme, start: Array, rounds: int, tolerance: float) -> Weights:
    violation, least = 0.0, 0.0
    if columns.n_constraints and columns.judge(start)[1] > 0:
        first = convex.best(columns, start, None, rounds, tolerance)
        start, violation, least = first.weights, first.value, max(first.bound, 0.0)
    best = convex.best(columns, start, violation, rounds, tolerance)
    return Weights(best.weights, violation if violation > 10 * tolerance else 0.0, best.known_bound, least)


def _local(columns: MixtureProgramme, start: Array, rounds: int, tolerance: float) -> Weights:
    mu = ratios.local(columns, start, rounds, tolerance)
    return Weights(mu, columns.judge(mu)[1])


def _global(columns: MixtureProgramme, local: Weights, rounds: int, tolerance: float, search: Search) -> Weights:
    """Minimise the violation first, if the local optimum has one; then the objective."""
    mu, violation, least = local.weights, local.smallest_violation, 0.0
    ratio, effort = ratios.only_ratio(columns), Effort(columns, search)
    if violation > branching.ROOM_TOLERANCE:
        if ratio is not None:
            first = convex.best(columns, mu, None, rounds, tolerance)
        else:
            first = branching.best(columns, mu, None, effort)
        mu, violation, least = first.weights, first.value, max(first.bound, 0.0)
    room = violation if violation > branching.ROOM_TOLERANCE else 0.0
    if ratio is not None:
        best = ratios.least_ratio(columns, ratio, mu, room, rounds, tolerance)
    else:
        best = branching.best(columns, mu, room, effort)
    return Weights(best.weights, columns.judge(best.weights)[1], best.known_bound, least)
