"""A fitted estimator as plain data and back, which `container` writes and reads.

In: a `RateClassifier`, or a `RatePostprocessor` of given scores or of a linear classifier. Out: a manifest that JSON
can hold, and arrays. Problems and groups are stored as text of the language of rates, members write and read
themselves, so nothing in a file is ever executed. The rules of a manifest are in `manifests`; they are also applied
before writing, so that nothing is saved that would not load.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from .._core.errors import FileError
from .._core.plain import plain
from .._core.provenance import Provenance
from .._core.records import build
from .._core.rules import ArrayOf, Fields, Rule, Text, shown
from ..game.algorithms import ALGORITHMS, Algorithm
from ..game.classifiers import Classifier
from ..game.record import Start
from ..game.solution import Status
from ..judge.certification_record import METHOD_WORDS as CERTIFIED_BY, Certification
from ..judge.evaluation import ClassEvaluation, ConstraintValue, Evaluation
from ..language.parity import attributes_in
from ..models.members import Written
from ..models.registry import read_members
from ..models.scikit import plain_learner, plain_model, read_learner, read_model
from ..models.sklearn_classifiers import ClassLine, Line
from ..problem.problem import Problem
from ..problem.text import parse_constraints, parse_objective
from ..problem.written import as_text, read_group
from ..selection.choice import FittedOutput
from ..training.out_of_fold import name_of, scorer_of, unfrozen, used_as_given
from .manifests import MOST_LANGUAGE, MOST_MEMBERS, OPTIONAL, OUTPUT, PROBLEM, WEIGHT_SUM_TOLERANCE, manifest_rule

Plain = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


# -- estimators ------------------------------------------------------------------------------------


def plain_classifier(estimator: Any) -> tuple[Plain, Arrays]:
    """A fitted `RateClassifier` as JSON-ready data and arrays; an error for what cannot be saved without pickle."""
    width = int(estimator.n_features_in_)
    manifest, arrays = _plain_fitted(estimator, width, lambda classifier: classifier)
    manifest["features"] = _plain_features(width, getattr(estimator, "feature_names_in_", None))
    return _checked(estimator, manifest), arrays


def read_classifier(kind: Callable[..., Any], manifest: Plain, arrays: Arrays) -> Any:
    """Rebuild a fitted `RateClassifier`."""
    estimator, left = _read_head(kind, manifest), dict(arrays)
    count = _read_features(estimator, manifest["features"])

    def check(name: str, classifier: Classifier) -> Classifier:
        if classifier.members.width not in (None, count):
            raise FileError(f"the {name} output wants {classifier.members.width} features, the classifier has {count}")
        return classifier

    _read_fitted(estimator, manifest, left, count, check)
    return estimator


def plain_postprocessor(estimator: Any) -> tuple[Plain, Arrays]:
    """A fitted `RatePostprocessor` as JSON-ready data and arrays; an error if its estimator is not linear."""
    line, kind = None, Line if len(estimator.classes_) == 2 else ClassLine
    if estimator.estimator_ is not None:
        try:
            line = kind.of(unfrozen(estimator.estimator_))
        except FileError:
            raise FileError(
                f"the scores come from {name_of(estimator.estimator_)}, which cannot be saved without pickle: save it "
                "in its own way, and the thresholds alone by RatePostprocessor(None, ...), which is given the scores "
                "instead of X (when fitting and when predicting); or use joblib.dump, and open such files only if you "
                "trust them"
            ) from None
    scores = _scorer(estimator, None)
    manifest, arrays = _plain_fitted(estimator, 1, lambda classifier: _scored_by(classifier, scores))
    if line is not None:
        arrays |= {"estimator.coef": line.coef_, "estimator.intercept": line.intercept_}
        manifest["features"] = _plain_features(line.n_features_in_, line.names)
        if used_as_given(estimator.estimator, estimator.cv):
            manifest["settings"]["cv"] = "prefit"
    return _checked(estimator, manifest), arrays


def read_postprocessor(kind: Callable[..., Any], manifest: Plain, arrays: Arrays) -> Any:
    """Rebuild a fitted `RatePostprocessor`."""
    estimator, left = _read_head(kind, manifest), dict(arrays)
    estimator.estimator_ = _read_line(estimator, manifest, left)
    given, scorer = _scorer(estimator, None), _scorer(estimator, estimator.estimator_)

    def on_scores(name: str, classifier: Classifier) -> Classifier:
        if classifier.members.scorer != given:
            raise FileError(f"the thresholds of the {name} output are not on scores for the positive label")
        return _scored_by(classifier, scorer)

    _read_fitted(estimator, manifest, left, 1, on_scores)
    return estimator


def _plain_fitted(estimator: Any, width: int, written_as: Callable[[Classifier], Classifier]) -> tuple[Plain, Arrays]:
    """What both estimators have in a file; ``width`` is the number of features of their members."""
    manifest, arrays = _plain_head(estimator), Arrays()
    outputs = estimator.outputs_
    manifest |= {
        "outputs": {
            name: _plain_output(name, written_as(output.classifier), width, arrays) for name, output in outputs.items()
        },
        "statuses": {name: output.status for name, output in outputs.items() if output.status is not None},
        "evaluations": {name: output.evaluations for name, output in outputs.items()},
        "configurations": [dict(configuration) for configuration in estimator.configurations_],
        "margin": estimator.margin_,
        "n_rounds": estimator.n_rounds_,
    }
    arrays |= {f"history.{name}": values for name, values in estimator.history_.items()}
    if estimator.end_ is not None:
        arrays |= {"end.parameters": estimator.end_.parameters, "end.multipliers": estimator.end_.multipliers}
    return manifest, arrays


def _read_fitted(
    estimator: Any, manifest: Plain, left: Arrays, width: int, checked: Callable[[str, Classifier], Classifier]
) -> None:
    """Read what both estimators have; ``checked`` takes the name of an output and its classifier."""
    outputs = {}
    for name, output in manifest["outputs"].items():
        classifier = _read_output(name, output, left, estimator.problem_)
        if classifier.n_classes != len(estimator.classes_):
            raise FileError(f"the {name} output has {classifier.n_classes} classes, not {len(estimator.classes_)}")
        outputs[name] = checked(name, classifier)
    if not outputs["deterministic"].is_deterministic:
        raise FileError("the deterministic output is a mixture")
    estimator.outputs_ = _read_outputs(outputs, manifest, estimator.problem_)
    if list(estimator.notes_) != manifest["notes"]:
        raise FileError("the notes are not those that follow from its status")
    estimator.configurations_ = tuple(manifest["configurations"])
    estimator.margin_, estimator.n_rounds_ = float(manifest["margin"]), manifest["n_rounds"]
    estimator.end_ = _read_end(left, width, estimator.problem_)
    estimator.history_ = _read_history(left)
    _refuse_left(left)


def _read_outputs(outputs: dict[str, Classifier], manifest: Plain, problem: Problem) -> dict[str, FittedOutput]:
    """Outputs with their statuses and evaluations, all evaluated on the same parts and slices."""
    statuses = {name: build(Status, status) for name, status in manifest["statuses"].items()}
    evaluations = {
        name: {part: _evaluation(evaluation, problem) for part, evaluation in parts.items()}
        for name, parts in manifest["evaluations"].items()
    }
    if not all(evaluations.values()):
        raise FileError("an output was evaluated on no data")
    every = [each for parts in evaluations.values() for each in parts.values()]
    same_parts = len({tuple(parts) for parts in evaluations.values()}) == 1
    if not same_parts or len({tuple(size.slice for size in each.slices) for each in every}) != 1:
        raise FileError("the outputs were not evaluated on the same parts and slices")
    if evaluations.keys() != outputs.keys() or not statuses.keys() <= outputs.keys():
        raise FileError("the outputs are not those that were evaluated")
    return {name: FittedOutput(each, statuses.get(name), evaluations[name]) for name, each in outputs.items()}


def _read_end(left: Arrays, count: int, problem: Problem) -> Start | None:
    """Where training ended, with both parts; None without either."""
    names = ("end.parameters", "end.multipliers")
    if not any(name in left for name in names):
        return None
    parameters, multipliers = (_take(left, name, ArrayOf("f", 2, nan=True, infinite=True)) for name in names)
    if parameters.shape != (count + 1, multipliers.shape[1]) or not multipliers.shape[1]:
        raise FileError("the parameters and the multipliers that the play ended with do not fit together")
    return Start(parameters, multipliers)


_HISTORY = {"round": 1, "objective": 2, "violation": 2, "multipliers": 3, "slacks": 3, "lagrangian": 2, "bound": 2}
"""Dimensions of the recorded quantities."""


def _read_history(left: Arrays) -> Arrays:
    """Recorded quantities, all over the same rounds and configurations."""
    history = {
        name: _take(left, f"history.{name}", ArrayOf("fiub", dimensions, nan=True, infinite=True))
        for name, dimensions in _HISTORY.items()
    }
    rounds = history["round"]
    if not np.isfinite(rounds).all():
        raise FileError("the rounds of the history are not numbers")
    ends = {(array.shape[0], array.shape[-1]) for name, array in history.items() if name != "round"}
    if len(ends) != 1 or next(iter(ends))[0] != len(rounds):
        raise FileError("the history is not over the same rounds and configurations")
    return history


# -- scores of a postprocessor ---------------------------------------------------------------------


def _scorer(estimator: Any, scored: Any) -> Any:
    """The scores of a classifier, or for None those given in the place of features."""
    return scorer_of(scored, estimator.classes_, estimator.class_values_[-1])


def _read_line(estimator: Any, manifest: Plain, left: Arrays) -> Line | None:
    """The linear classifier whose scores are thresholded, if there is one."""
    written = manifest["settings"].get("estimator")
    if written is None:
        return None
    features = manifest.get("features", {"count": None, "names": None})
    count, names = _read_features(estimator, features), features["names"]
    coef = _take(left, "estimator.coef", ArrayOf("f", 2))
    intercept = _take(left, "estimator.intercept", ArrayOf("f", 1))
    kind = Line if len(estimator.classes_) == 2 else ClassLine
    line = kind(next(iter(written)), coef, intercept, estimator.classes_, None if names is None else tuple(names))
    if count != line.n_features_in_:
        raise FileError(f"there are coefficients for {line.n_features_in_} features, not for {count}")
    if estimator.cv == "prefit":
        estimator.estimator = line
    return line


def _plain_features(count: int, names: Iterable[str] | None) -> Plain:
    return {"count": count, "names": None if names is None else list(map(str, names))}


def _read_features(estimator: Any, features: Plain) -> Any:
    """Give the estimator the number and the names of its features; returns their number."""
    count, names = features["count"], features["names"]
    estimator.n_features_in_ = count
    if names is not None:
        if len(names) != count:
            raise FileError(f"there are {len(names)} names for {count} features")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return count


def _scored_by(classifier: Classifier, scorer: Any) -> Classifier:
    """The same thresholds on the scores of another scorer."""
    return replace(classifier, members=classifier.members.with_scorer(scorer))


# -- mixtures by themselves -----------------------------------------------------------------------

_MIXTURE = Fields({"kind": Text(100), "output": OUTPUT}, {"problem": PROBLEM})


def plain_mixture(classifier: Classifier) -> tuple[Plain, Arrays]:
    """A `Classifier` as JSON-ready data and arrays."""
    arrays = Arrays()
    manifest: Plain = {"kind": "Classifier"}
    manifest["output"] = _plain_output("mixture", classifier, classifier.members.width or 0, arrays)
    if classifier.problem is not None:
        manifest["problem"] = _plain_problem(classifier.problem)
    _MIXTURE.check(manifest, "the manifest")
    return manifest, arrays


def read_mixture(manifest: Plain, arrays: Arrays) -> Classifier:
    """Rebuild a `Classifier`."""
    _MIXTURE.check(manifest, "the manifest")
    written, left = manifest.get("problem"), dict(arrays)
    problem = None if written is None else _read_problem(written)
    mixture = _read_output("mixture", manifest["output"], left, problem)
    _refuse_left(left)
    return mixture


# -- parts of both --------------------------------------------------------------------------------


def _plain_head(estimator: Any) -> Plain:
    """Kind, settings, problem, labels, notes, and the attributes of `OPTIONAL`."""
    given = estimator.get_params(deep=False)
    given["constraints"] = Problem(estimator.objective, estimator.constraints).constraints
    if isinstance(given["random_state"], (np.random.RandomState, np.random.Generator)):
        given["random_state"] = estimator.seed_  # what was drawn from it: the same predictions
    head = {
        "kind": type(estimator).__name__,
        "settings": {name: _plain_setting(name, value) for name, value in given.items()},
        "problem": _plain_problem(estimator.problem_),
        "classes": _plain_labels(estimator.classes_),
        "notes": list(estimator.notes_),
        "salt": estimator.salt_,
    }
    more = {name: getattr(estimator, attribute, None) for name, (attribute, _) in OPTIONAL.items()}
    return head | {name: value for name, value in more.items() if value is not None}


def _read_head(kind: Callable[..., Any], manifest: Plain) -> Any:
    """Check the manifest, and make an estimator with settings, problem, labels and notes."""
    manifest_rule(kind).check(manifest, "the manifest")
    settings = manifest["settings"]
    _refuse_long(settings["constraints"])
    estimator = kind(**{name: _setting(name, value) for name, value in settings.items()})
    estimator.classes_ = _labels(manifest["classes"])
    if len(estimator.classes_) > 2 and estimator.pos_label is not None:
        raise FileError(f"there is a positive label among {len(estimator.classes_)} classes")
    problem = _read_problem(manifest["problem"])
    estimator.problem_ = problem.in_classes(estimator.class_values_)  # refuses a label that is not among them
    estimator.salt_ = manifest["salt"]
    for name, (attribute, _) in OPTIONAL.items():
        if name in manifest:
            setattr(estimator, attribute, manifest[name])
    if "provenance" in manifest:
        estimator.provenance_ = build(Provenance, manifest["provenance"])
    written = manifest.get("certification")
    estimator.certification_ = None if written is None else _certification(written, estimator.problem_)
    return estimator


def _certification(value: Mapping[str, Any], problem: Problem) -> Certification:
    """The certificate; an error if it is not about the problem's constraints."""
    certification: Certification = build(Certification, value)
    if certification.method not in CERTIFIED_BY or len(certification.constraints) != len(problem.constraints):
        raise FileError("the certificate is not one of these constraints")
    _checked_constraints(certification.constraints)
    return certification


