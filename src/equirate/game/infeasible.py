"""Constraints that cannot be met: which of them conflict, how far they must be loosened, and over what that is known.

In: a `Solution` whose best mixture breaks a constraint. Out: the mixture that breaks them least in their own units, and
a `Conflict`: a smallest set of constraints that cannot be met together (a deletion filter over programmes of mixtures)
with the smallest tolerance that it can be met with. Where the model answers exactly, a short game for the largest
violation alone asks it for whatever would help, so that the answer is one about all its classifiers. Nothing here is
computed for what is feasible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError
from ..language.clearing import cleared
from ..language.expressions import Constraint, Expression
from ..language.functions import max as largest
from ..mixtures import polish_weights, shrink_weights
from ..models.contract import Asked, Learner, Seen
from ..players.corrective import Corrective
from ..problem.canonical import RATIO_FLOOR, canonicalize
from ..problem.problem import Problem, maximize, minimize
from ..problem.table import Table, make_table
from .algorithms import ALGORITHMS
from .classifiers import Classifier, snapped
from .loop import Rules, play, values
from .record import Record
from .status import COLUMNS, EVERYTHING

if TYPE_CHECKING:
    from .solution import Solution

Array = NDArray[np.float64]

SEARCHED = "these columns, as far as a local search tells"
FINE = 1e-5
"""How exactly the smallest tolerance is found."""
MET = 5e-6
"""Violations up to this size are rounding: a programme's own, over the smallest denominator."""
ROUNDS = 100
"""Rounds of the game for the violation alone."""
ASKED = 8
"""How often the model is asked for what would help with one set of constraints."""


@dataclass(frozen=True)
class Conflict:
    """Constraints that cannot be met together.

    Attributes
    ----------
    constraints
        A smallest set: with any one of them left out, the others of the set can be met.
    tolerance
        The smallest number by which each of them, loosened in its own units, makes them possible together.
    together
        The same for all constraints of the problem.
    over
        Which mixtures that is known of: `COLUMNS`, `EVERYTHING` or `SEARCHED`.
    """

    constraints: tuple[Constraint, ...]
    tolerance: float
    together: float
    over: str

    @property
    def advice(self) -> str:
        """The same for a reader, with what to do."""
        named = "; ".join(map(repr, self.constraints))
        mixtures = f"any mixture of {self.over}"
        if len(self.constraints) == 1:
            said = f"{named} cannot be met by {mixtures}: loosened by {self.tolerance:.3g} it can"
        else:
            said = (
                f"these constraints cannot be met together by {mixtures}: {named}. Without any one of them the others "
                f"can, and so can all of them, each loosened by {self.tolerance:.3g}"
            )
        if self.together > self.tolerance + 10 * FINE:
            said += f"; all constraints of the problem together need {self.together:.3g}"
        them = "it" if len(self.constraints) == 1 else "them"
        if self.over == EVERYTHING:
            return f"{said}. Loosen {them}, or take another model: more rounds will not help"
        return f"{said}. Loosen {them}, give the model better features or take a richer one, or play more rounds"


def shifted(constraint: Constraint, margin: float) -> Constraint:
    """The constraint with ``margin`` to spare; loosened by as much where it is negative."""
    right = constraint.right - margin if constraint.symbol == "<=" else constraint.right + margin
    return Constraint(constraint.left, constraint.symbol, right)


def least_broken(solution: Solution, best: Classifier) -> Classifier:
    """The mixture whose largest violation, each in its constraint's own units, is smallest.

    A bound on a ratio is solved multiplied through, where a violation counts less the fewer there are to measure it on:
    what breaks that least need not break the bound least. So all constraints are loosened at once, by bisection.
    """
    high, constraints = solution.value_of(best)[1], _written(solution.problem)
    if not (solution.tolerance < high < np.inf) or not _clears(constraints):
        return best
    low = 0.0
    while high - low > FINE:
        middle = (low + high) / 2
        loose = _loosened(constraints, middle)
        trial = solution.for_problem(Problem(solution.problem.objective, [*loose, *_floors(loose)]))
        found = trial._polish(trial.iterates, None)
        broken = solution.value_of(found)[1]
        if broken <= middle + MET:
            high, best = min(broken, middle), found
        else:
            low = middle
    return replace(best, problem=solution.problem, notes={**best.notes, "smallest_violation": high})


