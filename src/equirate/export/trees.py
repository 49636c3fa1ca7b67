"""Trees in ONNX: ``TreeEnsemble`` of ai.onnx.ml 5, in double precision and with sets of categories.

In: a `Forest`. Out: its scores (rows, scores). The leaves of each tree are a column of their own, and ``CumSum`` adds
them up in the order of the trees, as Python does: ``TreeEnsemble`` itself adds up in an order that depends on the
number of rows and of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError
from ..models.forests import Forest
from .graph import ML, Graph, imported, onnx_type

LEQ, MEMBER = 0, 6
"""Modes of a node: at most the threshold, in the set."""


def scores(graph: Graph, X: str, forest: Forest) -> str:
    """Scores of the rows (rows, scores)."""
    forest = forest.compact()
    if forest.single:
        X = graph.cast(graph.cast(X, np.float32), np.float64)
    X = _integer_codes(graph, X, forest)
    leaves = _leaves(graph, X, forest) if len(forest.roots) else ""
    first = graph.op("Mul", graph.column(X, 0), graph.constant(0.0))  # one row for each row of X
    first = graph.op("Where", graph.op("IsNaN", first), graph.constant(0.0), first)
    parts = []
    for k, offset in enumerate(forest.offset.tolist()):
        begin = graph.op("Add", first, graph.constant(offset))
        own = np.flatnonzero(forest.column == k)
        if len(own):
            added = graph.op("Gather", leaves, graph.constant(own, np.int64), axis=1)
            running = graph.op("CumSum", graph.op("Concat", begin, added, axis=1), graph.constant(1, np.int64))
            begin = graph.column(running, len(own))
        parts.append(begin)
    return graph.op("Concat", *parts, axis=1)


def _integer_codes(graph: Graph, X: str, forest: Forest) -> str:
    """Features with codes of categories as integers: Python ignores the fraction."""
    inner = forest.left != np.arange(len(forest.left))
    coded = np.unique(forest.feature[inner & (forest.category >= 0)])
    if not len(coded):
        return X
    if np.isin(coded, forest.feature[inner & (forest.category < 0)]).any():
        raise EquirateError("cannot export trees that split one feature both as a number and as a category")
    mask = np.isin(np.arange(forest.width), coded)
    return graph.op("Where", graph.constant(mask), graph.op("Floor", X), X)


def _leaves(graph: Graph, X: str, forest: Forest) -> str:
    """The leaf that each row falls into, (rows, trees)."""
    return graph.op("TreeEnsemble", X, domain=ML, **_Ensemble(forest).attributes())


class _Ensemble:
    """The arrays of a forest in the layout of ``TreeEnsemble``: inner nodes and leaves separate, a target per tree."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        size = len(forest.left)
        self.inner = forest.left != np.arange(size)
        alone = ~self.inner[forest.roots]
        self.tree = self._trees()
        self.place = np.cumsum(self.inner) - 1  # of inner nodes
        self.leaf = np.cumsum(~self.inner) - 1  # of leaves
        # a tree of one leaf is a node with that leaf on both sides
        self.single = forest.roots[alone]
        self.roots = np.where(alone, 0, self.place[forest.roots])
        self.roots[alone] = int(self.inner.sum()) + np.arange(int(alone.sum()))

    def _trees(self) -> NDArray[np.int64]:
        """The tree of each node: nodes of a tree come after its root, parents before children."""
        forest = self.forest
        tree = np.full(len(forest.left), -1, np.int64)
        tree[forest.roots] = np.arange(len(forest.roots))
        if len(np.unique(forest.roots)) != len(forest.roots):
            raise EquirateError("cannot export trees that share nodes")
        for node in np.flatnonzero(self.inner):
            for child in (forest.left[node], forest.right[node]):
                tree[child] = tree[node]
        return tree

    def attributes(self) -> dict[str, Any]:
        """Attributes of the node."""
        forest, inner = self.forest, self.inner
        nodes = np.flatnonzero(inner)
        alone = len(self.single)
        empty = [not len(self._codes(k)) if k >= 0 else False for k in forest.category[nodes].tolist()]
        category = np.where(empty, -1, forest.category[nodes])
        cuts = np.where(empty, -np.finfo(float).max, forest.threshold[nodes])  # no finite code is in an empty set
        left, right = forest.left[nodes], forest.right[nodes]
        leaves = np.flatnonzero(~inner)
        own = self.leaf[self.single]

        def sides(child: NDArray[Any]) -> tuple[list[int], list[int]]:
            at = np.concatenate([np.where(inner[child], self.place[child], self.leaf[child]), own])
            return at.astype(int).tolist(), np.concatenate([~inner[child], np.ones(alone, bool)]).astype(int).tolist()

        (true_at, true_leaf), (false_at, false_leaf) = sides(left), sides(right)
        attributes: dict[str, Any] = {
            "n_targets": len(forest.roots),
            "aggregate_function": 1,  # the sum, of one leaf
            "post_transform": 0,
            "tree_roots": self.roots.astype(int).tolist(),
            "nodes_modes": _tensor(np.append(np.where(category >= 0, MEMBER, LEQ), [LEQ] * alone), np.uint8),
            "nodes_featureids": [*forest.feature[nodes].tolist(), *([0] * alone)],
            "nodes_splits": _tensor(np.append(cuts, np.zeros(alone)), np.float64),
            "nodes_missing_value_tracks_true": [*forest.default_left[nodes].tolist(), *([0] * alone)],
            "nodes_truenodeids": true_at,
            "nodes_trueleafs": true_leaf,
            "nodes_falsenodeids": false_at,
            "nodes_falseleafs": false_leaf,
            "leaf_targetids": self.tree[leaves].astype(int).tolist(),
            "leaf_weights": _tensor(forest.value[leaves], np.float64),
        }
        sets = [np.append(self._codes(k), np.nan) for k in category.tolist() if k >= 0]
        if sets:
            attributes["membership_values"] = _tensor(np.concatenate(sets), np.float64)
        return attributes

    def _codes(self, category: int) -> NDArray[np.float64]:
        """The codes of a set."""
        words = self.forest.words[self.forest.starts[category] : self.forest.starts[category + 1]]
        bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
        return np.flatnonzero(bits).astype(float)


def _tensor(values: NDArray[Any], dtype: Any) -> Any:
    array = np.asarray(values, dtype=dtype)
    return imported("onnx.helper").make_tensor("values", onnx_type(dtype), array.shape, array.tobytes(), raw=True)
