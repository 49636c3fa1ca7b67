"""Which model is meant by what users give as ``model``.

In: a name, a list of classifiers, a classifier, a network, or a model. Out: a `Model`. Those of extras are found by
name, so that nothing is imported before somebody uses one.
"""

from __future__ import annotations

import importlib
from typing import Any, cast

from .._core.errors import AlgorithmError
from .contract import Model
from .finite import Finite
from .linear import Linear
from .oracle import Oracle

LATE = {("torch.nn.modules.module", "Module"): ("equirate.torch", "TorchModel")}
"""Classes of extras that are models: known by name, so that nothing is imported before somebody uses one."""
NAMED = {"trees": ("equirate.boosting", "default_trees")}
"""Models by name that other rooms have: the module, imported only when the name is given, and what makes the model."""


def make_model(model: Any) -> Model:
    """Turn what users give as ``model`` into a model.

    ``"linear"``, ``"trees"``, a list of classifiers, a model of this package, a ``torch.nn.Module`` with one score per
    example, or a scikit-learn classifier whose ``fit`` takes ``sample_weight``, perhaps at the end of a pipeline (used
    as a cost-sensitive oracle).
    """
    if isinstance(model, Model):
        return model
    for kind in type(model).__mro__:
        if (kind.__module__, kind.__name__) in LATE:
            module, name = LATE[kind.__module__, kind.__name__]
            return cast(Model, getattr(importlib.import_module(module), name)(model))
    if isinstance(model, str):
        if model == "linear":
            return Linear()
        if model in NAMED:
            module, name = NAMED[model]
            return cast(Model, getattr(importlib.import_module(module), name)())
        raise AlgorithmError(
            f'the model must be "linear", "trees", a list of classifiers, or a classifier; got {model!r}'
        )
    if isinstance(model, (list, tuple)):
        return Finite(tuple(model))
    if hasattr(model, "fit") and hasattr(model, "predict"):
        return Oracle(model)
    raise AlgorithmError(
        'the model must be "linear", "trees", a list of classifiers, a model of equirate.models, a scikit-learn '
        f"classifier or a torch.nn.Module; got {type(model).__name__}"
    )
