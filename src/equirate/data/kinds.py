"""The linear rates as a table: what each counts, among which examples.

A kind says among which labels it is measured (its denominator) and what one example contributes to the
numerator, ``slope * prediction + offset``, given its label y and a baseline model's prediction b. Everything
else about linear rates (the public function, its text, evaluation, ranges, cells, coefficients) is derived from this
table: a new rate is a row here, and a line with its expected value in ``tests/language/test_rates.py``. Two rows
that count the same are two names of one rate.

With more than two classes a rate of one class reads the same table as one class against the rest: label 1 is
"has the class", prediction 1 is "is predicted as the class". `class_terms` says what that means for class codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[Any]
"""Classes as whole numbers from 0 on."""
Contribution = tuple[float, float]
"""(slope, offset): an example contributes slope * prediction + offset."""

_PREDICTED: Contribution = (1.0, 0.0)
_NOT_PREDICTED: Contribution = (-1.0, 1.0)
_NOTHING: Contribution = (0.0, 0.0)
_ONE: Contribution = (0.0, 1.0)


@dataclass(frozen=True)
class RateKind:
    """One kind of linear rate.

    Parameters
    ----------
    name
        Public name.
    labels
        The labels among which it is measured: (0, 1) for everybody, (1,) among positives, (0,) among negatives.
    contributions
        ``contributions[y][b]`` for label y and baseline prediction b.
    compares
        Whether it needs a baseline model.
    summary
        One line for the documentation.
    of_class
        Whether it is a rate of one class, which must be named where there are more than two.
    """

    name: str
    labels: tuple[int, ...]
    contributions: tuple[tuple[Contribution, ...], ...]
    compares: bool
    summary: str
    of_class: bool = True

    def for_codes(self, codes: ClassCodes) -> RateKind:
        """The same rate of two classes, by code, as a kind of rate about class 1.

        Examples
        --------
        >>> KINDS["tpr"].for_codes(ClassCodes(0, 0)).contributions == KINDS["tnr"].contributions
        True
        """

        def contribution(y: int, b: int) -> Contribution:
            slope, offset = self.contributions[int(y == codes.label)][b]
            return (slope, offset) if codes.predicted == 1 else (0.0 - slope, slope + offset)

        labels = tuple(y for y in (0, 1) if int(y == codes.label) in self.labels)
        return replace(self, labels=labels, contributions=_table(contribution))


class ClassCodes(NamedTuple):
    """The class that labels are compared with, and the class that predictions are compared with."""

    label: int
    predicted: int


def _kind(
    name: str,
    summary: str,
    contribution: Callable[[int, int], Contribution],
    labels: tuple[int, ...] = (0, 1),
    compares: bool = False,
    of_class: bool = True,
) -> RateKind:
    return RateKind(name, labels, _table(contribution), compares, summary, of_class)


def _table(contribution: Callable[[int, int], Contribution]) -> tuple[tuple[Contribution, ...], ...]:
    return tuple(tuple(contribution(y, b) for b in (0, 1)) for y in (0, 1))


def _when(condition: bool, contribution: Contribution) -> Contribution:
    return contribution if condition else _NOTHING


KINDS = {
    kind.name: kind
    for kind in (
        _kind("positive_rate", "P[predicted 1]", lambda y, b: _PREDICTED),
        _kind("negative_rate", "P[predicted 0]", lambda y, b: _NOT_PREDICTED),
        _kind("accuracy", "P[prediction = label]", lambda y, b: _PREDICTED if y else _NOT_PREDICTED, of_class=False),
        _kind("error_rate", "P[prediction != label]", lambda y, b: _NOT_PREDICTED if y else _PREDICTED, of_class=False),
        _kind("tpr", "P[predicted 1 | label 1]", lambda y, b: _PREDICTED, labels=(1,)),
        _kind("recall", "P[predicted 1 | label 1], the same as tpr", lambda y, b: _PREDICTED, labels=(1,)),
        _kind("fnr", "P[predicted 0 | label 1]", lambda y, b: _NOT_PREDICTED, labels=(1,)),
        _kind("fpr", "P[predicted 1 | label 0]", lambda y, b: _PREDICTED, labels=(0,)),
        _kind("tnr", "P[predicted 0 | label 0]", lambda y, b: _NOT_PREDICTED, labels=(0,)),
        _kind("tp", "P[predicted 1 and label 1]", lambda y, b: _when(y == 1, _PREDICTED)),
        _kind("fp", "P[predicted 1 and label 0]", lambda y, b: _when(y == 0, _PREDICTED)),
        _kind("tn", "P[predicted 0 and label 0]", lambda y, b: _when(y == 0, _NOT_PREDICTED)),
        _kind("fn", "P[predicted 0 and label 1]", lambda y, b: _when(y == 1, _NOT_PREDICTED)),
        _kind("base_rate", "P[label 1], whatever is predicted", lambda y, b: _when(y == 1, _ONE)),
        _kind(
            "wins",
            "P[prediction differs from the baseline and is right]",
            lambda y, b: _when(y != b, _PREDICTED if y else _NOT_PREDICTED),
            compares=True,
            of_class=False,
        ),
        _kind(
            "losses",
            "P[prediction differs from the baseline and is wrong]",
            lambda y, b: _when(y == b, _NOT_PREDICTED if y else _PREDICTED),
            compares=True,
            of_class=False,
        ),
        _kind(
            "churn",
            "P[prediction differs from the baseline]",
            lambda y, b: _NOT_PREDICTED if b else _PREDICTED,
            compares=True,
            of_class=False,
        ),
    )
}
CONFUSION = _kind("confusion", "P[predicted one class and label another]", lambda y, b: _when(y == 1, _PREDICTED))
"""P[label = true and predicted]; its public function is separate, since it names two classes."""
CONFUSION_ROW = _kind("confusion", "P[predicted one class | label another]", lambda y, b: _PREDICTED, labels=(1,))
"""P[predicted | label = true]."""


# -- more than two classes ------------------------------------------------------------------------


class ClassTerms(NamedTuple):
    """What examples contribute: an offset each, plus a coefficient where the prediction is a target."""

    offset: Array
    targets: list[tuple[Array, Codes]]
    """Coefficients with the class that the prediction is compared with."""

    def expected(self, predictions: Array) -> Array:
        """The contribution of each example, given its probabilities of predicting each class."""
        value, rows = self.offset.copy(), np.arange(len(self.offset))
        for coefficient, target in self.targets:
            value += coefficient * predictions[rows, target]
        return value

    def by_answer(self, n_classes: int) -> tuple[Array, Array]:
        """Slopes (examples, classes - 1) of answers 1, 2 ... over answer 0, and the offset of answer 0."""
        slopes, offset = np.zeros((len(self.offset), n_classes - 1)), self.offset.copy()
        rows = np.arange(len(self.offset))
        for coefficient, target in self.targets:
            first = target == 0
            offset += np.where(first, coefficient, 0.0)
            slopes -= np.where(first, coefficient, 0.0)[:, None]
            others = ~first
            slopes[rows[others], target[others] - 1] += coefficient[others]
        return slopes, offset


def class_terms(kind: RateKind, codes: ClassCodes | None, labels: Codes, baselines: Codes | None) -> ClassTerms:
    """What examples with given labels and baseline predictions contribute to a rate, for any number of classes."""
    labels = np.asarray(labels, dtype=np.intp)
    if codes is not None:
        slope, offset = np.array(kind.contributions)[:, 0].T  # a rate of one class compares with no baseline
        hit = (labels == codes.label).astype(np.intp)
        return ClassTerms(offset[hit], [(slope[hit], np.full(len(labels), codes.predicted, dtype=np.intp))])
    zeros, ones = np.zeros(len(labels)), np.ones(len(labels))
    if not kind.compares:
        return ClassTerms(zeros, [(ones, labels)]) if kind.name == "accuracy" else ClassTerms(ones, [(-ones, labels)])
    assert baselines is not None  # a rate that compares names one
    other = np.asarray(baselines, dtype=np.intp)
    changed = (labels != other).astype(float)
    return {
        "wins": ClassTerms(zeros, [(changed, labels)]),
        "losses": ClassTerms(ones, [(-ones, other), (-changed, labels)]),
        "churn": ClassTerms(ones, [(-ones, other)]),
    }[kind.name]


def among(kind: RateKind, codes: ClassCodes | None, labels: Codes) -> NDArray[np.bool_]:
    """Which labels, as codes, a rate is measured among."""
    if kind.labels == (0, 1):
        return np.ones(len(labels), dtype=bool)
    if codes is None:  # two classes
        return np.asarray(labels == kind.labels[0])
    return np.asarray((labels == codes.label) == (kind.labels == (1,)))
