"""The default engine for linear models: which rows train and mix, the ridge, and when refined columns are kept.

In: a problem's table, features, and the part of every row. Out: columns with their weights for the features as given,
and with rates of the decisions of `predict`. `engine` calls this.

The model is trained and the mixture is chosen on all rows. Before that, a quarter of them is held out to decide two
questions: whether more than the regression of the labels is needed, if the objective is the error and that regression
meets the constraints; and whether to refine columns. Each is done only if both halves of the quarter agree that it is
better. With few rows per feature, the model is trained on three quarters and the mixture is chosen on the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core import threads
from ..data.cells import Cells
from ..data.features import features
from ..data.sample import Sample
from ..mixtures import Columns, Source, best_by_violation, largest, values
from ..models.cell_rows import CellRows, Direction
from ..models.linear import Linear
from ..models.linear_members import LinearMembers
from ..models.logistic_oracle import FEW, FREE, RIDGES, View, choose_ridge
from ..models.messages import Family
from ..problem.table import Table
from .column_generation import PASSES, Generation, generate
from .refining import ROUNDS, refine

Array = NDArray[np.float64]
Watch = Callable[[Sequence[Generation]], Any]

DENSE = 16_000_000
"""Sparse features with up to this many values are made dense and get second moments: fewer passes, the same result."""
LABELS = 10
"""Largest number of steps for the regression of the labels."""
ASKED = 50_000
"""Approximate number of rows for the two decisions with held-out rows; all rows if there are fewer.

