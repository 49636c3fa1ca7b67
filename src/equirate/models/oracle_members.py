"""Classifiers that an oracle fitted, as members of a mixture: thresholds or offsets on the scores of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from .contract import Array
from .cross_fitting import probabilities_by_class
from .forest_members import ForestMembers
from .forests import as_boosted, counted_splits, trees_of
from .members import Members, Written
from .sklearn_classifiers import Always, lines

_CERTAIN = 1e-9
"""Probabilities are clipped this far from 0 and 1, so that their log-odds are finite."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """One fit: the classifier for new rows, and out-of-fold scores of the rows of the table."""

    classifier: Any
    scores: Array


@dataclass(frozen=True, eq=False)
class FittedMembers(Members):
    """Rules on the scores of several fits, each of which scores once.

    Attributes
    ----------
    fitted
        The fits.
    place, offsets
        For each rule its fit, and what is subtracted from the scores: a threshold, or a number for each class (classes,
        rules).
    remembered
        Whether the last feature is the number of a row, which then has its out-of-fold scores.
    """

    fitted: tuple[Fitted, ...]
    place: NDArray[np.int64]
    offsets: Array
    remembered: bool = False

    @classmethod
    def of(cls, rules: Sequence[tuple[Fitted, Any]], remembered: bool) -> Self:
        """Rules as pairs of a fit and what is subtracted from its scores; each fit is stored once."""
        fitted, place = _stored_once([each for each, _ in rules])
        return cls(fitted, place, np.stack([offset for _, offset in rules], axis=-1), remembered)

    def __len__(self) -> int:
        """Count the rules."""
        return len(self.place)

    def served(self, posterior: Any) -> Self:
        """The same rules for features, instead of the row numbers of a game."""
        return replace(self, remembered=False)

    def take(self, indices: Sequence[int]) -> Members:
        """Select rules, and the fits that they need."""
        needed, place = np.unique(self.place[list(indices)], return_inverse=True)
        fitted = tuple(self.fitted[k] for k in needed)
        return replace(self, fitted=fitted, place=place, offsets=self.offsets[..., list(indices)])

    def concatenate(self, parts: Sequence[FittedMembers]) -> Members:
        """Rules on all fits, each of which scores once."""
        fitted, order = _stored_once([each for part in parts for each in part.fitted])
        begins = np.cumsum([0, *(len(part.fitted) for part in parts[:-1])])
        place = np.concatenate([order[part.place + begin] for part, begin in zip(parts, begins, strict=True)])
        offsets = np.concatenate([part.offsets for part in parts], axis=-1)
        return replace(self, fitted=fitted, place=place, offsets=offsets)

    def _scores_of_fits(self, X: Any) -> list[Array]:
        """Scores of each fit."""
        if self.remembered:
            rows = np.asarray(X[:, -1]).astype(np.intp)
            return [each.scores[rows] for each in self.fitted]
        return self._new_scores(X)

    def _new_scores(self, X: Any) -> list[Array]:
        """Scores of each fit for new rows."""
        raise NotImplementedError


def _stored_once(fits: Sequence[Fitted]) -> tuple[tuple[Fitted, ...], NDArray[np.int64]]:
    """The fits without repetitions, and the place of each among them."""
    distinct = {id(fitted): fitted for fitted in fits}
    order = {key: k for k, key in enumerate(distinct)}
    return tuple(distinct.values()), np.array([order[id(fitted)] for fitted in fits], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ScoredMembers(FittedMembers):
    """Thresholds on the scores of several classifiers."""

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[np.bool_]:
        """Score with each classifier, and compare."""
        return np.asarray(self.scores(X) > 0)

    def scores(self, X: Any, *, attributes: Any = None) -> Array:
        """How far the log-odds are above the threshold."""
        return np.stack(self._scores_of_fits(X), axis=1)[:, self.place] - self.offsets

    def _new_scores(self, X: Any) -> list[Array]:
        """Log-odds of the classifiers."""
        return [log_odds(classifier, X) for classifier in self._classifiers]

    @property
    def _classifiers(self) -> list[Any]:
        return [each.classifier for each in self.fitted]

    def split_counts(self) -> Array | None:
        """Number of splits by each feature; None where not all classifiers are trees."""
        return counted_splits([each for each in self._classifiers if not isinstance(each, Always)])

    @property
    def width(self) -> int | None:
        """Number of features of the classifiers, where it is known."""
        widths = [getattr(each, "n_features_in_", None) for each in self._classifiers]
        return next((width for width in widths if width is not None), None)

    def plain(self, width: int) -> Written:
        """Write trees as forests, and linear classifiers as such; others are refused by name."""
        if not self._all_trees:
            rows = lines(tuple(self._classifiers), width)[:, self.place]
            rows[-1] -= self.offsets
            return Written("linear", {"intercept": True}, {"coefficients": rows})
        return self._forests(width).plain(width)

    def forests(self) -> ForestMembers:
        """The same as `ForestMembers`, if all classifiers are trees."""
        if not self._all_trees:
            raise AlgorithmError("not all of these classifiers are trees that can be read")
        return self._forests(self.width or 1)

    @property
    def _all_trees(self) -> bool:
        return all(isinstance(each, Always) or as_boosted(each) is not None for each in self._classifiers)

    def _forests(self, width: int) -> ForestMembers:
        return ForestMembers.of_classifiers(self._classifiers, self.place, self.offsets, width)


def log_odds_of(chance: Array) -> Array:
    """Log-odds of probabilities, all finite."""
    chance = np.clip(chance, _CERTAIN, 1 - _CERTAIN)
    return np.asarray(np.log(chance / (1 - chance)))


def log_odds(classifier: Any, X: Any) -> Array:
    """Log-odds of the second class, or the decision function of a classifier without probabilities."""
    if isinstance(classifier, Always):
        return classifier.decision_function(X)
    boosted = trees_of(classifier)
    if boosted is not None:
        return boosted.decision_function(X)
    return log_odds_of(probabilities_by_class(classifier, X, 2)[:, 1])
