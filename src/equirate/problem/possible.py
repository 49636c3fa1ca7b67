"""Impossible by the ranges of rates: what no classifier can keep, whatever the data, is refused at once.

In: the constraints of a problem. Out: nothing, or an `InfeasibleError` that names the constraint and the range that it
leaves, or the smallest set of constraints that contradict each other. Only what is impossible on all data is refused:
rates of one slice and label are means over the same examples and are bounded together; anything else is taken to vary
freely within its own range. `Problem` calls this.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import InfeasibleError
from ..language.curvature import Interval
from ..language.expressions import Constant, Constraint, Expression, counted

Array = NDArray[np.float64]

_ROUNDING = 1e-9
_CLEAR = 1e-6
"""Violation of a programme, as a share of a constraint's size, that is no rounding."""
_MOST = 2000
"""Constraints that are looked at together."""
_ANSWERS: tuple[Callable[[int, int], int], ...] = (
    lambda y, b: y,
    lambda y, b: 0,
    lambda y, b: 1,
    lambda y, b: b,
    lambda y, b: 1 - y,
)


def check_possible(constraints: Sequence[Constraint]) -> None:
    """Refuse constraints that no classifier can keep.

    Examples
    --------
    >>> import equirate as eq
    >>> check_possible([eq.recall() >= 1.2])
    Traceback (most recent call last):
    ...
    equirate.InfeasibleError: no classifier can keep this constraint.
      recall() >= 1.2
      └─ recall() lies in [0, 1]
      Ask for less: recall() >= 1.
    """
    for constraint in constraints:
        _alone(constraint)
    parts = [_Row.of(index, part) for index, constraint in enumerate(constraints) for part in constraint.split()]
    if 1 < len(parts) <= _MOST and not _obvious(parts):
        guilty = _conflict(parts)
        if guilty:
            shown = "\n".join(f"  {constraints[index]!r}" for index in guilty)
            what = {1: "this one", 2: "both"}.get(len(guilty), f"all {len(guilty)}")
            raise InfeasibleError(
                f"these constraints contradict each other: no classifier can keep {what}.\n{shown}\n"
                "  └─ whatever the data and the predictions, one of them is broken\n  Relax or leave out one of them."
            )


def _alone(constraint: Constraint) -> None:
    """Refuse a constraint that the ranges of its own parts rule out."""
    for part in (constraint, *constraint.split()):
        small, large = (part.left, part.right) if part.symbol == "<=" else (part.right, part.left)
        if small.interval.lo <= large.interval.hi and part.residual.interval.lo <= 0:
            continue
        rounding = _ROUNDING * max(1.0, _size(part.left), _size(part.right))
        apart = small.interval.lo > large.interval.hi + rounding
        if not apart and part.residual.interval.lo <= rounding:
            continue
        told = (part.left, part.right) if apart else (part.left - part.right,)
        reason = " and ".join(f"{side!r} lies in {side.interval}" for side in told if not isinstance(side, Constant))
        raise InfeasibleError(
            f"no classifier can keep this constraint.\n  {constraint!r}\n  └─ {reason}\n  Ask for less{_less(part)}."
        )


def _size(side: Expression) -> float:
    finite = [abs(end) for end in (side.interval.lo, side.interval.hi) if np.isfinite(end)]
    return max(finite, default=0.0)


def _less(part: Constraint) -> str:
    """The strongest bound that could be kept, where the bound is a number."""
    end = part.left.interval.lo if part.symbol == "<=" else part.left.interval.hi
    return f": {part.left!r} {part.symbol} {Constant(end)!r}" if isinstance(part.right, Constant) else ""


