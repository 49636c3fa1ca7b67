r"""Plug-in rules for more than two classes: fit probabilities once, then an answer is a matrix product and a search.

With the probability :math:`P(y, s \mid x)` of label and signature (`posterior`), the classifier that minimises costs
:math:`k_{a, y, s}` of the answers a predicts the one with the smallest expected cost
:math:`\sum_{y, s} P(y \mid x) P(s \mid x) k_{a, y, s}`. A constant added to all costs of an answer, its *offset*, gives
a rule of the same kind: `class_offsets` searches the offsets whose decisions cost least on the rows themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from ..data.cells import Cells
from ..data.features import features
from ..data.mapped import is_mapped, scratch
from ..data.sample import Sample
from ..players.steps import StepRule
from .capabilities import Capabilities
from .class_descents import DescendingLearner, Descents
from .class_learner import ClassPlugInLearner
from .class_oracle import ClassOracle, ClassScoredMembers
from .class_probabilities import CrossFit, Fill, folds_of, parts_of, regressed, unequal_weights, warn_of_rare
from .class_rules import ClassPosterior, GivenClasses
from .contract import Learner, Model, Prepared
from .cross_fitting import Trainer, fold_count
from .linear import Linear
from .members import Members
from .multinomial import Multinomial
from .oracle import Oracle
from .plug_in import MOST_SIGNATURES, PlugIn, fits_closely
from .posterior import Signatures
from .rows import Rows

Array = NDArray[np.float64]
ENOUGH = 50
"""Number of rows per feature and class from which on a linear model is judged on the rows that it was fitted to."""


@dataclass(frozen=True, eq=False)
class ClassPlugIn(PlugIn):
    """Plug-in rules on the probabilities of more than two classes; its settings are those of `PlugIn`."""

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Fit the probabilities, once."""
        setting = self
        if self.folds is None and not fits_closely(self.estimator):
            setting = replace(self, folds=1)
        posterior, probabilities = setting.estimate_classes(
            rows.sample, rows.trained, int(seeds[0]) if len(seeds) else 0
        )
        if isinstance(self.estimator, Multinomial) and setting.folds == 1:
            descents = Descents(self.estimator, self._features(rows.sample, rows.trained), folds_of(rows.trained, 1, 0))
            return DescendingLearner(posterior, probabilities, rows, descents, slice(None), remembered=False)
        return ClassPlugInLearner(posterior, probabilities, rows)

    @property
    def capabilities(self) -> Capabilities:
        """Regressions add up over processes that share the rows; other classifiers need all rows in one place."""
        shares = isinstance(self.estimator, Multinomial) and self.group_estimator is None
        return replace(super().capabilities, shares_rows=shares, any_classes=True)

    def prepared(self, sample: Sample, cells: Cells, seed: int) -> Prepared:
        """Fit the probabilities, which replace the features in the game."""
        weights = cells.n_classes * (sample.X.shape[1] if np.ndim(sample.X) == 2 else 1)
        rows = cells.shared.total(int((cells.weights > 0).sum()))
        enough = not fits_closely(self.estimator) and rows >= ENOUGH * weights
        setting = replace(self, folds=1) if enough and self.folds is None else self
        posterior, probabilities = setting.estimate_classes(sample, cells, seed)
        inputs = GivenClasses(posterior.signatures, posterior.n_classes)
        descents = None
        if isinstance(self.estimator, Multinomial):
            fold = folds_of(cells, fold_count(int(rows), setting.folds), seed)
            descents = Descents(self.estimator, self._features(sample, cells), fold)
            probabilities = _numbered(probabilities)
        model = GivenClassPlugIn(inputs, descents)
        return Prepared(model, probabilities, ClassServing(posterior), setting.folds != 1)

    def estimate_classes(self, sample: Sample, cells: Cells, seed: int) -> tuple[ClassPosterior, Array]:
        """Classifiers for label and signature, and their probabilities for each row (rows, classes + signatures).

        Rows that have no weight are not trained on.
        """
        X = self._features(sample, cells)
        signatures = Signatures.of(cells, None if self.group_aware else self.groups)
        _, of = signatures.of_cells(cells)
        if not signatures.all_known and len(signatures) > MOST_SIGNATURES:
            raise AlgorithmError(
                f"the problem has {len(signatures)} combinations of groups, too many to estimate the probability of "
                f"each (at most {MOST_SIGNATURES}): look them up with groups=, or take fewer"
            )
        K, labels = cells.n_classes, cells.labels[cells.index]
        counts = cells.shared.total(np.bincount(labels[cells.weights > 0], minlength=K))
        count = fold_count(int(counts.sum()), self.folds)
        warn_of_rare(counts, cells, count)
        fold = folds_of(cells, count, seed)
        shape = len(sample), K + len(signatures)
        probabilities: Array = scratch(shape, np.float64) if is_mapped(X) else np.zeros(shape)
        fill = self._filling(self.estimator, X, cells, fold, seed)
        label = fill(labels, probabilities[:, :K])
        groups = None
        if not signatures.all_known:
            if self.group_estimator is not None:
                fill = self._filling(self.group_estimator, X, cells, fold, seed, fill)
            groups = fill(of.astype(np.int16)[cells.index], probabilities[:, K:])
        if signatures.all_known or len(signatures.looked_up):
            probabilities[:, K:] = signatures.among(probabilities[:, K:], sample.examples)
        return self._posterior(label, groups, signatures, X, K), probabilities

    def _features(self, sample: Sample, cells: Cells) -> Any:
        """The features that the classifiers are trained on, checked."""
        for estimator in (self.estimator, self.group_estimator):
            if estimator is not None and not hasattr(estimator, "predict_proba"):
                raise AlgorithmError(f"a plug-in needs predict_proba, which {estimator!r} does not have")
        X = sample.X if self.capabilities.missing_values else features(sample.X, len(sample))
        cells.shared.agree("the features", f"{X.shape[1]} columns")
        return X

    def _posterior(self, label: Any, groups: Any, signatures: Signatures, X: Any, n_classes: int) -> ClassPosterior:
        """Both classifiers as one posterior."""
        return ClassPosterior(label, groups, signatures, int(X.shape[1]), n_classes)

    def _filling(
        self, estimator: Any, X: Any, cells: Cells, fold: NDArray[np.int8], seed: int, labels: Fill | None = None
    ) -> Fill:
        """The function that fills in the probabilities of a classifier; for the groups after that of the labels."""
        if isinstance(estimator, Multinomial):
            return partial(regressed, estimator, X, cells, fold)
        weights = unequal_weights(cells, fold)
        if weights is not None:
            self._refuse_unweighted()
        if isinstance(labels, CrossFit):
            return CrossFit(labels.trainer.for_groups(estimator), weights)
        return CrossFit(Trainer.of(estimator, X, *parts_of(fold)), weights)


