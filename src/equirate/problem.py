"""Objectives and problems, and the refusals: what cannot be solved as written is said before any training.

In: an objective and constraints. Out: a `Problem` whose every part is known to fit the game, or a
`DisciplineError` that walks to the smallest offending part, names the rule and suggests the rewrite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from .atoms import ABS, GEO_MEAN, MAX, MIN
from .data import Examples
from .discipline import Curvature
from .errors import DisciplineError
from .expressions import (
    BlackBox,
    Call,
    Constraint,
    Expression,
    Loss,
    Named,
    Negative,
    Product,
    Quotient,
    Rate,
    Sum,
    expression,
)
from .parity import Family

_AFFINE = (Curvature.CONSTANT, Curvature.AFFINE)


@dataclass(frozen=True)
class Objective:
    """What to minimise or maximise. Made by `minimize` and `maximize`."""

    sense: str
    expr: Expression

    @property
    def minimised(self) -> Expression:
        """The expression to minimise."""
        return self.expr if self.sense == "minimize" else -self.expr

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
    equirate.errors.DisciplineError: cannot maximise this objective: it is not concave.
      tpr() * tnr()
      └─ a product of two rates has unknown curvature
      Write geo_mean(tpr(), tnr()): concave, and it ranks classifiers the same way.
    """
    return Objective("maximize", expression(expr))


@dataclass(frozen=True, repr=False)
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
    constraints: tuple[Constraint | Family, ...] = field(default=())

    def __init__(self, objective: Objective, constraints: Iterable[Any] | Constraint | Family = ()) -> None:
        if not isinstance(objective, Objective):
            raise TypeError(f"the objective must be made with minimize(...) or maximize(...); got {objective!r}")
        object.__setattr__(self, "objective", objective)
        object.__setattr__(self, "constraints", tuple(_flat(constraints)))
        check(self)

    @property
    def curvature(self) -> Curvature:
        """Hardest kind of part in the problem: affine, convex, ratio or unknown (black boxes)."""
        kinds = {_kind(part) for part in self._minimised_parts()}
        for kind in (Curvature.UNKNOWN, Curvature.RATIO, Curvature.CONVEX):
            if kind in kinds:
                return kind
        return Curvature.AFFINE

    def _minimised_parts(self) -> Iterator[Expression]:
        yield self.objective.minimised
        for constraint in self.constraints:
            if isinstance(constraint, Family):
                yield constraint.metrics[0].function(*constraint.metrics[0].arguments)
            else:
                for part in constraint.split():
                    through = cleared(part.residual)
                    yield part.residual if through is None else through[0]

    def expanded(self, examples: Examples) -> Problem:
        """Return the problem with every family of constraints written out for the groups in the data."""
        plain: list[Constraint] = []
        for constraint in self.constraints:
            plain.extend(constraint.expanded(examples) if isinstance(constraint, Family) else [constraint])
        return Problem(self.objective, plain)

    def rates(self) -> list[Rate]:
        """Every linear rate that the objective or a constraint mentions, each once."""
        found: dict[tuple[Any, ...], Rate] = {rate.key: rate for rate in self.objective.expr.rates()}
        for constraint in self.constraints:
            if isinstance(constraint, Constraint):
                found.update((rate.key, rate) for rate in constraint.rates() if rate.key not in found)
        return list(found.values())

    def losses(self) -> list[Loss]:
        """Every ordinary loss in the objective, each once."""
        return list({loss.key: loss for loss in self.objective.expr.losses()}.values())

    def __repr__(self) -> str:
        lines = [f"{self.objective.sense} {self.objective.expr!r}"]
        if self.constraints:
            lines += ["subject to", *(f"  {constraint!r}" for constraint in self.constraints)]
        return "\n".join(lines)


def _flat(constraints: Any) -> Iterator[Constraint | Family]:
    if isinstance(constraints, (Constraint, Family)):
        yield constraints
    elif isinstance(constraints, (list, tuple)):
        for part in constraints:
            yield from _flat(part)
    else:
        hint = (
            " (a comparison of plain numbers is True or False, not a constraint)"
            if isinstance(constraints, bool)
            else ""
        )
        raise TypeError(f"constraints are made with <= or >= between expressions; got {constraints!r}{hint}")


