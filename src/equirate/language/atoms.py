r"""The non-linear atoms: one declaration each, with local facts only.

An `Atom` states its value, gradient, curvature, monotonicity, domain and best response, as functions of
arrays whose first axis runs over the atom's arguments; all further axes (several atoms of a kind,
configurations) are carried along. Composition is in `curvature`, syntax in `expressions`.

The game uses an atom in its convex form :math:`\phi = s f` with :math:`s = -1` for a concave atom, and asks
the slack player for the best response

.. math:: \arg\min_{lo \le \xi \le hi} \; w \, \phi(\xi) - v \cdot \xi, \qquad w \ge 0,

where :math:`v_i = \lambda_i \sigma_i` has the sign of :math:`\partial\phi/\partial\xi_i`. This is
:math:`\nabla\phi^*` kept inside the box of reachable values, so it exists for homogeneous atoms too.

To add an atom: declare it here, with `_public`. The function that users call, the parser and ``equirate.__all__`` take
it from `ATOMS`, and so do the tests that probe every claim; what it should be worth is a line in
``tests/language/test_rates.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .curvature import Interval, Monotonicity, Shape

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
BestResponse = Callable[[Array, Array, Array, Array], Array]
NONNEGATIVE = Interval(0.0, math.inf)
_REALS = Interval(-math.inf, math.inf)
_TINY = 1e-30


@dataclass(frozen=True)
class Atom:
    """A non-linear function of a few arguments, declared by local facts.

    Parameters
    ----------
    name
        What users call it.
    shape
        Convex or concave, as a function of the arguments inside the domain.
    value, gradient
        Functions of an array of shape (arguments, ...); the value drops the first axis.
    monotonicity
        Function of the arguments' intervals that gives one direction per argument.
    arity
        Number of arguments, or None for any number.
    domain
        Interval that each argument must lie in.
    floor
        Smallest argument the game ever uses where the value or the gradient ends at 0.
    smooth
        Whether the gradient is continuous inside the domain (Frank-Wolfe, NEMSIS and COCO need it).
    even
        Whether the value stays the same when an argument changes its sign.
    response
        Closed-form best response, or None to use the numerical one.
    summary
        One line for the documentation.
    """

    name: str
    shape: Shape
    value: Callable[[Array], Array]
    gradient: Callable[[Array], Array]
    monotonicity: Callable[[Sequence[Interval]], tuple[Monotonicity, ...]]
    arity: int | None = 1
    domain: Interval = NONNEGATIVE
    floor: float = 0.0
    smooth: bool = True
    even: bool = False
    response: BestResponse | None = None
    summary: str = ""

    @property
    def sign(self) -> int:
        """The factor s that makes ``s * value`` convex."""
        return 1 if self.shape is Shape.CONVEX else -1

    def range(self, arguments: Sequence[Interval]) -> Interval:
        """Interval of values over a box of arguments, from monotonicity.

        Parameters
        ----------
        arguments
            The interval of each argument.

        Returns
        -------
        Interval
            The smallest and the largest value.
        """
        bottom, top = [], []
        for argument, direction in zip(arguments, self.monotonicity(arguments), strict=True):
            lo, hi = max(argument.lo, self.domain.lo), min(argument.hi, self.domain.hi)
            if direction is Monotonicity.NONE:
                if not self.even:
                    return _REALS
                lo, hi = (0.0 if lo <= 0 <= hi else min(abs(lo), abs(hi))), max(abs(lo), abs(hi))
            ends = (lo, hi) if direction is not Monotonicity.DECREASING else (hi, lo)
            bottom.append(ends[0] + 0.0)  # -0.0 becomes 0.0: one over it is infinite upwards
            top.append(ends[1] + 0.0)
        with np.errstate(all="ignore"):
            least, most = (float(self.value(np.array(corner, dtype=float))) for corner in (bottom, top))
        return Interval(-math.inf if math.isnan(least) else least, math.inf if math.isnan(most) else most)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle the atoms declared here by name."""
        return (atom_named, (self.name,)) if ATOMS.get(self.name) is self else super().__reduce_ex__(protocol)

    def best_response(self, weight: Array, price: Array, lo: Array, hi: Array) -> Array:
        """Minimise ``weight * sign * value(xi) - price . xi`` over the box, closed form where there is one.

        Parameters
        ----------
        weight
            Weight of the function, one for each problem.
        price
            Price of each argument, (arguments, problems).
        lo, hi
            Bounds of the arguments.

        Returns
        -------
        numpy.ndarray
            The arguments that minimise, (arguments, problems).
        """
        solve = self.response or (lambda *box: numerical_response(self, *box))
        return np.clip(solve(weight, price, lo, hi), lo, hi)


