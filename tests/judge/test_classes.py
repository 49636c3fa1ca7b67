"""Bounds, certificates and power with more than two classes."""

import numpy as np
import pytest

import equirate as eq
from equirate.data.examples import Examples
from equirate.data.predictions import examples_and_predictions
from equirate.judge.estimates import estimate
from equirate.judge.evaluation import Evaluation

CLASSES = ("a", "b", "c")
WOMEN = eq.attr("sex") == "F"


def drawn(seed: int, n: int = 400, hard: bool = True) -> tuple:
    rng = np.random.default_rng(seed)
    y = rng.choice(CLASSES, n, p=[0.6, 0.3, 0.1])
    p = np.where(rng.random(n) < 0.7, y, rng.choice(CLASSES, n))
    pmf = (p[:, None] == np.array(CLASSES)).astype(float)
    pmf = pmf if hard else 0.6 * pmf + 0.4 * np.array([0.2, 0.5, 0.3])
    return y, pmf, rng.choice(["F", "M"], n)


@pytest.mark.parametrize("hard", [True, False])
def test_linear_functions_have_the_errors_of_means(hard: bool) -> None:
    y, pmf, sex = drawn(0, hard=hard)
    examples, predictions = examples_and_predictions(y, pmf, {"sex": sex}, classes=CLASSES)
    found = estimate(eq.accuracy().on(examples), examples, predictions)
    right = pmf[np.arange(len(y)), np.searchsorted(CLASSES, y)]
    assert found.value == pytest.approx(right.mean())
    assert found.error == pytest.approx(right.std() / np.sqrt(len(y)), rel=0.02)
    gap = (eq.recall(WOMEN, label="b") - eq.recall(~WOMEN, label="b")).on(examples)
    parts = [right[(y == "b") & (sex == each)] for each in "FM"]
    found = estimate(gap, examples, predictions)
    assert found.value == pytest.approx(parts[0].mean() - parts[1].mean())
    expected = np.sqrt(sum(part.var() / len(part) for part in parts))
    assert found.error == pytest.approx(expected, rel=0.1)


def test_errors_are_those_of_resampling() -> None:
    y, pmf, sex = drawn(1, 1000)
    examples, predictions = examples_and_predictions(y, pmf, {"sex": sex}, classes=CLASSES)
    rng = np.random.default_rng(0)
    for expr in (eq.macro_f1(), eq.g_mean(), eq.f1(average="weighted"), eq.kappa()):
        found = estimate(expr.on(examples), examples, predictions)
        again = []
        for _ in range(200):
            rows = rng.integers(0, len(y), len(y))
            again.append(expr.evaluate(y[rows], pmf[rows], classes=CLASSES))
        assert found.error == pytest.approx(np.std(again), rel=0.25), expr


def test_two_classes_as_three_have_the_same_bounds() -> None:
    """A third class that nobody has and nobody is given changes no estimate."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 500)
    p = np.where(rng.random(500) < 0.8, y, 1 - y)
    two, decided = examples_and_predictions(y, p)
    three, pmf = examples_and_predictions(y, p, classes=(0, 1, 2))
    for make in (eq.recall, eq.precision, eq.f1):
        one, other = estimate(make(), two, decided), estimate(make(label=1).on(three), three, pmf)
        assert other.value == pytest.approx(one.value, abs=1e-12)
        assert other.error == pytest.approx(one.error, rel=0.02)
        assert other.interval(0.95) == pytest.approx(one.interval(0.95), abs=2e-3)


@pytest.mark.parametrize("method", ["approximate", "exact"])
def test_certificates(method: str) -> None:
    y, pmf, sex = drawn(3, 2000)
    constraints = [
        eq.recall(label="b") >= 0.6,
        eq.coverage("c") <= 0.3,
        eq.macro_f1() >= 0.5,
        eq.recall(label="c") >= 0.99,
        eq.demographic_parity("sex", tolerance=0.2),
    ]
    found = eq.certify(constraints, y, pmf, attributes={"sex": sex}, method=method)
    assert [one.verdict for one in found] == ["pass", "pass", "pass", "fail", "pass", "pass", "pass"]
    labels = np.array(CLASSES)[pmf.argmax(axis=1)]
    again = eq.certify(constraints, y, labels, attributes={"sex": sex}, method=method)
    assert [one.high for one in again] == pytest.approx([one.high for one in found])


def test_exact_bounds_are_clopper_and_pearsons() -> None:
    from scipy.stats import beta

    y, pmf, _ = drawn(4)
    there = y == "b"
    hits, trials = int(pmf[there, 1].sum()), int(there.sum())
    (found,) = eq.certify(eq.recall(label="b") >= 0.5, y, pmf, method="exact")
    assert found.high == pytest.approx(0.5 - beta.ppf(0.05, hits, trials - hits + 1))


def test_clusters_widen_the_bounds() -> None:
    y, pmf, _ = drawn(5, 300)
    rows = np.repeat(np.arange(300), 3)
    single = eq.certify(eq.recall(label="b") >= 0.5, y, pmf)[0]
    (found,) = eq.certify(eq.recall(label="b") >= 0.5, y[rows], pmf[rows], clusters=rows)
    assert found.violation == pytest.approx(single.violation)
    assert found.error == pytest.approx(single.error, rel=0.05)


def test_power_takes_a_recall_for_each_class() -> None:
    y, _, _ = drawn(6, 1000)
    found = eq.power([eq.recall(label="c") >= 0.7], y, rates={"c": 0.9})
    assert found.constraints[0].examples == int((y == "c").sum())
    assert "with label 'c'" in str(found)
    few = eq.power([eq.recall(label="c") >= 0.7], y[:60], rates={"c": 0.75}, classes=CLASSES)
    assert not few.certifiable
    with pytest.raises(eq.DataError, match="y has no class 'x'"):
        eq.power([eq.recall(label="c") >= 0.7], y, rates={"x": 0.9})


def test_evaluation_has_a_confusion_matrix_for_every_slice() -> None:
    y, pmf, sex = drawn(7)
    examples = Examples.of(y, {"sex": sex}, classes=CLASSES)
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.recall(WOMEN, label="a") >= 0.1])
    found = Evaluation.of(problem, examples, pmf)
    everybody, women = found.classes
    matrix = np.array([[pmf[y == k, j].sum() / len(y) for j in range(3)] for k in CLASSES])
    assert np.array(everybody.shares) == pytest.approx(matrix)
    assert everybody.examples == tuple(int((y == k).sum()) for k in CLASSES)
    assert everybody.rates()[1]["recall"] == pytest.approx(eq.recall(label="b").evaluate(y, pmf))
    assert women.rates()[2]["f1"] == pytest.approx(eq.f1(WOMEN, label="c").evaluate(y, pmf, attributes={"sex": sex}))
