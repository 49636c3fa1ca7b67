import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

import equirate as eq
from equirate.data.examples import Examples
from equirate.data.sample import Sample
from equirate.data.slices import EVERYBODY, Slice
from equirate.models.contract import Learner
from equirate.models.messages import Asked
from equirate.models.rows import Rows
from equirate.models.thresholds import ThresholdMembers, Thresholds, membership
from equirate.players.steps import Plain
from equirate.problem.canonical import canonicalize
from equirate.problem.table import Table, make_table

Array = NDArray[np.float64]
G = tuple(eq.attr("g") == k for k in range(3))


def identity(X: Any) -> Any:
    return X


def bound(model: Thresholds, scores: Array, table: Table, count: int) -> Learner:
    return model.bind(Rows.of(Sample(scores, table.examples), table.cells), count, Plain(), [0] * count)


def respond(learner: Learner, costs: Array) -> Array:
    """Answer costs per cell, and return the decisions on the learner's own rows."""
    seen = learner.answer(Asked(True, np.maximum(costs, 0), np.minimum(costs, 0)))
    rows = learner.rows
    members = learner.members([learner.snapshot()], [(0, c) for c in range(costs.shape[1])])
    decided = members.decide(rows.X, attributes=rows.sample.examples.columns)
    np.testing.assert_allclose(seen.sums, rows.cells.sums(decided))
    return decided


def made(
    rng: np.random.Generator, n: int, groups: int, distinct: int, weighted: bool
) -> tuple[Array, Table, tuple[Slice, ...]]:
    scores = rng.integers(0, distinct, n) / 7.0
    y = np.concatenate([[0, 1], rng.integers(0, 2, n - 2)])
    g = np.concatenate([np.arange(groups), rng.integers(0, groups, n - groups)])
    weights = rng.integers(0, 3, n) + 0.0 if weighted else np.ones(n)
    weights[:3] = 1.0
    examples = Examples.of(y, {"g": g}, weights)
    slices = G[:groups] if groups > 1 else (EVERYBODY,)
    rates = [eq.positive_rate(s) for s in slices]
    problem = eq.Problem(eq.minimize(eq.error_rate()), [rate <= 0.5 for rate in rates])
    return scores, make_table(canonicalize(problem), examples), slices


def brute_force(scores: Array, group: NDArray[np.intp], costs: Array) -> Array:
    """Smallest cost over every combination of a threshold per group, per column."""
    total = np.zeros(costs.shape[1])
    for g in np.unique(group):
        inside = group == g
        cuts = [np.inf, *(np.unique(scores[inside]) - 1e-9)]
        total += np.min([costs[inside & (scores > cut)].sum(axis=0) for cut in cuts], axis=0)
    return total