@dataclass(frozen=True, eq=False)
class GivenClassPlugIn(Model):
    """The plug-in of a game in which probabilities replace the features."""

    posterior: GivenClasses
    descents: Descents | None = None
    """Regressions on the features; the last column has the number of each row then."""

    @property
    def capabilities(self) -> Capabilities:
        """Each row's probabilities were estimated without it."""
        return Capabilities(out_of_sample=True, any_classes=True)

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Nothing is left to be fitted but regressions to costs."""
        probabilities = self.posterior(rows.X, None)
        if self.descents is None:
            return ClassPlugInLearner(self.posterior, probabilities, rows)
        numbers = np.asarray(rows.X[:, -1]).astype(np.intp)
        return DescendingLearner(self.posterior, probabilities, rows, self.descents, numbers, remembered=True)


@dataclass(frozen=True, eq=False)
class ClassServing:
    """Gives members of a game on probabilities the classifiers that estimate them."""

    posterior: ClassPosterior

    def __call__(self, members: Any) -> Members:
        """The same rules on features."""
        if isinstance(members, ClassScoredMembers):
            return members.served()
        return self.posterior.members(members.rules)


def _numbered(probabilities: Array) -> Array:
    """Probabilities, and the number of each row as a last column."""
    shape = len(probabilities), probabilities.shape[1] + 1
    numbered: Array = scratch(shape, np.float64) if is_mapped(probabilities) else np.empty(shape)
    numbered[:, :-1], numbered[:, -1] = probabilities, np.arange(len(probabilities))
    return numbered


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
