"""From columns to features: the same whole or in batches, dense or sparse, before and after JSON; refusals by name."""

import datetime
import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

pytest.importorskip("pyarrow")

import pyarrow as pa

import equirate as eq
from equirate.tables.encoder import Encoder, OneHot, Scaled
from equirate.tables.kinds import Kind, attribute

COLUMNS = {
    "number": st.one_of(st.none(), st.floats(-1e6, 1e6)),
    "truth": st.one_of(st.none(), st.booleans()),
    "date": st.one_of(st.none(), st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))),
    "category": st.one_of(st.none(), st.sampled_from(["a", "b", "ü", ""])),
}
ROWS = st.lists(st.fixed_dictionaries(COLUMNS), min_size=2, max_size=30)
TYPES = {"number": pa.float64(), "truth": pa.bool_(), "date": pa.date32(), "category": pa.string()}


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()})


def dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


@given(ROWS, st.data())
def test_encoding_is_the_same_however_it_is_asked_for(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    table = table_of(rows)
    some = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, unique=True)))
    encoder = Encoder.learnt(table, list(TYPES), some)
    if not encoder.columns:
        return
    again = Encoder.read(json.loads(json.dumps(encoder.plain())))
    assert again == encoder
    X = encoder.features_of(table, dense=True)
    assert X.shape == (len(rows), len(encoder.features))
    assert np.isfinite(X).all()
    every = np.arange(len(rows))
    np.testing.assert_array_equal(dense(again._sparse(table, None, len(rows))), X)
    np.testing.assert_array_equal(dense(again.features_of(table, some)), X[some])
    for k in every:  # row by row, as in a stream
        batch = table.slice(int(k), 1)
        np.testing.assert_array_equal(dense(again.features_of(batch)), X[k : k + 1])


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=50).filter(lambda v: np.std(v) > 1e-3))
def test_numbers_have_mean_0_and_variance_1_on_the_rows_learnt_from(values: list[float]) -> None:
    X = Encoder.learnt(pa.table({"x": values}), ["x"], np.arange(len(values))).features_of(pa.table({"x": values}))
    np.testing.assert_allclose(X.mean(), 0, atol=1e-5)
    np.testing.assert_allclose(X.std(), 1, atol=1e-4)


def test_unseen_categories_and_missing_values() -> None:
    train = pa.table({"c": ["a", "b", None, "a"], "d": ["x", "y", "x", "y"], "x": [1.0, 3.0, None, 2.0]})
    encoder = Encoder.learnt(train, ["c", "d", "x"], np.arange(4))
    assert encoder.features == ("c=a", "c=b", "c is missing", "d=x", "d=y", "x", "x is missing")
    new = pa.table({"c": ["new", None], "d": [None, "x"], "x": [None, 2.0]})
    X = dense(encoder.features_of(new))
    np.testing.assert_array_equal(X, [[0, 0, 0, 0, 0, 0, 1], [0, 0, 1, 1, 0, 0, 0]])


def test_one_value_has_no_feature() -> None:
    table = pa.table({"same": [1, 1, 1], "text": ["a", "a", "a"], "none": pa.nulls(3), "x": [1, 2, 3]})
    assert Encoder.learnt(table, ["same", "text", "none", "x"], np.arange(3)).names == ("x",)


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ([f"person {k}" for k in range(100_000)], "looks like an identifier or free text"),
        ([f"text {k}" for k in range(60)], "looks like an identifier or free text"),
        (["a" * 2000, "b"], "looks like an identifier or free text"),
        ([1.0, float("inf")], "1 infinite values"),
        ([1e300, -1e300], "too large to scale"),
        ([[1], [2]], "holds list"),
        ([b"a", b"b"], "holds binary"),
        ([{"a": 1}, {"a": 2}], "holds struct"),
    ],
)
def test_refused_by_name(column: list[Any], says: str) -> None:
    table = pa.table({"the column": column})
    with pytest.raises(eq.DataError, match="'the column'") as refusal:
        Encoder.learnt(table, ["the column"], np.arange(len(column)))
    assert says in str(refusal.value)


def test_a_column_of_another_kind_is_refused() -> None:
    encoder = Encoder.learnt(pa.table({"x": [1.0, 2.0]}), ["x"], np.arange(2))
    with pytest.raises(eq.DataError, match="column 'x' must hold numbers, as in training; it holds text"):
        encoder.features_of(pa.table({"x": ["a", "b"]}))


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda s: (
            st.lists(s, max_size=3)
            | st.dictionaries(st.sampled_from(["column", "kind", "mean", "scale", "values", "missing"]), s)
        ),
        max_leaves=8,
    )
)
def test_only_what_plain_gives_is_read(plain: Any) -> None:
    try:
        encoder = Encoder.read(plain)
    except eq.FileError:
        return
    assert encoder.plain() == plain


@pytest.mark.parametrize(
    "change",
    [
        {"scale": 0.0},
        {"scale": float("nan")},
        {"mean": float("inf")},
        {"mean": "1"},
        {"missing": 1},
        {"kind": "spline"},
        {"column": ""},
        {"column": "x" * 10_000},
        {"kind": "category", "values": []},
        {"kind": "category", "values": ["a", "a"]},
        {"kind": "category", "values": [1]},
    ],
)
def test_forged_descriptions(change: dict[str, Any]) -> None:
    plain = Scaled("x", Kind.NUMBER, 0.0, 1.0, False).plain()
    assert Encoder.read([plain]).columns
    with pytest.raises(eq.FileError):
        Encoder.read([{**plain, **change}])
    with pytest.raises(eq.FileError):
        Encoder.read([plain, plain])


def test_a_known_description_reads_back() -> None:
    columns = (Scaled("x", Kind.DATE, 1.5, 2.0, True), OneHot("c", ("", "a"), False))
    assert Encoder.read(json.loads(json.dumps(Encoder(columns).plain()))).columns == columns


def test_attributes_as_slices_compare_them() -> None:
    column = pa.chunked_array([["Female", None], ["Male", "Female"]])
    assert attribute("sex", column, Kind.CATEGORY).tolist() == ["Female", "missing", "Male", "Female"]
    assert attribute("age", pa.array([30, 40]), Kind.NUMBER).tolist() == [30.0, 40.0]
    assert attribute("old", pa.array([True, False]), Kind.TRUTH).tolist() == [True, False]
    assert attribute("old", pa.array([True, None]), Kind.TRUTH).tolist() == ["True", "missing"]
    dates = attribute("on", pa.array([datetime.date(2020, 1, 2), None]), Kind.DATE)
    assert dates[0] == np.datetime64("2020-01-02")
    assert np.isnat(dates[1])
