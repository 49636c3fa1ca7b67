import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

import equirate as eq
from equirate.data.examples import Examples
from equirate.judge.certify import Certificate, Estimate, certify, check_confidence, estimate, opposed
from equirate.language.curvature import Interval

Array = NDArray[np.float64]
G = eq.attr("g") == 1


def drawn(
    seed: int,
    n: int,
    *,
    base: float = 0.3,
    positive: tuple[float, float] = (0.1, 0.8),
    soft: bool = False,
    weighted: bool = False,
) -> tuple[Examples, Array]:
    """Labels, a group, an older model and predictions that are 1 with probability ``positive[y]``."""
    rng = np.random.default_rng(seed)
    g, y = (rng.random(n) < 0.4).astype(int), (rng.random(n) < base).astype(int)
    p = np.where(y == 1, positive[1], positive[0])
    predictions = rng.beta(3 * p, 3 * (1 - p)) if soft else (rng.random(n) < p).astype(float)
    weights = rng.uniform(0.2, 2.0, n) if weighted else np.ones(n)
    old = (rng.random(n) < 0.3 + 0.4 * y).astype(int)
    return Examples.of(y, {"g": g, "old": old}, weights), predictions


def resampled(examples: Examples, rows: NDArray[np.intp]) -> Examples:
    columns = {name: column[rows] for name, column in examples.columns.items()}
    return Examples.of(examples.labels[rows], columns, examples.weights[rows])


EXPRESSIONS = {
    "accuracy": eq.accuracy(),
    "difference of tpr": eq.tpr(G) - eq.tpr(~G),
    "slice and everybody": eq.positive_rate(G) - 0.5 * eq.positive_rate(),
    "precision": eq.precision(),
    "difference of precision": eq.precision(G) - eq.precision(~G),
    "f1": eq.f1(),
    "jaccard": eq.jaccard(G),
    "g_mean": eq.g_mean(),
    "q_mean": eq.q_mean(),
    "kl": eq.kl_divergence(G),
    "win-loss": eq.win_loss_ratio("old"),
    "churn": eq.churn("old", G),
    "base rate": eq.base_rate(),
    "log": eq.log(eq.tpr()) - eq.square(eq.fpr()),
}


@pytest.mark.slow
@pytest.mark.parametrize(("soft", "weighted"), [(False, False), (True, True)], ids=["0/1", "weighted probabilities"])
def test_errors_agree_with_the_bootstrap(soft: bool, weighted: bool) -> None:
    examples, predictions = drawn(1, 2000, positive=(0.2, 0.8), soft=soft, weighted=weighted)
    rng = np.random.default_rng(2)
    names = [name for name in EXPRESSIONS if name != "kl" or not soft]
    samples: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(200):
        rows = rng.integers(0, len(examples), len(examples))
        part = resampled(examples, rows)
        for name in names:
            expr = EXPRESSIONS[name]
            samples[name].append(
                expr.evaluate(part.labels, predictions[rows], attributes=part.columns, sample_weight=part.weights)
            )
    for name in names:
        found = estimate(EXPRESSIONS[name], examples, predictions)
        # Three standard errors of the bootstrap's own are 3 / sqrt(2 * 200), that is 15 %.
        assert found.error == pytest.approx(np.std(samples[name]), rel=0.15), name


def test_binomial_closed_form() -> None:
    examples, predictions = drawn(3, 2000)
    for rate, mask in (
        (eq.accuracy(), slice(None)),
        (eq.tpr(), examples.labels == 1),
        (eq.fpr(), examples.labels == 0),
    ):
        found = estimate(rate, examples, predictions)
        n = np.ones(2000)[mask].sum()
        assert found.error == pytest.approx(math.sqrt(found.value * (1 - found.value) / n), rel=0.02)


def test_difference_of_proportions_closed_form() -> None:
    examples, predictions = drawn(4, 4000)
    variance = 0.0
    for part in (G, ~G):
        inside = examples.mask(part) & (examples.labels == 1)
        p = predictions[inside].mean()
        variance += p * (1 - p) / inside.sum()
    found = estimate(eq.tpr(G) - eq.tpr(~G), examples, predictions)
    assert found.error == pytest.approx(math.sqrt(variance), rel=0.02)


