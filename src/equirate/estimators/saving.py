"""A fitted estimator as plain data and back: what `files` writes and reads.

In: a `RateClassifier` with a linear model, or a `RatePostprocessor` of given scores. Out: a dict that JSON can hold,
and arrays. Problems and groups travel as text of the language of rates, so nothing in a file is ever executed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError, FileError
from ..data.slices import EVERYBODY, Attribute, Slice
from ..game.algorithms import ALGORITHMS, Algorithm
from ..game.classifiers import Classifier
from ..game.loop import Start
from ..game.solution import Status
from ..language.parity import attributes_in
from ..models.linear import Linear, LinearMembers
from ..models.thresholds import ThresholdMembers, Thresholds
from ..problem.problem import Problem
from ..problem.text import parse, parse_constraints, parse_objective
from ..report.text import ConstraintValue, Evaluation, SliceSize

Plain = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


# -- RateClassifier -------------------------------------------------------------------------------


def plain_classifier(estimator: Any) -> tuple[Plain, Arrays]:
    """A fitted `RateClassifier` as JSON-ready data and arrays, or say what cannot be saved without pickle."""
    arrays: Arrays = {}
    outputs = {}
    for name, classifier in estimator._outputs.items():
        if not isinstance(classifier.members, LinearMembers):
            raise FileError(
                "only linear models are saved without pickle; this one holds other Python objects: use joblib.dump, "
                "and open such files only if you trust them"
            )
        arrays[f"{name}_coefficients"] = classifier.members.W
        arrays[f"{name}_weights"] = classifier.weights
        outputs[name] = {"intercept": classifier.members.intercept, "origin": classifier.origin}
    for name, values in estimator.history_.items():
        arrays[f"history_{name}"] = values
    if estimator._end is not None:
        arrays["end_parameters"], arrays["end_multipliers"] = estimator._end.parameters, estimator._end.multipliers
    manifest = {
        **_plain_head("RateClassifier", estimator),
        "features": {
            "count": int(estimator.n_features_in_),
            "names": [str(n) for n in estimator.feature_names_in_] if hasattr(estimator, "feature_names_in_") else None,
        },
        "outputs": outputs,
        "statuses": {name: _finite(asdict(status)) for name, status in estimator._statuses.items()},
        "evaluations": {
            name: {part: _finite(asdict(evaluation)) for part, evaluation in parts.items()}
            for name, parts in estimator._evaluations.items()
        },
        "configurations": [dict(c) for c in estimator.configurations_],
        "margin": estimator.margin_,
        "n_rounds": estimator.n_rounds_,
    }
    return manifest, arrays


def read_classifier(kind: Callable[..., Any], manifest: Plain, arrays: Arrays) -> Any:
    """Rebuild a fitted `RateClassifier`."""
    estimator = _read_head(kind, manifest)
    count, names = manifest["features"]["count"], manifest["features"]["names"]
    estimator.n_features_in_ = int(count)
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator._outputs = {}
    for name, facts in manifest["outputs"].items():
        W, weights = arrays[f"{name}_coefficients"], arrays[f"{name}_weights"]
        good = W.ndim == 2 and weights.shape == (W.shape[1],) and W.shape[0] == count + bool(facts["intercept"])
        if not good or W.dtype.kind != "f" or not np.isfinite(W).all() or not np.isfinite(weights).all():
            raise FileError(f"the coefficients of {name!r} do not fit together")
        members = LinearMembers(W, bool(facts["intercept"]))
        estimator._outputs[name] = Classifier(members, weights, estimator.problem_, str(facts["origin"]))
    if set(estimator._outputs) != {"stochastic", "deterministic"}:
        raise FileError("an output is missing")
    estimator._statuses = {name: _status(_infinite(status)) for name, status in manifest["statuses"].items()}
    estimator._evaluations = {
        name: {part: _evaluation(_infinite(evaluation)) for part, evaluation in parts.items()}
        for name, parts in manifest["evaluations"].items()
    }
    estimator.configurations_ = tuple(manifest["configurations"])
    estimator.margin_, estimator.n_rounds_ = float(manifest["margin"]), int(manifest["n_rounds"])
    estimator._end = None
    if "end_parameters" in arrays:
        estimator._end = Start(arrays["end_parameters"], arrays["end_multipliers"])
    prefix = "history_"
    estimator.history_ = {name[len(prefix) :]: value for name, value in arrays.items() if name.startswith(prefix)}
    return estimator


# -- RatePostprocessor ----------------------------------------------------------------------------


def plain_postprocessor(estimator: Any) -> tuple[Plain, Arrays]:
    """A fitted `RatePostprocessor` of given scores as JSON-ready data and arrays; refuses one around an estimator."""
    if estimator.estimator is not None:
        raise FileError(
            f"the scores come from {type(estimator.estimator).__name__}, which cannot be saved without pickle: save it "
            "in its own way, and the thresholds alone by RatePostprocessor(None, ...), which is given the scores "
            "instead of X (when fitting and when predicting); or use joblib.dump, and open such files only if you "
            "trust them"
        )
    classifier = estimator.classifier_
    groups = classifier.members.setting.groups
    manifest = {
        **_plain_head("RatePostprocessor", estimator),
        "groups": None if groups == (EVERYBODY,) else [_as_text(group) for group in groups],
        "origin": classifier.origin,
        "status": _finite(asdict(estimator.status_)),
        "evaluation": _finite(asdict(estimator.train_)),
    }
    return manifest, {"thresholds": classifier.members.cuts, "weights": classifier.weights}


def read_postprocessor(kind: Callable[..., Any], manifest: Plain, arrays: Arrays) -> Any:
    """Rebuild a fitted `RatePostprocessor`."""
    estimator = _read_head(kind, manifest)
    if estimator.estimator is not None:
        raise FileError("a file holds no estimator")
    texts = manifest["groups"]
    groups = (EVERYBODY,) if texts is None else tuple(map(_read_slice, texts))
    cuts, weights = arrays["thresholds"], arrays["weights"]
    good = cuts.ndim == 2 and weights.shape == (cuts.shape[1],) and len(cuts) == len(groups)
    if not good or cuts.dtype.kind != "f" or np.isnan(cuts).any() or not np.isfinite(weights).all():
        raise FileError("the thresholds do not fit together")
    members = ThresholdMembers(Thresholds(estimator._scorer(), groups), cuts)
    estimator._classifier = Classifier(members, weights, estimator.problem_, str(manifest["origin"]))
    estimator.status_ = _status(_infinite(manifest["status"]))
    estimator.train_ = _evaluation(_infinite(manifest["evaluation"]))
    return estimator


# -- what both have -------------------------------------------------------------------------------


def _plain_head(kind: str, estimator: Any) -> Plain:
    """Kind, settings, problem, labels and notes."""
    given = estimator.get_params(deep=False)
    given["constraints"] = Problem(estimator.objective, estimator.constraints).constraints
    if isinstance(given["random_state"], (np.random.RandomState, np.random.Generator)):
        given["random_state"] = estimator.seed_  # what was drawn from it: the same predictions
    return {
        "kind": kind,
        "settings": {name: _plain_setting(name, value) for name, value in given.items()},
        "problem": {
            "objective": _as_text(estimator.problem_.objective),
            "constraints": [_as_text(c) for c in estimator.problem_.constraints],
        },
        "classes": _plain_labels(estimator.classes_),
        "notes": list(estimator.notes_),
    }


def _read_head(kind: Callable[..., Any], manifest: Plain) -> Any:
    estimator = kind(**{name: _setting(name, value) for name, value in manifest["settings"].items()})
    problem = manifest["problem"]
    constraints = [part for text in problem["constraints"] for part in parse_constraints(text)]
    estimator.problem_ = Problem(parse_objective(problem["objective"]), constraints)
    estimator.classes_ = _labels(manifest["classes"])
    estimator.notes_ = tuple(manifest["notes"])
    return estimator


def _status(plain: Plain) -> Status:
    tuples = {name: tuple(plain[name]) for name in ("diverged", "left_domain", "advice")}
    if "lower_bound" in plain:  # files of 0.1 and before: a bound without what it is over
        plain = {
            **{k: v for k, v in plain.items() if k != "lower_bound"},
            "bound": None,
            "bound_over": None,
            "gap": None,
        }
    return Status(**{**plain, **tuples})


def _evaluation(plain: Plain) -> Evaluation:
    constraints = tuple(ConstraintValue(**row) for row in plain.pop("constraints"))
    slices = tuple(SliceSize(**row) for row in plain.pop("slices"))
    return Evaluation(constraints=constraints, slices=slices, **plain)


def _as_text(part: Any) -> str:
    """Text of the language that parses back to the same thing."""
    text = repr(part)
    try:
        back = parse(text)
    except EquirateError as error:
        raise FileError(f"{text} cannot be saved as text: {error}") from None
    back = back[0] if isinstance(back, list) and len(back) == 1 else back
    if repr(back) != text:
        raise FileError(f"{text} cannot be saved as text: it reads back as {back!r}")
    return text


def _plain_setting(name: str, value: Any) -> Any:
    if name == "objective":
        return _as_text(value)
    if name == "constraints":
        return [_as_text(part) for part in value]
    if name == "groups":
        return None if value is None else [_as_text(part) for part in attributes_in(value)]
    if isinstance(value, Linear):
        return {"linear": asdict(value)}
    if isinstance(value, Algorithm) and ALGORITHMS.get(value.name) == value:
        return value.name
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (list, tuple, np.ndarray)):
        return [float(v) for v in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise FileError(f"the setting {name}={value!r} cannot be saved without pickle: use joblib.dump")


def _setting(name: str, value: Any) -> Any:
    if name == "objective":
        return parse_objective(value)
    if name == "constraints":
        return [part for text in value for part in parse_constraints(text)]
    if name == "groups":
        return None if value is None else [_read_group(text) for text in value]
    if isinstance(value, dict):
        return Linear(**value["linear"])
    return tuple(value) if isinstance(value, list) else value


def _read_group(text: str) -> Attribute | Slice:
    found = parse(text)
    if not isinstance(found, (Attribute, Slice)):
        raise FileError(f"{text} is not an attribute or a slice")
    return found


def _read_slice(text: str) -> Slice:
    found = _read_group(text)
    if not isinstance(found, Slice):
        raise FileError(f"{text} is not a slice")
    return found


def _plain_labels(classes: NDArray[Any]) -> Plain:
    values = [v.item() if isinstance(v, np.generic) else v for v in classes]
    if not all(isinstance(v, (bool, int, float, str)) for v in values):
        raise FileError(f"labels of type {classes.dtype} cannot be saved without pickle: use joblib.dump")
    return {"values": values, "dtype": "object" if classes.dtype == object else classes.dtype.str}


def _labels(plain: Plain) -> NDArray[Any]:
    dtype = plain["dtype"]
    if dtype != "object" and np.dtype(dtype).kind not in "biufU":
        raise FileError(f"labels of type {dtype!r}")
    labels = np.array(plain["values"], dtype=dtype)
    if labels.shape != (2,):
        raise FileError("there must be two labels")
    return labels


def _finite(plain: Any) -> Any:
    """Write numbers that JSON does not have as text."""
    if isinstance(plain, float) and not np.isfinite(plain):
        return {"float": repr(float(plain))}
    if isinstance(plain, dict):
        return {name: _finite(value) for name, value in plain.items()}
    return [_finite(value) for value in plain] if isinstance(plain, (list, tuple)) else plain


def _infinite(plain: Any) -> Any:
    """Read them back."""
    if isinstance(plain, dict):
        return float(plain["float"]) if set(plain) == {"float"} else {k: _infinite(v) for k, v in plain.items()}
    return [_infinite(value) for value in plain] if isinstance(plain, list) else plain
