"""Objectives and problems, checked.

In: an objective and constraints. Out: a `Problem` that the algorithms can solve (`refusals` explains what they
cannot), which knows its rates, losses and hardest kind of part, and expands families of constraints for the groups in
the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.cached import cached_property
from ..data.examples import Examples
from ..data.labels import Classes
from ..data.slices import EVERYBODY
from ..language.clearing import cleared
from ..language.curvature import Curvature
from ..language.expressions import Call, Constraint, Expression, Quotient, expression
from ..language.nodes import BlackBox, Loss, Rate, has_black_box
from ..language.parity import ConstraintFamily
from ..language.refusals import check_constraint, check_objective
from ..language.trees import fields_of
from .hints import given_hint
from .possible import check_possible


@dataclass(frozen=True, eq=False)
class Objective:
    """What to minimise or maximise. Made by `minimize` and `maximize`.

    Parameters
    ----------
    sense
        ``"minimize"`` or ``"maximize"``.
    expr
        The expression.
    """

    sense: str
    expr: Expression

    @property
    def sign(self) -> float:
        """Factor between the value as the user wrote it and the one to minimise: -1 if it is maximised, else 1."""
        return 1.0 if self.sense == "minimize" else -1.0

    @property
    def minimised(self) -> Expression:
        """The expression to minimise."""
        return self.expr if self.sense == "minimize" else -self.expr

    @property
    def key(self) -> tuple[Any, ...]:
        """Structural identity."""
        return (self.sense, self.expr.key)

    def in_classes(self, classes: Classes) -> Objective:
        """The same for some classes.

        Parameters
        ----------
        classes
            The classes by value.

        Returns
        -------
        Objective
            The objective with sums and means over classes written out.
        """
        expr = self.expr.in_classes(classes)
        return self if expr is self.expr else Objective(self.sense, expr)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Objective) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"{self.sense}({self.expr!r})"


def minimize(expr: Any) -> Objective:
    """Make an objective to minimise.

    Parameters
    ----------
    expr
        An `Expression`, or a number.

    Returns
    -------
    Objective
        For `Problem`, `RateClassifier` or `solve`.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.minimize(eq.error_rate() + 0.1 * eq.churn("old_model"))
    minimize(error_rate() + 0.1 * churn('old_model'))
    """
    return Objective("minimize", expression(expr))


def maximize(expr: Any) -> Objective:
    """Make an objective to maximise.

    Parameters
    ----------
    expr
        An `Expression`, or a number.

    Returns
    -------
    Objective
        For `Problem`, `RateClassifier` or `solve`.

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
            raise TypeError(not_an_objective(objective))
        object.__setattr__(self, "objective", objective)
        object.__setattr__(self, "constraints", tuple(flat_constraints(constraints)))
        check_objective(objective.expr, maximising=objective.sense == "maximize")
        for constraint in self.plain_constraints:
            check_constraint(constraint)
        check_possible(self.plain_constraints)

    @classmethod
    def unchecked(cls, objective: Objective, constraints: Iterable[Constraint]) -> Problem:
        """A problem that may be impossible, such as one whose constraints were tightened.

        Parameters
        ----------
        objective
            Made by `minimize` or `maximize`.
        constraints
            Constraints that are written out, no ready-made ones.

        Returns
        -------
        Problem
            The problem, without any check.
        """
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

    @property
    def plain_constraints(self) -> list[Constraint]:
        """The constraints that are written out, without families that are yet to be."""
        return [constraint for constraint in self.constraints if isinstance(constraint, Constraint)]

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
        """Return the problem written out for the groups and the classes in the data.

        Parameters
        ----------
        examples
            Labels and attributes of some data.

        Returns
        -------
        Problem
            The problem itself where there was nothing to write out.
        """
        objective = self.objective.in_classes(examples.classes)
        plain: list[Constraint] = []
        for constraint in self.constraints:
            if isinstance(constraint, ConstraintFamily):
                plain.extend(constraint.expanded(examples))
            else:
                plain.append(constraint.on(examples))
        same = len(plain) == len(self.constraints) and all(a is b for a, b in zip(plain, self.constraints, strict=True))
        return self if same and objective is self.objective else Problem(objective, plain)

    def in_classes(self, classes: Classes) -> Problem:
        """The same for some classes; families of constraints stay as they are.

        Parameters
        ----------
        classes
            All classes by value, in their order.

        Returns
        -------
        Problem
            The problem itself where nothing depends on the classes.
        """
        objective = self.objective.in_classes(classes)
        constraints = [c.in_classes(classes) if isinstance(c, Constraint) else c for c in self.constraints]
        same = all(a is b for a, b in zip(constraints, self.constraints, strict=True))
        return self if same and objective is self.objective else Problem(objective, constraints)

    def rates(self) -> list[Rate]:
        """Every linear rate that the objective or a constraint mentions, each once.

        Returns
        -------
        list of Rate
            In the order in which they appear.
        """
        return list(self._rates)

    @cached_property
    def _rates(self) -> tuple[Rate, ...]:
        rates: dict[tuple[Any, ...], Rate] = {rate.key: rate for rate in self.objective.expr.rates()}
        for constraint in self.plain_constraints:
            for rate in constraint.rates():
                rates.setdefault(rate.key, rate)
        return tuple(rates.values())

    def __getstate__(self) -> dict[str, Any]:
        return fields_of(self)

    def baselines(self) -> set[str]:
        """Attributes that hold another model's predictions.

        Returns
        -------
        set of str
            Names of attributes.
        """
        names = {rate.baseline for rate in self.rates() if rate.baseline is not None}
        families = [c for c in self.constraints if isinstance(c, ConstraintFamily)]
        return names | {argument for f in families for metric in f.metrics for argument in metric.arguments}

    @property
    def has_black_boxes(self) -> bool:
        """Whether the objective or a constraint contains a `black_box`."""
        sides = (side for constraint in self.plain_constraints for side in (constraint.left, constraint.right))
        return any(map(has_black_box, (self.objective.expr, *sides)))

    def losses(self) -> list[Loss]:
        """Every ordinary loss in the objective, each once.

        Returns
        -------
        list of Loss
            In the order in which they appear.
        """
        return list({loss.key: loss for loss in self.objective.expr.losses()}.values())

    def __repr__(self) -> str:
        lines = [f"{self.objective.sense} {self.objective.expr!r}"]
        if self.constraints:
            lines += ["subject to", *(f"  {constraint!r}" for constraint in self.constraints)]
        return "\n".join(lines)


