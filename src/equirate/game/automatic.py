"""The algorithm that ``"auto"`` means for a problem, without importing any algorithm."""

from __future__ import annotations

from ..problem.problem import Problem


def automatic(problem: Problem) -> str:
    """Name of the algorithm that ``"auto"`` takes for a problem, for all models but networks.

    Column generation prices only rates, so an ordinary loss in the objective needs the game of models that descend.

    Examples
    --------
    >>> import equirate as eq
    >>> automatic(eq.Problem(eq.maximize(eq.f1())))
    'column_generation'
    >>> automatic(eq.Problem(eq.minimize(eq.log_loss())))
    'surrogate'
    """
    return "surrogate" if problem.losses() else "column_generation"