def test_ratio_closed_forms() -> None:
    examples, predictions = drawn(5, 4000)
    y = examples.labels
    precision = estimate(eq.precision(), examples, predictions)
    # Precision is a proportion among those predicted 1.
    assert precision.error == pytest.approx(
        math.sqrt(precision.value * (1 - precision.value) / predictions.sum()), rel=0.02
    )
    f1 = estimate(eq.f1(), examples, predictions)
    denominator = (predictions + y).mean()
    influence = (2 * predictions * y - f1.value * (predictions + y)) / denominator
    assert f1.error == pytest.approx(math.sqrt((influence**2).mean() / len(y)), rel=0.02)


def test_weights_are_those_of_a_sum() -> None:
    examples, predictions = drawn(6, 3000, weighted=True)
    w, right = examples.weights, np.where(examples.labels == 1, predictions, 1 - predictions)
    found = estimate(eq.accuracy(), examples, predictions)
    exact = math.sqrt((w**2 * (right - found.value) ** 2).sum()) / w.sum()
    assert found.error == pytest.approx(exact, rel=0.02)
    scaled = Examples.of(examples.labels, examples.columns, 1000 * w)
    assert estimate(eq.f1(), scaled, predictions).error == pytest.approx(
        estimate(eq.f1(), examples, predictions).error, rel=1e-9
    )


def test_examples_without_weight_do_not_count() -> None:
    examples, predictions = drawn(7, 400)
    rng = np.random.default_rng(0)
    junk = rng.integers(0, 2, 300)
    columns = {name: np.concatenate([column, junk]) for name, column in examples.columns.items()}
    padded = Examples.of(np.concatenate([examples.labels, junk]), columns, np.repeat([1.0, 0.0], [400, 300]))
    for expr in EXPRESSIONS.values():
        a, b = estimate(expr, examples, predictions), estimate(expr, padded, np.concatenate([predictions, 1.0 - junk]))
        assert (a.value, a.error) == pytest.approx((b.value, b.error), rel=1e-9)


COVERAGE: dict[str, tuple[Any, dict[str, Any]]] = {
    "accuracy": (eq.accuracy(), {"n": 200}),
    "accuracy near 1": (eq.accuracy(), {"n": 100, "positive": (0.02, 0.98)}),
    "tpr of a small slice": (eq.tpr(G), {"n": 60, "positive": (0.1, 0.9)}),
    "fpr near 0": (eq.fpr(), {"n": 80, "positive": (0.03, 0.9)}),
    "fpr that is never seen": (eq.fpr(), {"n": 30, "positive": (0.1, 0.9)}),
    "difference of tpr": (eq.tpr(G) - eq.tpr(~G), {"n": 150, "base": 0.5}),
    "precision near 1": (eq.precision(), {"n": 100, "base": 0.5, "positive": (0.04, 0.8)}),
    "f1": (eq.f1(), {"n": 150}),
    "f1 of probabilities": (eq.f1(), {"n": 150, "soft": True}),
    "weighted tpr of probabilities": (eq.tpr(), {"n": 200, "soft": True, "weighted": True}),
    "kl near 0": (eq.kl(0.33, eq.positive_rate()), {"n": 200}),
}


def truth(expr: eq.Expression, base: float = 0.3, positive: tuple[float, float] = (0.1, 0.8), **_: Any) -> float:
    """The value in the population, which has these four kinds of examples."""
    y, group = np.array([0, 1] * 2), np.repeat([0, 1], 2)
    weights = np.where(y == 1, base, 1 - base) * np.where(group == 1, 0.4, 0.6)
    return expr.evaluate(y, np.asarray(positive)[y], attributes={"g": group, "old": y}, sample_weight=weights)


@pytest.mark.slow
@pytest.mark.parametrize("name", COVERAGE)
def test_intervals_cover_the_truth(name: str) -> None:
    expr, setting = COVERAGE[name]
    wanted, repetitions = truth(expr, **setting), 250
    both = above = below = 0
    for seed in range(repetitions):
        found = estimate(expr, *drawn(1000 + seed, **setting))
        low, high = found.interval(0.95)
        both += low <= wanted <= high
        above += wanted <= found.upper(0.95)
        below += wanted >= found.lower(0.95)
    # At 95 % the count of 250 has a standard deviation of 3.4. Too many is possible by design near 0 and 1.
    assert both / repetitions >= 0.925
    assert above / repetitions >= 0.925
    assert below / repetitions >= 0.925
    if name in ("accuracy", "difference of tpr", "f1"):
        assert both / repetitions <= 0.99


