"""Bounds against independent derivations: Clopper-Pearson, Fieller, the bootstrap, clusters drawn anew."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from scipy.stats import beta, norm

import equirate as eq
from equirate._core.peers import ALONE
from equirate.data.examples import Examples
from equirate.judge.estimates import Bounds, CellSample, estimate
from equirate.judge.spread import clusters_of

Array = NDArray[np.float64]
G = eq.attr("g") == 1


def counted(successes: int, trials: int) -> tuple[Examples, Array]:
    return Examples.of(np.ones(trials, dtype=int)), (np.arange(trials) < successes).astype(float)


@settings(max_examples=60, deadline=None)
@given(trials=st.integers(10, 400), share=st.floats(0, 1), confidence=st.sampled_from([0.9, 0.95, 0.99]))
def test_a_proportion_has_the_clopper_pearson_bounds(trials: int, share: float, confidence: float) -> None:
    successes = round(share * trials)
    found = estimate(eq.recall(), *counted(successes, trials))
    high = 1.0 if successes == trials else beta.ppf(confidence, successes + 1, trials - successes)
    low = 0.0 if successes == 0 else beta.ppf(1 - confidence, successes, trials - successes + 1)
    room = 0.02 * (high - low) + 0.25 / trials  # 0.2006 at worst, over all counts of 10 to 400 trials
    assert found.upper(confidence) == pytest.approx(high, abs=room)
    assert found.lower(confidence) == pytest.approx(low, abs=room)


def drawn(seed: int, n: int, soft: bool = False) -> tuple[Examples, Array]:
    rng = np.random.default_rng(seed)
    y, g = (rng.random(n) < 0.4).astype(int), (rng.random(n) < 0.3).astype(int)
    p = np.where(y == 1, 0.7, 0.2)
    return Examples.of(y, {"g": g}), rng.beta(p, 1 - p) if soft else (rng.random(n) < p).astype(float)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize(
    ("ratio", "cleared"),
    [
        (eq.precision(), lambda c: eq.tp() - c * eq.positive_rate()),
        (eq.f1(G), lambda c: 2 * eq.tp(G) - c * (2 * eq.tp(G) + eq.fp(G) + eq.fn(G))),
        (eq.positive_rate(G) / eq.positive_rate(~G), lambda c: eq.positive_rate(G) - c * eq.positive_rate(~G)),
    ],
    ids=["precision", "f1", "rates of two groups"],
)
def test_the_bound_of_a_ratio_is_that_of_the_constraint_multiplied_through(ratio, cleared, soft: bool) -> None:
    examples, predictions = drawn(3, 400, soft)
    found = estimate(ratio, examples, predictions)
    for bound, side in ((found.upper(0.95), 1), (found.lower(0.95), -1)):
        linear = estimate(cleared(bound), examples, predictions)
        touching = linear.upper(0.95) if side > 0 else linear.lower(0.95)
        # The linear form reaches just 0 where the ratio reaches its bound.
        assert touching == pytest.approx(0, abs=0.05 * linear.error)


def test_large_samples_have_normal_bounds() -> None:
    examples, predictions = drawn(4, 40_000)
    for expr in (eq.recall(G) - eq.recall(~G), eq.precision(G) - eq.precision(~G), eq.f1(), eq.g_mean()):
        found = estimate(expr, examples, predictions)
        reach = norm.ppf(0.95) * found.error
        assert found.upper(0.95) - found.value == pytest.approx(reach, rel=0.03)
        assert found.value - found.lower(0.95) == pytest.approx(reach, rel=0.03)


def test_a_convex_function_is_bounded_by_its_far_end() -> None:
    """A divergence of one rate is largest at the ends of the rate's own interval, wherever its minimum is."""
    examples, predictions = drawn(5, 300)
    rate = estimate(eq.positive_rate(), examples, predictions)
    for prior in (0.1, 0.3, float(rate.value), 0.5):
        found = estimate(eq.kl(prior, eq.positive_rate()), examples, predictions)
        ends = [
            prior * math.log(prior / r) + (1 - prior) * math.log((1 - prior) / (1 - r))
            for r in (rate.upper(0.95), rate.lower(0.95))
        ]
        assert found.upper(0.95) == pytest.approx(max(ends), rel=0.02)


@pytest.mark.parametrize("expr", [eq.f1(), eq.precision(G) - eq.precision(~G), eq.kl_divergence(G), eq.recall(G)])
def test_more_confidence_reaches_further(expr: eq.Expression) -> None:
    found = estimate(expr, *drawn(6, 200))
    levels = (0.6, 0.8, 0.9, 0.95, 0.99, 0.999)
    highs, lows = [found.upper(c) for c in levels], [found.lower(c) for c in levels]
    assert highs == sorted(highs)
    assert lows == sorted(lows, reverse=True)
    assert lows[0] <= found.value <= highs[0]


def test_the_two_sides_mirror_each_other() -> None:
    examples, predictions = drawn(7, 150)
    for expr in (eq.recall(G) - eq.recall(~G), eq.f1(), eq.kl(0.4, eq.positive_rate())):
        one, other = estimate(expr, examples, predictions), estimate(-expr, examples, predictions)
        assert one.upper(0.95) == pytest.approx(-other.lower(0.95), abs=1e-9)
        assert one.lower(0.95) == pytest.approx(-other.upper(0.95), abs=1e-9)


# -- clusters -------------------------------------------------------------------------------------


