"""Curvature, monotonicity and intervals as values."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from equirate.language.curvature import Curvature, Interval, Monotonicity, Shape, compose

CONSTANT, AFFINE, CONVEX, CONCAVE, RATIO, UNKNOWN = Curvature


@pytest.mark.parametrize(
    ("a", "b", "total"),
    [
        (CONSTANT, CONSTANT, CONSTANT),
        (CONSTANT, AFFINE, AFFINE),
        (AFFINE, CONVEX, CONVEX),
        (AFFINE, CONCAVE, CONCAVE),
        (CONVEX, CONVEX, CONVEX),
        (CONCAVE, CONCAVE, CONCAVE),
        (CONVEX, CONCAVE, UNKNOWN),
        (AFFINE, RATIO, RATIO),
        (RATIO, RATIO, RATIO),
        (CONVEX, RATIO, UNKNOWN),
        (CONCAVE, RATIO, UNKNOWN),
        *((kind, UNKNOWN, UNKNOWN) for kind in Curvature),
    ],
)
def test_sum(a: Curvature, b: Curvature, total: Curvature) -> None:
    assert a + b is total
    assert b + a is total
    assert -(a + b) is (-a) + (-b)


def test_sum_is_associative() -> None:
    for a, b, c in itertools.product(Curvature, repeat=3):
        assert (a + b) + c is a + (b + c)


def test_scaled() -> None:
    positive, negative, zero, either = Interval(0, 2), Interval(-1, 0), Interval(0, 0), Interval(-1, 1)
    for kind in Curvature:
        assert kind.scaled(positive) is kind
        assert kind.scaled(negative) is -kind
        assert kind.scaled(zero) is CONSTANT
        assert kind.scaled(either) is (UNKNOWN if kind in (CONVEX, CONCAVE) else kind)


def test_a_curvature_is_its_name() -> None:
    assert CONVEX == "convex"
    assert f"{RATIO}" == "ratio"


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("direction", Monotonicity)
@pytest.mark.parametrize("inner", Curvature)
def test_composition(shape: Shape, direction: Monotonicity, inner: Curvature) -> None:
    whole = compose(shape, [(direction, inner), (direction, CONSTANT)])
    if inner is CONSTANT:
        assert whole is CONSTANT
    elif inner is AFFINE:
        assert whole is shape.value
    elif inner in (CONVEX, CONCAVE) and direction:
        agrees = (inner is shape.value) is (direction is Monotonicity.INCREASING)
        assert whole is (shape.value if agrees else UNKNOWN)
    else:
        assert whole is UNKNOWN


ends = st.one_of(st.sampled_from([0.0, 1.0, -1.0, math.inf, -math.inf]), st.floats(-10, 10))


@st.composite
def intervals(draw) -> Interval:
    lo, hi = sorted((draw(ends), draw(ends)))
    if lo == hi and math.isinf(lo):
        return Interval(0.0, 0.0)
    return Interval(lo, hi)


@given(intervals(), intervals(), st.floats(0, 1), st.floats(0, 1))
def test_interval_arithmetic_holds_every_value(a: Interval, b: Interval, s: float, t: float) -> None:
    def point(i: Interval, share: float) -> float:
        lo, hi = max(i.lo, -1e6), min(i.hi, 1e6)
        return min(max(lo + share * (hi - lo), lo), hi)

    x, y = point(a, s), point(b, t)
    margin = 1e-9 * (1 + abs(x) + abs(y)) ** 2
    for whole, value in ((a + b, x + y), (a - b, x - y), (a * b, x * y), (-a, -x)):
        assert not math.isnan(whole.lo)
        assert not math.isnan(whole.hi)
        assert whole.lo - margin <= value <= whole.hi + margin
    if abs(y) > 1e-3:
        quotient = a / b
        assert quotient.lo - margin * 1e6 <= x / y <= quotient.hi + margin * 1e6


def test_interval_relations() -> None:
    assert Interval(0, 1) in Interval(0, 1)
    assert Interval(-0.1, 1) not in Interval(0, 1)
    assert Interval(-1e-15, 1) in Interval(0, 1).widened(1e-12)
    assert Interval(0, 2) & Interval(1, 3) == Interval(1, 2)
    assert Interval(1, 2) / Interval(0, 1) == Interval(1, math.inf)
    assert Interval(-2, 0) / Interval(0, 2) == Interval(-math.inf, 0)
    assert Interval(-2, 1) / Interval(0, 2) == Interval(-math.inf, math.inf)
    assert Interval(1, 2) / Interval(-1, 1) == Interval(-math.inf, math.inf)
    assert str(Interval(0, math.inf)) == "[0, inf]"
    assert np.isclose((Interval(1, 2) / Interval(2, 4)).hi, 1)
