"""Conversion of the ``model`` parameter to plain data, and back.

In: a model, or a classifier of scikit-learn that is not fitted. Out: its name and settings for JSON. Fitted classifiers
are in `sklearn_classifiers`. Objects that only pickle could save are refused by name.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from .._core.errors import FileError
from .._core.plain import plain
from .._core.records import build, record
from .._core.rules import SCALAR, Either, ListOf, MapOf, shown
from .linear import Linear
from .oracle import Oracle
from .plug_in import PlugIn
from .registry import MODELS as NAMED, SAVED_ESTIMATORS, SAVED_MODELS, load, wrap_type
from .sklearn_classifiers import LEARNERS, SAVED, describe_type, learner_class

MODELS: dict[str, type[Any]] = {"linear": Linear, "plug_in": PlugIn, "oracle": Oracle}
"""Models whose setting can be saved."""
MORE = {
    *("verbose", "verbosity", "seed", "num_threads", "deterministic", "force_col_wise", "force_row_wise"),
    *("lambda_l1", "lambda_l2", "bagging_fraction", "bagging_freq", "feature_fraction", "path_smooth", "cat_smooth"),
    *("max_bin", "extra_trees", "min_data_in_leaf", "min_data_in_bin", "max_cat_to_onehot", "is_unbalance"),
}
"""Settings of the boosting libraries that ``get_params`` does not list; others may name files, and are refused."""
BOOSTED_RULE = MapOf(Either((SCALAR, ListOf(SCALAR, 100_000))), 200)


# -- settings -------------------------------------------------------------------------------------


def plain_model(model: Any) -> Any:
    """The ``model`` parameter as plain data."""
    if isinstance(model, str):
        return model
    wrapped: Any = wrap_type(model) or model
    for name, path in SAVED_MODELS.items():
        if f"{type(wrapped).__module__}:{type(wrapped).__qualname__}" == path:
            return {name: plain(wrapped.plain())}
    for name, kind in MODELS.items():
        if type(model) is kind:
            parts = {part.name: getattr(model, part.name) for part in fields(kind) if not _is_default(part, model)}
            return {name: {key: plain_learner(v) if key in _ESTIMATOR_FIELDS else plain(v) for key, v in parts.items()}}
    return plain_learner(model)


_ESTIMATOR_FIELDS = ("estimator", "group_estimator")
"""Settings of models that are classifiers themselves."""


def _is_default(part: Any, model: Any) -> bool:
    """Whether an optional setting has its default, and is left out of the file."""
    return part.name in ("groups", "group_estimator", "folds", "fits") and getattr(model, part.name) == part.default


def read_model(value: Any) -> Any:
    """Make the ``model`` parameter from plain data."""
    if isinstance(value, str) and value in NAMED:
        return value
    if not isinstance(value, dict) or len(value) != 1:
        raise FileError(f"the model must be 'linear', 'trees' or the settings of one; it is {shown(value)}")
    ((name, settings),) = value.items()
    if name in SAVED_MODELS:
        return load(SAVED_MODELS[name]).read(settings)
    if name not in MODELS:
        return read_learner(value)
    rule = record(MODELS[name])
    if not isinstance(settings, dict) or "estimator" not in {*rule.optional, *rule.needed}:
        rule.check(settings, f"the model {name}")
        return build(MODELS[name], settings)
    others = {key: part for key, part in settings.items() if key not in _ESTIMATOR_FIELDS}
    rule.check({**others, "estimator": None}, f"the model {name}")
    learners = {
        key: read_learner(settings.get(key)) for key in _ESTIMATOR_FIELDS if key == "estimator" or key in settings
    }
    others = {key: tuple(part) if isinstance(part, list) else part for key, part in others.items()}
    return MODELS[name](**learners, **others)


def plain_learner(learner: Any) -> dict[str, Any]:
    """Name and settings of a classifier of scikit-learn or `equirate.boosting`; those at their default are left out."""
    name = type(learner).__name__
    if name in SAVED_ESTIMATORS:
        settings = learner.plain()
        BOOSTED_RULE.check(settings, f"the settings of {name}")
        return {name: settings}
    if name not in LEARNERS or type(learner) is not learner_class(name):
        raise FileError(f"the model holds {describe_type(learner)}, which cannot be saved: {SAVED}")
    usual, params = type(learner)().get_params(deep=False), learner.get_params(deep=False)
    settings = {key: v for key, v in params.items() if key not in usual or (v is not usual[key] and v != usual[key])}
    _check_settings(name, settings, {*usual})
    return {name: settings}


def _check_settings(name: str, settings: Any, known: set[str]) -> None:
    MapOf(SCALAR).check(settings, f"the settings of {name}")
    package = LEARNERS[name].split(".")[0]
    unknown = settings.keys() - known - (MORE if package != "sklearn" else set())
    if unknown:
        package = "scikit-learn" if package == "sklearn" else package
        raise FileError(f"equirate knows no setting {min(unknown)!r} of {name}: leave it out, or upgrade {package}")


def read_learner(value: Any) -> Any:
    """Make a classifier, not fitted, from its name and settings; a boosting library is not needed."""
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in {*LEARNERS, *SAVED_ESTIMATORS}:
        raise FileError(f"the estimator of a model must be one of {', '.join(LEARNERS)}; it is {shown(value)}")
    ((name, settings),) = value.items()
    if name in SAVED_ESTIMATORS:
        BOOSTED_RULE.check(settings, f"the settings of {name}")
        try:
            return load(SAVED_ESTIMATORS[name]).from_plain(settings)
        except (TypeError, ValueError) as error:
            raise FileError(f"the settings of {name} make no sense: {error}") from None
    _check_settings(name, settings, {*learner_class(name)().get_params(deep=False)})
    return learner_class(name)(**settings)
