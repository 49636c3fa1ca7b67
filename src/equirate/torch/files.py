"""Files: a mixture of networks as one file without code, and checkpoints of custom training loops."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .._core.errors import FileError
from ..game.classifiers import Classifier
from ..storage import container
from ..storage.saving import plain_mixture
from .keeping import read_tensors, write_tensors


def save(classifier: Classifier, path: str | os.PathLike[str]) -> None:
    """Save a classifier that `RateGame.finish` made: tensors, weights and its problem, no code.

    ``equirate.load(path, module=constructor)`` opens it.

    Parameters
    ----------
    classifier
        The classifier to save.
    path
        The file to write.

    Examples
    --------
    >>> import numpy as np, tempfile, torch, equirate as eq
    >>> from equirate.torch import RateGame, save
    >>> game = RateGame(eq.maximize(eq.g_mean()), [0, 1, 0, 1])
    >>> module, X = torch.nn.Linear(1, 1), torch.tensor([[0.0], [3.0], [1.0], [4.0]])
    >>> for _ in range(20):
    ...     loss = game(module(X)[:, 0], torch.arange(4))
    ...     game.step()
    >>> classifier = game.finish(module, X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(classifier, f"{folder}/mixture.equirate")
    ...     again = eq.load(f"{folder}/mixture.equirate", module=lambda: torch.nn.Linear(1, 1))
    >>> bool((again.positive_probability(X) == classifier.positive_probability(X)).all())
    True
    """
    if not isinstance(classifier, Classifier):
        raise FileError(f"save takes a classifier, such as RateGame.finish makes; got {type(classifier).__name__}")
    container.write(path, *plain_mixture(classifier))


def save_checkpoint(path: str | os.PathLike[str], **parts: Any) -> None:
    """Write the ``state_dict()`` of all objects that have one to a file, atomically.

    Parameters
    ----------
    path
        The file; an existing one is replaced in one step, so that a killed process leaves the old or the new one.
    **parts
        By name: anything with ``state_dict``, and plain values and tensors. torch's random state is saved, too.
    """
    import torch

    states = {name: part.state_dict() if hasattr(part, "state_dict") else part for name, part in parts.items()}
    write_tensors(Path(path), {"parts": states, "random": torch.get_rng_state()})


def load_checkpoint(path: str | os.PathLike[str], **parts: Any) -> dict[str, Any] | None:
    """Restore the state that `save_checkpoint` wrote; None if the file does not exist.

    Parts with ``load_state_dict`` are loaded; all of them are returned by name.

    Parameters
    ----------
    path
        A file that `save_checkpoint` wrote.
    **parts
        By name: objects with ``load_state_dict``, which is called with the state saved under that name.

    Returns
    -------
    dict or None
        Everything that was saved, by name.
    """
    import torch

    if not Path(path).exists():
        return None
    state = read_tensors(Path(path))
    if not isinstance(state, dict) or not isinstance(state.get("parts"), dict):
        raise FileError(f"{path} was not written by save_checkpoint")
    saved: dict[str, Any] = state["parts"]
    for name, part in parts.items():
        if name not in saved:
            raise FileError(f"{path} holds no {name!r}, but {', '.join(map(repr, saved))}")
        part.load_state_dict(saved[name])
    torch.set_rng_state(state["random"])
    return saved
