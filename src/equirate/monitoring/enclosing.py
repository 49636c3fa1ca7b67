"""The range of an expression over a box: interval arithmetic, made sharp by cutting the box.

In: an expression whose leaves are `Leaf`, and an interval for each leaf. Out: a number that the expression never
exceeds in the box. Interval arithmetic alone forgets that two parts of an expression share a leaf; cutting the box into
smaller ones brings the range down to the largest value, as far as the budget of boxes goes. It is never too small.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.cached import cached_property
from .._core.errors import EquirateError
from ..language.curvature import REALS, Curvature, Interval
from ..language.expressions import Call, Constant, Expression, Negative, Product, Quotient, Sum
from ..language.functions import XLogX
from ..language.measuring import Measure, Value
from ..language.nodes import BlackBox, Named

BOXES = 128
"""Most boxes that are evaluated for one bound."""
_CLOSE = 1e-6
"""Distance from the largest value at which a bound is sharp enough."""

Box = tuple[Interval, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Leaf(Expression):
    """A quantity that is known from counts, which replaces a rate or a ratio."""

    index: int

    @cached_property
    def curvature(self) -> Curvature:
        """Affine."""
        return Curvature.AFFINE

    @cached_property
    def interval(self) -> Interval:
        """Nothing is known."""
        return REALS

    @property
    def key(self) -> tuple[Any, ...]:
        """Its number."""
        return ("leaf", self.index)

    def value(self, measure: Measure) -> Value:
        """Look it up."""
        return measure(self)  # type: ignore[arg-type]  # measured by its index, never on examples

    def __repr__(self) -> str:
        return f"leaf {self.index}"


def with_leaves(expr: Expression, leaves: dict[tuple[Any, ...], Leaf]) -> Expression:
    """The expression with leaves in the places of the parts that have their keys."""
    if expr.key in leaves:
        return leaves[expr.key]
    node: Any = expr  # every node is a dataclass
    changed: Expression = replace(
        node, **{field.name: _inside(getattr(node, field.name), leaves) for field in fields(node)}
    )
    return changed


def _inside(value: Any, leaves: dict[tuple[Any, ...], Leaf]) -> Any:
    if isinstance(value, Expression):
        return with_leaves(value, leaves)
    return tuple(_inside(part, leaves) for part in value) if isinstance(value, tuple) else value


def value_at(expr: Expression, point: Sequence[Any]) -> NDArray[np.float64]:
    """The value where the leaves have the values of a point: numbers, or arrays of them."""
    with np.errstate(all="ignore"):
        return np.asarray(expr.value(lambda leaf: np.asarray(point[leaf.key[1]], dtype=float)), dtype=float)


def enclosure(expr: Expression, box: Sequence[Interval]) -> Interval:
    """An interval that holds every value of the expression in a box."""
    match expr:
        case Leaf():
            return box[expr.index]
        case Constant():
            return expr.interval
        case Sum():
            total = Interval(0.0, 0.0)
            for sign, part in expr.parts:
                total = total + enclosure(part, box) if sign > 0 else total - enclosure(part, box)
            return _defined(total)
        case Negative():
            return -enclosure(expr.part, box)
        case Product():
            return _defined(enclosure(expr.left, box) * enclosure(expr.right, box))
        case Quotient():
            return _defined(enclosure(expr.left, box) / enclosure(expr.right, box))
        case Named():
            return enclosure(expr.definition, box) & expr.within
        case Call():
            return expr.atom.range([enclosure(argument, box) for argument in expr.arguments])
        case BlackBox():
            return _monotone(expr, [enclosure(argument, box) for argument in expr.arguments])
        case XLogX():
            return _x_log_x(enclosure(expr.part, box))
    raise EquirateError(f"a monitor cannot bound {expr!r}")


def _defined(interval: Interval) -> Interval:
    """Replace undefined ends, differences of infinite ones, by infinite ends."""
    return Interval(
        -math.inf if math.isnan(interval.lo) else interval.lo, math.inf if math.isnan(interval.hi) else interval.hi
    )


def _monotone(expr: BlackBox, arguments: list[Interval]) -> Interval:
    """Range of a function that is monotone in each argument: its values at two corners."""
    pairs = list(zip(arguments, expr.increasing, strict=True))
    ends = []
    for side in (False, True):
        corner = [part.hi if rising is side else part.lo for part, rising in pairs]
        ends.append(float(expr.function(*corner)))
    return _defined(Interval(*ends))


def _x_log_x(part: Interval) -> Interval:
    """Range of x log x, which falls down to 1 / e and rises from there."""
    ends = [end * math.log(end) if end > 0 else 0.0 for end in (part.lo, part.hi)]
    return Interval(-1 / math.e if part.lo <= 1 / math.e <= part.hi else min(ends), max(ends))


def largest_value(expr: Expression, box: Box) -> float:
    """A number that the expression does not exceed in a box, and that it nearly reaches.

    Examples
    --------
    >>> from equirate import square
    >>> x = Leaf(0)
    >>> round(largest_value(x - square(x), (Interval(0, 1),)), 2)  # interval arithmetic alone says 1
    0.25
    """
    tie = itertools.count()
    heap = [(-enclosure(expr, box).hi, next(tie), box)]
    reached = _middle(expr, box)
    for _ in range(BOXES):
        top, _, widest = heap[0]
        if not -top > reached + _CLOSE or not _wide(widest):
            break
        heapq.heappop(heap)
        for half in _halves(widest, box):
            reached = max(reached, _middle(expr, half))
            heapq.heappush(heap, (-enclosure(expr, half).hi, next(tie), half))
    return -heap[0][0]


def _middle(expr: Expression, box: Box) -> float:
    """The largest value at the middle and at the two extreme corners; -inf where undefined."""
    points = np.array([[side.lo, (side.lo + side.hi) / 2, side.hi] for side in box])
    values = value_at(expr, list(points))
    return float(np.fmax.reduce(np.broadcast_to(values, (3,)), initial=-np.inf))


def _wide(box: Box) -> bool:
    return any(side.hi - side.lo > 1e-9 for side in box)


def _halves(box: Box, start: Box) -> list[Box]:
    """Cut the side that is longest relative to that of the starting box."""
    shares = [(s.hi - s.lo) / (w.hi - w.lo) if w.hi > w.lo else 0.0 for s, w in zip(box, start, strict=True)]
    k = int(np.argmax(shares))
    middle = (box[k].lo + box[k].hi) / 2
    sides = (Interval(box[k].lo, middle), Interval(middle, box[k].hi))
    return [(*box[:k], side, *box[k + 1 :]) for side in sides]