def conflict_of(solution: Solution) -> Conflict | None:
    """The constraints that conflict; None where the columns do not tell, or where the model could do better."""
    every = _written(solution.problem)
    if solution.problem.has_black_boxes:
        return None
    columns = Columns.of(solution)
    if not columns.impossible(every):
        return None
    together, mixture = columns.least(every)
    # By duality a convex problem is impossible because of those alone that are broken most.
    broken = [columns.broken([constraint], mixture) for constraint in every]
    near = together - max(1e-4, 1e-2 * together)
    chosen = [constraint for constraint, by in zip(every, broken, strict=True) if by >= near]
    if not columns.impossible(chosen):
        chosen = every
    for constraint in list(chosen):
        rest = [other for other in chosen if other is not constraint]
        if rest and columns.impossible(rest):
            chosen = rest
    tolerance = columns.least(chosen)[0]
    over = SEARCHED if solution.judge.program.has_ratios else EVERYTHING if columns.complete else COLUMNS
    return Conflict(tuple(chosen), tolerance, max(together, tolerance), over)


def _written(problem: Problem) -> list[Constraint]:
    return [constraint for constraint in problem.constraints if isinstance(constraint, Constraint)]


@dataclass
class Columns:
    """Classifiers to mix, as their rates; more of them join while the model has something that helps.

    Attributes
    ----------
    solution
        Whose problem, data and model they are.
    rates
        (rates, columns)
    complete
        Whether what is impossible for them is impossible for all classifiers of the model.
    asks
        Whether the model can be asked for more.
    """

    solution: Solution
    rates: Array
    complete: bool
    asks: bool
    _known: dict[tuple[object, ...], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, solution: Solution) -> Columns:
        """The recorded iterates, with the two that say the same to everybody; of a short list, everything."""
        judge = solution.judge
        here = judge.examples is solution.table.examples and not solution.rules.two_sets
        recorded = solution.measured(solution.iterates)[0]
        every = solution.learner.every_sum() if here and solution.exact else None
        if every is not None:
            return cls(solution, judge.rates(every), True, False)
        constant = judge.rates(np.stack([np.zeros(len(judge.cells)), judge.cells.totals], axis=1))
        one = solution.rules.count == 1 and solution.rules.levels is None and not solution.record.diverged
        asks = solution.exact and here and one and not judge.program.has_ratios
        return cls(solution, np.concatenate([recorded, constant], axis=1), asks, asks)

    def impossible(self, constraints: Sequence[Constraint]) -> bool:
        """Whether no mixture meets the constraints within the tolerance."""
        key = tuple(constraint.key for constraint in constraints)
        if key not in self._known:
            self._known[key] = self._fails(_loosened(constraints, self.solution.tolerance))
        return self._known[key]

    def _fails(self, constraints: Sequence[Constraint]) -> bool:
        for _ in range(ASKED):
            if self.broken(constraints, self._mixed(constraints)) <= MET:
                return False
            if not self.asks or not self._helped(constraints):
                return True
        self.complete = False  # the model had more to say each time
        return True

    def least(self, constraints: Sequence[Constraint]) -> tuple[float, Array]:
        """The smallest tolerance, in the constraints' own units, and the mixture that needs no more."""
        for _ in range(ASKED):
            violation, mixture = self._least(constraints)
            clearly_less = violation - max(1e-4, 0.002 * violation)
            if not self.asks or violation <= MET or not self._helped(_loosened(constraints, clearly_less)):
                return violation, mixture
        self.complete = False
        return violation, mixture

    def _least(self, constraints: Sequence[Constraint]) -> tuple[float, Array]:
        """The same for the columns that there are."""
        best = self._mixed(constraints)
        low, high = 0.0, self.broken(constraints, best)
        if not _clears(constraints):  # the programme has minimised the violation itself
            return high, best
        while high - low > FINE:
            middle = (low + high) / 2
            found = self._mixed(_loosened(constraints, middle))
            broken = self.broken(constraints, found)
            if broken <= middle + MET:
                high, best = min(broken, middle), found
            else:
                low = middle
        return high, best

    def broken(self, constraints: Sequence[Constraint], mixture: Array) -> float:
        """The largest violation of some constraints, in their own units."""
        table, rates = self._table(constraints)
        mixed = rates[:, : len(mixture)] @ mixture  # of columns that joined later, it has none
        return float(values(table, snapped(mixed[:, None]), np.zeros((0, 1)), table.constants)[1].max(initial=0.0))

    def _mixed(self, constraints: Sequence[Constraint]) -> Array:
        """The mixture of the columns that breaks the constraints least, with enough people to measure ratios on."""
        table, rates = self._table([*constraints, *_floors(constraints)])
        nothing = np.zeros((0, rates.shape[1]))
        start = shrink_weights(*values(table, snapped(rates), nothing, table.constants)).weights
        polished = polish_weights(table, table.rows_from_rates(rates, nothing), start)
        mixtures = [start] if polished is None else [start, polished.weights]
        return min(mixtures, key=lambda mixture: self.broken(constraints, mixture))

    def _table(self, constraints: Sequence[Constraint]) -> tuple[Table, Array]:
        """The constraints' table, and the rates of the columns in its order; the objective is of no account."""
        judge = self.solution.judge
        scales = [scale for constraint in constraints for _, scale in _affine(constraint) if scale is not None]
        aim = (
            maximize(scales[0]) if scales else minimize(judge.program.rates[0])
        )  # many to measure on, where it matters
        table = make_table(canonicalize(Problem(aim, constraints)), judge.examples, judge.cells)
        known = {rate.key: k for k, rate in enumerate(judge.program.rates)}
        return table, self.rates[[known[rate.key] for rate in table.program.rates]]

    def _helped(self, constraints: Sequence[Constraint]) -> bool:
        """Play for the largest violation alone, and take over what the model answered; False if it proves impossible.

        The Lagrangian bounds the violation from below, because the model answers exactly.
        """
        parts = [part for constraint in [*constraints, *_floors(constraints)] for part, _ in _affine(constraint)]
        algorithm = ALGORITHMS["corrective"]
        try:
            program = canonicalize(Problem(minimize(parts[0] if len(parts) == 1 else largest(*parts))))
            algorithm.check(program)
        except EquirateError:  # no convex function of the rates
            self.asks = self.complete = False
            return False
        solution, still = self.solution, np.ones(1)
        watched = Watched(solution.learner)
        table = make_table(program, solution.table.examples, solution.table.cells)
        finer = replace(algorithm, multipliers=Corrective(tolerance=1e-8))
        rules = Rules(ROUNDS, 1, still, still, still)
        record = play(table, watched, finer.players(exact=True), rules, lambda moment: _bound(moment.record) > 0)
        if _bound(record) > 0:
            return False
        self.rates = np.concatenate([self.rates, solution.judge.rates(np.concatenate(watched.sums, axis=1))], axis=1)
        return True


