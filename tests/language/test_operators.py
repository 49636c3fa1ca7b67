"""Operators that Python has and rates do not: each says what to write instead."""

import pytest
from hypothesis import given, strategies as st

import equirate as eq
from equirate.problem.text import parse

A, B = eq.attr("a"), eq.attr("b")


@pytest.mark.parametrize(
    "compare",
    [
        lambda: max(eq.tpr(), eq.tnr()),
        lambda: min(eq.tpr(), eq.tnr()),
        lambda: max([eq.tpr(), eq.tnr(), 0.5]),
        lambda: max(0.5, eq.tpr()),
        lambda: sorted([eq.tpr(), eq.tnr()]),
    ],
)
def test_the_built_in_max_and_min_name_ours(compare) -> None:
    with pytest.raises(TypeError, match=r"use eq\.max\(\.\.\.\) and eq\.min\(\.\.\.\)"):
        compare()
    assert repr(eq.max(eq.tpr(), 0.5)) == "max(tpr(), 0.5)"


@pytest.mark.parametrize(
    "slice_",
    [
        lambda: A == 1 & B == 2,
        lambda: A == 1 | B == 2,
        lambda: A == "x" & B == "y",
        lambda: (A == 1) & B == 2,
        lambda: A & (B == 2),
        lambda: A | B,
    ],
)
def test_precedence_is_explained(slice_) -> None:
    with pytest.raises(
        TypeError, match=r"bind more tightly than comparisons: put each comparison in parentheses, as in"
    ):
        slice_()


def test_precedence_is_explained_elsewhere() -> None:
    with pytest.raises(TypeError, match=r"~ binds more tightly than comparisons: write ~\(a == \.\.\.\)"):
        ~A == 1  # noqa: B015
    for text in ("tpr(a == 1 & b == 2)", "tpr(a == 1 | b == 2)"):
        with pytest.raises(eq.ParseError, match="bind more tightly than comparisons: put each comparison in parenth"):
            parse(text)


# -- numbers at the edges of their range ----------------------------------------------------------

NUMBERS = st.one_of(
    st.integers(-(2**1030), 2**1030),
    st.sampled_from([2**53, 2**53 + 1, 2**63, 2**64 - 1, 2**64, 2**64 + 1, -(2**64), 10**15, 10**15 + 1, 10**400]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([5e-324, -5e-324, 1.7976931348623157e308, 1e15, 1e16, -0.0]),
)


@given(NUMBERS, NUMBERS, st.sampled_from(["+", "-", "*", "/", "ratio", "scaled", "divided", "floor", "slice"]))
def test_extreme_numbers_print_what_parses_back(a, b, kind: str) -> None:
    """Whatever can be made prints as text that makes the same; the rest is refused as too large."""
    makers = {
        "+": lambda: eq.tpr() + a + b,
        "-": lambda: a - eq.tpr() - b,
        "*": lambda: a * eq.tpr() * b,
        "/": lambda: eq.tpr() / a * b,
        "ratio": lambda: eq.ratio(a, b) + eq.tpr(),
        "scaled": lambda: a * (b * eq.tpr() + 1),
        "divided": lambda: (eq.tpr() - a) / b,
        "floor": lambda: eq.ratio(eq.tpr(), eq.fpr(), floor=abs(a)),
        "slice": lambda: eq.tpr((eq.attr("x") == a) & (eq.attr("x") < b)),
    }
    try:
        made = makers[kind]()
    except (TypeError, OverflowError, ZeroDivisionError) as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert any(why in refused for why in ("too large", "beyond", "/ 0", "positive"))
        return
    if kind == "slice" and max(abs(a), abs(b)) >= 2**1023:
        return
    again = parse(repr(made))
    assert repr(again) == repr(made)
    assert again.key == made.key


def test_numbers_too_large_are_refused() -> None:
    with pytest.raises(OverflowError, match=r"0\.3 / 5e-324 is too large for a number"):
        eq.ratio(0.3, 5e-324)
    with pytest.raises(TypeError, match="a whole number beyond"):
        eq.tpr() * 10**400
