"""Which algorithm ``"auto"`` stands for, by name: known from the problem alone, without importing the algorithms."""

from __future__ import annotations

from ..language.curvature import Curvature
from ..problem.problem import Problem


def automatic(problem: Problem, descends: bool) -> str:
    """Name of the algorithm that ``"auto"`` takes for a problem.

    Parameters
    ----------
    problem
        The problem.
    descends
        Whether the model takes gradient steps; trees and thresholds respond instead.

    Examples
    --------
    >>> import equirate as eq
    >>> automatic(eq.Problem(eq.maximize(eq.f1())), True)
    'slack_ratios'
    """
    if problem.curvature is Curvature.RATIO:
        return "slack_ratios"
    if descends:
        return "surrogate"
    return "oracle" if problem.has_black_boxes else "corrective"
