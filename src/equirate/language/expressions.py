"""Expressions, their operators, and the nodes that operators make: what users hold and combine.

In: operators between expressions and numbers. Out: `Constant`, `Sum`, `Negative`, `Product`, `Quotient`, and `Call`
for ``abs`` and every other atom; comparisons give constraints. Each class says everything about its kind of node:
curvature, range, terms, how a bound on it splits, value and text. Numbers are folded; sums stay flat.

The interface of every node is in `trees`; the nodes that are written by name are in `nodes`.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .._core.cached import cached_property
from . import measuring
from .atoms import ABS, MAX, MIN, Atom
from .constraints import Constraint as Constraint  # re-exported: comparisons of expressions make it
from .curvature import REALS, UNIT, Curvature, Interval, Monotonicity, compose
from .measuring import Measure, Value
from .trees import Binding, Term, Tree

if TYPE_CHECKING:
    from .nodes import Rate

_MOST_PIECES = 16  # a sum of several abs, max or min splits into the product of their pieces


class Expression(Tree):
    """A function of classification rates. Build them with the functions of `equirate`: ``tpr() - 2 * fpr()``."""

    __array_ufunc__ = None  # numpy scalars on the left leave the operation to us

    def terms(self) -> Iterator[Term]:
        """A constant, or one times itself.

        Yields
        ------
        factor : Expression
            A constant.
        part : Expression or None
            What it multiplies; None for a constant term.
        """
        yield (self, None) if self.curvature is Curvature.CONSTANT else (ONE, self)

    def pieces(self, upper: bool) -> tuple[Expression, ...]:
        """Expressions that are all below (``upper``) or above a bound exactly if this one is: itself, or its parts.

        Parameters
        ----------
        upper
            Whether the bound is from above.

        Returns
        -------
        tuple of Expression
            The parts.
        """
        return (self,)

    @cached_property
    def linear_factors(self) -> tuple[tuple[Rate, float], ...] | None:
        """The rates of a linear function, each once, with their factors; None where it bends, or data give a factor."""
        if self.curvature is not Curvature.AFFINE:
            return None
        by_key: dict[tuple[Any, ...], tuple[Any, float]] = {}
        for factor, term in self.terms():
            number, part = counted(factor, term)
            if isinstance(part, Constant) and number is not None:
                continue
            if number is None or part.outcomes is None or part.curvature is not Curvature.AFFINE:
                return None
            by_key[part.key] = part, by_key.get(part.key, (part, 0.0))[1] + number
        return tuple(by_key.values())

    # -- arithmetic ------------------------------------------------------------------------------

    def __neg__(self) -> Expression:
        return Negative(self)

    def __abs__(self) -> Expression:
        return Call(ABS, (self,))

    def __pos__(self) -> Expression:
        return self

    def __add__(self, other: Any) -> Expression:
        return plus(self, expression(other))

    def __radd__(self, other: Any) -> Expression:
        return plus(expression(other), self)

    def __sub__(self, other: Any) -> Expression:
        return plus(self, expression(other), -1)

    def __rsub__(self, other: Any) -> Expression:
        return plus(expression(other), self, -1)

    def __mul__(self, other: Any) -> Expression:
        return product(self, expression(other))

    def __rmul__(self, other: Any) -> Expression:
        return product(expression(other), self)

    def __truediv__(self, other: Any) -> Expression:
        return quotient(self, expression(other))

    def __rtruediv__(self, other: Any) -> Expression:
        return quotient(expression(other), self)

    def __pow__(self, other: Any) -> NoReturn:
        raise TypeError(
            "powers are written as atoms: "
            f"square({self!r}) for ** 2, sqrt({self!r}) for ** 0.5, inv({self!r}) for ** -1"
        )

    # -- comparison ------------------------------------------------------------------------------

    def _compared(self, symbol: str, other: Expression) -> Constraint:
        constraint = Constraint(self, symbol, other)
        if self.curvature is other.curvature is Curvature.CONSTANT:
            raise TypeError(f"{constraint!r} does not depend on any prediction: there is nothing to constrain")
        return constraint

    def __le__(self, other: Any) -> Constraint:
        return self._compared("<=", expression(other))

    def __ge__(self, other: Any) -> Constraint:
        return self._compared(">=", expression(other))

    def __lt__(self, other: Any) -> NoReturn:
        raise TypeError(_strict(self, "<=", other))

    def __gt__(self, other: Any) -> NoReturn:
        raise TypeError(_strict(self, ">=", other))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Expression, int, float, np.number)):
            return NotImplemented
        raise TypeError(
            f"rates cannot be made equal: write abs({self - other!r}) <= tolerance. "
            "(To ask whether two expressions are the same, compare their .key.)"
        )

    __hash__ = Tree.__hash__

    def __bool__(self) -> NoReturn:
        raise TypeError(f"the expression {self!r} has no truth value: it is a function of rates, not a number")


# -- nodes ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Expression):
    """A number."""

    number: float

    @cached_property
    def curvature(self) -> Curvature:
        """Constant."""
        return Curvature.CONSTANT

    @cached_property
    def interval(self) -> Interval:
        """The number itself."""
        return Interval(self.number, self.number)

    @property
    def key(self) -> tuple[Any, ...]:
        """The number."""
        return ("constant", self.number)

    def value(self, measure: Measure) -> Value:
        """Return the number."""
        return self.number

    def __neg__(self) -> Expression:
        return Constant(-self.number)

    @property
    def binding(self) -> Binding:  # type: ignore[override]  # a negative number prints like a negation
        """Bind like a leaf, or like a negation if negative."""
        return Binding.UNARY if self.number < 0 else Binding.LEAF

    def __repr__(self) -> str:
        is_integer = float(self.number).is_integer() and abs(self.number) < 1e15
        return repr(int(self.number)) if is_integer else repr(float(self.number))


ONE = Constant(1)
_NOTHING = Interval(0, 0)


@dataclass(frozen=True, eq=False, repr=False)
class Sum(Expression):
    """A sum of signed parts, kept flat so that it may be long."""

    parts: tuple[tuple[int, Expression], ...]
    binding = Binding.SUM

    @cached_property
    def curvature(self) -> Curvature:
        """Sum of the curvatures."""
        total = Curvature.CONSTANT
        for sign, part in self.parts:
            total = total + (part.curvature if sign > 0 else -part.curvature)
        return total

    @cached_property
    def interval(self) -> Interval:
        """Range of the terms together: means over the same examples are bounded together, other terms are added.

        Bounding one sort of example at a time shows, for instance, that ``positive_rate(s) - tp(s)`` is at least 0.
        """
        total = Interval(0.0, 0.0)
        means: dict[Hashable, list[float]] = {}
        for factor, term in self.terms():
            number, part = counted(factor, term)
            if number is None:
                total = total + (factor.interval if term is None else factor.interval * term.interval)
            elif part.outcomes is not None:
                examples, each = part.outcomes
                so_far = means.get(examples, [0.0] * len(each))
                means[examples] = [a + number * b for a, b in zip(so_far, each, strict=True)]
            else:
                total = total + Interval(number, number) * part.interval
        for values in means.values():
            total = total + Interval(min(values), max(values))
        return total

    @property
    def children(self) -> tuple[Expression, ...]:
        """The parts, without their signs."""
        return tuple(part for _, part in self.parts)

    @property
    def key(self) -> tuple[Any, ...]:
        """Signs and parts."""
        return ("sum", *((sign, part.key) for sign, part in self.parts))

    def terms(self) -> Iterator[Term]:
        """Terms of all parts."""
        for sign, part in self.parts:
            yield from part.terms() if sign > 0 else (-part).terms()

    def pieces(self, upper: bool) -> tuple[Expression, ...]:
        """Every choice of one piece per part, unless there are too many."""
        split = [part.pieces(upper is (sign > 0)) for sign, part in self.parts]
        if math.prod(map(len, split)) > _MOST_PIECES:
            return (self,)
        signs = [sign for sign, _ in self.parts]
        return or_whole(self, (Sum(tuple(zip(signs, parts, strict=True))) for parts in itertools.product(*split)))

    def value(self, measure: Measure) -> Value:
        """Add; a difference of two infinities counts as 0 and warns."""
        return measuring.total([sign * part.value(measure) for sign, part in self.parts], self)

    def __repr__(self) -> str:
        (_, first), *others = self.parts
        tail = (f" {'+' if sign > 0 else '-'} {part.wrapped(Binding.PRODUCT)}" for sign, part in others)
        return "".join([repr(first), *tail])


@dataclass(frozen=True, eq=False, repr=False)
class Negative(Expression):
    """The negative of an expression."""

    part: Expression
    binding = Binding.UNARY

    @cached_property
    def curvature(self) -> Curvature:
        """Negated."""
        return -self.part.curvature

    @cached_property
    def interval(self) -> Interval:
        """Negated."""
        return -self.part.interval

    @property
    def children(self) -> tuple[Expression, ...]:
        """The one part."""
        return (self.part,)

    def terms(self) -> Iterator[Term]:
        """Negate every factor."""
        for factor, part in self.part.terms():
            yield times(Constant(-1), factor), part

    def pieces(self, upper: bool) -> tuple[Expression, ...]:
        """Negatives of the part's pieces on the other side of the bound."""
        return or_whole(self, (-piece for piece in self.part.pieces(not upper)))

    def value(self, measure: Measure) -> Value:
        """Negate."""
        return -self.part.value(measure)

    def __repr__(self) -> str:
        return f"-{self.part.wrapped(Binding.UNARY)}"


