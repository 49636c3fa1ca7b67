"""The default engine for linear models: which rows train and mix, the ridge, and which classifiers are columns.

In: a problem's table, features, and the part of every row. Out: columns with their weights for the features as given,
and with rates of the decisions of `predict`. `engine` calls this.

The model is trained and the mixture is chosen on all rows. Each regression gives one classifier, whose threshold is the
fitted intercept. A larger set of classifiers (all thresholds of all directions, and refined directions: `refining`) is
used if a trial with a quarter of the rows held out shows that it is better, or if the constraints cannot be met without
it. With few rows per feature, the model is trained on three quarters of the rows and the mixture is chosen on the last
quarter, with all thresholds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core import threads
from .._core.interrupts import complete
from ..data.cells import Cells
from ..data.features import features
from ..data.sample import Sample
from ..mixtures import Columns, Source, best_by_violation, largest, values
from ..models.cell_rows import CellRows, Direction
from ..models.linear import Linear
from ..models.linear_members import LinearMembers
from ..models.logistic_oracle import INTERCEPT_RIDGE, RIDGES, ROWS_PER_WEIGHT, View, choose_ridge
from ..models.messages import Family
from ..problem.table import Table
from .column_generation import PASSES, Generation, generate, keeping_columns
from .refining import refine

Array = NDArray[np.float64]
OnPass = Callable[[Sequence[Generation]], Any]

MAX_VALUES_MADE_DENSE = 16_000_000
"""Sparse features with up to this many values are made dense and get second moments: fewer passes, the same result."""
DECISION_ROWS = 50_000
"""Approximate number of rows for the decision with held-out rows; all rows if there are fewer.