def test_rows_repeated_are_rows_counted_once() -> None:
    """A sample with every row three times, in clusters of three, says what the sample itself says."""
    examples, predictions = drawn(8, 300)
    rows = np.repeat(np.arange(300), 3)
    thrice = Examples.of(examples.labels[rows], {"g": examples.columns["g"][rows]})
    for expr in (eq.recall(G) - eq.recall(~G), eq.f1()):
        one = estimate(expr, examples, predictions)
        together = estimate(expr, replace(thrice, clusters=rows.astype(np.int64)), predictions[rows])
        apart = estimate(expr, thrice, predictions[rows])
        assert together.value == pytest.approx(one.value)
        assert together.error == pytest.approx(one.error, rel=0.01)
        assert together.upper(0.95) == pytest.approx(one.upper(0.95), abs=0.1 * one.error)
        assert apart.error < 0.65 * one.error


def test_every_row_its_own_cluster_is_no_cluster() -> None:
    examples, predictions = drawn(9, 250)
    for expr in (eq.positive_rate(G) - eq.positive_rate(), eq.precision()):
        plain = estimate(expr, examples, predictions)
        alone = estimate(expr, replace(examples, clusters=np.arange(250)), predictions)
        assert alone.error == pytest.approx(plain.error, rel=0.01)
        assert alone.upper(0.95) >= plain.upper(0.95)  # Student's quantile instead of the normal one


def test_clusters_that_cannot_be_are_refused() -> None:
    assert clusters_of(None, 3, ALONE) is None
    assert clusters_of(["b", "a", "b"], 3, ALONE).tolist() == [1, 0, 1]
    for values, message in (
        (["a", "b"], "clusters has 2 values"),
        (["a", None, "b"], "clusters has 1 missing values"),
        ([1, 1, 1], "one cluster only"),
        ([[1, 2], [1, 2], [1, 2]], "one-dimensional"),
    ):
        with pytest.raises(eq.DataError, match=message):
            clusters_of(values, 3, ALONE)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_cells_that_a_constraint_does_not_tell_apart_are_put_together(clustered: bool, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    n = 3000
    group, labels, predictions = rng.integers(0, 60, n), rng.integers(0, 2, n), rng.random(n)
    weights = rng.uniform(0.5, 2, n) if weighted else None
    clusters = clusters_of(rng.integers(0, 200, n), n, ALONE) if clustered else None
    examples = replace(Examples.of(labels, {"g": group, "old": rng.integers(0, 2, n)}, weights), clusters=clusters)
    many = [eq.tpr(eq.attr("g") == k) for k in range(60)]
    one = many[0]
    for expr in (one - eq.positive_rate(), one / (eq.positive_rate() + 1), one - eq.tnr(eq.attr("g") == 7)):
        sample = CellSample.of(many + list(expr.rates()), examples, predictions)
        merged = sample.merged(list(expr.rates()))
        assert len(sample.cells) == 120
        assert len(merged.cells) <= 8
        small, whole = sample.estimate(expr), Bounds(sample, expr, sample.estimate(expr).value, list(expr.rates()))
        assert small.error == pytest.approx(whole.error, rel=1e-9)
        for side, reached in ((1, small.upper(0.95)), (-1, small.lower(0.95))):
            assert reached == pytest.approx(whole(0.95, side), rel=1e-9)


def test_the_two_sides_of_an_abs_have_opposite_bounds() -> None:
    rng = np.random.default_rng(0)
    examples = Examples.of(rng.integers(0, 2, 500), {"g": rng.integers(0, 2, 500)})
    sample = CellSample.of([eq.tpr(), eq.tnr()], examples, rng.random(500))
    gap = eq.tpr() - eq.tnr()
    one, other = sample.estimate(gap - 0.1), sample.estimate(-gap - 0.1)
    mirrored = one.opposite(-0.2 - one.value, (-gap - 0.1).interval)
    assert mirrored.value == pytest.approx(other.value, abs=1e-12)
    assert mirrored.error == pytest.approx(other.error, rel=1e-12)
    assert mirrored.interval(0.9) == pytest.approx(other.interval(0.9), abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("groups", [3, 60])
def test_estimates_together_are_those_one_by_one(groups: int, weighted: bool) -> None:
    """Linear functions that are alike, on few cells and on many that are put together, among others that are not."""
    rng = np.random.default_rng(1)
    n = 4000
    columns = {"g": np.arange(n) % groups, "old": rng.integers(0, 2, n)}
    examples = Examples.of(rng.integers(0, 2, n), columns, rng.uniform(0.5, 2, n) if weighted else None)
    slices = [eq.attr("g") == k for k in range(groups)]
    exprs = [eq.tpr(s) - eq.tpr(~s) - 0.05 for s in slices]
    exprs += [2 * eq.positive_rate(s) - eq.fpr() + eq.tnr(s) for s in slices]
    exprs += [eq.churn("old", s) - eq.error_rate(s) for s in slices[:2]]
    exprs += [eq.tpr(slices[0] | slices[1]) - eq.tpr(slices[1] | slices[2]), eq.precision(slices[0]), eq.f1() - 0.5]
    exprs += [eq.positive_rate() - eq.base_rate(), eq.tpr() - eq.tpr(), eq.positive_rate(slices[2]) + 0 * eq.tpr()]
    sample = CellSample.of([rate for expr in exprs for rate in expr.rates()], examples, rng.random(n).round(1))
    for expr, found in zip(exprs, sample.estimates(exprs), strict=True):
        alone = sample.estimate(expr)
        assert found.value == pytest.approx(alone.value, abs=1e-12)
        assert found.error == pytest.approx(alone.error, rel=1e-9, abs=1e-12)
        assert found.within == alone.within
        assert found.interval(0.9) == pytest.approx(alone.interval(0.9), rel=1e-9, abs=1e-12)
