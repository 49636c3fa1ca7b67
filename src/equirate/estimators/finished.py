"""Finishing a fit: which further columns are found, on which rows, and whether held-out rows say that they are worse.

In: a `Solution` of the training rows, and the parts. Out: the solution judged where mixtures are chosen, with the
columns that are kept. `fitting` and `frontier` call this.

Columns are priced and answered on the training rows. Where the mixture is chosen on training and held-out rows
together, the held-out rows have seen none of the columns: if the finished mixture is worse there than that of the play
alone, by more than the difference may be wrong, the play's columns are kept. Otherwise, where data are few, further
columns are found on all rows that the mixture is chosen on, as one refits on all data after a setting was chosen on a
part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError
from ..data.cells import Cells
from ..data.sample import Sample
from ..game.classifiers import Classifier, snapped
from ..game.finishing import Told, finishing
from ..game.loop import values
from ..game.solution import Solution
from ..mixtures import PENALTY
from ..models import make_model
from ..models.contract import Rows
from ..players.steps import ADAM
from ..problem.table import make_table

Array = NDArray[np.float64]

REFIT = 5000
"""Rows up to which columns are also found on all of them."""
BLOCKS = 10
"""Parts of the held-out rows that are left out in turn, to see how much a difference varies."""
NOISE = 1.0
"""Standard errors by which a finished mixture may look worse on held-out rows."""


@dataclass(frozen=True, eq=False)
class Held:
    """The rows that mixtures are chosen on and, where they are not among the training rows, those held out of them."""

    choose: tuple[Sample, Cells]
    apart: tuple[Sample, Cells] | None


def finished(solution: Solution, model: Any, held: Held, told: Told | None = None) -> Solution:
    """Finish a solution of the training rows, and judge it where mixtures are chosen."""
    more = solution.finish(progress=told)
    chooser = more.on_sample(*held.choose)
    if held.apart is not None and more is not solution:
        plain = chooser.played()
        if worse(chooser.polish(time_limit=0), plain.polish(time_limit=0), chooser, *held.apart):
            return plain
    learner = make_model(model).bind(Rows.of(held.choose[0], chooser.judge.cells), 1, ADAM, [0])
    every = learner.every_sum()
    if more is solution or (every is None and (held.apart is None or len(held.choose[0]) > REFIT)):
        return chooser
    return replace(chooser.joining(finishing(chooser, learner, told=told)), every=every)


def worse(one: Classifier, other: Classifier, solution: Solution, sample: Sample, cells: Cells) -> bool:
    """Whether one classifier is worse than another on a sample, by more than the difference may be wrong.

    Objective and violation are weighed as everywhere; the error is that of leaving out a tenth of the rows in turn.
    """
    given = [each.positive_probability(sample.X, sample.examples.columns) for each in (one, other)]
    predicted = np.stack(given, axis=1)
    block = np.random.default_rng(0).permutation(len(sample)) % BLOCKS
    try:
        whole = _difference(solution, sample, cells, predicted, np.ones(len(sample), dtype=bool))
        parts = [_difference(solution, sample, cells, predicted, block != k) for k in range(BLOCKS)]
    except DataError:  # a rate that some part cannot measure: nothing is known
        return False
    error = float(np.sqrt((BLOCKS - 1) * np.var(parts)))
    return bool(np.isfinite(whole + error) and whole > NOISE * error)


def _difference(solution: Solution, sample: Sample, cells: Cells, predicted: Array, kept: NDArray[np.bool_]) -> float:
    """By how much the first is worse on some of the rows."""
    weights = np.where(kept, sample.examples.weights, 0.0)
    part = cells.weighing(weights)
    table = make_table(solution.judge.program, replace(sample.examples, weights=weights), part)
    rates = snapped(table.rates(part.sums(predicted)))
    objective, violations = values(table, rates, np.zeros((0, 2)), table.constants)
    merit = objective + PENALTY * np.maximum(violations, 0.0).max(axis=0, initial=0.0)
    return float(merit[0] - merit[1])