The answer is yes or no. A quarter of this many rows shows differences of a few thousandths in a rate; smaller ones
hardly matter."""
ROWS_PER_CELL = 5
"""Held-out rows per cell, on average, that are needed for the decision."""
MAX_FEATURES_FOR_RIDGE = 400
"""Largest number of features for which the ridge is chosen by left-out loss if rows are few."""
COLUMNS_COUNTED = 48
"""Approximate number of columns whose rates are counted with `predict`: those of the mixture, and near candidates."""
MAX_DECISIONS_COUNTED = 1_000_000
"""Rows times columns up to which columns outside the mixture are counted."""
_BLOCK, _COUNTED_ROWS = 1 << 16, 1 << 13
"""Rows that a thread counts together, and those of them whose scores stay in cache."""


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
    tolerance
        Violations up to this size count as met.
    penalty
        Ridge on every weight.
    rounds
        Passes that answered prices, of the longest run.
    """

    rows: CellRows
    parts: int
    setting: Linear
    tolerance: float = 1e-3
    penalty: Array = field(init=False)
    rounds: int = 0

    @classmethod
    def of(
        cls,
        sample: Sample,
        cells: Cells,
        part: NDArray[Any] | None,
        parts: int,
        setting: Linear,
        tolerance: float = 1e-3,
    ) -> LinearEngine:
        """Arrange the rows by cell and part; ``part`` is the part of each row, None for one part."""
        fine = cells if part is None or parts == 1 else cells.by_part(part, parts)
        X, shared = features(sample.X, len(sample), finite=False), cells.shared  # they have been checked
        sparse = bool(sp.issparse(X))  # the type stubs narrow the class of X after a direct check
        if sparse and shared.total(X.shape[0]) * X.shape[1] <= max(MAX_VALUES_MADE_DENSE, 4 * shared.total(X.nnz)):
            X = X.toarray()
        return cls(CellRows(X, fine, centre=setting.intercept or setting.standardise), parts, setting, tolerance)

    def __post_init__(self) -> None:
        self.penalty = self._penalties()[0]

    def _penalties(self) -> list[Array]:
        """Candidate ridges on every weight, for rows with an average weight of 1.

        Without standardisation, they are adapted to the scale of each feature.
        """
        mean = self.rows.total / max(self.rows.shared.total(self.rows.size), 1)
        ridges = [mean * ridge for ridge in RIDGES]
        if self.setting.penalty:
            ridges = [self.setting.penalty * self.rows.total]
        relative = np.ones(len(self.rows.scale))
        if not self.setting.standardise:
            relative = np.minimum(1 / self.rows.scale**2, 1e12)
        free = mean * INTERCEPT_RIDGE if self.setting.intercept else 1e12
        return [np.append(ridge * relative, free) for ridge in ridges]

    def choose_ridge(self, train: Array) -> None:
        """Choose the ridge by left-out loss, if rows are few."""
        penalties, width = self._penalties(), self.rows.width
        few = self.rows.shared.total(self.rows.size) < ROWS_PER_WEIGHT * width and width <= MAX_FEATURES_FOR_RIDGE
        if few and len(penalties) > 1:
            self.penalty = penalties[choose_ridge(self.rows, penalties, train)]

    # -- views -----------------------------------------------------------------------------------

    def factors(self, inside: Sequence[int], totals: Array | None = None) -> Array:
        """Factor of every cell and part, such that the parts ``inside`` have the weight of the whole cell.

        ``totals`` are the weights of the cells, by default the sums over all parts.
        """
        own = self.rows.cells.totals.reshape(-1, self.parts)
        totals = own.sum(axis=1) if totals is None else totals
        chosen = np.isin(np.arange(self.parts), inside)
        weight = own[:, chosen].sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = np.where((weight > 0) & chosen, totals[:, None] / weight, 0.0)
        return np.asarray(factors).reshape(-1)

    def view(
        self,
        train: Sequence[int],
        measure: Sequence[int] | None = None,
        totals: Array | None = None,
        thresholds: bool = True,
    ) -> View:
        """Directions trained on some parts and measured on others (by default the same).

        Without an intercept there is one threshold, 0.
        """
        factors = self.factors(train, totals)
        measured = factors if measure is None else self.factors(measure, totals)
        view = View(self.rows, factors, measured, self.penalty, thresholds and self.setting.intercept)
        origin = view.origin()
        if not self.setting.intercept:  # a score of 0 is not above 0
            origin = replace(origin, edges=np.zeros(1), sums=np.zeros((len(self.rows.cells), 1)))
        view.directions = [origin]
        return view

    # -- generations -----------------------------------------------------------------------------

    def begin(self, view: View, table: Table, start: Array | None = None) -> Generation:
        """A generation that starts with the regression of the labels, or from ``start`` (for standardised features)."""
        labels = table.cells.label_costs()
        generation = Generation(table, view.measure)
        if len(view.directions) == 1:
            W = view.propose(generation.spread(labels[:, None])) if start is None else start
            view.directions += self._score(W, view.thresholds)
        sources = [Source.CONSTANT] + [Source.LABELS] * (len(view.directions) - 1)
        families = [
            Family(direction.sums, source, direction)
            for direction, source in zip(view.directions, sources, strict=True)
        ]
        generation.begin(families, labels)
        return generation

    def go_on(self, before: Generation, view: View, table: Table | None = None) -> Generation:
        """A generation for other rows or another problem, with the families of an earlier one."""
        table = before.table if table is None else table
        labels = table.cells.label_costs()
        generation = Generation(table, view.measure)
        assert before.mixture is not None
        kept = [before.places[k] for k in np.flatnonzero(before.mixture.weights)]
        spaced = [place for place in before.places if place[0] < 2]
        generation.begin(before.families, labels, [*spaced, *kept])
        if before.interrupted:  # nothing more is generated: mix the columns so far
            generation.add_answers(())
            generation.interrupted = True
        return generation

    def _score(self, W: Array, thresholds: bool) -> list[Direction]:
        if not self.setting.intercept:  # its large ridge makes it almost 0, but not exactly
            W = np.vstack([W[:-1], np.zeros((1, W.shape[1]))])
        return self.rows.score(W, thresholds=thresholds)

    def run(self, pairs: Sequence[tuple[Generation, View]], passes: int = PASSES, watch: OnPass | None = None) -> None:
        """Generate columns; all generations share each pass, and count the same thresholds."""
        views = {id(generation): view for generation, view in pairs}
        thresholds = any(view.thresholds for _, view in pairs)

        def answer(asked: Sequence[tuple[Generation, Array]]) -> list[tuple[list[Family], bool]]:
            proposed = [views[id(generation)].propose(generation.spread(costs)) for generation, costs in asked]
            directions = self._score(np.concatenate(proposed, axis=1), thresholds)
            answers = []
            for (generation, _), W in zip(asked, proposed, strict=True):
                own, directions = directions[: W.shape[1]], directions[W.shape[1] :]
                view = views[id(generation)]
                view.directions += own
                answers.append(([Family(direction.sums, Source.PRICED, direction) for direction in own], view.settled))
            return answers

        used = generate([generation for generation, _ in pairs], answer, passes, watch)
        self.rounds = max(self.rounds, used)

    # -- one problem -----------------------------------------------------------------------------

    def fit(
        self,
        table: Table,
        *,
        mix_on_held_out: bool,
        passes: int = PASSES,
        watch: OnPass | None = None,
        start: Array | None = None,
    ) -> tuple[Generation, View]:
        """Generate columns for a problem as in the module's docstring; all parts but 0 are held out."""
        everything = range(self.parts)
        if self.parts == 1 or mix_on_held_out:
            self.choose_ridge(self.factors([0]))
            view = self.view([0], everything[1:] if mix_on_held_out else None, table.cells.totals)
            generation = self.begin(view, table, start)
            self.run([(generation, view)], passes, watch)
            return generation, view
        self.choose_ridge(self.factors(everything))
        sampled = self._thinned()
        trained = sampled.view([0], totals=table.cells.totals, thresholds=False)
        first = sampled.begin(trained, table, start)
        sampled.run([(first, trained)], passes, watch)
        self.rounds, larger = sampled.rounds, False
        if not first.interrupted:
            with keeping_columns([first]), complete():
                larger = self.setting.intercept and sampled.larger_set_is_better(first, trained, passes)
                view = self.view(everything, thresholds=larger)
                generation = self.begin(view, table, start)
        if first.interrupted:
            view = self.view(everything, thresholds=False)
            return self._interrupted(sampled, first, trained, view), view
        del sampled, first, trained  # before the passes over all rows
        generation = self.run_until_met(generation, view, passes, watch)
        if larger and not generation.interrupted:
            with keeping_columns([generation]):
                refine(generation, view)
        return generation, view

    def run_until_met(
        self, generation: Generation, view: View, passes: int = PASSES, watch: OnPass | None = None
    ) -> Generation:
        """Generate columns; if they cannot meet the constraints, go on with all thresholds."""
        self.run([(generation, view)], passes, watch)
        assert generation.mixture is not None
        one_threshold = self.setting.intercept and not view.thresholds
        if one_threshold and generation.mixture.violation > self.tolerance and not generation.interrupted:
            generation = self._with_thresholds(generation, view)
            self.run([(generation, view)], passes, watch)
        return generation

    def _with_thresholds(self, before: Generation, view: View) -> Generation:
        """A generation that goes on with all thresholds of the known directions."""
        known = view.directions[1:]
        counted = self.rows.score(np.stack([direction.weights for direction in known], axis=1), losses=False)
        for k, (direction, new) in enumerate(zip(known, counted, strict=True), start=1):
            view.directions[k] = replace(direction, edges=new.edges, sums=new.sums)
        view.thresholds = True
        families = [
            Family(direction.sums, family.source, direction)
            for direction, family in zip(view.directions, before.families, strict=True)
        ]
        fitted = [(f, int(np.argmin(np.abs(direction.edges)))) for f, direction in enumerate(view.directions)]
        generation = Generation(before.table, view.measure, stages=before.stages)
        generation.begin(families, before.table.cells.label_costs(), [(0, 0), (0, 1), *fitted[1:]])
        return generation

    def _thinned(self) -> LinearEngine:
        """An engine for a sample of the rows, with the same ridge; this engine if there are few rows."""
        rows = self.rows.thinned(DECISION_ROWS, regress=True)
        if rows is self.rows:
            return self
        engine = LinearEngine(rows, self.parts, self.setting, self.tolerance)
        engine.penalty = self.penalty
        return engine

    def _interrupted(self, sampled: LinearEngine, first: Generation, trained: View, view: View) -> Generation:
        """A generation for all rows with the directions of an interrupted one."""
        if sampled is self:
            view.directions = list(trained.directions)
            return self.go_on(first, view)
        W = np.stack([direction.weights for direction in trained.directions[1:]], axis=1)
        view.directions += self._score(W, view.thresholds)
        generation = self.begin(view, first.table)
        generation.add_answers(())
        generation.interrupted = True
        return generation

    def larger_set_is_better(self, generation: Generation, view: View, passes: int = PASSES) -> bool:
        """Whether all thresholds and refined directions lower objective plus violation on the held-out rows.

        The first answer is that of the known directions and one step of refining. With too few held-out rows per cell,
        the answer is no.
        """
        held_out = self.rows.cells.totals.reshape(-1, self.parts)[:, 1:]
        if self.rows.shared.total(self.rows.size) * held_out.sum() < self.rows.total * ROWS_PER_CELL * held_out.size:
            return False
        factors = self.factors(range(1, self.parts), generation.table.cells.totals)
        before = _value_on(generation, factors)
        generation = self._with_thresholds(generation, view)
        refine(generation, view, 1)
        if _value_on(generation, factors) >= before:
            return False
        self.run([(generation, view)], passes)
        refine(generation, view)
        return _value_on(generation, factors) < before

    # -- columns ---------------------------------------------------------------------------------

    def weights(self, generation: Generation, places: Sequence[int]) -> Array:
        """Weights of some columns for the features as given, the intercept last."""
        weights = []
        for k in places:
            family, place = generation.places[k]
            direction = generation.families[family].snapshot
            weights.append(self.rows.raw(direction.weights, float(direction.edges[place])))
        return np.stack(weights, axis=1)

    def columns(self, generation: Generation, sample: Sample, judge: Table) -> tuple[Columns, Array]:
        """The relevant columns with rates of ``judge``, counted from the decisions of `predict`, and their weights."""
        places, cells = self._worth_counting(generation), judge.cells
        W = self.weights(generation, places)
        members = LinearMembers(W, True, sample.names)
        starts = range(0, len(sample), _BLOCK)
        parts = np.zeros((len(starts), len(cells), len(places)))

        def count(k: int) -> None:
            for start in range(starts[k], min(starts[k] + _BLOCK, len(sample)), _COUNTED_ROWS):
                rows = slice(start, min(start + _COUNTED_ROWS, starts[k] + _BLOCK))
                parts[k] += cells.batch(rows).partial_sums(members.decide(sample.X[rows]))

        threads.each(count, [(k,) for k in range(len(starts))])
        (sums,) = self.rows.shared.add(parts.sum(axis=0))
        source = generation.columns(places).source
        handle = np.stack([np.zeros(len(places), dtype=np.intp), np.arange(len(places))], axis=1)
        return Columns.of(judge.rates(sums), source, handle), W

    def release(self) -> None:
        """Free the memory of the rows if no more passes follow: counting the columns needs memory too."""
        self.rows.release()

    def _worth_counting(self, generation: Generation) -> list[int]:
        """Columns of the mixture with their neighbours, the best single ones, and the cheapest at its prices."""
        assert generation.mixture is not None
        assert generation.master is not None
        support = [generation.places[k] for k in np.flatnonzero(generation.mixture.weights)]
        near = [(f, k + step) for f, k in support for step in (-1, 1)]
        generation.add([(f, k) for f, k in near if 0 <= k < generation.families[f].sums.shape[1]])
        place = {pair: k for k, pair in enumerate(generation.places)}
        columns = generation.columns()
        wanted = [place[pair] for pair in [*support, *near] if pair in place]
        wanted += [best_by_violation(generation.table, columns, self.tolerance, both) for both in (True, False)]
        needed = len(wanted)
        for prices in generation.mixture.prices:
            wanted += np.argsort(prices @ generation.master.rows, kind="stable")[:COLUMNS_COUNTED].tolist()
        count = min(COLUMNS_COUNTED, MAX_DECISIONS_COUNTED // max(self.rows.shared.total(self.rows.size), 1))
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
