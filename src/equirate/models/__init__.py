"""Models: what the game can train. It sees them only through their scores (or cell sums).

`base` has the contract, `linear`, `finite`, `plug_in` and `oracle` one model each. To add a model, implement
`Model.bind` and the `Player` it returns, then register it in `make_model`.
"""

from __future__ import annotations

from typing import Any

from .._core.errors import AlgorithmError
from .base import Members, Model, Player
from .finite import Finite
from .linear import Linear, LinearMembers
from .oracle import Oracle
from .plug_in import PlugIn

__all__ = ["Finite", "Linear", "LinearMembers", "Members", "Model", "Oracle", "Player", "PlugIn", "make_model"]


def make_model(model: Any) -> Model:
    """Turn what users give as ``model`` into a model.

    ``"linear"``, a list of classifiers, a model of this package, or a scikit-learn classifier whose ``fit`` takes
    ``sample_weight`` (used as a cost-sensitive oracle).
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, str):
        if model == "linear":
            return Linear()
        raise AlgorithmError(f'the model must be "linear", a list of classifiers, or a classifier; got {model!r}')
    if isinstance(model, (list, tuple)):
        return Finite(tuple(model))
    if hasattr(model, "fit") and hasattr(model, "predict"):
        return Oracle(model)
    raise AlgorithmError(
        'the model must be "linear", a list of classifiers, a model of equirate.models or a scikit-learn classifier; '
        f"got {type(model).__name__}"
    )
