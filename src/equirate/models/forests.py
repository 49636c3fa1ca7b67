"""Trees as plain arrays: the scores of a fitted ensemble, without the library that fitted it and without pickle.

In: trees of LightGBM, XGBoost (`equirate.boosting`) or of a ``HistGradientBoostingClassifier``. Out: a `Forest` that
gives the same scores, as arrays that are written and read like any others: no untrusted file reaches a library's
parser. A `Boosted` is a forest as a classifier of scikit-learn.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from .._core import kernels, threads
from .._core.errors import DataError, FileError
from .._core.rules import ArrayOf, Rule
from ..data.features import dense
from .contributions import node_means

Array = NDArray[np.float64]
IntArray = NDArray[np.int32]

VISIT_WORK = 20.0
"""Multiplications that a row's way down one tree is worth, to decide whether to compile."""
TREE_WORK = 20_000.0
"""Multiplications that one tree is worth without a compiler, however few the rows are: some 15 microseconds."""
_THREAD_ROWS = 16384
"""Rows that one thread takes at a time."""
_MAX_NODES_AT_ONCE = 1 << 14
"""Rows times trees up to which all trees are descended at once: that many node numbers stay in cache."""
_NONE = np.zeros(0, np.int32)


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees one after another; a leaf is its own child, and the score is the sum of the leaves that a row falls into.

    Attributes
    ----------
    feature, threshold, left, right, value, default_left, category
        One entry for each node. A row goes left where its feature is at most the threshold or, for a node with a
        ``category`` (a number of a set; -1 for none), where its code is in the set. ``default_left`` is 1 where a
        missing value goes left. The value of a node that is no leaf is the mean of the leaves below, for explanations.
    starts, words
        The sets of codes as bits: those of set k are ``words[starts[k]:starts[k + 1]]``, 32 codes a word.
    roots, column
        The root node of each tree, and the score that it adds to.
    offset
        Constant of each score.
    single
        Whether features are compared in single precision (XGBoost).
    width
        Number of features.
    """

    feature: IntArray
    threshold: Array
    left: IntArray
    right: IntArray
    value: Array
    default_left: NDArray[np.uint8]
    category: IntArray
    starts: IntArray
    words: NDArray[np.uint32]
    roots: IntArray
    column: IntArray
    offset: Array
    single: bool
    width: int

    rules: ClassVar[Mapping[str, Rule]] = {
        **{name: ArrayOf("i", 1) for name in ("feature", "left", "right", "category", "starts", "roots", "column")},
        **{name: ArrayOf("f", 1) for name in ("threshold", "value", "offset")},
        **{name: ArrayOf("u", 1) for name in ("default_left", "words")},
    }
    """What the arrays in a file must be."""

    # -- making --------------------------------------------------------------------------------------

    @classmethod
    def constant(cls, offset: ArrayLike, width: int, single: bool = False) -> Self:
        """A forest without trees: constant scores."""
        empty = np.zeros(0)
        return cls(
            feature=_NONE,
            threshold=empty,
            left=_NONE,
            right=_NONE,
            value=empty,
            default_left=np.zeros(0, np.uint8),
            category=_NONE,
            starts=np.zeros(1, np.int32),
            words=np.zeros(0, np.uint32),
            roots=_NONE,
            column=_NONE,
            offset=np.asarray(offset, dtype=float),
            single=single,
            width=width,
        )

    @classmethod
    def of_histograms(cls, fitted: Any) -> Self:
        """Take the trees out of a fitted ``HistGradientBoostingClassifier``."""
        trees = [each.nodes for trees in fitted._predictors for each in trees]
        if any(nodes["is_categorical"].any() for nodes in trees):
            raise FileError(
                "trees of HistGradientBoostingClassifier that split categories cannot be saved as plain arrays: use "
                "lightgbm or xgboost, or give the categories as numbers"
            )
        outputs = len(fitted._predictors[0])
        starts = np.cumsum([0, *(len(nodes) for nodes in trees)])[:-1]
        nodes, shift = np.concatenate(trees), np.repeat(starts, [len(nodes) for nodes in trees])
        leaf, indices = nodes["is_leaf"].astype(bool), np.arange(len(nodes))
        left, right = (np.where(leaf, indices, nodes[side].astype(np.int64) + shift) for side in ("left", "right"))
        bare = cls.constant(np.broadcast_to(np.ravel(fitted._baseline_prediction), outputs), fitted.n_features_in_)
        return replace(
            bare,
            feature=np.where(leaf, 0, nodes["feature_idx"]).astype(np.int32),
            threshold=np.where(leaf, 0.0, np.clip(nodes["num_threshold"], -LARGE, LARGE)),
            left=left.astype(np.int32),
            right=right.astype(np.int32),
            value=node_means(left, right, np.where(leaf, nodes["value"], 0.0), nodes["count"].astype(float)),
            default_left=nodes["missing_go_to_left"].astype(np.uint8),
            category=np.full(len(nodes), -1, np.int32),
            roots=starts.astype(np.int32),
            column=np.tile(np.arange(outputs, dtype=np.int32), len(fitted._predictors)),
        )

    @classmethod
    def concatenate(cls, forests: Sequence[Forest], columns: Sequence[IntArray] | None = None) -> Forest:
        """One forest of all trees; ``columns`` says for each forest where its scores go, by default side by side.

        Forests whose scores go to the same place are added up there, their offsets too.
        """
        first = forests[0]
        if any((each.width, each.single) != (first.width, first.single) for each in forests):
            raise DataError("forests over other features, or in another precision, cannot be concatenated")
        if columns is None:
            ends = np.cumsum([0, *(len(each.offset) for each in forests)])
            columns = [np.arange(a, b, dtype=np.int32) for a, b in itertools.pairwise(ends)]
        offset = np.zeros(1 + max(int(column.max(initial=-1)) for column in columns))
        parts: dict[str, list[Any]] = {name: [] for name in cls.rules if name != "offset"}
        nodes, sets, words = 0, 0, 0  # in the forests so far
        for each, column in zip(forests, columns, strict=True):
            np.add.at(offset, column, each.offset)
            moved = {
                **{name: getattr(each, name) + nodes for name in ("left", "right", "roots")},
                "category": np.where(each.category < 0, -1, each.category + sets),
                "starts": each.starts[:-1] + words,
                "column": column[each.column],
            }
            for name, arrays in parts.items():
                arrays.append(moved[name] if name in moved else getattr(each, name))
            nodes, sets, words = nodes + len(each.feature), sets + len(each.starts) - 1, words + len(each.words)
        parts["starts"].append(np.array([words], dtype=np.int32))
        concatenated = {name: np.concatenate(arrays) for name, arrays in parts.items()}
        return cls(**concatenated, offset=offset, single=first.single, width=first.width)

    @classmethod
    def mean(cls, forests: Sequence[Forest]) -> Forest:
        """The forest whose scores are the mean of those of others."""
        share = 1 / len(forests)
        lighter = [replace(each, value=each.value * share, offset=each.offset * share) for each in forests]
        return cls.concatenate(lighter, [np.arange(len(each.offset), dtype=np.int32) for each in forests])

    def of_trees(self, first: int, last: int) -> Forest:
        """The trees from one place to another, without the offset; their nodes stay where they are."""
        return replace(
            self, roots=self.roots[first:last], column=self.column[first:last], offset=np.zeros_like(self.offset)
        )

    # -- scoring -------------------------------------------------------------------------------------

    def scores(self, X: Any) -> Array:
        """Scores of the rows, (rows, scores)."""
        X = self.checked_features(X)
        scores = np.repeat(self.offset[None], len(X), axis=0)
        if not len(self.roots) or not len(X):
            return scores
        # Both ways give the same sums in the same order, so the choice may depend on whether kernels are loaded.
        if kernels.ready_by_now((TREE_WORK + VISIT_WORK * len(X)) * len(self.roots)):
            descend = importlib.import_module("equirate._core.kernels.descents").descend
            arrays = [getattr(self, name) for name in _PASSED]
            lots = [(X, *arrays, scores, a, min(a + _THREAD_ROWS, len(X))) for a in range(0, len(X), _THREAD_ROWS)]
            threads.each(descend, lots)
            return scores
        if len(X) * len(self.roots) <= _MAX_NODES_AT_ONCE:
            return self._few_scores(X, scores)
        columns, is_leaf = np.ascontiguousarray(X.T), (self.left == np.arange(len(self.left))).tolist()
        for root, column in zip(self.roots.tolist(), self.column.tolist(), strict=True):
            for _, node, rows in self.visits(columns, root):
                if is_leaf[node]:
                    scores[rows, column] += self.value[node]
        return scores

    def _few_scores(self, X: Array, scores: Array) -> Array:
        """Descend all trees at once with few rows, level by level; values are summed tree by tree, as elsewhere."""
        rows, at = np.arange(len(X))[:, None], np.repeat(self.roots[None], len(X), axis=0)
        holes = bool(np.isnan(X).any())
        while True:
            value = X[rows, self.feature[at]]
            goes_left = value <= self.threshold[at]
            if len(self.starts) > 1:
                category = self.category[at]
                goes_left = np.where(category < 0, goes_left, self._inside(value, np.maximum(category, 0)))
            if holes:
                goes_left |= np.isnan(value) & (self.default_left[at] == 1)
            below = np.where(goes_left, self.left[at], self.right[at])
            if np.array_equal(below, at):
                break
            at = below
        for column in range(len(self.offset)):
            values = self.value[at[:, self.column == column]]
            scores[:, column] = np.cumsum(np.hstack([scores[:, [column]], values]), axis=1)[:, -1]
        return scores

    def _inside(self, value: Array, category: IntArray | int) -> NDArray[np.bool_]:
        """Whether each code is in a set, its own or the same for all; False for invalid codes."""
        start = self.starts[category]
        known = (value >= 0) & (value < 32.0 * (self.starts[category + 1] - start))
        if not known.any():
            return known
        code = np.where(known, value, 0).astype(np.int64)
        word = self.words[np.where(known, start + (code >> 5), 0)]
        return np.asarray(known & ((word.astype(np.int64) >> (code & 31)) & 1 == 1))

    def checked_features(self, X: Any) -> Array:
        """Features as a dense array of the right width."""
        X = dense(X)
        if X.ndim != 2 or X.shape[1] != self.width:
            raise DataError(f"X has shape {X.shape}, but the trees were trained on {self.width} features")
        if self.single:
            with np.errstate(over="ignore"):
                X = X.astype(np.float32)
        return np.ascontiguousarray(X, dtype=float)

    def visits(self, columns: Array, root: int) -> Iterator[tuple[int, int, NDArray[np.intp]]]:
        """The nodes of a tree that rows reach, each after its parent: parent (a root's is itself), node and rows.

        ``columns`` are the features, transposed.
        """
        ways = [(root, root, np.arange(columns.shape[1]))]
        while ways:
            parent, node, rows = ways.pop()
            yield parent, node, rows
            left = int(self.left[node])
            if left != node:
                goes_left = self._goes_left(columns, node, rows)
                below = ((left, rows[goes_left]), (int(self.right[node]), rows[~goes_left]))
                ways += [(node, child, child_rows) for child, child_rows in below if len(child_rows)]

    def _goes_left(self, columns: Array, node: int, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which rows go left at a node."""
        value = columns[self.feature[node]][rows]
        category = int(self.category[node])
        left = value <= self.threshold[node] if category < 0 else self._inside(value, category)
        return np.asarray(left | np.isnan(value) if self.default_left[node] else left)

    def split_counts(self) -> Array:
        """How often the trees split by each feature."""
        compact = self.compact()
        splits = compact.left != np.arange(len(compact.left))
        return np.bincount(compact.feature[splits], minlength=self.width).astype(float)

    # -- writing -------------------------------------------------------------------------------------

    def compact(self) -> Forest:
        """The same without unreachable nodes, in the same order."""
        seen = np.zeros(len(self.feature), dtype=bool)
        at = np.unique(self.roots)
        while len(at):
            seen[at] = True
            below = np.unique(np.concatenate([self.left[at], self.right[at]]))
            at = below[~seen[below]]
        if seen.all():
            return self
        place = (np.cumsum(seen) - 1).astype(np.int32)
        kept = ("feature", "threshold", "value", "default_left", "category")
        return replace(
            self,
            **{name: getattr(self, name)[seen] for name in kept},
            **{name: place[getattr(self, name)[seen]] for name in ("left", "right")},
            roots=place[self.roots],
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """As arrays to write."""
        compact = self.compact()
        return {name: getattr(compact, name) for name in self.rules}

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], width: int, single: bool) -> Self:
        """Read arrays that passed the rules; refuses arrays that are not a forest over ``width`` features."""
        kinds = {"i": np.int32, "f": np.float64}
        a = {name: arrays[name].astype(kinds.get(arrays[name].dtype.kind, arrays[name].dtype)) for name in cls.rules}
        same = all(np.array_equal(a[name], arrays[name]) for name in a)
        same &= a["words"].dtype == np.uint32 and a["default_left"].dtype == np.uint8
        size, sets = len(a["feature"]), len(a["starts"]) - 1
        nodes = ("threshold", "left", "right", "value", "default_left", "category")
        if not same or sets < 0 or not len(a["offset"]) or any(len(a[name]) != size for name in nodes):
            raise FileError("the trees do not fit together")
        indices, left, right, starts = np.arange(size), a["left"], a["right"], a["starts"]
        downwards = ((left > indices) & (right > indices)) | ((left == indices) & (right == indices))  # no cycles
        good = downwards.all() and len(a["column"]) == len(a["roots"])
        good &= starts[0] == 0 and starts[-1] == len(a["words"]) and bool((np.diff(starts) >= 0).all())
        for name, low, high in (
            *(("left", 0, size), ("right", 0, size), ("roots", 0, size), ("feature", 0, width)),
            *(("category", -1, sets), ("column", 0, len(a["offset"]))),
        ):
            good &= bool(((a[name] >= low) & (a[name] < high)).all())
        if not good:
            raise FileError("the trees do not fit together")
        return cls(**a, single=single, width=width)


