"""Convex problems over mixtures of columns: cutting planes.

In: a `MixtureProgramme` without ratios. Out: the best mixture, with the value that no mixture is below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .linear import FEASIBLE
from .programme import MixtureProgramme

Array = NDArray[np.float64]

_PRICE = 1e3
"""What a violation beyond the room costs a mixture that is compared with others."""


_STEPS = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1)
"""How far to go to what the programme found, whose cuts are below the atoms; without atoms it is right."""


class ConvexSolution(NamedTuple):
    """A mixture, its value, and the value that no mixture is below."""

    weights: Array
    value: float
    bound: float


def least_violation(columns: MixtureProgramme, start: Array, rounds: int, tolerance: float) -> ConvexSolution:
    """The mixture with the smallest violation."""
    columns.aim_at_violation()
    return _cut_until_right(columns, start, None, rounds, tolerance)


def least_objective(
    columns: MixtureProgramme, start: Array, room: float, rounds: int, tolerance: float
) -> ConvexSolution:
    """The mixture with the smallest objective among those with a violation of at most ``room``."""
    columns.aim_at_objective(room + FEASIBLE)
    return _cut_until_right(columns, start, room, rounds, tolerance)


def _cut_until_right(
    columns: MixtureProgramme, start: Array, room: float | None, rounds: int, tolerance: float
) -> ConvexSolution:
    """Solve, cut where the atoms are below their values, and solve again; mixtures in between may be better."""
    mu, best, bound = start, _value(columns, start, room), -np.inf
    for _ in range(rounds):
        solved = columns.solve()
        if solved is None:  # an argument below its box, where cuts and values part: what there is, is best
            break
        found, others, lower = solved
        bound = max(bound, lower)
        mixed = [mu + step * (found - mu) for step in (_STEPS if columns.convex else _STEPS[:1])]
        judged = [_value(columns, candidate, room) for candidate in mixed]
        k = int(np.argmin(judged))
        if judged[k] < best:
            mu, best = mixed[k], judged[k]
        if best - bound <= tolerance * (1 + abs(bound)):
            break
        if not columns.cut_off(others, mu, found):  # as far as the programme is exact
            break
    return ConvexSolution(mu, best, bound)


def _value(columns: MixtureProgramme, mu: Array, room: float | None) -> float:
    objective, violation = columns.judge(mu)
    value = violation if room is None else objective + _PRICE * max(violation - room, 0.0)
    return np.inf if np.isnan(value) else value


class Priced(NamedTuple):
    """The best mixture of columns, its value, and the prices that make it so."""

    weights: Array
    value: float
    """Minimised objective plus the price of the violation."""
    multipliers: Array
    """Duals of constraints and couplings."""


def priced(columns: MixtureProgramme, penalty: float, tolerance: float) -> Priced | None:
    """Minimise objective + penalty * violation, with the duals; None where the programme has no solution."""
    columns.aim_at_merit(penalty)
    best: Priced | None = None
    for _ in range(60):
        solved = columns.solve()
        if solved is None:
            break
        mu, others, lower = solved
        value = columns.merit(mu, penalty)
        best = Priced(mu, value, columns.duals) if best is None or value < best.value else best
        best = best._replace(multipliers=columns.duals)
        if best.value - lower <= tolerance * (1 + abs(lower)) or not columns.cut_off(others, mu):
            break
    return best