Each answer is yes or no. A quarter of this many rows shows differences of a few thousandths in a rate; smaller ones
hardly matter."""
MET = 1e-3
"""Violations up to this size count as met."""
FEWEST = 5
"""Held-out rows per cell, on average, that are needed to decide whether to refine."""
WIDEST = 400
"""Largest number of features for which the ridge is chosen by left-out loss if rows are few."""
COUNTED = 48
"""Approximate number of columns whose rates are counted with `predict`: those of the mixture, and near candidates."""
MOST_COUNTED = 1_000_000
"""Rows times columns up to which columns outside the mixture are counted."""
_BLOCK, _COUNTED_ROWS = 1 << 16, 1 << 13
"""Rows that a thread counts together, and those of them whose scores stay in cache."""


@dataclass(eq=False)
class LinearEngine:
    """Rows, parts and settings of a fit; generations of several problems and parts may share them.

    A direction of a model without an intercept has one threshold, 0; with an intercept it has many.

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
    rounds
        Passes that answered prices, of the longest run.
    """

    rows: CellRows
    parts: int
    setting: Linear
    penalty: Array = field(init=False)
    rounds: int = 0

    @classmethod
    def of(
        cls, sample: Sample, cells: Cells, part: NDArray[np.int8] | None, parts: int, setting: Linear
    ) -> LinearEngine:
        """Arrange the rows by cell and part; ``part`` is the part of each row, None for one part."""
        fine = cells if part is None or parts == 1 else cells.by_part(part, parts)
        X, shared = features(sample.X, len(sample), finite=False), cells.shared  # they have been checked
        sparse = bool(sp.issparse(X))  # the type stubs narrow the class of X after a direct check
        if sparse and shared.total(X.shape[0]) * X.shape[1] <= max(DENSE, 4 * shared.total(X.nnz)):
            X = X.toarray()
        return cls(CellRows(X, fine, centre=setting.intercept or setting.standardise), parts, setting)

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
        free = mean * FREE if self.setting.intercept else 1e12
        return [np.append(ridge * relative, free) for ridge in ridges]

    def choose_ridge(self, train: Array) -> None:
        """Choose the ridge by left-out loss, if rows are few."""
        penalties, width = self._penalties(), self.rows.width
        few = self.rows.shared.total(self.rows.size) < FEW * width and width <= WIDEST
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

    def view(self, train: Sequence[int], measure: Sequence[int] | None = None, totals: Array | None = None) -> View:
        """Directions trained on some parts and measured on others (by default the same)."""
        factors = self.factors(train, totals)
        view = View(self.rows, factors, factors if measure is None else self.factors(measure, totals), self.penalty)
        origin = view.origin()
        view.directions = [origin if self.setting.intercept else self.rows.at_zero(origin)]
        return view

    # -- generations -----------------------------------------------------------------------------

    def begin(self, view: View, table: Table, start: Array | None = None) -> Generation:
        """A generation that starts with the regression of the labels, or from ``start`` (for standardised features)."""
        labels = np.where(table.cells.labels == 1, -1.0, 1.0)
        generation = Generation(table, view.measure)
        if len(view.directions) == 1:
            W = view.propose(generation.spread(labels[:, None])) if start is None else start
            view.directions += self._score(W)
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
        if len(before.families) < len(view.directions):  # the regression of the labels alone
            return self.begin(view, table)
        labels = np.where(table.cells.labels == 1, -1.0, 1.0)
        generation = Generation(table, view.measure)
        assert before.mixture is not None
        kept = [before.places[k] for k in np.flatnonzero(before.mixture.weights)]
        spaced = [place for place in before.places if place[0] < 2]
        generation.begin(before.families, labels, [*spaced, *kept])
        if before.interrupted:  # nothing more is generated: mix the columns so far
            generation.learn(())
            generation.interrupted = True
        return generation

    def _score(self, W: Array) -> list[Direction]:
        if self.setting.intercept:
            return self.rows.score(W)
        W = np.vstack([W[:-1], np.zeros((1, W.shape[1]))])  # its large ridge makes it almost 0, but not exactly
        return [self.rows.at_zero(direction) for direction in self.rows.score(W)]

    def run(self, pairs: Sequence[tuple[Generation, View]], passes: int = PASSES, watch: Watch | None = None) -> None:
        """Generate columns; all generations share each pass."""
        views = {id(generation): view for generation, view in pairs}

        def answer(asked: Sequence[tuple[Generation, Array]]) -> list[tuple[list[Family], bool]]:
            proposed = [views[id(generation)].propose(generation.spread(costs)) for generation, costs in asked]
            directions = self._score(np.concatenate(proposed, axis=1))
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
        watch: Watch | None = None,
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
        asked = self._thinned()
        trained = asked.view([0], totals=table.cells.totals)
        first = asked.begin(trained, table, start)
        asked.run([(first, trained)], passes, watch)
        self.rounds = asked.rounds
        if first.interrupted:
            view = self.view(everything)
            return self._interrupted(asked, first, trained, view), view
        suffices = asked.labels_suffice(first, trained)
        # Without an intercept a direction has one threshold, and the search needs many.
        refines = not suffices and self.setting.intercept and asked.passes_gate(first, trained)
        del asked, first, trained  # before the passes over all rows
        view = self.view(everything)
        if suffices:
            return self._only_labels(view, table), view
        generation = self.begin(view, table, start)
        self.run([(generation, view)], passes, watch)
        if refines and not generation.interrupted:
            refine(generation, view)
        return generation, view

    def _thinned(self) -> LinearEngine:
        """An engine for a sample of the rows, with the same ridge; this engine if there are few rows."""
        rows = self.rows.thinned(ASKED, regress=True)
        if rows is self.rows:
            return self
        engine = LinearEngine(rows, self.parts, self.setting)
        engine.penalty = self.penalty
        return engine

    def _interrupted(self, asked: LinearEngine, first: Generation, trained: View, view: View) -> Generation:
        """A generation for all rows with the directions of an interrupted one."""
        if asked is self:
            view.directions = list(trained.directions)
            return self.go_on(first, view)
        view.directions += self._score(np.stack([direction.weights for direction in trained.directions[1:]], axis=1))
        generation = self.begin(view, first.table)
        generation.learn(())
        generation.interrupted = True
        return generation

    def labels_suffice(self, generation: Generation, view: View) -> bool:
        """Whether the regression of the labels meets the constraints and is as good on some half of the held-out rows.

        Only if the objective is the error, which a regression of the labels minimises.
        """
        if not _is_error(generation.table):
            return False
        only = self._only_labels(view, generation.table)
        halves = self._halves(generation.table)
        if only.improve().violation > MET:
            return False
        return any(_value_on(only, factors) <= _value_on(generation, factors) for factors in halves)

    def _only_labels(self, view: View, table: Table) -> Generation:
        """A generation with one column: the regression of the labels, at its own threshold."""
        labels = np.where(table.cells.labels == 1, -1.0, 1.0)
        generation = Generation(table, view.measure)
        costs = generation.spread(labels[:, None])
        for _ in range(LABELS):
            W = view.propose(costs)
            if view.settled:
                break
            view.directions += self._score(W)
        best = view.best(costs[:, 0])
        place = int(np.argmin(np.abs(best.edges)))
        one = replace(best, edges=best.edges[[place]], sums=best.sums[:, [place]])
        generation.begin([Family(one.sums, Source.LABELS, one)], labels)
        generation.learn(())
        return generation

    def _halves(self, table: Table) -> list[Array]:
        """Factors to measure on each held-out part alone."""
        return [self.factors([part], table.cells.totals) for part in range(1, self.parts)]

    def passes_gate(self, generation: Generation, view: View) -> bool:
        """Refine, and say whether that lowers objective plus violation on each half of the held-out rows.

        It ends after the first step if that lowers nothing. With too few held-out rows per cell, nothing is refined.
        """
        totals = self.rows.cells.totals.reshape(-1, self.parts)[:, 1:]
        if self.rows.shared.total(self.rows.size) * totals.sum() < self.rows.total * FEWEST * totals.size:
            return False
        halves = self._halves(generation.table)
        before = [_value_on(generation, factors) for factors in halves]
        for rounds in (1, ROUNDS):
            refine(generation, view, rounds)
            after = [_value_on(generation, factors) for factors in halves]
            if sum(after) >= sum(before):
                return False
        return all(one < other for one, other in zip(after, before, strict=True))

    # -- columns ---------------------------------------------------------------------------------

    def weights(self, generation: Generation, places: Sequence[int]) -> Array:
        """Weights of some columns for the features as given, the intercept last."""
        weights = []
        for k in places:
            family, place = generation.places[k]
            direction = generation.families[family].snapshot
            weights.append(self.rows.raw(direction.weights, float(direction.edges[place])))
        return np.stack(weights, axis=1)

    def columns(self, generation: Generation, sample: Sample, cells: Cells) -> tuple[Columns, Array]:
        """The relevant columns with rates counted from the decisions of `predict`, and their weights."""
        places = self._worth_counting(generation)
        W = self.weights(generation, places)
        members = LinearMembers(W, True, sample.names)
        starts = range(0, len(sample), _BLOCK)
        parts = np.zeros((len(starts), len(cells), len(places)))

        def count(k: int) -> None:
            for start in range(starts[k], min(starts[k] + _BLOCK, len(sample)), _COUNTED_ROWS):
                rows = slice(start, min(start + _COUNTED_ROWS, starts[k] + _BLOCK))
                parts[k] += cells.take(rows).partial_sums(members.decide(sample.X[rows]))

        threads.each(count, [(k,) for k in range(len(starts))])
        (sums,) = self.rows.shared.add(parts.sum(axis=0))
        source = generation.columns(places).source
        handle = np.stack([np.zeros(len(places), dtype=np.intp), np.arange(len(places))], axis=1)
        return Columns.of(generation.table.rates(sums), source, handle), W

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
        wanted += [best_by_violation(generation.table, columns, 1e-3, both) for both in (True, False)]
        needed = len(wanted)
        for prices in generation.mixture.prices:
            wanted += np.argsort(prices @ generation.master.rows, kind="stable")[:COUNTED].tolist()
        count = min(COUNTED, MOST_COUNTED // max(self.rows.shared.total(self.rows.size), 1))
        return sorted(dict.fromkeys(wanted[: max(needed, count)]))


def _is_error(table: Table) -> bool:
    """Whether the objective is the error, up to a factor and a constant: an error costs the same in every row."""
    if table.atom_weights[0].any():
        return False
    alone = np.zeros((table.program.n_multipliers, 1))
    alone[0] = 1.0
    costs = table.coefficients(alone)[:, 0] * np.where(table.cells.labels == 1, -1.0, 1.0)
    return bool(costs.min(initial=np.inf) > 0 and np.ptp(costs) <= 1e-9 * costs.max())


def _value_on(generation: Generation, factors: Array) -> float:
    """Objective (minimised) plus violation of the mixture on some parts of the rows."""
    assert generation.mixture is not None
    support = np.flatnonzero(generation.mixture.weights)
    sums = np.stack([generation.families[f].sums[:, k] for f, k in (generation.places[j] for j in support)], axis=1)
    weighed = (sums * factors[:, None]).reshape(len(generation.table.cells), -1, len(support)).sum(axis=1)
    mixed = generation.table.rates(weighed) @ generation.mixture.weights[support]
    objective, violations = values(generation.table, mixed[:, None])
    return float(objective[0] + largest(violations)[0])
