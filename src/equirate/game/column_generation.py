"""Column generation: Algorithm 1 with fully corrective multipliers, and what ``"auto"`` means for most models.

In: a table, and an oracle that answers costs with families of classifiers. Out: the generated columns with their best
mixture. `engine` applies this to models and rows.

The *master* is the best mixture of the columns so far; its multipliers are prices (`mixtures.master`). The table turns
them into one cost per cell. The *oracle* answers these costs, and a classifier that costs less than every column is
added. A family is a set of classifiers whose sums are all known, such as the thresholds of one score: they are priced
without calling the oracle.

1. Start with the families that the oracle has without costs.
2. *Master*: mix the columns, price all known families, add the cheapest classifier of each; repeat until none costs
   less than every column.
3. *Oracle*: answer the prices. One pass over the data.
4. Stop after `PATIENCE` successive answers that improved the mixture by less than `GAIN`, not counting those that the
   oracle can still refine; otherwise go to 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.interrupts import may_end_early
from ..mixtures import Columns, Master, Mixture, Source
from ..models.messages import Family
from ..problem.table import Table

Array = NDArray[np.float64]

GAIN = 1e-4
"""Smallest improvement of the objective or of the violation that counts: smaller ones are not visible on new rows."""
PATIENCE = 2
"""Number of successive answers without such an improvement after which generation stops."""
PASSES = 60
"""Largest number of answers, by default."""
MAX_PRICINGS = 20
"""Largest number of times that known families are priced for one answer."""
FIRST_COLUMNS = 24
"""Evenly spaced classifiers of a family that are initial columns."""
FIRST_FOR_BLACK_BOXES = 1000
"""The same for lists and black boxes, whose prices at the best mixture so far may not lead to better ones."""
MANY_CONSTRAINTS = 4
"""With more constraints than this, a running mean of the prices is answered in addition to the prices."""
LOWER_PRICE_SHARES = (0.3, 0.1)
"""Shares of the constraints' prices that are answered first, with the thresholds of the labels' direction as columns.

These alone meet the constraints at a high cost, so that the prices are several times those of the solution.
"""
SPREADS, SPREAD = 7, 1.0
"""Number of additional prices that are answered for ratios, and the largest difference of their logarithms."""
STARTS = 3
"""How many of them come from other local optima, from random mixtures, if answers are exact.

Inexact answers gain nothing from this on new rows: they fit the sample more closely.
"""
_CHEAPER = 1e-5
"""A new column must cost less than every other column by this much, relative to the largest price."""


@dataclass(frozen=True, eq=False)
class Pass:
    """The state of a generation after an answer: the best mixture so far, with its prices."""

    round: int
    """Number of answers so far; 0 for the initial columns."""
    objective: float
    """In the user's own sense."""
    violation: float
    bound: float | None
    """No mixture of the columns so far is better; in the user's own sense."""
    prices: Array
    columns: int


@dataclass(frozen=True, eq=False)
class Course:
    """The course of a generation.

    Attributes
    ----------
    table
        The problem and the data that the columns were generated for.
    stages
        The state after each answer.
    passes
        Passes over the data that answered prices, including those that several generations shared.
    bound
        No mixture of *all* classifiers of the model has a smaller (minimised) objective; None if the model's answers do
        not prove a bound.
    on_other_rows
        Whether the model answered on other rows than the table's, so that its answers prove no bound.
    """

    table: Table
    stages: tuple[Pass, ...]
    passes: int
    bound: float | None = None
    interrupted: bool = False
    on_other_rows: bool = False

    def history(self) -> dict[str, Array]:
        """Arrays over the stages, with a last axis of one configuration."""
        nothing = np.full((len(self.stages), 1), np.nan)
        bound = [np.nan if stage.bound is None else stage.bound for stage in self.stages]
        return {
            "round": np.arange(len(self.stages)),
            "objective": np.array([[stage.objective] for stage in self.stages]).reshape(-1, 1),
            "violation": np.array([[stage.violation] for stage in self.stages]).reshape(-1, 1),
            "multipliers": np.array([stage.prices for stage in self.stages])[..., None],
            "slacks": np.zeros((len(self.stages), 0, 1)),
            "lagrangian": nothing,
            "bound": np.array(bound)[:, None],
        }


