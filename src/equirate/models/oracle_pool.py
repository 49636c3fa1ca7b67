"""What an oracle fits and when: a pool of fits with thresholds on their scores, and the learners that answer from it.

In: a classifier, features and costs. Out: `OracleLearner`, which fits for every answer, and takes thresholds on the
score of each fit where columns are generated; `PoolLearner`, which answers from all fits and plug-in rules. `oracle`
and, for more than two classes, `class_oracle` bind them. A classifier that ignores ``sample_weight`` cannot minimise
costs: `check_weights` warns of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateWarning
from .._core.warning import warn
from ..data.arrays import to_numpy
from ..data.cells import Cells
from ..data.sample import Sample, taken
from ..mixtures import Source
from .contract import Array, Choice, Learner
from .cross_fitting import Trainer, average_classifiers, make_folds, probabilities_by_class
from .members import Members
from .messages import Asked, Family, Seen
from .oracle_members import Fitted, ScoredMembers, log_odds_of
from .plug_in import MOST_SIGNATURES, PlugIn
from .plug_in_rules import PlugInMembers, by_place, expected
from .posterior import GivenProbabilities, Posterior, Signatures
from .registry import trainers_of
from .rows import Rows
from .side_by_side import of_two_kinds
from .sklearn_classifiers import Always
from .weighted_fit import fit_weighted

CUTS = 16
"""Thresholds on the score of each fit that are in the pool, in addition to its own."""
_SAME = 1 - 1e-6
"""Cosine from which on two cost vectors are treated as the same."""
_CHECKED, _FEWEST = 200, 4
"""Largest number of rows of each label that are used, and the smallest number with which the check is made."""
_TIMES = 50.0
"""Weight of one label relative to the other."""


class FitPool:
    """A table, and the classifiers that were fitted on it."""

    def __init__(self, estimator: Any, max_fits: int, X: Any, trained: Cells, folds: int, seed: int) -> None:
        self.estimator, self.max_fits, self.trained = estimator, max_fits, trained
        self.X = X if hasattr(X, "shape") else to_numpy(X)
        self.rows, self.unused = np.flatnonzero(trained.weights > 0), np.flatnonzero(trained.weights <= 0)
        self.folds = make_folds(trained, self.rows, folds, seed)
        self.posterior: Posterior | None = None
        self.probabilities = np.zeros((len(trained.index), 0))
        self.fitted: list[Fitted] = []
        self.directions: list[Array] = []
        self.fits = 0

    def may_fit(self, costs: Array) -> bool:
        """Whether to fit to costs per cell: if fits are left, and the costs have a new direction, which is kept."""
        return self.fits < self.max_fits and add_direction(costs, self.directions, _SAME)

    def estimate(self, sample: Sample, seed: int) -> None:
        """Estimate probabilities for answers that need no fit, where the classifier has them."""

    def learner(self, rows: Rows, numbers: NDArray[np.intp], count: int, remembered: bool) -> Learner:
        """Answers on rows that have these numbers in the table.

        Where scores are ``remembered``, rows are measured by out-of-fold predictions: instead of features they have
        estimated probabilities, if there are any, and their numbers.
        """
        raise NotImplementedError


def add_direction(costs: Array, directions: list[Array], same: float) -> bool:
    """Add the direction of costs to those known, unless its cosine with one of them is at least ``same``."""
    size = float(np.linalg.norm(costs))
    direction = costs / size if size else costs
    if any(float(direction @ known) >= same for known in directions):
        return False
    directions.append(direction)
    return True


class Pool(FitPool):
    """Fits for two classes, and the probabilities of plug-in rules."""

    def __init__(self, estimator: Any, max_fits: int, X: Any, trained: Cells, folds: int, seed: int) -> None:
        labels = trained.labels[trained.index[trained.weights > 0]]
        fewest = int(np.bincount(labels, minlength=2).min())
        super().__init__(estimator, max_fits, X, trained, min(folds, max(fewest, 1)), seed)
        self.trainer = Trainer.of(estimator, self.X, self.folds, self.unused)
        if type(self.trainer) is Trainer:  # trainers of boosting libraries use the weights
            check_weights(estimator, self.X, trained, self.rows)

    def learner(self, rows: Rows, numbers: NDArray[np.intp], count: int, remembered: bool) -> Learner:
        """Answers from everything that was fitted or, where scores are not remembered, new fits."""
        kind = PoolLearner if remembered else OracleLearner
        return kind(self, rows, numbers, count)

    def estimate(self, sample: Sample, seed: int) -> None:
        """Estimate probabilities of label and groups for the plug-in rule, where the classifier has them."""
        if not hasattr(self.estimator, "predict_proba"):
            return
        trainers = trainers_of(self.estimator)
        groups = None if trainers is None else trainers.cheaper(self.estimator)
        rule = PlugIn(self.estimator, group_estimator=groups, folds=max(len(self.folds), 2))
        if len(Signatures.of(self.trained, ())) <= MOST_SIGNATURES:
            self.posterior, self.probabilities = rule.estimate(replace(sample, X=self.X), self.trained, seed)

    def fit(self, cost: Array) -> Fitted:
        """Fit to the costs of the rows of the table."""
        self.fits += 1
        size = np.abs(cost)
        saves, used = bool((cost < 0).any()), int((size > 0).sum())
        if not saves or (cost <= 0).all():
            fitted = _constant(saves, len(cost))
        else:
            probabilities, models = self.trainer.cross_fit((cost < 0).astype(np.intp), size * (used / size.sum()), 2)
            fitted = Fitted(average_classifiers(models), log_odds_of(probabilities[:, 1]))
        self.fitted.append(fitted)
        return fitted


def _constant(answer: bool, rows: int) -> Fitted:
    """The same answer for everybody."""
    return Fitted(Always(answer), np.full(rows, 1.0 if answer else -1.0))


def check_weights(estimator: Any, X: Any, trained: Cells, rows: NDArray[np.intp]) -> None:
    """Warn of a classifier whose predictions do not depend on the weights: it cannot minimise costs."""
    from sklearn.base import clone  # takes a second: only where it is used

    labels = trained.labels[trained.index]
    parts = [rows[labels[rows] == label][: 2 * _CHECKED] for label in (0, 1)]
    if min(map(len, parts)) < _FEWEST:
        return
    fitted = np.sort(np.concatenate([part[::2] for part in parts]))
    judged = np.sort(np.concatenate([part[1::2] for part in parts]))
    target = labels[fitted].astype(np.intp)

    def predicted(heavy: int) -> Array:
        trial = clone(estimator)
        if "random_state" in trial.get_params(deep=False):
            trial.set_params(random_state=0)
        fit_weighted(trial, taken(X, fitted), target, np.where(target == heavy, _TIMES, 1.0))
        return probabilities_by_class(trial, taken(X, judged), 2)

    light, heavy = (predicted(label) for label in (0, 1))
    if not np.array_equal(light, heavy):
        return
    decided = light[:, 1] > 0.5
    name = type(estimator).__name__
    if decided.all() or not decided.any():
        text = (
            f"{name} predicts {int(decided[0])} for everybody, whichever label weighs more: as an oracle it has "
            "nothing to offer; choose one that distinguishes rows, or fewer constraints on how it may"
        )
    else:
        text = (
            f"{name} takes sample_weight and ignores it: its answers do not depend on the constraints. Choose another "
            "classifier, or use it as a plug-in (equirate.models.PlugIn), which needs no weights"
        )
    warn(text, EquirateWarning)


ThresholdRule = tuple[Fitted, float]
"""A fit, and the threshold that its score must be above."""


class OracleLearner(Learner):
    """The classifier of each configuration; every answer is a new fit."""

    remembered = False
    """Whether members take numbers of rows in the place of features."""

    def __init__(self, pool: Pool, rows: Rows, numbers: NDArray[np.intp], count: int) -> None:
        self.pool, self.rows, self.numbers = pool, rows, numbers
        self.now: list[ThresholdRule] = [(_constant(False, len(pool.trained.index)), 0.0)] * count

    def answer(self, asked: Asked) -> Seen:
        """Refit, configuration by configuration."""
        self.now = [(self.fit(costs), 0.0) for costs in asked.costs.T]
        decided = np.stack([fitted.scores[self.numbers] > cut for fitted, cut in self.now], axis=1)
        return Seen(self.rows.cells.sums(decided))

    def families(self) -> list[Family]:
        """The constant classifiers, and the classifier of the labels with thresholds on its scores."""
        constant: list[ThresholdRule] = [(_constant(yes, len(self.pool.trained.index)), 0.0) for yes in (False, True)]
        labels = self.fit(self.rows.trained.label_costs())
        return [self._family(constant, Source.CONSTANT), self._family(self._with_cuts(labels), Source.LABELS)]

    def respond(self, costs: Array) -> list[Family]:
        """A fit for each of the costs, with thresholds on its scores."""
        return [self._family(self._with_cuts(self.fit(column)), Source.PRICED) for column in costs.T]

    def _with_cuts(self, fitted: Fitted) -> list[ThresholdRule]:
        return [(fitted, cut) for cut in _cuts(fitted.scores[self.numbers][self.rows.trained.weights > 0])]

    def _family(self, cuts: list[ThresholdRule], source: Source) -> Family:
        decided = np.stack([fitted.scores[self.numbers] > cut for fitted, cut in cuts], axis=1)
        return Family(self.rows.cells.sums(decided), source, cuts)

    def fit(self, costs: Array) -> Fitted:
        """Fit to costs per cell."""
        cost = np.zeros(len(self.pool.trained.index))
        cost[self.numbers] = self.rows.trained.spread(costs[:, None])[:, 0]
        return self.pool.fit(cost)

    def resume(self, state: list[ThresholdRule]) -> None:
        """Restore the fitted classifiers."""
        self.now = list(state)

    def snapshot(self) -> list[ThresholdRule]:
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
        return ScoredMembers.of([snapshots[t][c] for t, c in chosen], self.remembered)


@dataclass(frozen=True, eq=False)
class PlugInRule:
    """A plug-in rule: costs of label and signature; all rules of a pool are on the same probabilities."""

    costs: Array


class PoolLearner(OracleLearner):
    """The classifier of each configuration; answers are chosen from all fits and all thresholds on their scores."""

    remembered = True

    def __init__(self, pool: Pool, rows: Rows, numbers: NDArray[np.intp], count: int) -> None:
        super().__init__(pool, rows, numbers, count)
        self.sums, self.measured = np.zeros((len(rows.cells), 0)), np.zeros((len(rows.cells), 0))
        self.candidates: list[ThresholdRule] = []
        self.known = self.given = 0
        self.answered: list[set[int]] = [set() for _ in range(count)]
        self._begin()

    def answer(self, asked: Asked) -> Seen:
        """The cheapest classifier of the pool; if that was an earlier answer, of the pool and one more fit."""
        index = [self._answer(c, costs) for c, costs in enumerate(asked.costs.T)]
        self.now = [self.candidates[k] for k in index]
        return Seen(self.measured[:, index])

    def _answer(self, c: int, costs: Array) -> int:
        best = self._cheapest(costs)
        for add in (self._add_rule, self._add_fit):
            if best in self.answered[c] and add(costs):
                best = self._cheapest(costs)
        self.answered[c].add(best)
        return best

    def families(self) -> list[Family]:
        """Everything that was fitted, with its thresholds."""
        self.given = len(self.candidates)
        return [Family(self.measured, Source.LABELS, list(self.candidates))]

    def respond(self, costs: Array) -> list[Family]:
        """A plug-in rule for each of the costs, or one more fit where the rule is in the pool already."""
        for column in costs.T:
            if not self._add_rule(column):
                self._add_fit(column)
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
        pool.fitted.append(Fitted(PlugInRule(k[:, 0] / (size if size else 1.0)), scores))
        self._learn_of_all()
        return True

    def _add_fit(self, costs: Array) -> bool:
        """Fit to these costs, if the pool may."""
        if not self.pool.may_fit(costs):
            return False
        self.fit(costs)
        self._learn_of_all()
        return True

    def _begin(self) -> None:
        """Start with the constant classifiers and the unconstrained one, which minimises the number of errors."""
        pool, rows = self.pool, len(self.pool.trained.index)
        if pool.fitted:  # another learner on the same rows has begun
            self._learn_of_all()
            return
        pool.fitted += [_constant(answer, rows) for answer in (False, True)]
        if pool.posterior is None:
            labels = pool.trained.labels[:, None]
            pool.fit(pool.trained.spread(np.where(labels == 1, -1.0, 1.0))[:, 0])
        else:
            pool.fitted.append(Fitted(pool.posterior.label, log_odds_of(pool.probabilities[:, 0])))
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

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Plug-in rules beside the fits; where there are any, constant classifiers are rules, too."""
        posterior, cuts = self.pool.posterior, [snapshots[t][c] for t, c in chosen]
        if posterior is None or not any(isinstance(fitted.classifier, PlugInRule) for fitted, _ in cuts):
            return super().members(snapshots, chosen)
        given, size = GivenProbabilities(posterior.signatures, posterior.n_classes), 2 * len(posterior.signatures)

        def costs(rule: PlugInRule | Always) -> Array:
            return rule.costs if isinstance(rule, PlugInRule) else np.full(size, -1.0 if rule.answer else 1.0)

        def rules(some: list[ThresholdRule]) -> Members:
            return PlugInMembers(given, np.stack([costs(fitted.classifier) for fitted, _ in some], axis=1))

        def fits(some: list[ThresholdRule]) -> Members:
            return ScoredMembers.of(some, self.remembered)

        return of_two_kinds(cuts, lambda cut: isinstance(cut[0].classifier, (PlugInRule, Always)), rules, fits)

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop the other configurations."""
        super().keep(columns)
        self.answered = [self.answered[c] for c in columns]


def _cuts(scores: Array) -> list[float]:
    """Zero, and thresholds in the middle between scores, that accept more and more of the rows."""
    values = np.unique(scores)
    if len(values) < 2:
        return [0.0]
    marks = np.quantile(scores, np.arange(1, CUTS + 1) / (CUTS + 1))
    above = np.unique(np.clip(np.searchsorted(values, marks, side="right"), 1, len(values) - 1))
    return [0.0, *((values[above - 1] + values[above]) / 2).tolist()]
