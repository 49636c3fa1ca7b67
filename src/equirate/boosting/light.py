"""LightGBM: a ``Dataset`` that is built once, boosters on it and its parts, and their trees as arrays.

In: features and settings in LightGBM's names. Out: `LightBins`, and `forest_of` for any booster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from .._core.tree_threads import thread_count
from ..models.contributions import node_means
from ..models.forests import LARGE, Forest
from .libraries import Array, Bins, Grower, Index, Params, imported, rounds_and_params, with_trees

ROUNDS = ("n_estimators", "num_iterations", "num_boost_round", "num_trees", "num_rounds")
OWN = ("objective", "metric", "num_class", "verbosity", "verbose", "silent", "importance_type", "class_weight")
"""Settings that this module sets itself."""
_CATEGORICAL, _DEFAULT_LEFT, _ZERO = 1, 2, 1
"""Bits of LightGBM's decision_type; the next two bits are the missing type, and 1 means that zeros are missing."""


class LightBins(Bins):
    """A ``lightgbm.Dataset``."""

    library = "lightgbm"

    def __init__(self, dataset: Any, width: int, count: int) -> None:
        self.dataset, self.width, self.count = dataset, width, count

    @classmethod
    def of(cls, X: Any, settings: Params) -> Self:
        """Bin a table."""
        lightgbm = imported("lightgbm")
        params = _params(settings, {}, X.shape[0])[1]
        named = settings.get("categorical_feature", settings.get("categorical_features", "auto"))
        dataset = lightgbm.Dataset(
            X, np.zeros(X.shape[0]), params=params, categorical_feature=named, free_raw_data=False
        )
        return cls(_call_library(dataset.construct), int(X.shape[1]), int(X.shape[0]))

    def part(self, rows: Index) -> LightBins:
        """A subset of the dataset, which keeps its bins."""
        dataset = self.dataset.subset(np.sort(rows).astype(np.int32))
        return LightBins(_call_library(dataset.construct), self.width, len(rows))

    def fit(
        self, target: NDArray[Any], weights: Array | None, classes: int, settings: Params, tests: Sequence[Self] = ()
    ) -> tuple[Forest, list[Array]]:
        """Train with LightGBM's own objective."""
        own = {"objective": "binary"} if classes == 2 else {"objective": "multiclass", "num_class": classes}
        rounds, params = _params(settings, own, self.count)
        self.dataset.set_label(np.asarray(target, dtype=np.float32)).set_weight(weights)
        booster = self._booster(params)
        for place, test in enumerate(tests):
            booster.add_valid(test.dataset, str(place))
        for _ in range(rounds):
            if _call_library(booster.update):
                break
        recorder = _ScoreRecorder()
        if tests:  # the booster has added up their scores during training
            booster.eval_valid(recorder)
        return forest_of(booster, self.width), [_logits(chances, classes) for chances in recorder.scores]

    def grower(self, settings: Params, rate: float, begin: Array | None) -> Grower:
        """A booster without an objective of its own."""
        params = _params(settings, {"objective": "none", "learning_rate": rate}, self.count)[1]
        self.dataset.set_label(np.zeros(self.count, np.float32)).set_weight(None).set_init_score(begin)
        return LightGrower(self, self._booster(params), begin)

    def _booster(self, params: dict[str, Any]) -> Any:
        lightgbm = imported("lightgbm")
        return _call_library(lambda: lightgbm.Booster(params, self.dataset))


class _ScoreRecorder:
    """A metric that records the scores that a booster passes to it."""

    def __init__(self) -> None:
        self.scores: list[Array] = []

    def __call__(self, scores: Array, dataset: Any) -> tuple[str, float, bool]:
        """Keep a copy."""
        self.scores.append(np.array(scores))
        return "seen", 0.0, False


class LightGrower(Grower):
    """A booster that is given gradients and Hessians."""

    def grow(self, slope: Array, curvature: Array) -> None:
        """Add one tree; a tree that could not be split adds nothing."""
        before = self.booster.current_iteration()
        _call_library(lambda: self.booster.update(fobj=lambda *_: (slope, curvature)))
        if self.booster.current_iteration() == before:
            return
        self.trees += 1
        recorder = _ScoreRecorder()
        self.booster.eval_train(recorder)
        self.scores = recorder.scores[0]

    def forest(self) -> Forest:
        """All trees."""
        return forest_of(self.booster, self.bins.width)


