r"""A cost-sensitive oracle around any classifier of scikit-learn whose ``fit`` takes ``sample_weight``.

Minimising :math:`\sum_i c_i \hat y_i` is weighted classification: the target is 1 where the cost is negative, and the
weight is the cost's size. `equirate.solve` fits one for every answer, and measures it on the rows it was fitted to.

An estimator does better (`Oracle.prepared`). Its fits are cross-fitted: rows are measured by classifiers that were
trained without them, and the mean of those predicts new rows. Every fit gives a score, and every threshold on it is a
classifier: all of them are kept in a *pool*, which begins with the unconstrained classifier. Where the classifier has
probabilities, the plug-in rule (`plug_in`) answers too, at no cost, so that prices settle before the first fit. The
classifier is fitted again only where neither gives a new answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from ..data.arrays import to_numpy
from ..data.cells import Cells
from ..data.sample import Sample
from ..mixtures import Source
from ..players.steps import StepRule
from .capabilities import Capabilities, Defaults
from .categorical import most_categories, with_categories
from .contract import Array, Choice, Learner, Model, Prepared
from .cross_fitting import Trainer, average_classifiers, make_folds, spread, trees_of
from .forest_members import ForestMembers
from .forests import as_boosted, counted_splits
from .members import Members, Written
from .messages import Asked, Family, Seen
from .oracle_checks import check_weights
from .plug_in import MOST_SIGNATURES, PlugIn, PlugInMembers, by_place, expected, fits_closely, takes_missing
from .posterior import Posterior, Signatures
from .registry import trainers_of
from .rows import Rows
from .side_by_side import join_written
from .sklearn_classifiers import Always, lines
from .weighted_fit import weight_parameter

FITS = 8
"""Default number of fits of an oracle."""
CUTS = 16
"""Thresholds on the score of each fit that are in the pool, in addition to its own."""
_SAME = 1 - 1e-6
"""Cosine from which on two cost vectors are treated as the same."""
_CERTAIN = 1e-9
"""Probabilities are clipped this far from 0 and 1, so that their log-odds are finite."""


@dataclass(frozen=True, eq=False)
class Oracle(Model):
    """Refit a classifier at best responses.

    Parameters
    ----------
    estimator
        A scikit-learn classifier whose ``fit`` takes ``sample_weight``, or a pipeline that ends with one. It is
        cloned, never changed.
    fits
        Largest number of fits; later answers are thresholds on the scores of these.
    folds
        Folds of the cross-fitting in an estimator; by default 3, or 2 from 20,000 rows on. 1 trains and measures on the
        same rows, as `equirate.solve` does.
    """

    estimator: Any
    fits: int = FITS
    folds: int | None = None

    def __post_init__(self) -> None:
        if weight_parameter(self.estimator) is None:
            raise AlgorithmError(
                f"the oracle {self.estimator!r} does not take sample_weight in fit, so it cannot weigh costs: "
                "choose one that does, such as LogisticRegression, or a plug-in"
            )
        for name, value in (("fits", self.fits), ("folds", self.folds)):
            is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if value is not None and (not is_integer or value < 1):
                raise AlgorithmError(f"{name} of an oracle must be a whole number of at least 1; got {value!r}")

    @property
    def capabilities(self) -> Capabilities:
        """Cross-fitted if the classifier may overfit; the other capabilities are those of the classifier."""
        crossed = self.folds != 1 and fits_closely(self.estimator)
        return Capabilities(
            fitted_before=crossed,
            out_of_sample=crossed,
            missing_values=takes_missing(self.estimator),
            max_categories=most_categories(self.estimator),
        )

    def crossed_folds(self, rows: int) -> int:
        """Folds of the cross-fitting.

        Parameters
        ----------
        rows
            Rows to train on.

        Returns
        -------
        int
            Number of folds.
        """
        return (2 if rows >= 20_000 else 3) if self.folds is None else self.folds

    @property
    def title(self) -> str:
        """With the class of the classifier."""
        return f"Oracle of a {type(self.estimator).__name__}"

    def with_categories(self, columns: tuple[int, ...]) -> Model | None:
        """Name the categorical features to the classifier.

        Parameters
        ----------
        columns
            Positions of the columns that are codes of categories.

        Returns
        -------
        Oracle or None
            A new model; None where the classifier takes no categories.
        """
        estimator = with_categories(self.estimator, columns)
        return None if estimator is None else replace(self, estimator=estimator)

    @property
    def defaults(self) -> Defaults:
        """Rounds in which most answers come from the pool."""
        return Defaults(100, 0.1, (0.03, 0.1))

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Pass the features to the classifier as given.

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
            The classifiers that were fitted so far.
        """
        pool = Pool(self, _table(rows.X), rows.trained, 1 if self.folds is None else self.folds, 0)
        return OracleLearner(pool, rows, np.arange(len(rows)), count)

    def prepared(self, sample: Sample, cells: Cells, seed: int) -> Prepared | None:
        """Let the game have numbers of rows in the place of features, and judge rows by fits without them.

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
        Prepared or None
            None where the classifier is not cross-fitted.
        """
        if not self.capabilities.fitted_before:
            return None
        used = int((cells.weights > 0).sum())
        folds = self.crossed_folds(used)
        pool = Pool(self, _table(sample.X), cells, folds, seed)
        pool.estimate(sample, seed)
        numbers = np.arange(len(sample), dtype=float)[:, None]
        return Prepared(RowOracle(pool), numbers, _served)


