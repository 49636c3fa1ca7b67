"""Constraints that no classifier can satisfy, whatever the data: an error at once, from the ranges of rates.

In: the constraints of a problem. Out: nothing, or an `InfeasibleError` that names the constraint and the range of its
sides, or a small set of constraints that contradict each other. Only what is impossible on all data is refused: rates
of one slice and label are means over the same examples and are bounded together; anything else is assumed to vary
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
"""A larger violation of a programme, relative to the constraint's size, is no rounding error."""
_MOST = 2000
"""Most parts of constraints that are checked together."""
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
        _check_single(constraint)
    parts = [_Row.of(index, part) for index, constraint in enumerate(constraints) for part in constraint.split()]
    if 1 < len(parts) <= _MOST and not _is_satisfied_simply(parts):
        conflicting = _conflict(parts)
        if conflicting:
            shown = "\n".join(f"  {constraints[index]!r}" for index in conflicting)
            what = {1: "this one", 2: "both"}.get(len(conflicting), f"all {len(conflicting)}")
            raise InfeasibleError(
                f"these constraints contradict each other: no classifier can keep {what}.\n{shown}\n"
                "  └─ whatever the data and the predictions, one of them is broken\n  Relax or leave out one of them."
            )


def _check_single(constraint: Constraint) -> None:
    """Raise an error for a constraint that the ranges of its parts rule out."""
    for part in (constraint, *constraint.split()):
        small, large = (part.left, part.right) if part.symbol == "<=" else (part.right, part.left)
        if small.interval.lo <= large.interval.hi and part.residual.interval.lo <= 0:
            continue
        rounding = _ROUNDING * max(1.0, _size(part.left), _size(part.right))
        disjoint = small.interval.lo > large.interval.hi + rounding
        if not disjoint and part.residual.interval.lo <= rounding:
            continue
        sides = (part.left, part.right) if disjoint else (part.left - part.right,)
        reason = " and ".join(f"{side!r} lies in {side.interval}" for side in sides if not isinstance(side, Constant))
        raise InfeasibleError(
            f"no classifier can keep this constraint.\n  {constraint!r}\n  └─ {reason}\n  Ask for less{_weaker(part)}."
        )


def _size(side: Expression) -> float:
    finite = [abs(end) for end in (side.interval.lo, side.interval.hi) if np.isfinite(end)]
    return max(finite, default=0.0)


def _weaker(part: Constraint) -> str:
    """The strongest bound that could be kept, where the bound is a number."""
    end = part.left.interval.lo if part.symbol == "<=" else part.left.interval.hi
    if not isinstance(part.right, Constant):
        return ""
    value, side = part.right.interval.lo, part.left.interval
    percent = f". A rate is a share: for {value:g}% write {value / 100:g}" if (side.lo, side.hi) == (0, 1) else ""
    return f": {part.left!r} {part.symbol} {Constant(end)!r}{percent if 2 <= value <= 100 else ''}"


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
    """Their ranges."""

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
            else:  # a factor that depends on the data
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


def _is_satisfied_simply(rows: Sequence[_Row]) -> bool:
    """Whether a simple classifier keeps everything: right, always 0, always 1, as the baseline, wrong.

    For a rate of one class against the rest, 1 is that class, whichever it is: rates of several classes are not checked
    against each other, so that some impossible problems pass.
    """
    signs: dict[Hashable, set[bool]] = {}
    for row in rows:
        for key, factor in row.others.items():
            signs.setdefault(key, set()).add(factor > 0)
    if any(len(directions) > 1 for directions in signs.values()):  # one value cannot be best for both
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
    """Indices of constraints that cannot be satisfied together, reduced by leaving out one at a time."""
    broken = _violation_duals(rows)
    if broken is None:
        return []
    conflicting = sorted({row.index for row, price in zip(rows, broken, strict=True) if price > _ROUNDING})
    for index in list(conflicting):
        fewer = [k for k in conflicting if k != index]
        if _violation_duals([row for row in rows if row.index in fewer]) is not None:
            conflicting = fewer
    return conflicting


def _violation_duals(rows: Sequence[_Row]) -> Array | None:
    """Duals of the rows at the smallest possible violation; None if all rows can be satisfied."""
    from scipy.optimize import linprog  # late: most problems never need it

    if not rows:
        return None
    first_column: dict[Hashable, int] = {}
    bounds: list[tuple[float, float]] = []
    groups: list[slice] = []
    for row in rows:
        for key, each in row.means.items():
            if ("mean", key) not in first_column:
                first_column["mean", key] = len(bounds)
                groups.append(slice(len(bounds), len(bounds) + len(each)))
                bounds += [(0.0, 1.0)] * len(each)
        for key, known in row.ranges.items():
            if ("other", key) not in first_column:
                first_column["other", key] = len(bounds)
                bounds.append((known.lo, known.hi))
    A = np.zeros((len(rows), len(bounds) + 1))
    A[:, -1] = -1.0
    limits = np.zeros(len(rows))
    for r, row in enumerate(rows):
        size = row.scale()
        limits[r] = -row.constant / size
        for key, each in row.means.items():
            A[r, first_column["mean", key] : first_column["mean", key] + len(each)] += each / size
        for key, factor in row.others.items():
            A[r, first_column["other", key]] += factor / size
    ones = np.zeros((len(groups), len(bounds) + 1))
    for g, columns in enumerate(groups):
        ones[g, columns] = 1.0
    cost = np.eye(1, len(bounds) + 1, len(bounds))[0]
    solved = linprog(cost, A, limits, ones, np.ones(len(groups)), [*bounds, (0.0, np.inf)], method="highs")
    if solved.x is None or solved.x[-1] <= _CLEAR:
        return None
    return np.asarray(-solved.ineqlin.marginals)
