"""Choosing among recorded iterates: for shifted constraints, with a margin that passes a test, or one alone.

In: a `Solution` judged on the part that mixtures are chosen on. Out: a `Classifier`. `estimator` calls this.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .canonical import canonicalize
from .certify import certify, estimate
from .classifiers import Classifier
from .data import Examples
from .errors import NotSolvedWarning
from .expressions import Constraint
from .problem import Problem
from .solution import Solution
from .table import make_table

Array = NDArray[np.float64]

MARGINS = (4.0, 3.0, 2.5, 2.0, 1.75, 1.5, 1.25, 1.0, 0.75, 0.5, 0.25, 0.0)
"""Margins, in standard errors, of the candidates that `careful` tests, most careful first."""


def judged_for(solution: Solution, problem: Problem) -> Solution:
    """The same iterates on the same data, judged for another problem with the same rates."""
    judge = make_table(canonicalize(problem), solution.judge.examples)
    known = {rate.key: k for k, rate in enumerate(solution.judge.program.rates)}
    rates = solution.rates[:, [known[rate.key] for rate in judge.program.rates]]
    return replace(solution, problem=problem, judge=judge, rates=rates)


def shifted(constraint: Constraint, margin: float) -> Constraint:
    """The constraint with ``margin`` to spare."""
    right = constraint.right - margin if constraint.symbol == "<=" else constraint.right + margin
    return Constraint(constraint.left, constraint.symbol, right)


def best_single(solution: Solution, tolerance: float) -> Classifier:
    """The single iterate with the best objective among those whose violation is as small as can be had."""
    rates, losses = solution._of_iterates(solution.iterates)
    objective, violations = solution._values(rates, losses)
    worst = np.maximum(violations, 0.0).max(axis=0, initial=0.0)
    worst = np.where(np.isfinite(objective) & np.isfinite(worst), worst, np.inf)
    good = worst <= max(float(worst.min()), tolerance)
    weights = np.zeros(len(objective))
    weights[int(np.argmin(np.where(good, objective, np.inf)))] = 1.0
    return solution._classifier(solution.iterates, weights, "best")


def split(problem: Problem) -> list[Constraint]:
    """The constraints with ``abs`` and ``max`` taken apart."""
    return [part for c in problem.constraints if isinstance(c, Constraint) for part in c.split()]


def careful(
    chooser: Solution, problem: Problem, on: tuple[Any, Examples], test: tuple[Any, Examples], confidence: float
) -> tuple[Classifier, float]:
    """Learn then test: mixtures with ever smaller margins, tested in that order on a part of their own.

    Testing in a fixed order, most careful first, and stopping at the first failure keeps the chance of accepting a
    mixture that breaks a constraint below 1 - confidence, whatever the mixtures were fitted to.

    Parameters
    ----------
    chooser
        The iterates, judged on ``on``.
    on, test
        Features and examples that mixtures are chosen on, and that they are tested on.

    Returns
    -------
    The mixture with the smallest margin that passed, and that margin in standard errors.
    """
    parts, plain = split(problem), chooser.polish()
    probability = plain.positive_probability(on[0], on[1].columns)
    errors = [estimate(part.residual, on[1], probability).error for part in parts]

    def with_margin(margin: float) -> Classifier:
        tight = [shifted(part, margin * error) for part, error in zip(parts, errors, strict=True)]
        return judged_for(chooser, Problem(problem.objective, tight)).polish() if margin else plain

    accepted: tuple[Classifier, float] | None = None
    for margin in MARGINS:
        mixture = with_margin(margin)
        verdicts = certify(parts, test[1], mixture.positive_probability(test[0], test[1].columns), confidence)
        if not all(verdict.verdict == "pass" for verdict in verdicts):
            break
        accepted = mixture, margin
    if accepted is not None:
        return accepted
    warnings.warn(
        f"no margin up to {MARGINS[0]:g} standard errors makes every constraint hold at {confidence:.0%} confidence: "
        "the most careful mixture is used; give more data or loosen the constraints",
        NotSolvedWarning,
        stacklevel=2,
    )
    return with_margin(MARGINS[0]), MARGINS[0]
