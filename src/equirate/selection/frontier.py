"""A classifier for each level of the constraints, all from one run: levels checked, solved and chosen.

In: a `Training`, and levels. Out: `LevelChoice`, one for each level. `estimators.frontier` evaluates and shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._core.errors import EquirateError
from .._core.interrupts import complete
from ..data.sample import Sample
from ..game.classifiers import Classifier
from ..game.infeasible import loosened
from ..game.solution import Solution
from ..training.draws import Draws
from ..training.training import Training
from .comparison import cost_of
from .salts import Served, best_salt, chosen_to_serve


class LevelChoice(NamedTuple):
    """The classifier of one level and, where rows repeat, the salt that it draws by."""

    level: float
    classifier: Classifier
    salt: int | None


def choose_for_levels(training: Training, levels: Sequence[float]) -> list[LevelChoice]:
    """Solve once for all levels, and choose a classifier for each."""
    steps = np.asarray(levels, dtype=float).ravel()
    if not len(steps) or not np.isfinite(steps).all():
        raise EquirateError(f"levels must be finite numbers, at least one; got {levels!r}")
    if not training.problem.constraints:
        raise EquirateError("a frontier needs at least one constraint to vary")
    with complete():  # a frontier needs every level solved completely
        _, solution = training.solve_on_training(levels=steps.tolist())
    rows = training.judged_rows
    sample, draws = training.sample.take(rows), None if training.draws is None else training.draws.take(rows)
    choices: dict[int, LevelChoice] = {}
    mixture: Classifier | None = None
    served: Served | None = None
    for k in np.argsort(steps, kind="stable").tolist():
        level = float(steps[k])
        at_level = solution.for_problem(loosened(solution.problem, level))
        mixture = _best_mixture(at_level, mixture, sample)
        choices[k] = LevelChoice(level, mixture, None)
        if draws is not None:
            served = _best_served(at_level, mixture, sample, draws, served)
            choices[k] = LevelChoice(level, served.classifier, served.salt)
    return [choices[k] for k in range(len(steps))]


def _best_mixture(at_level: Solution, before: Classifier | None, sample: Sample) -> Classifier:
    """The best mixture for a level, or that of the stricter level before it, so that a looser level does no worse."""
    mixture = at_level.polish()
    if before is not None:
        mixture = min(mixture, before, key=lambda one: cost_of(at_level, one, sample))
    return replace(mixture, problem=at_level.problem, notes={})


def _best_served(
    at_level: Solution, mixture: Classifier, sample: Sample, draws: Draws, before: Served | None
) -> Served:
    """The classifier to serve at a level where rows repeat, or that of the stricter level before it."""
    served, _ = chosen_to_serve(at_level, mixture, at_level.best_single(), sample, draws)
    if before is None:
        return served
    again = best_salt(at_level, before.classifier, sample, replace(draws, salts=(before.salt,)))
    return min(served, again, key=lambda one: one.cost(at_level.tolerance))
