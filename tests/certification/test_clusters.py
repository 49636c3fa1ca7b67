"""Several rows of a person: together in every split, and counted once in the variance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

import equirate as eq
from equirate.certification.margins import FoldMixtures
from equirate.data.cells import Cells
from equirate.data.examples import Examples
from equirate.data.splits import split_by_cell

RNG = np.random.default_rng(0)
PEOPLE, TIMES = 300, 5
PERSON = np.repeat(np.arange(PEOPLE), TIMES)
OWN = RNG.normal(size=(PEOPLE, 2))
X = OWN[PERSON] + 0.1 * RNG.normal(size=(PEOPLE * TIMES, 2))
GROUP = np.where(RNG.random(PEOPLE) < 0.5, "a", "b")[PERSON]
Y = ((OWN[:, 0] + 0.5 * RNG.normal(size=PEOPLE) > 0.3).astype(int))[PERSON]
ATTRIBUTES = {"group": GROUP}
PROBLEM = (eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.3])


def test_a_split_keeps_clusters_together_and_is_stratified():
    examples = Examples.of(Y, ATTRIBUTES)
    cells = Cells.of_examples(replace(examples, clusters=PERSON), [eq.attr("group") == "a"], [])
    parts = split_by_cell(cells, (0.5, 0.3, 0.2), 0)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(Y)))
    people = [set(PERSON[part].tolist()) for part in parts]
    assert not (people[0] & people[1])
    assert not (people[0] & people[2])
    assert not (people[1] & people[2])
    for part, share in zip(parts, (0.5, 0.3, 0.2), strict=True):
        for cell in range(len(cells)):
            assert abs((cells.index[part] == cell).sum() - share * (cells.index == cell).sum()) <= TIMES + 1e-9


@pytest.mark.parametrize("method", ["cross", None])
def test_fit_keeps_people_together_and_counts_them(method, monkeypatch):
    seen = []
    parts = FoldMixtures.__init__

    def spied(self, *arguments, **options):
        seen.append((options["inside"], options["test"]))
        parts(self, *arguments, **options)

    monkeypatch.setattr(FoldMixtures, "__init__", spied)
    options = {} if method is None else {"confidence": 0.9, "confidence_method": method}
    clf = eq.RateClassifier(*PROBLEM, random_state=0, **options)
    clf.fit(X, Y, sensitive_features=ATTRIBUTES, clusters=PERSON)
    assert all(not np.isin(PERSON[test], PERSON[inside]).any() for inside, test in seen)
    assert len(seen) == (5 if method else 0)
    told = clf.evaluate(X, Y, sensitive_features=ATTRIBUTES, clusters=PERSON).constraints[0]
    alone = clf.evaluate(X, Y, sensitive_features=ATTRIBUTES).constraints[0]
    by_hand = eq.certify(PROBLEM[1], Y, clf.predict_pmf(X)[:, 1], clusters=PERSON)[0]
    assert told.high == pytest.approx(by_hand.high)
    assert told.high - told.violation > 1.5 * (alone.high - alone.violation)
    if method:
        tested = clf.certification_.constraints[0]
        assert tested.high <= 0
        assert tested.high - tested.violation > 1.5 * 0.9 * (alone.high - alone.violation)


def test_trees_and_thresholds_keep_people_together(monkeypatch):
    trained = []

    class Spied(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            trained.append(len(X))
            self.seen_ = {tuple(row) for row in np.asarray(X)}
            return super().fit(X, y, sample_weight)

        def decision_function(self, X):
            people = {int(np.abs(OWN - row).sum(axis=1).argmin()) for row in np.asarray(X)}
            known = {int(np.abs(OWN - np.array(row)).sum(axis=1).argmin()) for row in self.seen_}
            overlap.append(len(people & known) / len(people))
            return super().decision_function(X)

    overlap: list[float] = []
    exact = OWN[PERSON] + 1e-9 * np.arange(len(PERSON))[:, None]
    eq.RatePostprocessor(Spied(), *PROBLEM, random_state=0).fit(exact, Y, clusters=PERSON)
    assert overlap[:5] == [0.0] * 5
    forest = RandomForestClassifier(5, random_state=0)
    clf = eq.RateClassifier(*PROBLEM, model=forest, random_state=0, n_rounds=4).fit(X, Y, clusters=PERSON)
    assert clf.status_.feasible


def test_exact_counts_are_refused_and_cv_that_shares_people():
    with pytest.raises(eq.EquirateError, match="cluster"):
        eq.RateClassifier(*PROBLEM, confidence=0.9, confidence_method="holdout").fit(X, Y, clusters=PERSON)
    post = eq.RatePostprocessor(LogisticRegression(), *PROBLEM, cv=KFold(3, shuffle=True, random_state=0))
    with pytest.raises(eq.DataError, match="cluster"):
        post.fit(X, Y, clusters=PERSON)