@dataclass(frozen=True, eq=False, repr=False)
class _Binary(Expression):
    left: Expression
    right: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        """Both sides."""
        return (self.left, self.right)


class Product(_Binary):
    """A product; disciplined only if one side is constant."""

    binding = Binding.PRODUCT

    @cached_property
    def scaling(self) -> tuple[Expression, Expression] | None:
        """(constant factor, the other side), or None if neither side is constant."""
        for constant, other in ((self.left, self.right), (self.right, self.left)):
            if constant.curvature is Curvature.CONSTANT:
                return constant, other
        return None

    @cached_property
    def curvature(self) -> Curvature:
        """Curvature of a scaled expression; unknown for a true product."""
        if self.scaling is None:
            return Curvature.UNKNOWN
        constant, other = self.scaling
        return other.curvature.scaled(constant.interval)

    @cached_property
    def interval(self) -> Interval:
        """Range of a product."""
        return self.left.interval * self.right.interval

    def terms(self) -> Iterator[Term]:
        """Multiply every factor."""
        if self.scaling is None:
            yield ONE, self
        elif self.scaling[0].interval != _NOTHING:
            constant, other = self.scaling
            for factor, part in other.terms():
                yield times(constant, factor), part

    def pieces(self, upper: bool) -> tuple[Expression, ...]:
        """Multiples of the scaled side's pieces."""
        if self.scaling is None:
            return (self,)
        constant, other = self.scaling
        return or_whole(self, (constant * piece for piece in _scaled_pieces(constant, other, upper)))

    def value(self, measure: Measure) -> Value:
        """Multiply, with 0 * inf = 0: a term with factor 0 does not make the sum undefined."""
        return measuring.product(self.left.value(measure), self.right.value(measure))

    def __repr__(self) -> str:
        return f"{self.left.wrapped(Binding.PRODUCT)} * {self.right.wrapped(Binding.UNARY)}"


