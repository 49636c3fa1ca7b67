"""A fixed list of classifiers: the model player picks one, exactly, so every theorem can be checked on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError, DataError
from ..players.steps import StepRule
from .contract import Array, Asked, Choice, Learner, Members, Model, Rows, Seen, Written
from .sklearn_classifiers import lines


@dataclass(frozen=True, eq=False)
class Finite(Model):
    """Mixtures of given classifiers.

    Parameters
    ----------
    classifiers
        Fitted classifiers (``decision_function``, ``predict_proba`` or ``predict``), functions from X to scores,
        or arrays of 0/1 decisions on the training examples (which cannot decide on new ones).
    """

    classifiers: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.classifiers:
            raise AlgorithmError("the list of classifiers is empty: give at least one")

    @property
    def exact(self) -> bool:
        """Every classifier is compared."""
        return True

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Decide once with every classifier."""
        return FiniteLearner(self.classifiers, rows, count)


class FiniteLearner(Learner):
    """Index of the classifier that each configuration plays; sums of all of them are known beforehand."""

    def __init__(self, classifiers: tuple[Any, ...], rows: Rows, count: int) -> None:
        decided = decisions(classifiers, rows.X, len(rows))
        self.classifiers = classifiers
        self.measured = rows.cells.sums(decided)
        self.trained = self.measured if rows.trained is rows.cells else rows.trained.sums(decided)
        self.measured, self.trained = rows.reduce(self.measured, self.trained)
        self.index = np.zeros(count, dtype=np.intp)

    def answer(self, asked: Asked) -> Seen:
        """Pick the cheapest; ties go to the first."""
        self.index = np.argmin(self.trained.T @ asked.costs, axis=0)
        return Seen(self.measured[:, self.index])

    def every_sum(self) -> Array:
        """All of them."""
        return self.measured

    def every_snapshot(self, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        """Their indices."""
        return chosen

    def resume(self, state: NDArray[np.intp]) -> None:
        """Take the indices over."""
        self.index = state.copy()

    def snapshot(self) -> NDArray[np.intp]:
        """Copy the indices."""
        return self.index.copy()

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop the other configurations."""
        self.index = self.index[columns]

    def finite(self) -> NDArray[np.bool_]:
        """Always."""
        return np.ones(len(self.index), dtype=bool)

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Look the classifiers up."""
        indices = [int(snapshots[t][c]) for t, c in chosen]
        return FiniteMembers(tuple(self.classifiers[k] for k in indices))


@dataclass(frozen=True, eq=False)
class FiniteMembers(Members):
    """Given classifiers."""

    classifiers: tuple[Any, ...]

    def __len__(self) -> int:
        """Count them."""
        return len(self.classifiers)

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[np.bool_]:
        """Decide with each."""
        if any(isinstance(c, np.ndarray) for c in self.classifiers):
            raise DataError(
                "this classifier was given as decisions on the training examples; it cannot decide on new ones"
            )
        return decisions(self.classifiers, X, None)

    def scores(self, X: Any, *, attributes: Any = None) -> NDArray[Any]:
        """Decision functions, or probabilities around one half; refuses classifiers that have neither."""
        return np.stack([_score(classifier, X) for classifier in self.classifiers], axis=1)

    @property
    def has_scores(self) -> bool:
        """Whether all have a decision function or probabilities."""
        return all(hasattr(each, "decision_function") or hasattr(each, "predict_proba") for each in self.classifiers)

    def take(self, indices: Sequence[int]) -> Members:
        """Keep some."""
        return FiniteMembers(tuple(self.classifiers[k] for k in indices))

    def plain(self, width: int) -> Written:
        """Write them as linear members where they are linear; others are refused by name."""
        return Written("linear", {"intercept": True}, {"coefficients": lines(self.classifiers, width)})


def decisions(classifiers: Sequence[Any], X: Any, length: int | None) -> NDArray[np.bool_]:
    """0/1 decisions of every classifier, (examples, classifiers)."""
    columns = [_decide(classifier, X) for classifier in classifiers]
    for k, column in enumerate(columns):
        if column.ndim != 1 or (length is not None and len(column) != length):
            raise DataError(f"classifier {k} of the list gave shape {column.shape}; expected one decision per example")
    return np.stack(columns, axis=1)


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
    if hasattr(classifier, "decision_function"):
        return np.asarray(classifier.decision_function(X)) > 0
    if hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.predict_proba(X))[:, 1] > 0.5
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
