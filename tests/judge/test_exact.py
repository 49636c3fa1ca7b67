"""The exact method: its coverage is worked out, not simulated, and what it cannot do it says."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, binom

import equirate as eq
from equirate.judge.certify import Certificate
from equirate.judge.exact import clopper_pearson

Array = NDArray[np.float64]
G = eq.attr("g") == 1
N = 60
Y = np.arange(N) % 2
GROUP = np.arange(N) // 2 % 2


def decided(*counts: int) -> Array:
    """Decisions of which so many are 1 among (group, label) = (0, 0), (0, 1), (1, 0), (1, 1), 15 each."""
    found = np.zeros(N)
    for k, count in enumerate(counts):
        found[np.flatnonzero((k // 2 == GROUP) & (k % 2 == Y))[:count]] = 1
    return found


def exact(constraint: eq.Constraint, predictions: Array, confidence: float = 0.95) -> Certificate:
    return eq.certify(constraint, Y, predictions, attributes={"g": GROUP}, confidence=confidence, method="exact")[0]


@pytest.mark.parametrize(("trials", "share"), [(10, 0.05), (20, 0.5), (35, 0.93), (50, 0.02)])
def test_clopper_pearson_holds_whatever_the_proportion(trials: int, share: float) -> None:
    counts = np.arange(trials + 1)
    for side in (1, -1):
        bounds = np.array([clopper_pearson(int(k), trials, 0.05, side) for k in counts])
        right = side * bounds >= side * share
        assert binom.pmf(counts, trials, share) @ right >= 0.95


def test_a_rate_is_a_binomial() -> None:
    found = exact(eq.recall() <= 0.5, decided(3, 6, 2, 9))
    assert found.violation == pytest.approx(0.0)
    assert found.high == pytest.approx(beta.ppf(0.95, 16, 15) - 0.5)
    assert found.low == pytest.approx(beta.ppf(0.05, 15, 16) - 0.5)
    assert found.method == "exact"


def test_a_difference_shares_the_level() -> None:
    found = exact(eq.recall(G) - eq.recall(~G) <= 0.1, decided(3, 6, 2, 9))
    assert found.high == pytest.approx(beta.ppf(0.975, 10, 6) - beta.ppf(0.025, 6, 10) - 0.1)


def test_ratios_are_binomials_among_those_that_count() -> None:
    predictions = decided(3, 6, 2, 9)  # 15 true and 5 false positives, 15 false negatives
    precision = exact(eq.precision() >= 0.5, predictions)
    assert precision.high == pytest.approx(0.5 - beta.ppf(0.05, 15, 6))
    assert precision.verdict == "pass"
    f1 = exact(eq.f1() >= 0.5, predictions)
    share = beta.ppf(0.05, 15, 21)  # true positives among those that are not true negatives
    assert f1.high == pytest.approx(0.5 - 2 * share / (1 + share))
    parity = exact(eq.precision(G) - eq.precision(~G) <= 0, predictions)
    assert parity.high == pytest.approx(beta.ppf(0.975, 10, 2) - beta.ppf(0.025, 6, 4))


def test_any_other_single_ratio_is_multiplied_through() -> None:
    predictions = decided(3, 6, 2, 9)
    for ratio in (eq.f_score(2.0), eq.positive_rate(G) / eq.positive_rate(~G)):
        found = exact(ratio <= 0.7, predictions)
        limit = 0.7 + found.high
        definition = next(part for _, part in ratio.terms())
        touching = exact(definition.left - limit * definition.right <= 0, predictions)
        assert touching.high == pytest.approx(0, abs=1e-6)
        assert found.low < found.violation < found.high


def test_a_product_with_a_base_rate_and_sums_of_many_values() -> None:
    predictions = decided(3, 6, 2, 9)
    found = exact(eq.positive_rate() <= eq.base_rate() + 0.3, predictions)
    # Everybody contributes -1, 0 or 1: two proportions.
    low, high = predictions - Y >= 0, predictions - Y >= 1
    wanted = -1 + sum(beta.ppf(0.975, k + 1, N - k) for k in (low.sum(), high.sum())) - 0.3
    assert found.high == pytest.approx(wanted)


def test_probabilities_are_drawn_once() -> None:
    p = np.full(N, 0.4)
    one, again = (eq.certify(eq.recall() <= 0.5, Y, p, method="exact")[0] for _ in range(2))
    other = eq.certify(eq.recall() <= 0.5, Y, p, method="exact", random_state=5)[0]
    assert one == again
    assert one.violation != other.violation
    assert (one.violation + 0.5) * 30 == pytest.approx(round((one.violation + 0.5) * 30))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_weight": 1.0 + Y}, "leave sample_weight out"),
        ({"clusters": GROUP}, "keep one example of each cluster"),
    ],
)
def test_what_is_not_binomial_is_refused(options: dict[str, Array], message: str) -> None:
    with pytest.raises(eq.EquirateError, match=message):
        eq.certify(eq.recall() <= 0.5, Y, decided(3, 6, 2, 9), method="exact", **options)
    weights = {"sample_weight": np.full(N, 3.0)}
    assert eq.certify(eq.recall() <= 0.5, Y, decided(3, 6, 2, 9), method="exact", **weights) == eq.certify(
        eq.recall() <= 0.5, Y, decided(3, 6, 2, 9), method="exact"
    )


@pytest.mark.parametrize(
    "constraint",
    [
        eq.kl_divergence(G) <= 0.1,
        eq.g_mean() >= 0.5,
        eq.f_score(2.0, G) - eq.f_score(2.0, ~G) <= 0.1,
        eq.positive_rate() <= eq.base_rate() * eq.positive_rate(G),
    ],
    ids=repr,
)
def test_functions_that_bend_are_refused(constraint: eq.Constraint) -> None:
    with pytest.raises(eq.EquirateError, match="use method='approximate'"):
        exact(constraint, decided(3, 6, 2, 9))
