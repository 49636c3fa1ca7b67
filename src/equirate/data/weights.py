"""Weights of examples: checked, and of equal weights one number in memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.errors import DataError
from .._core.peers import peers
from .arrays import finite_numbers, one_dimensional, same_length, to_numpy

Array = NDArray[np.float64]

_LIGHTEST = 2.0**-64  # products of weights that are all much smaller, or much larger, would under- or overflow
_ALONE = 1 << 16  # examples up to which each has a weight of its own in memory


def ones(length: int) -> Array:
    """Weights of 1; a long array is a broadcast of one value, which takes no memory (and is read-only)."""
    return np.ones(length) if length <= _ALONE else np.broadcast_to(np.ones(1), (length,))


def taken_weights(weights: Array, rows: NDArray[np.intp] | slice) -> Array:
    """Some of the weights."""
    if weights.strides == (0,) and not isinstance(rows, slice):
        return ones(len(rows))
    return weights[rows]


def checked_weights(sample_weight: ArrayLike | None, length: int) -> Array:
    """Weights as users give them; 1 for each example without any."""
    if sample_weight is None:
        return ones(length)
    array = one_dimensional(to_numpy(sample_weight), "sample_weight")
    same_length(array, length, "sample_weight")
    weights = finite_numbers(array, "sample_weight")
    if weights is None:
        raise DataError(f"sample_weight must hold numbers; got values such as {array[0]!r}")
    if weights.min() < 0:
        raise DataError(f"sample_weight must not be negative; the smallest is {weights.min():g}")
    with np.errstate(over="ignore"):
        total = peers().total(float(weights.sum()))
    if total <= 0:
        raise DataError("sample_weight sums to zero: at least one example must count")
    heaviest = peers().range(0.0, float(weights.max()))[1]
    if not np.isfinite(total) or not _LIGHTEST < heaviest < 1 / _LIGHTEST:
        # Only their proportions count; a power of two changes no digit of them.
        weights = np.ldexp(weights, -int(np.frexp(heaviest)[1]))
    return weights
