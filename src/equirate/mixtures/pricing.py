"""Prices of ratios and of black boxes at a mixture: by them a new column is judged.

In: a table, the signed rows of every column, a mixture. Out: multipliers of the signed rows. A classifier that costs
less at these than every column improves the mixture; if no classifier does, the mixture is locally optimal. `master`
calls this; the prices of convex problems are the duals of the programme itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..problem.table import Table
from .linear import FEASIBLE, solve_over_simplex
from .programme import MixtureProgramme
from .ratios import PENALTY

Array = NDArray[np.float64]

PRICED_VIOLATION = 1e-7
"""A larger violation has prices of its own."""
_TRUSTED = 0.3
"""Trust region: the largest relative change of denominators where ratios are linearised."""
_SHARES = (0.02, 0.2)
"""Steps of the finite differences of a black box, relative to the range of each argument."""


def local_prices(programme: MixtureProgramme, mu: Array) -> list[Array]:
    """Prices with ratios linearised at a mixture: for the violation, if there is one, and for the objective."""
    programme.near(mu, _TRUSTED)
    violation, prices = programme.judge(mu)[1], []
    if violation > PRICED_VIOLATION:
        programme.minimize_within(None)
        prices += _prices(programme, 0.0)
    programme.minimize_within(violation)
    of_objective = _prices(programme, 1.0)
    if not of_objective:  # a denominator below its floor, where no linearisation keeps the constraints
        programme.minimize_merit(PENALTY)
        of_objective = _prices(programme, 1.0)
    return prices + of_objective


def _prices(programme: MixtureProgramme, weight: float) -> list[Array]:
    """Duals of the programme as it stands, after ``weight`` for the objective; none where it has no solution."""
    for _ in range(8):
        solved = programme.solve()
        if solved is None:
            return []
        if not programme.cut_off(solved[1]):
            break
    return [np.concatenate([[weight], programme.prices])]


def black_box_prices(table: Table, rows: Array, mu: Array) -> list[Array]:
    """Prices of linear programmes with the black boxes linearised, by finite differences of several step sizes."""
    first, j = 1 + table.program.n_constraints, table.program.n_constraints
    sense = table.sense[table.couplings]
    at = np.clip(sense * (rows[first:] @ mu), table.lo, table.hi)
    prices = []
    for share in _SHARES:
        slopes = np.zeros((len(table.program.atoms), table.n_slacks))
        for s in range(table.n_slacks):
            low, high = at.copy(), at.copy()
            step = share * (table.hi[s] - table.lo[s])
            low[s], high[s] = max(at[s] - step, table.lo[s]), min(at[s] + step, table.hi[s])
            if high[s] > low[s]:
                ends = table.atom_values(np.stack([low, high], axis=1))
                with np.errstate(invalid="ignore"):
                    slopes[:, s] = np.nan_to_num((ends[:, 1] - ends[:, 0]) / (high[s] - low[s]), posinf=0, neginf=0)
        G = np.zeros((1 + j, len(rows)))
        G[:, : 1 + j] = np.eye(1 + j)
        G[:, first:] = table.atom_weights[: 1 + j] @ (slopes * sense)
        with np.errstate(invalid="ignore"):
            value = np.nan_to_num(table.atom_weights[: 1 + j] @ table.atom_values(at[:, None])[:, 0])
        offset = rows[: 1 + j] @ mu + value - G @ (rows @ mu)
        linear = G @ rows
        violation = max(float((offset + linear @ mu)[1:].max(initial=0.0)), 0.0)
        solved = solve_over_simplex(linear[0], linear[1:], violation + FEASIBLE - offset[1:], np.flatnonzero(mu))
        lam = np.zeros(j) if solved is None else -solved.duals[:j]
        prices.append(G[0] + lam @ G[1:])
    return prices
