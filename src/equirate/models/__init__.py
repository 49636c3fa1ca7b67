"""Models that the game can train, behind one contract: costs per cell in, sums over cells out.

`contract` has `Model` and `Learner`, `messages` the messages between them and the game, `rows` the examples, `members`
the classifiers that result, `registry` which model is meant by what users give. `linear`, `finite`, `plug_in`,
`thresholds` and `oracle` are one model each; boosted trees are in `equirate.boosting`, networks in `equirate.torch`. To
add a model, implement `Model.bind` and the `Learner` it returns; `make_model` takes any `Model` as it is.
"""

from __future__ import annotations

from .capabilities import Capabilities
from .contract import Learner, Model
from .finite import Finite
from .linear import Linear
from .linear_members import LinearMembers
from .members import Members
from .messages import Asked, Seen
from .oracle import Oracle
from .plug_in import PlugIn
from .registry import make_model
from .rows import Batch, Rows
from .thresholds import Thresholds

__all__ = [
    "Asked",
    "Batch",
    "Capabilities",
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
