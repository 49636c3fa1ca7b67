"""Expressions: functions of rates, written before any data is seen.

In: rates, numbers and atoms, combined with ``+ - * /``, comparisons and calls. Out: frozen trees that know
their curvature and range, print as they were written, evaluate exactly on any predictions, and fall apart
into the sum of terms that `canonical` works with. An expression holds no data and never changes.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from .atoms import ABS, MAX, MIN, Atom
from .data import Examples, predictions_of
from .discipline import REALS, UNIT, Curvature, Interval, Monotonicity, compose
from .errors import UndefinedRateWarning
from .kinds import RateKind
from .slices import EVERYBODY, Slice

Value = Any
"""A number, or an array of numbers: one per classifier when many are judged at once."""
Measure = Callable[["Rate | Loss"], Value]
Term = tuple["Expression", "Expression | None"]
"""A constant factor and what it multiplies: a rate, an atom, a ratio ...; None for a constant term."""

_ROUNDING = 1e-12
_MOST_PIECES = 16  # a sum of several abs, max or min falls apart into the product of their pieces
# How tightly a node binds when printed.
_SUM, _PRODUCT, _UNARY, _LEAF = range(4)


class Expression:
    """A function of classification rates. Build them with the functions of `equirate.rates`."""

    __array_ufunc__ = None  # numpy scalars on the left leave the operation to us
    binding = _LEAF

    # -- what it is ------------------------------------------------------------------------------

    @cached_property
    def curvature(self) -> Curvature:
        """One of ``constant affine convex concave ratio unknown``, as a function of the rates."""
        raise NotImplementedError

    @cached_property
    def interval(self) -> Interval:
        """Range of values over all data and all predictions, as far as can be told without data."""
        raise NotImplementedError

    @property
    def children(self) -> tuple[Expression, ...]:
        """The parts it is made of."""
        return ()

    @property
    def key(self) -> tuple[Any, ...]:
        """Structural identity: expressions with equal keys are the same function."""
        return (type(self).__name__, *(child.key for child in self.children))

    def terms(self) -> Iterator[Term]:
        """Write it as a sum of constant factors times rates, atoms, ratios and other parts."""
        yield (self, None) if self.curvature is Curvature.CONSTANT else (ONE, self)

    def rates(self) -> Iterator[Rate]:
        """Walk over the linear rates in it."""
        for child in self.children:
            yield from child.rates()

    def losses(self) -> Iterator[Loss]:
        """Walk over the ordinary losses in it."""
        for child in self.children:
            yield from child.losses()

    # -- what it is worth ------------------------------------------------------------------------

    def value(self, measure: Measure) -> Value:
        """Return the value, given a function that measures each linear rate (numbers or arrays of them)."""
        raise NotImplementedError

    def evaluate(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        attributes: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the exact value on any predictions.

        Parameters
        ----------
        y_true
            Labels: 0/1, False/True or -1/1.
        y_pred
            Predictions: 0/1, or each example's probability of being predicted 1 (a mixture's rates are the
            mixture of the rates).
        attributes
            Columns that slices and baselines refer to: data frame, dict of arrays, series or array.
        sample_weight
            Non-negative weights.

        Examples
        --------
        >>> import equirate as eq
        >>> eq.precision().evaluate([0, 1, 1, 0], [1, 1, 1, 0])
        0.6666666666666666
        >>> (eq.tpr() - eq.fpr()).evaluate([0, 1, 1, 0], [0.5, 1, 1, 0.5])
        0.5
        """
        examples = Examples.of(y_true, attributes, sample_weight)
        return float(self.value(measurer(examples, predictions_of(y_pred, len(examples)))))

    # -- arithmetic ------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Expression:
        return plus(self, expression(other))

    def __radd__(self, other: Any) -> Expression:
        if isinstance(other, (int, float)) and other == 0:  # so that the built-in sum() works
            return self
        return plus(expression(other), self)

    def __sub__(self, other: Any) -> Expression:
        return plus(self, expression(other), sign=-1)

    def __rsub__(self, other: Any) -> Expression:
        return plus(expression(other), self, sign=-1)

    def __mul__(self, other: Any) -> Expression:
        return _product(self, expression(other))

    def __rmul__(self, other: Any) -> Expression:
        return _product(expression(other), self)

    def __truediv__(self, other: Any) -> Expression:
        return _quotient(self, expression(other))

    def __rtruediv__(self, other: Any) -> Expression:
        return _quotient(expression(other), self)

    def __neg__(self) -> Expression:
        return Negative(self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return Call(ABS, (self,))

    def __pow__(self, other: Any) -> NoReturn:
        raise TypeError(
            "powers are written as atoms: "
            f"square({self!r}) for ** 2, sqrt({self!r}) for ** 0.5, inv({self!r}) for ** -1"
        )

    # -- comparison ------------------------------------------------------------------------------

    def __le__(self, other: Any) -> Constraint:
        return _compare(self, "<=", other)

    def __ge__(self, other: Any) -> Constraint:
        return _compare(self, ">=", other)

    def __lt__(self, other: Any) -> NoReturn:
        raise TypeError(f"strict inequalities have no meaning for rates: write {self!r} <= {other!r}")

    def __gt__(self, other: Any) -> NoReturn:
        raise TypeError(f"strict inequalities have no meaning for rates: write {self!r} >= {other!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Expression, int, float, np.number)):
            return NotImplemented
        raise TypeError(
            f"rates cannot be made equal: write abs({self - other!r}) <= tolerance. "
            "(To ask whether two expressions are the same, compare their .key.)"
        )

    def __hash__(self) -> int:
        return hash(self.key)

    def __getstate__(self) -> dict[str, Any]:
        return _fields(self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an expression never changes: cannot set {name!r} of {self!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an expression never changes: cannot delete {name!r} of {self!r}")

    def __bool__(self) -> NoReturn:
        raise TypeError(f"the expression {self!r} has no truth value: it is a function of rates, not a number")

    def wrapped(self, binding: int = _UNARY) -> str:
        """Return the text, in parentheses if it binds less tightly than its place asks for."""
        return f"({self!r})" if self.binding < binding else repr(self)


# -- leaves ---------------------------------------------------------------------------------------


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
    def binding(self) -> int:  # type: ignore[override]  # a negative number prints like a negation
        """Bind like a leaf, or like a negation if negative."""
        return _UNARY if self.number < 0 else _LEAF

    def __repr__(self) -> str:
        whole = float(self.number).is_integer() and abs(self.number) < 1e15
        return repr(int(self.number)) if whole else repr(float(self.number))


ONE = Constant(1)
_NOTHING = Interval(0, 0)


@dataclass(frozen=True, eq=False, repr=False)
class Rate(Expression):
    """A linear rate: a kind, on a slice, perhaps against a baseline model."""

    kind: RateKind
    slice: Slice = EVERYBODY
    baseline: str | None = None

    @cached_property
    def curvature(self) -> Curvature:
        """Affine; constant for a rate that no prediction changes."""
        moves = any(slope for row in self.kind.contributions for slope, _ in row)
        return Curvature.AFFINE if moves else Curvature.CONSTANT

    @cached_property
    def interval(self) -> Interval:
        """Every rate lies in [0, 1]."""
        return UNIT

    @property
    def key(self) -> tuple[Any, ...]:
        """Kind, slice and baseline."""
        return ("rate", self.kind.name, self.slice, self.baseline)

    def rates(self) -> Iterator[Rate]:
        """Itself."""
        yield self

    def value(self, measure: Measure) -> Value:
        """Measure it."""
        return measure(self)

    def __repr__(self) -> str:
        arguments = (self.slice,) if self.baseline is None else (self.baseline, self.slice)
        return call_text(self.kind.name, *arguments)


@dataclass(frozen=True, eq=False, repr=False)
class Loss(Expression):
    """An ordinary loss of the scores, averaged over a slice: a term of the objective."""

    name: str
    slice: Slice = EVERYBODY

    @cached_property
    def curvature(self) -> Curvature:
        """Convex in the scores."""
        return Curvature.CONVEX

    @cached_property
    def interval(self) -> Interval:
        """Losses are not negative."""
        return Interval(0.0, math.inf)

    @property
    def key(self) -> tuple[Any, ...]:
        """Name and slice."""
        return ("loss", self.name, self.slice)

    def losses(self) -> Iterator[Loss]:
        """Itself."""
        yield self

    def value(self, measure: Measure) -> Value:
        """Measure it: that takes scores."""
        return measure(self)

    def __repr__(self) -> str:
        return call_text(self.name, self.slice)


# -- arithmetic -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Sum(Expression):
    """A sum of signed parts, kept flat so that it may be long."""

    parts: tuple[tuple[int, Expression], ...]
    binding = _SUM

    @cached_property
    def curvature(self) -> Curvature:
        """Curvatures add."""
        total = Curvature.CONSTANT
        for sign, part in self.parts:
            total = total + (part.curvature if sign > 0 else -part.curvature)
        return total

    @cached_property
    def interval(self) -> Interval:
        """Range of the terms together."""
        return _interval_of_terms(self)

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

    def with_parts(self, parts: Iterable[Expression]) -> Expression:
        """Return the same signs with other parts."""
        return Sum(tuple((sign, part) for (sign, _), part in zip(self.parts, parts, strict=True)))

    def value(self, measure: Measure) -> Value:
        """Add; a difference of two infinities counts as 0 and warns."""
        values = [sign * np.asarray(part.value(measure)) for sign, part in self.parts]
        with np.errstate(invalid="ignore"):
            total = sum(values[1:], start=values[0])
        undefined = np.isnan(total) & ~np.logical_or.reduce(np.broadcast_arrays(*map(np.isnan, values)))
        _warn_undefined(undefined, f"{self!r} is the difference of two infinite numbers here")
        return np.where(undefined, 0.0, total)[()]

    def __repr__(self) -> str:
        (_, first), *rest = self.parts
        tail = (f" {'+' if sign > 0 else '-'} {part.wrapped(_PRODUCT)}" for sign, part in rest)
        return "".join([repr(first), *tail])


@dataclass(frozen=True, eq=False, repr=False)
class Negative(Expression):
    """The negative of an expression."""

    part: Expression
    binding = _UNARY

    @cached_property
    def curvature(self) -> Curvature:
        """Turned over."""
        return -self.part.curvature

    @cached_property
    def interval(self) -> Interval:
        """Turned over."""
        return -self.part.interval

    @property
    def children(self) -> tuple[Expression, ...]:
        """The one part."""
        return (self.part,)

    def terms(self) -> Iterator[Term]:
        """Turn every factor over."""
        for factor, part in self.part.terms():
            yield times(Constant(-1), factor), part

    def value(self, measure: Measure) -> Value:
        """Negate."""
        return -self.part.value(measure)

    def __repr__(self) -> str:
        return f"-{self.part.wrapped(_UNARY)}"


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

    binding = _PRODUCT

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

    def value(self, measure: Measure) -> Value:
        """Multiply, with 0 * inf = 0: a term that does not count cannot spoil the rest."""
        left, right = self.left.value(measure), self.right.value(measure)
        with np.errstate(invalid="ignore"):
            return np.where((left == 0) | (right == 0), 0.0, np.multiply(left, right))[()]

    def __repr__(self) -> str:
        return f"{self.left.wrapped(_PRODUCT)} * {self.right.wrapped(_UNARY)}"


@dataclass(frozen=True, eq=False, repr=False)
class Quotient(_Binary):
    """A quotient: a scaled expression, or a ratio of two affine expressions.

    ``floor`` is the user's promise that the denominator is at least that large.
    """

    floor: float | None = None
    binding = _PRODUCT

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
        """Range of a quotient; [0, 1] where 0 <= numerator <= denominator can be told."""
        if self.is_share:
            return UNIT
        return self.left.interval / self.right.interval

    @cached_property
    def is_share(self) -> bool:
        """Whether 0 <= numerator <= denominator whatever is predicted."""
        return self.left.interval.lo >= 0 and (self.right - self.left).interval.lo >= 0

    @property
    def key(self) -> tuple[Any, ...]:
        """Both sides and the promise."""
        return (*super().key, self.floor)

    def terms(self) -> Iterator[Term]:
        """Divide every factor, if the denominator is constant."""
        if self.right.curvature is not Curvature.CONSTANT or self.left.curvature is Curvature.CONSTANT:
            yield from super().terms()
            return
        for factor, part in self.left.terms():
            yield _quotient(factor, self.right), part

    def value(self, measure: Measure) -> Value:
        """Divide; 0/0 counts as 0 and warns, x/0 is infinite."""
        top, bottom = np.asarray(self.left.value(measure)), np.asarray(self.right.value(measure))
        undefined = (top == 0) & (bottom == 0)
        _warn_undefined(undefined, f"{self!r} is 0/0 here")
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(undefined, 0.0, np.divide(top, bottom))[()]

    def __repr__(self) -> str:
        if self.floor is not None:
            return f"ratio({self.left!r}, {self.right!r}, floor={self.floor!r})"
        return f"{self.left.wrapped(_PRODUCT)} / {self.right.wrapped(_UNARY)}"


# -- atoms, black boxes, names --------------------------------------------------------------------


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

    def value(self, measure: Measure) -> Value:
        """Apply the atom; NaN outside its domain."""
        x = np.array(np.broadcast_arrays(*(argument.value(measure) for argument in self.arguments)), dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            nearest = np.clip(x, self.atom.domain.lo, self.atom.domain.hi) + 0.0  # -0.0 would turn inv over
            # 1e-17 below 0 is 0 by rounding; what lies further outside has no value.
            x = np.where((x == nearest) | (np.abs(x - nearest) < _ROUNDING), nearest, np.nan)
            return self.atom.value(x)

    def __repr__(self) -> str:
        return f"{self.atom.name}({', '.join(map(repr, self.arguments))})"


@dataclass(frozen=True, eq=False, repr=False)
class BlackBox(Expression):
    """Any monotone function of a few rates, known only through its values."""

    function: Callable[..., Any]
    arguments: tuple[Expression, ...]
    increasing: tuple[bool, ...]

    @cached_property
    def curvature(self) -> Curvature:
        """Nothing is known."""
        return Curvature.UNKNOWN

    @cached_property
    def interval(self) -> Interval:
        """Nothing is known."""
        return REALS

    @property
    def children(self) -> tuple[Expression, ...]:
        """The arguments."""
        return self.arguments

    @property
    def key(self) -> tuple[Any, ...]:
        """The function object itself, and the arguments."""
        function = self.function if isinstance(self.function, Hashable) else id(self.function)
        return ("black_box", function, self.increasing, *(argument.key for argument in self.arguments))

    def value(self, measure: Measure) -> Value:
        """Call the function."""
        return np.asarray(self.function(*(argument.value(measure) for argument in self.arguments)), dtype=float)[()]

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return f"black_box({name}, {', '.join(map(repr, self.arguments))}, increasing={list(self.increasing)})"


@dataclass(frozen=True, eq=False, repr=False)
class Named(Expression):
    """A metric with a name of its own, defined by another expression.

    ``within`` is what is known of its range beyond what the definition tells.
    """

    name: str
    definition: Expression
    within: Interval = REALS

    @cached_property
    def curvature(self) -> Curvature:
        """As defined."""
        return self.definition.curvature

    @cached_property
    def interval(self) -> Interval:
        """As defined, and as known."""
        return self.definition.interval & self.within

    @property
    def children(self) -> tuple[Expression, ...]:
        """The definition."""
        return (self.definition,)

    @property
    def key(self) -> tuple[Any, ...]:
        """The definition's."""
        return self.definition.key

    def terms(self) -> Iterator[Term]:
        """Terms of the definition."""
        return self.definition.terms()

    def value(self, measure: Measure) -> Value:
        """Evaluate the definition."""
        return self.definition.value(measure)

    def __repr__(self) -> str:
        return self.name


# -- constraints ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Constraint:
    """A promise: one expression is at most, or at least, another. Made by ``<=`` and ``>=``."""

    left: Expression
    symbol: str
    right: Expression

    @cached_property
    def residual(self) -> Expression:
        """The expression that the constraint keeps at or below zero; its value is the signed violation."""
        small, large = (self.left, self.right) if self.symbol == "<=" else (self.right, self.left)
        return small - large

    @property
    def key(self) -> tuple[Any, ...]:
        """Structural identity."""
        return (self.symbol, self.left.key, self.right.key)

    def rates(self) -> Iterator[Rate]:
        """Walk over the linear rates in it."""
        yield from self.left.rates()
        yield from self.right.rates()

    def evaluate(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        attributes: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the signed violation on any predictions: positive where the constraint is broken.

        Examples
        --------
        >>> import equirate as eq
        >>> (eq.positive_rate() <= 0.5).evaluate([0, 1, 1, 0], [1, 1, 1, 0])
        0.25
        """
        return self.residual.evaluate(y_true, y_pred, attributes, sample_weight)

    def split(self) -> tuple[Constraint, ...]:
        """Take ``abs``, ``max`` and ``min`` apart where that keeps the meaning: one constraint per part.

        Examples
        --------
        >>> import equirate as eq
        >>> for part in (abs(eq.tpr() - eq.tnr()) <= 0.1).split():
        ...     print(part)
        tpr() - tnr() <= 0.1
        -(tpr() - tnr()) <= 0.1
        """
        lefts, rights = _pieces(self.left, self.symbol == "<="), _pieces(self.right, self.symbol == ">=")
        if len(lefts) == len(rights) == 1:
            return (self,)
        return tuple(Constraint(left, self.symbol, right) for left in lefts for right in rights)

    def __getstate__(self) -> dict[str, Any]:
        return _fields(self)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Constraint) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"the constraint {self!r} has no truth value: give chained comparisons as two constraints, "
            "and pass constraints in a list"
        )

    def __repr__(self) -> str:
        return f"{self.left!r} {self.symbol} {self.right!r}"


def _pieces(side: Expression, upper: bool) -> tuple[Expression, ...]:
    """Return what must all stay below (``upper``) or above a bound for ``side`` to do so."""
    whole = side.definition if isinstance(side, Named) else side
    if isinstance(whole, Call):
        if upper and whole.atom is ABS:
            argument = whole.arguments[0]
            return _pieces(argument, upper) + _pieces(-argument, upper)
        if whole.atom is (MAX if upper else MIN):
            return tuple(piece for argument in whole.arguments for piece in _pieces(argument, upper))
    if isinstance(whole, Negative):
        pieces = tuple(-piece for piece in _pieces(whole.part, not upper))
    elif isinstance(whole, Product) and whole.scaling is not None:
        pieces = _scaled_pieces(*whole.scaling, upper, lambda constant, piece: constant * piece)
    elif isinstance(whole, Quotient) and whole.right.curvature is Curvature.CONSTANT:
        pieces = _scaled_pieces(whole.right, whole.left, upper, lambda constant, piece: piece / constant)
    elif isinstance(whole, Sum):
        split = [_pieces(part, upper is (sign > 0)) for sign, part in whole.parts]
        many = math.prod(map(len, split)) > _MOST_PIECES
        pieces = () if many else tuple(map(whole.with_parts, itertools.product(*split)))
    else:
        pieces = ()
    return pieces if len(pieces) > 1 else (side,)


def _scaled_pieces(
    constant: Expression, part: Expression, upper: bool, scale: Callable[[Expression, Expression], Expression]
) -> tuple[Expression, ...]:
    known = constant.interval
    if known == _NOTHING or known.lo < 0 < known.hi:
        return ()
    return tuple(scale(constant, piece) for piece in _pieces(part, upper is (known.lo >= 0)))


# -- making and measuring -------------------------------------------------------------------------


def expression(value: Any) -> Expression:
    """Turn a number into an expression; leave expressions alone; refuse anything else."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, Constraint):
        raise TypeError(f"{value!r} is a constraint and cannot be part of an expression")
    return Constant(number(value, "a rate expression or a number"))


def number(value: Any, wanted: str) -> float:
    """Return a finite Python number, or refuse with what was ``wanted``."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        hint = "; call it, as in tpr()" if callable(value) else ""
        hint = "; unpack it, as in max(*rates)" if isinstance(value, (list, tuple)) else hint
        raise TypeError(f"expected {wanted}, not {type(value).__name__} {value!r}{hint}")
    if not math.isfinite(value):
        raise TypeError(f"expected {wanted}, not {value!r}")
    return value


def plus(left: Expression, right: Expression, sign: int = 1) -> Expression:
    """Add or subtract, folding numbers; sums stay flat."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.number + sign * right.number)
    first = left.parts if isinstance(left, Sum) else ((1, left),)
    return Sum(first + (right.parts if isinstance(right, Sum) and sign > 0 else ((sign, right),)))


def times(left: Expression, right: Expression) -> Expression:
    """Multiply two constant expressions, folding numbers."""
    if isinstance(right, Product) and isinstance(left, Constant) and isinstance(right.left, Constant):
        return times(Constant(left.number * right.left.number), right.right)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Constant) and one.number == 1:
            return other
    return _product(left, right)


def _product(left: Expression, right: Expression) -> Expression:
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.number * right.number)
    return Product(left, right)


def _quotient(left: Expression, right: Expression) -> Expression:
    if isinstance(right, Constant):
        if right.number == 0:
            raise ZeroDivisionError(f"{left!r} / 0")
        if isinstance(left, Constant):
            return Constant(left.number / right.number)
    return Quotient(left, right)


def measurer(examples: Examples, predictions: Any, losses: Mapping[tuple[Any, ...], Value] | None = None) -> Measure:
    """Return a function that measures linear rates on predictions, each once; ``losses`` gives losses by key."""
    known: dict[tuple[Any, ...], Value] = dict(losses or {})

    def measure(part: Rate | Loss) -> Value:
        if part.key not in known:
            if isinstance(part, Loss):
                raise TypeError(
                    f"{part!r} is a function of scores, not of predictions, so it cannot be evaluated on y_pred: "
                    f"use sklearn.metrics.{part.name} on scores"
                )
            known[part.key] = examples.measure(part.kind, part.slice, part.baseline, predictions)
        return known[part.key]

    return measure


def _fields(node: Any) -> dict[str, Any]:
    """Return what makes a node, without what it has worked out: a copy is the same before and after use."""
    return {part.name: getattr(node, part.name) for part in fields(node)}


def call_text(name: str, *arguments: Any) -> str:
    """Write a call as users do: everybody is no argument."""
    return f"{name}({', '.join(repr(argument) for argument in arguments if argument != EVERYBODY)})"


def _warn_undefined(undefined: Any, what: str) -> None:
    """Warn of a value that is counted as 0; not while many classifiers are judged at once."""
    if np.ndim(undefined) == 0 and undefined:
        warnings.warn(f"{what} and counts as 0", UndefinedRateWarning, stacklevel=3)


def _compare(left: Expression, symbol: str, right: Any) -> Constraint:
    constraint = Constraint(left, symbol, expression(right))
    if left.curvature is constraint.right.curvature is Curvature.CONSTANT:
        raise TypeError(f"{constraint!r} does not depend on any prediction: there is nothing to constrain")
    return constraint


def _interval_of_terms(whole: Expression) -> Interval:
    """Range of a sum: rates on the same examples are bounded together, other terms are added as intervals.

    Bounding label by label tells, for instance, that ``positive_rate(s) - tp(s)`` is at least 0.
    """
    total = Interval(0.0, 0.0)
    together: dict[tuple[Slice, tuple[int, ...], str | None], list[tuple[float, RateKind]]] = {}
    for factor, part in whole.terms():
        known = _multiple_of_rate(factor, part)
        if known is not None:
            factor_number, rate = known
            together.setdefault((rate.slice, rate.kind.labels, rate.baseline), []).append((factor_number, rate.kind))
        else:
            total = total + (factor.interval if part is None else factor.interval * part.interval)
    for (_, labels, _), rates in together.items():
        total = total + _joint_range(labels, rates)
    return total


def _multiple_of_rate(factor: Expression, part: Expression | None) -> tuple[float, Rate] | None:
    """Return a term as a number times a rate (constant rates, such as base_rate, are factors), or None."""
    if part is None:
        factor, part = (factor.left, factor.right) if isinstance(factor, Product) else (ONE, factor)
    return (factor.number, part) if isinstance(factor, Constant) and isinstance(part, Rate) else None


def _joint_range(labels: tuple[int, ...], rates: list[tuple[float, RateKind]]) -> Interval:
    """Range of a weighted sum of rates over the same examples: the extremes over label, baseline, prediction."""
    values = [
        sum(number * (kind.contributions[y][b][0] * prediction + kind.contributions[y][b][1]) for number, kind in rates)
        for y in labels
        for b in (0, 1)
        for prediction in (0, 1)
    ]
    return Interval(min(values), max(values))
