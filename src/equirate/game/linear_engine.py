"""The default engine for linear models: which rows train and mix, the ridge, and when refined columns are kept.

In: a problem's table, features, and the part of every row. Out: columns with their weights for the features as given,
counted as `predict` decides. `engine` calls this.

The model trains and the mixture is chosen on all rows; a quarter of them, held out first, says whether refined columns
are kept: where both of its halves agree. Where there are few rows for each feature, the model trains on three quarters
and the mixture is chosen on the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.cells import Cells
from ..data.features import features
from ..data.sample import Sample
from ..mixtures import Columns, Source, best_by_violation, largest, values
from ..models.cell_rows import CellRows, Direction
from ..models.contract import Family
from ..models.folds import Folds
from ..models.linear import Linear, LinearMembers
from ..models.logistic_oracle import FEW, FREE, RIDGES, View, choose_ridge
from ..problem.table import Table
from .column_generation import PASSES, Generation, generate
from .refining import refine

Array = NDArray[np.float64]
Watch = Callable[[Sequence[Generation]], Any]

WIDEST = 400
"""Features up to which the ridge is chosen where rows are few."""
COUNTED = 48
"""Columns that are counted again as `predict` decides, about: those of the mixture, and those that are nearly in it."""
MOST_COUNTED = 5_000_000
"""Rows times columns up to which further columns than those of the mixture are counted."""
_BLOCK = 1 << 16


@dataclass(eq=False)
class LinearEngine:
    """Rows, parts and settings of a fit; generations of several problems and parts may share them.

    Attributes
    ----------
    rows
        The rows by cell and part: cell ``c`` of the table, part ``p`` is cell ``c * parts + p``.
    parts
        Number of parts that cells are split into.
    setting
        The model's own settings.
    penalty
        Ridge on every weight.
    """

    rows: CellRows
    parts: int
    setting: Linear
    penalty: Array = field(init=False)
    passes: int = 0

    @classmethod
    def of(cls, sample: Sample, cells: Cells, part: NDArray[np.intp] | None, parts: int, setting: Linear) -> LinearEngine:
        """Lay the rows out; ``part`` is the part of each of them, None for one part."""
        part = np.zeros(len(sample), dtype=np.intp) if part is None else part
        fine = cells if parts == 1 else Folds(part, np.zeros((1, parts), dtype=bool)).cells(cells)
        centre = setting.intercept or setting.standardise
        return cls(CellRows(features(sample.X, len(sample)), fine, centre=centre), parts, setting)

    def __post_init__(self) -> None:
        self.penalty = self._penalties()[0]

    def _penalties(self) -> list[Array]:
        """Ridges to choose from, on every weight; those of features as given grow with the scale of each."""
        ridges = [self.setting.penalty * self.rows.total] if self.setting.penalty else list(RIDGES)
        each = np.ones(len(self.rows.scale))
        if not self.setting.standardise:
            each = np.minimum(1 / self.rows.scale**2, 1e12)
        free = FREE if self.setting.intercept else 1e12
        return [np.append(ridge * each, free) for ridge in ridges]

    def choose_ridge(self, train: Array) -> None:
        """Choose the ridge by left-out loss, where rows are few."""
        penalties, width = self._penalties(), self.rows.width
        few = len(self.rows.order) < FEW * width and width <= WIDEST and self.rows.shared.size == 1
        if few and len(penalties) > 1:
            self.penalty = penalties[choose_ridge(self.rows, penalties, train)]

    # -- views -----------------------------------------------------------------------------------

    def factors(self, inside: Sequence[int], totals: Array | None = None) -> Array:
        """Factor of every cell and part, so that the parts inside count as much as the whole cell does.

        ``totals`` are the weights of the cells, by default those of all parts together.
        """
        own = self.rows.cells.totals.reshape(-1, self.parts)
        totals = own.sum(axis=1) if totals is None else totals
        there = np.isin(np.arange(self.parts), inside)
        weight = own[:, there].sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where((weight > 0) & there, totals[:, None] / weight, 0.0)
        return np.asarray(found).reshape(-1)

    def view(self, train: Sequence[int], measure: Sequence[int] | None = None, totals: Array | None = None) -> View:
        """Directions trained on some parts and counted on others (by default the same)."""
        factors = self.factors(train, totals)
        view = View(
            self.rows, factors, factors if measure is None else self.factors(measure, totals), self.penalty
        )
        view.directions = [view.origin()]
        return view

    # -- generations -----------------------------------------------------------------------------

    def begin(self, view: View, table: Table, start: Array | None = None) -> Generation:
        """A generation with the labels' direction, or with others to begin at (for standardised features)."""
        labels = np.where(table.cells.labels == 1, -1.0, 1.0)
        generation = Generation(table, view.measure)
        if len(view.directions) == 1:
            W = view.propose(generation.spread(labels[:, None])) if start is None else start
            view.directions += self._score(W)
        sources = [Source.CONSTANT] + [Source.LABELS] * (len(view.directions) - 1)
        families = [self.family(each, source) for each, source in zip(view.directions, sources, strict=True)]
        generation.begin(families, labels)
        return generation

    def go_on(self, before: Generation, view: View, table: Table | None = None) -> Generation:
        """A generation for other rows or for another problem, with what an earlier one has found."""
        table = before.table if table is None else table
        labels = np.where(table.cells.labels == 1, -1.0, 1.0)
        generation = Generation(table, view.measure)
        assert before.mixture is not None
        kept = [before.places[k] for k in np.flatnonzero(before.mixture.weights)]
        spaced = [place for place in before.places if place[0] < 2]
        generation.begin(before.families, labels, [*spaced, *kept])
        if before.interrupted:  # nothing more is generated: the best mixture of what there is
            generation.learn(())
            generation.interrupted = True
        return generation

    def family(self, direction: Direction, source: Source) -> Family:
        """The thresholds of a direction; without an intercept there is only one, at 0."""
        return Family(direction.sums, source, direction)

    def _score(self, W: Array) -> list[Direction]:
        self.passes += 1
        found = self.rows.score(W)
        return found if self.setting.intercept else [self.rows.at_zero(each) for each in found]

    def run(self, pairs: Sequence[tuple[Generation, View]], passes: int = PASSES, watch: Watch | None = None) -> None:
        """Generate columns; all generations share each pass."""
        views = {id(generation): view for generation, view in pairs}

        def answer(asked: Sequence[tuple[Generation, Array]]) -> list[tuple[list[Family], bool]]:
            proposed = [views[id(generation)].propose(generation.spread(costs)) for generation, costs in asked]
            found = self._score(np.concatenate(proposed, axis=1))
            answers = []
            for (generation, _), W in zip(asked, proposed, strict=True):
                own, found = found[: W.shape[1]], found[W.shape[1] :]
                view = views[id(generation)]
                view.directions += own
                answers.append(([self.family(each, Source.PRICED) for each in own], view.settled))
            return answers

        generate([generation for generation, _ in pairs], answer, passes, watch)

    # -- one problem -----------------------------------------------------------------------------

    def fit(
        self, table: Table, *, mix_apart: bool, passes: int = PASSES, watch: Watch | None = None, start: Array | None = None
    ) -> tuple[Generation, View]:
        """Generate columns for a problem by the rule of the module's docstring; all parts but 0 are held out."""
        everything = range(self.parts)
        if self.parts == 1 or mix_apart:
            self.choose_ridge(self.factors([0]))
            view = self.view([0], everything[1:] if mix_apart else None, table.cells.totals)
            generation = self.begin(view, table, start)
            self.run([(generation, view)], passes, watch)
            return generation, view
        self.choose_ridge(self.factors(everything))
        trained, view = self.view([0]), self.view(everything)
        first = self.begin(trained, table, start)
        self.run([(first, trained)], passes, watch)
        keep = not first.interrupted and self._gate(first, trained)
        view.directions = list(trained.directions)
        generation = self.go_on(first, view)
        if not first.interrupted:
            self.run([(generation, view)], passes, watch)
        if keep and not generation.interrupted:
            refine(generation, view)
        return generation, view

    def _gate(self, generation: Generation, view: View) -> bool:
        """Refine, and keep that where it lowers objective plus violation on each half of the held-out rows."""
        halves = [self.factors([part]) for part in range(1, self.parts)]
        known, mixture = (len(generation.families), len(view.directions)), generation.mixture
        before = [_value_on(generation, factors) for factors in halves]
        refine(generation, view)
        after = [_value_on(generation, factors) for factors in halves]
        if all(one < other for one, other in zip(after, before, strict=True)):
            return True
        generation.families, view.directions = generation.families[: known[0]], view.directions[: known[1]]
        generation.mixture = mixture
        return False

    # -- columns ---------------------------------------------------------------------------------

    def weights(self, generation: Generation, places: Sequence[int]) -> Array:
        """Weights of some columns for the features as given, the intercept last."""
        found = []
        for k in places:
            family, place = generation.places[k]
            direction = generation.families[family].snapshot
            found.append(self.rows.raw(direction.weights, float(direction.edges[place])))
        return np.stack(found, axis=1)

    def columns(self, generation: Generation, sample: Sample, cells: Cells) -> tuple[Columns, Array]:
        """The columns that matter, counted on rows as `predict` decides, and their weights."""
        places = self._worth_counting(generation)
        W = self.weights(generation, places)
        members = LinearMembers(W, True, sample.names)
        sums = np.zeros((len(cells), len(places)))
        for a in range(0, len(sample), _BLOCK):
            rows = slice(a, a + _BLOCK)
            sums += cells.take(rows).sums(members.decide(sample.X[rows]))
        (sums,) = self.rows.shared.add(sums)
        source = generation.columns(places).source
        handle = np.stack([np.zeros(len(places), dtype=np.intp), np.arange(len(places))], axis=1)
        return Columns.of(generation.table.rates(sums), source, handle), W

    def _worth_counting(self, generation: Generation) -> list[int]:
        """Columns of the mixture with their neighbours, the best single ones, and those that cost least at its prices."""
        assert generation.mixture is not None and generation.master is not None
        support = [generation.places[k] for k in np.flatnonzero(generation.mixture.weights)]
        near = [(f, k + step) for f, k in support for step in (-1, 1)]
        generation.add([(f, k) for f, k in near if 0 <= k < generation.families[f].sums.shape[1]])
        place = {each: k for k, each in enumerate(generation.places)}
        columns = generation.columns()
        wanted = [place[each] for each in [*support, *near] if each in place]
        wanted += [best_by_violation(generation.table, columns, 1e-3, both) for both in (True, False)]
        needed = len(wanted)
        for prices in generation.mixture.prices:
            wanted += np.argsort(prices @ generation.master.rows, kind="stable")[:COUNTED].tolist()
        count = min(COUNTED, MOST_COUNTED // max(self.rows.shared.total(len(self.rows.order)), 1))
        return sorted(dict.fromkeys(wanted[: max(needed, count)]))


def _value_on(generation: Generation, factors: Array) -> float:
    """Objective (minimised) plus violation of the mixture on some parts of the rows."""
    assert generation.mixture is not None
    support = np.flatnonzero(generation.mixture.weights)
    sums = np.stack([generation.families[f].sums[:, k] for f, k in (generation.places[j] for j in support)], axis=1)
    weighed = (sums * factors[:, None]).reshape(len(generation.table.cells), -1, len(support)).sum(axis=1)
    mixed = generation.table.rates(weighed) @ generation.mixture.weights[support]
    objective, violations = values(generation.table, mixed[:, None])
    return float(objective[0] + largest(violations)[0])
