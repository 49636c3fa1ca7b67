"""Refining: half-planes that no regression has, kept only where held-out rows agree."""

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
    monkeypatch.setattr("equirate.game.refining.ROWS", 300)
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
    part = np.arange(120) % 4 // 2 * (1 + np.arange(120) % 2)
    engine, _, _ = generation_of(X, y, part=part)
    table = make_table(canonicalize(PROBLEM), Sample.of(X, y).examples)
    generation, _ = engine.fit(table, mix_on_held_out=False)
    assert Source.REFINED not in generation.columns().source


def test_what_held_out_rows_confirm_is_kept():
    X, y, _ = misled(1200)
    part = np.where(np.arange(1200) % 4 == 0, 1 + np.arange(1200) // 4 % 2, 0)
    engine, _, _ = generation_of(X, y, part=part)
    table = make_table(canonicalize(PROBLEM), Sample.of(X, y).examples)
    generation, _ = engine.fit(table, mix_on_held_out=False)
    support = np.flatnonzero(generation.mixture.weights)
    assert Source.REFINED in generation.columns(support).source


def test_without_an_intercept_nothing_is_refined():
    X, y, _ = misled(1200)
    part = np.where(np.arange(1200) % 4 == 0, 1 + np.arange(1200) // 4 % 2, 0)
    engine, _, _ = generation_of(X, y, Linear(intercept=False), part)
    table = make_table(canonicalize(PROBLEM), Sample.of(X, y).examples)
    generation, _ = engine.fit(table, mix_on_held_out=False)
    W = engine.weights(generation, range(len(generation.places)))
    np.testing.assert_array_equal(W[-1], 0.0)
