"""The wealth is a martingale, its region holds the truth at all times, and bounds are those of the region."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from equirate.monitoring.martingales import largest, log_wealth

COUNTS = st.integers(0, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def log_at(p: float, k: float, n: float) -> float:
    return float(log_wealth(np.array(p), np.array(float(k)), np.array(float(n))))


@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.99])
def test_it_is_a_martingale(p: float) -> None:
    """The mean over the next outcome is what there is."""
    assert log_at(p, 0, 0) == pytest.approx(0, abs=1e-12)
    for k, n in [(0, 1), (3, 7), (50, 100), (990, 1000), (0, 500)]:
        after = np.logaddexp(np.log(p) + log_at(p, k + 1, n + 1), np.log1p(-p) + log_at(p, k, n + 1))
        assert after == pytest.approx(log_at(p, k, n), abs=1e-8)


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5])
def test_the_truth_is_ever_ruled_out_with_a_chance_of_at_most_alpha(p: float) -> None:
    """Exact: the chance of every count that has not crossed yet, row by row."""
    alpha, alive, crossed = 0.05, np.array([1.0]), 0.0
    for n in range(1, 1001):
        alive = np.concatenate([alive * (1 - p), [0.0]]) + np.concatenate([[0.0], alive * p])
        over = log_wealth(np.array(p), np.arange(n + 1.0), np.full(n + 1, float(n))) >= np.log(1 / alpha)
        crossed += float(alive[over].sum())
        alive[over] = 0.0
    assert 0.005 < crossed <= alpha


@given(COUNTS)
def test_the_logarithm_is_convex(counts: tuple[int, int]) -> None:
    k, n = map(float, counts)
    grid = np.linspace(0.01, 0.99, 99)
    values = log_wealth(grid, np.full(99, k), np.full(99, n))
    assert (np.diff(values, 2) > -1e-6 * (1 + np.abs(values[1:-1]))).all()


@given(COUNTS, st.floats(0.5, 8.0))
def test_one_proportion_is_bounded_where_the_evidence_reaches_the_limit(counts: tuple[int, int], limit: float) -> None:
    k, n = np.array([float(counts[0])]), np.array([float(counts[1])])
    upper, lower = largest(np.ones(1), k, n, limit), -largest(-np.ones(1), k, n, limit)
    assert 0 <= lower <= upper <= 1
    for end in (lower, upper):
        if 1e-9 < end < 1 - 1e-9:
            assert float(log_wealth(np.array(end), k, n)[0]) == pytest.approx(limit, abs=1e-4)


@pytest.mark.parametrize(
    ("coefficients", "k", "n"),
    [
        ([1.0, -1.0], [60, 90], [200, 250]),
        ([1.0, -1.0], [3, 900], [20, 3000]),
        ([0.5, 0.5], [0, 40], [50, 60]),
        ([2.0, -0.3], [10, 20], [100, 100]),
        ([1.0, -1.0], [0, 30], [1, 100]),
    ],
)
def test_two_are_bounded_by_the_largest_value_over_their_region(
    coefficients: list[float], k: list[int], n: list[int]
) -> None:
    """For every value of the first, the second is looked up where the evidence that is left is used up."""
    c, successes, trials, limit = np.array(coefficients), np.array(k, float), np.array(n, float), np.log(1 / 0.05)
    first, second = np.linspace(1e-6, 1 - 1e-6, 4001), np.linspace(1e-6, 1 - 1e-6, 4001)
    evidence = [log_wealth(grid, successes[j], trials[j]) for j, grid in enumerate((first, second))]
    best = -np.inf
    for p, used in zip(first, evidence[0], strict=True):
        left = second[evidence[1] <= limit - used]
        if len(left):
            best = max(best, c[0] * p + max(c[1] * left[0], c[1] * left[-1]))
    upper = largest(c, successes, trials, limit)
    assert best - 1e-9 <= upper <= best + 1e-3


def test_three_are_bounded_by_values_that_use_up_the_evidence() -> None:
    c, k, n, limit = np.array([2.0, -1.0, 0.3]), np.array([10.0, 20, 300]), np.array([100.0, 100, 900]), 3.0
    upper, rng = largest(c, k, n, limit), np.random.default_rng(0)
    way = rng.standard_normal((3, 4000)) * (np.sqrt(k * (n - k) / n**3) * (1 + 100 / n))[:, None]
    way *= np.sign(c @ way)
    low, high = np.zeros(4000), np.full(4000, 50.0)
    for _ in range(50):  # how far one may go each way
        middle = (low + high) / 2
        p = (k / n)[:, None] + middle * way
        out = (p <= 0).any(axis=0) | (p >= 1).any(axis=0) | (log_wealth(p, k[:, None], n[:, None]).sum(0) > limit)
        low, high = np.where(out, low, middle), np.where(out, middle, high)
    reached = c @ ((k / n)[:, None] + low * way)
    assert reached.max() <= upper <= reached.max() + 0.01


def test_a_difference_is_bounded_more_tightly_together_than_one_by_one() -> None:
    k, n, one = np.array([300.0, 300.0]), np.array([1000.0, 1000.0]), np.ones(1)
    together = largest(np.array([1.0, -1.0]), k, n, np.log(1 / 0.05))
    apart = largest(one, k[:1], n[:1], np.log(2 / 0.05)) + largest(-one, k[1:], n[1:], np.log(2 / 0.05))
    assert together < 0.85 * apart


def test_without_rows_nothing_is_known() -> None:
    nobody = np.zeros(1)
    assert largest(np.ones(1), nobody, nobody, 3.0) == 1
    assert largest(-np.ones(1), nobody, nobody, 3.0) == 0
