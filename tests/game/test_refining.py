"""Refining, and all thresholds of a direction: used only where held-out rows agree, or constraints ask for them."""

from dataclasses import replace

import numpy as np
import pytest

import equirate as eq
from equirate.data.sample import Sample
from equirate.game.linear_engine import LinearEngine
from equirate.game.refining import refine
from equirate.mixtures import Source
from equirate.models import Linear
from equirate.models.linear_members import LinearMembers
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table

PROBLEM = eq.Problem(eq.minimize(eq.error_rate()))
HELD_OUT = np.where(np.arange(1200) % 4 == 0, 1, 0).astype(np.int8)
"""The parts of 1,200 rows: three quarters, and a quarter that is held out."""


def misled(n=600, seed=0):
    """A half-plane, and away from its edge a few rows whose labels lead every regression astray."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = (X @ [0.3, -1.0] > 0.4).astype(int)
    astray = rng.random(n) < 0.05
    X[astray] = np.array([2.4, -1.8]) + 0.3 * rng.normal(size=(int(astray.sum()), 2))
    y[astray] = 0
    return X, y, astray


def generation_of(X, y, setting=None, part=None):
    sample = Sample.of(X, y)
    table = make_table(canonicalize(PROBLEM), sample.examples)
    parts = 1 if part is None else int(part.max()) + 1
    engine = LinearEngine.of(sample, table.cells, part, parts, setting or Linear(standardise=True))
    view = engine.view(range(parts))
    generation = engine.begin(view, table)
    engine.run([(generation, view)])
    return engine, generation, view


def fitted(X, y, setting=None, part=None, problem=PROBLEM, attributes=None, passes=60):
    """The generation of a whole fit, with the rows of part 1 held out first."""
    sample = Sample.of(X, y, attributes)
    table = make_table(canonicalize(problem.expanded(sample.examples)), sample.examples)
    engine = LinearEngine.of(sample, table.cells, part, 2, setting or Linear(standardise=True))
    return engine.fit(table, mix_on_held_out=False, passes=passes)[0]


def test_a_half_plane_that_no_regression_has_is_found():
    X, y, astray = misled()
    engine, generation, view = generation_of(X, y)
    before = generation.mixture.objective
    refine(generation, view)
    assert before > astray.mean() + 0.05
    assert generation.mixture.objective <= astray.mean() + 0.005
    assert Source.REFINED in generation.columns().source
    support = np.flatnonzero(generation.mixture.weights)
    decided = LinearMembers(engine.weights(generation, support)).decide(X)
    wrong = (decided != y[:, None]).mean(axis=0) @ generation.mixture.weights[support]
    assert wrong == pytest.approx(generation.mixture.objective, abs=1e-9)


def test_some_of_the_rows_are_searched_and_all_are_counted(monkeypatch):
    monkeypatch.setattr("equirate.game.refining.SEARCHED_ROWS", 300)
    X, y, _ = misled(2000)
    engine, generation, view = generation_of(X, y)
    before = generation.mixture.objective
    refine(generation, view)
    assert generation.mixture.objective < before - 0.01
    refined = [k for k, (f, _) in enumerate(generation.places) if generation.families[f].source == Source.REFINED]
    decided = LinearMembers(engine.weights(generation, refined)).decide(X)
    rates = generation.table.rates(generation.table.cells.sums(decided))
    np.testing.assert_allclose(generation.columns(refined).rates, rates, atol=1e-9)


def test_where_the_labels_are_linear_there_is_little_to_find():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 2))
    y = (X[:, 0] + rng.logistic(size=3000) > 0).astype(int)
    _, generation, view = generation_of(X, y)
    before = generation.mixture.objective
    refine(generation, view)
    assert before - 0.01 <= generation.mixture.objective <= before + 1e-9


def test_what_held_out_rows_do_not_confirm_is_not_kept():
    """Of labels that are noise, whatever the search finds on its rows is luck."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(120, 8)), rng.integers(0, 2, 120)
    generation = fitted(X, y, part=np.arange(120) % 2)
    assert Source.REFINED not in generation.columns().source


def test_what_held_out_rows_confirm_is_kept():
    X, y, _ = misled(1200)
    generation = fitted(X, y, part=HELD_OUT)
    support = np.flatnonzero(generation.mixture.weights)
    assert Source.REFINED in generation.columns(support).source


