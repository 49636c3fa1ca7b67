import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import equirate as eq
from equirate.data.cells import Cells
from equirate.data.examples import Examples
from equirate.data.splits import measurable, split_by_cell

PROBLEM = eq.Problem(
    eq.minimize(eq.error_rate()),
    [eq.tpr(eq.attr("g") == 1) >= 0.5, eq.fpr(eq.attr("g") == 2) <= 0.5, eq.churn("old", eq.attr("h") < 0.5) <= 0.5],
)


def drawn(seed: int, n: int) -> Examples:
    rng = np.random.default_rng(seed)
    columns = {"g": rng.integers(0, 4, n), "h": rng.random(n), "old": rng.integers(0, 2, n)}
    return Examples.of(rng.integers(0, 2, n), columns, rng.random(n))


def cells_of(problem: eq.Problem, examples: Examples) -> Cells:
    rates = problem.rates()
    return Cells.of_examples(examples, [r.slice for r in rates], [r.baseline for r in rates if r.baseline])


@settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    st.integers(1, 300),
    st.lists(st.floats(0.05, 1.0), min_size=1, max_size=4),
)
def test_every_part_has_its_share_of_every_cell(seed: int, n: int, shares: list[float]) -> None:
    examples = drawn(seed, n)
    parts = split_by_cell(cells_of(PROBLEM, examples), shares, seed)
    assert len(parts) == len(shares)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(n))
    cells = cells_of(PROBLEM, examples)
    sizes = np.bincount(cells.index, minlength=len(cells))
    for part, share in zip(parts, shares, strict=True):
        assert (np.diff(part) > 0).all()
        found = np.bincount(cells.index[part], minlength=len(cells))
        assert (np.abs(found - sizes * share / sum(shares)) < 1 + 1e-9).all()


def test_a_seed_repeats_itself_and_another_does_not() -> None:
    examples = drawn(0, 500)
    first, again, other = (split_by_cell(cells_of(PROBLEM, examples), (0.6, 0.4), seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert set(first[0]) != set(other[0])
    fresh = {tuple(split_by_cell(cells_of(PROBLEM, examples), (0.6, 0.4), None)[0]) for _ in range(3)}
    assert len(fresh) == 3


def test_which_example_goes_where_does_not_follow_their_order() -> None:
    examples = Examples.of([0, 1] * 500, {"g": [0] * 1000, "h": [0.0] * 1000, "old": [0] * 1000})
    part = split_by_cell(cells_of(PROBLEM, examples), (0.5, 0.5), 0)[0]
    assert 200 < (part < 500).sum() < 300


def test_many_small_cells_do_not_all_round_the_same_way() -> None:
    n = 3000
    g = np.arange(n) // 2
    rates = [eq.tpr(eq.attr("g") == k) for k in range(0, 1500, 10)]
    problem = eq.Problem(eq.minimize(eq.error_rate()), [rate >= 0.1 for rate in rates])
    examples = Examples.of(np.arange(n) % 2, {"g": g})
    train, validation = split_by_cell(cells_of(problem, examples), (0.6, 0.4), 0)
    in_slices = g % 10 == 0  # cells of one example each
    assert 0.55 < in_slices[train].sum() / in_slices.sum() < 0.65
    assert len(validation) == pytest.approx(0.4 * n, abs=2)


def test_many_examples_and_cells() -> None:
    rng = np.random.default_rng(0)
    n = 100_000
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr(eq.attr("x") < k / 40) >= 0.1 for k in range(1, 40)])
    examples = Examples.of(rng.integers(0, 2, n), {"x": rng.random(n)})
    parts = split_by_cell(cells_of(problem, examples), (4 / 9, 2 / 9, 1 / 3), 0)
    assert [len(part) / n for part in parts] == pytest.approx([4 / 9, 2 / 9, 1 / 3], abs=1e-3)


def test_a_problem_without_rates_splits_by_label() -> None:
    examples = Examples.of([0] * 90 + [1] * 10)
    parts = split_by_cell(cells_of(eq.Problem(eq.minimize(eq.log_loss())), examples), (0.5, 0.5), 0)
    assert [int(examples.labels[part].sum()) for part in parts] == [5, 5]


def test_subsets_keep_everything_in_step() -> None:
    examples = drawn(0, 50)
    rows = np.array([3, 10, 4])
    part = examples.take(rows)
    assert part.labels.tolist() == examples.labels[rows].tolist()
    assert part.weights.tolist() == examples.weights[rows].tolist()
    assert {name: column.tolist() for name, column in part.columns.items()} == {
        name: column[rows].tolist() for name, column in examples.columns.items()
    }


def test_measurable_counts_examples_that_count() -> None:
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr(eq.attr("g") == 1) >= 0.5])
    columns = {"g": [1, 1, 1, 0, 0]}
    examples = Examples.of([1, 1, 0, 0, 1], columns)

    def enough(examples: Examples, fewest: int = 1) -> bool:
        return measurable(problem.rates(), cells_of(problem, examples), fewest)

    assert enough(examples)
    assert enough(examples, 2)
    assert not enough(examples, 3)
    assert not enough(Examples.of([1, 1, 0, 0, 1], columns, [1, 0, 1, 1, 1]), 2)
    assert not enough(Examples.of([0, 0, 0, 0, 1], columns))
    one_label = eq.Problem(eq.minimize(eq.error_rate()))
    ones = cells_of(one_label, Examples.of([1, 1, 1]))
    assert not measurable(one_label.rates(), ones)


def test_a_split_does_not_follow_data_made_with_the_same_seed() -> None:
    u = np.random.default_rng(0).random(2000)  # a feature drawn first thing, with the seed of the split
    problem = eq.Problem(eq.minimize(eq.error_rate()))
    first, second = split_by_cell(cells_of(problem, Examples.of(np.arange(2000) % 2)), (0.5, 0.5), 0)
    assert abs(u[first].mean() - u[second].mean()) < 0.05
