"""Constraints that cannot be met: which of them conflict, how far they must be loosened, and over what that is known.

In: a `Solution` whose best mixture breaks a constraint. Out: the mixture that breaks them least in their own units, and
a `Conflict`: a smallest set of constraints that cannot be met together (a deletion filter over programmes of mixtures)
with the smallest tolerance that it can be met with. Where the model answers exactly, it is asked for whatever would
make the largest violation smaller, so that the answer is one about all its classifiers. Nothing here is computed for
what is feasible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

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

SEARCHED = "these columns, as far as a local search tells"
FINE = 1e-5
"""How exactly the smallest tolerance is found."""
MET = 5e-6
"""Violations up to this size are rounding: a programme's own, over the smallest denominator."""
ROUNDS = 100
"""Answers of the model for the violation alone, at most."""
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
        mixtures = f"any mixture of {in_words(self.over)}"
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
        found = trial.locally_best()
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
    columns = Candidates.of(solution)
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
class Candidates:
    """Columns that constraints are tried on; more of them join while the model has something that helps.

    Attributes
    ----------
    solution
        Whose problem, data and model they are.
    columns
        The columns, with rates on the judging data.
    complete
        Whether what is impossible for them is impossible for all classifiers of the model.
    asks
        Whether the model can be asked for more.
    """

    solution: Solution
    columns: Columns
    complete: bool
    asks: bool
    _known: dict[tuple[object, ...], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, solution: Solution) -> Candidates:
        """The columns of a solution, with those that say the same to everybody; of a short list, everything."""
        judge = solution.judge
        here = solution.judged_where_trained
        every = solution.learner.every_sum() if here and solution.exact else None
        if every is not None:
            return cls(solution, _listed(judge, every), True, False)
        constant = judge.cells.constants()
        asks = solution.exact and here and not judge.program.has_ratios
        found = Columns.of(solution.columns.rates, Source.LISTED, solution.columns.handle)
        return cls(solution, found.join(_listed(judge, constant)), asks, asks)

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
        table, columns = self._table(constraints)
        mixed = columns.rates[:, : len(mixture)] @ mixture  # of columns that joined later, it has none
        return float(largest_of(values(table, mixed[:, None])[1])[0])

    def _mixed(self, constraints: Sequence[Constraint]) -> Array:
        """The mixture of the columns that breaks the constraints least, with enough people to measure ratios on."""
        return best(*self._table([*constraints, *_floors(constraints)])).weights

    def _table(self, constraints: Sequence[Constraint]) -> tuple[Table, Columns]:
        """The constraints' table, and the columns with its rates; the objective is of no account."""
        judge = self.solution.judge
        scales = [scale for constraint in constraints for _, scale in _affine(constraint) if scale is not None]
        aim = (
            maximize(scales[0]) if scales else minimize(judge.program.rates[0])
        )  # many to measure on, where it matters
        table = make_table(canonicalize(Problem(aim, constraints)), judge.examples, judge.cells)
        known = {rate.key: k for k, rate in enumerate(judge.program.rates)}
        rates = self.columns.rates[[known[rate.key] for rate in table.program.rates]]
        return table, self.columns.measured(rates)

    def _helped(self, constraints: Sequence[Constraint]) -> bool:
        """Ask the model for what makes the largest violation smaller; False if its answers prove that nothing does.

        The value of the mixture less what exact answers cost less bounds the violation from below.
        """
        parts = [part for constraint in [*constraints, *_floors(constraints)] for part, _ in _affine(constraint)]
        try:
            program = canonicalize(Problem(minimize(parts[0] if len(parts) == 1 else largest(*parts))))
        except EquirateError:  # no convex function of the rates
            self.asks = self.complete = False
            return False
        if program.has_ratios or any(atom.form.grid for atom in program.atoms):
            self.asks = self.complete = False
            return False
        solution, judge = self.solution, self.solution.judge
        table = make_table(program, judge.examples, judge.cells)
        generation = Generation(table, np.ones(judge.cells.n_counts), exact=True)
        constant = judge.cells.constants()
        generation.begin([Family(constant, Source.CONSTANT)], np.zeros(judge.cells.n_counts))
        learner = solution.learner

        def answer(asked: Sequence[tuple[Generation, Array]]) -> list[tuple[list[Family], bool]]:
            return [(learner.respond(costs), True) for _, costs in asked]

        with complete():  # half a search says nothing
            generate([generation], answer, ROUNDS, lambda _: generation.bound > 0)
        if generation.bound > 0:
            return False
        sums = np.concatenate([np.asarray(family.sums) for family in generation.families], axis=1)
        self.columns = self.columns.join(_listed(judge, sums))
        return True


def _listed(judge: Table, sums: Array) -> Columns:
    """Columns that are known by their sums alone."""
    return Columns.of(judge.rates(sums), Source.LISTED, np.zeros((sums.shape[1], 2), dtype=np.intp))


def loosened(problem: Problem, by: float | Array) -> Problem:
    """The problem with every constraint loosened by so much, after ``abs`` and ``max`` are split.

    Negative amounts tighten; what is asked for may then be impossible.
    """
    parts = [part for constraint in _written(problem) for part in constraint.split()]
    each = np.broadcast_to(np.asarray(by, dtype=float), (len(parts),)).tolist()
    return Problem.unchecked(problem.objective, [shifted(part, -own) for part, own in zip(parts, each, strict=True)])


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