@dataclass(frozen=True, eq=False, repr=False)
class Quotient(_Binary):
    """A quotient: a scaled expression, or a ratio of two affine expressions.

    ``floor`` is a lower bound of the denominator that the user gives.
    """

    floor: float | None = None
    binding = Binding.PRODUCT

    @cached_property
    def curvature(self) -> Curvature:
        """Ratio for affine / affine; scaled if the denominator is constant."""
        if self.right.curvature is Curvature.CONSTANT:
            divisor = self.right.interval
            sign = UNIT if divisor.lo >= 0 else -UNIT if divisor.hi <= 0 else REALS
            return self.left.curvature.scaled(sign)
        if self.right.curvature is Curvature.AFFINE and self.left.curvature in (Curvature.CONSTANT, Curvature.AFFINE):
            return Curvature.RATIO
        return Curvature.UNKNOWN

    @cached_property
    def interval(self) -> Interval:
        """Range of a quotient; [0, 1] if 0 <= numerator <= denominator is known."""
        if self.is_share:
            return UNIT
        return self.left.interval / self.right.interval

    @cached_property
    def is_share(self) -> bool:
        """Whether 0 <= numerator <= denominator whatever is predicted."""
        return self.left.interval.lo >= 0 and (self.right - self.left).interval.lo >= 0

    @property
    def key(self) -> tuple[Any, ...]:
        """Both sides and the floor."""
        return (*super().key, self.floor)

    def terms(self) -> Iterator[Term]:
        """Divide every factor, if the denominator is constant."""
        if self.right.curvature is not Curvature.CONSTANT or self.left.curvature is Curvature.CONSTANT:
            yield from super().terms()
            return
        for factor, part in self.left.terms():
            yield quotient(factor, self.right), part

    def pieces(self, upper: bool) -> tuple[Expression, ...]:
        """Pieces of the numerator, divided, if the denominator is constant."""
        if self.right.curvature is not Curvature.CONSTANT:
            return (self,)
        return or_whole(self, (piece / self.right for piece in _scaled_pieces(self.right, self.left, upper)))

    def value(self, measure: Measure) -> Value:
        """Divide; 0/0 counts as 0 and warns, x/0 is infinite."""
        return measuring.quotient(self.left.value(measure), self.right.value(measure), self)

    def __repr__(self) -> str:
        if self.floor is not None:
            return f"ratio({self.left!r}, {self.right!r}, floor={self.floor!r})"
        return f"{self.left.wrapped(Binding.PRODUCT)} / {self.right.wrapped(Binding.UNARY)}"


