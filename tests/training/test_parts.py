"""How much data a part needs, at the very numbers: one example fewer, and `fit` does something else."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import equirate as eq
from equirate.boosting import BoostedTrees
from equirate.data.examples import Examples
from equirate.data.sample import Sample
from equirate.models import Oracle
from equirate.problem.table import problem_cells
from equirate.training.parts import Parts
from equirate.training.settings import Settings
from equirate.training.training import Training

GROUP = eq.attr("g") == 1
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr(GROUP) >= 0.5])


def parts(n, inside, width, **settings):
    """Parts of n examples, half of them positive, with some of the positives inside the group."""
    y = np.arange(n) % 2
    g = np.zeros(n, dtype=int)
    g[np.flatnonzero(y)[:inside]] = 1
    chosen = Settings.of(eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, validation=0.25, **settings))
    return Parts.of(chosen, PROBLEM, problem_cells(PROBLEM, Examples.of(y, {"g": g})), width, 0)


def test_five_examples_behind_a_rate_are_enough_to_hold_out():
    found = parts(400, 20, 1)  # a quarter of 20
    assert found.order is not None
    assert found.validation == slice(300, 400)


def test_four_are_not():
    with pytest.warns(
        eq.NotSolvedWarning, match=r"behind some rate to hold data out \(tpr\(g == 1\) has \d+\): .* min_support="
    ):
        found = parts(400, 16, 1)
    assert found.order is None
    assert found.validation is None


@pytest.mark.parametrize("settings", [{"confidence": 0.9, "confidence_method": "holdout"}, {"two_sets": True}])
def test_what_needs_held_out_data_is_refused_without(settings):
    with pytest.raises(eq.DataError, match=r"(holdout\"|two_sets) is not possible"):
        parts(400, 16, 1, **settings)


def test_the_strict_method_keeps_half_of_the_rows_for_its_test():
    found = parts(400, 80, 1, confidence=0.9, confidence_method="holdout")
    assert (found.train, found.validation, found.test) == (slice(0, 150), slice(150, 200), slice(200, 400))
    assert found.choose == slice(0, 200)


def test_cross_fitting_leaves_the_parts_as_they_are():
    plain, cross = parts(400, 80, 1), parts(400, 80, 1, confidence=0.9)
    assert (cross.train, cross.validation, cross.choose) == (plain.train, plain.validation, plain.choose)
    assert cross.test is None


def test_five_training_examples_a_feature_are_trusted_in_the_choice():
    assert parts(400, 40, 60).choose == slice(0, 400)  # 300 to train on


@pytest.mark.parametrize(("width", "settings"), [(61, {}), (30, {"two_sets": True}), (30, {"model": BoostedTrees()})])
def test_fewer_a_feature_two_sets_or_another_model_choose_on_what_was_held_out(width, settings):
    assert parts(400, 40, width, **settings).choose == slice(300, 400)


@pytest.mark.parametrize("settings", [{}, {"confidence": 0.9, "confidence_method": "holdout"}])
def test_rows_that_are_held_out_are_found_in_the_data_as_given(settings):
    found = parts(400, 80, 1, **settings)
    held_out = found.held_out(400)
    assert held_out.dtype == bool
    np.testing.assert_array_equal(np.flatnonzero(held_out), np.sort(found.order[found.validation]))
    laid_out = replace(found, order=None)
    np.testing.assert_array_equal(np.flatnonzero(laid_out.held_out(400)), np.arange(400)[found.validation])


def test_where_nothing_is_held_out_no_rows_are():
    assert Parts(None, slice(0, 400), None, slice(0, 400)).held_out(400) is None


def test_rows_of_the_test_are_neither_trained_on_nor_seen_by_the_multipliers():
    rng = np.random.default_rng(0)
    X, g = rng.normal(size=(400, 2)), rng.integers(0, 2, 400)
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    promised = {"confidence": 0.9, "confidence_method": "holdout", "two_sets": True, "validation": 0.4}
    model = Oracle(LogisticRegression(), folds=1)
    settings = Settings.of(eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, model=model, **promised))
    sample = Sample.of(X, y, {"g": g})
    training = Training.of(settings, PROBLEM, sample, problem_cells(PROBLEM, sample.examples), 0)
    other = training.sample.X.copy()
    other[training.parts.test] = -5 * other[training.parts.test]
    changed = replace(training, sample=replace(training.sample, X=other))
    one, two = (each.solve_on_rows(each.parts.train).columns.rates for each in (training, changed))
    np.testing.assert_array_equal(one, two)


def test_a_model_with_held_out_prices_is_fitted_where_nothing_can_be_held_out():
    rng = np.random.default_rng(0)
    X, y, g = rng.normal(size=(40, 2)), np.arange(40) % 2, np.repeat([1, 0], [4, 36])
    clf = eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, model=BoostedTrees(begin=5, n_jobs=1), n_rounds=5)
    with pytest.warns(eq.NotSolvedWarning, match="too few examples behind some rate"):
        clf.fit(X, y, sensitive_features={"g": g})
    assert clf.status_.feasible
