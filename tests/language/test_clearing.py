"""Bounds on a ratio, multiplied through: which are, and that the meaning stays."""

import numpy as np
import pytest

import equirate as eq
from equirate.language.clearing import cleared

WOMEN = eq.attr("sex") == "F"
T, F = eq.tpr(), eq.fpr()
P, Q = eq.precision(WOMEN), eq.precision(~WOMEN)


@pytest.mark.parametrize(
    ("constraint", "left", "denominator"),
    [
        (eq.precision() >= 0.8, "-1 * tp() + 0.8 * positive_rate()", "positive_rate()"),
        (eq.precision() <= 0.8, "tp() + -0.8 * positive_rate()", "positive_rate()"),
        (eq.tpr(WOMEN) / T >= 0.5, "-1 * tpr(sex == 'F') + 0.5 * tpr()", "tpr()"),
    ],
)
def test_bounds_on_one_ratio_are_multiplied_through(constraint, left: str, denominator: str) -> None:
    found = cleared(constraint.residual)
    assert found is not None
    y, p = [0, 1, 1, 0], [0.5, 0.25, 1, 0.125]
    people = {"sex": ["F", "F", "M", "M"]}
    values = [part.evaluate(y, p, attributes=people) for part in found]
    names = {name: getattr(eq, name) for name in eq.__all__} | {"sex": eq.attr("sex")}
    expected = [eval(text, names).evaluate(y, p, attributes=people) for text in (left, denominator)]
    assert values == pytest.approx(expected)
    assert np.sign(values[0]) == np.sign(constraint.evaluate(y, p, attributes=people))


@pytest.mark.parametrize(
    "constraint",
    [P >= Q, eq.precision() + T >= 1, eq.precision() + eq.npv() >= 1, T / (T - F) >= 1, T >= 0.5, eq.g_mean() >= 0.5],
    ids=repr,
)
def test_what_is_not_multiplied_through(constraint) -> None:
    assert cleared(constraint.residual) is None
