"""Fitted classifiers of scikit-learn as plain numbers: linear ones and logistic regression.

In: classifiers that scikit-learn fitted. Out: their coefficients as values that score as they do and can be saved.
Anything else of scikit-learn is code and state that only pickle would keep, and is refused by name.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError, FileError
from .._core.rules import shown
from ..data.features import checked_features, feature_names
from ..data.sample import count_rows
from .forests import chances

LEARNERS = {
    "LogisticRegression": "sklearn.linear_model",
    "RidgeClassifier": "sklearn.linear_model",
    "SGDClassifier": "sklearn.linear_model",
    "LinearSVC": "sklearn.svm",
    "HistGradientBoostingClassifier": "sklearn.ensemble",
    "LGBMClassifier": "lightgbm",
    "XGBClassifier": "xgboost",
}
"""Classifiers that arrays can hold, and the modules that they are in."""
LINEAR = ("LogisticRegression", "RidgeClassifier", "SGDClassifier", "LinearSVC")
"""Those that are determined by their coefficients."""
SAVED = (
    "linear models, boosted trees, thresholds on given scores, and plug-ins, oracles and lists of the classifiers "
    f"{', '.join(LEARNERS)} are saved without pickle; for others use joblib.dump, and open such files only "
    "if you trust them"
)


def learner_class(name: str) -> Any:
    """The class of a name in `LEARNERS`."""
    try:
        return getattr(importlib.import_module(LEARNERS[name]), name)  # a name of the table above
    except ModuleNotFoundError as error:
        raise FileError(
            f"the model is a {name}, and {error.name} is not installed: pip install 'equirate[boosting]'"
        ) from None


def describe_type(thing: Any) -> str:
    """Short description of an object's type, for messages."""
    return f"an array of {thing.dtype}" if isinstance(thing, np.ndarray) else type(thing).__name__


def is_linear(learner: Any) -> bool:
    """Whether coefficients are all that there is to a fitted classifier of scikit-learn."""
    name = type(learner).__name__
    return name in LINEAR and type(learner) is learner_class(name)


def lines(classifiers: tuple[Any, ...], width: int) -> NDArray[Any]:
    """Weights and, below them, intercepts of classifiers that predict 1 where a linear score is above 0."""
    return np.stack([_line(classifier, width) for classifier in classifiers], axis=1)


def _line(classifier: Any, width: int) -> NDArray[Any]:
    if isinstance(classifier, Always):
        return np.append(np.zeros(width), 1.0 if classifier.answer else -1.0)
    if not is_linear(classifier) or classifier.coef_.size != width:
        raise FileError(f"the model holds {describe_type(classifier)}, which cannot be saved: {SAVED}")
    return np.append(classifier.coef_.reshape(-1), classifier.intercept_)


@dataclass(frozen=True, eq=False)
class Line:
    """A fitted linear classifier of scikit-learn as coefficients: a score, and the second class where it is above 0.

    ``kind`` is the name of the fitted class, ``names`` are those of its features, if they are known.
    """

    kind: str
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    classes_: NDArray[Any]
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, learner: Any) -> Line:
        """Take the coefficients of scikit-learn's; refuses another estimator."""
        if isinstance(learner, cls):
            return learner
        if not is_linear(learner) or len(learner.classes_) != 2:
            raise FileError(f"{describe_type(learner)} cannot be saved: {SAVED}")
        return cls._of_fitted(learner)

    @classmethod
    def _of_fitted(cls, learner: Any) -> Self:
        coefficients = np.atleast_2d(learner.coef_).astype(float)
        intercepts = np.broadcast_to(np.asarray(learner.intercept_, dtype=float), len(coefficients))
        names = getattr(learner, "feature_names_in_", None)
        names = None if names is None else tuple(map(str, names))
        return cls(type(learner).__name__, coefficients, intercepts, learner.classes_, names)

    def __post_init__(self) -> None:
        if self.kind not in LINEAR:
            raise FileError(f"{shown(self.kind)} is not one of {', '.join(LINEAR)}")
        if self.coef_.shape[0] != 1 or self.intercept_.shape != (1,) or len(self.classes_) != 2:
            raise FileError("the coefficients of a linear classifier do not fit together")
        self._refuse_other_names()

    def _refuse_other_names(self) -> None:
        if self.names is not None and len(self.names) != self.n_features_in_:
            raise FileError(f"there are {len(self.names)} names for {self.n_features_in_} features")

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self.coef_.shape[1])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score of the second class; of each class where there are more."""
        columns, X = feature_names(X), checked_features(X, self.n_features_in_)
        if columns is not None and self.names is not None and columns != self.names:
            raise DataError(f"the columns of X must be those of the training data, in their order: {list(self.names)}")
        scores = np.asarray(X @ self.coef_.T + self.intercept_, dtype=float)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The second class where the score is above 0; of more classes, that with the highest score."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])


class ClassLine(Line):
    """A fitted logistic regression of more than two classes as coefficients, a row for each class."""

    @classmethod
    def of(cls, learner: Any) -> ClassLine:
        """Take the coefficients of scikit-learn's; refuses another estimator."""
        if isinstance(learner, cls):
            return learner
        Logistic.of(learner)  # refuses others
        return cls._of_fitted(learner)

    def __post_init__(self) -> None:
        rows = len(self.classes_)
        if self.kind != "LogisticRegression":
            raise FileError(f"{shown(self.kind)} has no probabilities of {rows} classes: LogisticRegression has")
        if rows < 3 or self.coef_.shape[0] != rows or self.intercept_.shape != (rows,):
            raise FileError("the coefficients of a logistic regression do not fit together")
        self._refuse_other_names()

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class, to the last digit as scikit-learn has it."""
        from sklearn.utils.extmath import softmax as sklearns  # takes a second: only where it is used

        return np.asarray(sklearns(self.decision_function(X)))


@dataclass(frozen=True, eq=False)
class Logistic:
    """A fitted logistic regression as its coefficients: one row for two classes, a row for each of more."""

    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    classes_: NDArray[Any]

    @classmethod
    def of(cls, learner: Any) -> Logistic:
        """Take the coefficients of scikit-learn's; refuses another estimator."""
        if isinstance(learner, cls):
            return learner
        if type(learner) is not learner_class("LogisticRegression"):
            raise FileError(f"the plug-in holds {describe_type(learner)}, which cannot be saved: {SAVED}")
        if learner.solver == "liblinear" and len(learner.classes_) > 2:
            raise FileError("a LogisticRegression(solver='liblinear') of more than two classes cannot be saved")
        return cls(learner.coef_, np.broadcast_to(learner.intercept_, len(learner.coef_)), learner.classes_)

    def __post_init__(self) -> None:
        rows = 1 if len(self.classes_) == 2 else len(self.classes_)
        if len(self.classes_) < 2 or self.coef_.shape[0] != rows or self.intercept_.shape != (rows,):
            raise FileError("the coefficients of a logistic regression do not fit together")

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self.coef_.shape[1])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class."""
        X = checked_features(X, self.n_features_in_)
        return chances(np.asarray(X @ self.coef_.T) + self.intercept_)


@dataclass(frozen=True)
class Always:
    """A constant classifier."""

    answer: bool

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """+1 or -1 for every row."""
        return np.full(count_rows(X), 1.0 if self.answer else -1.0)