def _kind(expr: Expression) -> Curvature:
    kinds = set()
    for _, part in expr.terms():
        if isinstance(part, Quotient):
            kinds.add(Curvature.RATIO)
        elif isinstance(part, BlackBox):
            kinds.add(Curvature.UNKNOWN)
        elif isinstance(part, (Call, Loss)):
            kinds.add(Curvature.CONVEX)
    for kind in (Curvature.UNKNOWN, Curvature.RATIO, Curvature.CONVEX):
        if kind in kinds:
            return kind
    return Curvature.AFFINE


def cleared(residual: Expression) -> tuple[Expression, Expression] | None:
    """Multiply a bound on one ratio through by its denominator: ``f N / D + c <= 0`` is ``f N + c D <= 0``.

    Returns the affine left side and D, or None where the residual is anything else.

    Examples
    --------
    >>> import equirate as eq
    >>> cleared((eq.precision() >= 0.8).residual)
    (-1 * tp() + 0.8 * positive_rate(), positive_rate())
    """
    ratios, constants = [], []
    for factor, part in residual.terms():
        if part is None:
            constants.append(factor)
        elif isinstance(part, Quotient) and part.curvature is Curvature.RATIO and part.right.interval.lo >= 0:
            ratios.append((factor, part))
        else:
            return None
    if len(ratios) != 1:
        return None
    factor, part = ratios[0]
    whole = factor * part.left
    for constant in constants:
        whole = whole + constant * part.right
    return whole, part.right


# -- refusals -------------------------------------------------------------------------------------


def check(problem: Problem) -> None:
    """Refuse what the game cannot be played for."""
    objective = problem.objective
    if objective.expr.curvature is Curvature.CONSTANT:
        raise DisciplineError(f"the objective {objective.expr!r} does not depend on any prediction")
    maximising = objective.sense == "maximize"
    heading = (
        "cannot maximise this objective: it is not concave."
        if maximising
        else "cannot minimise this objective: it is not convex."
    )
    _check_terms(objective.minimised, objective.expr, heading, maximising, losses=True)
    for constraint in problem.constraints:
        if isinstance(constraint, Constraint):
            for part in constraint.split():
                if cleared(part.residual) is not None:
                    continue
                heading = f"cannot keep this constraint: {part.residual!r} <= 0 is not convex."
                _check_terms(part.residual, constraint, heading, maximising=False, losses=False)


def _check_terms(expr: Expression, whole: object, heading: str, maximising: bool, losses: bool) -> None:
    for factor, part in expr.terms():
        if part is None or isinstance(part, Rate):
            continue
        sign = factor.interval
        _check_part(part, whole, heading)
        if isinstance(part, Loss):
            if not losses:
                _refuse(
                    whole,
                    f"{part!r} is a loss of the scores, not a rate",
                    "Move it to the objective, with a weight.",
                    heading,
                )
            if sign.lo < 0:
                _refuse(whole, f"{part!r} enters so that a larger loss is better", "Turn its sign round.", heading)
        elif isinstance(part, (BlackBox, Quotient)):
            if sign.lo < 0 < sign.hi:
                _refuse(whole, f"the sign of {factor!r} is not known", "Use a factor of known sign.", heading)
        elif isinstance(part, Call):
            curvature = part.curvature.scaled(sign)
            if curvature is Curvature.CONCAVE:
                what = part.curvature.value
                if losses:
                    verb, other = ("maximised", "minimised") if maximising else ("minimised", "maximised")
                    good = "concave" if maximising else "convex"
                    advice = f"Only {good} functions can be {verb}: have it {other}, or choose a {good} objective."
                else:
                    side = ">=" if what == "concave" else "<="
                    advice = f"A {what} expression can only be bounded with {side}: do that, or bound a rate inside it."
                _refuse(whole, f"{part!r} is {what}, and enters with the wrong sign", advice, heading)
            elif curvature is not Curvature.CONVEX:
                _refuse(
                    whole,
                    f"the sign of the factor {factor!r} of {part!r} is not known",
                    "Use a factor of known sign.",
                    heading,
                )


