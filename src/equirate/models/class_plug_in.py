r"""Plug-in rules for more than two classes: fit probabilities once, then an answer is a matrix product and a search.

With the probability :math:`P(y, s \mid x)` of label and signature (`posterior`), the classifier that minimises costs
:math:`k_{a, y, s}` of the answers a predicts the one with the smallest expected cost
:math:`\sum_{y, s} P(y \mid x) P(s \mid x) k_{a, y, s}`. A constant added to all costs of an answer, its *offset*, gives
a rule of the same kind: `class_offsets` searches the offsets whose decisions cost least on the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError, EquirateWarning
from .._core.listing import listed
from .._core.warning import warn
from ..data.cells import Cells
from ..data.sample import Sample
from ..data.splits import split_by_cell
from .capabilities import Capabilities
from .class_descents import DescendingLearner, Descents
from .class_oracle import ClassOracle
from .class_rules import ClassPlugInLearner
from .contract import Learner, Model, Prepared, PreparedModel
from .cross_fitting import Certain, Fill, Fold, fill_by_fold, fold_count, probabilities_by_class
from .linear import Linear
from .multinomial import Multinomial
from .oracle import Oracle
from .plug_in import PlugIn, fits_closely
from .posterior import GivenProbabilities, Posterior, numbered
from .rows import Rows
from .sklearn_classifiers import Logistic

Array = NDArray[np.float64]
ROWS_PER_FEATURE_AND_CLASS = 50
"""Number of rows per feature and class from which on a linear model is judged on the rows that it was fitted to."""


@dataclass(frozen=True, eq=False)
class ClassPlugIn(PlugIn):
    """Plug-in rules on the probabilities of more than two classes; its settings are those of `PlugIn`."""

    def _learner(self, posterior: Posterior, probabilities: Array, rows: Rows, count: int) -> Learner:
        """With regressions to costs, for a linear model."""
        if isinstance(self.estimator, Multinomial) and self.folds == 1:
            fold = _folds_of(rows.trained, 1, 0)
            descents = Descents(self.estimator, self._features(rows.sample, rows.trained), fold)
            return DescendingLearner(posterior, probabilities, rows, descents, slice(None), remembered=False)
        return ClassPlugInLearner(posterior, probabilities, rows)

    @property
    def capabilities(self) -> Capabilities:
        """Regressions add up over processes that share the rows; other classifiers need all rows in one place."""
        shares = isinstance(self.estimator, Multinomial) and self.group_estimator is None
        refitted = not isinstance(self.estimator, Multinomial)  # folds of a regression hardly differ from it
        return replace(super().capabilities, refitted=refitted, shares_rows=shares, any_classes=True)

    def prepared(self, sample: Sample, cells: Cells, seed: int) -> Prepared:
        """Fit the probabilities, which replace the features in the game."""
        weights = cells.n_classes * (sample.X.shape[1] if np.ndim(sample.X) == 2 else 1)
        rows = cells.shared.total(int((cells.weights > 0).sum()))
        enough = not fits_closely(self.estimator) and rows >= ROWS_PER_FEATURE_AND_CLASS * weights
        setting = replace(self, folds=1) if enough and self.folds is None else self
        posterior, probabilities = setting.estimate(sample, cells, seed)
        given = GivenProbabilities(posterior.signatures, posterior.n_classes)
        descents = None
        if isinstance(self.estimator, Multinomial):
            fold = _folds_of(cells, fold_count(int(rows), setting.folds), seed)
            descents = Descents(self.estimator, self._features(sample, cells), fold)
            probabilities = numbered(probabilities)

        def learner(rows: Rows, count: int) -> Learner:
            own = given(rows.X, None)
            if descents is None:
                return ClassPlugInLearner(given, own, rows)
            numbers = np.asarray(rows.X[:, -1]).astype(np.intp)
            return DescendingLearner(given, own, rows, descents, numbers, remembered=True)

        return Prepared(PreparedModel(learner), probabilities, methodcaller("served", posterior), setting.folds != 1)

    def _fold(self, cells: Cells, sizes: NDArray[Any], seed: int) -> Fold:
        """The fold of each row, over all processes; warns of classes that some folds do not have."""
        count = fold_count(int(sizes.sum()), self.folds)
        _warn_of_rare(sizes, cells, count)
        return _folds_of(cells, count, seed)

    def _filling(self, estimator: Any, X: Any, cells: Cells, fold: Fold, seed: int, labels: Fill | None = None) -> Fill:
        if isinstance(estimator, Multinomial):
            return partial(_regressed, estimator, X, cells, fold)
        return super()._filling(estimator, X, cells, fold, seed, labels)


def _folds_of(cells: Cells, count: int, seed: int) -> Fold:
    """The fold of each row, stratified by cell over all processes; -1 for rows without weight."""
    used = cells.weights > 0
    fold = np.where(used, 0, -1).astype(np.int16)
    if count > 1:
        rows = np.flatnonzero(used)
        for k, part in enumerate(split_by_cell(cells.batch(rows), [1.0] * count, seed, "folds")):
            fold[rows[part]] = k
    return fold


def _regressed(setting: Multinomial, X: Any, cells: Cells, fold: Fold, target: NDArray[Any], out: Array) -> Any:
    """Fill in the probabilities of regressions on the rows of all processes; returns that of all rows."""
    classes, shared = out.shape[1], cells.shared

    def fit(weights: Array) -> Logistic | Certain:
        return setting.fit(X, target, weights, classes, shared)

    def predict(model: Logistic | Certain, X: Any) -> Array:
        return probabilities_by_class(model, X, classes)

    return fill_by_fold(fit, predict, X, fold, cells.weights, shared, out)


def _warn_of_rare(counts: NDArray[Any], cells: Cells, folds: int) -> None:
    """Warn of classes with fewer rows than folds: some classifiers are trained without them."""
    rare = [f"{cells.classes[k]!r} ({counts[k]})" for k in np.flatnonzero(counts < folds)]
    if rare and folds > 1:
        warn(
            f"classes with fewer rows than the {folds} folds that probabilities are estimated in: {listed(rare)}; "
            "their probabilities are too small where a fold has none of them",
            EquirateWarning,
        )


def of_linear(model: Linear, n_classes: int) -> ClassPlugIn:
    """Plug-in rules on multinomial logistic probabilities."""
    if model.radius is not None or model.spread:
        raise AlgorithmError(
            f"the radius and the spread of Linear are those of a game of two classes, and y has {n_classes}"
        )
    return ClassPlugIn(Multinomial(1.0 + model.penalty, model.intercept))


def of_plug_in(model: PlugIn, n_classes: int) -> ClassPlugIn:
    """The same classifiers, for more than two classes."""
    return ClassPlugIn(**{part.name: getattr(model, part.name) for part in fields(model)})


def of_oracle(model: Oracle, n_classes: int) -> Model:
    """Plug-in rules on the classifier's probabilities: it is fitted once, and not again for every cost.

    A classifier without probabilities is fitted to costs.
    """
    if not hasattr(model.estimator, "predict_proba"):
        return ClassOracle(model.estimator, model.fits, model.folds)
    return ClassPlugIn(model.estimator, folds=model.folds)
