"""Classifiers that an oracle fitted, as members of a mixture: thresholds on the scores of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from .contract import Array
from .cross_fitting import spread, trees_of
from .forest_members import ForestMembers
from .forests import as_boosted, counted_splits
from .members import Members, Written
from .plug_in import PlugInMembers, expected
from .posterior import Posterior
from .side_by_side import join_written
from .sklearn_classifiers import Always, lines

_CERTAIN = 1e-9
"""Probabilities are clipped this far from 0 and 1, so that their log-odds are finite."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """One fit: the classifier for new rows, and out-of-fold scores of the rows of the table."""

    classifier: Any
    scores: Array


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


def log_odds_of(chance: Array) -> Array:
    """Log-odds of probabilities, all finite."""
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
    def n_features_in_(self) -> int | None:
        """Number of features."""
        return self.posterior.width

    def decision_function(self, X: Any) -> Array:
        """Expected saving from predicting 1."""
        return -expected(self.posterior(X, None), self.k[:, None])[:, 0]


def log_odds(classifier: Any, X: Any) -> Array:
    """Log-odds of the second class, or the decision function of a classifier without probabilities."""
    if isinstance(classifier, Always):
        return classifier.decision_function(X)
    boosted = trees_of(classifier)
    if boosted is not None:
        return boosted.decision_function(X)
    rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    return log_odds_of(spread(classifier, X, 2, rows)[:, 1])
