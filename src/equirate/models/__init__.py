"""Models: what the game can train, behind one contract (`contract`): costs per cell in, sums over cells out.

`linear`, `finite`, `plug_in`, `thresholds` and `oracle` are one model each; boosted trees are in `equirate.boosting`,
networks in `equirate.torch`. To add a model, implement `Model.bind` and the `Learner` it returns; `make_model` takes
any `Model` as it is.
"""

from __future__ import annotations

from .contract import Asked, Batch, Learner, Members, Model, Rows, Seen
from .finite import Finite
from .linear import Linear, LinearMembers
from .oracle import Oracle
from .plug_in import PlugIn
from .registry import make_model
from .thresholds import Thresholds

__all__ = [
    "Asked",
    "Batch",
    "Finite",
    "Learner",
    "Linear",
    "LinearMembers",
    "Members",
    "Model",
    "Oracle",
    "PlugIn",
    "Rows",
    "Seen",
    "Thresholds",
    "make_model",
]


def __dir__() -> list[str]:
    """The public names alone."""
    return list(__all__)