LARGE = float(np.finfo(float).max)
"""Stands for infinity, which a file may not hold: no finite feature is above it."""
_PASSED = (
    *("feature", "threshold", "left", "right", "value", "default_left"),
    *("category", "starts", "words", "roots", "column"),
)


@dataclass(frozen=True, eq=False)
class Boosted:
    """A forest as a classifier: scores are log-odds of the second class, or logits of each of several."""

    forest: Forest
    classes_: NDArray[Any] = field(default_factory=lambda: np.array([0, 1]))

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self.forest.width

    def decision_function(self, X: Any) -> Array:
        """Log-odds of the second class; logits of each class where there are more."""
        scores = self.forest.scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class."""
        return chances(self.forest.scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

    @classmethod
    def mean(cls, parts: Sequence[Boosted]) -> Boosted:
        """The classifier whose scores are the mean of those of others with the same classes."""
        return cls(Forest.mean([part.forest for part in parts]), parts[0].classes_)


def chances(scores: Array) -> Array:
    """Probability of each class from one column of log-odds, or from a column of logits for each class."""
    if scores.shape[1] > 1:
        return np.asarray(softmax(scores, axis=1))
    second = expit(scores[:, 0])
    return np.stack([1 - second, second], axis=1)


def as_boosted(classifier: Any) -> Boosted | None:
    """A fitted classifier as a forest; None if its trees cannot be read."""
    if isinstance(classifier, Boosted):
        return classifier
    if type(classifier).__name__ == "HistGradientBoostingClassifier" and hasattr(classifier, "_predictors"):
        if getattr(classifier, "_preprocessor", None) is not None:
            raise FileError("trees of HistGradientBoostingClassifier over categories cannot be saved as plain arrays")
        return Boosted(Forest.of_histograms(classifier), np.asarray(classifier.classes_))
    return None


def trees_of(classifier: Any) -> Boosted | None:
    """A classifier as a forest; None for one that is not made of trees that arrays can hold."""
    try:
        return as_boosted(classifier)
    except FileError:
        return None


def counted_splits(classifiers: Sequence[Any]) -> Array | None:
    """Number of splits by each feature in the trees of classifiers; None if one has no trees that can be read."""
    forests = [each.forest for each in map(trees_of, classifiers) if each is not None]
    if not forests or len(forests) < len(classifiers):
        return None
    return np.asarray(np.sum([forest.split_counts() for forest in forests], axis=0), dtype=float)
