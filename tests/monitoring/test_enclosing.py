"""The range of an expression over a box is never too small, and nearly sharp."""

import numpy as np
import pytest

import equirate as eq
from equirate.language.curvature import Interval
from equirate.monitoring.enclosing import Leaf, enclosure, largest_value, value_at

X, Y = Leaf(0), Leaf(1)
EXPRESSIONS = [
    X - Y,
    2 * X - 0.5 * Y + 0.1,
    X * Y,
    X / (X + Y),
    eq.square(X - Y),
    abs(X - Y),
    eq.log(X) - eq.log(Y),
    eq.sqrt(X) + eq.inv(Y),
    eq.norm(X, Y),
    eq.geo_mean(X, Y),
    eq.harmonic_mean(X, Y),
    eq.max(X, 2 * Y),
    eq.min(X, Y) - X,
    X - eq.square(X) + Y,
    eq.black_box(lambda a, b: a - b, X, Y, increasing=[True, False]),
]


@pytest.mark.parametrize("expr", EXPRESSIONS, ids=repr)
def test_it_holds_every_value(expr: eq.Expression) -> None:
    box = (Interval(0.2, 0.5), Interval(0.3, 0.45))
    grid = np.meshgrid(np.linspace(0.2, 0.5, 41), np.linspace(0.3, 0.45, 41))
    values = value_at(expr, [side.ravel() for side in grid])
    found = enclosure(expr, box)
    assert found.lo <= values.min() + 1e-12
    assert values.max() <= found.hi + 1e-12
    sharp = largest_value(expr, box)
    assert values.max() - 1e-12 <= sharp <= found.hi + 1e-12
    assert sharp <= values.max() + 0.02


def test_a_divisor_that_may_be_zero_gives_no_bound() -> None:
    assert largest_value(X / Y, (Interval(0.1, 0.2), Interval(0.0, 0.1))) == np.inf