@pytest.mark.parametrize("n", [10, 30, 300])
@pytest.mark.parametrize(
    "expr", [eq.error_rate(), eq.fpr(), 1 - eq.precision(), 1 - eq.f1(), 1 - eq.q_mean()], ids=repr
)
def test_a_sample_without_errors_is_not_certain(expr: eq.Expression, n: int) -> None:
    y = np.arange(2 * n) % 2
    found = estimate(expr, Examples.of(y), y.astype(float))
    assert found.value == pytest.approx(0, abs=1e-12)
    # The exact upper bound after no event in n trials is 1 - 0.05^(1/n), and here there are n to 2n trials.
    assert 0.995 * (1 - 0.05 ** (1 / (2 * n))) <= found.upper(0.95) <= 2 * (1 - 0.05 ** (1 / n))


def test_probabilities_add_only_what_could_have_gone_unseen() -> None:
    # Everybody is predicted 1 with probability 0.3: positive_rate is 0.3 in every sample.
    errors = []
    for n in (100, 1000, 10_000):
        y = np.arange(n) % 2
        errors.append(estimate(eq.positive_rate(), Examples.of(y), np.full(n, 0.3)).error)
        assert 0 < errors[-1] < 2 / n
        # A coin for each would vary much more.
        assert errors[-1] < math.sqrt(0.3 * 0.7 / n)
    # Slightly uncertain predictions are treated like certain ones, without a jump.
    y = np.arange(200) % 2
    certain, nearly = (estimate(eq.accuracy(), Examples.of(y), np.clip(y, e, 1 - e)).error for e in (0.0, 1e-9))
    assert nearly == pytest.approx(certain, rel=1e-6)


def test_values_stay_plain_and_intervals_stay_in_range() -> None:
    examples, predictions = drawn(8, 50, positive=(0.0, 1.0))
    found = estimate(eq.accuracy(), examples, predictions)
    assert found.value == 1
    assert found.interval(0.95)[1] == 1
    assert found.interval(0.95)[0] < 0.98
    examples, predictions = drawn(8, 200)
    for expr in EXPRESSIONS.values():
        value = expr.evaluate(examples.labels, predictions, attributes=examples.columns)
        found = estimate(expr, examples, predictions)
        low, high = found.interval(0.9)
        assert found.value == pytest.approx(value, rel=1e-12)
        assert expr.interval.lo <= low < value < high <= expr.interval.hi


def test_values_without_an_error() -> None:
    examples, predictions = drawn(9, 100)
    infinite = estimate(eq.log(eq.positive_rate()), examples, np.zeros(100))
    assert infinite.value == -math.inf
    assert infinite.error == math.inf
    assert infinite.interval(0.95) == (-math.inf, 0.0)
    constant = estimate(eq.max(0.2, 0.3), examples, predictions)
    assert (constant.value, constant.error) == (0.3, 0.0)
    with pytest.raises(TypeError, match="scores"):
        estimate(eq.log_loss(), examples, predictions)
    with pytest.raises(eq.DataError, match="holds no example"):
        estimate(eq.tpr(eq.attr("g") == 7), examples, predictions)


def test_many_slices() -> None:
    rng = np.random.default_rng(0)
    n, groups = 10_000, 100
    y, g, p = rng.integers(0, 2, n), rng.integers(0, groups, n), rng.integers(0, 2, n).astype(float)
    average = sum(eq.positive_rate(eq.attr("g") == k) for k in range(groups)) / groups
    found = estimate(average, Examples.of(y, {"g": g}), p)
    assert found.error == pytest.approx(0.5 / math.sqrt(n), rel=0.05)


def test_a_kink_does_not_make_certain() -> None:
    y, g = np.repeat([1, 1, 0], 200), np.tile([0, 1], 300)
    p = np.tile([0, 0, 1, 1], 150).astype(float)
    smooth = estimate(eq.tpr(G) - eq.tpr(~G), Examples.of(y, {"g": g}), p)
    kinked = estimate(eq.abs(eq.tpr(G) - eq.tpr(~G)), Examples.of(y, {"g": g}), p)
    assert smooth.value == kinked.value == 0
    assert 0.8 * smooth.error <= kinked.error <= 2 * smooth.error


# -- verdicts -------------------------------------------------------------------------------------


def proportion(share: float, n: int = 400) -> tuple[Examples, Array]:
    return Examples.of(np.arange(n) % 2), (np.arange(n) < share * n).astype(float)


