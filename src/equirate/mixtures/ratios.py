r"""Problems with ratios over mixtures of columns: to a local optimum, or, for one ratio alone, to the global one.

In: `Columns` with ratios. Out: mixtures. `descend` solves successive linear programmes inside a trust region.
`only_ratio` has the exact answer where the objective is one ratio N / D and everything else is convex: the mixture that
minimises N - r D at r = N / D of the last one, until it is the last one (Dinkelbach 1967). It is the optimum that the
substitution of Charnes and Cooper (1962) finds in one programme; but the simplex stays a simplex here, and so columns
and cuts stay what they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .columns import Columns
from .linear import FEASIBLE

Array = NDArray[np.float64]

PENALTY = 10.0
"""Price of a violation where it is weighed against the objective."""

PENALTIES = (PENALTY, 1e3, 1e5)
"""Prices of a violation while ratios are linearised: the next where the one before did not keep the constraints."""


def local(columns: Columns, start: Array, rounds: int, tolerance: float) -> Array:
    """A local optimum from ``start``: no larger violation, and no larger objective at the same violation."""
    mu, allowed = start, columns.judge(start)[1] + FEASIBLE
    for penalty in PENALTIES:
        found = descend(columns, mu, penalty, rounds, tolerance)
        violation = columns.judge(found)[1]
        if violation <= allowed or violation <= tolerance:
            mu, allowed = found, violation
        if violation <= FEASIBLE:
            break
    return mu


def descend(columns: Columns, mu: Array, penalty: float, rounds: int, tolerance: float) -> Array:
    """Successive linear programmes from ``mu``, each trusted while the denominators change little."""
    merit, width = columns.merit(mu, penalty), 0.3
    columns.aim_at_merit(penalty)
    for _ in range(rounds):
        columns.near(mu, width)
        solved = columns.solve()
        value = np.inf if solved is None else columns.merit(solved[0], penalty)
        if solved is not None and value < merit - 1e-3 * tolerance:
            mu, merit, width = solved[0], value, min(2 * width, 1.0)
            columns.cut_at(columns.at(mu)[0])
        else:
            width /= 4
            if width < 1e-4:
                break
    return mu
