"""Truths that are linear or convex programmes, or a search over one number with linear programmes.

In: a `Posed` problem in the language of counts and a `Reach`. Out: a `Truth`: the best value that mixtures of all
linear classifiers have, or None where no mixture meets the constraints. `best` takes the method that applies; `second`
takes another one where there is one, to hold against it. Nothing here calls equirate.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize as descended

from .counted import FLOOR, Curve, Posed, Ratio, Sum
from .grounds import Reach

Array = NDArray[np.float64]
_LEVEL = 1e-9
"""How finely a level is searched for."""
_OFTEN: Any = {"maxiter": 300, "ftol": 1e-10}


@dataclass(frozen=True, eq=False)
class Truth:
    """The best value, at which shares it is had, how far it may be from the bound, and by which method."""

    value: float | None
    method: str
    shares: Array | None = None
    gap: float = 0.0


class UnsolvedError(Exception):
    """A solver gave no answer."""


# -- linear programmes ----------------------------------------------------------------------------


def solved(
    cost: Array, rows: Any, right: Any, equal: Any = None, equal_right: Any = None, bounds: Any = (0, 1)
) -> tuple[float, Array] | None:
    """Solve a linear programme: the value and where it is had, or None if nothing meets the rows."""
    given = {"A_ub": rows, "b_ub": right, "A_eq": equal, "b_eq": equal_right, "bounds": bounds, "method": "highs"}
    found: Any = linprog(cost, **given)
    if found.status not in (0, 2):  # numerical trouble: once more as the rows stand
        found = linprog(cost, **given, options={"presolve": False})
    if found.status == 2:
        return None
    if found.status != 0:
        raise UnsolvedError(found.message)
    return float(found.fun), np.asarray(found.x)


def lowest(cost: Sum, at_most: Sequence[Sum], reach: Reach, equal: Sequence[Sum] = ()) -> tuple[float, Array] | None:
    """Minimise one affine function where others are at most (or exactly) 0: the value and the shares."""
    G = reach.generators

    def rows(parts: Sequence[Sum]) -> Array:
        return np.array([part.slope @ G for part in parts]).reshape(len(parts), reach.width)

    A_eq, b_eq = rows(equal), np.array([-part.constant for part in equal])
    if reach.mixed:
        A_eq, b_eq = np.vstack([A_eq, np.ones(reach.width)]), np.append(b_eq, 1.0)
    right = np.array([-part.constant for part in at_most])
    found = solved(cost.slope @ G, rows(at_most), right, A_eq, b_eq)
    return None if found is None else (found[0] + cost.constant, np.asarray(G @ found[1]))


def cleared(part: Sum) -> Sum | None:
    """The affine function that has the sign of this one; None if there is none: a ratio multiplied by its bottom."""
    if part.affine:
        return part
    (coefficient, term), *more = part.terms
    if more or not isinstance(term, Ratio) or np.any(part.slope):
        return None
    return coefficient * term.top + part.constant * term.bottom


def floors(posed: Posed) -> list[Sum]:
    """What keeps every denominator away from 0."""
    parts = [posed.objective, *(left for left, _, _ in posed.constraints)]
    return [-1.0 * ratio.bottom + FLOOR for part in parts for ratio in part.ratios()]


def limits(posed: Posed) -> list[Sum] | None:
    """All constraints as affine functions, the floors among them; None where one is neither affine nor a ratio's."""
    found = [cleared(part) for part in posed.residuals()]
    return None if None in found else [*(part for part in found if part is not None), *floors(posed)]


def linear(posed: Posed, reach: Reach) -> Truth:
    """Affine objective, affine constraints."""
    found = lowest(posed.sign * posed.objective, _known(limits(posed)), reach)
    return Truth(None, "linear programme") if found is None else _truth(posed, "linear programme", found[1])


# -- one ratio ------------------------------------------------------------------------------------


def charnes_cooper(posed: Posed, reach: Reach) -> Truth:
    """The objective is a ratio: with t one over its denominator and v = t x, a linear programme in (v, t)."""
    ((coefficient, ratio),) = posed.objective.terms
    G, width, name = reach.generators, reach.width, "Charnes-Cooper"

    def row(part: Sum) -> Array:
        return np.append(part.slope @ G, part.constant)

    A_ub = [row(part) for part in _known(limits(posed))]
    if not reach.mixed:
        A_ub += [*np.column_stack([np.eye(width), -np.ones(width)])]
    A_eq, b_eq = [row(ratio.bottom)], [1.0]
    if reach.mixed:
        A_eq.append(np.append(np.ones(width), -1.0))
        b_eq.append(0.0)
    cost = posed.sign * coefficient * row(ratio.top)
    found = solved(cost, np.array(A_ub), np.zeros(len(A_ub)), np.array(A_eq), np.array(b_eq), (0, None))
    if found is None:
        return Truth(None, name)
    return _truth(posed, name, G @ found[1][:-1] / found[1][-1])


