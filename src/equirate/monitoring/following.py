"""One monitored constraint: counts, their history, bounds of its violation, the alarm, and rows to a verdict.

In: which new rows are trials and successes of the constraint's proportions. Out: `ConstraintStatus` and, once, `Alarm`.

The constraint is tested on all rows, and anew from every thousandth row on, so that a change after many good rows is
found from the rows since then. With alpha for the constraint, the test from the first row on has alpha / 2 and the j-th
new start alpha / (2 j (j + 1)): all together they have at most alpha, for ever. Starts are kept more sparsely the
older they are (the j-th for ``4 * 2**z`` thousand rows, if z zeros end j in binary), so that their number grows with
the logarithm of the rows. Leaving a start out only loses power.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..judge.certify import opposed
from ..language.expressions import Constraint
from .forms import Form
from .proportions import Mask, Proportion
from .residuals import form_of

Counts = NDArray[np.int64]
"""(proportions, 2): successes and trials."""

EVERY = 1000
"""A new test of each constraint starts every so many rows. Detecting a large violation takes a few hundred rows, so
that more starts would gain little."""
MOST_POINTS = 100
"""Moments in the history, at most; every second one goes when there are more."""
_SURE = 0.8
"""Bounds are computed where the normal approximation has this share of the evidence that an alarm needs."""
_STEP = 1e-5
_DOUBLINGS = 6
"""Most doublings of the rows in the search for the number that a verdict needs."""


@dataclass(frozen=True)
class Alarm:
    """A constraint that was shown to be broken.

    Attributes
    ----------
    constraint
        As it was written.
    rows
        How many rows it had been followed on when the alarm was raised.
    since
        The first row of the test that shows it broken: 0, or that of a later start.
    estimate, lower
        The violation since then, and its lower bound, when the alarm was raised.
    """

    constraint: str
    rows: int
    since: int
    estimate: float
    lower: float

    def __str__(self) -> str:
        after = f" since row {self.since:,}" if self.since else ""
        return (
            f"alarm at row {self.rows:,}: {self.constraint} is broken{after} by {self.estimate:.4f}, at least "
            f"{self.lower:.4f}"
        )


@dataclass(frozen=True)
class ConstraintStatus:
    """The status of one constraint.

    Attributes
    ----------
    constraint
        As it was written.
    verdict
        ``"kept"``, ``"broken"`` (there is an alarm) or ``"cannot tell"``.
    estimate, lower, upper
        The signed violation on the rows so far and its bounds, which hold at all times together; after an alarm, on the
        rows since the one that the alarm names. NaN and infinite where nothing was counted yet.
    rows
        The rows that these numbers are of.
    more_rows
        About how many more rows like these a verdict needs; None if there is a verdict, or the estimate is so near the
        limit that 64 times as many rows would not decide.
    """

    constraint: str
    verdict: str
    estimate: float
    lower: float
    upper: float
    rows: int
    more_rows: int | None = None

    @property
    def numbers(self) -> str:
        """Estimate, bounds and rows, and how many more would decide, in words."""
        if not math.isfinite(self.estimate):
            return "no rows yet" + (" behind one of its rates" if self.rows else "")
        line = f"violation {self.estimate:+.4f} [{self.lower:+.4f}, {self.upper:+.4f}] on {self.rows:,} rows"
        if self.more_rows is not None:
            return f"{line}; about {self.more_rows:,} more would decide"
        near = f"; so near the limit that {2**_DOUBLINGS} times as many would not decide"
        return line + (near if self.verdict == "cannot tell" else "")

    def __str__(self) -> str:
        return f"{self.verdict:<12}{self.constraint}   {self.numbers}"


@dataclass(frozen=True, eq=False)
class FollowerStart:
    """Where a test began: its number, the rows before it and their counts."""

    number: int
    rows: int
    counts: Counts

    @property
    def share(self) -> float:
        """Share of the constraint's alpha."""
        return 0.5 if self.number == 0 else 0.5 / (self.number * (self.number + 1))

    def kept(self, latest: int) -> bool:
        """Whether it is still tested when the start with number ``latest`` is the newest."""
        lowest_bit = self.number & -self.number
        return self.number == 0 or latest - self.number < 4 * lowest_bit


