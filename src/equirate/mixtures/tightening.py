"""Smaller boxes for several ratios: optimality-based bound tightening.

In: a `MixtureProgramme` inside a box, with a cutoff for the values of mixtures. Out: a box around all mixtures below
the cutoff, or None if there are none. `branching` calls this.

The denominator and the value of every ratio are minimised and maximised over the relaxation, one linear programme for
each end (Gleixner, Berthold, Müller and Weltge 2017). The relaxation over the smaller box is tighter, so another pass
may shrink it further.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .linear import FEASIBLE
from .programme import Box, MixtureProgramme

_ROUNDING = 10 * FEASIBLE
"""Each end is moved outwards by this, because a programme is exact only up to its tolerance."""

_NEAR = 1e-3
"""A solution this close to an end, relative to the side, shows that a programme could hardly move that end."""


def tighten(columns: MixtureProgramme, box: Box, over: Callable[[], bool]) -> Box | None:
    """Tighten every side of a box once.

    Parameters
    ----------
    columns
        The programme with this box, the room and the cutoff.
    box
        The box of ratios.
    over
        Whether a limit of the search is reached; the remaining sides are then not changed.

    Returns
    -------
    Box or None
        None if the programme has no solution.
    """
    others = np.array([[ratio.bottom, columns.violation_index + 1 + m] for m, ratio in enumerate(columns.ratios)]).T
    low, high = box.low.copy(), box.high.copy()
    near = _NEAR * (high - low) + _ROUNDING
    reached_low, reached_high = np.zeros(low.shape, dtype=bool), np.zeros(low.shape, dtype=bool)
    for m, side in np.ndindex(len(columns.ratios), 2):
        other = int(others[side, m])
        for sign, ends, reached in ((1.0, low, reached_low), (-1.0, high, reached_high)):
            if reached[side, m] or over():
                continue
            columns.optimize_variable(other, sign)
            solved = columns.solve()
            if solved is None:
                return None
            end = sign * (solved[2] - _ROUNDING)
            ends[side, m] = np.clip(end, low[side, m], high[side, m])
            columns.programme.bound(other, float(low[side, m]), float(high[side, m]))
            reached_low |= solved[1][others] <= low + near
            reached_high |= solved[1][others] >= high - near
    return Box(low, high)
