"""Scores of classifiers: which one a classifier has, and those of rows that it has not seen.

In: an estimator, data and a way to split them. Out: `Scored`: a classifier to serve with, and scores to choose
thresholds on, each by a clone that was trained without that row. `RatePostprocessor.fit` calls this.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .._core.errors import DataError, EquirateError, FileError
from .._core.late import Late
from .._core.seeds import stream
from .._core.tree_threads import threads_for
from ..data.features import features
from ..data.sample import count_rows
from ..models.class_scores import given_probabilities
from ..models.contributions import Contributions, linear_contributions, tree_contributions
from ..models.forests import Boosted, as_boosted
from ..models.plug_in import frozen_parts
from ..models.sklearn_classifiers import Line
from ..models.thresholds import GivenScores
from ..models.weighted_fit import fit_weighted, weight_parameter

if TYPE_CHECKING:
    from sklearn import model_selection
else:
    model_selection = Late("sklearn.model_selection")

Array = NDArray[np.float64]
RowIndex = NDArray[np.intp]

ON_TRUST = (
    "{name} is used as it was given: the rows given to fit must be new to it; on rows that it "
    "was trained on, its scores are too optimistic"
)
UNWEIGHTED = "{name} takes no sample_weight: it was trained without, and the weights count for the thresholds only"
_NOT_FITTED = (
    "this %(name)s is not fitted, and is to be used as it is: fit it first, or leave cv at a number of folds to have "
    "it trained here"
)


class Scorer:
    """Scores of a fitted classifier: its decision function, or its probability of the second class.

    ``sign`` is -1 where the first class is the positive one.
    """

    def __init__(self, estimator: Any, sign: float = 1.0) -> None:
        self.estimator, self.sign = estimator, sign
        if not (hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")):
            raise DataError(
                f"{estimator!r} has neither decision_function nor predict_proba: there is nothing to threshold"
            )

    def __call__(self, X: Any) -> Array:
        """Score examples."""
        with threads_for(self.estimator, count_rows(X)):
            if hasattr(self.estimator, "decision_function"):
                return self.sign * np.asarray(self.estimator.decision_function(X), dtype=float)
            return self.sign * np.asarray(self.estimator.predict_proba(X), dtype=float)[:, 1]

    def contributions(self, X: Any) -> Contributions | None:
        """What each feature adds to the score, for linear classifiers and trees with a decision function."""
        if not hasattr(self.estimator, "decision_function"):
            return None
        try:
            scores = line_or_trees(self.estimator)
        except FileError:
            return None
        if isinstance(scores, Line):
            weights = np.append(scores.coef_, scores.intercept_)[:, None]
            return linear_contributions(features(X), self.sign * weights)
        base, values = tree_contributions(scores.forest, X)
        return Contributions.of(self.sign * base, self.sign * values)


class ClassScorer:
    """Probabilities (rows, classes) of a fitted classifier of more than two classes."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        if not hasattr(estimator, "predict_proba"):
            raise DataError(
                f"{estimator!r} has no predict_proba, which rules for more than two classes are made on: choose a "
                "classifier that has one, or calibrate it with sklearn.calibration.CalibratedClassifierCV"
            )

    def __call__(self, X: Any) -> Array:
        """Probabilities of examples."""
        with threads_for(self.estimator, count_rows(X)):
            return np.asarray(self.estimator.predict_proba(X), dtype=float)


def scorer_of(estimator: Any, classes: NDArray[Any], positive: Any = None) -> Callable[[Any], Array]:
    """What scores X: a fitted classifier or, for None, scores that are given; probabilities of more than two classes.

    Scores of two classes are higher for the positive one, by default the larger.
    """
    if len(classes) > 2:
        return given_probabilities if estimator is None else ClassScorer(estimator)
    sign = 1.0 if positive is None or positive == classes[1] else -1.0
    return GivenScores(sign) if estimator is None else Scorer(estimator, sign)


def line_or_trees(estimator: Any) -> Line | Boosted:
    """A linear classifier or boosted trees as numbers that score as they do; `FileError` for other classifiers."""
    boosted = as_boosted(unfrozen(estimator))
    return Line.of(unfrozen(estimator)) if boosted is None else boosted


@dataclass(frozen=True, eq=False)
class Scored:
    """A classifier, and scores of rows that it, or clones of it, had not seen.

    Attributes
    ----------
    estimator
        The classifier to predict with.
    rows
        The rows that were scored; a row that is in several test folds is there several times.
    scores
        Their scores, higher for the larger label.
    notes
        Remarks about them.
    """

    estimator: Any
    rows: RowIndex
    scores: Array
    notes: tuple[str, ...] = ()


def used_as_given(estimator: Any, cv: Any) -> bool:
    """Whether an estimator is not to be trained again."""
    return isinstance(estimator, FrozenEstimator) or (isinstance(cv, str) and cv == "prefit")


def name_of(estimator: Any) -> str:
    """Name of an estimator's class, also if it is frozen, or stored as numbers."""
    inner = unfrozen(estimator)
    return inner.kind if isinstance(inner, Line) else type(inner).__name__


def unfrozen(estimator: Any) -> Any:
    """The estimator inside a `FrozenEstimator`; any other estimator itself."""
    return estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator


def as_given(estimator: Any, X: Any) -> Scored:
    """Scores of an estimator that is used as it is."""
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator, msg=_NOT_FITTED)
    scores = scorer_of(estimator, _classes(estimator))(X)
    if len(_classes(estimator)) < 2:
        raise DataError(f"the estimator must have at least two classes; {estimator!r} has {len(_classes(estimator))}")
    return Scored(estimator, np.arange(len(scores)), scores, (ON_TRUST.format(name=name_of(estimator)),))