@dataclass(frozen=True, eq=False)
class RowOracle(Model):
    """The oracle of a game in which row numbers replace the features."""

    pool: Pool

    @property
    def capabilities(self) -> Capabilities:
        """Each row is measured by classifiers that were trained without it."""
        return Capabilities(out_of_sample=True)

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Find the rows by their numbers."""
        return PoolLearner(self.pool, rows, np.asarray(rows.X)[:, 0].astype(np.intp), count)


@dataclass(frozen=True, eq=False)
class Fitted:
    """One fit: the classifier for new rows, and out-of-fold scores of the rows of the table."""

    classifier: Any
    scores: Array


class Pool:
    """A table, and the classifiers that were fitted on it."""

    def __init__(self, setting: Oracle, X: Any, trained: Cells, folds: int, seed: int) -> None:
        self.setting, self.X, self.trained = setting, X, trained
        rows = np.flatnonzero(trained.weights > 0)
        labels = trained.labels[trained.index[rows]]
        count = min(folds, max(int(np.bincount(labels, minlength=2).min()), 1))
        parts = make_folds(trained, rows, count, seed)
        unused = np.flatnonzero(trained.weights <= 0)
        self.trainer = Trainer.of(setting.estimator, X, parts, unused)
        self.fitted: list[Fitted] = []
        self.directions: list[Array] = []
        self.fits = 0
        self.posterior: Posterior | None = None
        self.probabilities = np.zeros((0, 0))
        if type(self.trainer) is Trainer:  # trainers of boosting libraries use the weights
            check_weights(setting.estimator, X, trained, rows)

    @property
    def full(self) -> bool:
        """Whether the largest number of fits is reached."""
        return self.fits >= self.setting.fits

    def estimate(self, sample: Sample, seed: int) -> None:
        """Estimate probabilities of label and groups for the plug-in rule, where the classifier has them."""
        if not hasattr(self.setting.estimator, "predict_proba"):
            return
        groups = cheaper(self.setting.estimator)
        rule = PlugIn(self.setting.estimator, group_estimator=groups, folds=max(len(self.trainer.folds), 2))
        if len(Signatures.of(self.trained, ())) <= MOST_SIGNATURES:
            self.posterior, self.probabilities = rule.estimate(replace(sample, X=self.X), self.trained, seed)

    def new(self, costs: Array) -> bool:
        """Whether costs per cell point in another direction than those of earlier fits."""
        size = float(np.linalg.norm(costs))
        direction = costs / size if size else costs
        return all(float(direction @ known) < _SAME for known in self.directions)

    def remember(self, costs: Array) -> None:
        """Keep the direction of costs per cell that are fitted to."""
        size = float(np.linalg.norm(costs))
        self.directions.append(costs / size if size else costs)

    def fit(self, cost: Array) -> Fitted:
        """Fit to the costs of the rows of the table."""
        self.fits += 1
        target, size = cost < 0, np.abs(cost)
        used = size > 0
        if not used.any() or target[used].all() or not target[used].any():
            answer = bool(used.any() and target[used].all())
            fitted = Fitted(Always(answer), np.full(len(cost), 1.0 if answer else -1.0))
        else:
            weights = size * (used.sum() / size.sum())
            fitted = self._trained(target.astype(np.intp), weights)
        self.fitted.append(fitted)
        return fitted

    def _trained(self, target: NDArray[np.intp], weights: Array) -> Fitted:
        crossed = self.trainer.cross_fit(target, weights, 2)
        return Fitted(average_classifiers(crossed.models), _logit(crossed.chances[:, 1]))


def _table(X: Any) -> Any:
    return X if hasattr(X, "shape") else to_numpy(X)


def _served(members: Any) -> Members:
    """The classifiers of a game on row numbers, as classifiers that score features."""
    return ScoredMembers(members.fitted, members.place, members.cuts)


Cut = tuple[Fitted, float]
"""A fit, and the threshold that its score must be above."""


class OracleLearner(Learner):
    """The classifier of each configuration; every answer is a new fit."""

    def __init__(self, pool: Pool, rows: Rows, numbers: NDArray[np.intp], count: int) -> None:
        self.pool, self.rows, self.numbers = pool, rows, numbers
        self.now: list[Cut] = [(Fitted(Always(False), np.full(len(pool.trained.index), -1.0)), 0.0)] * count

    def answer(self, asked: Asked) -> Seen:
        """Refit, configuration by configuration."""
        self.now = [(self.fit(costs), 0.0) for costs in asked.costs.T]
        decided = np.stack([fitted.scores[self.numbers] > cut for fitted, cut in self.now], axis=1)
        return Seen(self.rows.cells.sums(decided))

    def fit(self, costs: Array) -> Fitted:
        """Fit to costs per cell."""
        cost = np.zeros(len(self.pool.trained.index))
        cost[self.numbers] = self.rows.trained.spread(costs[:, None])[:, 0]
        return self.pool.fit(cost)

    def resume(self, state: list[Cut]) -> None:
        """Restore the fitted classifiers."""
        self.now = list(state)

    def snapshot(self) -> list[Cut]:
        """Keep the fitted classifiers."""
        return list(self.now)

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop the other configurations."""
        self.now = [self.now[c] for c in columns]

    def finite(self) -> NDArray[np.bool_]:
        """Always."""
        return np.ones(len(self.now), dtype=bool)

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Look the classifiers up; each is stored once, whatever the number of thresholds on it."""
        return self._members([snapshots[t][c] for t, c in chosen], remembered=False)

    def _members(self, cuts: Sequence[Cut], remembered: bool) -> Members:
        distinct = {id(fitted): fitted for fitted, _ in cuts}
        order = {key: k for k, key in enumerate(distinct)}
        place = np.array([order[id(fitted)] for fitted, _ in cuts], dtype=np.intp)
        return ScoredMembers(tuple(distinct.values()), place, np.array([cut for _, cut in cuts]), remembered)


class PoolLearner(OracleLearner):
    """The classifier of each configuration; answers are chosen from all fits and all thresholds on their scores."""

    def __init__(self, pool: Pool, rows: Rows, numbers: NDArray[np.intp], count: int) -> None:
        super().__init__(pool, rows, numbers, count)
        self.sums, self.measured = np.zeros((len(rows.cells), 0)), np.zeros((len(rows.cells), 0))
        self.candidates: list[Cut] = []
        self.known = self.given = 0
        self.answered: list[set[int]] = [set() for _ in range(count)]

    def answer(self, asked: Asked) -> Seen:
        """The cheapest classifier of the pool; if that was an earlier answer, of the pool and one more fit."""
        if not self.candidates:
            self._begin()
        index = [self._answer(c, costs) for c, costs in enumerate(asked.costs.T)]
        self.now = [self.candidates[k] for k in index]
        return Seen(self.measured[:, index])

    def _answer(self, c: int, costs: Array) -> int:
        best = self._cheapest(costs)
        if best in self.answered[c] and self.pool.posterior is not None and self._add_rule(costs):
            best = self._cheapest(costs)
        if best in self.answered[c] and not self.pool.full and self.pool.new(costs):
            self.pool.remember(costs)
            self.fit(costs)
            self._learn_of_all()
            best = self._cheapest(costs)
        self.answered[c].add(best)
        return best

    def families(self) -> list[Family]:
        """Everything that was fitted, with its thresholds."""
        if not self.candidates:
            self._begin()
        self.given = len(self.candidates)
        return [Family(self.measured, Source.LABELS, list(self.candidates))]

    def respond(self, costs: Array) -> list[Family]:
        """A plug-in rule for each of the costs, or one more fit where the rule is in the pool already."""
        for column in costs.T:
            if self._add_rule(column) or self.pool.full or not self.pool.new(column):
                continue
            self.pool.remember(column)
            self.fit(column)
            self._learn_of_all()
        first, self.given = self.given, len(self.candidates)
        if first == self.given:
            return []
        return [Family(self.measured[:, first:], Source.PRICED, self.candidates[first:])]

    def _add_rule(self, costs: Array) -> bool:
        """Add the plug-in rule for these costs to the pool, unless a classifier with the same sums is there."""
        pool = self.pool
        if pool.posterior is None:
            return False
        signatures = pool.posterior.signatures
        k = by_place(costs[:, None], signatures.of_cells(self.rows.cells)[0], len(signatures))
        size = float(np.abs(k).max())
        scores = -expected(pool.probabilities, k / (size if size else 1.0))[:, 0]
        sums = self.rows.trained.sums((scores[self.numbers] > 0)[:, None])
        if (np.abs(self.sums - sums).max(axis=0) == 0).any():
            return False
        pool.fitted.append(Fitted(PlugInRule(pool.posterior, k[:, 0] / (size if size else 1.0)), scores))
        self._learn_of_all()
        return True

    def _begin(self) -> None:
        """Start with the constant classifiers and the unconstrained one, which minimises the number of errors."""
        pool, rows = self.pool, len(self.pool.trained.index)
        pool.fitted += [Fitted(Always(answer), np.full(rows, 1.0 if answer else -1.0)) for answer in (False, True)]
        if pool.posterior is None:
            labels = pool.trained.labels[:, None]
            pool.fit(pool.trained.spread(np.where(labels == 1, -1.0, 1.0))[:, 0])
        else:
            pool.fitted.append(Fitted(pool.posterior.label, _logit(pool.probabilities[:, 0])))
        self._learn_of_all()

    def _cheapest(self, costs: Array) -> int:
        return int(np.argmin(self.sums.T @ costs))

    def _learn_of_all(self) -> None:
        """Measure the new fits, with their thresholds."""
        for fitted in self.pool.fitted[self.known :]:
            scores = fitted.scores[self.numbers]
            cuts = [0.0] if isinstance(fitted.classifier, PlugInRule) else _cuts(scores)
            decided = scores[:, None] > np.array(cuts)
            measured = self.rows.cells.sums(decided)
            trained = measured if self.rows.trained is self.rows.cells else self.rows.trained.sums(decided)
            self.measured, self.sums = np.hstack([self.measured, measured]), np.hstack([self.sums, trained])
            self.candidates += [(fitted, cut) for cut in cuts]
        self.known = len(self.pool.fitted)

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop the other configurations."""
        super().keep(columns)
        self.answered = [self.answered[c] for c in columns]

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Look the classifiers up."""
        return self._members([snapshots[t][c] for t, c in chosen], remembered=True)


def _cuts(scores: Array) -> list[float]:
    """Zero, and thresholds in the middle between scores, that accept more and more of the rows."""
    values = np.unique(scores)
    if len(values) < 2:
        return [0.0]
    marks = np.quantile(scores, np.arange(1, CUTS + 1) / (CUTS + 1))
    above = np.unique(np.clip(np.searchsorted(values, marks, side="right"), 1, len(values) - 1))
    return [0.0, *((values[above - 1] + values[above]) / 2).tolist()]


@dataclass(frozen=True, eq=False)
class ScoredMembers(Members):
    """Thresholds on the scores of several classifiers, each of which scores once.

    ``remembered``: features are row numbers, and each row has its out-of-fold score.
    """

    fitted: tuple[Fitted, ...]
    place: NDArray[np.intp]
    cuts: Array
    remembered: bool = field(default=False)

    def __len__(self) -> int:
        """Count the thresholds."""
        return len(self.place)

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[np.bool_]:
        """Score with each classifier, and compare."""
        return np.asarray(self.scores(X) > 0)

    def scores(self, X: Any, *, attributes: Any = None) -> Array:
        """How far the log-odds are above the threshold."""
        if self.remembered:
            rows = np.asarray(X)[:, 0].astype(np.intp)
            scores = np.stack([each.scores[rows] for each in self.fitted], axis=1)
        else:
            scores = _scores([each.classifier for each in self.fitted], X)
        return np.asarray(scores[:, self.place] - self.cuts)

    def split_counts(self) -> Array | None:
        """Number of splits by each feature; None where not all classifiers are trees."""
        rules = {id(each.posterior): each.posterior for each in self._learned(PlugInRule)}
        learned = [each for each in self._learned() if not isinstance(each, (Always, PlugInRule))]
        rule_classifiers = [part for each in rules.values() for part in (each.label, each.groups) if part is not None]
        return counted_splits([*learned, *rule_classifiers])

    def _learned(self, kind: type = object) -> list[Any]:
        return [each.classifier for each in self.fitted if isinstance(each.classifier, kind)]

    def take(self, indices: Sequence[int]) -> Members:
        """Select thresholds, and the classifiers that they need."""
        places = self.place[list(indices)]
        distinct = np.unique(places)
        fitted = tuple(self.fitted[k] for k in distinct)
        return ScoredMembers(fitted, np.searchsorted(distinct, places), self.cuts[list(indices)], self.remembered)

    def concatenate(self, parts: Sequence[ScoredMembers]) -> Members:
        """Thresholds on the scores of all classifiers, each of which scores once."""
        distinct = {id(fitted): fitted for part in parts for fitted in part.fitted}
        order = {key: k for k, key in enumerate(distinct)}
        place = [order[id(part.fitted[k])] for part in parts for k in part.place]
        cuts = np.concatenate([part.cuts for part in parts])
        return ScoredMembers(tuple(distinct.values()), np.array(place, dtype=np.intp), cuts, self.remembered)

    @property
    def width(self) -> int | None:
        """Number of features of the classifiers, where it is known."""
        widths = [getattr(each.classifier, "n_features_in_", None) for each in self.fitted]
        return next((width for width in widths if width is not None), None)

    def plain(self, width: int) -> Written:
        """Write trees as forests, linear classifiers and plug-in rules as such; others are refused by name."""
        learned = [each.classifier for each in self.fitted]
        is_rule = np.array([isinstance(each, PlugInRule) for each in learned], dtype=bool)[self.place]
        if is_rule.any():
            return self._with_rules(is_rule, width)
        if not all(isinstance(each, Always) or as_boosted(each) is not None for each in learned):
            rows = lines(tuple(learned), width)[:, self.place]
            rows[-1] -= self.cuts
            return Written("linear", {"intercept": True}, {"coefficients": rows})
        return self._forests(width).plain(width)

    def _with_rules(self, is_rule: NDArray[np.bool_], width: int) -> Written:
        """Write plug-in rules and the other classifiers as two parts."""
        rules = [self.fitted[k].classifier for k in self.place[is_rule]]
        k = np.stack([rule.k for rule in rules], axis=1)
        parts = [PlugInMembers(rules[0].posterior, k).plain(width)]
        others = np.flatnonzero(~is_rule)
        if len(others):
            parts.append(self.take(others.tolist()).plain(width))
        order = np.argsort(np.argsort(~is_rule, kind="stable"), kind="stable")
        return join_written(parts, order)

    def forests(self) -> ForestMembers:
        """The same as `ForestMembers`, if all classifiers are trees."""
        learned = [each.classifier for each in self.fitted]
        if not all(isinstance(each, Always) or as_boosted(each) is not None for each in learned):
            raise AlgorithmError("not all of these classifiers are trees that can be read")
        return self._forests(self.width or 1)

    def _forests(self, width: int) -> ForestMembers:
        return ForestMembers.of_classifiers([each.classifier for each in self.fitted], self.place, self.cuts, width)


def _logit(chance: Array) -> Array:
    chance = np.clip(chance, _CERTAIN, 1 - _CERTAIN)
    return np.asarray(np.log(chance / (1 - chance)))


def _scores(classifiers: Sequence[Any], X: Any) -> Array:
    """Scores of classifiers; rules on the same probabilities share them."""
    rules = [k for k, each in enumerate(classifiers) if isinstance(each, PlugInRule)]
    rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    scores = np.zeros((rows, len(classifiers)))
    if rules:
        first = classifiers[rules[0]]
        scores[:, rules] = -expected(first.posterior(X, None), np.stack([classifiers[k].k for k in rules], axis=1))
    for k, each in enumerate(classifiers):
        if not isinstance(each, PlugInRule):
            scores[:, k] = log_odds(each, X)
    return scores


@dataclass(frozen=True, eq=False)
class PlugInRule:
    """A plug-in rule: coefficients of label and signature; all rules of an oracle have the same probabilities."""

    posterior: Posterior
    k: Array

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self.posterior.width

    def decision_function(self, X: Any) -> Array:
        """Expected saving from predicting 1."""
        return -expected(self.posterior(X, None), self.k[:, None])[:, 0]


def cheaper(estimator: Any) -> Any:
    """A classifier of groups for the plug-in rule: fewer trees, if the classifier is one of a boosting library."""
    trainers = trainers_of(estimator)
    return None if trainers is None else trainers.cheaper(estimator)


def log_odds(classifier: Any, X: Any) -> Array:
    """Log-odds of the second class, or the decision function of a classifier without probabilities."""
    if isinstance(classifier, Always):
        return classifier.decision_function(X)
    boosted = trees_of(classifier)
    if boosted is not None:
        return boosted.decision_function(X)
    rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    return _logit(spread(classifier, X, 2, rows)[:, 1])
