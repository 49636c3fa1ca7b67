"""Export of a single ensemble to its library: a ``lightgbm.Booster`` or ``xgboost.Booster`` with the same scores.

In: `ForestMembers` with one member (or an estimator whose output is one), trained here or read from a file. Out: a
booster whose raw score is above 0 where the member predicts 1. Every tree is written in the library's own format.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from ..models.forest_members import ForestMembers
from ..models.forests import Forest
from .libraries import imported


def single_forest(members: Any) -> Forest:
    """The trees of a single member, all for one score, whose offset includes the member's threshold."""
    members = getattr(getattr(members, "classifier_", members), "members", members)
    if len(members) != 1:
        raise AlgorithmError(
            "only a single ensemble of trees can be handed over to a library: this is "
            f"{type(members).__name__} of {len(members)}; take a member of it, members.take([k])"
        )
    kept: ForestMembers = members.forests()
    forest = kept.forest
    offset = np.array([forest.offset.sum() - kept.cuts[0]])
    return replace(forest, column=np.zeros_like(forest.column), offset=offset)


def _order(forest: Forest, root: int) -> tuple[list[int], list[int]]:
    """Inner nodes of one tree, each before its children, and its leaves."""
    inner, leaves, ways = [], [], [root]
    while ways:
        node = ways.pop(0)
        left, right = int(forest.left[node]), int(forest.right[node])
        if left == node:
            leaves.append(node)
        else:
            inner.append(node)
            ways += [left, right]
    return inner, leaves


# -- LightGBM -------------------------------------------------------------------------------------


def to_lightgbm(members: Any) -> Any:
    """A single ensemble as a ``lightgbm.Booster``: it predicts 1 if ``booster.predict(X, raw_score=True) > 0``.

    Parameters
    ----------
    members
        A fitted estimator, a classifier or members, of one ensemble of LightGBM or scikit-learn.

    Returns
    -------
    lightgbm.Booster
        A booster with the predictions of the ensemble.

    Examples
    --------
    >>> import numpy as np, equirate as eq
    >>> from equirate.boosting import BoostedTrees, to_lightgbm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = (X[:, 0] + 0.5 * rng.normal(size=400) > 0).astype(int)
    >>> best = eq.solve(eq.minimize(eq.error_rate()), X, y, model=BoostedTrees(n_jobs=1), n_rounds=10).best()
    >>> booster = to_lightgbm(best)
    >>> bool(((booster.predict(X, raw_score=True) > 0) == best.members.decide(X)[:, 0]).all())
    True
    """
    forest = single_forest(members)
    if forest.single:
        raise AlgorithmError("these trees compare in single precision, as XGBoost does: use to_xgboost()")
    trees = [_light_tree(forest, k, int(root)) for k, root in enumerate(forest.roots)]
    if forest.offset[0]:
        trees.append(_light_leaf(len(trees), float(forest.offset[0])))
    names = " ".join(f"Column_{k}" for k in range(forest.width))
    head = [
        *("tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0"),
        f"max_feature_idx={forest.width - 1}",
        *("objective=binary sigmoid:1", f"feature_names={names}"),
        "feature_infos=" + " ".join(["[-1e300:1e300]"] * forest.width),
        "tree_sizes=" + " ".join(str(len(tree.encode())) for tree in trees),
    ]
    tail = "end of trees\n\nfeature_importances:\n\nparameters:\n\nend of parameters\n"
    text = "\n".join(head) + "\n\n" + "".join(trees) + tail
    return imported("lightgbm").Booster(model_str=text)


def _light_leaf(number: int, value: float) -> str:
    return f"Tree={number}\nnum_leaves=1\nnum_cat=0\nleaf_value={value!r}\nis_linear=0\nshrinkage=1\n\n\n"


