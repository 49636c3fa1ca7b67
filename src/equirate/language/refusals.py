"""Refusals: errors, before any training, for problems that no algorithm can solve, with the rewrite that would work.

In: the objective's expression, or a constraint. Out: nothing, or a `DisciplineError` that points at the smallest
offending part, names the rule and suggests the rewrite. `problem` calls this; a new check, with its advice, is a
method of `_Check`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from .._core.errors import DisciplineError
from .atoms import Atom
from .clearing import cleared
from .curvature import REALS, Curvature, Interval, Monotonicity
from .expressions import Call, Constraint, Expression, Negative, Product, Quotient, Sum
from .nodes import Loss, Named, Rate, has_black_box

_STRAIGHT = (Curvature.CONSTANT, Curvature.AFFINE, Curvature.RATIO)  # accepted by every atom
_ONCE = Interval(1, 1)
_ROUNDING = 1e-12


def check_objective(expr: Expression, maximising: bool) -> None:
    """Refuse an expression that cannot be minimised or maximised."""
    if expr.curvature is Curvature.CONSTANT:
        raise DisciplineError(f"the objective {expr!r} does not depend on any prediction")
    verb, good = ("maximise", "concave") if maximising else ("minimise", "convex")
    check = _Check(expr, f"cannot {verb} this objective: it is not {good}.", maximising)
    check.run(-expr if maximising else expr)


def check_constraint(constraint: Constraint) -> None:
    """Refuse a constraint with a part that cannot be kept, neither as it is nor multiplied through."""
    for part in constraint.split():
        if cleared(part.residual) is None:
            heading = f"cannot keep this constraint: {part.residual!r} <= 0 is not convex."
            _Check(constraint, heading).run(part.residual)


def _signed(expr: Expression, sign: Interval = _ONCE) -> Iterator[tuple[Interval, Expression]]:
    """The parts of a sum, each with the range of its factor; a convex or concave named metric is one part."""
    if isinstance(expr, Sum):
        for direction, part in expr.parts:
            yield from _signed(part, sign if direction > 0 else -sign)
    elif isinstance(expr, Negative):
        yield from _signed(expr.part, -sign)
    elif isinstance(expr, Product) and expr.scaling is not None:
        constant, part = expr.scaling
        yield from _signed(part, sign * constant.interval)
    elif isinstance(expr, Quotient) and expr.right.curvature is Curvature.CONSTANT:
        known = expr.right.interval
        yield from _signed(expr.left, sign if known.lo >= 0 else -sign if known.hi <= 0 else REALS)
    elif isinstance(expr, Named) and expr.curvature not in (Curvature.CONVEX, Curvature.CONCAVE):
        yield from _signed(expr.definition, sign)
    elif expr.curvature is not Curvature.CONSTANT and (sign.lo, sign.hi) != (0, 0):
        yield sign, expr


def _bend(part: Expression) -> Curvature:
    """Shape of a part in its arguments: the curvature of an atom of ratios is unknown, but its shape is known."""
    if isinstance(part, Call) and part.curvature is Curvature.UNKNOWN:
        return part.atom.shape.value
    return part.curvature


@dataclass(frozen=True)
class _Check:
    """The checks of one objective or constraint, ``subject``, which every message shows."""

    subject: Expression | Constraint
    heading: str
    maximising: bool = False

    @property
    def bounding(self) -> bool:
        """Whether this is about a constraint."""
        return isinstance(self.subject, Constraint)

    def run(self, minimised: Expression) -> None:
        """Check each part of an expression that is to be minimised or kept at or below zero."""
        for sign, part in _signed(minimised):
            self.inside(part, Curvature.CONVEX.scaled(sign))
            if isinstance(part, Loss):
                self.loss(part, sign)
            elif not isinstance(part, Rate):
                self.known_sign(part, sign)
                if _bend(part).scaled(sign) is Curvature.CONCAVE:
                    self.wrong_sign(part)

    def known_sign(self, part: Expression, sign: Interval) -> None:
        """Parts that are not affine need a factor of known sign."""
        if sign.lo < 0 < sign.hi:
            self.refuse(f"the sign of the factor of {part!r} is not known", "Use a factor of known sign.")

    def loss(self, part: Loss, sign: Interval) -> None:
        """Losses are minimised, in the objective."""
        if self.bounding:
            self.refuse(
                f"{part!r} is a loss of the scores, not a rate",
                f"Move it to the objective, with a weight: minimize(... + 0.1 * {part!r}).",
            )
        if sign.lo < 0:
            advice = (
                f"Subtract it: maximize(... - {part!r})" if self.maximising else f"Add it: minimize(... + {part!r})"
            )
            self.refuse(f"{part!r} enters so that a larger loss is better", f"{advice}.")

    def wrong_sign(self, part: Expression) -> None:
        """A convex part where a concave one is wanted, or the other way round."""
        bend = _bend(part)
        reason = f"{part!r} is {bend.value}, and enters with the wrong sign"
        if self.bounding:
            side = ">=" if bend is Curvature.CONCAVE else "<="
            advice = f"A {bend.value} expression can only be bounded with {side}: do that, or bound a rate inside it."
            self.refuse(reason, advice)
        instead = _straightened(part, -bend)
        if instead is not None:
            what = "affine, and it" if instead.curvature is Curvature.AFFINE else "it"
            self.refuse(reason, f"Use {instead!r} in its place: {what} moves in the same direction.")
        can, write = ("minimised", "minimize") if bend is Curvature.CONVEX else ("maximised", "maximize")
        self.refuse(reason, f"A {bend.value} function can only be {can}: write {write}({part!r}).")

    def inside(self, part: Expression, wanted: Curvature) -> None:
        """Find the smallest part that breaks the rules; ``wanted`` is the curvature that would be accepted here."""
        if isinstance(part, Product) and part.scaling is None:
            for factor in _factors(part):
                self.parts(factor, Curvature.UNKNOWN)
            self.product(part, wanted)
        elif isinstance(part, Call):
            for argument, needed in zip(part.arguments, _needed(part), strict=True):
                self.parts(argument, needed)
            self.call(part)
        elif isinstance(part, Named):
            self.parts(part.definition, wanted)
        else:
            for child in part.children:
                self.parts(child, Curvature.UNKNOWN)
        if isinstance(part, Quotient) and part.curvature is Curvature.RATIO:
            self.ratio(part)
        if isinstance(part, Quotient) and part.curvature is Curvature.UNKNOWN:
            divided = f"{part.left.curvature.value} by {part.right.curvature.value}"
            self.refuse(
                f"{part!r} divides {divided}; a ratio needs affine parts",
                "Divide rates and sums of rates only, or bound numerator and denominator separately.",
            )

    def parts(self, expr: Expression, wanted: Curvature) -> None:
        """Check inside every part of a sum."""
        for sign, part in _signed(expr):
            self.inside(part, wanted.scaled(sign))

    def product(self, part: Product, wanted: Curvature) -> None:
        """A product of parts that all depend on the predictions."""
        factors = list(_factors(part))
        shown = ", ".join(map(repr, factors))
        two_rates = len(factors) == 2 and all(isinstance(factor, Rate) for factor in factors)
        reason = (
            "a product of two rates has unknown curvature"
            if two_rates
            else f"{part!r} is a product of expressions that all depend on the predictions"
        )
        plain = all(factor.curvature in (Curvature.AFFINE, Curvature.RATIO) for factor in factors)
        positive = all(factor.interval.lo >= 0 for factor in factors)
        advice = "Multiply by constants only; a weighted sum often serves as well."
        if wanted is Curvature.CONVEX and plain and len({f.key for f in factors}) == 1 and len(factors) == 2:
            advice = f"Write square({factors[0]!r})."
        elif wanted is Curvature.CONVEX and plain and positive:
            advice = f"Write norm({shown}): convex, and small where all of them are small."
        elif wanted is Curvature.CONCAVE and plain and positive:
            root = " Take the same root of the bound." if self.bounding else ""
            bent = "concave, and it" if all(f.curvature is Curvature.AFFINE for f in factors) else "it"
            advice = f"Write geo_mean({shown}): {bent} ranks classifiers the same way.{root}"
        self.refuse(reason, advice)

    def ratio(self, part: Quotient) -> None:
        """A ratio whose denominator can be zero or negative."""
        left, right = part.left, part.right
        low = right.interval.lo
        if low < -_ROUNDING:
            self.refuse(
                f"the denominator {right!r} has the range {right.interval}",
                "Use a denominator that cannot be negative: a rate, a sum of rates, "
                f"or a shifted one, such as {1 - low:g} + {right!r}.",
                "a ratio's denominator can be negative.",
            )
        if low <= 0 and part.floor is None and not _bounded(part):
            self.refuse(
                f"{part!r} grows without bound as {right!r} approaches 0",
                f"For a bound on the ratio, multiply through: {left!r} <= bound * {right.wrapped()}, "
                f"which is affine. Otherwise give a floor of the denominator: ratio({left!r}, {right!r}, floor=0.01).",
                "a ratio's denominator can be zero.",
            )

    def call(self, part: Call) -> None:
        """An atom outside its domain, of a loss, or of arguments that it does not accept."""
        atom = part.atom
        for loss in part.losses():
            self.refuse(f"{loss!r} is a loss of the scores and is inside {atom.name}", f"Add {loss!r} as it is.")
        for argument, direction, needed in zip(part.arguments, part.monotonicity, _needed(part), strict=True):
            if argument.interval not in atom.domain.widened(_ROUNDING):
                self.outside(atom, argument)
            if direction is Monotonicity.NONE and not atom.even:
                self.refuse(
                    f"{atom.name} neither rises nor falls over {argument.interval}, the range of {argument!r}",
                    "Use an atom that moves in one direction there, or declare it even if it is.",
                )
            for sign, inner in _signed(argument):
                if not isinstance(inner, Rate):
                    self.known_sign(inner, sign)
                    if _bend(inner).scaled(sign) not in (*_STRAIGHT, needed) or has_black_box(inner):
                        self.composition(part, argument, inner)

    def outside(self, atom: Atom, argument: Expression) -> None:
        """An argument that can leave the domain of its atom."""
        low, rates = argument.interval.lo, list(argument.rates())
        shift = f"Shift it, as in {atom.name}({1 - low:g} + {argument!r}), or use" if low > -math.inf else "Use"
        self.refuse(
            f"{atom.name} needs an argument in {atom.domain}, but {argument!r} has the range {argument.interval}",
            f"{shift} a rate that cannot be negative, such as {rates[0]!r}.",
            "an atom is used outside its domain.",
        )

    def composition(self, part: Call, argument: Expression, inner: Expression) -> None:
        """An atom of an argument that it does not accept."""
        name = part.atom.name
        if has_black_box(inner):
            self.refuse(f"{name} of a black box has unknown curvature", f"Put {name} into the black box's function.")
        if isinstance(argument, Sum):
            self.refuse(
                f"{argument!r} mixes parts that {name} does not go with: {inner!r} is {_bend(inner).value} there",
                f"Inside {name}, add rates and ratios, such as {next(inner.rates())!r}.",
            )
        self.refuse(
            f"{name} of a {_bend(inner).value} expression has unknown curvature",
            f"Give {name} affine arguments, such as {next(inner.rates())!r}.",
        )

    def refuse(self, reason: str, advice: str, heading: str | None = None) -> NoReturn:
        """Say what failed in the user's notation, the rule, and the fix."""
        raise DisciplineError(f"{heading or self.heading}\n  {self.subject!r}\n  └─ {reason}\n  {advice}")


