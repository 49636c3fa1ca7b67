"""Models of scikit-learn as plain data, as far as numbers tell them whole: linear classifiers and their settings.

In: what a user gives as ``model``, and classifiers that scikit-learn fitted. Out: settings for JSON, coefficients, and
back. Anything else of scikit-learn is code and state that only pickle would keep, and is refused by name.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from .._core.errors import DataError, FileError
from .._core.plain import plain
from .._core.records import build, record
from .._core.rules import SCALAR, Either, ListOf, MapOf, shown
from ..data.features import feature_names, features
from . import NAMED
from .linear import Linear
from .oracle import Always, Oracle
from .plug_in import PlugIn

MODELS: dict[str, type[Any]] = {"linear": Linear, "plug_in": PlugIn, "oracle": Oracle}
"""Models whose setting can be saved."""
LATE_MODELS = {"torch": ("equirate.torch.model", "TorchModel")}
"""Those of extras, which write (`plain`) and read (`read`) themselves: the module, imported late, and the class."""
LEARNERS = {
    "LogisticRegression": "sklearn.linear_model",
    "RidgeClassifier": "sklearn.linear_model",
    "SGDClassifier": "sklearn.linear_model",
    "LinearSVC": "sklearn.svm",
    "HistGradientBoostingClassifier": "sklearn.ensemble",
    "LGBMClassifier": "lightgbm",
    "XGBClassifier": "xgboost",
}
"""Classifiers of scikit-learn's kind that numbers tell whole, and where they are."""
MORE = {
    *("verbose", "verbosity", "seed", "num_threads", "deterministic", "force_col_wise", "force_row_wise"),
    *("lambda_l1", "lambda_l2", "bagging_fraction", "bagging_freq", "feature_fraction", "path_smooth", "cat_smooth"),
    *("max_bin", "extra_trees", "min_data_in_leaf", "min_data_in_bin", "max_cat_to_onehot", "is_unbalance"),
}
"""Settings that the boosting libraries take beside those that they list; others may name files, and are refused."""
LINEAR = ("LogisticRegression", "RidgeClassifier", "SGDClassifier", "LinearSVC")
"""Those that their coefficients tell."""
BOOSTED = {"BoostedTrees": "equirate.boosting", "BoostedProbabilities": "equirate.boosting"}
"""Models and classifiers of boosting libraries whose settings can be saved, and where they are."""
BOOSTED_RULE = MapOf(Either((SCALAR, ListOf(SCALAR, 100_000))), 200)
SAVED = (
    "linear models, boosted trees, thresholds on given scores, and plug-ins, oracles and lists of the classifiers "
    f"{', '.join(LEARNERS)} are saved without pickle; for others use joblib.dump, and open such files only "
    "if you trust them"
)


# -- settings -------------------------------------------------------------------------------------


def plain_model(model: Any) -> Any:
    """What a user gave as ``model``, as plain data."""
    if isinstance(model, str):
        return model
    late = late_model(model)
    for name, place in LATE_MODELS.items():
        if (type(late).__module__, type(late).__name__) == place:
            return {name: plain(late.plain())}
    for name, kind in MODELS.items():
        if type(model) is kind:
            parts = {part.name: getattr(model, part.name) for part in fields(kind) if not _usual(part, model)}
            return {name: {key: plain_learner(v) if key in _LEARNT else plain(v) for key, v in parts.items()}}
    if type(model).__name__ in BOOSTED:
        return plain_boosted(model)
    return plain_learner(model)


_LEARNT = ("estimator", "group_estimator")
"""Settings of models that are classifiers themselves."""


def _usual(part: Any, model: Any) -> bool:
    """Whether a setting that may be left out is; those that files have always had are written."""
    return part.name in ("groups", "group_estimator", "folds", "fits") and getattr(model, part.name) == part.default


def plain_boosted(model: Any) -> dict[str, Any]:
    """Name and settings of what `equirate.boosting` has."""
    settings = model.plain()
    BOOSTED_RULE.check(settings, f"the settings of {type(model).__name__}")
    return {type(model).__name__: settings}


