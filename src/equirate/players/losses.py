"""Ordinary losses of the scores, which an objective may have beside rates: values and slopes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .._core.errors import DataError
from ..data.examples import Examples
from ..language.nodes import Loss

Scores = NDArray[Any]
Signs = NDArray[Any]
"""+1 for label 1, -1 for label 0, as a column."""


@dataclass(frozen=True)
class LossFunction:
    """A loss of the margin ``sign * score``, and its first and second derivatives with respect to the score."""

    value: Callable[[Scores, Signs], Scores]
    slope: Callable[[Scores, Signs], Scores]
    curvature: Callable[[Scores], Scores]


LOSSES = {
    "log_loss": LossFunction(
        value=lambda f, sign: np.logaddexp(0, -sign * f),
        slope=lambda f, sign: -sign * expit(-sign * f),
        curvature=lambda f: expit(f) * expit(-f),
    ),
    "hinge_loss": LossFunction(
        value=lambda f, sign: np.maximum(0, 1 - sign * f),
        slope=lambda f, sign: -sign * (sign * f < 1),
        curvature=np.zeros_like,
    ),
}


def signs(labels: NDArray[np.int8], dtype: Any = np.float64) -> Signs:
    """Turn 0/1 labels into a column of -1/+1."""
    return (2 * labels[:, None].astype(np.int8) - 1).astype(dtype)


def loss_values(losses: Iterable[Loss], examples: Examples, scores: Scores) -> NDArray[np.float64]:
    """Weighted average of each loss over its slice: (losses, columns of scores)."""
    rows = []
    for loss in losses:
        weights = np.where(examples.mask(loss.slice), examples.weights, 0.0)
        lost = weights @ LOSSES[loss.name].value(scores, signs(examples.labels, scores.dtype))
        lost, total = examples.shared.add(lost, weights.sum(keepdims=True))
        if total <= 0:
            raise DataError(f"{loss!r} cannot be measured: its slice is empty in the data")
        rows.append(lost / total)
    return np.array(rows, dtype=float).reshape(len(rows), scores.shape[1])
