"""How a whole fit grows with rows, features, groups, constraints and levels; fairlearn beside it where it runs.

In: one size. Out: a point of a curve: processor time, and memory beyond the data. `slopes` are those of the curves on
logarithmic axes, between sizes that follow each other and over the last of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..trees.data import Halves
from .environments import UnavailableError
from .ground import OURS, Comparison, Ground, Measured
from .scaling_job import levels, work
from .timing import alone, spread
from .whole_fits import LEVEL, REDUCTIONS, WARM

FAIRLEARN = "fairlearn"
MOST = {"rows": 100_000, "features": 10, "groups": 2, "constraints": 0, "levels": 1}
"""The largest sizes that fairlearn is measured at: it takes dense features only, and a fit for each level."""

ONCE = 1_000_000
"""Larger sizes are measured once."""


def grown(ground: Ground, by: str, size: int, repetitions: int) -> Measured:
    """A point of a curve: ours in a process of its own, then fairlearn."""
    ground.tell(f"{size:,} {by}")
    times = 1 if size > ONCE else repetitions
    try:
        answer = alone({"by": by, "size": size, "repetitions": times}, ground.settings.cores)
    except RuntimeError as error:
        raise UnavailableError(str(error)) from None
    samples = {OURS: answer["seconds"]}
    if size <= MOST[by]:
        samples[FAIRLEARN] = theirs(ground, by, size, repetitions)
    return Measured(
        (Comparison("whole fit", "s", samples, ""),),
        facts={
            "memory of X, MB": answer["data"] / 1e6,
            "peak beyond the data, MB": answer["beyond"] / 1e6,
            "peak beyond the data / X": answer["beyond"] / answer["data"],
        },
    )


def theirs(ground: Ground, by: str, size: int, repetitions: int) -> list[float]:
    """Processor time of fairlearn on the same rows."""
    X, y, group, _ = work(by, size)
    dense = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=float)
    few = slice(WARM)
    parts = Halves(dense, y, group, dense[few], y[few], group[few])
    rival = ground.given(REDUCTIONS, {}, parts.arrays())
    rival.ask(method=FAIRLEARN, kind="dp", level=LEVEL, rows=WARM)
    asked = levels(size) if by == "levels" else [LEVEL]
    return [
        sum(float(rival.ask(method=FAIRLEARN, kind="dp", level=level)["seconds"]) for level in asked)
        for _ in range(repetitions)
    ]


def slope(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The slope of a straight line on logarithmic axes, by least squares.

    Examples
    --------
    >>> round(slope([10, 100, 1000], [1, 10, 100]), 3)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0]) if len(sizes) > 1 else math.nan


def curves(cells: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Median times by size, for every curve and side."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for cell in cells:
        if cell["part"] == "scaling":
            for comparison in cell["comparisons"]:
                for side, samples in comparison["samples"].items():
                    found.setdefault((cell["curve"], side), []).append((cell["x"], spread(samples).median))
    return {key: sorted(points) for key, points in found.items()}
