"""A fixed list of classifiers: the model player picks one, exactly, so every theorem can be checked on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError, DataError, FileError
from ..data.labels import BINARY, Classes, codes_of
from ..players.steps import StepRule
from .capabilities import Capabilities
from .contract import Array, Choice, ColumnLearner, Learner, Model
from .members import Members, Written
from .messages import Asked, Seen
from .rows import Rows
from .sklearn_classifiers import lines


@dataclass(frozen=True, eq=False)
class Finite(Model):
    """Mixtures of given classifiers.

    Parameters
    ----------
    classifiers
        Fitted classifiers (``decision_function``, ``predict_proba`` or ``predict``), functions from X to scores,
        or arrays of 0/1 decisions on the training examples (which cannot decide on new ones). With more than two
        classes: fitted classifiers, functions from X to classes, or arrays of classes.
    """

    classifiers: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.classifiers:
            raise AlgorithmError("the list of classifiers is empty: give at least one")

    @property
    def capabilities(self) -> Capabilities:
        """Exact: every classifier is compared."""
        return Capabilities(exact=True, any_classes=True, trained_elsewhere=True)

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Decide once with every classifier.

        Parameters
        ----------
        rows
            The rows to train and to measure on.
        count
            Number of configurations.
        step
            Not used.
        seeds
            Not used.

        Returns
        -------
        Learner
            The list with its decisions on these rows.
        """
        return FiniteLearner(self.classifiers, rows, count)


def make_finite(classifiers: Sequence[Any]) -> Finite:
    """The model of a list of classifiers."""
    return Finite(tuple(classifiers))


class FiniteLearner(ColumnLearner):
    """Index of the classifier that each configuration plays; sums of all of them are known beforehand."""

    def __init__(self, classifiers: tuple[Any, ...], rows: Rows, count: int) -> None:
        self.classes = rows.cells.classes
        decided = decisions(classifiers, rows.X, len(rows), self.classes)
        self.classifiers = classifiers
        self.measured = rows.cells.sums(decided)
        self.trained = self.measured if rows.trained is rows.cells else rows.trained.sums(decided)
        self.parameters = np.zeros(count, dtype=np.intp)

    def answer(self, asked: Asked) -> Seen:
        """Pick the cheapest; ties go to the first."""
        self.parameters = np.argmin(self.trained.T @ asked.costs, axis=0)
        return Seen(self.measured[:, self.parameters])

    def every_sum(self) -> Array:
        """All of them."""
        return self.measured

    def every_snapshot(self, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        """Their indices."""
        return chosen

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Look the classifiers up."""
        indices = [int(snapshots[t][c]) for t, c in chosen]
        return FiniteMembers(tuple(self.classifiers[k] for k in indices), self.classes)


@dataclass(frozen=True, eq=False)
class FiniteMembers(Members):
    """Given classifiers."""

    classifiers: tuple[Any, ...]
    classes: Classes = BINARY

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # depends on the classes
        """Number of classes."""
        return len(self.classes)

    def __len__(self) -> int:
        """Count the classifiers."""
        return len(self.classifiers)

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[Any]:
        """Decisions of each classifier."""
        if any(isinstance(c, np.ndarray) for c in self.classifiers):
            raise DataError(
                "this classifier was given as decisions on the training examples; it cannot decide on new ones"
            )
        return decisions(self.classifiers, X, None, self.classes)

    def scores(self, X: Any, *, attributes: Any = None) -> NDArray[Any]:
        """Decision functions, or probabilities around one half; refuses classifiers that have neither."""
        if self.n_classes > 2:
            raise AlgorithmError("classifiers of more than two classes have no single score")
        return np.stack([_score(classifier, X) for classifier in self.classifiers], axis=1)

    @property
    def has_scores(self) -> bool:
        """Whether all have a decision function or probabilities."""
        return self.n_classes == 2 and all(map(_has_score, self.classifiers))

    def take(self, indices: Sequence[int]) -> Members:
        """Select classifiers."""
        return FiniteMembers(tuple(self.classifiers[k] for k in indices), self.classes)

    def concatenate(self, parts: Sequence[FiniteMembers]) -> Members:
        """All classifiers, in order."""
        return FiniteMembers(tuple(each for part in parts for each in part.classifiers), self.classes)

    def plain(self, width: int) -> Written:
        """Write them as linear members where they are linear; others are refused by name."""
        if self.n_classes > 2:
            raise FileError("a list of classifiers of more than two classes cannot be saved without pickle")
        return Written("linear", {"intercept": True}, {"coefficients": lines(self.classifiers, width)})


def decisions(classifiers: Sequence[Any], X: Any, length: int | None, classes: Classes = BINARY) -> NDArray[Any]:
    """Decisions of every classifier, (examples, classifiers): booleans, or codes of more than two classes."""
    many = len(classes) > 2
    columns = [_answers(classifier, X, classes) if many else _decide(classifier, X) for classifier in classifiers]
    for k, column in enumerate(columns):
        if column.ndim != 1 or (length is not None and len(column) != length):
            raise DataError(f"classifier {k} of the list gave shape {column.shape}; expected one decision per example")
    return np.stack(columns, axis=1)


def _answers(classifier: Any, X: Any, classes: Classes) -> NDArray[Any]:
    """Predictions of a classifier of more than two classes, as codes."""
    if hasattr(classifier, "predict"):
        answered = np.asarray(classifier.predict(X))
    elif isinstance(classifier, np.ndarray):
        answered = classifier
    elif callable(classifier):
        answered = np.asarray(classifier(X))
    else:
        raise AlgorithmError(
            f"a classifier of the list must be fitted, a function of X or an array of classes; got {classifier!r}"
        )
    if answered.ndim != 1:
        return answered  # refused for its shape
    codes = codes_of(answered, classes, "a classifier of the list")
    return codes.astype(np.uint8 if len(classes) <= 255 else np.uint16)


def _has_score(classifier: Any) -> bool:
    return hasattr(classifier, "decision_function") or hasattr(classifier, "predict_proba")


def _score(classifier: Any, X: Any) -> NDArray[Any]:
    if hasattr(classifier, "decision_function"):
        return np.asarray(classifier.decision_function(X), dtype=float)
    if hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.predict_proba(X), dtype=float)[:, 1] - 0.5
    raise AlgorithmError(f"{type(classifier).__name__} decides without a score")


def _decide(classifier: Any, X: Any) -> NDArray[np.bool_]:
    if isinstance(classifier, np.ndarray):
        values = np.unique(classifier)
        if not set(values.tolist()) <= {0, 1}:
            raise DataError("an array in the list of classifiers must hold 0/1 decisions")
        return classifier.astype(bool)
    if _has_score(classifier):
        return np.asarray(_score(classifier, X) > 0)
    if hasattr(classifier, "predict"):
        predicted = np.asarray(classifier.predict(X))
        top = getattr(classifier, "classes_", np.array([0, 1]))[-1]
        return np.asarray(predicted == top)
    if callable(classifier):
        function: Callable[[Any], Any] = classifier
        return np.asarray(function(X)) > 0
    raise AlgorithmError(
        f"a classifier of the list must be fitted, callable or an array of decisions; got {classifier!r}"
    )
