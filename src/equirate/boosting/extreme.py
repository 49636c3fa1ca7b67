"""XGBoost: a ``QuantileDMatrix`` whose bins all parts of the rows share, boosters on them, and their trees as arrays.

In: features and settings in XGBoost's names. Out: `ExtremeBins`, and `forest_of` for any booster of trees.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from .._core.errors import AlgorithmError
from .._core.tree_threads import one_thread, thread_count
from ..models.contributions import node_means
from ..models.forests import Forest
from .libraries import Array, Bins, Grower, Index, Params, imported, rounds_and_params, with_trees

ROUNDS = ("n_estimators", "num_boost_round", "num_rounds")
OWN = (
    *("objective", "eval_metric", "num_class", "verbosity", "base_score", "importance_type", "missing", "callbacks"),
    *("enable_categorical", "feature_types", "early_stopping_rounds"),
)
"""Settings that this module sets itself."""


class ExtremeBins(Bins):
    """An ``xgboost.QuantileDMatrix``."""

    library = "xgboost"

    def __init__(self, X: Any, matrix: Any, settings: Params) -> None:
        self.X, self.matrix, self.settings = X, matrix, settings
        self.count, self.width = int(X.shape[0]), int(X.shape[1])

    @classmethod
    def of(cls, X: Any, settings: Params) -> Self:
        """Bin a table."""
        return cls(X, _matrix(X, settings, None), settings)

    def part(self, rows: Index) -> ExtremeBins:
        """Some of the rows, in the bins of all."""
        X = self.X[np.sort(rows)]
        return ExtremeBins(X, _matrix(X, self.settings, self.matrix), self.settings)

    def fit(
        self, target: NDArray[Any], weights: Array | None, classes: int, settings: Params, tests: Sequence[Self] = ()
    ) -> tuple[Forest, list[Array]]:
        """Train with XGBoost's own objective."""
        share = float(np.average(np.asarray(target) == 1, weights=weights)) if classes == 2 else 0.5
        own: dict[str, Any] = {"base_score": min(max(share, 1e-6), 1 - 1e-6)}
        own |= {"objective": "binary:logistic"} if classes == 2 else {"objective": "multi:softprob"}
        own |= {} if classes == 2 else {"num_class": classes}
        rounds, params = _params(settings, own, self.count)
        with _limit(settings, self.count):
            self.matrix.set_label(np.asarray(target, dtype=np.float32))
            self.matrix.set_weight(np.ones(self.count) if weights is None else weights)
            booster = _call_library(lambda: imported("xgboost").Booster(params, [self.matrix]))
            for t in range(rounds):
                _call_library(lambda t=t: booster.update(self.matrix, t))
            scores = [
                np.asarray(booster.predict(test.matrix, output_margin=True), dtype=float).reshape(test.count, -1)
                for test in tests
            ]
        return forest_of(booster, self.width), scores

    def grower(self, settings: Params, rate: float, begin: Array | None) -> Grower:
        """A booster that is given gradients and Hessians."""
        own = {"base_score": 0.0, "objective": "reg:squarederror", "learning_rate": rate}
        params = _params(settings, own, self.count)[1]
        params.pop("eta", None)
        with _limit(settings, self.count):
            self.matrix.set_label(np.zeros(self.count))
            self.matrix.set_weight(np.ones(self.count))
            self.matrix.set_base_margin(np.zeros(self.count) if begin is None else begin)
            booster = _call_library(lambda: imported("xgboost").Booster(params, [self.matrix]))
        return ExtremeGrower(self, booster, begin, settings)


class ExtremeGrower(Grower):
    """A booster on all rows of some bins."""

    bins: ExtremeBins

    def __init__(self, bins: ExtremeBins, booster: Any, begin: Array | None, settings: Params) -> None:
        super().__init__(bins, booster, begin)
        self.settings = settings

    def grow(self, slope: Array, curvature: Array) -> None:
        """Add one tree."""
        with _limit(self.settings, self.bins.count):
            _call_library(lambda: self.booster.boost(self.bins.matrix, self.trees, grad=slope, hess=curvature))
            self.trees += 1
            self.scores = np.asarray(self.booster.predict(self.bins.matrix, output_margin=True), dtype=np.float64)

    def forest(self) -> Forest:
        """All trees."""
        return forest_of(self.booster, self.bins.width)


def _matrix(X: Any, settings: Params, reference: Any) -> Any:
    xgboost = imported("xgboost")
    types = _types(settings, int(X.shape[1]))
    options: dict[str, Any] = {"ref": reference, "nthread": thread_count(settings, X.shape[0])}
    options |= {"max_bin": settings["max_bin"]} if settings.get("max_bin") else {}
    options |= {} if types is None else {"feature_types": types, "enable_categorical": True}
    with _limit(settings, X.shape[0]):
        return _call_library(lambda: xgboost.QuantileDMatrix(X, np.zeros(X.shape[0]), **options))


