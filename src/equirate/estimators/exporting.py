"""The parts of an ONNX export of a fitted estimator, and the facts in its metadata.

In: a fitted `RateClassifier` or `RatePostprocessor`. Out: an `Export`, which `RateEstimator.to_onnx` writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError, FileError
from ..data.arrays import to_numpy
from ..data.slices import is_missing
from ..export.columns import CodedColumn
from ..export.members import as_saved, refuse_classes
from ..export.model import Export
from ..export.scores import LinearScore, Score, TreeScore
from ..models.sklearn_classifiers import Line
from ..training.out_of_fold import line_or_trees, name_of, scorer_of

DRAW = "splitmix64-1"
"""Name of the hashed draw that `docs/deploying.md` specifies."""


def export_of(estimator: Any) -> Export:
    """The export of a fitted estimator.

    A `RateClassifier` has one input ``X``, or one for each column of a frame with categories; a `RatePostprocessor` has
    thresholds on a given score, or on that of a linear model or of trees.
    """
    refuse_classes(estimator.classifier_)
    facts = {"equirate": version("equirate"), "problem": repr(estimator.problem_), "output": estimator.output}
    if estimator.output == "hashed":
        facts |= {"draw": DRAW, "salt": str(estimator.salt_)}
    parts = _of_thresholds(estimator) if hasattr(estimator, "estimator_") else _of_features(estimator)
    return Export(classes=estimator.classes_, positive=estimator.pos_label_, facts=facts, **parts)


def _of_features(estimator: Any) -> dict[str, Any]:
    classifier, width = estimator.classifier_, int(estimator.n_features_in_)
    members = as_saved(classifier.members, width)
    known: Mapping[str, Any] = getattr(estimator, "categories_", {})
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    columns = tuple(CodedColumn(name, tuple(known[name]) if name in known else None) for name in names if known)

    def decide(inputs: Mapping[str, Any]) -> NDArray[np.bool_]:
        X = inputs["X"] if not columns else np.hstack([_coded(column, inputs[column.name]) for column in columns])
        return np.asarray(members.decide(X))

    return {"classifier": classifier, "width": width, "decide": decide, "columns": columns}


def _of_thresholds(estimator: Any) -> dict[str, Any]:
    classifier, members, serving = estimator.classifier_, estimator.classifier_.members, estimator.estimator_
    on_scores = members.with_scorer(scorer_of(None, estimator.classes_, estimator.pos_label_))

    def decide(inputs: Mapping[str, Any]) -> NDArray[np.bool_]:
        return np.asarray(members.decide(inputs["X"]))

    score = None if serving is None else _score(serving)
    return {"classifier": replace(classifier, members=on_scores), "width": 1, "decide": decide, "score": score}


def _coded(column: CodedColumn, values: NDArray[Any]) -> NDArray[np.float64]:
    if column.values is None:
        return values
    code = {value: float(k) for k, value in enumerate(column.values)}
    return np.array([[code.get(text, np.nan)] for text in values[:, 0].tolist()])


def _score(serving: Any) -> Score:
    """A classifier's score."""
    try:
        scores = line_or_trees(serving)
    except FileError as error:
        raise EquirateError(f"cannot export the scores of {name_of(serving)} to ONNX: {error}") from None
    if isinstance(scores, Line):
        return LinearScore(np.append(scores.coef_, scores.intercept_))
    return TreeScore(scores.forest)


def inputs_of(export: Export, X: Any) -> dict[str, Any]:
    """Features as inputs of the ONNX model."""
    if not export.columns:
        dense = X.toarray() if hasattr(X, "toarray") else to_numpy(X)
        return {"X": np.asarray(dense, dtype=np.float64).reshape(len(dense), -1)}
    frame, inputs = nw.from_native(X, eager_only=True), dict[str, Any]()
    known = {column.name: column.values or () for column in export.columns if isinstance(column, CodedColumn)}
    for column in export.columns:
        values = frame[column.name].to_list()
        if column.dtype is str:
            unknown = "".join(known.get(column.name, ())) + "?"  # longer than every value: none of them
            texts = [unknown if is_missing(value) else str(value) for value in values]
            inputs[column.name] = np.array(texts, dtype=object)[:, None]
        else:
            inputs[column.name] = np.array([np.nan if is_missing(v) else float(v) for v in values])[:, None]
    return inputs