def dinkelbach(posed: Posed, reach: Reach) -> Truth:
    """The objective is a ratio N/D: minimise N - r D, take the r of what was found, until nothing is gained."""
    ((coefficient, ratio),) = posed.objective.terms
    top, within = posed.sign * coefficient * ratio.top, _known(limits(posed))
    start = lowest(top, within, reach)
    if start is None:
        return Truth(None, "Dinkelbach")
    shares = start[1]
    for _ in range(100):
        level = top.value(shares) / ratio.bottom.value(shares)
        found = lowest(top - level * ratio.bottom, within, reach)
        if found is None or found[0] > -1e-10:
            break
        shares = found[1]
    return _truth(posed, "Dinkelbach", shares)


# -- the smallest of several ----------------------------------------------------------------------


def level_set(posed: Posed, reach: Reach) -> Truth:
    """The best level that all parts of a minimum reach (a maximum's keep below): bisection over linear programmes."""
    ((_, curve),) = posed.objective.terms
    within, name = _known(limits(posed)), "bisection of levels"

    def at(level: float) -> Array | None:
        parts = [cleared(posed.sign * (part - level)) for part in curve.parts]
        found = lowest(0.0 * within[0] if within else 0.0 * curve.parts[0], [*within, *_known(parts)], reach)
        return None if found is None else found[1]

    start = lowest(0.0 * curve.parts[0], within, reach)
    if start is None:
        return Truth(None, name)
    shares, good, bad = start[1], curve.value(start[1]), -posed.sign * 2.0
    while abs(bad - good) > _LEVEL:
        middle = (good + bad) / 2
        found = at(middle)
        if found is None:
            bad = middle
        else:
            shares, good = found, middle
    return _truth(posed, name, shares)


# -- functions of two rates -----------------------------------------------------------------------


def plane(posed: Posed, reach: Reach, fine: int = 100) -> Truth:
    """A function that rises with one rate and falls with another: the largest first for many values of the second."""
    ((_, curve),) = posed.objective.terms
    up, down = curve.parts
    within, name = _known(limits(posed)), "enumeration of a rate"
    ends = [lowest(sign * down, within, reach) for sign in (1.0, -1.0)]
    if ends[0] is None or ends[1] is None:
        return Truth(None, name)
    low, high = ends[0][0], -ends[1][0]
    best, where, at = -math.inf, ends[0][1], low
    for _ in range(5):  # each time four steps to either side of the best, finer
        step = (high - low) / fine
        for level in np.linspace(low, high, fine + 1):
            found = lowest(-1.0 * up, within, reach, equal=[down - float(level)])
            if found is not None and curve.value(found[1]) > best:
                best, where, at = curve.value(found[1]), found[1], float(level)
        low, high = max(low, at - 4 * step), min(high, at + 4 * step)
        fine = 40
    return _truth(posed, name, where)


# -- convex programmes ----------------------------------------------------------------------------


def convex(posed: Posed, reach: Reach) -> Truth:
    """Curved objective or constraints, by cvxpy."""
    import cvxpy as cp

    x = cp.Variable(reach.width, nonneg=True)
    shares = reach.generators @ x
    held = [cp.sum(x) == 1] if reach.mixed else [x <= 1]

    def spoken(part: Sum) -> Any:
        plain = cleared(part)
        if plain is not None:
            return plain.slope @ shares + plain.constant
        return part.slope @ shares + part.constant + sum(c * _curve(term, spoken) for c, term in part.terms)

    held += [spoken(part) <= 0 for part in posed.residuals()] + [spoken(part) <= 0 for part in floors(posed)]
    programme = cp.Problem(cp.Minimize(posed.sign * spoken(posed.objective)), held)
    programme.solve(solver=cp.CLARABEL)
    if programme.status in ("infeasible", "infeasible_inaccurate"):
        return Truth(None, "cvxpy")
    if programme.status != "optimal":
        raise UnsolvedError(f"cvxpy says {programme.status}")
    return _truth(posed, "cvxpy", reach.generators @ np.clip(np.asarray(x.value), 0.0, 1.0))


def _curve(term: Ratio | Curve, spoken: Callable[[Sum], Any]) -> Any:
    import cvxpy as cp

    if isinstance(term, Ratio):
        raise TypeError("a ratio is not convex")
    parts = [spoken(part) for part in term.parts]
    if term.name.startswith("kl "):
        p = float(term.name.split()[1])
        constant = p * math.log(p) + (1 - p) * math.log(1 - p)
        return constant - p * cp.log(parts[0]) - (1 - p) * cp.log(1 - parts[0])
    made: dict[str, Callable[[], Any]] = {
        "geometric": lambda: cp.geo_mean(cp.hstack(parts)),
        "harmonic": lambda: cp.harmonic_mean(cp.hstack(parts)),
        "norm": lambda: cp.norm(cp.hstack(parts)),
        "log": lambda: cp.log(parts[0]),
        "max": lambda: cp.maximum(*parts),
        "min": lambda: cp.minimum(*parts),
    }
    return made[term.name]()