# -- best responses -------------------------------------------------------------------------------


def numerical_response(atom: Atom, weight: Array, price: Array, lo: Array, hi: Array) -> Array:
    """Best response of any convex atom, all problems at once: bisection, or the ellipsoid method.

    One argument: the derivative is monotone, so it is bisected. Several: the ellipsoid method, which needs
    only subgradients and has a guarantee for every convex function, with cuts at the box's faces.
    """
    lo, hi = np.broadcast_to(lo, price.shape).copy(), np.broadcast_to(hi, price.shape).copy()

    def slope(xi: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.nan_to_num(weight * atom.sign * atom.gradient(xi) - price, nan=0.0, posinf=1e300, neginf=-1e300)

    if price.shape[0] == 1:
        for _ in range(100):
            middle = (lo + hi) / 2
            rising = slope(middle) > 0
            lo, hi = np.where(rising, lo, middle), np.where(rising, middle, hi)
        return (lo + hi) / 2

    def objective(xi: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(weight * atom.sign * atom.value(xi) - (price * xi).sum(0))

    return _ellipsoid(objective, slope, lo, hi)


def _ellipsoid(objective: Callable[[Array], Array], slope: Callable[[Array], Array], lo: Array, hi: Array) -> Array:
    # In coordinates z with xi = middle + half * z the box is the cube [-1, 1]^n; a side of no width drops out.
    n = lo.shape[0]
    middle, half = (lo + hi) / 2, (hi - lo) / 2
    z = np.zeros_like(middle)
    # P holds one n x n matrix per problem: the ellipsoid through the cube's corners.
    P = np.broadcast_to((n * np.eye(n)).reshape((n, n) + (1,) * (lo.ndim - 1)), (n, *lo.shape))
    best, best_value = middle, np.full(lo.shape[1:], np.inf)
    open_ = np.ones(lo.shape[1:], dtype=bool)
    for _ in range(60 * n * n):
        outside = np.where(np.abs(z) > 1, np.sign(z), 0.0)
        inside = ~outside.any(0)
        xi = np.clip(middle + half * z, lo, hi)
        value = np.where(inside, objective(xi), np.inf)
        better = value < best_value
        best, best_value = np.where(better, xi, best), np.where(better, value, best_value)
        cut = np.where(inside, slope(xi) * half, outside)
        cut = cut / np.maximum(np.abs(cut).max(0), _TINY)
        Pg = np.einsum("ij...,j...->i...", P, cut)
        width = (cut * Pg).sum(0)
        open_ &= width > 1e-20  # no point of the ellipsoid is better than the centre by more than the root of this
        step = np.where(open_, Pg / np.sqrt(np.maximum(width, 1e-20)), 0.0)
        z = z - step / (n + 1)
        smaller = n * n / (n * n - 1.0) * (P - 2.0 / (n + 1) * np.einsum("i...,j...->ij...", step, step))
        P = np.where(open_, smaller, P)
    return best


def _along_path(
    atom: Atom,
    slopes: Array,
    stationary: Callable[[Mask, Array], Array],
    weight: Array,
    price: Array,
    lo: Array,
    hi: Array,
) -> Array:
    """Best response of a homogeneous atom: it lies on the path xi_i = clip(t * slopes_i, lo_i, hi_i).

    The optimality conditions fix the path; ``stationary`` gives the t that is optimal while a set of
    arguments is free and the others sit at a bound. Trying every break of the path and every stationary
    point between two breaks is exact.
    """
    lo, hi = np.broadcast_to(lo, price.shape), np.broadcast_to(hi, price.shape)
    breaks = np.sort(np.concatenate([lo / slopes, hi / slopes]), axis=0)
    middles = np.concatenate([breaks[:1] / 2, (breaks[1:] + breaks[:-1]) / 2, breaks[-1:] * 2])
    middle = middles[:, None] * slopes
    free = (middle > lo) & (middle < hi)
    inner = stationary(free, np.clip(middle, lo, hi))
    t = np.concatenate([breaks, np.nan_to_num(inner, nan=0.0, posinf=1e300, neginf=0.0)])
    xi = np.clip(t[:, None] * slopes, lo, hi)
    objective = weight * atom.sign * atom.value(np.moveaxis(xi, 1, 0)) - (price * xi).sum(1)
    return _pick(xi, objective)


def _pick(candidates: Array, objective: Array) -> Array:
    """Choose, per problem, the candidate (first axis) with the smallest objective."""
    index = np.argmin(np.where(np.isnan(objective), np.inf, objective), axis=0)
    chosen: Array = np.take_along_axis(candidates, np.expand_dims(index, (0, 1)), axis=0)[0]
    return chosen


def _positive(x: Array) -> Array:
    return np.maximum(x, _TINY)


def _log_response(weight: Array, price: Array, lo: Array, hi: Array) -> Array:
    return weight / _positive(-price)


def _sqrt_response(weight: Array, price: Array, lo: Array, hi: Array) -> Array:
    return (weight / (2 * _positive(-price))) ** 2


def _square_response(weight: Array, price: Array, lo: Array, hi: Array) -> Array:
    return price / (2 * _positive(weight))


def _inv_response(weight: Array, price: Array, lo: Array, hi: Array) -> Array:
    return np.sqrt(weight / _positive(-price))


def _extreme_response(weight: Array, price: Array, lo: Array, hi: Array) -> Array:
    # Minimise weight * max(xi) - price . xi, price >= 0: for a given maximum m every xi_i is min(m, hi_i).
    lo, hi = np.broadcast_to(lo, price.shape), np.broadcast_to(hi, price.shape)
    bottom = lo.max(0)
    m = np.concatenate([bottom[None], np.maximum(hi, bottom)])
    xi = np.clip(m[:, None], lo, hi)
    return _pick(xi, weight * xi.max(1) - (price * xi).sum(1))


def _min_response(weight: Array, price: Array, lo: Array, hi: Array) -> Array:
    return -_extreme_response(weight, -price, -hi, -lo)


def _norm_response(weight: Array, price: Array, lo: Array, hi: Array) -> Array:
    # An argument that cannot be positive is turned over, which leaves the norm as it is.
    turn = np.where(hi <= 0, -1.0, 1.0)
    return turn * _norm_of_positive(weight, turn * price, np.where(hi <= 0, -hi, lo), np.where(hi <= 0, -lo, hi))


def _norm_of_positive(weight: Array, price: Array, lo: Array, hi: Array) -> Array:
    # w xi_i / |xi| = v_i: xi_i = t v_i / w with t = |xi|, so t^2 = |fixed|^2 + t^2 sum over free (v_i / w)^2.
    slopes = _positive(price) / _positive(weight)

    def stationary(free: Mask, xi: Array) -> Array:
        fixed = np.where(free, 0.0, xi**2).sum(1)
        return np.asarray(np.sqrt(fixed / _positive(1 - np.where(free, slopes**2, 0.0).sum(1))))

    return _along_path(NORM, slopes, stationary, weight, price, lo, hi)


def _geo_mean_response(weight: Array, price: Array, lo: Array, hi: Array) -> Array:
    # w g / (k xi_i) = lambda_i: xi_i = t w / (k lambda_i) with t = g, so k log g = sum of log xi_i.
    k = price.shape[0]
    slopes = _positive(weight) / (k * _positive(-price))

    def stationary(free: Mask, xi: Array) -> Array:
        logs = np.where(free, np.log(slopes), np.log(_positive(xi))).sum(1)
        count = free.sum(1)
        return np.where(count == k, 0.0, np.exp(np.clip(logs / np.maximum(k - count, 1), -600, 600)))

    return _along_path(GEO_MEAN, slopes, stationary, weight, price, lo, hi)


def _harmonic_response(weight: Array, price: Array, lo: Array, hi: Array) -> Array:
    # w h^2 / (k xi_i^2) = lambda_i: xi_i = t sqrt(w / (k lambda_i)) with t = h, so k = h sum of 1 / xi_i.
    k = price.shape[0]
    slopes = np.sqrt(_positive(weight) / (k * _positive(-price)))

    def stationary(free: Mask, xi: Array) -> Array:
        fixed = np.where(free, 0.0, 1 / _positive(xi)).sum(1)
        return np.asarray(np.maximum(k - np.where(free, 1 / slopes, 0.0).sum(1), 0.0) / _positive(fixed))

    return _along_path(HARMONIC_MEAN, slopes, stationary, weight, price, lo, hi)


# -- monotonicity ---------------------------------------------------------------------------------


def _always(direction: Monotonicity) -> Callable[[Sequence[Interval]], tuple[Monotonicity, ...]]:
    return lambda arguments: (direction,) * len(arguments)


def _by_sign(arguments: Sequence[Interval]) -> tuple[Monotonicity, ...]:
    return tuple(
        Monotonicity.INCREASING if i.lo >= 0 else Monotonicity.DECREASING if i.hi <= 0 else Monotonicity.NONE
        for i in arguments
    )


_UP, _DOWN = _always(Monotonicity.INCREASING), _always(Monotonicity.DECREASING)


# -- values and gradients that are more than one call ---------------------------------------------


def _first_at(x: Array, extreme: Callable[..., Array]) -> Array:
    """Subgradient of max or min: 1 at the first argument that attains it."""
    attained = x == extreme(x, axis=0)
    return np.asarray(attained & (np.cumsum(attained, axis=0) == 1), dtype=float)


def _geo_mean(x: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: Array = np.exp(np.log(x).mean(0))
    return mean


def _harmonic_mean(x: Array) -> Array:
    with np.errstate(divide="ignore"):
        mean: Array = x.shape[0] / (1 / x).sum(0)
    return mean


# -- the table ------------------------------------------------------------------------------------

ATOMS: dict[str, Atom] = {}
"""Every atom with a public name, in the order of declaration."""


def _public(atom: Atom) -> Atom:
    ATOMS[atom.name] = atom
    return atom


LOG = _public(
    Atom(
        "log",
        Shape.CONCAVE,
        lambda x: np.log(x[0]),
        lambda x: 1 / x,
        _UP,
        floor=1e-6,
        response=_log_response,
        summary="Natural logarithm of a non-negative expression.",
    )
)
SQRT = _public(
    Atom(
        "sqrt",
        Shape.CONCAVE,
        lambda x: np.sqrt(x[0]),
        lambda x: 0.5 / np.sqrt(x),
        _UP,
        floor=1e-9,
        response=_sqrt_response,
        summary="Square root of a non-negative expression.",
    )
)
SQUARE = _public(
    Atom(
        "square",
        Shape.CONVEX,
        lambda x: x[0] ** 2,
        lambda x: 2 * x,
        _by_sign,
        domain=_REALS,
        even=True,
        response=_square_response,
        summary="Square.",
    )
)
INV = _public(
    Atom(
        "inv",
        Shape.CONVEX,
        lambda x: 1 / (x[0] + 0.0),
        lambda x: -1 / x**2,
        _DOWN,
        floor=1e-3,
        response=_inv_response,
        summary="One over a non-negative expression.",
    )
)
ABS = _public(
    Atom(
        "abs",
        Shape.CONVEX,
        lambda x: np.abs(x[0]),
        np.sign,
        _by_sign,
        domain=_REALS,
        smooth=False,
        even=True,
        summary="Absolute value; the built-in abs does the same.",
    )
)
MAX = _public(
    Atom(
        "max",
        Shape.CONVEX,
        lambda x: x.max(0),
        lambda x: _first_at(x, np.max),
        _UP,
        arity=None,
        domain=_REALS,
        smooth=False,
        response=_extreme_response,
        summary="Largest of several expressions.",
    )
)
MIN = _public(
    Atom(
        "min",
        Shape.CONCAVE,
        lambda x: x.min(0),
        lambda x: _first_at(x, np.min),
        _UP,
        arity=None,
        domain=_REALS,
        smooth=False,
        response=_min_response,
        summary="Smallest of several expressions.",
    )
)
NORM = _public(
    Atom(
        "norm",
        Shape.CONVEX,
        lambda x: np.sqrt((x**2).sum(0)),
        lambda x: x / _positive(np.sqrt((x**2).sum(0))),
        _by_sign,
        arity=None,
        domain=_REALS,
        even=True,
        response=_norm_response,
        summary="Euclidean norm of several expressions.",
    )
)
GEO_MEAN = _public(
    Atom(
        "geo_mean",
        Shape.CONCAVE,
        _geo_mean,
        lambda x: _geo_mean(x) / (x.shape[0] * x),
        _UP,
        arity=None,
        floor=1e-9,
        response=_geo_mean_response,
        summary="Geometric mean of non-negative expressions.",
    )
)
HARMONIC_MEAN = _public(
    Atom(
        "harmonic_mean",
        Shape.CONCAVE,
        _harmonic_mean,
        lambda x: _harmonic_mean(x) ** 2 / (x.shape[0] * x**2),
        _UP,
        arity=None,
        floor=1e-9,
        response=_harmonic_response,
        summary="Harmonic mean of non-negative expressions.",
    )
)


def atom_named(name: str) -> Atom:
    """Return one of the atoms declared here."""
    return ATOMS[name]
