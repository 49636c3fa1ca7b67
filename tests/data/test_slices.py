"""Slices: what they mean, how they read, what they refuse."""

# ruff: noqa: SIM300  (comparisons are what is tested, either way round)

import copy
import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

import equirate as eq
from equirate.data.examples import Examples
from equirate.data.slices import EVERYBODY, Slice

COLUMNS = {
    "sex": np.array(["F", "M", "F", "M"]),
    "age": np.array([20, 30, 40, 50]),
    "member": np.array([True, False, True, True]),
    "income": np.array([1.5, 2.5, 3.5, 4.5]),
}
SEX, AGE, MEMBER = eq.attr("sex"), eq.attr("age"), eq.attr("member")


@pytest.mark.parametrize(
    ("slice_", "expected"),
    [
        (SEX == "F", [1, 0, 1, 0]),
        (SEX != "F", [0, 1, 0, 1]),
        (AGE < 30, [1, 0, 0, 0]),
        (AGE <= 30, [1, 1, 0, 0]),
        (AGE > 30, [0, 0, 1, 1]),
        (AGE >= 30, [0, 1, 1, 1]),
        (AGE == 30.0, [0, 1, 0, 0]),
        (AGE.isin([20, 50]), [1, 0, 0, 1]),
        (AGE.isin([]), [0, 0, 0, 0]),
        (SEX.isin(x for x in ["M"]), [0, 1, 0, 1]),
        (MEMBER == True, [1, 0, 1, 1]),  # noqa: E712  (an attribute, not a truth value)
        (MEMBER == 0, [0, 1, 0, 0]),
        (SEX < "G", [1, 0, 1, 0]),
        ((SEX == "F") & (AGE > 20), [0, 0, 1, 0]),
        ((SEX == "F") | (AGE > 40), [1, 0, 1, 1]),
        (~(SEX == "F"), [0, 1, 0, 1]),
        (~((SEX == "F") & (AGE > 20)), [1, 1, 0, 1]),
        ((SEX == "F") & EVERYBODY, [1, 0, 1, 0]),
        ((SEX == "F") | EVERYBODY, [1, 1, 1, 1]),
        (np.int64(30) == AGE, [0, 1, 0, 0]),
        (AGE > np.float32(30), [0, 0, 1, 1]),
    ],
)
def test_mask(slice_: Slice, expected: list[int]) -> None:
    mask = slice_.mask(COLUMNS)
    assert mask.dtype == bool
    assert mask.tolist() == list(map(bool, expected))
    assert Examples.of([0, 1, 0, 1], COLUMNS).mask(slice_).tolist() == mask.tolist()


def leaves() -> st.SearchStrategy[Slice]:
    return st.one_of(
        st.sampled_from(["F", "M"]).map(lambda v: SEX == v),
        st.sampled_from(["F", "M"]).map(lambda v: SEX != v),
        st.integers(10, 60).map(lambda v: AGE < v),
        st.integers(10, 60).map(lambda v: eq.attr("income") >= v / 10),
        st.lists(st.integers(10, 60), max_size=3).map(AGE.isin),
    )


def slices() -> st.SearchStrategy[Slice]:
    return st.recursive(
        leaves(),
        lambda part: st.one_of(
            st.tuples(part, part).map(lambda p: p[0] & p[1]),
            st.tuples(part, part).map(lambda p: p[0] | p[1]),
            part.map(lambda p: ~p),
        ),
        max_leaves=6,
    )


@given(slices())
def test_repr_reads_as_written(slice_: Slice) -> None:
    again = eval(repr(slice_), {"sex": SEX, "age": AGE, "income": eq.attr("income")})
    assert again == slice_
    assert hash(again) == hash(slice_)
    assert repr(again) == repr(slice_)


@given(slices(), slices())
def test_boolean_algebra(a: Slice, b: Slice) -> None:
    def m(s: Slice) -> list[bool]:
        return s.mask(COLUMNS).tolist()

    assert m(~(a & b)) == m(~a | ~b)
    assert m(~(a | b)) == m(~a & ~b)
    assert m(~~a) == m(a)
    assert ~~a == a
    assert m(a & ~a) == [False] * 4
    assert (a & b).attributes == a.attributes | b.attributes


@given(slices())
def test_copies_are_equal(slice_: Slice) -> None:
    for again in (pickle.loads(pickle.dumps(slice_)), copy.deepcopy(slice_)):
        assert again == slice_
        assert hash(again) == hash(slice_)
        assert repr(again) == repr(slice_)


def test_names_that_are_no_identifiers() -> None:
    assert repr(eq.attr("marital status") == "x") == "attr('marital status') == 'x'"
    assert repr(eq.attr("class") == 1) == "attr('class') == 1"
    assert eval("attr('class') == 1", {"attr": eq.attr}) == (eq.attr("class") == 1)
    assert repr(EVERYBODY) == "everybody"


