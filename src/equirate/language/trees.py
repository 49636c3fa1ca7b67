"""The interface of every node of an expression: what kind of function it is, its parts, its value, its text.

In: nothing but the parts themselves. Out: `Tree`, the base of `Expression`, which adds the operators. A tree holds no
data and never changes; it knows its curvature and range, prints as it was written, evaluates exactly on any
predictions, and gives the sum of terms that `canonical` works with.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import fields, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from .._core.cached import cached_property
from .._core.errors import DisciplineError
from ..data.examples import Examples
from ..data.labels import Classes
from ..data.predictions import examples_and_predictions
from .curvature import Curvature, Interval
from .measuring import Measure, Value, measurer

if TYPE_CHECKING:
    from .expressions import Expression
    from .nodes import Loss, Rate

Term = tuple["Expression", "Expression | None"]
"""A constant factor and what it multiplies: a rate, an atom, a ratio ...; None for a constant term."""


DEEPEST = 100
"""Nodes from top to bottom of an expression at most: a walk takes up to five of Python's 1,000 calls for each."""


class Binding(IntEnum):
    """How tightly a node binds when printed."""

    SUM = 0
    PRODUCT = 1
    UNARY = 2
    LEAF = 3


class Tree:
    """A frozen tree of parts: a function of classification rates, before it has operators."""

    binding = Binding.LEAF
    depth = 1

    def __post_init__(self) -> None:
        """Refuse what is nested too deeply for Python to walk through."""
        depth = 1 + max((child.depth for child in self.children), default=0)
        if depth > DEEPEST:
            raise DisciplineError(
                f"this expression is nested {depth} deep, and at most {DEEPEST} can be solved: give a function all its "
                "arguments at once, as in max(*rates), instead of one function inside the other"
            )
        object.__setattr__(self, "depth", depth)

    # -- what it is ------------------------------------------------------------------------------

    @cached_property
    def curvature(self) -> Curvature:
        """One of ``constant affine convex concave ratio unknown``, as a function of the rates."""
        raise NotImplementedError

    @cached_property
    def interval(self) -> Interval:
        """Range of values over all data and all predictions, as far as it is known without data."""
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
        """For a mean over examples: which examples, and the contribution of each sort. None for anything else."""
        return None

    def rates(self) -> Iterator[Rate]:
        """Iterate over the linear rates in it.

        Yields
        ------
        Rate
            Each of them, as often as it is written.
        """
        for child in self.children:
            yield from child.rates()

    def losses(self) -> Iterator[Loss]:
        """Iterate over the ordinary losses in it.

        Yields
        ------
        Loss
            Each of them, as often as it is written.
        """
        for child in self.children:
            yield from child.losses()

    def for_classes(self, classes: Classes) -> Expression:
        """The same with classes by value looked up, and written out where it is about all classes.

        Parameters
        ----------
        classes
            All classes by value, in their order.

        Returns
        -------
        Expression
            The expression itself where nothing depends on the classes.
        """
        changed = {}
        for part in fields(self):  # type: ignore[arg-type]  # every node is a dataclass
            value = getattr(self, part.name)
            written_out = _for_classes(value, classes)
            if written_out is not value:
                changed[part.name] = written_out
        return replace(self, **changed) if changed else self  # type: ignore[type-var, return-value]

    def labels(self) -> list[Any]:
        """The classes that it names.

        Returns
        -------
        list
            Classes by value, as often as they are written.
        """
        return [each for rate in self.rates() if rate.label is not None for each in (rate.label, rate.predicted)]

    # -- its value --------------------------------------------------------------------------------

    def value(self, measure: Measure) -> Value:
        """Return the value, given a function that measures each linear rate (numbers or arrays of them).

        Parameters
        ----------
        measure
            Function from a rate to its value.

        Returns
        -------
        float or numpy.ndarray
            The value, or one for each classifier.
        """
        raise NotImplementedError

    def evaluate(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        attributes: Any = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        classes: ArrayLike | None = None,
    ) -> float:
        """Return the exact value on any predictions.

        Parameters
        ----------
        y_true
            Labels: 0/1, False/True or -1/1; or labels of any classes.
        y_pred
            Predictions: 0/1, or each example's probability of being predicted 1 (a mixture's rates are the
            mixture of the rates). Of any classes: labels, or probabilities (examples, classes).
        attributes
            Columns that slices and baselines refer to: data frame, dict of arrays, series or array.
        sample_weight
            Non-negative weights.
        pos_label
            For labels of any two values: the one that counts as 1. Predictions may then be labels too.
        classes
            All classes, in the order of the columns of ``y_pred``, where some do not occur in the labels: by default
            the sorted labels.

        Returns
        -------
        float
            The value.

        Examples
        --------
        >>> import equirate as eq
        >>> eq.precision().evaluate([0, 1, 1, 0], [1, 1, 1, 0])
        0.6666666666666666
        >>> (eq.tpr() - eq.fpr()).evaluate([0, 1, 1, 0], [0.5, 1, 1, 0.5])
        0.5
        >>> eq.recall().evaluate(["no", "yes", "yes"], ["no", "no", "yes"], pos_label="yes")
        0.5
        >>> eq.recall(label="cat").evaluate(["cat", "cat", "dog", "owl"], ["cat", "dog", "dog", "dog"])
        0.5
        """
        examples, predictions = examples_and_predictions(
            y_true,
            y_pred,
            attributes,
            sample_weight,
            pos_label=pos_label,
            classes=None if classes is None else np.asarray(classes).tolist(),
            mentioned=self.labels(),
        )
        return float(self.on(examples).value(measurer(examples, predictions)))

    def on(self, examples: Examples) -> Expression:
        """The same for the classes of some examples.

        Parameters
        ----------
        examples
            Labels and attributes of some data.

        Returns
        -------
        Expression
            The expression itself where nothing depends on the classes.
        """
        return self.in_classes(examples.classes)

    def in_classes(self, classes: Classes) -> Expression:
        """The same for some classes; as it is where there are two and it names none.

        Parameters
        ----------
        classes
            All classes by value, in their order.

        Returns
        -------
        Expression
            The expression itself where nothing depends on the classes.
        """
        expr: Expression = self  # type: ignore[assignment]  # every tree is an expression
        named = (rate.label is not None or rate.text is not None for rate in self.rates())
        return expr if len(classes) == 2 and not any(named) else self.for_classes(classes)

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
        """Return the text, in parentheses if it binds less tightly than its context.

        Parameters
        ----------
        binding
            How tightly the context binds.

        Returns
        -------
        str
            The text.
        """
        return f"({self!r})" if self.binding < binding else repr(self)


def _for_classes(value: Any, classes: Classes) -> Any:
    """A part of a node for some classes; the same object where nothing changes."""
    if isinstance(value, Tree):
        return value.for_classes(classes)
    if isinstance(value, tuple):
        parts = tuple(_for_classes(part, classes) for part in value)
        return parts if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    return value


def fields_of(node: Any) -> dict[str, Any]:
    """Return the fields of a node, without cached properties: a copy is the same before and after use."""
    return {part.name: getattr(node, part.name) for part in fields(node)}
