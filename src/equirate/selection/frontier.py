"""A classifier for each level of the constraints, all from one run: levels checked, solved and chosen.

In: a `Training`, and levels. Out: `LevelChoice`, one for each level. `estimators.frontier` evaluates and shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError
from .._core.interrupts import complete
from ..game.classifiers import Classifier
from ..game.infeasible import loosened
from ..game.solution import Solution
from ..training.training import Training
from .comparison import better
from .salts import Served, chosen_to_serve, with_salt


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
        _, chooser = training.play(levels=steps.tolist())
    points = _points(training, chooser, _mixtures(chooser, steps), steps)
    return [LevelChoice(float(level), *point) for level, point in zip(steps, points, strict=True)]


def _points(
    training: Training, chooser: Solution, mixtures: list[Classifier], levels: NDArray[np.float64]
) -> list[tuple[Classifier, int | None]]:
    """The classifier of each level: the mixture or, where rows repeat, the served classifier with its salt."""
    if training.draws is None:
        return [(mixture, None) for mixture in mixtures]
    rows, served_at = training.judged_rows, {}
    sample, draws = training.sample.take(rows), training.draws.take(rows)
    last: Served | None = None
    for k in np.argsort(levels, kind="stable").tolist():
        at_level = chooser.for_problem(loosened(chooser.problem, float(levels[k])))
        served, _ = chosen_to_serve(at_level, mixtures[k], at_level.best_single(), sample, draws)
        if last is not None:
            before = with_salt(at_level, last, sample, draws)
            served = min(served, before, key=lambda one: one.cost(at_level.tolerance))
        served_at[k] = last = served
    return [(served_at[k].classifier, served_at[k].salt) for k in range(len(levels))]


def _mixtures(chooser: Solution, levels: NDArray[np.float64]) -> list[Classifier]:
    """The best mixture for each level; a looser level may reuse that of a stricter one, so that none does worse."""
    best_at: dict[int, Classifier] = {}
    last: Classifier | None = None
    for k in np.argsort(levels, kind="stable"):
        at_level = chooser.for_problem(loosened(chooser.problem, float(levels[k])))
        mixture = at_level.polish()
        if last is not None:
            values = [at_level.value_of(each) for each in (last, mixture)]
            one, other = ((at_level.sign * objective, violation) for objective, violation in values)
            mixture = last if better(one, other, at_level.tolerance) else mixture
        best_at[int(k)] = last = replace(mixture, problem=at_level.problem, notes={})
    return [best_at[k] for k in range(len(levels))]