@settings(max_examples=80)
@given(st.integers(0, 10_000), st.integers(4, 40), st.integers(1, 3), st.sampled_from([1, 2, 5, 1000]), st.booleans())
def test_the_best_response_is_the_best_threshold_of_every_group(
    seed: int, n: int, groups: int, distinct: int, weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    scores, table, slices = made(rng, n, groups, distinct, weighted)
    learner = bound(Thresholds(identity, slices), scores, table, 4)
    coefficients = rng.normal(size=(len(table.cells), 4)) * rng.choice([0, 1e-6, 1, 1e6], size=4)
    decided = respond(learner, coefficients)
    costs = table.cells.spread(coefficients)
    group = membership(slices, table.examples)
    np.testing.assert_allclose(
        (costs * decided).sum(axis=0),
        brute_force(scores, group, costs),
        rtol=1e-9,
        atol=1e-9 * np.abs(costs).sum(axis=0).max(),
    )
    assert learner.finite().all()
    # The members reproduce the decisions, and so does a copy of some columns.
    members = learner.members([learner.snapshot()], [(0, c) for c in range(4)])
    attributes = table.examples.columns
    np.testing.assert_array_equal(members.decide(scores, attributes=attributes), decided)
    np.testing.assert_array_equal(members.take([2, 0]).decide(scores, attributes=attributes), decided[:, [2, 0]])
    learner.keep(np.array([3, 1]))
    np.testing.assert_array_equal(respond(learner, coefficients[:, [3, 1]]), decided[:, [3, 1]])


def test_the_combination_of_groups_is_best_too() -> None:
    rng = np.random.default_rng(0)
    scores, table, slices = made(rng, 12, 2, 5, False)
    learner = bound(Thresholds(identity, slices), scores, table, 1)
    coefficients = rng.normal(size=(len(table.cells), 1))
    decided = respond(learner, coefficients)[:, 0]
    costs = table.cells.spread(coefficients)[:, 0]
    group = membership(slices, table.examples)
    cuts = [np.inf, *(np.unique(scores) - 1e-9)]
    best = min(costs[scores > np.array(pair)[group]].sum() for pair in itertools.product(cuts, repeat=2))
    assert costs[decided].sum() == pytest.approx(best)


@pytest.mark.parametrize(
    "scores",
    [
        [1.0, np.nextafter(1.0, 2.0)],
        [np.nextafter(1.0, 0.0), 1.0],
        [1.0 + 2**-52, 1.0 + 2**-51],
        [0.0, 5e-324],
        [5e-324, 1e-323],
        [-1.7e308, 1.7e308],
        [1.6e308, 1.7e308],
        [-1.7e308, -1.6e308],
        [-5e-324, 0.0],
    ],
)
def test_neighbouring_and_extreme_scores_are_told_apart(scores: list[float]) -> None:
    problem = eq.Problem(eq.minimize(eq.error_rate()))
    table = make_table(canonicalize(problem), Examples.of([0, 1]))
    learner = bound(Thresholds(identity), np.array(scores), table, 1)
    assert respond(learner, np.where(table.cells.labels == 1, -1.0, 1.0)[:, None])[:, 0].tolist() == [False, True]
    members = learner.members([learner.snapshot()], [(0, 0)])
    assert members.decide(np.array(scores))[:, 0].tolist() == [False, True]


def test_thresholds_lie_midway() -> None:
    table = make_table(canonicalize(eq.Problem(eq.minimize(eq.error_rate()))), Examples.of([0, 1, 1]))
    learner = bound(Thresholds(identity), np.array([1.0, 2.0, 5.0]), table, 2)
    respond(learner, np.where(table.cells.labels == 1, -1.0, 1.0)[:, None] * [1.0, -1.0])
    assert learner.snapshot().tolist() == [[1.5, np.inf]] or learner.snapshot().tolist() == [[1.5, -np.inf]]


def test_a_group_without_training_examples_is_predicted_0() -> None:
    y, g, scores = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), np.array([1.0, 2.0, 3.0, 4.0])
    examples = Examples.of(y, {"g": g})
    table = make_table(canonicalize(eq.Problem(eq.minimize(eq.error_rate()))), examples)
    learner = bound(Thresholds(identity, G), scores, table, 1)
    respond(learner, np.where(table.cells.labels == 1, -1.0, 1.0)[:, None])
    members = learner.members([learner.snapshot()], [(0, 0)])
    assert members.decide(np.array([9.0, 9.0]), attributes={"g": [0, 2]})[:, 0].tolist() == [True, False]


def test_groups_must_not_overlap_and_must_cover_everybody() -> None:
    examples = Examples.of([0, 1, 0], {"g": [0, 1, 2], "h": [1, 1, 0]})
    assert membership(G, examples).tolist() == [0, 1, 2]
    for groups, counts in (
        ((G[0], eq.attr("h") == 1), "1 examples are in no group, 1 in more"),
        (G[:2], "1 examples are in no group, 0 in more"),
        ((EVERYBODY, G[0]), "0 examples are in no group, 1 in more"),
    ):
        with pytest.raises(eq.DataError, match=counts):
            membership(groups, examples)
    table = make_table(canonicalize(eq.Problem(eq.minimize(eq.error_rate()))), examples)
    with pytest.raises(eq.DataError, match="overlap"):
        bound(Thresholds(identity, (EVERYBODY, G[0])), np.arange(3.0), table, 1)


@pytest.mark.parametrize("scores", [np.ones((3, 2)), np.ones(4), [1.0, np.nan, 2.0], [1.0, np.inf, 2.0]])
def test_scores_are_checked(scores: Any) -> None:
    table = make_table(canonicalize(eq.Problem(eq.minimize(eq.error_rate()))), Examples.of([0, 1, 0]))
    with pytest.raises(eq.DataError, match="scorer"):
        bound(Thresholds(lambda X: scores), np.zeros(3), table, 1)


def test_members_say_what_they_need() -> None:
    blind = ThresholdMembers(Thresholds(identity), np.array([[0.5]]))
    assert not blind.needs_attributes
    assert len(blind) == 1
    assert blind.decide(np.array([0.4, 0.5, 0.6]))[:, 0].tolist() == [False, False, True]
    aware = ThresholdMembers(Thresholds(identity, G), np.array([[0.0], [1.0], [2.0]]))
    assert aware.needs_attributes
    for attributes in (None, {"h": [1, 2]}):
        with pytest.raises(eq.DataError, match="'g' when predicting"):
            aware.decide(np.array([0.5, 0.5]), attributes=attributes)
    with pytest.raises(eq.DataError, match="in no group"):
        aware.decide(np.array([0.5, 0.5]), attributes={"g": [0, 7]})


def test_averages_are_refused() -> None:
    _, table, _ = made(np.random.default_rng(0), 5, 1, 3, False)
    learner = bound(Thresholds(identity), np.arange(5.0), table, 1)
    with pytest.raises(eq.AlgorithmError, match="no parameters to average"):
        learner.average([], [], np.ones(1))