@dataclass(eq=False)
class Generation:
    """The columns of one problem, and their best mixture so far.

    Parameters
    ----------
    table
        The problem joined with data.
    factors
        (cells of the families,): weight of each sum. Families may distinguish parts of the rows: their cells are then
        those of the table, each split into the same number of parts.
    training
        The table whose costs the oracle answers, if it has other weights.
    exact
        Whether the oracle's answers to this table's costs are exact, so that they prove bounds over all classifiers of
        the model.
    """

    table: Table
    factors: Array
    training: Table | None = None
    exact: bool = False
    families: list[Family] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    """Family of every column, and its index in the family."""
    stages: list[Pass] = field(default_factory=list)
    bound: float = -np.inf
    done: bool = False
    interrupted: bool = False
    _known: set[tuple[int, int]] = field(default_factory=set)
    _stale: int = 0
    _best: tuple[float, float] = (np.inf, np.inf)
    _smooth: Array | None = None
    _asked: Array | None = None
    _rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        self.master: Master | None = None
        self.mixture: Mixture | None = None

    # -- sums ------------------------------------------------------------------------------------

    def gathered(self, sums: Array) -> Array:
        """Sums by cell of the table, from those of the families' cells."""
        parts = len(self.factors) // self.table.cells.n_counts
        weighed = sums * self.factors[:, None]
        return np.asarray(weighed.reshape(-1, parts, sums.shape[1]).sum(axis=1))

    def spread(self, costs: Array) -> Array:
        """Costs by the families' cells (cells, costs), from costs by cell of the table."""
        return np.repeat(costs, len(self.factors) // self.table.cells.n_counts, axis=0)

    def columns(self, places: Sequence[int] | None = None) -> Columns:
        """The columns with their exact rates; the handle is the family and the place in it."""
        handle = np.array(self.places, dtype=np.intp).reshape(-1, 2)[slice(None) if places is None else list(places)]
        sums = np.stack([self.families[f].sums[:, k] for f, k in handle], axis=1)
        source = np.array([self.families[f].source for f, _ in handle], dtype=np.int8)
        return Columns.of(self.table.rates(self.gathered(sums)), source, handle)

    def course(self, passes: int) -> Course:
        """The course of this generation, with the number of passes over the data."""
        bound = self.bound if np.isfinite(self.bound) else None
        return Course(self.table, tuple(self.stages), passes, bound, self.interrupted, self.training is not None)

    # -- the master ------------------------------------------------------------------------------

    def begin(self, families: Sequence[Family], costs: Array, first: Sequence[tuple[int, int]] = ()) -> None:
        """Start with some families: evenly spaced classifiers of each, or those that ``first`` names.

        The cheapest classifier of each family at ``costs`` (by cell of the table) is also a column.
        """
        self.families = list(families)
        listed_for_black_box = self.exact and any(group.form.grid for group in self.table.groups)
        spacing = FIRST_FOR_BLACK_BOXES if listed_for_black_box else FIRST_COLUMNS
        own = self.spread(costs[:, None])[:, 0] * self.factors
        chosen = list(first)
        for f, family in enumerate(self.families):
            count = family.sums.shape[1]
            if not first:
                spaced = np.unique(np.linspace(0, count - 1, min(spacing, count)).astype(np.intp))
                chosen += [(f, int(k)) for k in spaced]
            chosen.append((f, int(np.argmin(own @ family.sums))))
        self.add(chosen)

    def add_answers(self, families: Sequence[Family], settled: bool = True) -> None:
        """Add the answers, and mix again; ``settled`` says whether the oracle could not improve them further."""
        if self.exact and self.training is None and self.mixture is not None:
            self._prove(families)
        first = len(self.families)
        self.families += families
        if self._asked is not None and families:
            self.add(self._answers(families, first))
        self.improve()
        self._watch(settled and bool(self.stages))

    def _answers(self, families: Sequence[Family], first: int) -> list[tuple[int, int]]:
        """For each of the prices that were asked, the cheapest classifier of the answers."""
        assert self._asked is not None
        own = (self.spread(self._asked) * self.factors[:, None]).T
        values = [own @ family.sums for family in families]
        best = np.argmin([costs.min(axis=1) for costs in values], axis=0)
        return [(first + int(f), int(values[f][k].argmin())) for k, f in enumerate(best)]

    def _prove(self, families: Sequence[Family]) -> None:
        """The bound that exact answers to the last prices prove: the programme's value plus the least reduced cost."""
        assert self.mixture is not None
        assert self.master is not None
        prices = self.mixture.prices[0]
        offset = float(prices @ self.table.offset[: len(prices)])
        own = self.spread(self.table.coefficients(prices[:, None]))[:, 0] * self.factors
        known = float((prices @ self.master.rows).min())
        least = min([known, *(float((own @ family.sums).min()) + offset for family in families)])
        if len(self.mixture.prices) == 1 and self.mixture.bound is not None:
            self.bound = max(self.bound, self.mixture.bound + least - known)

    def improve(self) -> Mixture:
        """The best mixture of all classifiers of all known families."""
        mixture = self._solved_mixture()
        for _ in range(MAX_PRICINGS):
            if not self.add(self._cheapest(mixture.prices)):
                break
            mixture = self._solved_mixture()
        return mixture

    def _solved_mixture(self) -> Mixture:
        """The best mixture of the columns, solved for only after columns were added."""
        assert self.master is not None  # `begin` made it
        if self.mixture is None or len(self.mixture.weights) < len(self.places):
            self.mixture = self.master.best()
        return self.mixture

    def _cheapest(self, prices: Sequence[Array]) -> list[tuple[int, int]]:
        """The cheapest classifier of each family that costs less than every column."""
        assert self.master is not None
        cheapest = []
        for multipliers in prices:
            costs = self.table.coefficients(multipliers[:, None])
            own = self.spread(costs)[:, 0] * self.factors
            offset = float(multipliers @ self.table.offset[: len(multipliers)])
            least = float((multipliers @ self.master.rows).min())
            least -= _CHEAPER * max(float(np.abs(multipliers).max()), 1e-3)
            for f, family in enumerate(self.families):
                values = own @ family.sums
                k = int(np.argmin(values))
                if values[k] + offset < least:
                    cheapest.append((f, k))
        return cheapest

    def add(self, chosen: Sequence[tuple[int, int]]) -> bool:
        """Add classifiers as columns; whether any is new."""
        new = [place for place in dict.fromkeys(chosen) if place not in self._known]
        if not new:
            return False
        self._known.update(new)
        self.places += new
        sums = np.concatenate([self.families[f].sums[:, [k]] for f, k in new], axis=1)
        rates = self.table.rates(self.gathered(sums))
        rows = self.table.rows_from_rates(rates, np.zeros((0, len(new))))
        if self.master is None:
            self.master = Master(self.table, rows)
        else:
            self.master.add(rows)
        return True

    # -- prices ----------------------------------------------------------------------------------

    def ask(self) -> Array:
        """Costs by cell of the table for the oracle, (cells, answers); the first ones are the most important."""
        assert self.mixture is not None
        assert self.master is not None
        prices = list(self.mixture.prices)
        asked = prices[:1]
        if self.master.has_ratios:
            others = self._elsewhere(STARTS if self.exact else 0)
            spread = self._rng.uniform(-SPREAD, SPREAD, (SPREADS - len(others), len(prices[-1])))
            asked += [*others, *(prices[-1] * np.exp(exponents) for exponents in spread)]
        elif self.table.program.n_constraints > MANY_CONSTRAINTS:
            self._smooth = prices[0] if self._smooth is None else (prices[0] + self._smooth) / 2
            asked.append(self._smooth)
        if self._has_label_thresholds_only() and not self.master.has_ratios and prices[0][0] > 0:
            lower = np.ones((len(LOWER_PRICE_SHARES), len(prices[0])))
            lower[:, self.table.constraints] = np.array(LOWER_PRICE_SHARES)[:, None]
            asked = list(prices[0] * lower)
        table = self.table if self.training is None else self.training
        self._asked = self.table.coefficients(np.stack(asked, axis=1)) if self.exact else None
        return table.coefficients(np.stack(asked, axis=1))

    def _has_label_thresholds_only(self) -> bool:
        """Whether there are only the constants and the thresholds of one direction that answers the labels."""
        return [family.source for family in self.families] == [Source.CONSTANT, Source.LABELS]

    def _elsewhere(self, count: int) -> list[Array]:
        """Prices of local optima from random initial mixtures; the best mixture is kept."""
        assert self.master is not None
        assert self.mixture is not None
        columns = self.master.rows.shape[1]
        drawn = self._rng.exponential(size=(count, columns)) ** 3  # a few columns weigh most
        others = [self.master.best(weights / weights.sum()) for weights in drawn]
        self.mixture = min([self.mixture, *others], key=lambda mixture: mixture.value)
        return [other.prices[-1] for other in others]

    # -- stopping --------------------------------------------------------------------------------

    def _watch(self, settled: bool) -> None:
        assert self.mixture is not None
        now, best = self.mixture.value, self._best
        improved = now[0] < best[0] - GAIN or (now[0] <= best[0] + 1e-9 and now[1] < best[1] - GAIN)
        self._stale = 0 if improved else self._stale + settled
        self._best = min(now, best)
        self.done = self._stale >= PATIENCE
        sign = self.table.program.problem.objective.sign
        mixture = self.mixture
        bound = None if mixture.bound is None else sign * mixture.bound
        count, columns = len(self.stages), len(self.places)
        stage = Pass(count, sign * mixture.objective, mixture.violation, bound, mixture.prices[-1], columns)
        self.stages.append(stage)


Answer = Callable[[Sequence[tuple[Generation, Array]]], Sequence[tuple[Sequence[Family], bool]]]
"""Answers the costs of several generations in one pass: families, and whether the oracle cannot improve them."""


def generate(
    generations: Sequence[Generation],
    answer: Answer,
    passes: int = PASSES,
    watch: Callable[[Sequence[Generation]], Any] | None = None,
) -> int:
    """Answer prices until no generation improves; the generations share every pass. Returns the number of passes.

    Ctrl-C ends it once there is a mixture: the columns so far are kept, and the generations are marked as interrupted.
    """
    used = 0
    for generation in generations:
        generation.add_answers(())
    with keeping_columns(generations):
        while used < passes and not all(generation.done for generation in generations):
            active = [generation for generation in generations if not generation.done]
            asked = [(generation, generation.ask()) for generation in active]
            for generation, (families, settled) in zip(active, answer(asked), strict=True):
                generation.add_answers(families, settled)
            used += 1
            if watch is not None and watch(generations) is True:
                break
    return used


@contextmanager
def keeping_columns(generations: Sequence[Generation]) -> Iterator[None]:
    """Ctrl-C ends what is inside: the columns so far are kept, and the generations are marked as interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        if not may_end_early():
            raise
        for generation in generations:
            generation.interrupted = True