def descent(posed: Posed, reach: Reach, starts: int = 6) -> Truth:
    """Any smooth problem, from several starts: what sequential quadratic programming finds, a value that is had."""
    G, rng = reach.generators, np.random.default_rng(0)
    parts = [*posed.residuals(), *floors(posed)]

    def cost(x: Array) -> float:
        return posed.sign * float(posed.objective.value(G @ x))

    held: Any = [{"type": "ineq", "fun": lambda x, part=part: -part.value(G @ x)} for part in parts]
    if reach.mixed:
        held.append({"type": "eq", "fun": lambda x: x.sum() - 1})
    best: tuple[float, Array] | None = None
    for _ in range(starts):
        x = rng.dirichlet(np.ones(reach.width)) if reach.mixed else rng.random(reach.width)
        found: Any = descended(
            cost,
            x,
            bounds=[(0, 1)] * reach.width,
            constraints=held,
            method="SLSQP",
            options=_OFTEN,
        )
        shares = G @ np.clip(found.x, 0, 1)
        value = posed.sign * posed.objective.value(shares)
        if posed.violation(shares) < 1e-6 and (best is None or value < best[0]):
            best = value, shares
    return Truth(None, "descent") if best is None else _truth(posed, "descent", best[1])


def refined(posed: Posed, reach: Reach, fine: int = 20, starts: int = 6) -> Truth:
    """Mixtures of a few classifiers on a grid, then steps from one classifier to another from the best: a value had."""
    steps = [k for k in itertools.product(range(fine + 1), repeat=reach.width - 1) if sum(k) <= fine]
    grid = np.array([(*k, fine - sum(k)) for k in steps]) / fine
    tops = sorted((_cost_at(posed, reach, mixture), k) for k, mixture in enumerate(grid))[:starts]
    found = [_stepped(posed, reach, grid[k], cost, 1 / fine) for cost, k in tops if math.isfinite(cost)]
    if not found:
        return Truth(None, "grid")
    return _truth(posed, "grid", reach.generators @ min(found, key=lambda one: one[0])[1])


def _stepped(posed: Posed, reach: Reach, mixture: Array, cost: float, width: float) -> tuple[float, Array]:
    """Move weight from one classifier to another while that pays, by ever smaller steps."""
    pairs = list(itertools.permutations(range(reach.width), 2))
    while width > 1e-7:
        moved = []
        for give, take in pairs:
            other = mixture.copy()
            step = min(width, float(mixture[give]))
            other[give], other[take] = other[give] - step, other[take] + step
            moved.append((_cost_at(posed, reach, other), other))
        least = min(moved, key=lambda one: one[0])
        if least[0] < cost - 1e-12:
            cost, mixture = least
        else:
            width /= 2
    return cost, mixture


def _cost_at(posed: Posed, reach: Reach, mixture: Array) -> float:
    shares = reach.generators @ mixture
    return math.inf if posed.violation(shares) > 1e-9 else posed.sign * posed.objective.value(shares)


# -- which ----------------------------------------------------------------------------------------


def best(posed: Posed, reach: Reach) -> Truth:
    """The truth, by the method that applies."""
    from .branching import branch_and_bound

    plain, terms = limits(posed) is not None, posed.objective.terms
    alone = terms[0][1] if len(terms) == 1 and not np.any(posed.objective.slope) else None
    if plain and posed.objective.affine:
        return linear(posed, reach)
    if plain and isinstance(alone, Ratio):
        return charnes_cooper(posed, reach)
    if plain and isinstance(alone, Curve) and alone.name == "increasing":
        return _inside(posed, alone, reach, best)
    if plain and isinstance(alone, Curve) and alone.name == "plane":
        return plane(posed, reach)
    if plain and isinstance(alone, Curve) and alone.name in ("min", "max") and None not in map(cleared, alone.parts):
        return level_set(posed, reach)
    if any(_crossed(part) for part in [posed.objective, *posed.residuals()]):
        return branch_and_bound(posed, reach)
    return convex(posed, reach)


def _crossed(part: Sum) -> bool:
    """Whether there are ratios that cannot be multiplied through."""
    return cleared(part) is None and any(True for _ in part.ratios())


def _inside(posed: Posed, curve: Curve, reach: Reach, method: Callable[[Posed, Reach], Truth]) -> Truth:
    """The objective is an increasing function of something: the best of that."""
    found = method(Posed(posed.sense, curve.parts[0], posed.constraints), reach)
    return found if found.shares is None else _truth(posed, found.method, found.shares)


def _truth(posed: Posed, method: str, shares: Array) -> Truth:
    return Truth(float(posed.objective.value(shares)), method, np.asarray(shares))


def _known(parts: Sequence[Sum | None] | None) -> list[Sum]:
    if parts is None or None in parts:
        raise TypeError("this method needs affine constraints")
    return [part for part in parts if part is not None]
