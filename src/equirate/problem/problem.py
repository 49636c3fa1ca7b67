"""Objectives and problems: what is asked for, checked.

In: an objective and constraints. Out: a `Problem` whose every part is known to fit the game (`refusals` says what
does not), which knows its rates, losses and hardest kind of part, and writes families of constraints out for the
groups in the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.examples import Examples
from ..data.slices import EVERYBODY
from ..language.clearing import cleared
from ..language.curvature import Curvature
from ..language.expressions import Call, Constraint, Expression, Quotient, expression
from ..language.nodes import BlackBox, Loss, Rate, has_black_box
from ..language.parity import ConstraintFamily
from ..language.refusals import check_constraint, check_objective
from .possible import check_possible


@dataclass(frozen=True, eq=False)
class Objective:
    """What to minimise or maximise. Made by `minimize` and `maximize`."""

    sense: str
    expr: Expression

    @property
    def minimised(self) -> Expression:
        """The expression to minimise."""
        return self.expr if self.sense == "minimize" else -self.expr

    @property
    def key(self) -> tuple[Any, ...]:
        """Structural identity."""
        return (self.sense, self.expr.key)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Objective) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"{self.sense}({self.expr!r})"


def minimize(expr: Any) -> Objective:
    """Make an objective to minimise.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.minimize(eq.error_rate() + 0.1 * eq.churn("old_model"))
    minimize(error_rate() + 0.1 * churn('old_model'))
    """
    return Objective("minimize", expression(expr))


def maximize(expr: Any) -> Objective:
    """Make an objective to maximise.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.maximize(eq.tpr() * eq.tnr())
    maximize(tpr() * tnr())
    >>> eq.Problem(eq.maximize(eq.tpr() * eq.tnr()))
    Traceback (most recent call last):
    ...
    equirate.DisciplineError: cannot maximise this objective: it is not concave.
      tpr() * tnr()
      └─ a product of two rates has unknown curvature
      Write geo_mean(tpr(), tnr()): concave, and it ranks classifiers the same way.
    """
    return Objective("maximize", expression(expr))


@dataclass(frozen=True, repr=False, eq=False)
class Problem:
    """An objective and the constraints it is subject to, checked.

    Parameters
    ----------
    objective
        Made by `minimize` or `maximize`.
    constraints
        Constraints made by ``<=`` and ``>=``, lists of them (the ready-made ones), or a mixture.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.Problem(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.25])
    maximize f1()
    subject to
      positive_rate() <= 0.25
    """

    objective: Objective
    constraints: tuple[Constraint | ConstraintFamily, ...]

    def __init__(self, objective: Objective, constraints: Iterable[Any] | Constraint | ConstraintFamily = ()) -> None:
        if not isinstance(objective, Objective):
            raise TypeError(f"the objective must be made with minimize(...) or maximize(...); got {objective!r}")
        object.__setattr__(self, "objective", objective)
        object.__setattr__(self, "constraints", tuple(_flat(constraints)))
        check_objective(objective.expr, maximising=objective.sense == "maximize")
        for constraint in self._plain():
            check_constraint(constraint)
        check_possible(list(self._plain()))

    @classmethod
    def unchecked(cls, objective: Objective, constraints: Iterable[Constraint]) -> Problem:
        """A problem that may be impossible, such as one whose constraints were tightened."""
        problem = object.__new__(cls)
        object.__setattr__(problem, "objective", objective)
        object.__setattr__(problem, "constraints", tuple(constraints))
        return problem

    @property
    def key(self) -> tuple[Any, ...]:
        """Structural identity."""
        return (self.objective, *self.constraints)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Problem) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def curvature(self) -> Curvature:
        """Hardest kind of part in the problem: affine, convex, ratio or unknown (black boxes)."""
        kinds = {kind for part in self._minimised_parts() for kind in _kinds(part)}
        return next((kind for kind in _HARDEST_FIRST if kind in kinds), Curvature.AFFINE)

    def _plain(self) -> Iterator[Constraint]:
        """Constraints that are written out, and not families yet to be expanded."""
        return (constraint for constraint in self.constraints if isinstance(constraint, Constraint))

    def _minimised_parts(self) -> Iterator[Expression]:
        yield self.objective.minimised
        for constraint in self.constraints:
            if isinstance(constraint, ConstraintFamily):
                yield from (metric(EVERYBODY) for metric in constraint.metrics)
            else:
                for part in constraint.split():
                    through = cleared(part.residual)
                    yield part.residual if through is None else through[0]

    def expanded(self, examples: Examples) -> Problem:
        """Return the problem with every family of constraints written out for the groups in the data."""
        if not any(isinstance(constraint, ConstraintFamily) for constraint in self.constraints):
            return self
        plain: list[Constraint] = []
        for constraint in self.constraints:
            plain.extend(constraint.expanded(examples) if isinstance(constraint, ConstraintFamily) else [constraint])
        return Problem(self.objective, plain)

    def rates(self) -> list[Rate]:
        """Every linear rate that the objective or a constraint mentions, each once."""
        found: dict[tuple[Any, ...], Rate] = {rate.key: rate for rate in self.objective.expr.rates()}
        for constraint in self._plain():
            found.update((rate.key, rate) for rate in constraint.rates() if rate.key not in found)
        return list(found.values())

    def baselines(self) -> set[str]:
        """Attributes that hold another model's predictions."""
        found = {rate.baseline for rate in self.rates() if rate.baseline is not None}
        families = [c for c in self.constraints if isinstance(c, ConstraintFamily)]
        return found | {argument for f in families for metric in f.metrics for argument in metric.arguments}

    @property
    def has_black_boxes(self) -> bool:
        """Whether a function of the user's own stands in the objective or a constraint."""
        sides = (side for constraint in self._plain() for side in (constraint.left, constraint.right))
        return any(map(has_black_box, (self.objective.expr, *sides)))

    def losses(self) -> list[Loss]:
        """Every ordinary loss in the objective, each once."""
        return list({loss.key: loss for loss in self.objective.expr.losses()}.values())

    def __repr__(self) -> str:
        lines = [f"{self.objective.sense} {self.objective.expr!r}"]
        if self.constraints:
            lines += ["subject to", *(f"  {constraint!r}" for constraint in self.constraints)]
        return "\n".join(lines)


def _flat(constraints: Any) -> Iterator[Constraint | ConstraintFamily]:
    if isinstance(constraints, (Constraint, ConstraintFamily)):
        yield constraints
    elif isinstance(constraints, Iterable) and not isinstance(constraints, (str, bytes)):
        for part in constraints:
            yield from _flat(part)
    else:
        truth = isinstance(constraints, (bool, np.bool_))
        hint = " (a comparison of plain numbers is True or False, not a constraint)" if truth else ""
        raise TypeError(f"constraints are made with <= or >= between expressions; got {constraints!r}{hint}")


_HARDEST_FIRST = (Curvature.UNKNOWN, Curvature.RATIO, Curvature.CONVEX)


def _kinds(whole: Expression) -> Iterator[Curvature]:
    """The kinds of part that an expression has, those inside its atoms too."""
    for _, term in whole.terms():
        if isinstance(term, Quotient):
            yield Curvature.RATIO
        elif isinstance(term, BlackBox):
            yield Curvature.UNKNOWN
        elif isinstance(term, (Call, Loss)):
            yield Curvature.CONVEX
            for argument in term.children:
                yield from _kinds(argument)
