"""Thresholds on scores of plug-in rules and refits: counts are decisions, and groups that features do not show."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import equirate as eq
from equirate.data.examples import Examples
from equirate.data.sample import Sample
from equirate.models import Oracle, PlugIn
from equirate.models.plug_in_rules import MOST_THRESHOLDS, by_place
from equirate.models.rows import Rows
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table

N = 600
RNG = np.random.default_rng(0)
GROUP = RNG.choice(["a", "b"], N, p=[0.6, 0.4])
X = RNG.normal(size=(N, 3))  # says nothing about the group
Y = (1.5 * X[:, 0] + X[:, 1] + 0.6 * (GROUP == "a") + RNG.normal(size=N) > 0.5).astype(int)
WEIGHTS = RNG.integers(0, 4, N).astype(float)
ERROR, GAP = eq.minimize(eq.error_rate()), eq.equal_opportunity("g", tolerance=0.01)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_every_count_is_that_of_the_decisions(weights):
    examples = Examples.of(Y, {"g": GROUP}, weights)
    problem = eq.Problem(ERROR, GAP).expanded(examples)
    table, sample = make_table(canonicalize(problem), examples), Sample(X, examples)
    learner = PlugIn(LogisticRegression(), folds=1).bind(Rows.of(sample, table.cells), 2, None, [0])
    costs = np.random.default_rng(1).normal(size=(len(table.cells), 2))
    families = [*learner.families(), *learner.respond(costs)]
    assert len(families) == 3
    for t, family in enumerate(families):
        count = family.sums.shape[1]
        assert 50 < count <= MOST_THRESHOLDS + 3
        members = learner.members([each.snapshot for each in families], [(t, c) for c in range(count)])
        np.testing.assert_allclose(family.sums, table.cells.sums(members.decide(X)), atol=1e-9)
        np.testing.assert_array_equal(family.sums[:, 0], table.cells.totals)  # everybody
        np.testing.assert_array_equal(family.sums[:, -1], 0.0)  # nobody
        assert (np.diff(family.sums.sum(axis=0)) <= 0).all()
    rules = by_place(costs, learner.places, len(learner.posterior.signatures))
    for rule, family in zip(rules.T, families[1:], strict=True):
        assert (family.snapshot == rule[:, None]).all(axis=0).sum() == 1  # the answer itself


@pytest.mark.parametrize("estimator", ["trees", PlugIn(LogisticRegression())])
def test_thresholds_keep_what_rules_on_groups_cannot_where_features_do_not_show_them(estimator):
    if estimator == "trees":
        pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    clf = eq.RateClassifier(ERROR, GAP, model=estimator, random_state=0).fit(X, Y, sensitive_features={"g": GROUP})
    assert clf.status_.feasible
    assert clf.status_.objective < 0.7 * min(Y.mean(), 1 - Y.mean())  # much better than the same answer for everybody


def test_refits_of_a_linear_classifier_have_constants_and_thresholds():
    examples = Examples.of(Y, {"g": GROUP})
    problem = eq.Problem(ERROR, GAP).expanded(examples)
    table, sample = make_table(canonicalize(problem), examples), Sample(X, examples)
    learner = Oracle(LogisticRegression()).bind(Rows.of(sample, table.cells), 2, None, [0])
    families = [*learner.families(), *learner.respond(np.random.default_rng(1).normal(size=(len(table.cells), 2)))]
    assert [family.sums.shape[1] > 10 for family in families] == [False, True, True, True]
    np.testing.assert_array_equal(families[0].sums, np.stack([0 * table.cells.totals, table.cells.totals], axis=1))
    for t, family in enumerate(families):
        count = family.sums.shape[1]
        members = learner.members([each.snapshot for each in families], [(t, c) for c in range(count)])
        np.testing.assert_array_equal(family.sums, table.cells.sums(members.decide(X)))