def not_an_objective(given: Any) -> str:
    """The message for anything else that is given as an objective."""
    return f"the objective must be made with minimize(...) or maximize(...); got {given!r}{given_hint(given)}"


def flat_constraints(constraints: Any) -> Iterator[Constraint | ConstraintFamily]:
    """Constraints one by one, from lists of them or from one alone; refuses anything else."""
    if isinstance(constraints, (Constraint, ConstraintFamily)):
        yield constraints
    elif isinstance(constraints, Iterable) and not isinstance(constraints, (str, bytes)):
        for part in constraints:
            yield from flat_constraints(part)
    else:
        truth = isinstance(constraints, (bool, np.bool_))
        hint = (
            " (a comparison of plain numbers is True or False, not a constraint)" if truth else given_hint(constraints)
        )
        raise TypeError(f"constraints are made with <= or >= between expressions; got {constraints!r}{hint}")


_HARDEST_FIRST = (Curvature.UNKNOWN, Curvature.RATIO, Curvature.CONVEX)


def _kinds(expr: Expression) -> Iterator[Curvature]:
    """The kinds of part that an expression has, those inside its atoms too."""
    for _, term in expr.terms():
        if isinstance(term, Quotient):
            yield Curvature.RATIO
        elif isinstance(term, BlackBox):
            yield Curvature.UNKNOWN
        elif isinstance(term, (Call, Loss)):
            yield Curvature.CONVEX
            for argument in term.children:
                yield from _kinds(argument)
