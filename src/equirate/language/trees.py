"""What every node of an expression answers: what kind of function it is, its parts, its value, its text.

In: nothing but the parts themselves. Out: `Tree`, the base of `Expression`, which adds the operators. A tree holds no
data and never changes; it knows its curvature and range, prints as it was written, evaluates exactly on any
predictions, and falls apart into the sum of terms that `canonical` works with.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import fields
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from numpy.typing import ArrayLike

from ..data.examples import Examples, by_label, predictions_of
from .curvature import Curvature, Interval
from .measuring import Measure, Value, measurer

if TYPE_CHECKING:
    from .expressions import Expression
    from .nodes import Loss, Rate

Term = tuple["Expression", "Expression | None"]
"""A constant factor and what it multiplies: a rate, an atom, a ratio ...; None for a constant term."""


class Binding(IntEnum):
    """How tightly a node binds when printed."""

    SUM = 0
    PRODUCT = 1
    UNARY = 2
    LEAF = 3


class Tree:
    """A frozen tree of parts: a function of classification rates, before it has operators."""

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
        *,
        attributes: Any = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
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
        pos_label
            For labels of any two values: the one that counts as 1. Predictions may then be labels too.

        Examples
        --------
        >>> import equirate as eq
        >>> eq.precision().evaluate([0, 1, 1, 0], [1, 1, 1, 0])
        0.6666666666666666
        >>> (eq.tpr() - eq.fpr()).evaluate([0, 1, 1, 0], [0.5, 1, 1, 0.5])
        0.5
        >>> eq.recall().evaluate(["no", "yes", "yes"], ["no", "no", "yes"], pos_label="yes")
        0.5
        """
        if pos_label is not None:
            y_true, y_pred = by_label(y_true, y_pred, pos_label)
        examples = Examples.of(y_true, attributes, sample_weight)
        return float(self.value(measurer(examples, predictions_of(y_pred, len(examples)))))

    # -- how it behaves ---------------------------------------------------------------------------

    def __hash__(self) -> int:
        return hash(self.key)

    def __getstate__(self) -> dict[str, Any]:
        return fields_of(self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an expression never changes: cannot set {name!r} of {self!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an expression never changes: cannot delete {name!r} of {self!r}")

    def wrapped(self, binding: Binding = Binding.UNARY) -> str:
        """Return the text, in parentheses if it binds less tightly than its place asks for."""
        return f"({self!r})" if self.binding < binding else repr(self)


def fields_of(node: Any) -> dict[str, Any]:
    """Return what makes a node, without what it has worked out: a copy is the same before and after use."""
    return {part.name: getattr(node, part.name) for part in fields(node)}