def _bound(record: Record) -> float:
    return float(np.nanmax(record.dual_bound))


class Watched(Learner):
    """A learner whose answers are kept."""

    def __init__(self, learner: Learner) -> None:
        self.learner, self.sums = learner, list[Array]()

    def answer(self, asked: Asked) -> Seen:
        """Answer, and keep what was seen."""
        seen = self.learner.answer(asked)
        self.sums.append(seen.sums)
        return seen

    def snapshot(self) -> None:
        """Nothing: the answers are kept as what was seen of them."""

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop all configurations but these."""
        self.learner.keep(columns)

    def finite(self) -> NDArray[np.bool_]:
        """Which configurations have finite parameters."""
        return self.learner.finite()


def _loosened(constraints: Sequence[Constraint], by: float) -> list[Constraint]:
    return [shifted(constraint, -by) for constraint in constraints]


def _clears(constraints: Sequence[Constraint]) -> bool:
    """Whether a bound on a ratio is among them, which is solved multiplied through."""
    return any(scale is not None for constraint in constraints for _, scale in _affine(constraint))


def _affine(constraint: Constraint) -> list[tuple[Expression, Expression | None]]:
    """What must be at most 0, and what it was multiplied by."""
    found: list[tuple[Expression, Expression | None]] = []
    for part in constraint.split():
        through = cleared(part.residual)
        found.append((part.residual, None) if through is None else through)
    return found


def _floors(constraints: Sequence[Constraint]) -> list[Constraint]:
    """Denominators of ratios that are multiplied through must not vanish: with nobody, 0 <= 0 would be met."""
    scales = {scale.key: scale for c in constraints for _, scale in _affine(c) if scale is not None}
    return [scale >= RATIO_FLOOR for scale in scales.values()]
