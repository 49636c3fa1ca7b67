"""Cross-fitting: how many folds, and a prediction of every row by a classifier that was trained without its fold.

In: a classifier of scikit-learn (or of `equirate.boosting`) and one table of features. Out: `Trainer`, which trains
for any target and weights on that table; a library that bins features does so once. The plug-in uses it for the
probabilities of labels and groups, the oracle for the sign of costs, in every round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError
from .._core.peers import Peers
from .._core.tree_threads import threads_for
from ..data.cells import Cells
from ..data.sample import count_rows, taken
from ..data.splits import clusters_as_examples
from .forests import Boosted, chances, trees_of
from .registry import trainers_of
from .rows import blocks
from .weighted_fit import fit_weighted

Array = NDArray[np.float64]
Index = NDArray[np.intp]
FoldModel = TypeVar("FoldModel")
Fold = NDArray[np.int16]
"""The fold of each row; -1 for rows that are not trained on."""
Fill = Callable[[NDArray[Any], Array], Any]
"""Writes the probabilities of each row's classes, given as codes, and returns the classifier that serves."""

FOLDS_OF_FEW_ROWS, FOLDS_OF_MANY_ROWS = 5, 2
"""Number of folds, by default."""
MANY_ROWS = 20_000
"""Rows from which on half of them train a classifier that is nearly as good as all."""


def fold_count(rows: int, folds: int | None, of_few: int = FOLDS_OF_FEW_ROWS) -> int:
    """Number of folds: as set, or by the number of rows."""
    if folds is not None:
        return folds
    return FOLDS_OF_MANY_ROWS if rows >= MANY_ROWS else of_few


def make_folds(cells: Cells, rows: Index, count: int, seed: int) -> list[Index]:
    """Split rows into folds of about equal size, stratified by cell; clusters are not split."""
    selected = cells.batch(rows)
    if selected.clusters is None:
        return [rows[part] for part in _folds(selected.index, count, seed)]
    _, place = np.unique(selected.clusters, return_inverse=True)
    parts = _folds(clusters_as_examples(selected).index, count, seed)
    return [rows[np.isin(place.reshape(-1), part)] for part in parts]


def _folds(of: NDArray[Any], count: int, seed: int) -> list[Index]:
    rng = np.random.default_rng([seed, 0x666F6C64])
    order = rng.permutation(len(of))
    order = order[np.argsort(of[order], kind="stable")]  # cell by cell, shuffled inside
    return [np.sort(order[k::count]) for k in range(count)]