def _needed(part: Call) -> list[Curvature]:
    """The curvature that each argument of an atom may have, besides affine and ratio; unknown for no other."""
    return [part.atom.shape.value.scaled(Interval(d, d)) if d else Curvature.UNKNOWN for d in part.monotonicity]


def _bounded(part: Quotient) -> bool:
    """Whether numerator and denominator vanish together, so that the ratio is bounded."""
    most = 1000 * max(1.0, abs(part.left.interval.lo), abs(part.left.interval.hi))
    return all((most * part.right + sign * part.left).interval.lo >= 0 for sign in (1, -1))


def _straightened(part: Expression, wanted: Curvature) -> Expression | None:
    """The sum of an atom's arguments, signed by the atom's direction; None if unknown, or no better."""
    if not isinstance(part, Call) or Monotonicity.NONE in part.monotonicity:
        return None
    terms = []
    for argument, direction in zip(part.arguments, part.monotonicity, strict=True):
        needed = wanted.scaled(Interval(direction, direction))
        fits = all(_bend(inner).scaled(sign) in (*_STRAIGHT, needed) for sign, inner in _signed(argument))
        plain = argument if fits else _straightened(argument, needed)
        if plain is None:
            return None
        terms.append(plain if direction > 0 else -plain)
    total = sum(terms)
    return total if isinstance(total, Expression) and total.curvature is not Curvature.CONSTANT else None


def _factors(part: Expression) -> Iterator[Expression]:
    if isinstance(part, Product) and part.scaling is None:
        yield from _factors(part.left)
        yield from _factors(part.right)
    elif part.curvature is not Curvature.CONSTANT:
        yield part
