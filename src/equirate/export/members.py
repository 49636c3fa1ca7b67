"""The decisions of every kind of members as ONNX graphs.

In: members as they are written to files, so that the export decides like a loaded file. Out: the name of a
tensor of decisions (rows, members) and, where one classifier is made of them, of their mean score. A kind without an
entry in `KINDS`, and members that look attributes up, are refused by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError, FileError
from ..models.forests import Boosted
from ..models.members import Members
from ..models.registry import read_members
from . import linear, trees
from .graph import Graph
from .probing import beside, split_rows

Array = NDArray[np.float64]
REFUSED = (
    "linear models, thresholds, plug-in rules and trees can be exported to ONNX; these classifiers cannot: {reason}"
)


class MembersExport(ABC):
    """Members of one kind, as graphs."""

    missing = False
    """Whether Python accepts NaN in the features."""

    @abstractmethod
    def decisions(self, graph: Graph, X: str) -> str:
        """Whether each member predicts 1 (rows, members)."""

    @abstractmethod
    def mean_score(self, graph: Graph, X: str, weights: Array) -> str:
        """The weighted mean of the scores (rows, 1)."""

    def rows(self, rng: np.random.Generator, count: int, width: int) -> Array:
        """Rows that are hard to decide: at thresholds, beside them, on edges, missing."""
        return rng.normal(size=(count, width))


def refuse_classes(classifier: Any) -> None:
    """Refuse more than two classes."""
    if classifier.n_classes > 2:
        reason = f"they have {classifier.n_classes} classes, and only two can be exported"
        raise EquirateError(REFUSED.format(reason=reason))


def as_saved(members: Members, width: int) -> Members:
    """Members as a file has them; an error if they cannot be exported."""
    if members.needs_attributes:
        raise EquirateError(REFUSED.format(reason="they look attributes up when they predict"))
    try:
        written = members.plain(width)
    except FileError as error:
        raise EquirateError(REFUSED.format(reason=str(error))) from None
    if written.kind not in KINDS:
        raise EquirateError(REFUSED.format(reason=f"they are of the kind {written.kind!r}"))
    return read_members(written)


def of_members(members: Members, width: int) -> MembersExport:
    """The graphs of members; an error says why there are none."""
    saved = as_saved(members, width)
    return KINDS[saved.plain(width).kind](saved)


class _Linear(MembersExport):
    def __init__(self, members: Any) -> None:
        self.W = members.with_intercept

    def decisions(self, graph: Graph, X: str) -> str:
        return linear.decisions(graph, X, self.W)

    def rows(self, rng: np.random.Generator, count: int, width: int) -> Array:
        """Every second row is moved onto the edge of a member, as near as rounding lets it be."""
        V = self.W.astype(float)
        X = rng.normal(size=(count, width))
        moved_rows = np.arange(0, count, 2)
        chosen = V[:, rng.integers(V.shape[1], size=len(moved_rows))]
        score = (X[moved_rows] * chosen[:-1].T).sum(axis=1) + chosen[-1]
        length = (chosen[:-1] ** 2).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = X[moved_rows] - (score / length)[:, None] * chosen[:-1].T
        X[moved_rows] = np.where(np.abs(moved) < 1e100, moved, X[moved_rows])
        return X

    def mean_score(self, graph: Graph, X: str, weights: Array) -> str:
        mean = (self.W.astype(float) @ weights)[:, None]
        return linear.products(graph, linear.rounded(graph, X, self.W.dtype), mean)


class _Thresholds(MembersExport):
    """Thresholds on a score that is given instead of features."""

    def __init__(self, members: Any) -> None:
        self.sign, self.cuts = members.setting.scorer.sign, members.cuts

    def decisions(self, graph: Graph, X: str) -> str:
        return graph.op("Greater", self._score(graph, X), graph.constant(self.cuts))

    def mean_score(self, graph: Graph, X: str, weights: Array) -> str:
        return self._score(graph, X)

    def rows(self, rng: np.random.Generator, count: int, width: int) -> Array:
        """Scores at the thresholds and beside them."""
        cuts = self.sign * self.cuts[np.isfinite(self.cuts)]
        return beside(rng, cuts, count)[:, None] if len(cuts) else rng.normal(size=(count, width))

    def _score(self, graph: Graph, X: str) -> str:
        return graph.op("Mul", X, graph.constant(self.sign, np.float64))


class _Forests(MembersExport):
    """Thresholds on prefixes of ensembles."""

    missing = True

    def __init__(self, members: Any) -> None:
        self.members = members

    def decisions(self, graph: Graph, X: str) -> str:
        return graph.op("Greater", self._scores(graph, X), graph.constant(0.0))

    def mean_score(self, graph: Graph, X: str, weights: Array) -> str:
        return graph.op("MatMul", self._scores(graph, X), graph.constant(weights[:, None]))

    def rows(self, rng: np.random.Generator, count: int, width: int) -> Array:
        """Features at the thresholds of the trees and beside them, codes in and out of sets, missing ones."""
        return split_rows(rng, [self.members.forest], count)

    def _scores(self, graph: Graph, X: str) -> str:
        members = self.members
        added = trees.scores(graph, X, members.forest)
        pieces = [graph.column(added, k) for k in range(len(members.before))]
        for k, begin in enumerate(members.before.tolist()):
            if begin >= 0:
                pieces[k] = graph.op("Add", pieces[k], pieces[begin])
        chosen = graph.op("Concat", *(pieces[k] for k in members.place.tolist()), axis=1)
        return graph.op("Sub", chosen, graph.constant(members.cuts[None]))


class _PlugIn(MembersExport):
    """Plug-in rules: 1 where the expected cost of predicting it is negative."""

    def __init__(self, members: Any) -> None:
        self.posterior, self.costs = members.posterior, members.costs
        learners = [each for each in (self.posterior.label, self.posterior.groups) if each is not None]
        self.missing = all(isinstance(each, Boosted) for each in learners)

    def decisions(self, graph: Graph, X: str) -> str:
        return graph.op("Less", self._expected(graph, X), graph.constant(0.0))

    def mean_score(self, graph: Graph, X: str, weights: Array) -> str:
        return graph.op("MatMul", graph.op("Neg", self._expected(graph, X)), graph.constant(weights[:, None]))

    def rows(self, rng: np.random.Generator, count: int, width: int) -> Array:
        """As for trees, where it has some."""
        learners = (self.posterior.label, self.posterior.groups)
        forests = [each.forest for each in learners if isinstance(each, Boosted)]
        X = split_rows(rng, forests, count) if forests else super().rows(rng, count, width)
        return X if self.missing else np.nan_to_num(X)

    def _expected(self, graph: Graph, X: str) -> str:
        """Expected cost of each rule (rows, rules)."""
        posterior, count = self.posterior, len(self.costs) // 2
        places = np.flatnonzero(np.asarray(posterior.label.classes_) == 1)
        if len(posterior.label.classes_) != 2 or len(places) != 1:
            raise EquirateError(REFUSED.format(reason="their label has one class only"))
        positive = graph.column(_chances(graph, X, posterior.label), int(places[0]))
        costs = (self.costs[:count], self.costs[count:])
        if posterior.groups is None:
            without, difference = graph.constant(costs[0]), graph.constant(costs[1] - costs[0])
        else:
            groups = _chances(graph, X, posterior.groups)
            seen = np.asarray(posterior.groups.classes_, dtype=int)
            without, label = (graph.op("MatMul", groups, graph.constant(k[seen])) for k in costs)
            difference = graph.op("Sub", label, without)
        return graph.op("Add", without, graph.op("Mul", positive, difference))


def _chances(graph: Graph, X: str, learner: Any) -> str:
    """Probability of each class (rows, classes)."""
    if isinstance(learner, Boosted):
        scores = trees.scores(graph, X, learner.forest)
    else:
        scores = linear.products(graph, X, np.vstack([learner.coef_.T, learner.intercept_[None]]))
    if len(learner.classes_) > 2:
        top = graph.op("ReduceMax", scores, graph.constant([1], np.int64), keepdims=1)
        powers = graph.op("Exp", graph.op("Sub", scores, top))
        return graph.op("Div", powers, graph.op("ReduceSum", powers, graph.constant([1], np.int64), keepdims=1))
    one = graph.constant(1.0)
    second = graph.op("Div", one, graph.op("Add", one, graph.op("Exp", graph.op("Neg", scores))))
    return graph.op("Concat", graph.op("Sub", one, second), second, axis=1)


class _SideBySide(MembersExport):
    """Members of several kinds."""

    def __init__(self, members: Any) -> None:
        self.parts = [of_members(part, part.width or 0) for part in members.parts]
        self.sizes, self.order = [len(part) for part in members.parts], members.order
        self.missing = all(part.missing for part in self.parts)

    def decisions(self, graph: Graph, X: str) -> str:
        all_decisions = graph.op("Concat", *(part.decisions(graph, X) for part in self.parts), axis=1)
        return graph.op("Gather", all_decisions, graph.constant(self.order, np.int64), axis=1)

    def rows(self, rng: np.random.Generator, count: int, width: int) -> Array:
        """Rows that are hard for the parts."""
        share = -(-count // len(self.parts))
        X = np.concatenate([part.rows(rng, share, width) for part in self.parts])
        return X if self.missing else np.nan_to_num(X)

    def mean_score(self, graph: Graph, X: str, weights: Array) -> str:
        ends = np.cumsum([0, *self.sizes])
        shares = np.zeros(ends[-1])
        np.add.at(shares, self.order, weights)
        parts = [
            part.mean_score(graph, X, shares[a:b]) for part, (a, b) in zip(self.parts, pairwise(ends), strict=True)
        ]
        return graph.op("Sum", *parts)


class _Derandomised(MembersExport):
    """One classifier: the member of the bin that the mean score falls into decides."""

    def __init__(self, members: Any) -> None:
        self.members = members
        self.base = of_members(members.base, members.width or 0)
        self.missing = self.base.missing

    def decisions(self, graph: Graph, X: str) -> str:
        members = self.members
        decided = self.base.decisions(graph, X)
        score = self.base.mean_score(graph, X, members.weights)
        above = graph.op("GreaterOrEqual", score, graph.constant(members.edges[None]))
        bins = graph.op("ReduceSum", graph.cast(above, np.int64), graph.constant([1], np.int64), keepdims=1)
        chosen = graph.op("Gather", graph.constant(members.choice, np.int64), bins)
        gathered = graph.op("GatherElements", graph.cast(decided, np.int64), chosen, axis=1)
        return graph.cast(gathered, bool)

    def rows(self, rng: np.random.Generator, count: int, width: int) -> Array:
        """Rows that are hard for the members."""
        return self.base.rows(rng, count, width)

    def mean_score(self, graph: Graph, X: str, weights: Array) -> str:
        raise EquirateError(REFUSED.format(reason="they are made of one classifier that is made of others"))


KINDS: dict[str, Callable[[Any], MembersExport]] = {
    "linear": _Linear,
    "thresholds": _Thresholds,
    "forests": _Forests,
    "posterior": _PlugIn,
    "side_by_side": _SideBySide,
    "derandomised": _Derandomised,
}
"""Kinds of members in files that can be exported."""