def _plain_problem(problem: Problem) -> Plain:
    return {"objective": as_text(problem.objective), "constraints": _texts(problem.constraints)}


def _read_problem(problem: Plain) -> Problem:
    _refuse_long(problem["constraints"])
    return Problem(parse_objective(problem["objective"]), _constraints(problem["constraints"]))


def _refuse_long(constraints: Iterable[str]) -> None:
    if sum(map(len, constraints)) > MOST_LANGUAGE:
        raise FileError(f"the constraints have more than {MOST_LANGUAGE} characters together")


def _checked(estimator: Any, manifest: Plain) -> Plain:
    """The manifest as plain data, by the rules that `load` will apply."""
    checked: Plain = plain(manifest)
    kind: Callable[..., Any] = type(estimator)
    manifest_rule(kind).check(checked, "the manifest")
    return checked


def _plain_output(name: str, classifier: Classifier, width: int, arrays: Arrays) -> Plain:
    """One output as plain data; its arrays are added to ``arrays``, under its name."""
    written = classifier.members.plain(width)
    arrays |= {f"{name}.members.{part}": array for part, array in written.arrays.items()}
    arrays[f"{name}.weights"] = _distribution(np.asarray(classifier.weights, dtype=np.float64), name)
    return {"kind": written.kind, "settings": written.settings, "origin": classifier.origin}


