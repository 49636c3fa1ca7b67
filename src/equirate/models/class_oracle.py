r"""A cost-sensitive oracle of more than two classes around a classifier that takes weights and has no probabilities.

With :math:`g_{ia}` the gain of answer a on row i over the most expensive answer, minimising the costs is weighted
classification: each row appears once for every answer with a gain, as its target, weighted by the gain. A classifier
that answers :math:`a_i` then errs by :math:`\sum_i \sum_{a \ne a_i} g_{ia}`, which is its cost and a constant. (A
target drawn in proportion to the gains, weighted by their sum, has the same expectation, and a variance.)

Every fit has a score for each class, and constants added to the scores, the *offsets* of `class_offsets`, give further
classifiers at no cost: they are the answers once the largest number of fits is reached. In an estimator the fits are
cross-fitted: rows are measured by classifiers that were trained without them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError, FileError
from .._core.rules import ArrayOf, Fields, Whole
from .._core.tree_threads import threads_for
from ..data.cells import Cells
from ..data.features import checked_features
from ..data.labels import MAX_CLASSES
from ..data.sample import count_rows, taken
from ..mixtures import Source
from .capabilities import Capabilities
from .class_offsets import cheapest_offsets, offset_grid
from .contract import Choice, Learner
from .cross_fitting import classes_of
from .members import Members, Written
from .messages import Family
from .oracle import Oracle
from .oracle_members import Fitted, FittedMembers
from .oracle_pool import FitPool, check_weights
from .rows import Rows, blocks
from .sklearn_classifiers import SAVED, describe_type, is_linear
from .weighted_fit import fit_weighted

Array = NDArray[np.float64]
Index = NDArray[np.intp]
_NOTHING = 1e-9
"""Gains up to this share of the largest are treated as rounding errors."""
_UNSEEN = -1e6
"""Score of a class that a classifier was not trained on: below all others, and within the precision of offsets."""


@dataclass(frozen=True, eq=False)
class ClassOracle(Oracle):
    """Refit a classifier without probabilities at best responses; its settings are those of `Oracle`."""

    @property
    def capabilities(self) -> Capabilities:
        """Cross-fitted, also for linear classifiers: a class has few rows to choose offsets on."""
        crossed = self.folds != 1
        return replace(
            super().capabilities, fitted_before=crossed, out_of_sample=crossed, refitted=crossed, any_classes=True
        )

    def _pool(self, X: Any, cells: Cells, folds: int, seed: int) -> FitPool:
        return ClassPool(self.estimator, self.fits, X, cells, folds, seed)


class ClassPool(FitPool):
    """Fits for more than two classes, with scores (rows, classes)."""

    def __init__(self, estimator: Any, max_fits: int, X: Any, trained: Cells, folds: int, seed: int) -> None:
        super().__init__(estimator, max_fits, X, trained, folds, seed)
        self.n_classes = trained.n_classes
        check_weights(estimator, self.X, trained, self.rows)

    def learner(self, rows: Rows, numbers: Index, count: int, remembered: bool) -> Learner:
        """Answers from all fits."""
        return ClassOracleLearner(self, rows, numbers, remembered)

    def fit(self, price: Array) -> Fitted:
        """Fit to the cost of each answer on each row of the table (rows, classes)."""
        self.fits += 1
        rows, targets, gains = reduced(price)
        scores = np.zeros((len(price), self.n_classes))
        scorers = []
        for fold in self.folds:
            used = np.ones(len(rows), dtype=bool) if len(self.folds) == 1 else ~np.isin(rows, fold)
            scorer = self._trained(rows[used], targets[used], gains[used])
            scores[fold] = scorer(taken(self.X, fold))
            if len(self.unused):
                scores[self.unused] += scorer(taken(self.X, self.unused)) / len(self.folds)
            scorers.append(scorer)
        self.fitted.append(Fitted(scorers[0] if len(scorers) == 1 else MeanScores(tuple(scorers)), scores))
        return self.fitted[-1]

    def _trained(self, rows: Index, targets: Index, gains: Array) -> Callable[[Any], Array]:
        from sklearn.base import clone  # takes a second: only where it is used

        present = np.unique(targets)
        if len(present) < 2:
            return SameAnswer(int(present[0]) if len(present) else 0, self.n_classes)
        weights = gains * (len(gains) / gains.sum())
        fitted = fit_weighted(clone(self.estimator), taken(self.X, rows), targets, weights)
        return ClassifierScores(fitted, self.n_classes)


def reduced(price: Array) -> tuple[Index, Index, Array]:
    """Rows, targets and weights of the classification problem whose errors are the costs, up to a constant.

    ``price`` is the cost of each answer on each row.

    Examples
    --------
    >>> rows, targets, weights = reduced(np.array([[0.0, 1.0, 1.0], [3.0, 1.0, 0.0]]))
    >>> rows.tolist(), targets.tolist(), weights.tolist()
    ([0, 1, 1], [0, 1, 2], [1.0, 2.0, 3.0])
    """
    gains = price.max(axis=1, keepdims=True) - price
    rows, targets = np.nonzero(gains > _NOTHING * gains.max(initial=0.0))
    return rows, targets, gains[rows, targets]


# -- scores -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SameAnswer:
    """The same answer for everybody."""

    answer: int
    n_classes: int

    def __call__(self, X: Any) -> Array:
        """1 for the answer, 0 for the others."""
        return np.tile(np.eye(self.n_classes)[self.answer], (count_rows(X), 1))


@dataclass(frozen=True, eq=False)
class ClassifierScores:
    """The decision function of a fitted classifier, or 1 for the class that it predicts."""

    classifier: Any
    n_classes: int

    def __call__(self, X: Any) -> Array:
        """Scores (rows, classes)."""
        rows, seen = count_rows(X), classes_of(self.classifier).astype(np.intp)
        if not rows:
            return np.zeros((0, self.n_classes))
        with threads_for(self.classifier, rows):
            if hasattr(self.classifier, "decision_function"):
                scores = np.asarray(self.classifier.decision_function(X), dtype=float)
                scores = np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores
            else:
                scores = (np.asarray(self.classifier.predict(X))[:, None] == seen).astype(float)
        if scores.shape != (rows, len(seen)) or not np.isfinite(scores).all():
            raise DataError(
                f"decision_function of {type(self.classifier).__name__} must give a finite number for each row and "
                f"class, shape {(rows, len(seen))}; got shape {scores.shape}"
            )
        result = np.full((rows, self.n_classes), _UNSEEN)
        result[:, seen] = scores
        return result


@dataclass(frozen=True, eq=False)
class MeanScores:
    """The mean of the scores of several classifiers."""

    scorers: tuple[Callable[[Any], Array], ...]

    def __call__(self, X: Any) -> Array:
        """Scores (rows, classes)."""
        return np.asarray(np.mean([scorer(X) for scorer in self.scorers], axis=0))


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Linear scores: coefficients (classes, features) and intercepts."""

    coefficients: Array
    intercepts: Array

    def __call__(self, X: Any) -> Array:
        """Scores (rows, classes)."""
        X = checked_features(X, self.coefficients.shape[1])
        return np.asarray(X @ self.coefficients.T + self.intercepts, dtype=float)

    @classmethod
    def of(cls, scorer: Any, width: int, n_classes: int) -> LinearScores:
        """The coefficients of a fitted linear classifier of scikit-learn; refuses any other."""
        if isinstance(scorer, cls):
            return scorer
        if isinstance(scorer, SameAnswer):
            return cls(np.zeros((n_classes, width)), np.eye(n_classes)[scorer.answer])
        if isinstance(scorer, MeanScores):
            parts = [cls.of(part, width, n_classes) for part in scorer.scorers]
            return cls(
                np.mean([part.coefficients for part in parts], axis=0),
                np.mean([part.intercepts for part in parts], axis=0),
            )
        learner = getattr(scorer, "classifier", scorer)
        if not is_linear(learner) or learner.coef_.shape[1] != width:
            raise FileError(f"the model holds {describe_type(learner)}, which cannot be saved: {SAVED}")
        slopes = np.atleast_2d(learner.coef_)
        constants = np.broadcast_to(learner.intercept_, len(slopes))
        return cls.of_seen(classes_of(learner), slopes, constants, n_classes)

    @classmethod
    def of_seen(cls, seen: NDArray[Any], slopes: Array, constants: Array, n_classes: int) -> LinearScores:
        """Scores of all classes, from those that a classifier has seen; of two, it has a score for the second alone."""
        if len(seen) == 2:
            slopes, constants = np.concatenate([-slopes, slopes]), np.concatenate([-constants, constants])
        coefficients, intercepts = np.zeros((n_classes, slopes.shape[1])), np.full(n_classes, _UNSEEN)
        coefficients[seen.astype(np.intp)], intercepts[seen.astype(np.intp)] = slopes, constants
        return cls(coefficients, intercepts)