def out_of_fold(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    weights: Any,
    cv: Any,
    refit: bool,
    n_jobs: int | None,
    seed: int | None,
    clusters: NDArray[np.int64] | None = None,
) -> Scored:
    """Train a clone without each fold and score that fold; then, to serve, one on everything.

    Parameters
    ----------
    y
        Labels, checked: one-dimensional, of two values.
    weights
        Weights to train with, where the estimator takes them; None for none.
    cv, refit, n_jobs, seed, clusters
        As in `RatePostprocessor`.
    """
    refuse_what_cannot_be_cloned(estimator)
    (X,) = indexable(X)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The groups parameter is ignored")  # folds that share a cluster are refused
        splits = list(_splitter(cv, y, seed, clusters is not None).split(X, y, clusters))
    for train, test in splits:
        if np.isin(test, train).any():
            raise DataError("cv puts rows into training and test at once: their scores would be those of seen rows")
        if clusters is not None and np.isin(clusters[test], clusters[train]).any():
            raise DataError("cv puts rows of one cluster into training and test: take a splitter that keeps groups")
    if not splits:
        raise EquirateError("cv gives no folds")
    if not refit and len(splits) > 1:
        raise EquirateError(
            f"refit=False serves with the classifier of the one fold that there is; cv gives {len(splits)}: take a "
            "share, as in cv=0.25, or leave refit=True"
        )
    parameter = weight_parameter(estimator) if weights is not None else None
    classes = np.unique(y)
    weighed = None if parameter is None else weights
    parts: list[Any] = [train for train, _ in splits]
    parts += [np.arange(len(y))] if refit else []
    fitted = Parallel(n_jobs=n_jobs)(delayed(_trained)(estimator, X, y, rows, weighed, classes) for rows in parts)
    tested = [np.asarray(test, dtype=np.intp) for _, test in splits]
    scores = [scorer_of(clf, classes)(_safe_indexing(X, rows)) for clf, rows in zip(fitted, tested, strict=False)]
    return Scored(fitted[-1], np.concatenate(tested), np.concatenate(scores), _notes(estimator, weights, parameter))


def _notes(estimator: Any, weights: Any, parameter: str | None) -> tuple[str, ...]:
    notes = [ON_TRUST.format(name=name_of(part)) for part in frozen_parts(estimator)]
    if weights is not None and parameter is None:
        notes.append(UNWEIGHTED.format(name=name_of(estimator)))
    return tuple(notes)


def _trained(estimator: Any, X: Any, y: NDArray[Any], rows: RowIndex, weights: Any, classes: NDArray[Any]) -> Any:
    weighed = None if weights is None else _safe_indexing(weights, rows)
    fitted = fit_weighted(clone(estimator), _safe_indexing(X, rows), y[rows], weighed)
    if not np.array_equal(_classes(fitted), classes):
        raise DataError(
            f"a part that {name_of(estimator)} was trained on for cv does not hold all labels: take fewer folds, or "
            "folds that are stratified"
        )
    return fitted


def _classes(estimator: Any) -> NDArray[Any]:
    return np.asarray(getattr(estimator, "classes_", ()))


def _splitter(cv: Any, y: NDArray[Any], seed: int | None, grouped: bool = False) -> Any:
    """Folds by their number, by the share of one, by a splitter, or as pairs of rows; ``grouped`` by cluster."""
    drawn = int(stream("split", seed).integers(2**31 - 1))
    number = float(cv) if isinstance(cv, Real) and not isinstance(cv, bool) else None
    sensible = number is not None and (0 < number < 1 or (number >= 2 and number.is_integer()))
    if not sensible and (number is not None or cv is None or isinstance(cv, (bool, str))):
        raise EquirateError(
            "The 'cv' parameter of RatePostprocessor must be a number of folds from 2 on, a share of the rows below 1, "
            f"a splitter of scikit-learn, pairs of rows to train and to test on, or 'prefit'. Got {cv!r} instead."
        )
    if number is None:
        return model_selection.check_cv(cv, y, classifier=True)
    if number < 1 and grouped:
        return model_selection.GroupShuffleSplit(1, test_size=number, random_state=drawn)
    if number < 1:
        return model_selection.StratifiedShuffleSplit(1, test_size=number, random_state=drawn)
    folds, fewest = int(number), int(np.unique(y, return_counts=True)[1].min())
    if fewest < folds:
        raise DataError(
            f"cv={folds} needs {folds} examples of each label; one label has only {fewest}: take fewer folds"
        )
    kind = model_selection.StratifiedGroupKFold if grouped else model_selection.StratifiedKFold
    return kind(folds, shuffle=True, random_state=drawn)


def refuse_what_cannot_be_cloned(estimator: Any) -> None:
    """Raise an error, before training, for what is no scikit-learn estimator or has no scores."""
    if not hasattr(estimator, "get_params"):
        raise DataError(
            f"{estimator!r} cannot be trained again by cv, because it has no get_params: give a scikit-learn "
            "estimator, or say cv='prefit' to use it as it is"
        )
    last = estimator
    while getattr(last, "steps", None):
        last = last.steps[-1][1]
    if getattr(last, "final_estimator", last) is not None:  # stacking chooses one in fit, and has its scores then
        Scorer(estimator)
