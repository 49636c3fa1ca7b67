"""Rules on given probabilities of more than two classes, for everybody or group by group: thresholds of many classes.

In: probabilities (rows, classes) that replace the features; from a scorer when predicting. Out: `ClassScores`, whose
rules predict the class with the smallest expected cost. Costs are those of label and group; if the problem
distinguishes more than the groups, they are means over the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError, FileError
from .._core.rules import ArrayOf, Fields, Whole
from ..data.labels import MAX_CLASSES
from ..data.slices import EVERYBODY, Slice
from ..players.steps import StepRule
from .capabilities import Capabilities
from .class_rules import ClassPlugInLearner, Searched, check_costs, decide, expected_costs, joint, lead
from .contract import Choice, Learner, Model
from .members import Members, Written
from .rows import Rows
from .thresholds import GROUPS, group_of_each, membership, plain_groups, read_groups

Array = NDArray[np.float64]
Probabilities = Callable[[Any], Array]
"""A function that returns probabilities (rows, classes) for features, or for given probabilities."""


def given_probabilities(X: Any) -> Array:
    """Probabilities that replace the features."""
    return np.asarray(X, dtype=float)


@dataclass(frozen=True, eq=False)
class ClassScores(Model):
    """Rules on given probabilities.

    Parameters
    ----------
    n_classes
        How many classes there are.
    groups
        Slices with rules of their own, which are looked up when predicting.
    """

    n_classes: int
    groups: tuple[Slice, ...] = (EVERYBODY,)

    @property
    def capabilities(self) -> Capabilities:
        """The probabilities are those of rows that their classifier has not seen."""
        return Capabilities(out_of_sample=True, thresholds=True, any_classes=True)

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Look the groups up."""
        return ClassScoresLearner(self, rows)


class ClassScoresLearner(ClassPlugInLearner):
    """Rules as costs (label and group, answers, rules)."""

    def __init__(self, setting: ClassScores, rows: Rows) -> None:
        self.setting, self.rows, count = setting, rows, len(setting.groups)
        self.size, self.n_classes = count, setting.n_classes
        cells = rows.cells
        chances = np.asarray(rows.X, dtype=float)
        group = membership(setting.groups, rows.sample.examples)
        self.probabilities = np.concatenate([chances, np.eye(count)[group]], axis=1)
        self.searched = Searched.of(self.probabilities, rows.trained, setting.n_classes)
        place = cells.labels[cells.index].astype(np.intp) * count + group
        weighed = np.zeros((setting.n_classes * count, len(cells)))
        np.add.at(weighed, (place, cells.index), cells.weights)
        self.mean = weighed / np.maximum(weighed.sum(axis=1, keepdims=True), 1e-300)

    def _by_place(self, costs: Array) -> Array:
        """(label and group, answers, responses): mean costs of the cells there."""
        answers = self._by_answer(costs)
        return np.asarray(np.einsum("pc,acm->pam", self.mean, answers))

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Put the chosen rules side by side."""
        rules = np.stack([snapshots[t][:, :, c] for t, c in chosen], axis=2)
        return ClassScoreMembers(given_probabilities, self.setting.groups, rules)

    def measurer(self, rows: Rows) -> Callable[[Members], Array]:
        """As the members decide."""
        return Learner.measurer(self, rows)


@dataclass(frozen=True, eq=False)
class ClassScoreMembers(Members):
    """Rules (label and group, answers, rules) on the probabilities of a scorer."""

    probabilities: Probabilities
    groups: tuple[Slice, ...]
    rules: Array
    settings_rule = Fields({"groups": GROUPS, "classes": Whole(3, MAX_CLASSES)})
    array_rules = {"costs": ArrayOf("f", 3)}  # noqa: RUF012  # frozen like the class

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # depends on the rules
        """Number of classes."""
        return int(self.rules.shape[1])

    @property
    def needs_attributes(self) -> bool:  # type: ignore[override]  # depends on the groups
        """Whether predicting needs attributes."""
        return self.groups != (EVERYBODY,)

    @property
    def scorer(self) -> Probabilities:
        """What gives the probabilities."""
        return self.probabilities

    def with_scorer(self, scorer: Probabilities) -> ClassScoreMembers:
        """The same rules on other probabilities."""
        return replace(self, probabilities=scorer)

    def __len__(self) -> int:
        """Count the rules."""
        return int(self.rules.shape[2])

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[Any]:
        """Predict the class with the smallest expected cost, as a code."""
        return decide(self._joint(X, attributes), self.rules)

    def mean_score(self, X: Any, *, weights: Array, attributes: Any = None) -> Array:
        """Difference between the second smallest and the smallest cost, at the mean costs of the rules."""
        return lead(expected_costs(self._joint(X, attributes), (self.rules @ weights)[:, :, None])[:, :, 0])

    def _joint(self, X: Any, attributes: Any) -> Array:
        chances = self.probabilities(X)
        if chances.ndim != 2 or chances.shape[1] != self.n_classes or not np.isfinite(chances).all():
            raise DataError(
                f"there must be finite probabilities of {self.n_classes} classes for each row; got {chances.shape}"
            )
        group = np.zeros(len(chances), dtype=np.intp)
        if self.needs_attributes:
            group = group_of_each(self.groups, len(chances), X, attributes, "rules")
        return joint(np.concatenate([chances, np.eye(len(self.groups))[group]], axis=1), self.n_classes)

    def take(self, indices: Sequence[int]) -> Members:
        """Keep some rules."""
        return replace(self, rules=self.rules[:, :, list(indices)])

    def concatenate(self, parts: Sequence[ClassScoreMembers]) -> Members | None:
        """All rules, where they are on the same probabilities."""
        if not all(part.probabilities is self.probabilities and part.groups == self.groups for part in parts):
            return None
        return replace(self, rules=np.concatenate([part.rules for part in parts], axis=2))

    def plain(self, width: int) -> Written:
        """Write the groups and the costs; the probabilities must be given ones."""
        if self.probabilities is not given_probabilities:
            raise FileError(
                f"rules on the probabilities of {self.probabilities!r} cannot be saved: only those on given ones can"
            )
        settings = {"groups": plain_groups(self.groups), "classes": self.n_classes}
        return Written("class_scores", settings, {"costs": self.rules})

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Read the groups and the costs."""
        groups = read_groups(settings["groups"])
        check_costs(arrays["costs"], settings["classes"])
        if len(arrays["costs"]) != settings["classes"] * len(groups):
            raise FileError("the groups and the costs of the classes do not fit together")
        return cls(given_probabilities, groups, arrays["costs"])
