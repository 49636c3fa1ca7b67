"""Nodes that are written by name: linear rates, losses, black boxes, and metrics with a definition.

In: a kind and a slice, a function, or a definition, from the catalogue in `rates`. Out: expressions. Rates and losses
are the leaves, whose values depend on data; a new kind of node that no operator makes goes here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from .._core.cached import cached_property
from ..data.examples import Examples
from ..data.kinds import ClassCodes, RateKind, among
from ..data.labels import Classes, code_of
from ..data.slices import EVERYBODY, Slice
from . import measuring
from .class_refusals import needs_label, refuse_unlabelled
from .curvature import REALS, UNIT, Curvature, Interval
from .expressions import Expression, Quotient, or_whole
from .measuring import Measure, Value
from .trees import Term


@dataclass(frozen=True, eq=False, repr=False)
class Rate(Expression):
    """A linear rate: a kind, on a slice, perhaps against a baseline model, perhaps of one class.

    ``label`` is the class that labels are compared with, ``predicted`` the one that predictions are. `for_classes`
    turns them into ``codes`` of more than two classes; of two, into a kind of rate about the positive one, and ``text``
    keeps what was written.
    """

    kind: RateKind
    slice: Slice = EVERYBODY
    baseline: str | None = None
    label: Any = None
    predicted: Any = None
    codes: ClassCodes | None = None
    text: str | None = None

    @cached_property
    def curvature(self) -> Curvature:
        """Affine; constant for a rate that no prediction changes."""
        moves = any(slope for row in self.kind.contributions for slope, _ in row)
        return Curvature.AFFINE if moves else Curvature.CONSTANT

    @cached_property
    def interval(self) -> Interval:
        """Every rate lies in [0, 1]."""
        return UNIT

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """What is counted, on which slice, against which baseline; the name of the rate does not matter."""
        key = ("rate", self.kind.labels, self.kind.contributions, self.slice, self.baseline)
        return key if self.label is None else (*key, *self._classes)

    @property
    def _classes(self) -> tuple[Any, ...]:
        """Identity of its classes: the number 1 is another class than the text '1'."""
        return (type(self.label).__name__, self.label, type(self.predicted).__name__, self.predicted)

    @property
    def population(self) -> tuple[Any, ...]:
        """Which examples it is measured among: rates with equal populations have the same denominator."""
        population = (self.slice, self.kind.labels)
        return population if self.codes is None or self.kind.labels == (0, 1) else (*population, self.codes.label)

    def among(self, labels: Any) -> Any:
        """Which labels, as codes, it is measured among."""
        return among(self.kind, self.codes, labels)

    def for_classes(self, classes: Classes) -> Expression:
        """The same rate with its class looked up by value."""
        if self.label is None:
            if len(classes) > 2 and self.kind.of_class:
                raise needs_label(self.kind.name, classes)
            return self
        codes = ClassCodes(*(code_of(each, classes, repr(self)) for each in (self.label, self.predicted)))
        if len(classes) > 2:
            return replace(self, codes=codes)
        return Rate(self.kind.for_codes(codes), self.slice, self.baseline, text=repr(self))

    @cached_property
    def outcomes(self) -> tuple[Hashable, tuple[float, ...]]:
        """The slice's examples with the kind's labels; a contribution for each label, baseline and prediction.

        For a rate of one class against the rest, the first entry names that class.
        """
        contributions = (pair for label in self.kind.labels for pair in self.kind.contributions[label])
        values = tuple(slope * prediction + offset for slope, offset in contributions for prediction in (1, 0))
        return (self.slice, self.kind.labels, self.baseline if self.label is None else self._classes), values

    def rates(self) -> Iterator[Rate]:
        """Itself."""
        yield self

    def value(self, measure: Measure) -> Value:
        """Measure it."""
        return measure(self)

    def measured(self, examples: Examples, predictions: Any) -> Value:
        """Return the exact value on predictions."""
        return examples.measure(self, predictions)

    def __repr__(self) -> str:
        if self.text is not None:
            return self.text
        if self.kind.name == "confusion":
            given = () if self.kind.labels == (0, 1) else (Keyword("given", "true"),)
            return call_text("confusion", self.label, self.predicted, self.slice, *given)
        arguments: tuple[Any, ...] = (self.slice,) if self.baseline is None else (self.baseline, self.slice)
        label = () if self.label is None else (Keyword("label", self.label),)
        return call_text(self.kind.name, *arguments, *label)


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
        """Measure it, which needs scores."""
        return measure(self)

    def for_classes(self, classes: Classes) -> Expression:
        """Itself, for two classes."""
        refuse_unlabelled(self.name, classes)
        return self

    def measured(self, examples: Examples, predictions: Any) -> NoReturn:
        """Refuse: predictions are not enough."""
        raise TypeError(
            f"{self!r} is a function of scores, not of predictions, so it cannot be evaluated on y_pred: "
            f"use sklearn.metrics.{self.name} on scores"
        )

    def __repr__(self) -> str:
        return call_text(self.name, self.slice)


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


def has_black_box(part: Expression) -> bool:
    """Whether an expression contains a `black_box`."""
    return isinstance(part, BlackBox) or any(map(has_black_box, part.children))


@dataclass(frozen=True, eq=False, repr=False)
class Named(Expression):
    """A named metric, defined by another expression.

    ``within`` is an interval that holds its values, where that is narrower than the range of the definition.
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

    def pieces(self, upper: bool) -> tuple[Expression, ...]:
        """Pieces of the definition; the name where it does not split."""
        return or_whole(self, self.definition.pieces(upper))

    def value(self, measure: Measure) -> Value:
        """Evaluate the definition; the warning of 0/0 has the name of the metric."""
        if isinstance(self.definition, Quotient):
            top, bottom = self.definition.left.value(measure), self.definition.right.value(measure)
            return measuring.quotient(top, bottom, self)
        return self.definition.value(measure)

    def for_classes(self, classes: Classes) -> Expression:
        """The definition for these classes; an error by its name for a metric that needs a class and names none."""
        if len(classes) > 2 and any(rate.kind.of_class and rate.label is None for rate in self.definition.rates()):
            refuse_unlabelled(self.name.split("(")[0], classes)
        return super().for_classes(classes)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, repr=False)
class Keyword:
    """An argument that is written with its name."""

    name: str
    value: Any

    def __repr__(self) -> str:
        return f"{self.name}={self.value!r}"


def call_text(name: str, *arguments: Any) -> str:
    """Write a call as users do; the slice of everybody is left out."""
    return f"{name}({', '.join(repr(argument) for argument in arguments if argument != EVERYBODY)})"