@dataclass(frozen=True, eq=False, repr=False)
class Call(Expression):
    """An atom of expressions."""

    atom: Atom
    arguments: tuple[Expression, ...]

    def __post_init__(self) -> None:
        count, arity = len(self.arguments), self.atom.arity
        if (arity is None and count == 0) or (arity is not None and count != arity):
            wanted = "at least one argument" if arity is None else f"{arity} argument{'s' * (arity > 1)}"
            raise TypeError(f"{self.atom.name} takes {wanted}; got {count}")
        super().__post_init__()

    @cached_property
    def monotonicity(self) -> tuple[Monotonicity, ...]:
        """Direction in each argument, over its range."""
        return self.atom.monotonicity([argument.interval for argument in self.arguments])

    @cached_property
    def curvature(self) -> Curvature:
        """The composition rule."""
        pairs = zip(self.monotonicity, (argument.curvature for argument in self.arguments), strict=True)
        return compose(self.atom.shape, pairs)

    @cached_property
    def interval(self) -> Interval:
        """Range of the atom over the arguments' ranges."""
        return self.atom.range([argument.interval for argument in self.arguments])

    @property
    def children(self) -> tuple[Expression, ...]:
        """The arguments."""
        return self.arguments

    @property
    def key(self) -> tuple[Any, ...]:
        """Atom and arguments."""
        return ("call", self.atom, *(argument.key for argument in self.arguments))

    def pieces(self, upper: bool) -> tuple[Expression, ...]:
        """Both signs of ``abs`` below a bound, all arguments of ``max`` below it and of ``min`` above it."""
        if upper and self.atom is ABS:
            argument = self.arguments[0]
            return argument.pieces(upper) + (-argument).pieces(upper)
        if self.atom is (MAX if upper else MIN):
            return tuple(piece for argument in self.arguments for piece in argument.pieces(upper))
        return (self,)

    def value(self, measure: Measure) -> Value:
        """Apply the atom; NaN outside its domain."""
        return measuring.applied(self.atom, (argument.value(measure) for argument in self.arguments))

    def __repr__(self) -> str:
        return f"{self.atom.name}({', '.join(map(repr, self.arguments))})"


