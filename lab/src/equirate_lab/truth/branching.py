"""Truths with several ratios: branch and bound over ratios and denominators, and enumeration to hold against it.

In: a `Posed` problem whose terms are ratios (or the largest of such sums, as in an absolute value), and a `Reach`.
Out: a `Truth` whose value is had by some mixture, and which no mixture beats by more than its gap.

Every ratio N/D gets a variable z; z D = N is bilinear, and on a box of (z, D) its four McCormick inequalities make a
linear programme that bounds the box. With the denominators fixed everything is linear: that is where values come from.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .counted import Curve, Posed, Ratio, Sum
from .grounds import Reach
from .programmes import Truth, UnsolvedError, charnes_cooper, cleared, floors, lowest, solved

Array = NDArray[np.float64]
GAP = 2e-4
"""How far the value may be from the bound."""
NODES = 4000
"""Boxes looked at, at most; what is left of the gap is in the truth."""
_KEPT = 1e-7


@dataclass(frozen=True, eq=False)
class Flat:
    """A problem with one number for each ratio: costs and rows over (x, z, level), all at most 0."""

    ratios: tuple[Ratio, ...]
    cost: Array
    constant: float
    rows: Array
    right: Array


@dataclass(frozen=True, eq=False)
class Box:
    """Ranges of ratios and of denominators."""

    z: Array
    bottom: Array


def branch_and_bound(posed: Posed, reach: Reach, gap: float = GAP, nodes: int = NODES) -> Truth:
    """Look at the box with the best bound, divide it where its programme is furthest from the truth."""
    flat = flattened(posed, reach)
    root = _root(posed, flat, reach)
    if root is None:
        return Truth(None, "branch and bound")
    count = itertools.count()
    waiting: list[tuple[float, int, Box, Array]] = []
    had: list[tuple[float, Array]] = []  # the best at the end

    def look(box: Box) -> None:
        found = _relaxed(flat, box, reach)
        if found is None:
            return
        bound, solution = found
        if had and bound >= had[-1][0] - gap:
            return
        shares = reach.generators @ solution[: reach.width]
        one = at_denominators(posed, [ratio.bottom.value(shares) for ratio in flat.ratios], flat, reach)
        if one is not None and (not had or one[0] < had[-1][0]):
            had.append(one)
        heapq.heappush(waiting, (bound, next(count), box, solution))

    look(root)
    while waiting and (not had or waiting[0][0] < had[-1][0] - gap) and next(count) < nodes:
        _, _, box, solution = heapq.heappop(waiting)
        for part in _halves(flat, box, solution, root, reach):
            look(part)
    if not had:
        if waiting:
            raise UnsolvedError(f"neither a mixture nor a proof that there is none after {nodes} boxes")
        return Truth(None, "branch and bound")
    value, shares = had[-1]
    left = value - waiting[0][0] if waiting else gap
    return Truth(posed.sign * value, "branch and bound", shares, max(left, gap))


def enumerated(posed: Posed, reach: Reach, fine: int = 24, passes: int = 5) -> Truth:
    """Denominators on a grid of both groups' positive rates, finer and finer around the best: a value that is had.

    Every denominator here is a function of the two: with them fixed, the problem is a linear programme.
    """
    flat = flattened(posed, reach)
    rates = [Sum(np.array(slope), 0.0) for slope in ([1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0])]
    ranges = []
    for rate in rates:
        ends = [lowest(sign * rate, floors(posed), reach) for sign in (1.0, -1.0)]
        if ends[0] is None or ends[1] is None:
            return Truth(None, "enumeration")
        ranges.append((ends[0][0], -ends[1][0]))
    best: tuple[float, Array] | None = None
    middle = tuple((low + high) / 2 for low, high in ranges)
    for _ in range(passes):
        for levels in itertools.product(*(np.linspace(*ends, fine + 1) for ends in ranges)):
            point = np.array([levels[0], 0.0, levels[1], 0.0])  # shares with these positive rates
            bottoms = [ratio.bottom.value(point) for ratio in flat.ratios]
            if min(bottoms) <= 0:
                continue
            had = at_denominators(posed, bottoms, flat, reach)
            if had is not None and (best is None or had[0] < best[0]):
                best, middle = had, levels
        steps = [(high - low) / fine for low, high in ranges]
        ranges = [
            (max(low, m - 3 * step), min(high, m + 3 * step))
            for (low, high), m, step in zip(ranges, middle, steps, strict=True)
        ]
        fine = 12
    return Truth(None, "enumeration") if best is None else Truth(posed.sign * best[0], "enumeration", best[1])


def flattened(posed: Posed, reach: Reach) -> Flat:
    """Write a problem with a number for every ratio, and for the level of a largest part."""
    cost, extra = posed.sign * posed.objective, []
    if cost.terms and isinstance(cost.terms[0][1], Curve):
        ((coefficient, curve),) = cost.terms
        if curve.name != ("max" if coefficient > 0 else "min"):
            raise TypeError("only a largest part can be minimised, or a smallest one maximised")
        extra = [coefficient * part for part in curve.parts]
        cost = Sum(cost.slope, cost.constant)
    kept = [made for part in posed.residuals() if (made := cleared(part)) is not None]
    crossed = [part for part in posed.residuals() if cleared(part) is None]
    ratios: list[Ratio] = []
    for part in [cost, *extra, *crossed]:
        ratios += [r for r in part.ratios() if not any(r.same(known) for known in ratios)]
    width = reach.width + len(ratios) + 1

    def row(part: Sum, level: float = 0.0) -> Array:
        made = np.zeros(width)
        made[: reach.width] = part.slope @ reach.generators
        for coefficient, term in part.terms:
            if not isinstance(term, Ratio):
                raise TypeError("only ratios can be branched on")
            made[reach.width + next(k for k, known in enumerate(ratios) if known.same(term))] += coefficient
        made[-1] = level
        return made

    parts = [*kept, *crossed, *floors(posed)]
    rows = [row(part) for part in parts] + [row(part, -1.0) for part in extra]
    right = [-part.constant for part in [*parts, *extra]]
    costs = row(cost, 1.0 if extra else 0.0)
    return Flat(tuple(ratios), costs, cost.constant, np.array(rows).reshape(-1, width), np.array(right))


def at_denominators(posed: Posed, bottoms: Sequence[float], flat: Flat, reach: Reach) -> tuple[float, Array] | None:
    """The best value where the denominators are these: with z = N / d, a linear programme."""
    width, count = reach.width, len(flat.ratios)
    equal, right = np.zeros((2 * count, flat.rows.shape[1])), np.zeros(2 * count)
    for k, (ratio, bottom) in enumerate(zip(flat.ratios, bottoms, strict=True)):
        equal[k, :width], right[k] = ratio.bottom.slope @ reach.generators, bottom - ratio.bottom.constant
        equal[count + k, :width] = ratio.top.slope @ reach.generators / bottom
        equal[count + k, width + k], right[count + k] = -1.0, -ratio.top.constant / bottom
    found = _solved(flat, flat.rows, flat.right, equal, right, reach)
    if found is None:
        return None
    shares = reach.generators @ found[1][:width]
    if posed.violation(shares) > _KEPT:  # denominators are met up to the solver's tolerance only
        return None
    return posed.sign * posed.objective.value(shares), shares


def _root(posed: Posed, flat: Flat, reach: Reach) -> Box | None:
    """The box of all ratios and denominators that the affine constraints allow; None if they allow nothing."""
    plain = replace(posed, constraints=tuple(c for c in posed.constraints if cleared(c[0] - c[2]) is not None))
    within = [*(made for part in plain.residuals() if (made := cleared(part)) is not None), *floors(posed)]
    z, bottom = np.zeros((len(flat.ratios), 2)), np.zeros((len(flat.ratios), 2))
    for k, ratio in enumerate(flat.ratios):
        for side, sense in enumerate(("minimize", "maximize")):
            sign = -1.0 if side else 1.0
            end = lowest(sign * ratio.bottom, within, reach)
            best = charnes_cooper(Posed(sense, ratio.top / ratio.bottom, plain.constraints), reach)
            if end is None or best.value is None:
                return None
            z[k, side], bottom[k, side] = best.value, sign * end[0]
    return Box(z, bottom)


def _relaxed(flat: Flat, box: Box, reach: Reach) -> tuple[float, Array] | None:
    """The programme of a box: a bound on the objective inside it, and where it is had."""
    width, size = reach.width, flat.rows.shape[1]
    rows: list[Array] = []
    right: list[float] = []
    for k, ratio in enumerate(flat.ratios):
        N, D, z = np.zeros(size), np.zeros(size), np.zeros(size)
        N[:width], D[:width] = ratio.top.slope @ reach.generators, ratio.bottom.slope @ reach.generators
        n, d = ratio.top.constant, ratio.bottom.constant
        z[width + k] = 1.0
        (zl, zu), (dl, du) = box.z[k], box.bottom[k]
        for side, a, b in ((1, zl, dl), (1, zu, du), (-1, zu, dl), (-1, zl, du)):
            # z D >= a D + z b - a b for (low, low) and (high, high), and <= for the crossed pairs
            rows.append(side * (a * D + b * z - N))
            right.append(side * (a * b - a * d + n))
        rows += [D, -D, z, -z]
        right += [du - d, d - dl, zu, -zl]
    none = np.zeros((0, size))
    return _solved(flat, np.vstack([flat.rows, *rows]), np.concatenate([flat.right, right]), none, np.zeros(0), reach)


def _solved(
    flat: Flat, rows: Array, right: Array, equal: Array, equal_right: Array, reach: Reach
) -> tuple[float, Array] | None:
    size, width = flat.rows.shape[1], reach.width
    if reach.mixed:
        equal = np.vstack([equal, np.concatenate([np.ones(width), np.zeros(size - width)])])
        equal_right = np.append(equal_right, 1.0)
    bounds = [(0.0, 1.0)] * width + [(None, None)] * (size - width)
    found = solved(flat.cost, rows, right, equal, equal_right, bounds)
    return None if found is None else (found[0] + flat.constant, found[1])


def _halves(flat: Flat, box: Box, solution: Array, root: Box, reach: Reach) -> Iterator[Box]:
    """Divide the ratio that the programme is furthest from, at its wider side, near where the programme was solved."""
    shares = reach.generators @ solution[: reach.width]
    z = solution[reach.width : reach.width + len(flat.ratios)]
    off = [abs(z[k] - ratio.value(shares)) for k, ratio in enumerate(flat.ratios)]
    k = int(np.argmax(off))
    spans = [np.diff(sides[k])[0] / max(np.diff(whole[k])[0], 1e-12) for sides, whole in _pairs(box, root)]
    of_bottom = spans[1] >= spans[0]
    low, high = (box.bottom if of_bottom else box.z)[k]
    point = flat.ratios[k].bottom.value(shares) if of_bottom else z[k]
    cut = float(np.clip((point + (low + high) / 2) / 2, low + 0.2 * (high - low), high - 0.2 * (high - low)))
    for ends in ((low, cut), (cut, high)):
        sides = (box.bottom if of_bottom else box.z).copy()
        sides[k] = ends
        yield replace(box, bottom=sides) if of_bottom else replace(box, z=sides)


def _pairs(box: Box, root: Box) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    return (box.z, root.z), (box.bottom, root.bottom)