class Trainer:
    """Trains clones of a classifier on one table, on all rows or without a fold."""

    @staticmethod
    def of(estimator: Any, X: Any, folds: Sequence[Index], rest: Index) -> Trainer:
        """The trainer for a classifier: a boosting library's own where it has one, so that features are binned once.

        ``folds`` are parts of the rows that are trained on; ``rest`` are rows that nothing is ever trained on.
        """
        trainers = trainers_of(estimator)
        trainer: Trainer | None = None if trainers is None else trainers.trainer_of(estimator, X, folds, rest)
        return Trainer(estimator, X, folds, rest) if trainer is None else trainer

    def __init__(self, estimator: Any, X: Any, folds: Sequence[Index], rest: Index) -> None:
        self.estimator, self.X, self.folds, self.rest = estimator, X, list(folds), rest

    def for_groups(self, estimator: Any) -> Trainer:
        """A trainer for another classifier on the same rows."""
        return Trainer.of(estimator, self.X, self.folds, self.rest)

    def rows_without(self, fold: int | None) -> tuple[Index, list[Index]]:
        """Rows to train on without a fold, or on all folds, and the parts of the rows to predict: others, the rest.

        A single fold is trained on as it is.
        """
        used = [part for k, part in enumerate(self.folds) if k != fold] or self.folds
        return np.sort(np.concatenate(used)), [self.rest] if fold is None else [self.folds[fold], self.rest]

    def cross_fit(self, target: NDArray[Any], weights: Array | None, classes: int) -> tuple[Array, list[Any]]:
        """Train without each fold; returns out-of-fold probabilities (rows, classes), and the classifiers.

        ``target`` has whole numbers below ``classes``, one for each row of the table. Probabilities of the rows of
        ``rest`` are means over the classifiers.
        """
        probabilities = np.zeros((len(target), classes))
        models = []
        for k, fold in enumerate(self.folds):
            model, (of_fold, of_rest) = self._train(target, weights, classes, k)
            probabilities[fold] = of_fold
            probabilities[self.rest] += of_rest / len(self.folds)
            models.append(model)
        return probabilities, models

    def fit(self, target: NDArray[Any], weights: Array | None, classes: int) -> tuple[Any, Array]:
        """Train on the rows of all folds; return the classifier, and its probabilities for the rows of ``rest``."""
        model, (of_rest,) = self._train(target, weights, classes, None)
        return model, of_rest

    def _train(
        self, target: NDArray[Any], weights: Array | None, classes: int, fold: int | None
    ) -> tuple[Any, list[Array]]:
        """Train without a fold, or on all; return the classifier and its probabilities for parts (`rows_without`)."""
        from sklearn.base import clone  # takes a second: only where it is used

        train, tests = self.rows_without(fold)
        present = np.unique(target[train])
        if len(present) == 1:
            model: Any = Certain(present)
        else:
            weighed = None if weights is None else weights[train]
            model = fit_weighted(clone(self.estimator), taken(self.X, train), target[train], weighed)
        return model, [probabilities_by_class(model, taken(self.X, test), classes) for test in tests]


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Fills in out-of-fold probabilities, and returns a classifier that serves: one trained on all folds.

    With ``average_trees`` it is the mean of those of the folds where they are trees.
    """

    trainer: Trainer
    weights: Array | None
    average_trees: bool = False

    def __call__(self, target: NDArray[Any], out: Array) -> Any:
        """The probabilities of the classes of ``target`` into ``out``; a single column is for class 1 of two."""
        columns, target = out.shape[1], target.astype(np.intp)
        classes = max(columns, 2)
        probabilities, models = self.trainer.cross_fit(target, self.weights, classes)
        out[:] = probabilities[:, -columns:]
        if len(models) == 1:
            return models[0]
        if self.average_trees and all(isinstance(model, Boosted) for model in models):
            return average_classifiers(models)
        model, probabilities = self.trainer.fit(target, self.weights, classes)
        out[self.trainer.rest] = probabilities[:, -columns:]
        return model


def fill_by_fold(
    fit: Callable[[Array], FoldModel],
    predict: Callable[[FoldModel, Any], Array],
    X: Any,
    fold: Fold,
    weights: Array,
    shared: Peers,
    out: Array,
) -> FoldModel:
    """Fill in predictions of each row by a model without its fold, in blocks; returns the model of all rows.

    That model predicts the rows in no fold, and all rows where there is one fold. ``fit`` makes a model from weights.
    """
    count = 1 + int(shared.range(0, int(fold.max(initial=0)))[1])
    model = fit(weights)
    for k in range(count):
        fold_model = fit(np.where(fold == k, 0.0, weights)) if count > 1 else model
        for rows in blocks(len(out)):
            inside = np.flatnonzero(fold[rows] == k) if count > 1 else slice(None)
            out[rows][inside] = predict(fold_model, X[rows][inside])
    unused = np.flatnonzero(fold < 0)
    if count > 1 and len(unused):
        out[unused] = predict(model, X[unused])
    return model


def parts_of(fold: Fold) -> tuple[list[Index], Index]:
    """The rows of each fold, and those in no fold."""
    return [np.flatnonzero(fold == k) for k in range(int(fold.max()) + 1)], np.flatnonzero(fold < 0)


def unequal_weights(cells: Cells) -> Array | None:
    """The weights of the rows; None if all rows that have weight have the same."""
    weights = cells.weights[cells.weights > 0]
    return None if not len(weights) or bool((weights == weights[0]).all()) else cells.weights


@dataclass(frozen=True)
class Certain:
    """The classifier of a fold with one class only."""

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> Array:
        """Probability 1 of the only class."""
        return np.ones((X.shape[0], 1))


@dataclass(frozen=True, eq=False)
class Averaged:
    """The classifier whose probabilities are the mean of those of others."""

    models: tuple[Any, ...]
    count: int

    @property
    def classes_(self) -> NDArray[Any]:
        """All classes, 0, 1, ..."""
        return np.arange(self.count)

    @property
    def n_features_in_(self) -> int | None:
        """Number of features of the classifiers, where it is known."""
        return next((each.n_features_in_ for each in self.models if hasattr(each, "n_features_in_")), None)

    def predict_proba(self, X: Any) -> Array:
        """Mean of the probabilities."""
        return np.asarray(np.mean([probabilities_by_class(each, X, self.count) for each in self.models], axis=0))


def average_classifiers(models: Sequence[Any]) -> Any:
    """One classifier whose scores (trees) or probabilities (others) are the mean of those of several."""
    if len(models) == 1:
        return models[0]
    boosted = [each for each in map(trees_of, models) if each is not None]
    if len(boosted) == len(models) and all(np.array_equal(each.classes_, boosted[0].classes_) for each in boosted):
        return Boosted.mean(boosted)
    count = 1 + max(int(np.max(classes_of(model))) for model in models)
    return Averaged(tuple(models), max(count, 2))


def classes_of(model: Any) -> NDArray[Any]:
    """The classes of a classifier; 0 and 1 for one without ``classes_``."""
    return np.asarray(getattr(model, "classes_", (0, 1)))


def probabilities_by_class(model: Any, X: Any, classes: int) -> Array:
    """Probabilities of the classes 0, 1, ...; 0 for classes that the classifier was not trained on.

    For a classifier of two classes without probabilities, the score counts as log-odds, or the prediction as certain.
    """
    rows = count_rows(X)
    result = np.zeros((rows, classes))
    if rows:
        with threads_for(model, rows):
            probabilities = np.asarray(_probabilities(model, X), dtype=float)
        if probabilities.shape != (rows, len(classes_of(model))) or not np.isfinite(probabilities).all():
            raise DataError(
                f"predict_proba of {type(model).__name__} must give a finite number for each row and class; got "
                f"shape {probabilities.shape}"
            )
        result[:, classes_of(model).astype(np.intp)] = probabilities
    return result


def _probabilities(model: Any, X: Any) -> Any:
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    if hasattr(model, "decision_function"):
        return chances(np.asarray(model.decision_function(X), dtype=float).reshape(-1, 1))
    second = np.asarray(model.predict(X)) == classes_of(model)[-1]
    return np.stack([~second, second], axis=1)
