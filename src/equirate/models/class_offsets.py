"""Offsets of classes: constants added to the cost of each answer, searched exactly, one class at a time.

In: expected costs (rows, classes) and the actual cost of each answer on each row. Out: offsets whose decisions, the
answers with the smallest expected cost, cost least in total. For one class all useful offsets are the points at which
rows change their answer: sorting them gives the best one exactly, as for a threshold on a score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROWS = 20_000
"""Smallest number of rows that offsets are searched on: a share has a standard error of at most .004."""
SWEEPS = 2
"""Number of passes over the classes: further ones gain little."""
STEPS = 12
"""Number of offsets of each class that are tried before any costs are known, evenly spaced by rank."""


def cheapest_offsets(expected: Array, price: Array, sweeps: int = SWEEPS) -> Array:
    """Offsets of the classes, found one class at a time, that make the decisions cheap.

    Parameters
    ----------
    expected
        (rows, classes): costs that determine the decisions.
    price
        (rows, classes): the actual cost of each answer.

    Examples
    --------
    >>> expected = np.array([[0.1, 0.9, 0.9], [0.4, 0.5, 0.9], [0.2, 0.6, 0.9]])
    >>> price = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, 1.0]])
    >>> offsets = cheapest_offsets(expected, price)
    >>> (expected + offsets).argmin(axis=1).tolist()
    [0, 1, 1]
    """
    shown = np.array(expected)
    offsets = np.zeros(expected.shape[1])
    rows = np.arange(len(shown))
    for _ in range(sweeps):
        moved = False
        for k in range(expected.shape[1]):
            others = shown.copy()
            others[:, k] = np.inf
            best = others.argmin(axis=1)
            room = others[rows, best] - shown[:, k]  # an offset below this gives the row to the class
            change = _best_offset(room, price[:, k] - price[rows, best])
            if change is not None:
                shown[:, k] += change
                offsets[k] += change
                moved = True
        if not moved:
            break
    return offsets


def _best_offset(room: Array, gain: Array) -> float | None:
    """The cheapest offset, if rows with more room than that are assigned to a class; None if 0 is as good."""
    order = np.argsort(-room, kind="stable")
    sorted_room = room[order]
    total = np.concatenate([[0.0], np.cumsum(gain[order])])
    allowed = np.concatenate([[True], sorted_room[1:] < sorted_room[:-1], [True]])
    total[~allowed] = np.inf  # rows with equal room change at once
    now = float(gain[room > 0].sum())
    count = int(np.argmin(total))
    if not total[count] < now - 1e-12 * max(np.abs(gain).sum(), 1e-300):
        return None
    if count == 0:
        return float(sorted_room[0]) + 1.0
    if count == len(room):
        return float(sorted_room[-1]) - 1.0
    return float(sorted_room[count - 1] + sorted_room[count]) / 2


def offset_grid(expected: Array, steps: int = STEPS) -> Array:
    """(classes, rules): no offset, and offsets of one class at a time that give it more and fewer rows."""
    rows, count = np.arange(len(expected)), expected.shape[1]
    offsets = [np.zeros(count)]
    for k in range(count):
        others = expected.copy()
        others[:, k] = np.inf
        room = others[rows, others.argmin(axis=1)] - expected[:, k]
        for value in np.unique(np.quantile(room, (np.arange(steps) + 0.5) / steps)):
            offsets.append(np.where(np.arange(count) == k, value, 0.0))
    return np.stack(offsets, axis=1)
