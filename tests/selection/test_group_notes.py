"""Groups that a parity leaves out are named wherever constraints are said to hold; so are small ones that cost much."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import equirate as eq

RNG = np.random.default_rng(0)
ROWS = 2000
RACE = np.where(np.arange(ROWS) < 12, "few", np.where(np.arange(ROWS) < 20, "rare", RNG.choice(["a", "b"], ROWS)))
X = RNG.normal(size=(ROWS, 2))
Y = (X[:, 0] + RNG.normal(size=ROWS) > 0.5).astype(int)
PEOPLE = {"race": RACE}


def fitted(constraints, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = eq.RateClassifier(eq.minimize(eq.error_rate()), constraints, random_state=0, **settings)
        return clf.fit(X, Y, sensitive_features=PEOPLE)


def test_groups_left_out_are_named_everywhere(tmp_path):
    clf = fitted(eq.demographic_parity("race", tolerance=0.3, min_support=30), confidence=0.9)
    text = "2 groups with fewer than 30 rows are not covered: race == 'few' (12), race == 'rare' (8)"
    assert text in clf.notes_
    assert clf.status_.certified
    assert text in clf.certification_.sentence
    assert text in clf.status_.certificate
    report = clf.report(X, Y, sensitive_features=PEOPLE)
    assert report.verdict.endswith(f"; {text}.")
    assert text in report.to_dict()["sentence"]
    clf.save(tmp_path / "model.equirate")
    again = eq.load(tmp_path / "model.equirate")
    assert text in again.notes_
    assert text in again.report(X, Y, sensitive_features=PEOPLE).verdict
    assert text in again.certification_.sentence


def test_nothing_is_said_where_all_groups_are_covered():
    clf = fitted(eq.demographic_parity("race", tolerance=0.5))
    assert not any("not covered" in note for note in clf.notes_)
    assert not any("small groups" in note for note in clf.notes_)


def test_small_groups_that_cost_much_are_named():
    rows = np.arange(ROWS)
    race = np.where(rows < 8, "few", RNG.choice(["a", "b"], ROWS))
    x = X.copy()
    x[:8, 0] = -4.0  # their scores are lowest, their labels are positive: recall of others must come down
    y = Y.copy()
    y[:8] = 1
    clf = eq.RateClassifier(
        eq.minimize(eq.error_rate()), eq.equal_opportunity("race", tolerance=0.05, compare="pairs"), random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(x, y, sensitive_features={"race": race})
    (note,) = [note for note in clf.notes_ if "small groups" in note]
    assert "tpr(race == 'few') has 8 rows" in note
    assert "min_support=30" in note
    without = eq.RateClassifier(
        eq.minimize(eq.error_rate()),
        eq.equal_opportunity("race", tolerance=0.05, compare="pairs", min_support=30),
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        without.fit(x, y, sensitive_features={"race": race})
    cost = clf.status_.objective - without.status_.objective
    told = float(note.split("cost ")[1].split(" ")[0])
    assert told == pytest.approx(cost, abs=0.03)