def read_boosted(name: str, settings: Any) -> Any:
    """Make what `equirate.boosting` has from its name and settings; the library is not needed for that."""
    BOOSTED_RULE.check(settings, f"the settings of {name}")
    try:
        return getattr(importlib.import_module(BOOSTED[name]), name).from_plain(settings)
    except (TypeError, ValueError) as error:
        raise FileError(f"the settings of {name} make no sense: {error}") from None


def late_model(model: Any) -> Any:
    """A model of an extra, also where the user gave what it is made of; None for all others."""
    from . import LATE, make_model  # the package imports this module's neighbours

    of_extra = any((kind.__module__, kind.__name__) in LATE for kind in type(model).__mro__)
    made = make_model(model) if of_extra else model
    return made if (type(made).__module__, type(made).__name__) in LATE_MODELS.values() else None


def read_model(value: Any) -> Any:
    """Make what a user gave as ``model`` from plain data."""
    if value in ("linear", *NAMED):
        return value
    if not isinstance(value, dict) or len(value) != 1:
        raise FileError(f"the model must be 'linear', 'trees' or the settings of one; it is {shown(value)}")
    ((name, settings),) = value.items()
    if name in BOOSTED:
        return read_boosted(name, settings)
    if name in LATE_MODELS:
        module, kind = LATE_MODELS[name]
        return getattr(importlib.import_module(module), kind).read(settings)
    if name not in MODELS:
        return read_learner(value)
    rule = record(MODELS[name])
    if not isinstance(settings, dict) or "estimator" not in {*rule.optional, *rule.needed}:
        rule.check(settings, f"the model {name}")
        return build(MODELS[name], settings)
    others = {key: part for key, part in settings.items() if key not in _LEARNT}
    rule.check({**others, "estimator": None}, f"the model {name}")
    learners = {key: read_learner(settings.get(key)) for key in _LEARNT if key == "estimator" or key in settings}
    others = {key: tuple(part) if isinstance(part, list) else part for key, part in others.items()}
    return MODELS[name](**learners, **others)


def plain_learner(learner: Any) -> dict[str, Any]:
    """Name and settings of a classifier of scikit-learn; those at their default are left out."""
    name = type(learner).__name__
    if name in BOOSTED:
        return plain_boosted(learner)
    if name not in LEARNERS or type(learner) is not _learner(name):
        raise FileError(f"the model holds {_named(learner)}, which cannot be saved: {SAVED}")
    usual, found = type(learner)().get_params(deep=False), learner.get_params(deep=False)
    given = {key: v for key, v in found.items() if key not in usual or (v is not usual[key] and v != usual[key])}
    _check_settings(name, given, {*usual})
    return {name: given}


def _check_settings(name: str, settings: Any, known: set[str]) -> None:
    MapOf(SCALAR).check(settings, f"the settings of {name}")
    package = LEARNERS[name].split(".")[0]
    unknown = settings.keys() - known - (MORE if package != "sklearn" else set())
    if unknown:
        package = "scikit-learn" if package == "sklearn" else package
        raise FileError(f"equirate knows no setting {min(unknown)!r} of {name}: leave it out, or upgrade {package}")


def read_learner(value: Any) -> Any:
    """Make a classifier of scikit-learn, not fitted, from its name and settings."""
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in BOOSTED:
        ((name, settings),) = value.items()
        return read_boosted(name, settings)
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in LEARNERS:
        raise FileError(f"the estimator of a model must be one of {', '.join(LEARNERS)}; it is {shown(value)}")
    ((name, settings),) = value.items()
    _check_settings(name, settings, {*_learner(name)().get_params(deep=False)})
    return _learner(name)(**settings)


def _learner(name: str) -> Any:
    try:
        return getattr(importlib.import_module(LEARNERS[name]), name)  # a name of the table above
    except ModuleNotFoundError as error:
        raise FileError(
            f"the model is a {name}, and {error.name} is not installed: pip install 'equirate[boosting]'"
        ) from None


def _named(thing: Any) -> str:
    return f"an array of {thing.dtype}" if isinstance(thing, np.ndarray) else type(thing).__name__


# -- fitted classifiers ---------------------------------------------------------------------------


def lines(classifiers: tuple[Any, ...], width: int) -> NDArray[Any]:
    """Weights and, below them, intercepts of classifiers that predict 1 where a linear score is above 0."""
    return np.stack([_line(classifier, width) for classifier in classifiers], axis=1)


