"""Constraints that cannot be met: which of them conflict, how far they must be loosened, and for which classifiers.

In: a `Solution` whose best mixture violates a constraint. Out: the mixture with the smallest violation in the units of
the constraints, and a `Conflict`: a minimal set of constraints that cannot be met together (a deletion filter over
programmes of mixtures), with the smallest tolerance that makes it feasible. If the model answers exactly, it is asked
for classifiers that reduce the largest violation, so that the result holds for all its classifiers. None of this is
computed for feasible solutions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError
from .._core.interrupts import complete
from ..language.clearing import cleared
from ..language.expressions import Constraint, Expression
from ..language.functions import max as largest
from ..mixtures import Columns, Source, best, largest as largest_of, values
from ..models.messages import Family
from ..problem.canonical import RATIO_FLOOR, canonicalize
from ..problem.problem import Problem, maximize, minimize
from ..problem.table import Table, make_table
from .classifiers import Classifier
from .column_generation import Generation, generate
from .status import COLUMNS, EVERYTHING, in_words

if TYPE_CHECKING:
    from .solution import Solution

Array = NDArray[np.float64]
T = TypeVar("T")

SEARCHED = "these columns, as far as a local search tells"
TOLERANCE_PRECISION = 1e-5
"""Precision of the smallest tolerance."""
ROUNDING = 5e-6
"""Violations up to this size are rounding: the tolerance of a programme, divided by the smallest denominator."""
ROUNDS = 100
"""Largest number of answers of the model when the violation alone is minimised."""
MAX_MODEL_CALLS = 8
"""How often the model is asked for helpful classifiers for one set of constraints."""


@dataclass(frozen=True)
class Conflict:
    """Constraints that cannot be met together.

    Attributes
    ----------
    constraints
        A minimal set: without any one of them, the others can be met.
    tolerance
        The smallest number such that the set can be met if each constraint is loosened by it, in its own units.
    together
        The same for all constraints of the problem.
    over
        The classifiers whose mixtures this holds for: `COLUMNS`, `EVERYTHING` or `SEARCHED`.
    """

    constraints: tuple[Constraint, ...]
    tolerance: float
    together: float
    over: str

    @property
    def advice(self) -> str:
        """The conflict as a message, with what to do."""
        named = "; ".join(map(repr, self.constraints))
        mixtures = f"any mixture of {in_words(self.over)}"
        if len(self.constraints) == 1:
            text = f"{named} cannot be met by {mixtures}: loosened by {self.tolerance:.3g} it can"
        else:
            text = (
                f"these constraints cannot be met together by {mixtures}: {named}. Without any one of them the others "
                f"can, and so can all of them, each loosened by {self.tolerance:.3g}"
            )
        if self.together > self.tolerance + 10 * TOLERANCE_PRECISION:
            text += f"; all constraints of the problem together need {self.together:.3g}"
        them = "it" if len(self.constraints) == 1 else "them"
        if self.over == EVERYTHING:
            return f"{text}. Loosen {them}, or take another model: more rounds will not help"
        return f"{text}. Loosen {them}, give the model better features or take a richer one, or play more rounds"


def shifted(constraint: Constraint, margin: float) -> Constraint:
    """The constraint tightened by ``margin``; loosened if it is negative."""
    right = constraint.right - margin if constraint.symbol == "<=" else constraint.right + margin
    return Constraint(constraint.left, constraint.symbol, right)


def least_broken(solution: Solution, best: Classifier) -> Classifier:
    """The mixture with the smallest largest violation, in the units of the constraints.

    The programmes multiply a bound on a ratio by its denominator, so a violation counts less if the denominator is
    small: the smallest violation there need not be the smallest violation of the bound. So all constraints are loosened
    by the same amount, which is found by bisection.
    """
    high, constraints = solution.value_of(best)[1], solution.problem.plain_constraints
    if not (solution.tolerance < high < np.inf) or not _clears(constraints):
        return best

    def mixed(tolerance: float) -> tuple[float, Classifier]:
        loose = _loosened(constraints, tolerance)
        trial = solution.for_problem(Problem(solution.problem.objective, [*loose, *_floors(loose)]))
        mixture = trial.polish(time_limit=0)
        return solution.value_of(mixture)[1], mixture

    high, best = _least_tolerance(high, best, mixed)
    return replace(best, problem=solution.problem, notes={**best.notes, "smallest_violation": high})


def conflict_of(solution: Solution) -> Conflict | None:
    """The constraints that conflict; None if the columns do not show it, or if other columns may meet them."""
    every = solution.problem.plain_constraints
    if solution.problem.has_black_boxes:
        return None
    columns = Candidates.of(solution)
    if not columns.impossible(every):
        return None
    tolerance_of_all, mixture = columns.least(every)
    # By duality, a convex problem is infeasible because of the constraints with the largest violation alone.
    broken = [columns.broken([constraint], mixture) for constraint in every]
    near = tolerance_of_all - max(1e-4, 1e-2 * tolerance_of_all)
    chosen = [constraint for constraint, by in zip(every, broken, strict=True) if by >= near]
    if len(chosen) < len(every) and not columns.impossible(chosen):
        chosen = every
    for constraint in list(chosen):
        others = [other for other in chosen if other is not constraint]
        if others and columns.impossible(others):
            chosen = others
    tolerance = columns.least(chosen)[0]
    over = SEARCHED if solution.judge.program.has_ratios else EVERYTHING if columns.complete else COLUMNS
    return Conflict(tuple(chosen), tolerance, max(tolerance_of_all, tolerance), over)


def _least_tolerance(high: float, best: T, mixed: Callable[[float], tuple[float, T]]) -> tuple[float, T]:
    """The smallest tolerance that some mixture meets, by bisection, and this mixture.

    ``best`` has a violation of ``high``; ``mixed`` mixes for a tolerance, and returns the violation and the mixture.
    """
    low = 0.0
    while high - low > TOLERANCE_PRECISION:
        middle = (low + high) / 2
        violation, mixture = mixed(middle)
        if violation <= middle + ROUNDING:
            high, best = min(violation, middle), mixture
        else:
            low = middle
    return high, best


@dataclass
class Candidates:
    """Columns that constraints are tested on; more are added while the model has classifiers that help.

    Attributes
    ----------
    solution
        The solution with the problem, the data and the model.
    columns
        The columns, with rates on the judging data.
    complete
        Whether constraints that are infeasible for them are infeasible for all classifiers of the model.
    asks
        Whether the model can be asked for more columns.
    """

    solution: Solution
    columns: Columns
    complete: bool
    asks: bool

    @classmethod
    def of(cls, solution: Solution) -> Candidates:
        """The columns of a solution and the constant classifiers; for a model with a finite list, all classifiers."""
        judge = solution.judge
        on_training_data = solution.judged_where_trained
        every = solution.learner.every_sum() if on_training_data and solution.exact else None
        if every is not None:
            return cls(solution, Columns.of(judge.rates(every), Source.LISTED), True, False)
        constant = judge.cells.constants()
        asks = solution.exact and on_training_data and not judge.program.has_ratios
        columns = Columns.of(solution.columns.rates, Source.LISTED, solution.columns.handle)
        return cls(solution, columns.join(Columns.of(judge.rates(constant), Source.LISTED)), asks, asks)

    def impossible(self, constraints: Sequence[Constraint]) -> bool:
        """Whether no mixture meets the constraints within the tolerance."""
        loose = _loosened(constraints, self.solution.tolerance)
        for _ in range(MAX_MODEL_CALLS):
            if self.broken(loose, self._mixed(loose)) <= ROUNDING:
                return False
            if not self.asks or not self._helped(loose):
                return True
        self.complete = False  # the model had helpful classifiers every time
        return True

    def least(self, constraints: Sequence[Constraint]) -> tuple[float, Array]:
        """The smallest tolerance, in the units of the constraints, and a mixture that meets them with it."""
        for _ in range(MAX_MODEL_CALLS):
            violation, mixture = self._least(constraints)
            clearly_less = violation - max(1e-4, 0.002 * violation)
            if not self.asks or violation <= ROUNDING or not self._helped(_loosened(constraints, clearly_less)):
                return violation, mixture
        self.complete = False
        return violation, mixture

    def _least(self, constraints: Sequence[Constraint]) -> tuple[float, Array]:
        """The same for the current columns."""
        best = self._mixed(constraints)
        high = self.broken(constraints, best)
        if not _clears(constraints):  # the programme has minimised the violation itself
            return high, best

        def mixed(tolerance: float) -> tuple[float, Array]:
            mixture = self._mixed(_loosened(constraints, tolerance))
            return self.broken(constraints, mixture), mixture

        return _least_tolerance(high, best, mixed)

    def broken(self, constraints: Sequence[Constraint], mixture: Array) -> float:
        """The largest violation of some constraints, in their own units."""
        table, columns = self._table(constraints)
        mixed = columns.rates[:, : len(mixture)] @ mixture  # columns that were added later have weight 0
        return float(largest_of(values(table, mixed[:, None])[1])[0])

    def _mixed(self, constraints: Sequence[Constraint]) -> Array:
        """The mixture of the columns with the smallest violation, with denominators of ratios that do not vanish."""
        return best(*self._table([*constraints, *_floors(constraints)])).weights

    def _table(self, constraints: Sequence[Constraint]) -> tuple[Table, Columns]:
        """The table of the constraints, and the columns with its rates; the objective hardly matters."""
        judge = self.solution.judge
        scales = [scale for constraint in constraints for _, scale in _affine(constraint) if scale is not None]
        aim = maximize(scales[0]) if scales else minimize(judge.program.rates[0])  # for ratios, a large denominator
        table = make_table(canonicalize(Problem(aim, constraints)), judge.examples, judge.cells)
        known = {rate.key: k for k, rate in enumerate(judge.program.rates)}
        rates = self.columns.rates[[known[rate.key] for rate in table.program.rates]]
        return table, self.columns.measured(rates)

    def _helped(self, constraints: Sequence[Constraint]) -> bool:
        """Ask the model for classifiers that reduce the largest violation; False if its answers prove there are none.

        The value of the mixture plus the (negative) reduced cost of exact answers is a lower bound on the violation.
        """
        solution, judge = self.solution, self.solution.judge
        table = violation_table(judge, constraints)
        if table is None:
            self.asks = self.complete = False
            return False
        generation = Generation(table, np.ones(judge.cells.n_counts), exact=True)
        constant = judge.cells.constants()
        generation.begin([Family(constant, Source.CONSTANT)], np.zeros(judge.cells.n_counts))
        learner = solution.learner

        def answer(asked: Sequence[tuple[Generation, Array]]) -> list[tuple[list[Family], bool]]:
            return [(learner.respond(costs), True) for _, costs in asked]

        with complete():  # an interrupted search proves nothing
            generate([generation], answer, ROUNDS, lambda _: generation.bound > 0)
        if generation.bound > 0:
            return False
        sums = np.concatenate([np.asarray(family.sums) for family in generation.families], axis=1)
        self.columns = self.columns.join(Columns.of(judge.rates(sums), Source.LISTED))
        return True


def violation_table(judge: Table, constraints: Sequence[Constraint]) -> Table | None:
    """The table of the problem to minimise the largest violation alone; None if that is no convex function."""
    parts = [part for constraint in [*constraints, *_floors(constraints)] for part, _ in _affine(constraint)]
    try:
        program = canonicalize(Problem(minimize(parts[0] if len(parts) == 1 else largest(*parts))))
    except EquirateError:
        return None
    if program.has_ratios or any(atom.form.grid for atom in program.atoms):
        return None
    return make_table(program, judge.examples, judge.cells)


def add_for_infeasible(solved: Callable[[], Solution], add: Callable[[Table], None]) -> None:
    """Generate the columns that are missing where constraints cannot be met.

    ``solved`` gives the solution with the columns so far, and ``add`` generates columns for another table.

    The programmes multiply a bound on a ratio by its denominator. So their columns need not have the smallest violation
    of the bounds: the violation is minimised again with all bounds loosened by the smallest one so far, until it falls
    no further (Dinkelbach's method). And constraints that no column meets by themselves may only lack columns that were
    generated for them alone.
    """
    solution = solved()
    constraints = solution.problem.plain_constraints
    violation = solution.value_of(solution.polish())[1]
    while _clears(constraints) and violation > solution.tolerance:
        table = violation_table(solution.judge, _loosened(constraints, violation))
        if table is None:
            break
        add(table)
        before, solution = violation, solved()
        violation = solution.value_of(solution.polish())[1]
        if solution.interrupted or violation > before - solution.tolerance:
            break
    columns = Candidates.of(solution)
    if columns.complete or solution.interrupted or solution.problem.has_black_boxes:
        return
    for constraint in constraints if len(constraints) > 1 else ():
        table = violation_table(solution.judge, _loosened([constraint], solution.tolerance))
        if table is not None and columns.impossible([constraint]):
            add(table)
            if solved().interrupted:
                return


def loosened(problem: Problem, by: float | Array) -> Problem:
    """The problem with every constraint loosened by ``by``, after ``abs`` and ``max`` are split.

    Negative amounts tighten; the problem may then be infeasible.
    """
    parts = [part for constraint in problem.plain_constraints for part in constraint.split()]
    amounts = np.broadcast_to(np.asarray(by, dtype=float), (len(parts),)).tolist()
    return Problem.unchecked(
        problem.objective, [shifted(part, -amount) for part, amount in zip(parts, amounts, strict=True)]
    )


def _loosened(constraints: Sequence[Constraint], by: float) -> list[Constraint]:
    return [shifted(constraint, -by) for constraint in constraints]


def _clears(constraints: Sequence[Constraint]) -> bool:
    """Whether a bound on a ratio is among them, which the programmes multiply by its denominator."""
    return any(scale is not None for constraint in constraints for _, scale in _affine(constraint))


def _affine(constraint: Constraint) -> list[tuple[Expression, Expression | None]]:
    """Expressions that must be at most 0, and what each was multiplied by (None for nothing)."""
    return [cleared(part.residual) or (part.residual, None) for part in constraint.split()]


def _floors(constraints: Sequence[Constraint]) -> list[Constraint]:
    """Lower bounds of denominators that constraints are multiplied by: a denominator of 0 would meet 0 <= 0."""
    scales = {scale.key: scale for c in constraints for _, scale in _affine(c) if scale is not None}
    return [scale >= RATIO_FLOOR for scale in scales.values()]
