"""Thresholds on the scores of a trained classifier, one in all or one per group: an exact oracle in O(n).

The best response to per-example costs is found by sorting once: in each group, the best threshold is where the
running sum of the costs, from the highest score down, is smallest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.cached import cached_property
from .._core.errors import DataError, FileError
from .._core.rules import TEXT, ArrayOf, Fields, ListOf, Number, maybe
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.predictions import scores_of
from ..data.slices import EVERYBODY, Slice
from ..players.steps import StepRule
from ..problem.written import as_text, read_slice
from .capabilities import Capabilities
from .contract import Array, Choice, ColumnLearner, Learner, Model
from .contributions import Contributions
from .members import Members, Written
from .messages import Asked, Seen
from .rows import Rows

ScoreFunction = Callable[[Any], Any]
MOST_LISTED = 2_000_000
"""Cells times thresholds up to which all of them are listed."""
GROUPS = maybe(ListOf(TEXT, 1000, 1))
"""What groups in a file must be: `plain_groups`."""


@dataclass(frozen=True)
class GivenScores:
    """Scores that replace the features; ``sign`` is -1 if low scores mean label 1."""

    sign: float = 1.0

    def __call__(self, X: Any) -> Array:
        """Check the scores."""
        return self.sign * scores_of(X)

    def contributions(self, X: Any) -> Contributions:
        """The score is its only part."""
        return Contributions.of(0.0, self(X)[:, None, None])


@dataclass(frozen=True, eq=False)
class Thresholds(Model):
    """Predict 1 where a given score is above a threshold.

    Parameters
    ----------
    scorer
        Function from features to one score per example.
    groups
        Slices that do not overlap and cover everybody, each with a threshold of its own; predicting then needs
        attributes. By default one threshold for everybody.
    """

    scorer: ScoreFunction
    groups: tuple[Slice, ...] = (EVERYBODY,)

    @property
    def capabilities(self) -> Capabilities:
        """Exact: every threshold is compared. Rates of so few classifiers hold on new rows."""
        return Capabilities(exact=True, rows_per_feature=0, thresholds=True)

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Score and sort once.

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
            The thresholds of all configurations.
        """
        return ThresholdLearner(self, rows, count)


