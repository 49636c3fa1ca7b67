"""Plain data as text and back, and the rules for it."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import equirate as eq
from equirate._core import plain, rules
from equirate._core.plain import from_text, to_text
from equirate._core.records import build, record
from equirate._core.rules import (
    FLAG,
    SCALAR,
    ArrayOf,
    Either,
    Fields,
    ListOf,
    MapOf,
    Nothing,
    Number,
    OneOf,
    Text,
    Whole,
)

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
DATA = st.recursive(
    SCALARS,
    lambda part: st.lists(part) | st.dictionaries(st.text().filter(lambda name: name != "float"), part),
    max_leaves=20,
)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    return type(a) is type(b) and a == b


@given(DATA)
def test_plain_data_reads_back_the_same(value: Any) -> None:
    text = to_text(value)
    assert text.isascii()
    assert same(from_text(text), value)


@given(st.binary(max_size=200) | DATA.map(lambda value: json.dumps(value, default=str).encode()), st.data())
def test_any_bytes_are_read_or_refused(text: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text)))
    for each in (text, text[:place], text[:place] + b'["{' + text[place:]):
        try:
            found = from_text(each)
        except eq.FileError:
            continue
        assert same(from_text(to_text(found)), found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"1" * 5000, "not JSON"),
        (b"\xff\xfe", "ASCII"),
        ('"ü"'.encode(), "ASCII"),
        (b"NaN", "not JSON"),
        (b"-Infinity", "not JSON"),
        (b"1e999", "too large"),
        (b"[" * 100_000, "more than 32 deep"),
        (b"[" * 33 + b"]" * 33, "more than 32 deep"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, "more than 32 deep"),
        (b"[" + b"1," * 400_000 + b"1]", "more than 400000 values"),
        (b"[" + b"[]," * 400_000 + b"[]]", "more than 400000 values"),
        (b" " * (2**24 + 1), "more than 16 MiB"),
        (b'{"a": 1, "a": 2}', "given twice"),
        (b'{"float": "1"}', "a number is given as '1'"),
        (b'{"float": []}', "a number is given as"),
    ],
)
def test_text_that_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(eq.FileError, match=message):
        from_text(text)


def test_brackets_and_commas_in_strings_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "MOST_VALUES", 4)
    monkeypatch.setattr(plain, "DEEPEST", 2)
    for value in ("[[[[,,,,", '"[[[,,,,', "\\", '\\"[[[[', '\\\\"[[,,,,,', "]]]]"):
        assert from_text(to_text([value, [value]])) == [value, [value]]
    for bad in ([[[1]]], [1, 2, 3, 4, 5]):
        with pytest.raises(eq.FileError, match=r"deep|values"):
            to_text(bad)


def test_the_order_of_names_is_kept_only_where_it_matters() -> None:
    assert to_text({"b": 1, "a": 2}) == to_text({"a": 2, "b": 1})
    assert list(from_text(to_text({"b": 1, "a": 2}, ordered=True))) == ["b", "a"]


@pytest.mark.parametrize("value", [object(), {1, 2}, {1: 2}, b"bytes", np.ones(2), 1j, [object()]])
def test_what_is_not_plain_is_refused(value: Any) -> None:
    with pytest.raises(eq.FileError, match="not plain data"):
        to_text(value)


# -- rules ----------------------------------------------------------------------------------------

WORDS = OneOf(("a", "b"))
PAIR = Fields({"x": Number(0, 1)}, {"y": FLAG})


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (FLAG, [True, False], [0, 1, None, "true"]),
        (Number(), [0, -1.5, 10**300, 2**1000], [True, "1", None, math.nan, math.inf, 10**400, [1]]),
        (Number(0, 1), [0, 1, 0.5], [-1e-9, 1.1, math.nan]),
        (Number(finite=False), [math.nan, -math.inf, 1], ["nan"]),
        (Whole(), [0, 2**63], [-1, 2**63 + 1, 1.0, True, None]),
        (Text(3), ["", "abc", "äöü"], ["abcd", 1, None, "\ud800"]),
        (WORDS, ["a"], ["c", 1, None, ["a"]]),
        (Nothing(), [None], [0, "", []]),
        (SCALAR, [None, 1, "a", True], [[], {}, math.nan]),
        (ListOf(FLAG, 2, 1), [[True], [True, False]], [[], [True] * 3, [1], (True,), None]),
        (MapOf(FLAG, 1), [{}, {"a": True}], [{"a": 1}, {"a": True, "b": True}, [], {"n" * 201: True}]),
        (PAIR, [{"x": 0}, {"x": 1, "y": True}], [{}, {"y": True}, {"x": 2}, {"x": 1, "z": 1}, [], None]),
        (Either((Nothing(), ListOf(PAIR))), [None, [], [{"x": 1}]], [1, [None], [{"x": -1}]]),
        (Either((SCALAR, Either((FLAG, ListOf(WORDS))))), ["c", None, ["a"]], [["c"], {}]),
        (
            ArrayOf("f", 2),
            [np.ones((2, 3)), np.ones((0, 1), np.float32)],
            [np.ones(2), np.ones((1, 1), int), np.full((1, 1), np.nan), np.array([[1, np.inf]]), [[1.0]]],
        ),
        (ArrayOf("f", None, infinite=True), [np.array(np.inf)], [np.array([np.nan])]),
        (ArrayOf("f", None, infinite=True, nan=True), [np.array([np.nan])], [np.ones(1, int)]),
        (ArrayOf("iu", 1), [np.ones(2, np.uint8)], [np.ones(2), np.ones(1, bool)]),
    ],
)
def test_rules(rule: rules.Rule, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        rule.check(value, "here")
    for value in bad:
        with pytest.raises(eq.FileError, match="here") as caught:
            rule.check(value, "here")
        assert len(str(caught.value)) < 400
    assert str(rule)


def test_a_number_in_the_last_block_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_BLOCK", 10)
    ArrayOf("f").check(np.ones(25), "here")
    for place in (0, 9, 10, 24):
        array = np.ones(25)
        array[place] = np.nan
        with pytest.raises(eq.FileError, match="all finite"):
            ArrayOf("f").check(array, "here")


@dataclass(frozen=True)
class Part:
    name: str
    size: int = 3


@dataclass(frozen=True)
class Whole_:  # noqa: N801  # a rule has the name
    value: float
    bound: float | None
    parts: tuple[Part, ...]
    by_name: Mapping[str, Part]
    other: Part | None = None
    anything: Any = None


def test_a_dataclass_is_checked_and_built_by_the_types_of_its_fields() -> None:
    made = Whole_(math.inf, None, (Part("a"), Part("b", 4)), {"c": Part("c")}, Part("d"), "text")
    data = from_text(to_text(made))
    record(Whole_).check(data, "it")
    assert build(Whole_, data) == made
    del data["bound"], data["other"], data["anything"], data["parts"][0]["size"]
    data["value"] = 1
    record(Whole_).check(data, "it")
    built = build(Whole_, data)
    assert built == Whole_(1.0, None, made.parts, made.by_name)
    assert isinstance(built.value, float)
    for name, bad in (
        ("value", None),
        ("bound", "1"),
        ("parts", [{}]),
        ("parts", [{"name": "a", "size": 1.5}]),
        ("by_name", {"c": None}),
        ("other", []),
        ("anything", [1]),
        ("surprise", 1),
    ):
        with pytest.raises(eq.FileError, match=f"it.{name}|'{name}'"):
            record(Whole_).check({**data, name: bad}, "it")