def _line(classifier: Any, width: int) -> NDArray[Any]:
    if isinstance(classifier, Always):
        return np.append(np.zeros(width), 1.0 if classifier.answer else -1.0)
    name = type(classifier).__name__
    if name not in LINEAR or type(classifier) is not _learner(name) or classifier.coef_.size != width:
        raise FileError(f"the model holds {_named(classifier)}, which cannot be saved: {SAVED}")
    return np.append(classifier.coef_.reshape(-1), classifier.intercept_)


@dataclass(frozen=True, eq=False)
class Line:
    """A fitted linear classifier of scikit-learn as coefficients: a score, and the second class where it is above 0.

    ``kind`` is the name of what was fitted, ``names`` are those of its features, where it knows them.
    """

    kind: str
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    classes_: NDArray[Any]
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, learner: Any) -> Line:
        """Take the coefficients of scikit-learn's; refuses another estimator."""
        if isinstance(learner, cls):
            return learner
        name = type(learner).__name__
        if name not in LINEAR or type(learner) is not _learner(name) or len(learner.classes_) != 2:
            raise FileError(f"{_named(learner)} cannot be saved: {SAVED}")
        names = getattr(learner, "feature_names_in_", None)
        names = None if names is None else tuple(map(str, names))
        intercept = np.broadcast_to(np.asarray(learner.intercept_, dtype=float), 1)
        return cls(name, np.atleast_2d(learner.coef_).astype(float), intercept, learner.classes_, names)

    def __post_init__(self) -> None:
        if self.kind not in LINEAR:
            raise FileError(f"{shown(self.kind)} is not one of {', '.join(LINEAR)}")
        if self.coef_.shape[0] != 1 or self.intercept_.shape != (1,) or len(self.classes_) != 2:
            raise FileError("the coefficients of a linear classifier do not fit together")
        if self.names is not None and len(self.names) != self.n_features_in_:
            raise FileError(f"there are {len(self.names)} names for {self.n_features_in_} features")

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self.coef_.shape[1])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score of the second class."""
        given, X = feature_names(X), features(X)
        if X.shape[1] != self.n_features_in_:
            raise DataError(f"X has {X.shape[1]} features, but the classifier was trained on {self.n_features_in_}")
        if given is not None and self.names is not None and given != self.names:
            raise DataError(f"the columns of X must be those of the training data, in their order: {list(self.names)}")
        return np.asarray(X @ self.coef_.T + self.intercept_, dtype=float)[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """The second class where the score is above 0."""
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(int)])


@dataclass(frozen=True, eq=False)
class Logistic:
    """A fitted logistic regression as its coefficients: one row for two classes, a row for each of more."""

    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    classes_: NDArray[Any]

    @classmethod
    def of(cls, learner: Any) -> Logistic:
        """Take the coefficients of scikit-learn's; refuses another estimator."""
        if isinstance(learner, cls):
            return learner
        if type(learner) is not _learner("LogisticRegression"):
            raise FileError(f"the plug-in holds {_named(learner)}, which cannot be saved: {SAVED}")
        if learner.solver == "liblinear" and len(learner.classes_) > 2:
            raise FileError("a LogisticRegression(solver='liblinear') of more than two classes cannot be saved")
        return cls(learner.coef_, np.broadcast_to(learner.intercept_, len(learner.coef_)), learner.classes_)

    def __post_init__(self) -> None:
        rows = 1 if len(self.classes_) == 2 else len(self.classes_)
        if len(self.classes_) < 2 or self.coef_.shape[0] != rows or self.intercept_.shape != (rows,):
            raise FileError("the coefficients of a logistic regression do not fit together")

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self.coef_.shape[1])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class."""
        X = features(X)
        if X.shape[1] != self.n_features_in_:
            raise DataError(f"X has {X.shape[1]} features, but the classifier was trained on {self.n_features_in_}")
        scores = np.asarray(X @ self.coef_.T) + self.intercept_
        if len(self.classes_) > 2:
            return np.asarray(softmax(scores, axis=1))
        chances = expit(scores[:, 0])
        return np.stack([1 - chances, chances], axis=1)
