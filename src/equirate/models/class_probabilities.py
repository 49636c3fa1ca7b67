"""Probabilities of several classes, of rows that were not trained on: how given folds are filled in.

In: a `Multinomial`, features, cells. Out: the probabilities of any target, such as the label or the group of each row,
and the classifier that serves. Rows may be in files, and several processes may share them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateWarning
from .._core.listing import listed
from .._core.peers import Peers
from ..data.cells import Cells
from ..data.splits import split_by_cell
from .class_rules import blocks
from .cross_fitting import Certain, Fold
from .multinomial import Multinomial
from .posterior import class_chances
from .sklearn_classifiers import Logistic

Array = NDArray[np.float64]


def folds_of(cells: Cells, count: int, seed: int) -> Fold:
    """The fold of each row, stratified by cell over all processes; -1 for rows without weight."""
    used = cells.weights > 0
    fold = np.where(used, 0, -1).astype(np.int16)
    if count > 1:
        rows = np.flatnonzero(used)
        for k, part in enumerate(split_by_cell(cells.take(rows), [1.0] * count, seed, "folds")):
            fold[rows[part]] = k
    return fold


def regressed(setting: Multinomial, X: Any, cells: Cells, fold: Fold, target: NDArray[Any], out: Array) -> Any:
    """Fill in the probabilities of regressions on the rows of all processes; returns that of all rows."""
    classes, shared = out.shape[1], cells.shared

    def fit(weights: Array) -> Logistic | Certain:
        return setting.fit(X, target, weights, classes, shared)

    def predict(model: Logistic | Certain, X: Any) -> Array:
        return class_chances(model, X, classes)

    return fill_by_fold(fit, predict, X, fold, cells.weights, shared, out)


Fitted = TypeVar("Fitted")


def fill_by_fold(
    fit: Callable[[Array], Fitted],
    predict: Callable[[Fitted, Any], Array],
    X: Any,
    fold: Fold,
    weights: Array,
    shared: Peers,
    out: Array,
) -> Fitted:
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


def warn_of_rare(counts: NDArray[Any], cells: Cells, folds: int) -> None:
    """Warn of classes with fewer rows than folds: some classifiers are trained without them."""
    rare = [f"{cells.classes[k]!r} ({counts[k]})" for k in np.flatnonzero(counts < folds)]
    if rare and folds > 1:
        warnings.warn(
            f"classes with fewer rows than the {folds} folds that probabilities are estimated in: {listed(rare)}; "
            "their probabilities are too small where a fold has none of them",
            EquirateWarning,
            stacklevel=2,
        )
