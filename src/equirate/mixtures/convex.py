"""Convex problems over mixtures of columns: cutting planes.

In: a `MixtureProgramme` without ratios. Out: the best mixture, with a lower bound on the value of all mixtures.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .programme import MixtureProgramme

Array = NDArray[np.float64]

_PRICE = 1e3
"""Price of a violation beyond the allowed one when mixtures are compared."""


_STEPS = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1)
"""Step sizes towards the solution of the programme, whose cuts underestimate the atoms; without atoms it is exact."""


class ConvexSolution(NamedTuple):
    """A mixture, its value, and a lower bound on the value of all mixtures."""

    weights: Array
    value: float
    bound: float

    @property
    def known_bound(self) -> float | None:
        """The bound, or None if it is not finite."""
        return self.bound if np.isfinite(self.bound) else None


def best(columns: MixtureProgramme, start: Array, room: float | None, rounds: int, tolerance: float) -> ConvexSolution:
    """The mixture with the smallest objective and violation at most ``room``; if that is None, smallest violation.

    Solves, cuts the atoms that are underestimated, and solves again; also tries mixtures on the way to the solution.
    """
    columns.minimize_within(room)
    mu, best, bound = start, _value(columns, start, room), -np.inf
    for _ in range(rounds):
        solved = columns.solve()
        if solved is None:  # an argument is below its box, where cuts and values differ: keep the best so far
            break
        solution, others, lower = solved
        bound = max(bound, lower)
        mixed = [mu + step * (solution - mu) for step in (_STEPS if columns.convex else _STEPS[:1])]
        judged = [_value(columns, candidate, room) for candidate in mixed]
        k = int(np.argmin(judged))
        if judged[k] < best:
            mu, best = mixed[k], judged[k]
        if best - bound <= tolerance * (1 + abs(bound)):
            break
        if not columns.cut_off(others, mu, solution):  # the solution is exact up to the programme's tolerance
            break
    return ConvexSolution(mu, best, bound)


def _value(columns: MixtureProgramme, mu: Array, room: float | None) -> float:
    objective, violation = columns.judge(mu)
    value = violation if room is None else objective + _PRICE * max(violation - room, 0.0)
    return np.inf if np.isnan(value) else value
