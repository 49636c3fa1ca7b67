"""A mixture made deterministic: one score cuts the rows into bins, and each bin is decided by one member.

Members differ from each other only where they disagree, so it is enough that each bin has a member whose decisions,
summed up over all bins, have the mixture's rates (Cotter, Narasimhan and Gupta 2019, "On making stochastic classifiers
deterministic"). Which bin has which member is found by `selection.derandomization`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError, FileError
from .._core.rules import SCALAR, TEXT, ArrayOf, Either, ListOf, MapOf, Rule, maybe
from ..data.sample import Sample
from .contributions import Contributions
from .members import Array, Members, Written, named_inside
from .registry import read_members


@dataclass(frozen=True, eq=False)
class Derandomised(Members):
    """One classifier: the member of the bin that the mean score falls into decides.

    Attributes
    ----------
    base
        The members.
    weights
        Their shares in the mean score.
    edges
        Ends of the bins, rising; a score on an edge belongs to the bin above it.
    choice
        The member of each bin, one more than there are edges.
    """

    base: Members
    weights: Array
    edges: Array
    choice: NDArray[np.int64]
    settings_rule: ClassVar[Rule] = MapOf(Either((SCALAR, ListOf(maybe(TEXT)))))
    array_rules: ClassVar[Mapping[str, Rule]] = {
        "weights": ArrayOf("f", 1),
        "edges": ArrayOf("f", 1),
        "choice": ArrayOf("i", 1),
    }

    nested: ClassVar[str] = "base."

    @property
    def needs_attributes(self) -> bool:  # type: ignore[override]  # depends on the members
        """Whether predicting needs attributes."""
        return self.base.needs_attributes

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # depends on the members
        """Classes of the members."""
        return self.base.n_classes

    @property
    def width(self) -> int | None:
        """Features of the members."""
        return self.base.width

    def __len__(self) -> int:
        """One."""
        return 1

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[Any]:
        """Ask the member of each row's bin."""
        decided = self.base.decide(X, attributes=attributes)
        return decided[np.arange(len(decided)), self.deciding(X, attributes=attributes)][:, None]

    def decide_sample(self, sample: Sample) -> NDArray[Any]:
        """The same for a sample; only rows that the members decide differently need a score."""

        def decided() -> NDArray[Any]:
            by_member = self.base.decide_sample(sample)
            disputed, score = scores_of_disputed(self.base, self.weights, sample)
            decisions = by_member[:, :1].copy()
            decisions[disputed, 0] = by_member[disputed, self.choice[np.searchsorted(self.edges, score, side="right")]]
            return decisions

        decisions: NDArray[Any] = sample.remember((self,), decided)
        return decisions

    def deciding(self, X: Any, *, attributes: Any = None) -> NDArray[np.int64]:
        """The member that decides each row: that of its bin."""
        bins = np.searchsorted(
            self.edges, self.base.mean_score(X, weights=self.weights, attributes=attributes), side="right"
        )
        return np.asarray(self.choice[bins])

    def contributions(self, X: Any, *, attributes: Any = None) -> Contributions | None:
        """Those of the member that decides."""
        by_member = self.base.contributions(X, attributes=attributes)
        return None if by_member is None else by_member.picked(self.deciding(X, attributes=attributes))

    @property
    def has_scores(self) -> bool:
        """Whether the members have scores, and so a mean score."""
        return self.base.has_scores

    def scores(self, X: Any, *, attributes: Any = None) -> Array:
        """The members' mean score, moved just across 0 where it disagrees with the member that decides."""
        mean = self.base.mean_score(X, weights=self.weights, attributes=attributes)
        return moved_across(mean, self.decide(X, attributes=attributes)[:, 0])[:, None]

    def split_counts(self) -> Array | None:
        """Those of the members."""
        return self.base.split_counts()

    def take(self, indices: Sequence[int]) -> Members:
        """The only classifier."""
        if list(indices) != [0]:
            raise AlgorithmError(f"there is one classifier here; asked for {list(indices)}")
        return self

    def map(self, function: Callable[[Members], Members]) -> Members:
        """Apply a function to the members that decide."""
        return replace(self, base=self.base.map(function))

    def plain(self, width: int) -> Written:
        """Write the members and the bins."""
        kind, settings, arrays = self.base.plain(width)
        bins = {"weights": self.weights, "edges": self.edges, "choice": self.choice}
        inner = {f"{self.nested}{name}": array for name, array in arrays.items()}
        return Written("derandomised", {"base": kind, **settings}, {**bins, **inner})

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Read the members and the bins."""
        if not isinstance(settings.get("base"), str) or settings["base"] == "derandomised":
            raise FileError("a derandomised classifier is one of members of another kind")
        base_settings = {name: value for name, value in settings.items() if name != "base"}
        base = read_members(Written(settings["base"], base_settings, named_inside(arrays, cls.nested)))
        weights, edges, choice = arrays["weights"], arrays["edges"], arrays["choice"]
        fit = len(weights) == len(base) and len(choice) == len(edges) + 1 and (np.diff(edges) > 0).all()
        if not fit or choice.min() < 0 or choice.max() >= len(base):
            raise FileError("the bins of a derandomised classifier do not fit together")
        return cls(base, weights, edges, choice.astype(np.int64))


def disagree(decided: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows on which members disagree."""
    disputed, first = np.zeros(len(decided), dtype=bool), decided[:, 0]
    for member in decided.T[1:]:  # numpy takes ten times as long along rows of a few bytes
        disputed |= member != first
    return disputed


def scores_of_disputed(members: Members, weights: Array, sample: Sample) -> tuple[NDArray[np.intp], Array]:
    """The rows of a sample that members decide differently, and the mean scores of these."""

    def scored() -> tuple[NDArray[np.intp], Array]:
        disputed = np.flatnonzero(disagree(members.decide_sample(sample)))
        if not len(disputed):
            return disputed, np.zeros(0)
        rows = sample.take(disputed)
        return disputed, members.mean_score(rows.X, weights=weights, attributes=rows.examples.columns)

    result: tuple[NDArray[np.intp], Array] = sample.remember((members, weights), scored)
    return result


SCORE_SHIFT = 1e-9
"""How far from 0 scores are moved: less than scores of models differ by, and more than rounding of scores near 1."""


def moved_across(scores: Array, decided: NDArray[np.bool_]) -> Array:
    """Scores that are above 0 exactly where the decision is 1; those on the wrong side keep their order next to 0.

    Examples
    --------
    >>> moved_across(np.array([2.0, -1.0, -3.0, 0.5]), np.array([True, True, True, False])).round(12).tolist()
    [2.0, 5e-10, 2.5e-10, -6.67e-10]
    """
    side = np.where(decided, SCORE_SHIFT, -SCORE_SHIFT)
    return np.where((scores > 0) == decided, scores, side / (1 + np.abs(scores)))