def _call_library(call: Any) -> Any:
    """Call the library, and turn its errors into an `AlgorithmError`."""
    try:
        return call()
    except imported("lightgbm").basic.LightGBMError as error:
        raise AlgorithmError(f"lightgbm refuses the settings or the data: {error}") from error


def _params(settings: Params, own: dict[str, Any], rows: int) -> tuple[int, dict[str, Any]]:
    """Number of rounds, and LightGBM's parameters: the user's and those set here."""
    rounds, params = rounds_and_params(settings, ROUNDS, OWN)
    fixed = {"metric": "None", "verbosity": -1, "num_threads": thread_count(settings, rows), "deterministic": True}
    faster = {} if {"force_col_wise", "force_row_wise"} & params.keys() else {"force_row_wise": True}
    return rounds, {**params, **faster, **fixed, **own}


def _logits(chances: Array, classes: int) -> Array:
    with np.errstate(divide="ignore"):
        if classes == 2:
            return np.asarray(np.clip(np.log(chances) - np.log1p(-chances), -700, 700)).reshape(-1, 1)
        return np.asarray(np.clip(np.log(chances.reshape(-1, classes)), -700, 700))


# -- trees ----------------------------------------------------------------------------------------


def forest_of(booster: Any, width: int) -> Forest:
    """The trees of a booster as arrays: all of its iterations."""
    text = booster.model_to_string(num_iteration=-1, importance_type="split")
    head, *blocks = text.split("\nTree=")
    fields = dict(line.split("=", 1) for line in head.splitlines() if "=" in line)
    outputs = int(fields["num_tree_per_iteration"])
    if "average_output" in head:
        raise AlgorithmError("trees of boosting='rf' are averaged and not added up: use another boosting")
    bare = Forest.constant(np.zeros(outputs), width)
    return with_trees(bare, [_tree(block) for block in blocks], np.arange(len(blocks)) % outputs)


def _tree(block: str) -> dict[str, Any]:
    """One tree: internal nodes first, in LightGBM's order, then the leaves."""
    lines = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
    if lines.get("is_linear", "0") != "0":
        raise AlgorithmError("linear trees are not known here: leave linear_tree out")
    leaves = _numbers(lines["leaf_value"], float)
    inner, size = len(leaves) - 1, 2 * len(leaves) - 1
    feature, threshold = np.zeros(size, np.int32), np.zeros(size)
    left = right = np.arange(size, dtype=np.int32)
    default_left, category = np.zeros(size, np.uint8), np.full(size, -1, np.int32)
    starts, words = np.zeros(1, np.int32), np.zeros(0, np.uint32)
    if inner:
        kind, cut = _numbers(lines["decision_type"], int), _numbers(lines["threshold"], float)
        if ((kind >> 2) & 3 == _ZERO).any():
            raise AlgorithmError("zero_as_missing is not known here: leave it out, or set zeros to NaN")
        feature[:inner], threshold[:inner] = _numbers(lines["split_feature"], int), cut
        sides = [_numbers(lines[side], int) for side in ("left_child", "right_child")]
        left, right = left.copy(), right.copy()
        left[:inner], right[:inner] = (np.where(side < 0, inner + ~side, side) for side in sides)
        missing = (kind >> 2) & 3
        # without a missing type, NaN counts as 0
        default_left[:inner] = np.where(missing == 2, kind & _DEFAULT_LEFT != 0, cut >= 0)
        sets = kind & _CATEGORICAL == 1
        default_left[:inner][sets] = 0
        category[:inner][sets] = cut[sets].astype(np.int32)
        threshold[:inner][sets] = 0.0
        if sets.any():
            starts = _numbers(lines["cat_boundaries"], int).astype(np.int32)
            words = _numbers(lines["cat_threshold"], int).astype(np.uint32)
    threshold = np.clip(threshold, -LARGE, LARGE)  # infinite if a split separates missing values from all others
    value = np.concatenate([np.zeros(inner), leaves])
    if inner:
        cover = [_numbers(lines[part], float) for part in ("internal_count", "leaf_count")]
        value = node_means(left, right, value, np.concatenate(cover))
    return {
        **{"feature": feature, "threshold": threshold, "left": left, "right": right, "value": value},
        **{"default_left": default_left, "category": category, "starts": starts, "words": words},
    }


def _numbers(text: str, kind: type) -> NDArray[Any]:
    return np.array(text.split(), dtype=np.float64 if kind is float else np.int64)
