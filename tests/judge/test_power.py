"""Power against the closed forms of large samples, exact binomials of small ones, and simulated certificates."""

import json
import math
import re

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import beta, binom, norm

import equirate as eq
from equirate.judge.spread import UnitSums

G = eq.attr("g") == 1


def people(n: int, share: float = 0.25, base: float = 0.3) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Labels and a group, just as many of each as expected."""
    group = (np.arange(n) < share * n).astype(int)
    y = np.zeros(n, dtype=int)
    for k in (0, 1):
        members = np.flatnonzero(group == k)
        y[members[: round(base * len(members))]] = 1
    return y, {"g": group}


RATES = {"tpr": 0.8, "fpr": 0.1}
ONE_SIDED, TWO_SIDED = norm.ppf(0.95) + norm.ppf(0.8), norm.ppf(0.95) + norm.ppf(0.9)


def margin(constraint: eq.Constraint, n: int, **options: float) -> float:
    y, attributes = people(n)
    return eq.power(constraint, y, attributes=attributes, rates=RATES, **options).constraints[0].margin


def test_large_samples_have_the_closed_forms() -> None:
    n = 400_000
    labelled, of_group = 0.3 * n, 0.25 * n
    assert pytest.approx((2.49, 2.93), abs=0.005) == (ONE_SIDED, TWO_SIDED)
    recall = ONE_SIDED * math.sqrt(0.8 * 0.2 / labelled)
    assert margin(eq.recall() >= 0.7, n) == pytest.approx(recall, rel=0.02)
    gap = TWO_SIDED * math.sqrt(0.16 / (0.3 * of_group) + 0.16 / (0.3 * (n - of_group)))
    assert margin(abs(eq.recall(G) - eq.recall(~G)) <= 0.05, n) == pytest.approx(gap, rel=0.02)
    predicted = 0.3 * 0.8 + 0.7 * 0.1
    precision = 0.24 / predicted
    wanted = ONE_SIDED * math.sqrt(precision * (1 - precision) / (predicted * n))
    assert margin(eq.precision() >= 0.7, n) == pytest.approx(wanted, rel=0.02)
    f1 = 0.48 / (0.3 + predicted)
    counted = (0.3 + 0.7 * 0.1) * n  # those that are labelled or predicted 1
    wanted = ONE_SIDED * (2 - f1) * math.sqrt(f1 * (1 - f1) / (2 * counted))
    assert margin(eq.f1() >= 0.7, n) == pytest.approx(wanted, rel=0.02)


def test_a_limit_at_the_assumed_rates_is_certified_of_better_ones() -> None:
    y = np.repeat([1, 0], [6000, 14000])  # the precision that is assumed is the recall, 0.8
    found = eq.power(eq.precision() >= 0.8, y)
    assert found.constraints[0].certifiable is None
    assert "can be certified at 95% where the truth is better than the limit by 0.014" in str(found)


@pytest.mark.parametrize("n", [40, 100, 400])
def test_a_single_rate_is_told_by_its_binomial(n: int) -> None:
    trials = round(0.3 * n)
    found = margin(eq.fnr() <= 0.5, n)
    limit = 0.2 + found
    largest = max(k for k in range(trials) if beta.ppf(0.95, k + 1, trials - k) <= limit + 1e-9)
    assert binom.cdf(largest, trials, 0.2) >= 0.8
    assert binom.cdf(largest - 1, trials, 0.2) < 0.8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("constraint", "n"),
    [
        (lambda m: abs(eq.positive_rate(G) - eq.positive_rate(~G)) <= m, 400),
        (lambda m: abs(eq.recall(G) - eq.recall(~G)) <= m, 800),
        (lambda m: eq.precision() >= 24 / 31 - m, 400),
        (lambda m: abs(eq.f1(G) - eq.f1(~G)) <= m, 1000),
    ],
    ids=["parity", "equal opportunity", "precision", "f1 parity"],
)
def test_what_is_foretold_comes_true(constraint, n: int) -> None:
    rng = np.random.default_rng(1)
    found, (_, attributes), passed = constraint(margin(constraint(0.1), n)), people(n), 0
    for _ in range(250):
        y = (rng.random(n) < 0.3).astype(int)
        decided = rng.random(n) < np.where(y == 1, 0.8, 0.1)
        passed += eq.certify(found, y, decided, attributes=attributes)[0].verdict == "pass"
    # 80 % of 250 have a standard deviation of 2.5 %.
    assert 0.72 <= passed / 250 <= 0.92


def test_so_many_examples_would_do() -> None:
    constraint = abs(eq.recall(G) - eq.recall(~G)) <= 0.05
    y, attributes = people(2000)
    few = eq.power(constraint, y, attributes=attributes, rates=RATES).constraints[0]
    assert few.certifiable is False
    assert few.two_sided
    assert (few.examples, few.group) == (150, "examples of g == 1 with label 1")
    assert few.available == pytest.approx(0.05)
    factor = few.needed / few.examples
    assert few.rows == pytest.approx(factor * 2000, rel=0.1)
    for times, enough in ((1.1 * factor, True), (0.85 * factor, False)):
        y, attributes = people(round(times * 2000))
        more = eq.power(constraint, y, attributes=attributes, rates=RATES).constraints[0]
        assert more.certifiable is enough
    # And the tolerance that these can do can be done.
    loose = eq.power(abs(eq.recall(G) - eq.recall(~G)) <= few.margin + 1e-9, y, attributes=attributes, rates=RATES)
    assert loose.certifiable
    assert few.needed > 0.9 * few.examples * (few.margin / 0.05) ** 2 * 0.9


def test_what_is_printed() -> None:
    y, attributes = people(2000)
    constraints = [
        abs(eq.recall(G) - eq.recall(~G)) <= 0.05,
        eq.positive_rate() <= 0.5,
        eq.recall() >= 0.9,
        eq.recall() >= 0.79,
        eq.recall(eq.attr("g") == 3) >= 0.5,
    ]
    found = eq.power(constraints, y, attributes=attributes, rates=RATES)
    text = str(found)
    assert "with 150 examples of g == 1 with label 1, abs(recall(g == 1) - recall(~(g == 1))) <= 0.05 cannot" in text
    assert re.search(r"cannot be certified at 95%; about [6-8]\d0 would do, or a tolerance of 0\.1[12]\n", text)
    assert "with 2,000 examples, positive_rate() <= 0.5 can be certified at 95%: the truth must keep" in text
    assert re.search(
        r"recall\(\) >= 0.9 can be .* better than the limit by 0\.\d+, which the assumed rates are not\n", text
    )
    assert re.search(
        r">= 0.79 cannot be certified at 95% at the assumed rates; .*; it can where the truth is better", text
    )
    assert "no examples of some group" in text
    assert [part.certifiable for part in found.constraints] == [False, True, None, False, False]
    assert not found.certifiable
    assert json.loads(json.dumps(found.to_dict()))["power"] == 0.8


@pytest.mark.parametrize(
    "constraint",
    [
        eq.kl_divergence(G) <= 0.1,
        eq.max(eq.fpr(G), eq.fpr(~G)) <= 0.3,
        eq.g_mean() >= 0.5,
        eq.positive_rate(G) / eq.positive_rate(~G) >= 0.5,
        eq.tpr() * eq.tnr() >= 0.4,
    ],
    ids=repr,
)
def test_any_expression_has_a_power(constraint: eq.Constraint) -> None:
    margins = [margin(constraint, n) for n in (300, 1200, 4800)]
    assert margins[0] > margins[1] > margins[2] > 0
    # Four times as many examples halve the margin, or better where the function is flat.
    assert margins[1] / margins[2] == pytest.approx(2, rel=0.25) or margins[1] / margins[2] > 2


def test_problems_families_and_pilots() -> None:
    y, attributes = people(1000)
    problem = eq.Problem(eq.maximize(eq.f1()), eq.equal_opportunity("g", tolerance=0.1))
    by_default = eq.power(problem, y, attributes=attributes)
    assert "0.8" in by_default.assumed
    rng = np.random.default_rng(0)
    pilot = (rng.random(1000) < np.where(y == 1, 0.8, 0.09)).astype(float)
    given = eq.power(problem, y, attributes=attributes, predictions=pilot)
    assert given.constraints[0].margin == pytest.approx(by_default.constraints[0].margin, rel=0.2)
    together = eq.power(problem, y, attributes=attributes, predictions=pilot, clusters=np.arange(1000) // 4)
    assert together.constraints[0].margin > 0
    # A mixture's expected rates vary less than decisions drawn from it.
    soft = eq.power(problem, y, attributes=attributes, predictions=np.where(y == 1, 0.8, 0.09))
    assert soft.constraints[0].margin < 0.3 * given.constraints[0].margin


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rates": {"recall": 0.8}}, "takes 'tpr' and 'fpr'"),
        ({"rates": {"tpr": 1.8}}, "between 0 and 1"),
        ({"power": 1.0}, "power must lie"),
        ({"confidence": 0.4}, "confidence must lie"),
        ({"clusters": np.arange(100)}, "pilot"),
        ({"rates": RATES, "predictions": np.zeros(100)}, "not both"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(eq.EquirateError, match=message):
        eq.power(eq.recall() >= 0.5, people(100)[0], **options)
    with pytest.raises(TypeError, match="<= or >="):
        eq.power("recall", people(100)[0])


def test_more_clusters_of_the_same_kind_are_a_sample_in_which_each_is_there_so_often():
    rng = np.random.default_rng(3)
    totals = rng.uniform(0, 1, (7, 4)) / 7
    predicted = totals * rng.uniform(0, 1, (7, 4))
    few = UnitSums(sp.csr_array(predicted), sp.csr_array(totals), np.ones(7), np.ones(7), 7)
    thrice = [sp.csr_array(np.tile(sums, (3, 1)) / 3) for sums in (predicted, totals)]
    many = UnitSums(*thrice, np.ones(21), np.ones(21), 21)
    a, b, slopes, offsets = rng.normal(size=4), rng.normal(size=4), rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    supposed = few.times(1.5).times(2.0)
    np.testing.assert_allclose(supposed.moments(a, b), many.moments(a, b))
    np.testing.assert_allclose(supposed.covariances(a, b, slopes, offsets), many.covariances(a, b, slopes, offsets))
    np.testing.assert_allclose(supposed.concentration(np.eye(4)), many.concentration(np.eye(4)))
    u = (predicted @ a + totals @ b) / 3
    assert supposed.moments(a, b)[0] == pytest.approx(3 * (u @ u) * 21 / 20)


def passing(n: int, runs: int, rng: np.random.Generator) -> float:
    """How often ``n`` women with label 1, and twenty times as many men, certify a recall that is equal in truth."""
    constraint = eq.tpr(eq.attr("sex") == "F") >= eq.tpr(eq.attr("sex") == "M") - 0.1
    sex = np.repeat(["F", "M"], [n, 20 * n])
    y = np.ones(21 * n, dtype=int)
    found = [eq.certify(constraint, y, rng.random(21 * n) < 0.8, attributes={"sex": sex}).verdict for _ in range(runs)]
    return found.count("pass") / runs


def test_how_many_would_do_is_what_simulation_says() -> None:
    y, sex = np.ones(21 * 20, dtype=int), np.repeat(["F", "M"], [20, 400])
    constraint = eq.tpr(eq.attr("sex") == "F") >= eq.tpr(eq.attr("sex") == "M") - 0.1
    (told,) = eq.power(constraint, y, attributes={"sex": sex}).constraints
    assert told.certifiable is False
    assert told.needed is not None
    rng = np.random.default_rng(0)
    assert passing(told.needed, 150, rng) >= 0.75
    assert passing(told.needed // 2, 150, rng) <= 0.75


def test_impossible_numbers_are_not_printed() -> None:
    y, sex = np.ones(63, dtype=int), np.repeat(["F", "M"], [3, 60])
    constraint = eq.tpr(eq.attr("sex") == "F") >= eq.tpr(eq.attr("sex") == "M") - 0.1
    few = eq.power(constraint, y, attributes={"sex": sex}).constraints[0]
    precise = eq.power(eq.precision() >= 0.7, np.array([1, 0, 1, 0, 0]), rates={"tpr": 0.9, "fpr": 0.05}).constraints[0]
    for told in (few, precise):
        assert told.certifiable is not True
        numbers = re.findall(r"better than the limit by ([\d.]+)", str(told))
        assert all(float(number) <= told.most + 1e-9 for number in numbers), str(told)
    assert few.most == pytest.approx(1.1)
    assert precise.most == pytest.approx(0.3)
    equal = abs(eq.tpr(eq.attr("sex") == "F") - eq.tpr(eq.attr("sex") == "M")) <= 0.05
    assert "tolerance of 1." not in str(eq.power(equal, y, attributes={"sex": sex}).constraints[0])


def test_reasons_are_those_of_power() -> None:
    """What is said of a fit that cannot be certified is what power says, and nothing beside it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 2))
    sex = np.where(np.arange(600) < 100, "F", "M")
    y = (X[:, 0] + rng.normal(size=600) > 0).astype(int)
    constraint = abs(eq.tpr(eq.attr("sex") == "F") - eq.tpr(eq.attr("sex") == "M")) <= 0.02
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), [constraint], confidence=0.95, random_state=0)
    with pytest.warns(UserWarning, match="not certified"):
        clf.fit(X, y, sensitive_features={"sex": sex})
    told = clf.certification_
    assert told.reasons == told.power
    assert told.power == tuple(map(str, eq.power([constraint], y, attributes={"sex": sex}).constraints))
