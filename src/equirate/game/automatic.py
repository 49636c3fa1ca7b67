"""Which algorithm ``"auto"`` means: by the problem and by what the model can do, without importing any algorithm."""

from __future__ import annotations

from ..problem.problem import Problem


def automatic(problem: Problem) -> str:
    """Name of the algorithm that ``"auto"`` takes for a problem, but for networks.

    Column generation prices rates, so an ordinary loss in the objective leaves the game for models that descend.

    Examples
    --------
    >>> import equirate as eq
    >>> automatic(eq.Problem(eq.maximize(eq.f1())))
    'column_generation'
    >>> automatic(eq.Problem(eq.minimize(eq.log_loss())))
    'surrogate'
    """
    return "surrogate" if problem.losses() else "column_generation"
