"""Boosted trees as plain arrays: what a fitted ensemble decides, without the library that fitted it and without pickle.

In: a fitted ``HistGradientBoostingClassifier``. Out: a `Forest` that gives the same scores, as arrays that are written
and read like any other. Scores are the sum of the leaves that an example falls into.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._core.errors import FileError

Array = NDArray[np.float64]
_BLOCK = 4096  # rows that go down the trees together
_DEEPEST = 1000


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees one after another; left is where a feature is at most the threshold, and a leaf is its own child.

    Attributes
    ----------
    feature, threshold, left, right, value
        One entry for each node.
    roots
        Where each tree begins.
    offset
        Added to every score.
    """

    feature: NDArray[np.int32]
    threshold: Array
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Array
    roots: NDArray[np.int32]
    offset: float

    @classmethod
    def of(cls, fitted: Any) -> Self:
        """Take the trees out of a fitted ``HistGradientBoostingClassifier``, or of a classifier that is constant."""
        if not hasattr(fitted, "_predictors"):
            none, nothing = np.zeros(0, dtype=np.int32), np.zeros(0)
            return cls(none, nothing, none, none, nothing, none, float(fitted.decision_function(np.zeros((1, 1)))[0]))
        trees = [each[0].nodes for each in fitted._predictors]
        if any(nodes["is_categorical"].any() for nodes in trees):
            raise FileError("trees that split categories cannot be saved as plain arrays")
        starts = np.cumsum([0, *(len(nodes) for nodes in trees)])[:-1]
        nodes, shift = np.concatenate(trees), np.repeat(starts, [len(nodes) for nodes in trees])
        leaf, own = nodes["is_leaf"].astype(bool), np.arange(len(nodes))
        left, right = (np.where(leaf, own, nodes[side].astype(np.int64) + shift) for side in ("left", "right"))
        return cls(
            np.where(leaf, 0, nodes["feature_idx"]).astype(np.int32),
            np.where(leaf, 0.0, nodes["num_threshold"]),
            left.astype(np.int32),
            right.astype(np.int32),
            np.where(leaf, nodes["value"], 0.0),
            starts.astype(np.int32),
            float(np.ravel(fitted._baseline_prediction)[0]),
        )

    def decision_function(self, X: Any) -> Array:
        """Score examples; positive is predicted above 0."""
        X = np.asarray(X)
        scores = np.full(len(X), self.offset)
        for start in range(0, len(X), _BLOCK):
            rows = X[start : start + _BLOCK]
            at = np.broadcast_to(self.roots, (len(rows), len(self.roots)))
            here = np.arange(len(rows))[:, None]
            for _ in range(_DEEPEST):
                goes_left = rows[here, self.feature[at]] <= self.threshold[at]
                below = np.where(goes_left, self.left[at], self.right[at])
                if (below == at).all():
                    break
                at = below
            scores[start : start + _BLOCK] += self.value[at].sum(axis=1)
        return scores

    def arrays(self) -> dict[str, NDArray[Any]]:
        """As arrays to write."""
        return {
            "feature": self.feature,
            "threshold": self.threshold,
            "left": self.left,
            "right": self.right,
            "value": self.value,
            "roots": self.roots,
            "offset": np.array([self.offset]),
        }

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], width: int) -> Self:
        """Take arrays back; refuses what is no forest over ``width`` features."""
        nodes = {name: arrays[name] for name in ("feature", "left", "right", "roots")}
        floats = {name: arrays[name] for name in ("threshold", "value", "offset")}
        size = len(arrays["feature"])
        whole = all(part.ndim == 1 and part.dtype == np.int32 for part in nodes.values())
        finite = all(
            part.ndim == 1 and part.dtype == np.float64 and np.isfinite(part).all() for part in floats.values()
        )
        same = all(len(arrays[name]) == size for name in ("left", "right", "threshold", "value"))
        if not (whole and finite and same and len(floats["offset"]) == 1):
            raise FileError("the trees do not fit together")
        own = np.arange(size)
        left, right, roots = nodes["left"], nodes["right"], nodes["roots"]
        downwards = ((left > own) & (right > own)) | ((left == own) & (right == own))  # no way goes round in circles
        inside = (left < size).all() and (right < size).all() and ((roots >= 0) & (roots < size)).all()
        if not (downwards.all() and inside and ((nodes["feature"] >= 0) & (nodes["feature"] < width)).all()):
            raise FileError("the trees do not fit together")
        return cls(**nodes, threshold=floats["threshold"], value=floats["value"], offset=float(floats["offset"][0]))