def test_without_an_intercept_nothing_is_refined():
    X, y, _ = misled(1200)
    generation = fitted(X, y, Linear(intercept=False), HELD_OUT)
    engine, _, _ = generation_of(X, y, Linear(intercept=False), HELD_OUT)
    W = engine.weights(generation, range(len(generation.places)))
    np.testing.assert_array_equal(W[-1], 0.0)


def linear_labels(n=1200, seed=4):
    """Labels that a regression fits, and a group that moves a feature."""
    rng = np.random.default_rng(seed)
    g = rng.random(n) < 0.4
    X = rng.normal(size=(n, 4)) + 0.6 * g[:, None] * [1, 0, 0, 0]
    return X, (X @ [1, 1, 0, 0] + rng.logistic(size=n) > 0.3).astype(int), {"g": g.astype(int)}


def test_where_the_labels_are_linear_every_regression_keeps_its_own_threshold():
    X, y, attributes = linear_labels()
    parity = eq.Problem(PROBLEM.objective, eq.demographic_parity("g", tolerance=0.05))
    generation = fitted(X, y, part=HELD_OUT, problem=parity, attributes=attributes)
    assert generation.mixture.violation <= 1e-3
    assert {len(family.snapshot.edges) for family in generation.families[1:]} == {1}
    engine, _, _ = generation_of(X, y, part=HELD_OUT)
    direction = generation.families[1].snapshot
    above = X @ (raw := engine.rows.raw(direction.weights, 0.0))[:-1] + raw[-1] > 0
    cells = generation.table.cells
    np.testing.assert_allclose(generation.gathered(direction.sums)[:, 0], cells.sums(above[:, None])[:, 0])


def test_constraints_that_regressions_cannot_meet_open_all_thresholds(monkeypatch):
    """Mixtures of one regression and the constants are not this precise; its higher thresholds are."""
    X, y, attributes = linear_labels()
    precise = eq.Problem(eq.minimize(eq.error_rate()), [eq.precision() >= 0.95, eq.recall() >= 0.1])
    monkeypatch.setattr(LinearEngine, "larger_set_is_better", lambda *given: False)
    generation = fitted(X, y, part=HELD_OUT, problem=precise, attributes=attributes, passes=1)
    assert generation.mixture.violation <= 1e-3
    assert max(len(family.snapshot.edges) for family in generation.families) > 100
    assert len(generation.stages) > 2  # the history goes on


def test_prices_where_almost_nobody_is_predicted_positive():
    """With denominators below their floor no linearisation keeps the constraints, and there are prices all the same."""
    from equirate.mixtures import Master

    y, g = np.array([0] * 53 + [1] * 47), np.arange(100) % 2
    problem = eq.Problem(eq.maximize(eq.accuracy()), eq.predictive_parity("g", tolerance=0.02))
    sample = Sample.of(np.zeros((100, 1)), y, {"g": g})
    table = make_table(canonicalize(problem.expanded(sample.examples)), sample.examples)
    likely = np.where(y == 1, 0.8, np.where(g == 1, 0.2, 0.5))
    sums = np.stack([np.zeros(len(table.cells)), table.cells.sums(likely[:, None])[:, 0]], axis=1)
    master = Master(table, table.rows_from_rates(table.rates(sums), np.zeros((0, 2))))
    master.weights = np.array([0.999, 0.001])
    assert [len(prices) for prices in master.best().prices][-1:] == [table.program.n_multipliers]


@pytest.mark.parametrize(("tolerance", "all_thresholds"), [(1e-3, False), (1e-4, True)])
def test_thresholds_are_added_while_constraints_are_broken_by_more_than_the_tolerance(
    tolerance, all_thresholds, monkeypatch
):
    X, y, _ = misled()
    sample = Sample.of(X, y)
    table = make_table(canonicalize(PROBLEM), sample.examples)
    engine = LinearEngine.of(sample, table.cells, None, 1, Linear(standardise=True), tolerance)
    view = engine.view([0], thresholds=False)
    generation = engine.begin(view, table)
    generation.add_answers(())
    generation.mixture = replace(generation.mixture, violation=5e-4)
    monkeypatch.setattr(engine, "run", lambda *_: None)
    engine.run_until_met(generation, view)
    assert view.thresholds == all_thresholds