def test_verdicts() -> None:
    examples, predictions = proportion(0.3)
    error = math.sqrt(0.3 * 0.7 / 400)
    for margin, verdict in ((2.0, "pass"), (1.3, "cannot tell"), (-1.3, "cannot tell"), (-2.0, "fail")):
        for constraint in (
            eq.positive_rate() <= 0.3 + margin * error,
            eq.negative_rate() >= 0.7 - margin * error,
            0.3 + margin * error >= eq.positive_rate(),
        ):
            (found,) = certify([constraint], examples, predictions, 0.95)
            assert found.verdict == verdict
            assert found.violation == pytest.approx(-margin * error)
            assert found.error == pytest.approx(error, rel=0.02)
            assert found.constraint == repr(constraint)
            z = norm.ppf(0.95)
            assert (found.low, found.high) == pytest.approx((-(margin + z) * error, (z - margin) * error), abs=3e-3)
            assert str(found).startswith(verdict)


def test_more_confidence_says_less() -> None:
    examples, predictions = proportion(0.3)
    verdicts = [certify([eq.positive_rate() <= 0.345], examples, predictions, c)[0].verdict for c in (0.9, 0.95, 0.99)]
    assert verdicts == ["pass", "pass", "cannot tell"]


def test_abs_and_max_are_taken_apart() -> None:
    n = 2000
    y, g = np.arange(n) % 2, np.repeat([0, 1], n // 2)
    gap = Examples.of(y, {"g": g})
    for size, verdict in ((0.0, "pass"), (0.3, "fail"), (0.105, "cannot tell")):
        for sign in (0, 1):
            rate = np.where(g == sign, 0.2 + size, 0.2)
            predictions = ((np.arange(n) % 1000) / 1000 < rate).astype(float)
            difference = eq.positive_rate(G) - eq.positive_rate(~G)
            for constraint in (
                eq.abs(difference) <= 0.1,
                eq.max(difference, -difference) <= 0.1,
                -eq.abs(difference) >= -0.1,
            ):
                (found,) = certify([constraint], gap, predictions)
                assert found.verdict == verdict
                assert found.violation == pytest.approx(constraint.evaluate(y, predictions, attributes={"g": g}))
                assert found.low <= found.violation <= found.high


def test_the_interval_of_a_maximum_is_that_of_its_least_certain_part() -> None:
    # A small slice with a smaller value but a much larger error decides the upper end.
    y, g = np.arange(1010) % 2, np.repeat([0, 1], [1000, 10])
    predictions = np.concatenate([np.arange(1000) % 10 < 3, np.arange(10) < 2]).astype(float)
    examples = Examples.of(y, {"g": g})
    (both,) = certify([eq.max(eq.positive_rate(G), eq.positive_rate(~G)) <= 0.35], examples, predictions)
    small, large = certify([eq.positive_rate(G) <= 0.35, eq.positive_rate(~G) <= 0.35], examples, predictions)
    assert both.violation == large.violation
    assert both.high == small.high > large.high
    # Either of two slices could be the one above the bound, so each has half of what the level leaves.
    assert both.low == certify([eq.positive_rate(~G) <= 0.35], examples, predictions, 0.975)[0].low < large.low
    assert both.verdict == "cannot tell"
    assert large.verdict == "pass"


@pytest.mark.parametrize("confidence", [0.5, 1, 1.0, 0, 95, -0.9, True, "0.95", None, float("nan")])
def test_what_is_not_a_confidence_is_refused(confidence: Any) -> None:
    with pytest.raises(eq.EquirateError, match=r"between 0\.5 and 1"):
        check_confidence(confidence)
    examples, predictions = proportion(0.3)
    with pytest.raises(eq.EquirateError, match="confidence"):
        certify([eq.positive_rate() <= 0.5], examples, predictions, confidence)


def test_no_constraints() -> None:
    assert certify([], *proportion(0.3)) == []


def test_estimates_are_plain() -> None:
    found = Estimate(0.5, 0.1, Interval(0.0, 0.6))
    assert found.interval(0.95) == pytest.approx((0.5 - 0.196, 0.6), abs=1e-3)
    assert found.upper(0.95) == 0.6
    assert Estimate(0.5, 0.1).upper(0.95) == pytest.approx(0.6645, abs=1e-4)
    assert found.lower(0.95) == pytest.approx(0.3355, abs=1e-4)
    assert isinstance(Certificate("c", 0.0, 0.1, -0.1, 0.1, 0.95, "pass"), Certificate)


@pytest.mark.parametrize(
    "expr",
    [
        eq.tpr(G) + eq.tpr(~G) + eq.fpr() - 0.5 * eq.positive_rate(G),
        eq.square(eq.tpr(G) - eq.tpr()) + eq.f1(~G),
        abs(eq.churn("old", G) - eq.wins("old")) + eq.base_rate(G),
    ],
    ids=["affine", "convex and ratio", "against another model"],
)
def test_how_much_is_evaluated_at_once_does_not_matter(monkeypatch: pytest.MonkeyPatch, expr: eq.Expression) -> None:
    found = []
    for at_once in (1, 40, 2**20):
        monkeypatch.setattr("equirate.judge.estimates._AT_ONCE", at_once)
        one = estimate(expr, *drawn(5, 300, soft=True, weighted=True))
        found.append((one.value, one.error, one.upper(0.95), one.lower(0.95)))
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    assert found[0] == pytest.approx(found[2], rel=1e-12)


@pytest.mark.slow
def test_a_false_pass_is_rare_near_the_boundary() -> None:
    """The constraint is broken by a hair: at 95 % it may pass in one case of twenty."""
    passed = 0
    for seed in range(400):
        examples, predictions = drawn(5000 + seed, 50, positive=(0.1, 0.9))
        passed += certify([eq.fpr() <= 0.099], examples, predictions)[0].verdict == "pass"
    assert passed / 400 <= 0.07


# -- several constraints --------------------------------------------------------------------------


def p_value(constraint: eq.Constraint, examples: Examples, predictions: Array) -> float:
    """The smallest chance to be wrong at which the constraint passes."""
    low, high = 0.5 + 1e-9, 1 - 1e-9
    for _ in range(40):
        middle = (low + high) / 2
        passes = certify([constraint], examples, predictions, middle)[0].verdict == "pass"
        low, high = (middle, high) if passes else (low, middle)
    return 1 - low


def test_corrections_are_those_of_p_values() -> None:
    examples, predictions = drawn(11, 400)
    value = eq.positive_rate().evaluate(examples.labels, predictions)
    constraints = [eq.positive_rate() <= value + margin for margin in (0.042, 0.045, 0.056, 0.058, 0.02)]
    p = np.array([p_value(c, examples, predictions) for c in constraints])
    order, holm, rejected = np.argsort(p), np.zeros(5, dtype=bool), True
    for rank, k in enumerate(order):
        rejected = rejected and p[k] <= 0.05 / (5 - rank)
        holm[k] = rejected
    wanted = {None: p <= 0.05, "bonferroni": p <= 0.01, "holm": holm}
    found = {}
    for correction, passes in wanted.items():
        made = certify(constraints, examples, predictions, correction=correction)
        found[correction] = [one.verdict == "pass" for one in made]
        assert found[correction] == passes.tolist()
        assert made.verdict == "cannot tell"
    assert sum(found["bonferroni"]) < sum(found["holm"]) < sum(found[None])


def test_the_joint_verdict() -> None:
    examples, predictions = proportion(0.3)
    loose, broken, near = (eq.positive_rate() <= c for c in (0.5, 0.1, 0.31))
    for constraints, verdict in (
        ([loose, loose], "pass"),
        ([loose, broken], "fail"),
        ([loose, near], "cannot tell"),
        ([], "pass"),
    ):
        assert certify(constraints, examples, predictions).verdict == verdict
    assert "pass" in str(certify([loose, near], examples, predictions)).splitlines()[0]


def test_both_sides_of_an_abs_are_one_way_to_fail() -> None:
    gap = eq.tpr(G) - eq.tpr(~G)
    assert opposed(*(part.residual for part in (abs(gap) <= 0.1).split()))
    assert opposed(*(part.residual for part in (eq.abs(eq.f1(G) - eq.f1(~G)) <= 0.1).split()))
    assert not opposed(*(part.residual for part in (eq.max(eq.tpr(G), eq.tpr(~G)) <= 0.1).split()))


@pytest.mark.parametrize("options", [{"method": "strict"}, {"correction": "sidak"}])
def test_what_is_not_a_method_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(eq.EquirateError, match="must be one of"):
        certify([eq.positive_rate() <= 0.5], *proportion(0.3), **options)


def test_anybody_may_certify() -> None:
    examples, predictions = drawn(12, 300)
    problem = eq.Problem(eq.minimize(eq.error_rate()), eq.equal_opportunity("g", tolerance=0.2))
    found = eq.certify(problem, examples.labels, predictions, attributes=examples.columns, clusters=np.arange(300) // 3)
    clustered = replace(examples, clusters=np.arange(300) // 3)
    inner = certify(problem.expanded(examples).constraints, clustered, predictions)
    assert found == inner
    assert found != eq.certify(problem, examples.labels, predictions, attributes=examples.columns)
    # What no game can be played for can still be judged.
    assert eq.certify(eq.tpr() * eq.tnr() >= 0.1, examples.labels, predictions)[0].verdict == "pass"
