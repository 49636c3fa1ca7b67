"""More than two classes with rows that several processes share: the same classifier, however they are shared out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import equirate as eq

N = 1500
NAMES = np.array(["cat", "cow", "dog", "owl"])
rng = np.random.default_rng(5)
X = rng.normal(size=(N, 4)) * [1, 2, 0.5, 1] + [0, 1, 0, 5]
SCORES = np.stack([X[:, 0] + 1.0, 0.5 * X[:, 1] + 0.5, X[:, 3] - 5 + 0.5 * X[:, 0], 2 * X[:, 2] - 0.5], axis=1)
CODES = (SCORES + rng.gumbel(size=(N, 4))).argmax(axis=1)
ORDER = np.argsort(CODES, kind="stable")  # by class: some processes lack some of them
X, Y = X[ORDER], NAMES[CODES[ORDER]]
SEX = np.where(rng.random(N) < 1 / (1 + np.exp(-X[:, 0])), "F", "M")
WEIGHTS = rng.random(N) + 0.5
CONSTRAINTS = [eq.recall(label="owl") >= 0.4, *eq.demographic_parity("sex", tolerance=0.05)]
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()), CONSTRAINTS)


def cut(size, unequal=False):
    edges = np.linspace(0, N, size + 1).astype(int)
    if unequal:
        edges[1:-1] = edges[1:-1] // 3
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def raised(found):
    for each in found:
        if isinstance(each, BaseException):
            raise each
    return found


def fitted(together, size, features=X, unequal=False, weights=None, problem=PROBLEM, **settings):
    parts = cut(size, unequal)

    def work(rank):
        part = parts[rank]
        given = {"sensitive_features": {"sex": SEX[part]}}
        if weights is not None:
            given["sample_weight"] = weights[part]
        own = eq.RateClassifier(problem.objective, problem.constraints, **{"random_state": 0, **settings})
        own.fit(features[part], Y[part], **given)
        return own, own.evaluate(features[part], Y[part], **given)

    return raised(together(size, work))


def numbers(evaluation):
    flat = [evaluation.objective, evaluation.low, evaluation.high]
    flat += [value for c in evaluation.constraints for value in (c.left, c.violation, c.low, c.high)]
    tables = [np.ravel(table.shares) for table in evaluation.classes]
    return np.concatenate([np.array(flat), *tables, *(table.examples for table in evaluation.classes)])


def differing(own, other, features=X):
    """Share of the rows that two mixtures do not decide alike."""
    return np.mean(np.abs(own.predict_pmf(features) - other.predict_pmf(features)).max(axis=1) > 1e-4)


@pytest.mark.parametrize("kind", ["float32", "float64", "sparse"])
def test_any_number_of_processes_comes_to_the_same_classifier(together, kind):
    features = sp.csr_array(X) if kind == "sparse" else X.astype(kind)
    (reference, value), *_ = fitted(together, 1, features)
    assert reference.classes_.tolist() == NAMES.tolist()
    assert len(set(Y[cut(4)[0]])) < 4  # the first of four processes lacks classes
    for size, unequal in ((2, False), (3, True), (4, False)):
        for own, found in fitted(together, size, features, unequal):
            assert own.classes_.tolist() == NAMES.tolist()
            assert differing(own, reference, features) <= 1e-4
            np.testing.assert_allclose(numbers(found), numbers(value), atol=1e-6)
            assert own.status_.objective == pytest.approx(reference.status_.objective, abs=1e-6)
            for part, evaluation in own.parts_.items():
                np.testing.assert_allclose(numbers(evaluation), numbers(reference.parts_[part]), atol=1e-6)


def test_one_process_among_others_is_a_process_by_itself(together):
    settings = {"output": "deterministic"}
    (shared, value), *_ = fitted(together, 3, **settings)
    single = eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, random_state=0, **settings)
    single.fit(X, Y, sensitive_features={"sex": SEX})
    np.testing.assert_array_equal(shared.predict(X), single.predict(X))
    np.testing.assert_allclose(
        numbers(value), numbers(single.evaluate(X, Y, sensitive_features={"sex": SEX})), atol=1e-9
    )
    assert shared.salt_ == single.salt_


def test_the_same_number_of_processes_twice_gives_the_same_bits(together):
    first, second = (fitted(together, 3, unequal=True) for _ in range(2))
    for one, other in zip([*first, *first], [*second, *second[1:], second[0]], strict=True):
        np.testing.assert_array_equal(one[0].members_.rules, other[0].members_.rules)
        np.testing.assert_array_equal(one[0].members_.posterior.label.coef_, other[0].members_.posterior.label.coef_)
        np.testing.assert_array_equal(one[0].weights_, other[0].weights_)
        np.testing.assert_array_equal(numbers(one[1]), numbers(other[1]))


@pytest.mark.filterwarnings("ignore:not certified")
@pytest.mark.parametrize(
    "settings",
    [
        {"weights": WEIGHTS},
        {"weights": np.where(np.arange(N) < N // 2, 1.0, 3.0)},
        {"validation": 0},
        {"model": eq.models.Linear(penalty=0.01)},
        {"model": eq.models.Linear(intercept=False)},
        {"problem": eq.Problem(eq.maximize(eq.macro_f1()), CONSTRAINTS[:1])},
        {"confidence": 0.9, "problem": eq.Problem(PROBLEM.objective, [eq.recall(label="owl") >= 0.2])},
    ],
    ids=["weights", "weights of processes", "no validation", "penalty", "no intercept", "macro-F1", "confidence"],
)
def test_every_way_to_fit_is_the_same_over_processes(together, settings):
    (reference, value), *_ = fitted(together, 1, **settings)
    for own, found in fitted(together, 2, unequal=True, **settings):
        assert differing(own, reference) <= 1e-4
        np.testing.assert_allclose(numbers(found), numbers(value), atol=1e-6)
        assert own.status_.certified == reference.status_.certified


def test_probabilities_that_are_cross_fitted(together):
    """With few rows for each feature and class, rows are judged by regressions without their fold."""
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(N, 16))])  # 1,500 rows, and 50 * 20 * 4 would be enough
    (reference, value), *_ = fitted(together, 1, wide)
    for own, found in fitted(together, 3, wide, unequal=True):
        assert differing(own, reference, wide) <= 1e-4
        np.testing.assert_allclose(numbers(found), numbers(value), atol=1e-6)


def test_solve(together):
    def solved(size):
        parts = cut(size)

        def work(rank):
            part = parts[rank]
            people = {"sex": SEX[part]}
            solution = eq.solve(PROBLEM, X[part], Y[part], attributes=people, sample_weight=WEIGHTS[part])
            mixture = solution.polish()
            values = mixture.evaluate(
                PROBLEM, X[part], Y[part], attributes=people, sample_weight=WEIGHTS[part], classes=tuple(NAMES.tolist())
            )
            return solution, values

        return raised(together(size, work))

    ((one, value),) = solved(1)
    for other, found in solved(3):
        np.testing.assert_allclose(other.columns.rates, one.columns.rates, atol=1e-9)
        np.testing.assert_allclose(found["violations"], value["violations"], atol=1e-7)
        assert found["objective"] == pytest.approx(value["objective"], abs=1e-7)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "trees"}, "must see all rows in one place"),
        ({"two_sets": True}, "two_sets is for two classes"),
        ({"algorithm": "slack_ratios"}, "a game of two classes"),
    ],
)
def test_what_is_refused(together, settings, message):
    if settings.get("model") == "trees":
        pytest.importorskip("lightgbm", reason="the extra boosting is not installed")
    with pytest.raises(eq.EquirateError, match=message):
        fitted(together, 2, **settings)
