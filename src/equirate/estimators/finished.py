"""Finishing a fit: which further columns are found, on which rows, and whether held-out rows say that they are worse.

In: a `Solution` of the training rows, and the parts. Out: the solution judged where mixtures are chosen, with the
columns that are kept. `fitting` and `frontier` call this.

Columns are priced and answered on the training rows. Where the mixture is chosen on training and held-out rows
together, no column has seen the held-out rows: they say which columns to keep, all of them, the regressions alone, or
those of the play (`_pool`). Then, where data are few, further columns of this kind are found on all rows that the
mixture is chosen on, as one refits on all data after a setting was chosen on a part.
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
FEW_FEATURES = 4
"""Features up to which columns that fit the sample closely are preferred."""
BLOCKS = 10
"""Parts of the held-out rows that are left out in turn, to see how much a difference varies."""
NOISE = 1.0
"""Standard errors by which others must look better on held-out rows than the columns that are preferred."""


@dataclass(frozen=True, eq=False)
class Held:
    """The rows that mixtures are chosen on and, where they are not among the training rows, those held out of them."""

    choose: tuple[Sample, Cells]
    apart: tuple[Sample, Cells] | None


def finished(solution: Solution, model: Any, held: Held, told: Told | None = None) -> Solution:
    """Finish a solution of the training rows, and judge it where mixtures are chosen."""
    more = solution.finish(progress=told)
    chooser = more.on_sample(*held.choose)
    if not more.record.joined:
        return chooser
    searching = True
    if held.apart is not None:
        kept = _pool(more, *held.apart)
        chooser, searching = replace(chooser, mixed=kept), kept is None
        if kept == more.played().mixed:
            return chooser
    learner = make_model(model).bind(Rows.of(held.choose[0], chooser.judge.cells), 1, ADAM, [0])
    every = learner.every_sum()
    if every is None and (held.apart is None or len(held.choose[0]) > REFIT):
        return chooser
    joined = finishing(chooser, learner, told=told, searching=searching)
    return replace(chooser.joining(joined), every=every)


def _pool(more: Solution, sample: Sample, cells: Cells) -> tuple[int, ...] | None:
    """The columns to mix, as rows say that none of them has seen: all, the regressions alone, or those of the play.

    Of thousands of classifiers, or of all directions, the best on the training rows is partly lucky; the regressions
    are few, and fit no sample closely. With few features the search is what finds the optimum, and there is little to
    fit too closely. So these are preferred, unless others are better by more than the difference may be wrong.
    """
    pools = [more, more.regressed(), more.played()]
    if (more.learner.width or 0) > FEW_FEATURES and more.regressed().iterates:
        pools = [pools[1], pools[0], pools[2]]
    pools = [pool for pool in pools if pool.iterates]
    found = _merits([pool.polish(time_limit=0) for pool in pools], more, sample, cells)
    if found is None:
        return pools[0].mixed
    by = found - found[:, :1]
    error = np.sqrt((BLOCKS - 1) * np.var(by[1:], axis=0))
    return pools[int(np.argmin(by[0] + NOISE * error))].mixed


def _merits(mixtures: list[Classifier], solution: Solution, sample: Sample, cells: Cells) -> Array | None:
    """(1 + blocks, mixtures): objective and price of the violation, on all rows and with each block left out in turn.

    None where some part cannot measure a rate, or a value is not finite.
    """
    predicted = np.stack([each.positive_probability(sample.X, sample.examples.columns) for each in mixtures], axis=1)
    block = np.random.default_rng(0).permutation(len(sample)) % BLOCKS
    merits = np.zeros((1 + BLOCKS, len(mixtures)))
    for k in range(1 + BLOCKS):
        weights = np.where(block == k - 1, 0.0, sample.examples.weights)
        part = cells.weighing(weights)
        try:
            table = make_table(solution.judge.program, replace(sample.examples, weights=weights), part)
        except DataError:
            return None
        rates = snapped(table.rates(part.sums(predicted)))
        objective, violations = values(table, rates, np.zeros((0, len(mixtures))), table.constants)
        merits[k] = objective + PENALTY * np.maximum(violations, 0.0).max(axis=0, initial=0.0)
    return merits if np.isfinite(merits).all() else None