def _light_tree(forest: Forest, number: int, root: int) -> str:
    inner, leaves = _order(forest, root)
    if not inner:
        return _light_leaf(number, float(forest.value[root]))
    place = {node: k for k, node in enumerate(inner)} | {node: ~k for k, node in enumerate(leaves)}
    sets = [node for node in inner if forest.category[node] >= 0]
    bounds, words = [0], list[int]()
    for node in sets:
        category = forest.category[node]
        words += forest.words[forest.starts[category] : forest.starts[category + 1]].tolist() or [0]
        bounds.append(len(words))
    kinds = [1 if node in sets else 8 + 2 * int(forest.default_left[node]) for node in inner]
    cuts = [float(sets.index(node)) if node in sets else float(forest.threshold[node]) for node in inner]
    lines = {
        "num_leaves": [len(leaves)],
        "num_cat": [len(sets)],
        "split_feature": forest.feature[inner].tolist(),
        "split_gain": [0] * len(inner),
        "threshold": cuts,
        "decision_type": kinds,
        "left_child": [place[int(forest.left[node])] for node in inner],
        "right_child": [place[int(forest.right[node])] for node in inner],
        "leaf_value": forest.value[leaves].tolist(),
        "leaf_weight": [1] * len(leaves),
        "leaf_count": [1] * len(leaves),
        "internal_value": [0] * len(inner),
        "internal_weight": [0] * len(inner),
        "internal_count": [1] * len(inner),
        **({"cat_boundaries": bounds, "cat_threshold": words} if sets else {}),
        "is_linear": [0],
        "shrinkage": [1],
    }
    body = "\n".join(f"{name}={' '.join(map(repr, values))}" for name, values in lines.items())
    return f"Tree={number}\n{body}\n\n\n"


# -- XGBoost --------------------------------------------------------------------------------------


def to_xgboost(members: Any) -> Any:
    """A single ensemble as an ``xgboost.Booster``: it predicts 1 if ``predict(matrix, output_margin=True) > 0``.

    XGBoost adds up scores in single precision, so they may differ in the seventh digit.

    Parameters
    ----------
    members
        A fitted estimator, a classifier or members, of one ensemble of XGBoost.

    Returns
    -------
    xgboost.Booster
        A booster with the predictions of the ensemble, up to single precision.
    """
    forest = single_forest(members)
    if not forest.single:
        raise AlgorithmError("these trees compare in double precision, as LightGBM does: use to_lightgbm()")
    if (forest.category >= 0).any():
        raise AlgorithmError("trees that split categories are not handed over to xgboost")
    xgboost = imported("xgboost")
    blank = xgboost.train(
        {"objective": "binary:logistic", "base_score": 0.5, "verbosity": 0, "nthread": 1},
        xgboost.DMatrix(np.zeros((2, forest.width)), label=np.array([0, 1])),
        1,
    )
    content = json.loads(bytes(blank.save_raw("json")))
    trees = [_extreme_tree(forest, k, int(root)) for k, root in enumerate(forest.roots)]
    if forest.offset[0]:
        trees.append(_extreme_arrays(len(trees), forest.width, [-1], [-1], [0], [float(forest.offset[0])], [0]))
    model = content["learner"]["gradient_booster"]["model"]
    model["trees"], model["tree_info"] = trees, [0] * len(trees)
    model["iteration_indptr"] = list(range(len(trees) + 1))
    model["gbtree_model_param"]["num_trees"] = str(len(trees))
    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(json.dumps(content).encode()))
    return booster


def _extreme_tree(forest: Forest, number: int, root: int) -> dict[str, Any]:
    inner, leaves = _order(forest, root)
    nodes = sorted([*inner, *leaves], key=lambda node: (node != root, node))
    place = {node: k for k, node in enumerate(nodes)}
    leaf: NDArray[np.bool_] = forest.left[nodes] == nodes
    after = np.nextafter(forest.threshold[nodes].astype(np.float32), np.float32(np.inf))
    cuts = np.where(leaf, forest.value[nodes].astype(np.float32), after)
    left, right = (
        [-1 if leaf[k] else place[int(side[node])] for k, node in enumerate(nodes)]
        for side in (forest.left, forest.right)
    )
    feature, default = forest.feature[nodes].tolist(), forest.default_left[nodes].tolist()
    return _extreme_arrays(number, forest.width, left, right, feature, cuts.tolist(), default)


def _extreme_arrays(
    number: int, width: int, left: list[int], right: list[int], feature: list[int], cut: list[float], default: list[int]
) -> dict[str, Any]:
    count = len(left)
    parents = [2147483647] * count
    for k in range(count):
        for child in (left[k], right[k]):
            if child >= 0:
                parents[child] = k
    none: list[Any] = []
    return {
        "base_weights": [0.0] * count,
        "categories": none,
        "categories_nodes": none,
        "categories_segments": none,
        "categories_sizes": none,
        "default_left": default,
        "id": number,
        "left_children": left,
        "loss_changes": [0.0] * count,
        "parents": parents,
        "right_children": right,
        "split_conditions": cut,
        "split_indices": feature,
        "split_type": [0] * count,
        "sum_hessian": [1.0] * count,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(width),
            "num_nodes": str(count),
            "size_leaf_vector": "1",
        },
    }
