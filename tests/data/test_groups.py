"""Groups are counted in one pass, and attributes that are no groups are refused before any work."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest

import equirate as eq
from equirate.data.cells import Cells
from equirate.data.examples import _MASKS, Examples
from equirate.data.groups import MAX_GROUPS, MOST_NUMBERS, Groups
from equirate.data.labels import distinct

rng = np.random.default_rng(0)
N = 4000
Y = rng.integers(0, 2, N)


def examples(**columns: Any) -> Examples:
    return Examples.of(Y, columns)


def expanded(column: Any, **options: Any) -> eq.Problem:
    problem = eq.Problem(eq.minimize(eq.error_rate()), eq.demographic_parity("g", tolerance=0.1, **options))
    return problem.expanded(examples(g=column))


def test_groups_are_the_combinations_that_occur() -> None:
    sex, region = rng.choice(["F", "M"], N), rng.integers(0, 3, N)
    region[sex == "F"] %= 2
    weights = rng.uniform(size=N)
    found = Groups.of(("sex", "region"), Examples.of(Y, {"sex": sex, "region": region}, weights))
    F, M = eq.attr("sex") == "F", eq.attr("sex") == "M"
    expected = [F & (eq.attr("region") == k) for k in (0, 1)] + [M & (eq.attr("region") == k) for k in (0, 1, 2)]
    assert [found.slice(k) for k in range(len(found))] == expected
    masks = [(sex == s) & (region == r) for s, r in [("F", 0), ("F", 1), ("M", 0), ("M", 1), ("M", 2)]]
    np.testing.assert_array_equal(found.support(False), [mask.sum() for mask in masks])
    np.testing.assert_allclose(found.support(True), [weights[mask].sum() / weights.sum() for mask in masks])


@pytest.mark.parametrize("kind", ["continuous", "integers"])
def test_a_quantity_is_refused_with_the_cure(kind: str) -> None:
    column = rng.normal(size=N) if kind == "continuous" else rng.integers(0, 900, N)
    # One message: a warning before the refusal would be an error here.
    with pytest.raises(eq.DataError, match=r"groups of the numeric attribute 'g'.*bins.*attr\('g'\) <.*min_support"):
        expanded(column)


def test_numbers_with_few_values_and_codes_as_text_are_groups() -> None:
    few = rng.integers(0, MOST_NUMBERS, N)
    with pytest.warns(eq.EquirateWarning, match="different values"):
        assert len(expanded(few).constraints) == MOST_NUMBERS
    codes = rng.integers(0, MOST_NUMBERS + 50, N).astype(str)
    assert len(expanded(codes).constraints) == MOST_NUMBERS + 50


def test_too_many_groups_are_refused_with_the_cure() -> None:
    names = np.array([f"p{k}" for k in range(N)])
    with pytest.raises(eq.DataError, match=r"demographic_parity\(g.* makes 4,000 groups, more than 1,000.*min_support"):
        expanded(names)
    two = examples(a=rng.integers(0, 60, N).astype(str), b=rng.integers(0, 60, N).astype(str))
    both = eq.Problem(eq.minimize(eq.error_rate()), eq.demographic_parity(["a", "b"], tolerance=0.1, intersect=True))
    with pytest.raises(eq.DataError, match="more than 1,000"):
        both.expanded(two)
    post = eq.RatePostprocessor(None, eq.minimize(eq.error_rate()), groups="g")
    with pytest.raises(eq.DataError, match=r"groups='g' makes 4,000 groups"):
        post.fit(rng.normal(size=N), Y, sensitive_features={"g": names})


def test_min_support_leaves_the_rest_out() -> None:
    column = np.array([f"p{k}" for k in range(N)])
    column[:1000], column[1000:2000] = "a", "b"
    with pytest.warns(eq.EquirateWarning, match="and 1,995 more"):
        problem = expanded(column, min_support=30)
    assert len(problem.constraints) == 1
    with pytest.warns(eq.EquirateWarning, match="and 1,995 more"):
        assert expanded(column, min_support=0.1) == problem


def test_pairs_of_many_groups_are_refused() -> None:
    column = rng.integers(0, 120, N).astype(str)
    with pytest.raises(eq.DataError, match=r'makes 7,140 constraints, more than 4,096: take compare="rest"'):
        expanded(column, compare="pairs")
    slices = [eq.attr("g") == str(k) for k in range(5000)]
    with pytest.raises(eq.DataError, match="demographic_parity over 5,000 slices makes 5,000 constraints"):
        eq.demographic_parity(slices, tolerance=0.1)


def test_a_fit_with_too_many_groups_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equirate.estimators.rate_classifier.Training.of", None)
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), eq.demographic_parity("g", tolerance=0.1))
    with pytest.raises(eq.DataError, match="more than 1,000"):
        clf.fit(rng.normal(size=(N, 2)), Y, sensitive_features={"g": np.arange(N).astype(str)})


# -- cells of many groups -------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [2, 5, 40, 300])
@pytest.mark.parametrize("dtype", [str, object, int])
def test_cells_of_many_slices_are_those_of_their_masks(groups: int, dtype: type) -> None:
    column = rng.integers(0, groups, N).astype(dtype)
    sample = examples(g=column, age=rng.integers(0, 9, N))
    values = sorted(set(column.tolist()))
    slices = [part for value in values for part in (eq.attr("g") == value, ~(eq.attr("g") == value))]
    slices += [eq.attr("age") >= 5, (eq.attr("age") >= 3) & (eq.attr("g") == values[0])]
    cells = Cells.of_examples(sample, slices, [])
    assert len(sample._masks) <= _MASKS
    table = np.stack([Y == 1, *(slice_.mask(sample.columns) for slice_ in slices)], axis=1)
    rows, of, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(cells.index, of.ravel())
    np.testing.assert_array_equal(cells.totals, counts)
    np.testing.assert_array_equal(np.stack([cells.members[slice_] for slice_ in slices], axis=1), rows[:, 1:])
    some = sample.take(np.arange(0, N, 7))
    np.testing.assert_array_equal(some.mask(slices[-3]), table[::7, -3])


def test_memory_does_not_grow_with_groups_times_rows() -> None:
    """A mask of each of 2,000 slices would be 100 MB."""
    rows = 50_000
    column = rng.integers(0, MAX_GROUPS, rows).astype(str)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = eq.Problem(eq.minimize(eq.error_rate()), eq.demographic_parity("g", tolerance=0.1, min_support=45))
        tracemalloc.start()
        sample = Examples.of(rng.integers(0, 2, rows), {"g": column})
        wide = problem.expanded(sample)
        cells = Cells.of_examples(sample, [rate.slice for rate in wide.rates()], [])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert len(cells) > 1000
    assert peak < 60e6


@pytest.mark.parametrize(
    "values",
    [
        np.array([3, -1, 3, 0], dtype=np.int8),
        np.array([250, 0, 250], dtype=np.uint8),
        np.array([-128, 127, 0] * 100, dtype=np.int8),
        np.array([10**15, -(10**15)]),
        np.array([2.0, 1.0, 2.0]),
        np.array(["b", "a", "b"]),
        np.array([True, False]),
        np.zeros(0, dtype=int),
    ],
)
def test_different_values_are_those_of_numpy(values):
    found = distinct(values)
    assert found.tolist() == np.unique(values).tolist()
    assert found.dtype == values.dtype