def test_frozen() -> None:
    with pytest.raises(AttributeError):
        (SEX == "F").value = "M"
    with pytest.raises(AttributeError):
        SEX.name = "race"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bool(SEX == "F"), "no truth value"),
        (lambda: (SEX == "F") and (AGE > 3), "& | ~"),
        (lambda: 20 < AGE < 30, "no truth value"),
        (lambda: (SEX == "F") & True, "parentheses"),
        (lambda: (SEX == "F") | "M", "parentheses"),
        (lambda: SEX.isin("Female"), r"isin\(\['Female'\]\)"),
        (lambda: SEX == ["F", "M"], "isin"),
        (lambda: SEX == SEX, "one value at a time"),
        (lambda: SEX == None, "missing values form no slice"),  # noqa: E711  (an attribute, not a value)
        (lambda: SEX == float("nan"), "missing values form no slice"),
        (lambda: SEX == pd.NA, "missing values form no slice"),
        (lambda: SEX == pd.NaT, "missing values form no slice"),
        (lambda: SEX == np.datetime64("NaT"), "missing values form no slice"),
        (lambda: eq.attr(""), "non-empty string"),
        (lambda: eq.attr(3), "non-empty string"),
    ],
)
def test_refusals(make, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize(
    ("slice_", "message"),
    [
        (SEX == 1, r"cannot evaluate the slice sex == 1: .*holds text.*write sex == '1'"),
        (SEX != 1, r"write sex != '1'"),
        (SEX < 1, r"write sex < '1'"),
        (SEX.isin(["F", 1]), r"sex == 1"),
        (AGE == "20", r"age == '20'.*holds numbers.*without quotes"),
        (AGE < "20", r"holds numbers"),
        (MEMBER == "yes", r"member == 'yes'.*True and False"),
        (eq.attr("race") == "x", r"unknown attribute 'race'.*'sex', 'age', 'member', 'income'"),
    ],
)
def test_comparisons_that_cannot_be_made(slice_: Slice, message: str) -> None:
    for kind in (lambda x: x, lambda x: x.astype(object)):
        examples = Examples.of([0, 1, 0, 1], {name: kind(column) for name, column in COLUMNS.items()})
        with pytest.raises(eq.DataError, match=message):
            examples.mask(slice_)


DAYS = ["2020-01-01", "2020-06-01", "2021-01-01", "2021-06-01"]


@pytest.mark.parametrize(
    "column",
    [
        np.array(DAYS, dtype="M8[D]"),
        np.array(DAYS, dtype="M8[ns]"),
        pd.Series(pd.to_datetime(DAYS)),
        pl.Series("day", DAYS).str.to_datetime(),
    ],
)
@pytest.mark.parametrize(
    "value",
    [
        "2020-12-31",
        datetime.date(2020, 12, 31),
        datetime.datetime(2020, 12, 31),
        pd.Timestamp("2020-12-31"),
        np.datetime64("2020-12-31"),
        np.datetime64("2020-12-31", "ns"),
    ],
)
def test_dates(column, value) -> None:
    examples = Examples.of([0, 1, 0, 1], {"day": column})
    assert examples.mask(eq.attr("day") < value).tolist() == [True, True, False, False]


def test_dates_refuse_what_is_no_date() -> None:
    examples = Examples.of([0, 1, 0, 1], {"day": np.array(DAYS, dtype="M8[D]")})
    with pytest.raises(eq.DataError, match="holds dates"):
        examples.mask(eq.attr("day") < "tomorrow")


@pytest.mark.parametrize(
    "column",
    [
        np.array(["a", "b", "a", "c"]),
        np.array(["a", "b", "a", "c"], dtype=object),
        pd.Series(["a", "b", "a", "c"], dtype="category"),
        pd.Series(["a", "b", "a", "c"]),
        pd.Series(["a", "b", "a", "c"], dtype=object),
        pl.Series(["a", "b", "a", "c"]),
        pl.Series(["a", "b", "a", "c"], dtype=pl.Categorical),
        ["a", "b", "a", "c"],
        np.array(["a" * 200, "b", "a" * 200, "c"], dtype=object),
    ],
)
def test_text_columns_of_any_kind(column) -> None:
    value = "a" if len(str(column[0])) == 1 else "a" * 200
    examples = Examples.of([0, 1, 0, 1], {"g": column})
    assert examples.mask(eq.attr("g") == value).tolist() == [True, False, True, False]
    assert examples.mask(eq.attr("g").isin(["b", "c"])).tolist() == [False, True, False, True]


@pytest.mark.parametrize(
    "column",
    [
        np.array([1, 2, 1, 3]),
        np.array([1, 2, 1, 3], dtype=object),
        np.array([1.0, 2.0, 1.0, 3.0]),
        pd.Series([1, 2, 1, 3], dtype="category"),
        pd.Series([1, 2, 1, 3], dtype="Int64"),
        pl.Series([1, 2, 1, 3]),
        [1, 2, 1, 3],
    ],
)
def test_number_columns_of_any_kind(column) -> None:
    examples = Examples.of([0, 1, 0, 1], {"g": column})
    assert examples.mask(eq.attr("g") == 1).tolist() == [True, False, True, False]
    assert examples.mask(eq.attr("g") >= 2).tolist() == [False, True, False, True]


def test_a_column_of_mixed_kinds_still_compares_for_equality() -> None:
    examples = Examples.of([0, 1, 0], {"g": np.array([1, "a", 2], dtype=object)})
    assert examples.mask(eq.attr("g") == "a").tolist() == [False, True, False]
    with pytest.raises(eq.DataError, match="cannot evaluate the slice g < 2"):
        examples.mask(eq.attr("g") < 2)
