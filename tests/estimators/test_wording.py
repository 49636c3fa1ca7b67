"""Sentences that are true of what they are said of: which output, which rows, and no more than was tested."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import equirate as eq
from equirate.reports import words

RNG = np.random.default_rng(2)
X = RNG.normal(size=(2000, 3))
GROUP = RNG.choice(["a", "b"], 2000)
X[:, 1] += 0.8 * (GROUP == "a")
Y = (X[:, 0] + X[:, 1] + RNG.normal(size=2000) > 0.8).astype(int)
PEOPLE = {"group": GROUP}
PARITY = eq.demographic_parity("group", tolerance=0.1)


def test_a_deterministic_output_that_was_not_tested_is_not_called_certified():
    options = {"confidence": 0.9, "random_state": 0}
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), PARITY, output="deterministic", **options)
    with pytest.warns(eq.NotSolvedWarning, match="not certified"):
        clf.fit(X, Y, sensitive_features=PEOPLE)
    assert "Not certified" in str(clf.certification_)
    assert not clf.certification_.certified
    assert clf.certification_.reasons
    mixture = eq.RateClassifier(eq.minimize(eq.error_rate()), PARITY, **options).fit(X, Y, sensitive_features=PEOPLE)
    assert mixture.certification_.certified
    assert not mixture.to_deterministic().certification_.certified
    assert mixture.certification_.certified  # the copy changes nothing
    assert "the mixture" in mixture.certification_.sentence


def test_statuses_say_what_they_speak_of():
    problem = eq.Problem(eq.minimize(eq.error_rate()), [PARITY])
    solution = eq.solve(problem, X, Y, attributes=PEOPLE)
    assert ("the mixture" in str(solution.status)) == (len(solution.polish().weights) > 1)


def test_the_baseline_keeps_constraints_too_only_where_ours_does():
    clf = eq.RateClassifier(eq.maximize(eq.recall()), [eq.positive_rate() <= 0.9], random_state=0).fit(X, Y)
    report = clf.report(X, Y, baseline=np.zeros(len(Y), dtype=int))
    assert "keeps every constraint here too" in words.price(report)
    part = report.last
    broken = replace(part, constraints=tuple(replace(row, violation=0.1) for row in part.constraints))
    other = replace(report, parts={**report.parts, "test": broken})
    assert "too" not in words.price(other)
    assert "keeps every constraint here" in words.price(other)


def test_bounds_end_where_they_are_possible():
    y, decided = np.array([0, 1] * 6), np.array([0, 1] * 6)
    people = {"g": np.array([0, 0, 1, 1] * 3)}
    gap = abs(eq.tpr(eq.attr("g") == 0) - eq.tpr(eq.attr("g") == 1)) <= 0.05
    one = eq.certify(gap, y, decided, attributes=people)[0]
    assert one.low == pytest.approx(-0.05)
    assert one.high <= 0.95
    rate = eq.certify(eq.recall() >= 0.7, y, decided, attributes=people)[0]
    assert rate.low >= 0.7 - 1.0 - 1e-12


def test_certified_beside_too_close_to_call_is_explained():
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), PARITY, confidence=0.9, random_state=0)
    clf.fit(X, Y, sensitive_features=PEOPLE)
    few = slice(0, 60)
    report = clf.report(X[few], Y[few], sensitive_features={"group": GROUP[few]})
    assert words.outcome(report.last) == "cannot tell"
    assert any("of its own test" in sentence for sentence in words.certificate(report))
