"""Lookup of models and members by name or by type.

In: a ``model`` parameter, or members as they were written to a file. Out: a `Model`, or `Members`. Classes of
extras and of later packages are named as strings here, and only here: they are imported when they are used.
"""

from __future__ import annotations

import importlib
from typing import Any

from .._core.errors import AlgorithmError, FileError
from .._core.rules import check_arrays
from .contract import Model
from .members import Members, Written

MODELS = {
    "linear": "equirate.models.linear:Linear",
    "trees": "equirate.boosting:default_trees",
}
"""Models by the name that users give."""
TYPES = {
    "builtins:list": "equirate.models.finite:make_finite",
    "builtins:tuple": "equirate.models.finite:make_finite",
    "torch.nn.modules.module:Module": "equirate.torch:TorchModel",
}
"""Models around objects of other types, by the name of the type."""
CLASS_MODELS = {
    "equirate.models.linear:Linear": "equirate.models.class_plug_in:of_linear",
    "equirate.models.oracle:Oracle": "equirate.models.class_plug_in:of_oracle",
    "equirate.models.plug_in:PlugIn": "equirate.models.class_plug_in:of_plug_in",
    "equirate.torch.model:TorchModel": "equirate.torch.classes:of_torch",
}
"""Counterparts for more than two classes, by the name of the model for two."""
ORACLE = "equirate.models.oracle:Oracle"
"""The model around any other object with ``fit`` and ``predict``."""
MEMBERS = {
    "linear": "equirate.models.linear_members:LinearMembers",
    "thresholds": "equirate.models.thresholds:ThresholdMembers",
    "posterior": "equirate.models.plug_in_rules:PlugInMembers",
    "class_linear": "equirate.models.class_oracle:ClassScoredMembers",
    "class_scores": "equirate.models.class_scores:ClassScoreMembers",
    "class_posterior": "equirate.models.class_rules:ClassPlugInMembers",
    "forests": "equirate.models.forest_members:ForestMembers",
    "side_by_side": "equirate.models.side_by_side:SideBySide",
    "derandomised": "equirate.models.derandomised:Derandomised",
    "torch": "equirate.torch.members:TorchMembers",
    "class_torch": "equirate.torch.classes:NetworkPlugInMembers",
}
"""Classes of members by the kind that files name."""
TRAINERS = dict.fromkeys(("lightgbm", "xgboost", "equirate"), "equirate.boosting.training")
"""Modules with a trainer of their own for classifiers of a package; it may return None."""
SAVED_MODELS = {"torch": "equirate.torch.model:TorchModel"}
"""Classes of models that read their own settings from a file, by the kind that files name."""
SAVED_ESTIMATORS = {
    "BoostedTrees": "equirate.boosting:BoostedTrees",
    "BoostedProbabilities": "equirate.boosting:BoostedProbabilities",
}
"""Classifiers of later packages that read their own settings from a file, by name."""


def load(path: str) -> Any:
    """Import an entry of a table above: a module, or ``module:name``.

    Examples
    --------
    >>> load("equirate.models.linear:Linear")()
    Linear(intercept=True, radius=None, penalty=0.0, spread=0.0, standardise=False)
    """
    module, _, name = path.partition(":")
    imported = importlib.import_module(module)
    return getattr(imported, name) if name else imported


def make_model(model: Any) -> Model:
    """Turn a ``model`` parameter into a model.

    ``"linear"``, ``"trees"``, a list of classifiers, a model of this package, a ``torch.nn.Module`` with one score per
    example (one for each class, where there are more than two), or a scikit-learn classifier whose ``fit`` takes
    ``sample_weight``, perhaps at the end of a pipeline (used as a cost-sensitive oracle).

    Parameters
    ----------
    model
        What to turn into a model.

    Returns
    -------
    Model
        The model.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, str):
        if model not in MODELS:
            names = ", ".join(f'"{name}"' for name in MODELS)
            raise AlgorithmError(f"the model must be {names}, a list of classifiers, or a classifier; got {model!r}")
        result: Model = load(MODELS[model])()
        return result
    wrapped = wrap_type(model)
    if wrapped is not None:
        return wrapped
    if hasattr(model, "fit") and hasattr(model, "predict"):
        result = load(ORACLE)(model)
        return result
    raise AlgorithmError(
        'the model must be "linear", "trees", a list of classifiers, a model of equirate.models, a scikit-learn '
        f"classifier or a torch.nn.Module; got {type(model).__name__}"
    )


def wrap_type(model: Any) -> Model | None:
    """The model around an object of a type in `TYPES`; None for other objects."""
    for kind in type(model).__mro__:
        path = TYPES.get(f"{kind.__module__}:{kind.__qualname__}")
        if path is not None:
            wrapped: Model = load(path)(model)
            return wrapped
    return None


def for_classes(model: Model, n_classes: int) -> Model:
    """A model for more than two classes; refuses models for two classes, by name."""
    if model.capabilities.any_classes:
        return model
    kind = type(model)
    path = CLASS_MODELS.get(f"{kind.__module__}:{kind.__qualname__}")
    if path is None:
        raise AlgorithmError(
            f'{kind.__name__} is for two classes, and y has {n_classes}: take model="linear" or "trees", a '
            "classifier that takes sample_weight, a list of classifiers, or a torch.nn.Module"
        )
    result: Model = load(path)(model, n_classes)
    return result


def trainers_of(estimator: Any) -> Any:
    """The module with a trainer for a classifier's package; None where there is none."""
    path = TRAINERS.get(type(estimator).__module__.split(".")[0])
    return None if path is None else load(path)


def read_members(written: Written) -> Members:
    """Read members of any kind from plain data that is not trusted."""
    if written.kind not in MEMBERS:
        raise FileError(f"members of the kind {written.kind[:60]!r} are not known to this equirate: upgrade it")
    try:
        reader: type[Members] = load(MEMBERS[written.kind])
    except ImportError as error:
        raise FileError(f"its members are of the kind {written.kind!r}: {error}") from None
    reader.settings_rule.check(written.settings, f"the settings of the {written.kind} members")
    inside = reader.nested
    arrays = {name: array for name, array in written.arrays.items() if not inside or not name.startswith(inside)}
    check_arrays(reader.array_rules, arrays, f"the {written.kind} members")
    return reader.from_plain(written.settings, written.arrays)
