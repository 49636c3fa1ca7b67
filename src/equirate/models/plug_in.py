r"""A plug-in rule on class probabilities: fit once, then every best response costs one matrix product.

With the probability :math:`P(c \mid x)` that an example belongs to cell c, the classifier that minimises a weighted
sum of rates predicts 1 where the expected coefficient :math:`\sum_c P(c \mid x) k_c` is negative. A cell is a label and
a *signature*: the slices of an example, and the predictions of baselines. So two classifiers are enough, one for the
label and one for the signature, :math:`P(c \mid x) = P(y \mid x) \, P(s \mid x)`; attributes that are known when
predicting are used instead. Both are cross-fitted: a row's probabilities are those of classifiers that were trained
without it, so that rates hold on new data even where a classifier overfits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from ..data.cells import Cells
from ..data.features import features
from ..data.mapped import zeros_beside
from ..data.sample import Sample
from ..players.steps import StepRule
from .capabilities import Capabilities, Defaults
from .categorical import most_categories, with_categories
from .contract import Array, Learner, Model, Prepared, PreparedModel
from .cross_fitting import CrossFit, Fill, Fold, Trainer, fold_count, make_folds, parts_of, unequal_weights
from .plug_in_rules import PlugInLearner
from .posterior import (
    GivenProbabilities,
    Posterior,
    Signatures,
    label_columns,
)
from .rows import Rows
from .sklearn_classifiers import LINEAR
from .weighted_fit import weight_parameter

MOST_SIGNATURES = 128
"""Combinations of slices up to which the probability of each is estimated."""


@dataclass(frozen=True, eq=False)
class PlugIn(Model):
    """Thresholds on estimated probabilities, one linear rule in probability space per best response.

    Parameters
    ----------
    estimator
        A scikit-learn classifier with ``predict_proba``; logistic regression by default.
    group_aware
        False: estimate the probability of groups from x, so that predicting needs no attributes. True: look them up,
        so that predicting needs attributes.
    groups
        Names of the attributes that are used when predicting, where not all are.
    group_estimator
        A classifier for the groups; by default that for the label.
    folds
        Folds of the cross-fitting; by default 5, or 2 from 20,000 rows on. 1 trains and measures on the same rows.
    """

    estimator: Any = field(default_factory=lambda: _logistic())
    group_aware: bool = False
    groups: tuple[str, ...] = ()
    group_estimator: Any = None
    folds: int | None = None

    def __post_init__(self) -> None:
        is_integer = isinstance(self.folds, (int, np.integer)) and not isinstance(self.folds, bool)
        if self.folds is not None and (not is_integer or self.folds < 1):
            raise AlgorithmError(f"folds must be None or a whole number of at least 1; got {self.folds!r}")

    @property
    def capabilities(self) -> Capabilities:
        """Each row's probabilities are estimated without it, unless there is one fold."""
        limits = [most_categories(each) for each in self._classifiers]
        return Capabilities(
            fitted_before=True,
            out_of_sample=self.folds != 1,
            refitted=self.folds != 1,
            missing_values=all(map(takes_missing, self._classifiers)),
            max_categories=min((limit for limit in limits if limit is not None), default=None),
            trained_elsewhere=any(map(frozen_parts, self._classifiers)),
        )

    @property
    def title(self) -> str:
        """With the class of the classifier."""
        return f"PlugIn of a {type(self.estimator).__name__}"

    @property
    def _classifiers(self) -> list[Any]:
        return [each for each in (self.estimator, self.group_estimator) if each is not None]

    @property
    def defaults(self) -> Defaults:
        """Few rounds: answers are exact, and multipliers that step are asked for ratios only."""
        return Defaults(300, 0.1, (0.01, 0.03, 0.1))

    def with_categories(self, columns: tuple[int, ...]) -> Model | None:
        """Name the categorical features to the classifiers.

        Parameters
        ----------
        columns
            Positions of the columns that are codes of categories.

        Returns
        -------
        PlugIn or None
            A new model; None where a classifier takes no categories.
        """
        estimators = {"estimator": self.estimator, "group_estimator": self.group_estimator}
        changed = {name: with_categories(each, columns) for name, each in estimators.items() if each is not None}
        return replace(self, **changed) if all(each is not None for each in changed.values()) else None

    def with_groups(self, names: tuple[str, ...]) -> Model:
        """The rule that looks these attributes up.

        Parameters
        ----------
        names
            Names of attributes.

        Returns
        -------
        PlugIn
            A new model.
        """
        return replace(self, groups=names)

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Fit the probabilities, once.

        Parameters
        ----------
        rows
            The rows to train and to measure on.
        count
            Number of configurations.
        step
            Not used.
        seeds
            The first one is the seed of the folds.

        Returns
        -------
        Learner
            The rules of all configurations.
        """
        if self.folds is None and not fits_closely(self.estimator):
            # rows are judged by a model fitted to them, which hardly overfits
            return replace(self, folds=1).bind(rows, count, step, seeds)
        posterior, probabilities = self.estimate(rows.sample, rows.trained, int(seeds[0]) if len(seeds) else 0)
        return self._learner(posterior, probabilities, rows, count)

    def _learner(self, posterior: Posterior, probabilities: Array, rows: Rows, count: int) -> Learner:
        """The learner on rows with known probabilities."""
        return PlugInLearner(posterior, probabilities, rows, count)

    def prepared(self, sample: Sample, cells: Cells, seed: int) -> Prepared:
        """Fit the probabilities, which replace the features in the game.

        Parameters
        ----------
        sample
            The rows to fit on.
        cells
            Their cells, with the weights to train with.
        seed
            Seed of the folds.

        Returns
        -------
        Prepared
            The model of the game, and the probabilities that replace the features.
        """
        posterior, probabilities = self.estimate(sample, cells, seed)
        given = GivenProbabilities(posterior.signatures, posterior.n_classes)

        def learner(rows: Rows, count: int) -> Learner:
            return PlugInLearner(given, given(rows.X, None), rows, count)

        return Prepared(PreparedModel(learner), probabilities, methodcaller("served", posterior), self.folds != 1)

    def estimate(self, sample: Sample, cells: Cells, seed: int) -> tuple[Posterior, Array]:
        """Classifiers for label and signature, and their probabilities for each row.

        Rows that have no weight are not trained on.

        Parameters
        ----------
        sample
            The rows to fit on.
        cells
            Their cells, with the weights to train with.
        seed
            Seed of the folds.

        Returns
        -------
        posterior : Posterior
            The fitted classifiers.
        probabilities : numpy.ndarray
            Their estimates for each row.
        """
        X = self._features(sample, cells)
        signatures = Signatures.of(cells, None if self.group_aware else self.groups)
        if not signatures.all_known and len(signatures) > MOST_SIGNATURES:
            raise AlgorithmError(
                f"the problem has {len(signatures)} combinations of groups, too many to estimate the probability of "
                f"each (at most {MOST_SIGNATURES}): look them up (groups= of an estimator, PlugIn(group_aware=True)), "
                "take fewer or, for two classes, use an oracle"
            )
        _, signature = signatures.of_cells(cells)
        labels, count = cells.labels[cells.index], label_columns(cells.n_classes)
        sizes = cells.shared.total(np.bincount(labels[cells.weights > 0], minlength=cells.n_classes))
        fold = self._fold(cells, sizes, seed)
        probabilities = zeros_beside(X, (len(sample), count + len(signatures)))
        fill = self._filling(self.estimator, X, cells, fold, seed)
        label = fill(labels, probabilities[:, :count])
        groups = None
        if not signatures.all_known:
            if self.group_estimator is not None:
                fill = self._filling(self.group_estimator, X, cells, fold, seed, fill)
            if isinstance(fill, CrossFit) and cells.n_classes == 2:
                fill = replace(fill, average_trees=True)  # the mean of the folds is as good as a new fit
            groups = fill(signature.astype(np.int16)[cells.index], probabilities[:, count:])
        if signatures.all_known or len(signatures.looked_up):
            probabilities[:, count:] = signatures.among(probabilities[:, count:], sample.examples)
        return self._posterior(label, groups, signatures, X, cells.n_classes), probabilities

    def _features(self, sample: Sample, cells: Cells) -> Any:
        """The features that the classifiers are trained on, checked."""
        for estimator in self._classifiers:
            if not hasattr(estimator, "predict_proba"):
                raise AlgorithmError(f"a plug-in needs predict_proba, which {estimator!r} does not have")
        X = sample.X if self.capabilities.missing_values else features(sample.X, len(sample))
        cells.shared.agree("the features", f"{X.shape[1]} columns")
        return X

    def _fold(self, cells: Cells, sizes: NDArray[Any], seed: int) -> Fold:
        """The fold of each row; ``sizes`` are the numbers of rows of each class."""
        rows = np.flatnonzero(cells.weights > 0)
        count = min(fold_count(len(rows), self.folds), max(int(sizes.min()), 1))
        fold = np.full(len(cells.index), -1, dtype=np.int16)
        for k, part in enumerate(make_folds(cells, rows, count, seed)):
            fold[part] = k
        return fold

    def _filling(self, estimator: Any, X: Any, cells: Cells, fold: Fold, seed: int, labels: Fill | None = None) -> Fill:
        """The function that fills in the probabilities of a classifier; for the groups after that of the labels."""
        weights = unequal_weights(cells)
        if weights is not None:
            self._refuse_unweighted()
        if isinstance(labels, CrossFit):
            return CrossFit(labels.trainer.for_groups(estimator), weights)
        return CrossFit(Trainer.of(estimator, X, *parts_of(fold)), weights)

    def _posterior(self, label: Any, groups: Any, signatures: Signatures, X: Any, n_classes: int) -> Posterior:
        """Both classifiers as one posterior."""
        return Posterior(label, groups, signatures, int(X.shape[1]), n_classes)

    def _refuse_unweighted(self) -> None:
        for estimator in (self.estimator, self.group_estimator):
            if hasattr(estimator, "fit") and weight_parameter(estimator) is None:
                raise AlgorithmError(
                    f"the plug-in's {estimator!r} does not take sample_weight in fit, and the examples have weights: "
                    "choose one that does, or leave the weights out"
                )


def fits_closely(estimator: Any) -> bool:
    """Whether a classifier may overfit its training rows: any but a linear one."""
    return type(estimator).__name__ not in (*LINEAR, "Multinomial")


def takes_missing(estimator: Any) -> bool:
    """Whether a classifier declares that it takes missing features."""
    tags = getattr(estimator, "__sklearn_tags__", None)
    if tags is None:
        return bool(getattr(estimator, "takes_missing", False))
    return bool(tags().input_tags.allow_nan)


def frozen_parts(estimator: Any) -> list[Any]:
    """The classifier itself, or what it contains, where that is a ``FrozenEstimator``, which no fit trains again."""
    parts = estimator.get_params(deep=True).values() if hasattr(estimator, "get_params") else ()
    return [part for part in (estimator, *parts) if type(part).__name__ == "FrozenEstimator"]


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression  # takes a second: only where it is used

    return LogisticRegression(max_iter=1000)