def _limit(settings: Params, rows: int) -> AbstractContextManager[None]:
    """Keep the library to one thread if that is the number: labels take all of OpenMP's, not nthread."""
    return one_thread("xgboost") if thread_count(settings, rows) == 1 else nullcontext()


def _types(settings: Params, width: int) -> list[str] | None:
    """Feature types in XGBoost's code: ``"c"`` for categorical, ``"q"`` for quantitative."""
    if settings.get("feature_types") is not None:
        return list(settings["feature_types"])
    named = settings.get("categorical_feature", settings.get("categorical_features"))
    if named is None or named == "auto":
        return None
    chosen = set(np.atleast_1d(named).tolist())
    return ["c" if k in chosen else "q" for k in range(width)]


def _params(settings: Params, own: dict[str, Any], rows: int) -> tuple[int, dict[str, Any]]:
    rounds, params = rounds_and_params(settings, ROUNDS, OWN)
    if params.get("booster", "gbtree") != "gbtree":
        raise AlgorithmError(f"booster={params['booster']!r} is not known here: leave it out for trees that add up")
    return rounds, {**params, "verbosity": 0, "nthread": thread_count(settings, rows), "tree_method": "hist", **own}


def _call_library(call: Any) -> Any:
    """Call the library, and turn its errors into an `AlgorithmError`."""
    try:
        return call()
    except imported("xgboost").core.XGBoostError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise AlgorithmError(f"xgboost refuses the settings or the data: {lines[0] if lines else error}") from error


# -- trees ----------------------------------------------------------------------------------------


def forest_of(booster: Any, width: int) -> Forest:
    """The trees of a booster as arrays."""
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    model = learner["gradient_booster"]["model"]
    scores = max(int(learner["learner_model_param"]["num_class"]), 1)
    base = np.array(json.loads(learner["learner_model_param"]["base_score"]), dtype=float).reshape(-1)
    base = logit(base) if learner["objective"]["name"] == "binary:logistic" else base
    offset = np.broadcast_to(base, scores).astype(float)
    bare = Forest.constant(offset, width, single=True)
    return with_trees(bare, [_tree(tree) for tree in model["trees"]], model["tree_info"])


def _tree(tree: dict[str, Any]) -> dict[str, Any]:
    left, right = (np.array(tree[f"{side}_children"], dtype=np.int32) for side in ("left", "right"))
    own, leaf = np.arange(len(left), dtype=np.int32), left < 0
    cut = np.array(tree["split_conditions"], dtype=np.float32)
    default_left = np.array(tree["default_left"], dtype=np.uint8)
    category = np.full(len(left), -1, np.int32)
    nodes = np.array(tree["categories_nodes"], dtype=np.intp)
    category[nodes] = np.arange(len(nodes), dtype=np.int32)
    # XGBoost sends categories of the set to the right, a `Forest` to the left: swap the sides
    left[nodes], right[nodes], default_left[nodes] = right[nodes], left[nodes].copy(), 1 - default_left[nodes]
    sets = [
        np.array(tree["categories"][a : a + n], dtype=np.int64)
        for a, n in zip(tree["categories_segments"], tree["categories_sizes"], strict=True)
    ]
    words = [_bits(codes) for codes in sets]
    # XGBoost sends x < cut to the left, a `Forest` x <= threshold: take the next smaller number in single precision
    threshold = np.where(leaf | (category >= 0), 0.0, np.nextafter(cut, np.float32(-np.inf)).astype(float))
    left, right = (np.where(leaf, own, side).astype(np.int32) for side in (left, right))
    cover = np.array(tree["sum_hessian"], dtype=float)
    return {
        "feature": np.where(leaf, 0, np.array(tree["split_indices"], dtype=np.int32)).astype(np.int32),
        "threshold": threshold,
        "left": left,
        "right": right,
        "value": node_means(left, right, np.where(leaf, cut.astype(float), 0.0), cover),
        "default_left": default_left,
        "category": category,
        "starts": np.cumsum([0, *map(len, words)]).astype(np.int32),
        "words": np.concatenate([np.zeros(0, np.uint32), *words]),
    }


def _bits(codes: NDArray[np.int64]) -> NDArray[np.uint32]:
    words = np.zeros(int(codes.max(initial=-1)) // 32 + 1, np.uint64)
    np.bitwise_or.at(words, codes >> 5, np.uint64(1) << (codes & 31).astype(np.uint64))
    return words.astype(np.uint32)
