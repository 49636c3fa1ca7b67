"""Expressions and constraints: what users hold and combine, before any data is seen.

In: operators between expressions and numbers. Out: frozen trees that know their curvature and range, print as they
were written, evaluate exactly on any predictions, and fall apart into the sum of terms that `canonical` works with;
comparisons of them are constraints. Neither holds data, and neither ever changes.

`Expression` says what every node answers and which operators there are. The nodes that operators make are in
`arithmetic`, those that are written by name in `nodes`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ..data.examples import Examples, predictions_of
from .curvature import Curvature, Interval
from .measuring import Measure, Value, measurer

if TYPE_CHECKING:
    from .nodes import Loss, Rate

Term = tuple["Expression", "Expression | None"]
"""A constant factor and what it multiplies: a rate, an atom, a ratio ...; None for a constant term."""


class Binding(IntEnum):
    """How tightly a node binds when printed."""

    SUM = 0
    PRODUCT = 1
    UNARY = 2
    LEAF = 3


class Expression:
    """A function of classification rates. Build them with the functions of `equirate.rates`."""

    __array_ufunc__ = None  # numpy scalars on the left leave the operation to us
    binding = Binding.LEAF

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
        raise NotImplementedError

    def pieces(self, upper: bool) -> tuple[Expression, ...]:
        """What must all stay below (``upper``) or above a bound for the whole to do so: itself, unless it splits."""
        return (self,)

    @property
    def outcomes(self) -> tuple[Hashable, tuple[float, ...]] | None:
        """Of a mean over examples: which examples, and what one of each sort contributes. None for anything else."""
        return None

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

    # -- arithmetic: `arithmetic.Operand` says what is made ---------------------------------------

    def _lifted(self, value: Any) -> Expression:
        """The other side of an operator, as an expression."""
        raise NotImplementedError

    def _plus(self, other: Expression, sign: int = 1) -> Expression:
        raise NotImplementedError

    def _times(self, other: Expression) -> Expression:
        raise NotImplementedError

    def _over(self, other: Expression) -> Expression:
        raise NotImplementedError

    def __neg__(self) -> Expression:
        raise NotImplementedError

    def __abs__(self) -> Expression:
        raise NotImplementedError

    def __pos__(self) -> Expression:
        return self

    def __add__(self, other: Any) -> Expression:
        return self._plus(self._lifted(other))

    def __radd__(self, other: Any) -> Expression:
        if isinstance(other, (int, float)) and other == 0:  # so that the built-in sum() works
            return self
        return self._lifted(other)._plus(self)

    def __sub__(self, other: Any) -> Expression:
        return self._plus(self._lifted(other), sign=-1)

    def __rsub__(self, other: Any) -> Expression:
        return self._lifted(other)._plus(self, sign=-1)

    def __mul__(self, other: Any) -> Expression:
        return self._times(self._lifted(other))

    def __rmul__(self, other: Any) -> Expression:
        return self._lifted(other)._times(self)

    def __truediv__(self, other: Any) -> Expression:
        return self._over(self._lifted(other))

    def __rtruediv__(self, other: Any) -> Expression:
        return self._lifted(other)._over(self)

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
        return self._compared("<=", self._lifted(other))

    def __ge__(self, other: Any) -> Constraint:
        return self._compared(">=", self._lifted(other))

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

    def wrapped(self, binding: Binding = Binding.UNARY) -> str:
        """Return the text, in parentheses if it binds less tightly than its place asks for."""
        return f"({self!r})" if self.binding < binding else repr(self)


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
        lefts, rights = self.left.pieces(self.symbol == "<="), self.right.pieces(self.symbol == ">=")
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


def _fields(node: Any) -> dict[str, Any]:
    """Return what makes a node, without what it has worked out: a copy is the same before and after use."""
    return {part.name: getattr(node, part.name) for part in fields(node)}
