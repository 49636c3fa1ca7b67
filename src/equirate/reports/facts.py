"""The facts behind pages, cards and charts: which rates they show for each slice, and decisions that changed.

In: a problem, examples and predictions (0/1, or probabilities of predicting 1). Out: frozen values that hold numbers
and text only, so that a report needs no data once it is made.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError, UndefinedRateWarning
from ..data.examples import Examples
from ..data.slices import EVERYBODY, Slice
from ..judge.certify import estimate
from ..judge.evaluation import Evaluation
from ..language.catalogue import CATALOGUE
from ..language.expressions import Expression
from ..problem.problem import Problem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RateName:
    """A rate that is shown for every slice: its name in the language, its short name and what it is in words."""

    name: str
    short: str
    words: str

    def of(self, slice_: Slice) -> Expression:
        """The rate of a slice."""
        make: Callable[[Slice], Expression] = CATALOGUE[self.name]
        return make(slice_)


SHOWN = (
    RateName("positive_rate", "predicted positive", "the share of the group that is predicted positive"),
    RateName("tpr", "recall", "of those whose label is positive, the share predicted positive"),
    RateName("fpr", "false positive rate", "of those whose label is negative, the share predicted positive"),
    RateName("precision", "precision", "of those predicted positive, the share whose label is positive"),
    RateName("accuracy", "accuracy", "the share of the group that is predicted as labelled"),
)
"""The rates that are shown for every slice, in this order."""


@dataclass(frozen=True)
class RateValue:
    """One rate of one slice, with its interval."""

    rate: str
    slice: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Change:
    """Decisions of one slice that differ from a baseline's: expected numbers of examples, not weighted.

    ``gained`` are predicted positive where the baseline does not, ``lost`` the other way round; ``gained_right`` and
    ``lost_right`` are those among them for whom the change agrees with the label.
    """

    slice: str
    examples: int
    gained: float
    gained_right: float
    lost: float
    lost_right: float

    @property
    def differ(self) -> float:
        """How many decisions differ."""
        return self.gained + self.lost


@dataclass(frozen=True)
class Move:
    """Decisions of everybody that differ from a baseline's, from one class to another, where there are more than two.

    ``number`` is the expected number of examples, not weighted; ``right`` are those whose label is the new class,
    ``wrong`` those whose label is the old one.
    """

    before: str
    after: str
    number: float
    right: float
    wrong: float


@dataclass(frozen=True)
class Baseline:
    """Another classifier on the last part of the data, to compare with the reported one."""

    name: str
    note: str
    evaluation: Evaluation
    rates: tuple[RateValue, ...] = ()
    changes: tuple[Change, ...] = ()
    moves: tuple[Move, ...] = ()


@dataclass(frozen=True)
class Point:
    """One point of a trade-off frontier, on the last part of the data."""

    level: float
    evaluation: Evaluation
    rates: tuple[RateValue, ...]


@dataclass(frozen=True)
class GameCourse:
    """History of training: objective and largest violation of every configuration (columns) over recorded rounds."""

    rounds: tuple[int, ...]
    objective: tuple[tuple[float, ...], ...]
    violation: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, history: Mapping[str, Any], most: int = 60) -> GameCourse:
        """A run's history, with at most so many of its rounds."""
        count = len(history["round"])
        kept = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
        columns = (np.asarray(history[name], dtype=float)[kept] for name in ("objective", "violation"))
        objective, violation = (tuple(tuple(map(float, row)) for row in column) for column in columns)
        return cls(tuple(int(r) for r in np.asarray(history["round"])[kept]), objective, violation)


@dataclass(frozen=True)
class Member:
    """A member of the mixture: its probability, and the share that it predicts positive on the last part."""

    weight: float
    predicted: float


@dataclass(frozen=True)
class Origin:
    """Where the classifier comes from: the estimator as code, its mixture, facts about the data, and versions."""

    estimator: str
    members: tuple[Member, ...]
    facts: Mapping[str, str]
    versions: Mapping[str, str]


_FEWEST_MOVED = 0.5
"""Smallest expected number of examples for which a change is listed: what rounds to one."""


def rates_by_slice(
    problem: Problem, examples: Examples, predictions: Array, confidence: float
) -> tuple[RateValue, ...]:
    """Every shown rate, of everybody and of each slice in the problem; NaN if there are no examples.

    A rate of a slice, with its interval, is measured on the examples inside alone, so that the cost of many slices does
    not grow with the examples outside.
    """
    if len(examples.classes) > 2:  # an evaluation has the confusion matrix of every slice
        return ()
    slices = slices_of(problem)
    return tuple(measured_rate(shown, each, examples, predictions, confidence) for shown in SHOWN for each in slices)


def measured_rate(
    shown: RateName, slice_: Slice, examples: Examples, predictions: Array, confidence: float
) -> RateValue:
    """One rate of one slice, with its interval."""
    rows = examples.mask(slice_)
    inside = Examples(examples.labels[rows], examples.weights[rows], {}, shared=examples.shared)
    value, (low, high) = _measured(shown.of(EVERYBODY), inside, predictions[rows], confidence)
    return RateValue(shown.name, repr(slice_), value, low, high)


def _measured(
    rate: Expression, examples: Examples, predictions: Array, confidence: float
) -> tuple[float, tuple[float, float]]:
    """Value and interval; NaN if the denominator is empty, such as for precision without positive predictions."""
    nothing = float("nan"), (float("nan"), float("nan"))
    if not examples.weights.sum() > 0:
        return nothing
    with warnings.catch_warnings():
        warnings.simplefilter("error", UndefinedRateWarning)
        try:
            estimated = estimate(rate, examples, predictions)
        except (DataError, UndefinedRateWarning):
            return nothing
    return estimated.value, estimated.interval(confidence)


def changes(problem: Problem, examples: Examples, predictions: Array, baseline: Array) -> tuple[Change, ...]:
    """Expected numbers of decisions that differ, where the two classifiers draw independently."""
    if len(examples.classes) > 2:
        return ()
    up, down = predictions * (1 - baseline), (1 - predictions) * baseline
    labels = examples.labels.astype(bool)
    changes_by_slice = []
    for slice_ in slices_of(problem):
        inside = examples.mask(slice_)
        numbers = (up[inside], up[inside & labels], down[inside], down[inside & ~labels])
        changes_by_slice.append(Change(repr(slice_), int(inside.sum()), *(float(number.sum()) for number in numbers)))
    return tuple(changes_by_slice)


def moves(examples: Examples, predictions: Array, baseline: Array) -> tuple[Move, ...]:
    """Changes of decisions from one class to another, the most frequent first; empty for two classes.

    The two classifiers draw independently.
    """
    classes = examples.classes
    if len(classes) <= 2:
        return ()
    labels = examples.labels[:, None] == np.arange(len(classes))
    every = baseline.T @ predictions
    right, wrong = baseline.T @ (predictions * labels), (baseline * labels).T @ predictions
    frequent = [
        Move(str(classes[i]), str(classes[j]), float(every[i, j]), float(right[i, j]), float(wrong[i, j]))
        for i in range(len(classes))
        for j in range(len(classes))
        if i != j and every[i, j] >= _FEWEST_MOVED
    ]
    return tuple(sorted(frequent, key=lambda move: -move.number))


def slices_of(problem: Problem) -> Sequence[Slice]:
    """Everybody, and each slice that the problem mentions, once."""
    return tuple(dict.fromkeys([EVERYBODY, *(rate.slice for rate in problem.rates())]))
