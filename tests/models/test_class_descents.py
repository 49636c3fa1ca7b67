"""Linear classifiers of several classes by descent on cross-entropy, beside plug-in rules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import equirate as eq
from equirate.data.cells import Cells
from equirate.data.examples import Examples
from equirate.models import class_descents
from equirate.models.class_descents import Descents
from equirate.models.class_oracle import reduced
from equirate.models.multinomial import Multinomial


def rare_within_a_curve(n: int = 4000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two rare classes on either side of a common one, whose log-odds are far from linear.

    A common fourth class on the same side as each rare one makes a regression of the labels point elsewhere.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1.0, 2.0]
    y = np.where(X[:, 1] > 0, "a", "b").astype("<U1")
    near = np.abs(X[:, 0] - 1.2) < 0.25
    y[near & (rng.random(n) < 0.25)] = "c"
    y[X[:, 0] > 2.2] = "d"
    return X, y


PROBLEM = eq.maximize(eq.worst_recall())


def test_regressions_are_added_where_plug_in_rules_gain_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X, y = rare_within_a_curve()
    new, labels = rare_within_a_curve(seed=1)
    both = eq.RateClassifier(PROBLEM, random_state=0).fit(X, y)
    monkeypatch.setattr(class_descents, "FITS", 0)
    alone = eq.RateClassifier(PROBLEM, random_state=0).fit(X, y)
    assert both.evaluate(X, y).objective > alone.evaluate(X, y).objective + 0.02
    assert both.evaluate(new, labels).objective > alone.evaluate(new, labels).objective + 0.02
    both.save(tmp_path / "model.equirate")
    read = eq.load(tmp_path / "model.equirate")
    np.testing.assert_array_equal(read.predict_pmf(new), both.predict_pmf(new))
    np.testing.assert_array_equal(read.predict(new), both.predict(new))


def test_the_rates_of_a_solution_are_those_of_its_decisions() -> None:
    X, y = rare_within_a_curve(1500)
    solution = eq.solve(eq.Problem(PROBLEM), X, y)
    found = solution.polish().evaluate(None, X, y, classes=("a", "b", "c", "d"))
    assert found["objective"] == pytest.approx(solution.status.objective, abs=1e-6)


@pytest.mark.parametrize("folds", [1, 3])
def test_a_regression_to_costs_is_that_of_weighted_targets(folds: int) -> None:
    X, y = rare_within_a_curve(900)
    cells = Cells.of_examples(Examples.of(y, classes=("a", "b", "c", "d")), [], [])
    cells = cells.weighing(1.0 + (np.arange(900) % 3))
    price = np.random.default_rng(0).normal(size=(len(cells), 4))
    fold = (np.arange(900) % folds).astype(np.int8)
    found = Descents(Multinomial(), X, fold).fit(price, cells, slice(None))
    rows, targets, gains = reduced(price[cells.index] * cells.weights[:, None])
    scale = cells.weights.sum() / gains.sum()

    def expected(part: np.ndarray) -> np.ndarray:
        used = np.isin(rows, np.flatnonzero(part))
        return Multinomial().fit(X[rows[used]], targets[used], gains[used] * scale, 4).predict_proba(X)

    def chances(scores: np.ndarray) -> np.ndarray:
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    np.testing.assert_allclose(chances(found.classifier(X)), expected(fold >= 0), atol=2e-4)
    for k in range(folds):
        without = expected(fold != k) if folds > 1 else expected(fold >= 0)
        np.testing.assert_allclose(chances(found.scores)[fold == k], without[fold == k], atol=2e-4)


def test_classes_that_nobody_gains_from_are_never_predicted() -> None:
    X, y = rare_within_a_curve(300)
    cells = Cells.of_examples(Examples.of(y, classes=("a", "b", "c", "d")), [], [])
    price = np.ones((len(cells), 4))
    price[:, 1] = 0.0
    one = Descents(Multinomial(), X, np.zeros(300, dtype=np.int8)).fit(price, cells, slice(None))
    assert (one.scores.argmax(axis=1) == 1).all()
    price[0, 2] = -1.0
    two = Descents(Multinomial(), X, np.zeros(300, dtype=np.int8)).fit(price, cells, slice(None))
    assert set(two.scores.argmax(axis=1)) <= {1, 2}