@dataclass(eq=False)
class Follower:
    """A constraint with its counts. ``alpha`` is its chance of any wrong bound."""

    constraint: Constraint
    alpha: float
    rows: int = 0
    starts: list[FollowerStart] = field(default_factory=list)
    history: list[tuple[int, Counts]] = field(default_factory=list)
    alarm: Alarm | None = None
    classes: int = 2

    def __post_init__(self) -> None:
        self._forms: list[Form] = [form_of(part.residual, self.classes) for part in self.constraint.split()]
        known = dict.fromkeys(one for form in self._forms for one in form.proportions)
        self.proportions: tuple[Proportion, ...] = tuple(known)
        self._places = [[self.proportions.index(one) for one in form.proportions] for form in self._forms]
        residuals = [part.residual for part in self.constraint.split()]
        pairs = sum(opposed(*residuals[k : k + 2]) for k in range(0, len(residuals) - 1, 2))
        self._ways = len(residuals) - pairs  # both sides of an abs are about the same region
        self.counts: Counts = np.zeros((len(self.proportions), 2), dtype=np.int64)
        if not self.starts:
            self.starts = [FollowerStart(0, 0, self.counts.copy())]

    @property
    def needs_label(self) -> bool:
        """Whether any of its rates does."""
        return any(one.needs_label for one in self.proportions)

    # -- counting --------------------------------------------------------------------------------

    def add(self, marks: Sequence[tuple[Mask, Mask]], length: int) -> None:
        """Count new rows; ``marks`` has the trials and the successes of each proportion."""
        if not length:
            return
        first = EVERY - self.rows % EVERY
        cuts = np.array([0, *range(first, length, EVERY)])
        sums = np.array([[np.add.reduceat(m, cuts, dtype=np.int64) for m in (s, t)] for t, s in marks])
        for k, cut in enumerate(cuts):
            end = int(cuts[k + 1]) if k + 1 < len(cuts) else length
            self.counts = self.counts + sums[:, :, k]
            self.rows += end - int(cut)
            self._test()
            self.history.append((self.rows, self.counts))
            if self.rows % EVERY == 0:
                self._add_start()
        while len(self.history) > MOST_POINTS:
            self.history = self.history[:-1][1::2] + self.history[-1:]

    def _add_start(self) -> None:
        if self.alarm is not None:
            return
        number = self.rows // EVERY
        self.starts = [start for start in self.starts if start.kept(number)]
        self.starts.append(FollowerStart(number, self.rows, self.counts))

    def _test(self) -> None:
        """Raise the alarm where a test shows that the constraint is broken."""
        if self.alarm is not None:
            return
        for start in self._suspicious():
            counts = self.counts - start.counts
            lower = self._bound(counts, start.share, -1)
            if lower > 0:
                estimate = self._estimate(counts)
                self.alarm = Alarm(repr(self.constraint), self.rows, start.rows, estimate, lower)
                return

    def _suspicious(self) -> list[FollowerStart]:
        """Starts with nearly enough evidence by the normal approximation: bounds of the others are not computed."""
        counts = np.stack([self.counts - start.counts for start in self.starts], axis=-1).astype(float)
        limits = -np.log([self.alpha * start.share / self._ways for start in self.starts])
        near = np.zeros(len(self.starts), dtype=bool)
        for form, places in zip(self._forms, self._places, strict=True):
            k, n = counts[places, 0], counts[places, 1]
            with np.errstate(all="ignore"):
                p = k / n
                value, variance = form.value(p), np.zeros(len(self.starts))
                for j in range(len(p)):
                    moved = p.copy()
                    moved[j] += np.where(p[j] > 0.5, -_STEP, _STEP)
                    slope = (form.value(moved) - value) / _STEP
                    variance = variance + slope**2 * p[j] * (1 - p[j]) / n[j]
                near |= (value > 0) & (value**2 >= 2 * _SURE * limits * variance)
        return [start for start, flag in zip(self.starts, near, strict=True) if flag]

    # -- bounds ----------------------------------------------------------------------------------

    def _estimate(self, counts: Any) -> float:
        """The violation at the proportions counted; NaN where one has no trials."""
        if not (counts[:, 1] > 0).all():
            return math.nan
        p = (counts[:, 0] / counts[:, 1])[:, None]
        values = [float(form.value(p[places])[0]) for form, places in zip(self._forms, self._places, strict=True)]
        return max(values)

    def _bound(self, counts: Any, share: float, side: int) -> float:
        """Bound of the violation at a share of alpha; a constraint on ``max`` is as broken as its worst part."""
        if not (counts[:, 1] > 0).all():
            return side * math.inf
        alpha, numbers = self.alpha * share / self._ways, np.asarray(counts, dtype=float)
        bounds = [
            form.bound(numbers[places, 0], numbers[places, 1], alpha, side)
            for form, places in zip(self._forms, self._places, strict=True)
        ]
        return max(bounds)

    def bounds(self, counts: Counts) -> tuple[float, float, float]:
        """Estimate, lower and upper bound at the counts of all rows up to some moment."""
        return self._estimate(counts), self._bound(counts, 0.5, -1), self._bound(counts, 0.5, 1)

    def status(self) -> ConstraintStatus:
        """The present status."""
        start = self.starts[0]
        if self.alarm is not None and self.alarm.since:
            start = next((each for each in self.starts if each.rows == self.alarm.since), start)
        counts = self.counts - start.counts
        estimate = self._estimate(counts)
        lower, upper = (self._bound(counts, start.share, side) for side in (-1, 1))
        broken = self.alarm is not None or lower > 0
        verdict = "broken" if broken else "kept" if upper <= 0 else "cannot tell"
        more = self._more_rows(counts, estimate) if verdict == "cannot tell" else None
        return ConstraintStatus(repr(self.constraint), verdict, estimate, lower, upper, self.rows - start.rows, more)

    def _more_rows(self, counts: Counts, estimate: float) -> int | None:
        """Further rows of the same proportions after which a bound of all rows would exclude 0."""
        if not math.isfinite(estimate) or estimate == 0:
            return None

        def decides(factor: float) -> bool:
            if estimate > 0:
                return self._bound(counts * factor, 0.5, -1) > 0
            return self._bound(counts * factor, 0.5, 1) <= 0

        for doubling in range(1, _DOUBLINGS + 1):
            if decides(2.0**doubling):
                low, high = 2.0 ** (doubling - 1), 2.0**doubling
                for _ in range(6):
                    middle = (low + high) / 2
                    low, high = (low, middle) if decides(middle) else (middle, high)
                return max(round(self.rows * (high - 1)), 1)
        return None
