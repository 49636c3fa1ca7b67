"""Selection by the values of each iterate: the paper's shrinking, and the best single iterate.

In: each iterate's objective and violations. Out: weights over the iterates, or one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .linear import FEASIBLE, Programme, solve_over_simplex

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Weights:
    """Weights over columns, and bounds for all mixtures of these columns.

    Attributes
    ----------
    weights
        A distribution over the columns.
    smallest_violation
        The smallest violation that was found (0 if the constraints can be met).
    bound
        No mixture with a violation of at most ``smallest_violation`` has a smaller (minimised) objective; None if no
        bound is known.
    violation_bound
        No mixture has a smaller violation.
    """

    weights: Array
    smallest_violation: float
    bound: float | None = None
    violation_bound: float = 0.0


def best_index(objective: Array, violations: Array) -> int:
    """The single best iterate by ranks (Cotter et al. 2019): the smallest maximum of both ranks, ties by objective.

    Parameters
    ----------
    objective
        (iterates,) values to minimise.
    violations
        (constraints, iterates) signed violations.

    Examples
    --------
    >>> best_index(np.array([0.1, 0.2, 0.3]), np.array([[0.5, 0.0, -0.1]]))
    1
    """
    usable = np.isfinite(objective) & np.isfinite(violations).all(axis=0)
    worst = np.where(usable, np.maximum(violations, 0.0).max(axis=0, initial=0.0), np.inf)
    value = np.where(usable, objective, np.inf)
    larger = np.maximum(_ranks(value), _ranks(worst))
    return int(np.lexsort((worst, value, larger))[0])


def _ranks(values: Array) -> NDArray[np.intp]:
    """Rank of each value: the number of smaller values."""
    return np.searchsorted(np.sort(values), values)


def shrink_weights(objective: Array, violations: Array) -> Weights:
    """The paper's shrinking: min mu . objective with mu . violations <= 0 over the simplex, a basic solution.

    At most J + 1 iterates get weight. If no mixture is feasible, the largest violation is minimised first, and the
    objective is then minimised without exceeding it.

    Parameters
    ----------
    objective
        (iterates,) values to minimise; those that are not finite get no weight.
    violations
        (constraints, iterates) signed violations.

    Examples
    --------
    >>> shrink_weights(np.array([0.1, 0.3]), np.array([[0.2, -0.2]])).weights  # equal weights just meet the limit
    array([0.5, 0.5])
    """
    kept = np.asarray(np.isfinite(violations).all(axis=0))
    usable = np.flatnonzero(np.isfinite(objective) & kept)
    if not len(usable):
        return _without_values(objective, violations, kept)
    f, V = objective[usable], violations[:, usable]
    slack, known = _smallest_violation(V)
    weights = np.zeros(len(objective))
    weights[usable] = _within(f, V, slack, known)
    return Weights(weights, slack)


def _without_values(objective: Array, violations: Array, kept: NDArray[np.bool_]) -> Weights:
    """The uniform mixture, if every iterate has an infinite objective or violation.

    A divergence is infinite where all predictions are equal; that of a mixture of such iterates may be finite. A
    linear programme cannot use infinite values, so all iterates without NaN get equal weight, and the smallest
    violation is infinite unless all their violations are finite.
    """
    known = ~(np.isnan(objective) | np.isnan(violations).any(axis=0))
    part = kept & known if (kept & known).any() else known if known.any() else np.ones_like(known)
    return Weights(part / part.sum(), _smallest_violation(violations[:, part])[0] if kept[part].all() else np.inf)


def _smallest_violation(V: Array) -> tuple[float, Array]:
    """The smallest violation of a mixture, and a mixture that has it."""
    first = np.eye(1, V.shape[1], int(np.argmin(V.max(axis=0, initial=-np.inf))))[0]
    if not len(V) or (V.max(0) <= 0).any():
        return 0.0, first
    others, n = -np.ones((len(V), 1)), V.shape[1]
    bounds, active = np.array([[0.0, np.inf]]), np.unique(np.argmin(V, axis=1))
    programme = Programme(V, others, np.zeros(len(V)), bounds, active, deferred=len(V))
    programme.set_objective(np.zeros(n), np.ones(1))
    solved = programme.solve()
    if solved is None:
        raise RuntimeError("the smallest violation of a mixture was not found: the programme over columns failed")
    value = float((V @ solved.weights).max())
    return (value if value > FEASIBLE else 0.0), solved.weights


def _within(f: Array, V: Array, slack: float, known: Array) -> Array:
    """The best mixture with violations of at most ``slack``, plus a tolerance that grows until there is a solution.

    Of a programme that fails nevertheless, ``known`` is the answer: a mixture that has the smallest violation.
    """
    for room in (1e-12, 2 * FEASIBLE, 1e-7, 1e-6):  # rounding alone can violate a constraint by 1e-16
        solved = solve_over_simplex(f, V, np.full(len(V), slack + room))
        if solved is not None:
            return solved.weights
    return known
