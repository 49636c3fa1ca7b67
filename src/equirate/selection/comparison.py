"""Objective and violation of a classifier on the rows that it was chosen on, and which of two is better.

In: a `Solution`, a `Classifier` and the sample behind the solution's table. Out: numbers, and the `Status` of
one output.
"""

from __future__ import annotations

from dataclasses import replace

from ..data.sample import Sample
from ..game.classifiers import Classifier
from ..game.solution import Solution, Status
from ..game.status import MIXTURE


def measured(solution: Solution, classifier: Classifier, sample: Sample) -> tuple[float, float]:
    """Objective (in the user's sense) and largest signed violation of a classifier on the judging data."""
    if classifier.chosen:
        return solution.value_of(classifier)
    cells = solution.judge.cells
    decided = classifier.members.decide_sample(sample)
    rates = solution.judge.rates(cells.sums(decided) @ classifier.weights[:, None])
    objective, violations = solution.values(rates)
    return solution.sign * float(objective[0]), float(violations.max()) if len(violations) else 0.0


def cost_of(solution: Solution, classifier: Classifier, sample: Sample) -> tuple[float, float]:
    """Smaller is better: broken constraints first, then the minimised objective."""
    objective, violation = measured(solution, classifier, sample)
    return max(violation, solution.tolerance), solution.sign * objective


def status_of(solution: Solution, classifier: Classifier, sample: Sample) -> Status:
    """The status of a classifier that predicts, if it is not the best mixture of the columns."""
    objective, violation = measured(solution, classifier, sample)
    feasible = violation <= solution.tolerance
    advice = solution.status.advice
    if not feasible and solution.status.feasible:
        advice = (
            *advice,
            f"no single classifier was found with a violation below {violation:.4g}: a mixture meets them "
            '(output="hashed")',
        )
    return replace(
        solution.status,
        objective=objective,
        violation=max(violation, 0.0),
        feasible=feasible,
        smallest_violation=min(solution.status.smallest_violation, max(violation, 0.0)),
        gap=None if not feasible or solution.status.bound is None else abs(objective - solution.status.bound),
        advice=advice,
        speaks_of="" if classifier.is_deterministic else MIXTURE,
    )
