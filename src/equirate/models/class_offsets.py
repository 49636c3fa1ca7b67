"""Offsets of classes: constants added to the cost of each answer, searched exactly, one class at a time.

In: expected costs (rows, classes) and the actual cost of each answer on each row. Out: offsets whose decisions, the
answers with the smallest expected cost, cost least in total. For one class all useful offsets are the points at which
rows change their answer: sorting them gives the best one exactly, as for a threshold on a score. Only rows near the
best offsets are sorted: sums over bins bound what an offset inside a bin can gain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MIN_ROWS_SEARCHED = 20_000
"""Smallest number of rows that offsets are searched on: a share has a standard error of at most .004."""
SWEEPS = 2
"""Number of passes over the classes: further ones gain little."""
STEPS = 12
"""Number of offsets of each class that are tried before any costs are known, evenly spaced by rank."""
BINS = 2048
"""Number of bins of a search: about ten rows each. The result does not depend on it."""


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
    shown, price = np.array(expected.T, order="C"), np.ascontiguousarray(price.T)
    classes = range(len(shown))
    offsets = np.zeros(len(shown))
    for _ in range(sweeps):
        moved = False
        later = [(np.full(shown.shape[1], np.inf), np.zeros(shown.shape[1]))]  # the best of the classes after each
        for k in reversed(classes[1:]):
            later.append(_cheaper((shown[k], price[k]), later[-1]))
        before = later[0]  # the best of the classes before it
        for k in classes:
            others = _cheaper(before, later.pop())
            room = others[0] - shown[k]  # an offset below this gives the row to the class
            change = _best_offset(room, price[k] - others[1])
            if change is not None:
                shown[k] += change
                offsets[k] += change
                moved = True
            before = _cheaper(before, (shown[k], price[k]))
        if not moved:
            break
    return offsets


def _cheaper(first: tuple[Array, Array], second: tuple[Array, Array]) -> tuple[Array, Array]:
    """The smaller expected cost of two answers for each row, and the price of that answer; the first one of equals."""
    of_first = first[0] <= second[0]
    return np.minimum(first[0], second[0]), np.where(of_first, first[1], second[1])


def _best_offset(room: Array, gain: Array) -> float | None:
    """The cheapest offset, if rows with more room than that are assigned to a class; None if 0 is as good."""
    now, rounding = float(gain[room > 0].sum()), 1e-12 * max(float(np.abs(gain).sum()), 1e-300)
    low, high = float(room.min()), float(room.max())
    place = np.minimum(((room - low) * (BINS / ((high - low) or 1.0))).astype(np.intp), BINS - 1)
    sums = np.bincount(place, weights=gain, minlength=BINS)
    falls = np.bincount(place, weights=np.minimum(gain, 0.0), minlength=BINS)
    above = np.append(np.cumsum(sums[::-1])[::-1], 0.0)  # the cost of assigning all rows from a bin on
    near = above[1:] + falls <= float(above.min()) + rounding  # bins that the cheapest offset can lie in
    rows = np.flatnonzero(near[place])
    rows = rows[np.argsort(-room[rows], kind="stable")]
    passed = np.cumsum(np.where(near, 0.0, sums)[::-1])[::-1]
    total = np.cumsum(gain[rows]) + passed[place[rows]]
    total[:-1][room[rows[1:]] == room[rows[:-1]]] = np.inf  # rows with equal room change at once
    least = float(total.min(initial=np.inf))
    if not min(least, 0.0) < now - rounding:
        return None
    if least >= 0:
        return high + 1.0
    last = room[rows[int(np.argmin(total))]]
    lower = room[room < last]
    return float(last + lower.max()) / 2 if len(lower) else low - 1.0


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