# -- the learner ------------------------------------------------------------------------------------

OffsetRule = tuple[Fitted, Array]
"""A fit, and offsets that are subtracted from its scores."""


def answer_counts(rules: Sequence[OffsetRule], numbers: Index | slice, cells: Cells) -> Array:
    """Counts of the answers of rules on rows that have these numbers in the table, in blocks of rows."""
    counts = np.zeros((cells.n_counts, len(rules)))
    scores = {id(fitted): fitted.scores[numbers] for fitted, _ in rules}
    for rows in blocks(len(cells.index)):
        answers = [(scores[id(fitted)][rows] - offsets).argmax(axis=1) for fitted, offsets in rules]
        counts += cells.batch(rows).partial_counts(np.stack(answers, axis=1))
    return np.asarray(cells.shared.total(counts))


class ClassOracleLearner(Learner):
    """Answers from all fits, with offsets of the classes."""

    def __init__(self, pool: ClassPool, rows: Rows, numbers: Index, remembered: bool) -> None:
        self.pool, self.rows, self.numbers, self.remembered = pool, rows, numbers, remembered

    def families(self) -> list[Family]:
        """The constant classifiers, and the fit to the labels with each class made more and less frequent."""
        K = self.pool.n_classes
        constant = [SameAnswer(k, K) for k in range(K)]
        rules: list[OffsetRule] = [(Fitted(each, each(self.pool.X)), np.zeros(K)) for each in constant]
        labels = self.rows.cells.label_costs()
        if not self.pool.fitted and self.pool.may_fit(labels):
            self.pool.fit(self._price(labels))
        for fitted in self.pool.fitted:
            grid = offset_grid(-fitted.scores[self.numbers][self.rows.trained.weights > 0])
            rules += [(fitted, offsets) for offsets in grid.T]
        return [self._family(rules, Source.LISTED)]

    def respond(self, costs: Array) -> list[Family]:
        """A new fit for each of the costs while fits are allowed, and all fits with the cheapest offsets."""
        rules: list[OffsetRule] = []
        for column in costs.T:
            price = self._price(column)
            if self.pool.may_fit(column):
                rules.append((self.pool.fit(price), np.zeros(self.pool.n_classes)))
            row_price = price[self.numbers]
            rules += [(each, cheapest_offsets(-each.scores[self.numbers], row_price)) for each in self.pool.fitted]
        return [self._family(rules, Source.PRICED)]

    def _price(self, costs: Array) -> Array:
        """Cost of each answer on each row of the table (rows, classes)."""
        cells = self.rows.trained
        by_answer = np.concatenate([np.zeros((1, len(cells))), costs.reshape(-1, len(cells))])
        price = np.zeros((len(self.pool.trained.index), self.pool.n_classes))
        price[self.numbers] = by_answer[:, cells.index].T * cells.weights[:, None]
        return price

    def _family(self, rules: Sequence[OffsetRule], source: Source) -> Family:
        return Family(answer_counts(rules, self.numbers, self.rows.cells), source, list(rules))

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Look the rules up; each fit is stored once."""
        return ClassScoredMembers.of([snapshots[t][c] for t, c in chosen], self.remembered)


@dataclass(frozen=True, eq=False)
class ClassScoredMembers(FittedMembers):
    """Rules on the scores of several classifiers: the class whose score is furthest above its offset."""

    settings_rule = Fields({"classes": Whole(3, MAX_CLASSES), "width": Whole(1, 10_000_000)})
    array_rules = {  # noqa: RUF012  # frozen like the class
        **{"coefficients": ArrayOf("f", 3), "intercepts": ArrayOf("f", 2)},
        **{"place": ArrayOf("i", 1), "offsets": ArrayOf("f", 2)},
    }

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # depends on the offsets
        """Number of classes."""
        return len(self.offsets)

    @property
    def width(self) -> int | None:
        """Number of features, where it is known."""
        for each in self.fitted:
            if isinstance(each.classifier, LinearScores):
                return int(each.classifier.coefficients.shape[1])
        return None

    def _new_scores(self, X: Any) -> list[Array]:
        """Scores of each fit (rows, classes)."""
        return [each.classifier(X) for each in self.fitted]

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[Any]:
        """Predict the class whose score is furthest above its offset, as a code."""
        scores = self._scores_of_fits(X)
        dtype = np.uint8 if self.n_classes <= 255 else np.uint16
        answers = [(scores[k] - self.offsets[:, m]).argmax(axis=1) for m, k in enumerate(self.place)]
        return np.stack(answers, axis=1).astype(dtype)

    def mean_score(self, X: Any, *, weights: Array, attributes: Any = None) -> Array:
        """Difference between the best and the second best answer, in the mean of the rules' scores."""
        scores = self._scores_of_fits(X)
        share = np.bincount(self.place, weights=weights, minlength=len(scores))
        mean = sum((w * each for w, each in zip(share, scores, strict=True)), np.zeros(())) - self.offsets @ weights
        two = np.partition(mean, -2, axis=1)[:, -2:]
        return np.asarray(two[:, 1] - two[:, 0])

    def plain(self, width: int) -> Written:
        """Write linear classifiers as their coefficients; others are refused by name."""
        lines = [LinearScores.of(each.classifier, width, self.n_classes) for each in self.fitted]
        arrays = {
            "coefficients": np.stack([line.coefficients for line in lines]),
            "intercepts": np.stack([line.intercepts for line in lines]),
            "place": self.place,
            "offsets": self.offsets,
        }
        return Written("class_linear", {"classes": self.n_classes, "width": width}, arrays)

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Read them back."""
        coefficients, intercepts, place = arrays["coefficients"], arrays["intercepts"], arrays["place"]
        fits, K = len(coefficients), settings["classes"]
        fit = coefficients.shape == (fits, K, settings["width"]) and intercepts.shape == (fits, K)
        fit = fit and fits > 0 and arrays["offsets"].shape == (K, len(place)) and len(place) > 0
        if not fit or place.min() < 0 or place.max() >= fits:
            raise FileError("the scores and offsets of linear classifiers do not fit together")
        none = np.zeros((0, K))
        lines = tuple(Fitted(LinearScores(coefficients[k], intercepts[k]), none) for k in range(fits))
        return cls(lines, place, arrays["offsets"])
