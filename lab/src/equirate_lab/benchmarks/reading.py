"""Quality on test rows: error and gap of anybody's predictions, and ours read at a rival's own gap.

In: probabilities of predicting 1. Out: `Point`s, and the `Difference` of two sides over several samples. Two sides
rarely reach the same gap, so that their errors say nothing by themselves. Ours is fitted at a few levels, and its
error is read between the two levels whose gaps on test rows lie around the rival's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

GAPS = {"dp": "demographic parity", "odds": "equalized odds", "tpr": "equal opportunity"}
"""Kinds of constraint."""


@dataclass(frozen=True)
class Point:
    """Error on test rows, and the largest difference between two groups' rates."""

    error: float
    gap: float


def point(kind: str, y: NDArray[Any], group: NDArray[Any], decided: NDArray[Any]) -> Point:
    """Error and gap of the probabilities of predicting 1.

    Examples
    --------
    >>> y, group = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    >>> point("dp", y, group, np.array([0.0, 1.0, 1.0, 1.0]))
    Point(error=0.25, gap=0.5)
    """
    rows = {"dp": [np.ones(len(y), dtype=bool)], "odds": [y == 0, y == 1], "tpr": [y == 1]}[kind]
    gaps = []
    for chosen in rows:
        rates = [decided[chosen & (group == value)].mean() for value in np.unique(group)]
        gaps.append(max(rates) - min(rates))
    return Point(float(np.where(y == 1, 1 - decided, decided).mean()), float(max(gaps)))


def error_at(points: Sequence[Point], gap: float) -> float:
    """The error at a gap, on straight lines between the points in the order of their gaps.

    Beyond the largest gap it is the error there: more is allowed than is used. Below the smallest it is NaN.

    Examples
    --------
    >>> curve = [Point(0.20, 0.02), Point(0.18, 0.06)]
    >>> round(error_at(curve, 0.04), 4), error_at(curve, 0.1), error_at(curve, 0.01)
    (0.19, 0.18, nan)
    """
    ordered = sorted(points, key=lambda each: each.gap)
    gaps, errors = [each.gap for each in ordered], [each.error for each in ordered]
    return float(np.interp(gap, gaps, errors, left=np.nan))


@dataclass(frozen=True)
class Difference:
    """Our error less a rival's at the rival's gap: mean over samples, standard error, and how many could be read."""

    mean: float
    deviation: float
    read: int
    samples: int

    @property
    def level(self) -> bool:
        """Whether our error is at most one standard error above the rival's."""
        return self.read > 0 and self.mean <= self.deviation

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**self.__dict__, "level": self.level}


def difference(ours: Sequence[Sequence[Point]], theirs: Sequence[Point], rows: int) -> Difference:
    """Compare curves with a rival's points, sample by sample; a sample that cannot be read is left out.

    With one sample the standard error is that of the rival's error on so many test rows.

    Examples
    --------
    >>> curve = [Point(0.20, 0.02), Point(0.18, 0.06)]
    >>> difference([curve, curve], [Point(0.20, 0.04), Point(0.18, 0.04)], 1000).level
    True
    """
    apart = np.array([error_at(curve, each.gap) - each.error for curve, each in zip(ours, theirs, strict=True)])
    read = apart[np.isfinite(apart)]
    if not len(read):
        return Difference(0.0, 0.0, 0, len(apart))
    error = theirs[0].error
    deviation = float(read.std(ddof=1) / np.sqrt(len(read))) if len(read) > 1 else (error * (1 - error) / rows) ** 0.5
    return Difference(float(read.mean()), deviation, len(read), len(apart))
