"""Atoms: their claims probed at random points, gradients against differences, best responses against brute force."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

from equirate.language.atoms import ATOMS, Atom, atom_named, numerical_response
from equirate.language.curvature import REALS, Interval, Monotonicity, Shape
from equirate.language.expressions import Call
from equirate.language.rates import fnr, fpr

SOFTPLUS_SUM = Atom(
    "softplus_sum",
    Shape.CONVEX,
    lambda x: np.logaddexp(0, 3 * x).sum(0),
    lambda x: 3 / (1 + np.exp(-3 * x)),
    lambda arguments: (Monotonicity.INCREASING,) * len(arguments),
    arity=None,
    domain=REALS,
)
"""An atom as a user would declare it: no closed form."""
WIGGLE = Atom(
    "wiggle",
    Shape.CONVEX,
    lambda x: np.exp(x[0]) + np.exp(-2 * x[0]),
    lambda x: np.exp(x) - 2 * np.exp(-2 * x),
    lambda arguments: (Monotonicity.NONE,) * len(arguments),
    domain=REALS,
)
EVERY = [*ATOMS.values(), SOFTPLUS_SUM]
CASES = [(atom, k) for atom in EVERY for k in ((1, 2, 3) if atom.arity is None else (atom.arity,))]
IDS = [f"{atom.name}-{k}" for atom, k in CASES]


def inside(atom: Atom, rng: np.random.Generator, shape: tuple[int, ...], least: float = 0.0) -> np.ndarray:
    """Random points of the domain, some on its edge."""
    x = rng.uniform(-1.5 if atom.domain.lo < 0 else least, 1.5, size=shape)
    x[rng.random(shape) < 0.1] = least
    return x


@pytest.mark.parametrize(("atom", "k"), CASES, ids=IDS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_claimed_curvature(atom: Atom, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = inside(atom, rng, (k, 200)), inside(atom, rng, (k, 200))
    t = rng.random(200)
    with np.errstate(all="ignore"):
        ends = t * atom.value(x) + (1 - t) * atom.value(y)
        gap = atom.sign * (ends - atom.value(t * x + (1 - t) * y))
    assert (np.isnan(gap) | (gap >= -1e-9)).all()
    assert (~np.isnan(gap)).any()


@pytest.mark.parametrize(("atom", "k"), CASES, ids=IDS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_claimed_monotonicity_and_range(atom: Atom, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    box = []
    for _ in range(k):
        lo, hi = np.sort(inside(atom, rng, (2,)))
        box.append(Interval(float(lo), float(hi)))
    lo, hi = np.array([[b.lo] for b in box]), np.array([[b.hi] for b in box])
    x, y = lo + rng.random((k, 100)) * (hi - lo), lo + rng.random((k, 100)) * (hi - lo)
    directions = atom.monotonicity(box)
    known = atom.range(box)
    with np.errstate(all="ignore"):
        value = atom.value(x)
        assert (value >= known.lo - 1e-9).all()
        assert (value <= known.hi + 1e-9).all()
        for i, direction in enumerate(directions):
            if direction is Monotonicity.NONE:
                continue
            moved = x.copy()
            moved[i] = np.maximum(x[i], y[i])
            change = direction * (atom.value(moved) - value)
            assert (np.isnan(change) | (change >= -1e-9)).all()
    if atom.even:
        flip = np.where(rng.random((k, 1)) < 0.5, -1.0, 1.0)
        assert np.allclose(atom.value(x * flip), value)


@pytest.mark.parametrize(("atom", "k"), CASES, ids=IDS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_gradient(atom: Atom, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.05, 1.0, (k, 50)) * (np.where(rng.random((k, 50)) < 0.5, -1, 1) if atom.domain.lo < 0 else 1)
    if not atom.smooth and k > 1:  # away from ties
        x += np.arange(k)[:, None] * 3.0
    step = 1e-6
    gradient = atom.gradient(x)
    assert gradient.shape == x.shape
    for i in range(k):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        differences = (atom.value(up) - atom.value(down)) / (2 * step)
        assert np.allclose(gradient[i], differences, rtol=1e-4, atol=1e-4)


def test_subgradients_at_ties_support_the_function() -> None:
    for atom in (ATOMS["max"], ATOMS["min"], ATOMS["abs"]):
        x = np.zeros((atom.arity or 3, 1))
        y = np.random.default_rng(0).uniform(-1, 1, (len(x), 500))
        gap = atom.sign * (atom.value(y) - atom.value(x) - (atom.gradient(x) * (y - x)).sum(0))
        assert (gap >= -1e-12).all()


def test_custom_atom_with_no_direction_claims_no_range() -> None:
    assert WIGGLE.range([Interval(-1, 2)]) == REALS
    assert ATOMS["square"].range([Interval(-1, 2)]) == Interval(0, 4)
    assert ATOMS["norm"].range([Interval(-3, 2), Interval(0, 4)]) == Interval(0, 5)
    assert ATOMS["log"].range([Interval(0, 1)]) == Interval(-math.inf, 0)
    assert ATOMS["inv"].range([Interval(0, 1)]) == Interval(1, math.inf)


# -- best responses -------------------------------------------------------------------------------


def objective(atom: Atom, weight: float, price: np.ndarray, xi: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        value = atom.value(xi)
        worth = np.where(weight == 0, 0.0, weight * atom.sign * value)
    return worth - (price.reshape((-1,) + (1,) * (xi.ndim - 1)) * xi).sum(0)


def brute_force(atom: Atom, weight: float, price: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> float:
    """Smallest value found by a grid (finer towards the lower ends) and a local search from its best points."""
    points = {1: 2001, 2: 81, 3: 31}[len(lo)]
    share = np.unique(np.concatenate([np.linspace(0, 1, points // 2 + 1), np.geomspace(1e-9, 1, points // 2)]))
    grid = np.stack(np.meshgrid(*(a + share * (b - a) for a, b in zip(lo, hi, strict=True)), indexing="ij"))
    flat = grid.reshape(len(lo), -1)
    values = objective(atom, weight, price, flat)
    values = np.where(np.isnan(values), np.inf, values)
    best = float(values.min())
    scale = max(1.0, float(np.abs(price).max()), weight)
    start = flat[:, values.argmin()]
    found = minimize(
        lambda x: float(objective(atom, weight, price, np.clip(x, lo, hi)[:, None])[0]) / scale,
        start,
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 400},
    )
    last = float(objective(atom, weight, price, np.clip(found.x, lo, hi)[:, None])[0])
    return min(best, last) if not math.isnan(last) else best


SIZES = (0.0, 1e-12, 1e-3, 0.3, 1.0, 7.0, 1e6)


def boxes(atom: Atom, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    least = max(atom.floor, 1e-9) if atom.floor else 0.0
    shapes = [(least, 1.0), (0.2, 0.9), (0.5, 0.5), (least, least + 1e-9), (0.999, 1.0), (least, 0.03)]
    found = [
        (np.array([s[0] for s in pick]), np.array([s[1] for s in pick]))
        for pick in itertools.islice(itertools.product(shapes, repeat=k), 0, None, 1 if k == 1 else 7 if k == 2 else 43)
    ]
    if atom.domain.lo < 0:
        found += [(-hi, -lo) for lo, hi in found]
        if k > 1:  # some arguments cannot be positive, others cannot be negative
            found += [
                (np.where(np.arange(k) % 2, -hi, lo), np.where(np.arange(k) % 2, -lo, hi)) for lo, hi in found[:3]
            ]
    return found


@pytest.mark.parametrize("form", ["own", "numerical"])
@pytest.mark.parametrize(
    ("atom", "k"), [pytest.param(*case, marks=[pytest.mark.slow] if case[1] == 3 else []) for case in CASES], ids=IDS
)
def test_best_response_is_the_minimum_over_the_box(atom: Atom, k: int, form: str) -> None:
    """Prices have the sign of the derivative, as those of the game have."""
    rng = np.random.default_rng(k)
    for lo, hi in boxes(atom, k):
        signs = np.array(
            [atom.sign * int(d) for d in atom.monotonicity([Interval(a, b) for a, b in zip(lo, hi, strict=True)])]
        )
        weights = rng.choice(SIZES, 6)
        prices = signs[:, None] * rng.choice(SIZES, (k, 6)) * rng.uniform(0.5, 1, (k, 6))
        weights[0], prices[:, 0] = 0.0, 0.0
        prices[:, 1] = signs * weights[1] / k  # where homogeneous atoms are undecided
        if form == "own":
            xi = atom.best_response(weights, prices, lo[:, None], hi[:, None])
        else:
            xi = numerical_response(atom, weights, prices, lo[:, None], hi[:, None])
        assert xi.shape == (k, 6)
        assert np.isfinite(xi).all()
        assert (xi >= lo[:, None]).all()
        assert (xi <= hi[:, None]).all()
        for j in range(6):
            reached = float(objective(atom, weights[j], prices[:, j], xi[:, [j]])[0])
            target = brute_force(atom, weights[j], prices[:, j], lo, hi)
            size = weights[j] * (1 + abs(float(atom.value(np.maximum(lo, 0.01) if atom.domain.lo == 0 else hi))))
            tolerance = 1e-6 * (size + np.abs(prices[:, j]).sum()) + 1e-12
            assert reached <= target + tolerance, (lo, hi, weights[j], prices[:, j], xi[:, j], reached, target)


@pytest.mark.parametrize(("atom", "k"), CASES, ids=IDS)
def test_best_response_carries_further_axes(atom: Atom, k: int) -> None:
    rng = np.random.default_rng(0)
    atoms, configurations = 4, 5
    lo = np.broadcast_to(rng.uniform(0.01, 0.4, (k, atoms, 1)), (k, atoms, 1))
    hi = lo + rng.uniform(0, 0.5, (k, atoms, 1))
    box = [Interval(0, 1)] * k
    signs = np.array([atom.sign * int(d) for d in atom.monotonicity(box)])[:, None, None]
    weight = rng.uniform(0, 2, (atoms, configurations))
    price = signs * rng.uniform(0, 2, (k, atoms, configurations))
    together = atom.best_response(weight, price, lo, hi)
    assert together.shape == price.shape
    for a in range(atoms):
        alone = atom.best_response(weight[a], price[:, a], lo[:, a], hi[:, a])
        assert np.allclose(together[:, a], alone, atol=1e-7)


def test_best_response_without_a_direction_in_the_fallback() -> None:
    xi = WIGGLE.best_response(np.ones(3), np.array([[-1.0, 0.0, 2.0]]), np.array([[-2.0]]), np.array([[2.0]]))
    slope = np.exp(xi) - 2 * np.exp(-2 * xi) - np.array([[-1.0, 0.0, 2.0]])
    assert np.allclose(slope, 0, atol=1e-9)


# -- as values ------------------------------------------------------------------------------------


@pytest.mark.parametrize("atom", ATOMS.values(), ids=ATOMS)
def test_atoms_are_themselves_after_copying(atom: Atom) -> None:
    assert pickle.loads(pickle.dumps(atom)) is atom
    assert copy.deepcopy(atom) is atom
    assert atom_named(atom.name) is atom


def test_custom_atoms_are_not_mistaken_for_others() -> None:
    namesake = Atom("log", SOFTPLUS_SUM.shape, SOFTPLUS_SUM.value, SOFTPLUS_SUM.gradient, SOFTPLUS_SUM.monotonicity)
    assert Call(namesake, (fpr(),)).key != Call(ATOMS["log"], (fpr(),)).key
    assert copy.deepcopy(Call(namesake, (fpr(),))).key == Call(namesake, (fpr(),)).key


def test_custom_atom_in_an_expression() -> None:
    expr = Call(SOFTPLUS_SUM, (fpr(), fnr()))
    assert repr(expr) == "softplus_sum(fpr(), fnr())"
    assert expr.curvature == "convex"
    y, p = [0, 1, 0, 1], [1, 1, 0, 0]
    assert expr.evaluate(y, p) == pytest.approx(2 * np.log(1 + np.exp(1.5)))


def test_negative_zero_is_zero() -> None:
    assert ATOMS["inv"].range([Interval(-0.0, 2.0)]) == Interval(0.5, math.inf)
    with np.errstate(divide="ignore"):
        assert ATOMS["inv"].value(np.array([-0.0])) == math.inf
