"""Classifiers of several kinds side by side: they decide as their parts do, and what is forged is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import equirate as eq
from equirate.models.forest_members import ForestMembers
from equirate.models.forests import Forest
from equirate.models.linear_members import LinearMembers
from equirate.models.members import Members, Written
from equirate.models.registry import read_members
from equirate.models.side_by_side import SideBySide

X = np.linspace(-2, 2, 18).reshape(9, 2)


def linear(count: int, features: int = 2) -> Members:
    coefficients = np.random.default_rng(0).normal(size=(features + 1, count))
    return read_members(Written("linear", {"intercept": True}, {"coefficients": coefficients}))


def constants(*offsets: float) -> Members:
    count = len(offsets)
    return ForestMembers(Forest.constant(offsets, 2), np.full(count, -1), np.arange(count), np.zeros(count))


def mixed(order: Any = (3, 0, 4, 1, 2)) -> SideBySide:
    return SideBySide((linear(3), constants(1.0, -1.0)), np.array(order))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=7))
def test_they_decide_as_their_parts_do_and_are_read_back(indices: list[int]) -> None:
    members = mixed()
    whole = np.hstack([part.scores(X) for part in members.parts])[:, [3, 0, 4, 1, 2]]
    assert isinstance(members.parts[0], LinearMembers)
    assert (len(members), members.width, members.needs_attributes) == (5, 2, False)
    some = members.take(indices)
    np.testing.assert_allclose(some.scores(X), whole[:, indices], atol=1e-12)
    np.testing.assert_array_equal(some.decide(X), whole[:, indices] > 0)
    assert sum(map(len, some.parts)) == len(set(indices))
    written = some.plain(2)
    back = read_members(Written(written.kind, json.loads(json.dumps(written.settings)), written.arrays))
    np.testing.assert_array_equal(back.scores(X), some.scores(X))


@pytest.mark.parametrize(
    ("settings", "arrays", "says"),
    [
        ({}, {"order": np.array([5])}, "order of classifiers side by side does not fit"),
        ({}, {"order": np.array([-1])}, "order of classifiers side by side does not fit"),
        ({}, {"order": np.zeros(0, np.int64)}, "order of classifiers side by side does not fit"),
        ({"parts": ["side_by_side", "forests"]}, {}, "of other kinds themselves"),
        ({"parts": ["derandomised", "forests"]}, {}, "of other kinds themselves"),
        ({"parts": ["linear", "gone"]}, {}, "'gone' are not known"),
        ({"parts": []}, {}, "1 to 64 parts"),
        ({"parts": ["linear", None]}, {}, "1 to 64 parts"),
        ({"parts": "linear"}, {}, "1 to 64 parts"),
        ({"parts": ["linear"]}, {}, "of no part"),
        ({"7.width": 2}, {}, "'7.width', of no part"),
        ({}, {"part.7.cuts": np.zeros(2)}, "'part.7.cuts', of no part"),
        ({"1.width": 5}, {}, "other numbers of features"),
        ({}, {"more": np.zeros(1)}, "does not know"),
    ],
)
def test_forged_ones_are_refused(settings: dict[str, Any], arrays: dict[str, Any], says: str) -> None:
    kind, known, numbers = mixed().plain(2)
    with pytest.raises(eq.FileError, match=says):
        read_members(Written(kind, {**known, **settings}, {**numbers, **arrays}))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=7))
def test_mean_scores_are_those_of_all_scores(indices: list[int]) -> None:
    some, weights = mixed(indices), np.linspace(1.0, 2.0, len(indices))
    np.testing.assert_allclose(some.mean_score(X, weights=weights), some.scores(X) @ weights, atol=1e-12)


def test_what_could_not_be_read_is_not_written() -> None:
    with pytest.raises(eq.FileError, match="of other kinds themselves"):
        SideBySide((mixed(), linear(1)), np.arange(len(mixed()) + 1)).plain(2)
