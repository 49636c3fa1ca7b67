"""PyTorch networks: as a model of `equirate.solve` and `equirate.RateClassifier`, and in a custom training loop.

`TorchModel` (or the ``torch.nn.Module`` itself) is a model like any other. `RateGame` is the game without a model: the
user's loop asks it for a loss. `StratifiedSampler` puts rare cells into every batch. Needs the extra ``torch``.
"""

from __future__ import annotations

try:
    import safetensors
    import torch
except ModuleNotFoundError as error:
    if error.name not in ("torch", "safetensors"):
        raise
    raise ImportError(
        f"equirate.torch needs {error.name}, which is not installed: pip install 'equirate[torch]'", name=error.name
    ) from error

from .files import load_checkpoint, save, save_checkpoint
from .game import RateGame
from .members import TorchMembers
from .model import TorchModel
from .sampling import StratifiedSampler

__all__ = [
    "RateGame",
    "StratifiedSampler",
    "TorchMembers",
    "TorchModel",
    "load_checkpoint",
    "save",
    "save_checkpoint",
]


def __dir__() -> list[str]:
    """The public names alone."""
    return list(__all__)


del safetensors, torch  # imported to raise early if they are missing; not names of this package
