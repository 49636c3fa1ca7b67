r"""Problems with ratios over mixtures of columns: to a local optimum, or, for one ratio alone, to the global one.

In: a `MixtureProgramme` with ratios. Out: mixtures. `descend` solves successive linear programmes inside a trust
region. `least_ratio` is exact if the objective is one ratio N / D (`only_ratio`) and everything else is convex: it
minimises N - r D with r = N / D of the previous mixture until r no longer changes (Dinkelbach 1967). The substitution
of Charnes and Cooper (1962) finds the same optimum in one programme, but not over the simplex, which columns and cuts
rely on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .convex import ConvexSolution
from .linear import FEASIBLE
from .programme import MixtureProgramme, Ratio

Array = NDArray[np.float64]

PENALTY = 10.0
"""Price of a violation when it is added to the objective."""

PENALTIES = (PENALTY, 1e3, 1e5)
"""Prices of a violation for linearised ratios: the next one is used if constraints are still violated."""


def local(columns: MixtureProgramme, start: Array, rounds: int, tolerance: float) -> Array:
    """A local optimum from ``start``: no larger violation, and no larger objective at the same violation."""
    mu, allowed = start, columns.judge(start)[1] + FEASIBLE
    for penalty in PENALTIES:
        descended = descend(columns, mu, penalty, rounds, tolerance)
        violation = columns.judge(descended)[1]
        if violation <= allowed or violation <= tolerance:
            mu, allowed = descended, violation
        if violation <= FEASIBLE:
            break
    return mu


def descend(columns: MixtureProgramme, mu: Array, penalty: float, rounds: int, tolerance: float) -> Array:
    """Successive linear programmes from ``mu`` in a trust region of the denominators."""
    merit, width = columns.merit(mu, penalty), 0.3
    columns.minimize_merit(penalty)
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


def only_ratio(columns: MixtureProgramme) -> Ratio | None:
    """The ratio that is the objective, up to a constant, if the problem has no other ratio; None otherwise."""
    if len(columns.ratios) != 1 or len(columns.ratios[0].atoms) != 1:
        return None
    ratio, weights = columns.ratios[0], columns.table.atom_weights
    atom = ratio.atoms[0][0]
    alone = np.count_nonzero(weights[:, atom]) == 1 and np.flatnonzero(weights[0]).tolist() == [atom]
    constant = np.ptp(columns.rows[0]) <= 1e-12
    return ratio if alone and constant and (ratio.denominator >= ratio.floor).any() else None


def least_ratio(
    columns: MixtureProgramme, ratio: Ratio, start: Array, room: float, rounds: int, tolerance: float
) -> ConvexSolution:
    """The mixture with the smallest objective, one ratio s N / D, and a violation of at most ``room``.

    With F the smallest value of s (N - r D), s N / D >= s r + F / D for every mixture: the bound.
    """
    (atom, sign), mu = ratio.atoms[0], start
    scale, constant = columns.table.atom_weights[0, atom], float(columns.rows[0, 0])
    columns.programme.bound(ratio.bottom, ratio.floor, np.inf)
    smallest = max(ratio.floor, float(ratio.denominator.min()))
    r, bound = _value_of(ratio, mu), -np.inf
    value = sign * r if columns.judge(mu)[1] <= room + tolerance else np.inf
    for _ in range(rounds):
        columns.minimize_function(sign * (ratio.numerator - r * ratio.denominator), room)
        solved = columns.solve()
        if solved is None:
            break
        solution, others, lower = solved
        bound = max(bound, sign * r + min(lower, 0.0) / smallest)
        kept = columns.judge(solution)[1] <= room + tolerance
        if kept and sign * _value_of(ratio, solution) < value:
            mu, value = solution, sign * _value_of(ratio, solution)
        if value - bound <= tolerance:
            break
        before, r = r, _value_of(ratio, solution)
        if not columns.cut_off(others, solution) and abs(r - before) <= 1e-12:  # no more cuts, no progress
            break
    return ConvexSolution(mu, scale * value + constant, scale * bound + constant)


def _value_of(ratio: Ratio, mu: Array) -> float:
    return float(ratio.numerator @ mu) / max(float(ratio.denominator @ mu), ratio.floor)