# -- several together -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    """One part of a constraint, ``constant + means + others <= 0``."""

    index: int
    constant: float
    means: dict[Hashable, Array] = field(default_factory=dict)
    """What an example of each sort contributes, for each set of examples that a mean is taken over."""
    others: dict[Hashable, float] = field(default_factory=dict)
    """Factors of everything that is not a mean."""
    ranges: dict[Hashable, Interval] = field(default_factory=dict)
    """Where they lie."""

    @classmethod
    def of(cls, index: int, part: Constraint) -> _Row:
        """Read a part of the constraint with that index."""
        constant = 0.0
        means: dict[Hashable, Array] = {}
        others: dict[Hashable, float] = {}
        ranges: dict[Hashable, Interval] = {}
        for factor, term in part.residual.terms():
            number, what = counted(factor, term)
            if number is not None and isinstance(what, Constant):
                constant += number * what.number
            elif number is not None and what.outcomes is not None:
                examples, each = what.outcomes
                means[examples] = means.get(examples, np.zeros(len(each))) + number * np.array(each)
            elif number is not None:
                others[what.key] = others.get(what.key, 0.0) + number
                ranges[what.key] = what.interval
            else:  # a factor that only the data tell
                key = (factor.key, what.key)
                others[key] = others.get(key, 0.0) + 1.0
                ranges[key] = factor.interval * what.interval
        return cls(index, constant, means, others, ranges)

    def scale(self) -> float:
        """The size of the largest factor."""
        sizes = [*(np.abs(each).max() for each in self.means.values()), *map(abs, self.others.values())]
        return float(max(sizes, default=0.0)) or 1.0

    def least(self, sorts: Callable[[Hashable], Array]) -> float:
        """The least value for given shares of the sorts of examples, everything else at its best."""
        value = self.constant + sum(float(each @ sorts(key)) for key, each in self.means.items())
        for key, factor in self.others.items():
            known = self.ranges[key]
            value += factor * (known.lo if factor > 0 else known.hi) if factor else 0.0
        return value


def _obvious(rows: Sequence[_Row]) -> bool:
    """Whether a simple classifier keeps everything: right, always 0, always 1, as the baseline, wrong.

    Of rates of one class against the rest, 1 is that class, whichever it is: those of several classes are not looked at
    together, so that less is refused than could be.
    """
    signs: dict[Hashable, set[bool]] = {}
    for row in rows:
        for key, factor in row.others.items():
            signs.setdefault(key, set()).add(factor > 0)
    if any(len(found) > 1 for found in signs.values()):  # one value of it cannot be at its best in both
        return False
    return any(all(row.least(_shares(answer)) <= 0 for row in rows) for answer in _ANSWERS)


def _shares(answer: Callable[[int, int], int]) -> Callable[[Hashable], Array]:
    """Shares of the sorts of examples (label, baseline, prediction), in the order of `Rate.outcomes`."""

    def shares(key: Any) -> Array:
        _, labels, _ = key
        predicted = [answer(y, b) for y in labels for b in (0, 1)]
        return np.array([share for p in predicted for share in (p, 1 - p)], dtype=float) / len(predicted)

    return shares


def _conflict(rows: Sequence[_Row]) -> list[int]:
    """Indices of constraints that cannot be kept together, as few as can be found by leaving out one by one."""
    broken = _broken(rows)
    if broken is None:
        return []
    guilty = sorted({row.index for row, price in zip(rows, broken, strict=True) if price > _ROUNDING})
    for index in list(guilty):
        fewer = [k for k in guilty if k != index]
        if _broken([row for row in rows if row.index in fewer]) is not None:
            guilty = fewer
    return guilty


def _broken(rows: Sequence[_Row]) -> Array | None:
    """Prices of the rows in the least possible violation of all; None where there need be none."""
    from scipy.optimize import linprog  # late: most problems are never looked at this closely

    if not rows:
        return None
    places: dict[Hashable, int] = {}
    bounds: list[tuple[float, float]] = []
    groups: list[slice] = []
    for row in rows:
        for key, each in row.means.items():
            if ("mean", key) not in places:
                places["mean", key] = len(bounds)
                groups.append(slice(len(bounds), len(bounds) + len(each)))
                bounds += [(0.0, 1.0)] * len(each)
        for key, known in row.ranges.items():
            if ("other", key) not in places:
                places["other", key] = len(bounds)
                bounds.append((known.lo, known.hi))
    A = np.zeros((len(rows), len(bounds) + 1))
    A[:, -1] = -1.0
    limits = np.zeros(len(rows))
    for r, row in enumerate(rows):
        size = row.scale()
        limits[r] = -row.constant / size
        for key, each in row.means.items():
            A[r, places["mean", key] : places["mean", key] + len(each)] += each / size
        for key, factor in row.others.items():
            A[r, places["other", key]] += factor / size
    ones = np.zeros((len(groups), len(bounds) + 1))
    for g, where in enumerate(groups):
        ones[g, where] = 1.0
    cost = np.eye(1, len(bounds) + 1, len(bounds))[0]
    solved = linprog(cost, A, limits, ones, np.ones(len(groups)), [*bounds, (0.0, np.inf)], method="highs")
    if solved.x is None or solved.x[-1] <= _CLEAR:
        return None
    return np.asarray(-solved.ineqlin.marginals)
