"""Constraints on new data: twenty samples of a problem with a known optimum, three ways of keeping a promise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import equirate as eq

A = eq.attr("group") == "a"
LIMIT, SPLITS, SIZE = 0.05, 20, 1500
OBJECTIVE, CONSTRAINT = eq.minimize(eq.error_rate()), abs(eq.positive_rate(A) - eq.positive_rate(~A)) <= LIMIT


def population(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """One score and the group; a linear model with the group as a feature is a threshold per group."""
    rng = np.random.default_rng(seed)
    is_a = rng.random(n) < 0.4
    x = rng.normal(size=n)
    y = (x + np.where(is_a, -0.8, 0.2) + 0.6 * rng.normal(size=n) > 0).astype(int)
    noise = rng.normal(size=(n, 3))
    return np.column_stack([x, is_a, noise]), y, {"group": np.where(is_a, "a", "b")}


@pytest.fixture(scope="module")
def new_data() -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    return population(200_000, seed=10_000)


@pytest.fixture(scope="module")
def optimum(new_data) -> float:
    """Smallest error over pairs of thresholds within the limit, by brute force on the new data themselves."""
    X, y, attributes = new_data
    cuts = np.linspace(-1.0, 1.5, 126)
    tables = []
    for group in ("a", "b"):
        inside = attributes["group"] == group
        x, labels = X[inside, 0], y[inside]
        edges = [(x > cut) for cut in cuts]
        share = inside.mean()
        tables.append([(e.mean(), share * (e != labels).mean()) for e in edges])
    (rate_a, error_a), (rate_b, error_b) = (np.array(table).T for table in tables)
    allowed = np.abs(rate_a[:, None] - rate_b[None]) <= LIMIT
    return float(np.where(allowed, error_a[:, None] + error_b[None], np.inf).min())


def outcomes(new_data, constraint=CONSTRAINT, **options: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Violation and error on new data, sample by sample, and whether the classifier said that it is certified."""
    X, y, attributes = new_data
    found = []
    for seed in range(SPLITS):
        train = population(SIZE, seed)
        estimator = eq.RateClassifier(
            OBJECTIVE,
            [constraint],
            validation=0.4,
            random_state=seed,
            **options,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eq.NotSolvedWarning)
            estimator.fit(train[0], train[1], sensitive_features=train[2])
        numbers = estimator.evaluate(X, y, sensitive_features=attributes)
        certified = estimator.status_.certified
        assert (certified is None) == ("confidence" not in options)
        assert (certified is False) == any("not certified" in note for note in estimator.notes_)
        found.append((numbers.constraints[0].violation, numbers.objective, bool(certified)))
    violation, error, certified = np.array(found).T
    return violation, error, certified.astype(bool)


@pytest.mark.slow
def test_three_ways_of_keeping_a_promise(new_data, optimum: float) -> None:
    plain, plain_error, _ = outcomes(new_data)
    two_sets, two_error, _ = outcomes(new_data, two_sets=True)
    confident, confident_error, certified = outcomes(new_data, confidence=0.95)
    # All of them come close to the optimum of the population.
    for error in (plain_error, two_error, confident_error):
        assert np.median(error) < optimum + 0.03
    # The plain one meets the constraint on its own data, so on new data it breaks it now and then, by little.
    assert (plain > 0).mean() > 0.1
    assert np.median(np.abs(plain)) < 0.05
    assert np.median(np.abs(two_sets)) < 0.06
    # Nearly every sample certifies, and what is certified holds: 4 or more broken would happen in under 2 % of cases.
    assert certified.mean() >= 0.8
    assert (confident[certified] > 0).sum() <= 3


@pytest.mark.slow
def test_what_says_that_it_is_certified_holds_on_new_data(new_data) -> None:
    limit = eq.positive_rate() <= 0.3
    violation, _, certified = outcomes(new_data, limit, confidence=0.95)
    plain, _, _ = outcomes(new_data, limit)
    # 1 of 20 up to chance: 4 or more would happen in under 2 % of cases.
    assert certified.mean() > 0.5
    assert (violation[certified] > 0).sum() <= 3
    assert (plain > 0).sum() > 3