class ThresholdLearner(ColumnLearner):
    """Thresholds (groups, configurations)."""

    def __init__(self, setting: Thresholds, rows: Rows, count: int) -> None:
        score, group = _scores(setting.scorer, rows.X, len(rows)), membership(setting.groups, rows.sample.examples)
        self.setting, self.rows, self.score, self.group = setting, rows, score, group
        self.order = np.lexsort((-score, group))
        self.sorted = score[self.order]
        self.cell, self.weight = rows.trained.index[self.order], rows.trained.weights[self.order, None]
        self.bounds = np.searchsorted(group[self.order], np.arange(len(setting.groups) + 1))
        self.parameters = np.full((len(setting.groups), count), np.inf)

    def answer(self, asked: Asked) -> Seen:
        """Find the cheapest threshold of every group and configuration."""
        costs = asked.costs[self.cell] * self.weight
        groups = [slice(*self.bounds[g : g + 2]) for g in range(len(self.setting.groups))]
        self.parameters = np.stack([_cheapest(self.sorted[rows], costs[rows]) for rows in groups])
        return Seen(self.rows.cells.sums(self.score[:, None] > self.parameters[self.group]))

    @cached_property
    def _edges(self) -> Array | None:
        """All thresholds between the scores, ascending; None where groups have their own."""
        if len(self.setting.groups) > 1 or self.rows.shared.size > 1:
            return None
        values = np.unique(self.score)
        if len(values) * len(self.rows.cells) > MOST_LISTED:
            return None
        return np.concatenate([[-np.inf], midway(values[:-1], values[1:]), [np.inf]])

    def every_sum(self) -> Array | None:
        """All thresholds, where groups have none of their own."""
        return self._every_sum

    @cached_property
    def _every_sum(self) -> Array | None:
        return None if self._edges is None else sums_above(self._edges, self.score, self.rows.cells)

    def every_snapshot(self, chosen: NDArray[np.intp]) -> Array:
        """Some of the thresholds."""
        assert self._edges is not None  # callers have called `every_sum`
        return self._edges[chosen][None]

    def finite(self) -> NDArray[np.bool_]:
        """Infinite thresholds are valid: only NaN is not."""
        return np.asarray(~np.isnan(self.parameters).any(axis=0))

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Put the chosen columns side by side."""
        return ThresholdMembers(self.setting, np.stack([snapshots[t][:, c] for t, c in chosen], axis=1))


@dataclass(frozen=True, eq=False)
class ThresholdMembers(Members):
    """Thresholds (groups, classifiers) on one score."""

    setting: Thresholds
    cuts: Array
    settings_rule = Fields({"groups": GROUPS, "sign": Number(-1, 1)})
    array_rules = {"cuts": ArrayOf("f", 2, infinite=True)}  # noqa: RUF012  # frozen like the class

    @property
    def needs_attributes(self) -> bool:  # type: ignore[override]  # depends on the groups
        """Whether predicting needs attributes."""
        return self.setting.groups != (EVERYBODY,)

    def __len__(self) -> int:
        """Count the columns."""
        return int(self.cuts.shape[1])

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[np.bool_]:
        """Predict 1 where the score is above the threshold of the example's group."""
        score = _scores(self.setting.scorer, X, None)
        return np.asarray(score[:, None] > self._cuts(len(score), X, attributes))

    def _cuts(self, rows: int, X: Any, attributes: Any) -> Array:
        """The thresholds of each row's group (rows, classifiers)."""
        if not self.needs_attributes:
            return np.broadcast_to(self.cuts, (rows, len(self)))
        return self.cuts[group_of_each(self.setting.groups, rows, X, attributes, "a threshold")]

    def mean_score(self, X: Any, *, weights: Array, attributes: Any = None) -> Array:
        """The score itself: the members' thresholds are all on it."""
        return _scores(self.setting.scorer, X, None)

    def contributions(self, X: Any, *, attributes: Any = None) -> Contributions | None:
        """Those of the score less the threshold; None for a scorer without contributions."""
        explain = getattr(self.setting.scorer, "contributions", None)
        score_parts: Contributions | None = None if explain is None else explain(X)
        if score_parts is None:
            return None
        cuts = self._cuts(len(score_parts.base), X, attributes)
        features = np.broadcast_to(score_parts.features, (len(cuts), len(self), score_parts.features.shape[2]))
        return Contributions.of(score_parts.base - cuts, features)

    def take(self, indices: Sequence[int]) -> Members:
        """Keep some columns."""
        return ThresholdMembers(self.setting, self.cuts[:, list(indices)])

    def concatenate(self, parts: Sequence[ThresholdMembers]) -> Members | None:
        """All thresholds, where they are on the same score."""
        if not all(part.setting is self.setting for part in parts):
            return None
        return ThresholdMembers(self.setting, np.concatenate([part.cuts for part in parts], axis=1))

    @property
    def scorer(self) -> ScoreFunction:
        """The scorer."""
        return self.setting.scorer

    def with_scorer(self, scorer: ScoreFunction) -> Members:
        """The same thresholds on other scores."""
        return replace(self, setting=replace(self.setting, scorer=scorer))

    def constants(self) -> Members:
        """Thresholds at infinity."""
        return ThresholdMembers(self.setting, np.repeat([[np.inf, -np.inf]], len(self.cuts), axis=0))

    def plain(self, width: int) -> Written:
        """Write the groups and the thresholds; the scores must be given ones."""
        scorer = self.setting.scorer
        if not isinstance(scorer, GivenScores):
            raise FileError(f"thresholds on the scores of {scorer!r} cannot be saved: only those on given scores can")
        settings = {"groups": plain_groups(self.setting.groups), "sign": scorer.sign}
        return Written("thresholds", settings, {"cuts": self.cuts})

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Read the groups and the thresholds."""
        groups = read_groups(settings["groups"])
        if len(arrays["cuts"]) != len(groups) or settings["sign"] not in (-1, 1):
            raise FileError("the groups and the thresholds do not fit together")
        return cls(Thresholds(GivenScores(settings["sign"]), groups), arrays["cuts"])


def plain_groups(groups: Sequence[Slice]) -> list[str] | None:
    """Groups as text for files; None for everybody."""
    return None if tuple(groups) == (EVERYBODY,) else list(map(as_text, groups))


def read_groups(written: Sequence[str] | None) -> tuple[Slice, ...]:
    """Groups from a file."""
    return (EVERYBODY,) if written is None else tuple(map(read_slice, written))


def group_of_each(groups: Sequence[Slice], rows: int, X: Any, attributes: Any, kept: str) -> NDArray[np.intp]:
    """Group of each of new rows; the error for missing attributes says what is ``kept`` for each group."""
    examples = Examples.of(np.zeros(rows), attributes, fallback=X)
    missing = sorted(set().union(*(group.attributes for group in groups)) - set(examples.columns))
    if missing:
        raise DataError(
            f"this classifier has {kept} for each group: give attributes (sensitive_features) with "
            f"{', '.join(map(repr, missing))} when predicting"
        )
    return membership(groups, examples)


def membership(groups: Sequence[Slice], examples: Examples) -> NDArray[np.intp]:
    """Group of each example; refuses groups that overlap or do not cover all examples."""
    masks = np.stack([examples.mask(group) for group in groups])
    times = masks.sum(axis=0)
    if (times != 1).any():
        none, several = int((times == 0).sum()), int((times > 1).sum())
        raise DataError(
            f"the groups must not overlap and must cover everybody: {none} examples are in no group, "
            f"{several} in more than one"
        )
    return np.asarray(np.argmax(masks, axis=0))


def _scores(scorer: ScoreFunction, X: Any, length: int | None) -> Array:
    scores = np.asarray(scorer(X), dtype=float)
    if scores.ndim != 1 or (length is not None and len(scores) != length):
        raise DataError(f"the scorer must give one score per example; got shape {scores.shape}")
    if not np.isfinite(scores).all():
        raise DataError("the scorer gave NaN or infinite scores")
    return scores


def _cheapest(score: Array, costs: Array) -> Array:
    """Threshold with the smallest sum of costs above it, per column; midway between neighbouring scores."""
    running = np.concatenate([np.zeros((1, costs.shape[1])), np.cumsum(costs, axis=0)])
    allowed = np.concatenate([[True], score[1:] < score[:-1], [True]]) if len(score) else np.array([True])
    running[~allowed] = np.inf  # a threshold cannot separate equal scores
    accepted = np.argmin(running, axis=0)
    padded = np.concatenate([[np.inf], score, [-np.inf]])
    upper, lower = padded[accepted], padded[accepted + 1]
    with np.errstate(invalid="ignore"):
        middle = midway(lower, upper)
    return np.where(accepted == 0, np.inf, np.where(accepted == len(score), -np.inf, middle))


def midway(lower: NDArray[Any], upper: NDArray[Any]) -> NDArray[Any]:
    """Thresholds in the middle; the lower number where there is no float between the two."""
    middle = lower / 2 + upper / 2
    return np.where((lower <= middle) & (middle < upper), middle, lower)


def sums_above(thresholds: NDArray[Any], scores: NDArray[Any], cells: Cells) -> Array:
    """Sums over the examples of all processes (cells, thresholds); the thresholds rise from -infinity."""
    counts = np.zeros((len(cells), len(thresholds)))
    np.add.at(counts, (cells.index, np.searchsorted(thresholds, scores, side="left") - 1), cells.weights)
    return np.asarray(cells.shared.total(counts)[:, ::-1].cumsum(axis=1)[:, ::-1])