def _read_output(name: str, output: Plain, left: Arrays, problem: Problem | None) -> Classifier:
    """Rebuild one output, removing its arrays from ``left``."""
    weights = _distribution(_take(left, f"{name}.weights", ArrayOf("f", 1)), name)
    prefix = f"{name}.members."
    own = {part.removeprefix(prefix): left.pop(part) for part in [*left] if part.startswith(prefix)}
    members = read_members(Written(output["kind"], output["settings"], own))
    if len(members) != len(weights):
        raise FileError(f"the {name} output has {len(members)} members and {len(weights)} weights")
    return Classifier(members, weights, problem, output["origin"])


def _distribution(weights: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Raise an error for weights that are not those of a mixture."""
    good = weights.dtype == np.float64 and weights.ndim == 1 and 0 < len(weights) <= MOST_MEMBERS
    if not good or not (np.isfinite(weights).all() and (weights >= 0).all() and (weights <= 2).all()):
        raise FileError(f"the weights of the {name} output are not 1 to {MOST_MEMBERS} numbers between 0 and 1")
    if not abs(float(weights.sum()) - 1) <= WEIGHT_SUM_TOLERANCE:
        raise FileError(f"the weights of the {name} output have the sum {weights.sum()!r}, not 1")
    return weights


def _evaluation(value: Mapping[str, Any], problem: Problem) -> Evaluation:
    if len(value["constraints"]) != len(problem.constraints):
        raise FileError(f"{len(value['constraints'])} of {len(problem.constraints)} constraints were evaluated")
    evaluation: Evaluation = build(ClassEvaluation if "classes" in value else Evaluation, value)
    _checked_constraints(evaluation.constraints)
    return evaluation


def _checked_constraints(rows: Iterable[ConstraintValue]) -> None:
    for row in rows:
        if row.symbol not in ("<=", ">=") or row.verdict not in ("pass", "fail", "cannot tell", "not measured"):
            raise FileError(f"a constraint was evaluated to {shown(row.symbol)} and {shown(row.verdict)}")


def _take(left: Arrays, name: str, rule: Rule) -> NDArray[Any]:
    if name not in left:
        raise FileError(f"there is no array {name!r}")
    rule.check(left[name], f"the array {name!r}")
    return left.pop(name)


def _refuse_left(left: Iterable[str]) -> None:
    for name in left:
        raise FileError(f"there is an array {shown(name)} that this equirate does not know: upgrade equirate")


def _plain_setting(name: str, value: Any) -> Any:
    if name in _CONVERTERS:
        return None if value is None else _CONVERTERS[name][0](value)
    if isinstance(value, Algorithm) and ALGORITHMS.get(value.name) == value:
        return value.name
    try:
        return plain(value.tolist() if isinstance(value, np.ndarray) else value)
    except FileError:
        raise FileError(f"the setting {name}={value!r} cannot be saved without pickle: use joblib.dump") from None


def _plain_estimator(estimator: Any) -> Plain:
    """Name and settings; for an estimator that is used as it is, the name and its coefficients suffice."""
    if isinstance(estimator, (Line, FrozenEstimator)):
        return {name_of(estimator): {}}
    return plain_learner(estimator)


def _setting(name: str, value: Any) -> Any:
    if name in _CONVERTERS:
        return None if value is None else _CONVERTERS[name][1](value)
    return tuple(value) if isinstance(value, list) else value


def _texts(parts: Iterable[Any]) -> list[str]:
    return [as_text(part) for part in parts]


def _constraints(texts: Iterable[str]) -> list[Any]:
    return [part for text in texts for part in parse_constraints(text)]


_CONVERTERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "objective": (as_text, parse_objective),
    "constraints": (_texts, _constraints),
    "groups": (lambda groups: _texts(attributes_in(groups)), lambda texts: [read_group(text) for text in texts]),
    "model": (plain_model, read_model),
    "estimator": (_plain_estimator, read_learner),
}
"""How settings are written and read that are not plain values themselves."""


# -- labels ---------------------------------------------------------------------------------------

_LABEL_TYPE = re.compile(r"object|\|b1|[<>|][iu][1248]|[<>]f[248]|[<>]U[1-9][0-9]{0,4}")


def _plain_labels(classes: NDArray[Any]) -> Plain:
    values = [v.item() if isinstance(v, np.generic) else v for v in classes]
    if not all(isinstance(v, (bool, int, float, str)) for v in values):
        raise FileError(f"labels of type {classes.dtype} cannot be saved without pickle: use joblib.dump")
    return {"values": values, "dtype": "object" if classes.dtype == object else classes.dtype.str}


def _labels(described: Plain) -> NDArray[Any]:
    """Labels of the given dtype; an error if they differ in it."""
    values, dtype = described["values"], described["dtype"]
    if not _LABEL_TYPE.fullmatch(dtype):
        raise FileError(f"labels of the type {dtype!r} are not read")
    try:
        labels = np.array(values, dtype=dtype)
    except (ValueError, OverflowError, TypeError):
        raise FileError(f"the labels are not of the type {dtype!r}") from None
    same = [(type(v), v) for v in labels.tolist()] == [(type(v), v) for v in values]
    kinds = {isinstance(value, str) for value in values}
    if not same or len(set(values)) < len(values) or len(kinds) > 1:
        raise FileError(f"the labels are not different ones of the type {dtype!r}")
    return labels
