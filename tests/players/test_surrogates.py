"""Surrogates and losses: bounds, slopes, and the surrogate Lagrangian that is made of them."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

import equirate as eq
from equirate.data.examples import Examples
from equirate.data.sample import Sample
from equirate.models.linear import Linear
from equirate.models.messages import Asked
from equirate.models.rows import Batch, Rows
from equirate.players.losses import LOSSES, loss_values, signs
from equirate.players.model import Descend
from equirate.players.steps import Plain
from equirate.players.surrogates import SURROGATES, surrogate_named
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table

N = 40
rng = np.random.default_rng(3)
Y = (rng.random(N) < 0.45).astype(int)
GROUP = rng.choice(["a", "b", "c"], N)
OLD = (rng.random(N) < 0.5).astype(int)
WEIGHT = rng.uniform(0.2, 3.0, N)
A, B = eq.attr("group") == "a", eq.attr("group") == "b"
PROBLEM = eq.Problem(
    eq.minimize(eq.kl_divergence(A) - eq.tpr(B) + 0.3 * eq.log_loss() + 0.2 * eq.hinge_loss(A)),
    [
        eq.precision(A) >= 0.4,
        eq.npv(B) >= 0.5,
        eq.g_mean() >= 0.5,
        eq.tpr(A) - eq.fpr(B) <= 0.3,
        eq.churn("old") <= 0.4,
        eq.square(eq.tpr(A) - eq.tpr(B)) <= 0.01,
    ],
)
TABLE = make_table(canonicalize(PROBLEM), Examples.of(Y, {"group": GROUP, "old": OLD}, WEIGHT))
ROWS, CELLS = len(TABLE.program.rows), len(TABLE.cells)
BATCH = Batch(None, cells=TABLE.cells, trained=TABLE.cells, rows=slice(None))
BY_NAME = pytest.mark.parametrize("name", SURROGATES)
scores_like = arrays(float, (N, 1), elements=st.floats(-30, 30))
multipliers_like = arrays(float, (ROWS, 1), elements=st.floats(0, 50))
levels_like = st.none() | arrays(float, (TABLE.program.n_constraints, 1), elements=st.floats(-0.5, 0.5))


@BY_NAME
@given(f=arrays(float, 25, elements=st.floats(-1e3, 1e3)))
def test_bounds_hold_on_either_side_of_the_prediction(name, f):
    s, predicted = SURROGATES[name], f > 0
    assert (s.upper(f) >= predicted).all()
    assert (s.lower(f) <= predicted).all()
    for slope in (s.upper_slope(f), s.lower_slope(f)):
        assert (slope >= 0).all()
        assert (slope <= s.slope_bound + 1e-12).all()


@BY_NAME
def test_slopes_are_derivatives(name):
    s, f, h = SURROGATES[name], np.linspace(-5.03, 5.03, 97), 1e-6
    for value, slope in ((s.upper, s.upper_slope), (s.lower, s.lower_slope)):
        np.testing.assert_allclose((value(f + h) - value(f - h)) / (2 * h), slope(f), atol=1e-6)


@BY_NAME
def test_single_precision_is_kept(name):
    f = np.linspace(-3, 3, 7, dtype=np.float32)
    s = SURROGATES[name]
    assert {g(f).dtype for g in (s.upper, s.lower, s.upper_slope, s.lower_slope)} == {np.dtype(np.float32)}


def test_names():
    assert surrogate_named("hinge") is SURROGATES["hinge"] is surrogate_named(SURROGATES["hinge"])
    with pytest.raises(eq.AlgorithmError, match="'hinge', 'logistic', 'sigmoid'; got 'ramp'"):
        surrogate_named("ramp")


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("label", [0, 1])
def test_slopes_of_losses_are_derivatives(name, label):
    f, h, loss = np.linspace(-4.03, 4.03, 41)[:, None], 1e-6, LOSSES[name]
    sign = signs(np.full(41, label, dtype=np.int8))
    np.testing.assert_allclose(
        (loss.value(f + h, sign) - loss.value(f - h, sign)) / (2 * h), loss.slope(f, sign), atol=1e-6
    )
    assert (loss.value(np.full((1, 1), 3.0 if label else -3.0), sign[:1]) < 0.1).all()


def test_loss_values_are_weighted_averages_over_the_slice():
    f = rng.normal(size=(N, 2))
    found = loss_values(PROBLEM.losses(), TABLE.examples, f)
    margin = np.where(Y == 1, 1, -1)[:, None] * f
    expected = np.log1p(np.exp(-margin))
    np.testing.assert_allclose(found[0], WEIGHT @ expected / WEIGHT.sum())
    a = GROUP == "a"
    np.testing.assert_allclose(found[1], WEIGHT[a] @ np.maximum(0, 1 - margin[a]) / WEIGHT[a].sum())


def test_a_loss_of_an_empty_slice_is_refused_by_name():
    loss = eq.log_loss(eq.attr("group") == "nobody")
    with pytest.raises(eq.DataError, match=r"log_loss.*nobody.*empty"):
        loss_values([loss], TABLE.examples, np.zeros((N, 1)))
    with pytest.raises(eq.DataError, match=r"log_loss.*nobody.*empty"):
        make_table(canonicalize(eq.Problem(eq.minimize(eq.error_rate() + loss))), TABLE.examples)


def surrogate_lagrangian(name, scores, multipliers, levels=None):
    """L~2 from the per-cell coefficients on the two bounds."""
    s = SURROGATES[name]
    up, down = TABLE.split_coefficients(multipliers, levels)
    sums = TABLE.cells.sums
    constant = (multipliers * TABLE.rows(np.zeros((CELLS, scores.shape[1])), levels)).sum(0)
    return constant + (up * sums(s.upper(scores))).sum(0) + (down * sums(s.lower(scores))).sum(0)


@BY_NAME
@given(f=scores_like, multipliers=multipliers_like, levels=levels_like)
def test_the_surrogate_lagrangian_is_an_upper_bound(name, f, multipliers, levels):
    rows = TABLE.rows(TABLE.cells.sums(f > 0), levels)
    true = (multipliers * rows).sum(0)
    bound = surrogate_lagrangian(name, f, multipliers, levels)
    assert (bound >= true - 1e-9 * (1 + np.abs(true) + multipliers.sum())).all()
    s = SURROGATES[name]
    bounded = TABLE.bounded_rows(TABLE.cells.sums(s.upper(f)), TABLE.cells.sums(s.lower(f)), levels)
    assert (bounded >= rows - 1e-9).all()  # row by row as well,
    np.testing.assert_allclose((multipliers * bounded).sum(0), bound, rtol=1e-9, atol=1e-9)  # and they add up to it


@BY_NAME
@pytest.mark.parametrize("with_levels", [False, True])
def test_gradient_with_respect_to_scores_and_through_the_linear_model(name, with_levels):
    count = 3
    f = rng.normal(size=(N, count)) * 2
    multipliers = rng.uniform(0, 2, (ROWS, count))
    levels = rng.uniform(-0.3, 0.3, (TABLE.program.n_constraints, count)) if with_levels else None

    def whole(scores):
        losses = TABLE.loss_factors @ loss_values(PROBLEM.losses(), TABLE.examples, scores)
        return surrogate_lagrangian(name, scores, multipliers, levels) + multipliers[0] * losses

    player = Descend(Plain(), SURROGATES[name], net=False)
    coefficients = {loss: coefficient[:, None] * multipliers[0] for loss, coefficient in TABLE.loss.items()}
    asked = Asked(False, *player.split(TABLE, multipliers, levels), SURROGATES[name], coefficients)
    gradient = asked.slope(BATCH, f)
    h = 1e-6
    for i in range(0, N, 7):
        up, down = f.copy(), f.copy()
        up[i] += h
        down[i] -= h
        np.testing.assert_allclose((whole(up) - whole(down)) / (2 * h), gradient[i], rtol=1e-4, atol=1e-7)

    X = rng.normal(size=(N, 4))
    rows = Rows.of(Sample(X, TABLE.examples), TABLE.cells)
    linear = Linear(penalty=0.7, spread=1.0).bind(rows, count, Plain(), range(count))
    start = linear.snapshot()
    rate = np.array([1.0, 0.5, 2.0])
    linear.answer(asked)
    linear.advance(rate)
    slope = (start - linear.snapshot()) / rate
    for j in range(5):
        values = []
        for step in (h, -h):
            moved = start.copy()
            moved[j] += step
            penalty = 0.35 * (moved[:-1] ** 2).sum(0)  # the intercept is free
            values.append(whole(X @ moved[:-1] + moved[-1]) + penalty)
        np.testing.assert_allclose((values[0] - values[1]) / (2 * h), slope[j], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", sorted(SURROGATES))
def test_net_bounds_lie_between_the_lagrangian_and_the_row_bounds_and_have_the_right_slope(name):
    count = 4
    f = rng.normal(size=(N, count)) * 2
    multipliers = rng.uniform(0, 2, (ROWS, count))
    player = Descend(Plain(), SURROGATES[name])
    surrogate = SURROGATES[name]
    up, down = player.split(TABLE, multipliers, None)
    total = TABLE.coefficients(multipliers)
    np.testing.assert_allclose(up + down, total)

    def net(scores):
        upper, lower = TABLE.cells.sums(surrogate.upper(scores)), TABLE.cells.sums(surrogate.lower(scores))
        return (up * upper + down * lower).sum(0)

    rows_up, rows_down = TABLE.split_coefficients(multipliers)
    upper, lower = TABLE.cells.sums(surrogate.upper(f)), TABLE.cells.sums(surrogate.lower(f))
    assert (net(f) >= (total * TABLE.cells.sums(f > 0)).sum(0) - 1e-9).all()
    assert (net(f) <= (rows_up * upper + rows_down * lower).sum(0) + 1e-9).all()
    gradient = Asked(False, up, down, surrogate).slope(BATCH, f)
    h = 1e-6
    for i in range(0, N, 7):
        high, low = f.copy(), f.copy()
        high[i] += h
        low[i] -= h
        np.testing.assert_allclose((net(high) - net(low)) / (2 * h), gradient[i], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("name", SURROGATES)
def test_slopes_and_curvatures_are_bounded_as_is_said(name):
    surrogate, f, h = SURROGATES[name], np.linspace(-6, 6, 4001), 1e-5
    steepest = max(surrogate.upper_slope(f).max(), surrogate.lower_slope(f).max())
    assert steepest <= surrogate.slope_bound + 1e-12
    assert surrogate.slope_bound <= 1.01 * steepest
    curved = surrogate.curvature(f)
    for slope in (surrogate.upper_slope, surrogate.lower_slope):
        second = (slope(f + h) - slope(f - h)) / (2 * h)
        smooth = np.abs(second) < 100  # the hinge jumps
        assert (np.abs(second[smooth]) <= curved[smooth] + 1e-6).all()
        if name == "logistic":
            np.testing.assert_allclose(curved, np.abs(second), atol=1e-6)
    if name == "sigmoid":  # at 0 it does not curve, but a step of Newton's method needs a bound there
        assert curved.max() == pytest.approx(0.5)
