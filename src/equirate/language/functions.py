"""Functions of rates: one for each atom of `atoms.ATOMS`, and those that are more than an atom.

In: expressions and numbers. Out: expressions. `ATOMIC` holds the functions of the atoms by name, `FUNCTIONS` all that
this module gives to users; ``from .functions import sqrt`` finds them too.

Examples
--------
>>> import equirate as eq
>>> ATOMIC["sqrt"](eq.tpr())
sqrt(tpr())
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .._core.cached import cached_property
from .._core.errors import DisciplineError
from .atoms import ATOMS, NONNEGATIVE, Atom
from .curvature import UNIT, Curvature, Interval
from .expressions import Call, Expression, Quotient, expression, number
from .measuring import Measure, Value
from .nodes import BlackBox, Named, call_text


class AtomFunction(Protocol):
    """A function of expressions and numbers that makes an expression."""

    def __call__(self, *arguments: Any) -> Expression:
        """Make the expression."""
        ...


def _function(atom: Atom) -> Callable[..., Expression]:
    """The public function of an atom, with its documentation."""

    def call(*arguments: Any) -> Expression:
        return Call(atom, tuple(map(expression, arguments)))

    call.__name__ = call.__qualname__ = atom.name
    example = ", ".join(["eq.tpr()", "eq.tnr()"][: atom.arity])
    call.__doc__ = f"""{atom.summary} {atom.shape.value.value.capitalize()}.

    Parameters
    ----------
    *arguments
        {"One expression or number" if atom.arity == 1 else "Expressions and numbers"}.

    Returns
    -------
    Expression
        Combine it with others, or compare it.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.{atom.name}({example})
    {atom.name}({example.replace("eq.", "")})
    """
    return call


ATOMIC: dict[str, Callable[..., Expression]] = {name: _function(atom) for name, atom in ATOMS.items()}
"""The function of every atom by its public name."""
__test__: dict[str, Any] = ATOMIC  # their examples are part of the tests


if TYPE_CHECKING:  # what type checkers see; when the module runs, `__getattr__` finds them
    log: AtomFunction
    sqrt: AtomFunction
    square: AtomFunction
    inv: AtomFunction
    abs: AtomFunction
    max: AtomFunction
    min: AtomFunction
    norm: AtomFunction
    geo_mean: AtomFunction
    harmonic_mean: AtomFunction
else:

    def __getattr__(name: str) -> Callable[..., Expression]:
        """Find the function of an atom by its name, as if it were written out here."""
        if name in ATOMIC:
            return ATOMIC[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def ratio(numerator: Any, denominator: Any, *, floor: float | None = None) -> Expression:
    """Numerator over denominator, both affine; the denominator must never be below ``floor``.

    ``a / b`` is the same without a floor. A ratio that is not bounded (its denominator can reach 0 while its
    numerator does not) needs a floor before it can be trained for.

    Parameters
    ----------
    numerator, denominator
        Affine expressions, or numbers.
    floor
        The smallest value of the denominator; None if there is no known one.

    Returns
    -------
    Expression
        Combine it with others, or compare it.

    Examples
    --------
    >>> from equirate import fpr, tpr
    >>> ratio(tpr(), fpr(), floor=0.01)
    ratio(tpr(), fpr(), floor=0.01)
    """
    top, bottom = expression(numerator), expression(denominator)
    return top / bottom if floor is None else Quotient(top, bottom, positive(floor, "the floor of a ratio"))


def positive(value: float, what: str) -> float:
    """Return a positive finite number; the error says what it is for."""
    checked = number(value, f"a number for {what}")
    if checked <= 0:
        raise TypeError(f"{what} must be positive; got {value!r}")
    return checked


def kl(p: Any, expr: Any) -> Expression:
    """Kullback-Leibler divergence of the coin with probability ``expr`` from the coin with probability ``p``.

    ``p log(p / expr) + (1 - p) log((1 - p) / (1 - expr))``, convex in ``expr``; ``p`` is a number or a constant
    such as ``base_rate()``. (Table 1 of the paper prints p for the second factor; it is 1 - p.)

    Parameters
    ----------
    p
        A number, or a constant expression, in [0, 1].
    expr
        An expression in [0, 1].

    Returns
    -------
    Expression
        Combine it with others, or compare it.

    Examples
    --------
    >>> from equirate import positive_rate
    >>> kl(0.3, positive_rate())
    kl(0.3, positive_rate())
    >>> round(kl(0.5, positive_rate()).evaluate([0, 1], [0.5, 0.5]), 12)
    0.0
    """
    p, expr = expression(p), expression(expr)
    if p.curvature is not Curvature.CONSTANT:
        raise DisciplineError(
            f"kl(p, expr) needs a constant first argument, not {p!r}: give a number or base_rate(slice)"
        )
    for what, part in (("first", p), ("second", expr)):
        if part.interval not in UNIT:
            raise DisciplineError(
                f"the {what} argument of kl must lie in [0, 1]; {part!r} has the range {part.interval}: use a rate"
            )
    terms = [
        -(weight * ATOMIC["log"](side)) + XLogX(weight)
        for weight, side in ((p, expr), (1 - p, 1 - expr))
        if not (weight.interval.lo == weight.interval.hi == 0)
    ]
    return Named(call_text("kl", p, expr), sum(terms[1:], start=terms[0]), within=NONNEGATIVE)


@dataclass(frozen=True, eq=False, repr=False)
class XLogX(Expression):
    """x log x of a constant, with its limit 0 at x = 0."""

    part: Expression

    @cached_property
    def curvature(self) -> Curvature:
        """Constant, like its part."""
        return Curvature.CONSTANT

    @cached_property
    def interval(self) -> Interval:
        """Range over [0, 1]."""
        return Interval(-1 / math.e, 0.0)

    @property
    def children(self) -> tuple[Expression, ...]:
        """The one part."""
        return (self.part,)

    def value(self, measure: Measure) -> Value:
        """Return x log x."""
        x = self.part.value(measure)
        return np.where(np.asarray(x) > 0, x * np.log(np.maximum(x, 1e-300)), 0.0)[()]

    def __repr__(self) -> str:
        return f"xlogx({self.part!r})"


def black_box(function: Callable[..., Any], *rates: Any, increasing: bool | Sequence[bool]) -> Expression:
    """Any function of one to three rates, known only through its values and its direction in each.

    Parameters
    ----------
    function
        Called with numpy arrays, one per rate; returns an array. With a plus sign, it is to be minimised or bounded
        above.
    *rates
        Affine expressions, and constants that depend on the data, such as ``base_rate()``.
    increasing
        Whether the function increases with each rate; one value, or one per rate (for a constant, either).

    Returns
    -------
    Expression
        Combine it with others, or compare it.

    Examples
    --------
    >>> from equirate import fnr, fpr
    >>> black_box(lambda fpr, fnr: fpr**2 + 3 * fnr, fpr(), fnr(), increasing=True).curvature.value
    'unknown'
    """
    arguments = tuple(map(expression, rates))
    if not callable(function):
        raise TypeError(f"black_box takes a function first; got {function!r}")
    for argument in arguments:
        if argument.curvature not in (Curvature.AFFINE, Curvature.CONSTANT):
            raise DisciplineError(f"black_box takes affine expressions; {argument!r} is {argument.curvature.value}")
    moving = sum(argument.curvature is Curvature.AFFINE for argument in arguments)
    if not 1 <= moving <= 3:
        raise TypeError(f"black_box takes one to three rates, because the slack player searches a grid; got {moving}")
    directions = (increasing,) * len(arguments) if isinstance(increasing, bool) else tuple(map(bool, increasing))
    if len(directions) != len(arguments):
        raise TypeError(f"increasing has {len(directions)} entries for {len(arguments)} rates")
    return BlackBox(function, arguments, directions)


FUNCTIONS: dict[str, Callable[..., Expression]] = {"ratio": ratio, **ATOMIC, "kl": kl, "black_box": black_box}
"""Every function of this module that users call, by its name."""