# -- making ---------------------------------------------------------------------------------------


def expression(value: Any) -> Expression:
    """Turn a number into an expression; leave expressions alone; refuse anything else."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, Constraint):
        raise TypeError(f"{value!r} is a constraint and cannot be part of an expression")
    return Constant(number(value, "a rate expression or a number"))


_WHOLE = 2**53  # larger integers become the nearest float


def _strict(left: Expression, symbol: str, right: Any) -> str:
    return (
        f"strict inequalities have no meaning for rates: write {left!r} {symbol} {right!r} for a constraint. "
        "(The built-in max, min and sorted compare like this: use eq.max(...) and eq.min(...).)"
    )


def number(value: Any, wanted: str) -> float:
    """Return a finite Python number; the error says what was ``wanted``."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        hint = "; call it, as in tpr()" if callable(value) else ""
        hint = "; unpack it, as in max(*rates)" if isinstance(value, (list, tuple)) else hint
        raise TypeError(f"expected {wanted}, not {type(value).__name__} {value!r}{hint}")
    if abs(value) > sys.float_info.max or value != value:
        shown = repr(value) if isinstance(value, float) else "a whole number beyond 1.8e308"
        raise TypeError(f"expected {wanted}, not {shown}")
    return float(value) if abs(value) > _WHOLE else value


def _folded(value: float, left: Expression, symbol: str, right: Expression) -> Expression:
    """A constant computed from two others, which must not overflow."""
    if abs(value) > sys.float_info.max or value != value:
        raise OverflowError(f"{left!r} {symbol} {right!r} is too large for a number")
    return Constant(float(value) if abs(value) > _WHOLE else value)


def plus(left: Expression, right: Expression, sign: int = 1) -> Expression:
    """Add or subtract, folding numbers; sums stay flat."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _folded(left.number + sign * right.number, left, "+" if sign > 0 else "-", right)
    if isinstance(left, Constant) and left.number == 0 and sign > 0:  # as the built-in sum() begins
        return right
    first = left.parts if isinstance(left, Sum) else ((1, left),)
    return Sum(first + (right.parts if isinstance(right, Sum) and sign > 0 else ((sign, right),)))


def times(left: Expression, right: Expression) -> Expression:
    """Multiply two constant expressions, folding numbers."""
    if isinstance(right, Product) and isinstance(left, Constant) and isinstance(right.left, Constant):
        return times(product(left, right.left), right.right)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Constant) and one.number == 1:
            return other
    return product(left, right)


def product(left: Expression, right: Expression) -> Expression:
    """Multiply, folding numbers."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _folded(left.number * right.number, left, "*", right)
    return Product(left, right)


def quotient(left: Expression, right: Expression) -> Expression:
    """Divide, folding numbers."""
    if isinstance(right, Constant):
        if right.number == 0:
            raise ZeroDivisionError(f"{left!r} / 0")
        if isinstance(left, Constant):
            return _folded(left.number / right.number, left, "/", right)
    return Quotient(left, right)


def counted(factor: Expression, part: Expression | None) -> tuple[float | None, Expression]:
    """The number that multiplies a term, and the term; None for a factor that depends on the data.

    A constant mean, such as ``base_rate()``, is among the factors.
    """
    if part is None:
        factor, part = (factor.left, factor.right) if isinstance(factor, Product) else (ONE, factor)
    return (factor.number if isinstance(factor, Constant) else None), part


# -- splitting ------------------------------------------------------------------------------------


def or_whole(expr: Expression, pieces: Iterable[Expression]) -> tuple[Expression, ...]:
    """Return the pieces if there are several; a node that does not split stays as it was written."""
    split = tuple(pieces)
    return split if len(split) > 1 else (expr,)


def _scaled_pieces(constant: Expression, part: Expression, upper: bool) -> tuple[Expression, ...]:
    """Return the pieces of what a constant scales; none where the constant's sign is not known."""
    known = constant.interval
    if known == _NOTHING or known.lo < 0 < known.hi:
        return ()
    return part.pieces(upper is (known.lo >= 0))
