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
from .timing import alone, by_default, spread
from .whole_fits import LEVEL, REDUCTIONS, WARM

FAIRLEARN = "fairlearn"
MOST = {"rows": 1_000_000, "features": 1_000, "groups": 128, "constraints": 0, "levels": 10}
"""The largest sizes that fairlearn is measured at: it takes dense features only, has no constraints on single pairs of
groups, needs a fit for each level, and was not done with 1,000 groups after 230 s of processor time."""
ENOUGH = {OURS: 60.0, FAIRLEARN: 10.0}
"""Seconds of processor time of a side after which a size is not repeated any more."""


def grown(ground: Ground, by: str, size: int, repetitions: int) -> Measured:
    """A point of a curve: ours in a process of its own, then fairlearn."""
    ground.tell(f"{size:,} {by}")
    job = {"by": by, "size": size, "repetitions": repetitions, "enough": ENOUGH[OURS]}
    try:
        with by_default():
            answer = alone(job, ground.settings.cores)
    except RuntimeError as error:
        raise UnavailableError(str(error)) from None
    samples = {OURS: answer["seconds"]}
    facts: dict[str, Any] = {
        "memory of X, MB": answer["data"] / 1e6,
        "peak beyond the data, MB": answer["beyond"] / 1e6,
        "peak beyond the data / X": answer["beyond"] / answer["data"],
    }
    if size <= MOST[by]:
        try:
            samples[FAIRLEARN] = theirs(ground, by, size, repetitions)
        except UnavailableError as error:  # ours is worth keeping
            facts["left out"] = {FAIRLEARN: str(error)}
    return Measured((Comparison("whole fit", "s", samples, ""),), facts=facts)


def theirs(ground: Ground, by: str, size: int, repetitions: int) -> list[float]:
    """Processor time of fairlearn on the same rows."""
    X, y, group, _ = work(by, size)
    dense = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=float)
    few = slice(WARM)
    parts = Halves(dense, y, group, dense[few], y[few], group[few])
    wanted = levels(size) if by == "levels" else [LEVEL]
    samples: list[float] = []
    while len(samples) < repetitions and sum(samples) < ENOUGH[FAIRLEARN]:
        requests = [{"method": FAIRLEARN, "kind": "dp", "level": level} for level in wanted]
        turn = len(samples)
        answers = [ground.asked(REDUCTIONS, parts.arrays(), each, warm=WARM, turn=turn) for each in requests]
        samples.append(sum(answer.seconds for answer in answers))
    return samples


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
