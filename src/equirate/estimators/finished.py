"""Finishing a fit: which further columns are found, on which rows, and whether held-out rows say that they are worse.

In: a `Solution` of the training rows, and the parts. Out: the solution judged where mixtures are chosen, with the
columns that are kept. `fitting` and `frontier` call this.

Columns are priced and answered on the training rows. Where the mixture is chosen on training and held-out rows
together, no column has seen the held-out rows: they say which columns to keep, all of them, the regressions alone, or
those of the play (`_pool`). Then, where data are few, further columns of this kind are found on all rows that the
mixture is chosen on, as one refits on all data after a setting was chosen on a part. Where the model fitted to the
labels alone is kept, it is fitted again on all rows, however many: nobody gets less than that model where constraints
allow it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError
from .._core.peers import peers
from ..data.cells import Cells
from ..data.sample import Sample
from ..game.classifiers import Classifier, snapped
from ..game.finishing import Told, finishing
from ..game.infeasible import shifted
from ..game.loop import values
from ..game.solution import Solution
from ..mixtures import PENALTY
from ..models import make_model
from ..models.contract import Fit, Rows
from ..players.steps import ADAM
from ..problem.problem import Problem
from ..problem.table import make_table
from .choosing import split

Array = NDArray[np.float64]

REFIT = 5000
"""Rows up to which columns are also found on all of them."""
FEW_FEATURES = 4
"""Features up to which columns that fit the sample closely are preferred."""
ENOUGH_ROWS = 800
"""Training rows from which on the model fitted to the labels alone is preferred where it is as good."""
ROOM, SHARE = 0.01, 0.08
"""How much better others than the closest fits may be, on the rows that columns were found on, for it to be left open:
at most so much, and at most this share of it.
"""
ALONG = 5
"""Levels of a frontier that columns are found for, at most."""
BLOCKS = 10
"""Parts of the held-out rows that are left out in turn, to see how much a difference varies."""
NOISE = 1.0
"""Standard errors by which others must look better on held-out rows than the columns that are preferred."""
HARDLY = 0.5
"""Standard errors by which columns that are better than those of the play may break more."""


@dataclass(frozen=True, eq=False)
class Held:
    """The rows that mixtures are chosen on, those of them that no column was found on, and all of both parts.

    ``together`` says whether the first are more than the second: training and held-out rows.
    """

    choose: tuple[Sample, Cells]
    apart: tuple[Sample, Cells]
    whole: tuple[Sample, Cells]

    @property
    def together(self) -> bool:
        """Whether mixtures are chosen on training rows too."""
        return bool(peers().total(len(self.choose[0]) - len(self.apart[0])) > 0)


def finished(
    solution: Solution, model: Any, held: Held, levels: Array | None = None, told: Told | None = None
) -> Solution:
    """Finish a solution of the training rows, and judge it where mixtures are chosen.

    ``levels`` are those of a frontier: columns are found for some of them, and all of these are kept.
    """
    more = for_levels(solution, levels, told)
    chooser = more.on_sample(*held.choose)
    if not more.record.joined or levels is not None:
        return chooser
    kept = _pool(more, *held.apart, held.together)
    if kept is not more and _breaks(chooser, replace(chooser, mixed=kept.mixed)):
        kept = more
    chooser = replace(chooser, mixed=kept.mixed)
    if kept.mixed == more.joined(Fit.LABELS).mixed:
        again = _again(more, model, held)
        return chooser if _breaks(chooser, again) else again
    few, listed = held.together and len(held.choose[0]) <= REFIT, more.learner.every_sum() is not None
    if kept.mixed == more.played().mixed or not (few or listed):
        return chooser
    learner = make_model(model).bind(Rows.of(held.choose[0], chooser.judge.cells), 1, ADAM, [0])
    joined = finishing(chooser, learner, told=told, searching=kept.mixed is None)
    return replace(chooser.joining(joined), every=learner.every_sum())


def _again(more: Solution, model: Any, held: Held) -> Solution:
    """The model fitted to the labels, fitted again on all rows, and judged where mixtures are chosen."""
    whole = more.joined(Fit.LABELS).on_sample(*held.whole)
    learner = make_model(model).bind(Rows.of(held.whole[0], whole.judge.cells), 1, ADAM, [0])
    joining = whole.joining(finishing(whole, learner, 0, searching=False))
    labels = joining.joined(Fit.LABELS).mixed or ()
    again = tuple(t for t in labels if t >= len(more.record.rounds))
    if again:  # otherwise it has the same rates as before
        whole = replace(joining, mixed=again)
    return whole.on_sample(*held.choose) if not held.together else whole


def for_levels(solution: Solution, levels: Array | None, told: Told | None = None) -> Solution:
    """Finish a solution for its own problem or, along a frontier, for some of the levels."""
    if levels is None or solution.problem.losses():
        return solution.finish(progress=told)
    for level in np.unique(np.quantile(levels, np.linspace(0, 1, ALONG), method="nearest")):
        at_level = solution.for_problem(loosened(solution.problem, float(level)))
        solution = solution.joining(finishing(at_level, told=told))
    return solution


def loosened(problem: Problem, by: float) -> Problem:
    """The problem with every constraint loosened by so much."""
    return Problem(problem.objective, [shifted(part, -by) for part in split(problem)])


def _pool(more: Solution, sample: Sample, cells: Cells, trusted: bool) -> Solution:
    """The columns to mix, as rows say that none of them has seen.

    Of thousands of classifiers, or of all directions, the best on the training rows is partly lucky, most of all where
    a constraint is about few of them. With few rows or features the optimum on the rows given is what is wanted: the
    columns that fit closest stand first, or those fitted to prices. Otherwise those of the play do, and others take
    their place where they are better and break no more (`_instead`). The model fitted to the labels alone is preferred
    to them all, unless those are better by more than the difference may be wrong: where no constraint binds, it is what
    there is to be had.

    It must also be nearly as good on the training rows as all that are not searched for; where these rows are not
    ``trusted``, what fits them too closely says nothing there, and it must be nearly as good as its own thresholds.
    """
    narrow = (more.learner.width or 0) <= FEW_FEATURES
    enough = peers().total(len(more.judge.examples)) >= ENOUGH_ROWS
    cautious = enough and trusted and not narrow
    simple = {} if narrow or not enough else {"labels": more.joined(Fit.LABELS)}
    others = {"played": more.played(), "priced": more.joined(Fit.PRICED), "all": more}
    if narrow:
        order = ("all", "priced", "played")
    else:
        order = ("played", "priced", "all") if cautious else ("priced", "all", "played")
    pools = {**simple, **{name: others[name] for name in order}}
    pools = {name: pool for name, pool in pools.items() if pool.iterates}
    mixtures = {name: pool.polish(time_limit=0) for name, pool in pools.items()}
    reached = {name: _merit(more, mixture) for name, mixture in mixtures.items()}
    least = min(merit for name, merit in reached.items() if name != "all")
    bar = dict.fromkeys(pools, least + _room(least))
    if cautious:
        bar |= dict.fromkeys(order, np.inf)
    elif "labels" in pools:
        own = _merit(more, more.joined(Fit.PLAIN).polish(time_limit=0))
        bar["labels"] = max(bar["labels"], own + _room(own))
    near = [name for name in pools if reached[name] <= bar[name]]
    found = _apart([mixtures[name] for name in near], more, sample, cells)
    if found is None:
        return more
    objective, violation = (dict(zip(near, each.T, strict=True)) for each in found)
    merit = {name: objective[name] + PENALTY * violation[name] for name in near}
    best, *rest = [name for name in near if name not in simple] or near
    for other in rest:
        if cautious:
            takes = _instead(objective[other] - objective[best], violation[other] - violation[best])
        else:
            takes = _less(merit[other] - merit[best], 2 * NOISE if narrow else NOISE)
        best = other if takes else best
    if "labels" in near and not _less(merit[best] - merit["labels"], 2 * NOISE):
        return pools["labels"]
    return pools[best]


def _room(merit: float) -> float:
    """How far from a merit is near: an error of 0.2 and a divergence of 0.002 are not of one scale."""
    return min(ROOM, SHARE * abs(merit)) if np.isfinite(merit) else 0.0


def _instead(objective: Array, violation: Array) -> bool:
    """Whether columns take the place of those of the play: better, breaking no more; or clearly so, and hardly more.

    Both are differences, on all rows and with each block left out in turn.
    """
    return bool(objective[0] < 0 and violation[0] <= HARDLY * _error(violation) * _less(objective, NOISE))


def _less(difference: Array, noise: float) -> bool:
    """Whether a difference is below 0 by more than it may be wrong."""
    return bool(difference[0] < -noise * _error(difference))


def _error(difference: Array) -> float:
    """The standard error of a difference, by leaving blocks out."""
    return float(np.sqrt((BLOCKS - 1) * np.var(difference[1:])))


def _breaks(every: Solution, some: Solution) -> bool:
    """Whether mixtures of some columns break a constraint where those of all columns do not."""
    if some.value_of(some.polish(time_limit=0))[1] <= some.tolerance:
        return False
    return every.value_of(every.polish(time_limit=0))[1] <= every.tolerance


def _merit(solution: Solution, mixture: Classifier) -> float:
    """Objective and price of the violation on the rows that columns were found on; smaller is better."""
    objective, violation = solution.value_of(mixture)
    merit = solution.sign * objective + PENALTY * max(violation, 0.0)
    return merit if np.isfinite(merit) else np.inf


def _apart(mixtures: list[Classifier], solution: Solution, sample: Sample, cells: Cells) -> tuple[Array, Array] | None:
    """Objective (minimised) and violation, (1 + blocks, mixtures): on all rows and with each block left out in turn.

    None where some part cannot measure a rate, or a value is not finite.
    """
    predicted = np.stack([each.positive_probability(sample.X, sample.examples.columns) for each in mixtures], axis=1)
    first, total = peers().places(len(sample))
    block = np.random.default_rng(0).permutation(total)[first : first + len(sample)] % BLOCKS
    objective, violation = np.zeros((2, 1 + BLOCKS, len(mixtures)))
    for k in range(1 + BLOCKS):
        weights = np.where(block == k - 1, 0.0, sample.examples.weights)
        part = cells.weighing(weights)
        try:
            table = make_table(solution.judge.program, replace(sample.examples, weights=weights), part)
        except DataError:
            return None
        rates = snapped(table.rates(part.sums_of_all(predicted)))
        objective[k], signed = values(table, rates, np.zeros((0, len(mixtures))), table.constants)
        violation[k] = np.maximum(signed, 0.0).max(axis=0, initial=0.0)
    return (objective, violation) if np.isfinite(objective + violation).all() else None