def _check_part(part: Expression, whole: object, heading: str) -> None:
    """Walk to the smallest part that is not disciplined."""
    for child in part.children:
        _check_part(child, whole, heading)
    if isinstance(part, Quotient) and part.curvature is Curvature.RATIO:
        _check_ratio(part, whole)
    if isinstance(part, Call):
        for argument in part.arguments:
            if argument.interval not in part.atom.domain:
                _refuse(
                    whole,
                    f"{part.atom.name} needs an argument in {part.atom.domain}, but {argument!r} has the range {argument.interval}",
                    f"Shift it, as in {part.atom.name}({1 - argument.interval.lo:g} + {argument!r}), "
                    "or use a rate that cannot be negative.",
                    "an atom is used outside its domain.",
                )
    if part.curvature is Curvature.UNKNOWN and not isinstance(part, (BlackBox, Sum, Negative, Named)):
        reason, advice = _advice(part)
        _refuse(whole, reason, advice, heading)


def _check_ratio(part: Quotient, whole: object) -> None:
    denominator = part.right.interval
    heading = "a ratio's denominator can be zero."
    if denominator.lo < 0:
        _refuse(
            whole,
            f"the denominator {part.right!r} has the range {denominator}",
            "Use a denominator that cannot be negative, such as a rate or a sum of rates.",
            heading,
        )
    if denominator.lo == 0 and part.floor is None and not _bounded(part):
        _refuse(
            whole,
            f"{part!r} grows without bound as {part.right!r} approaches 0",
            f"For a bound on the ratio, multiply through: {part.left!r} <= bound * {part.right._wrapped(2)}, which is affine. "
            f"Otherwise promise a floor: ratio({part.left!r}, {part.right!r}, floor=0.01).",
            heading,
        )


def _bounded(part: Quotient) -> bool:
    """Whether |numerator| <= 10 * denominator whatever is predicted, so that the ratio is bounded."""
    return (10 * part.right - part.left).interval.lo >= 0 and (10 * part.right + part.left).interval.lo >= 0


def _advice(part: Expression) -> tuple[str, str]:
    if isinstance(part, Product):
        left, right = part.left, part.right
        if isinstance(left, Rate) and isinstance(right, Rate):
            return (
                "a product of two rates has unknown curvature",
                f"Write {GEO_MEAN.name}({left!r}, {right!r}): concave, and it ranks classifiers the same way.",
            )
        return (
            f"{part!r} is a product of two expressions that both depend on the predictions",
            "Multiply by constants only; geo_mean(a, b) ranks like a * b, and a weighted sum often serves as well.",
        )
    if isinstance(part, Quotient):
        return (
            f"{part!r} divides {part.left.curvature.value} by {part.right.curvature.value}; a ratio needs affine parts",
            "Divide rates and sums of rates only, or bound numerator and denominator separately.",
        )
    if isinstance(part, Call):
        inner = next(a for a in part.arguments if a.curvature not in _AFFINE)
        reason = f"{part.atom.name} of a {inner.curvature.value} expression has unknown curvature"
        if part.atom in (ABS, MAX, MIN):
            return (
                reason,
                f"Bound it in a constraint of its own, such as {part!r} <= 0.1, which is taken apart by itself.",
            )
        if inner.curvature is Curvature.RATIO:
            return (
                reason,
                f"Use {inner!r} itself: {part.atom.name} is monotone, so it ranks classifiers the same way.",
            )
        return reason, f"Give {part.atom.name} affine arguments, or use {inner!r} without it."
    return (
        f"{part!r} has unknown curvature",
        "Write it with the atoms and rates of this package, or as a black_box.",
    )


def _refuse(whole: object, reason: str, advice: str, heading: str) -> NoReturn:
    raise DisciplineError(f"{heading}\n  {whole!r}\n  └─ {reason}\n  {advice}")
