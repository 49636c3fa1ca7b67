"""One contract for every strategy, then what is particular to each."""

import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize as scipy_minimize

import equirate as eq
from equirate.data.examples import Examples
from equirate.game.theory import damped_steps
from equirate.models.capabilities import Pace
from equirate.players.multipliers import (
    Ascent,
    Following,
    FollowTheLeader,
    OuterAscent,
    SwapRegret,
    SwapState,
    leader,
    project,
    stationary,
)
from equirate.players.slack import (
    HOLD,
    WINDOW,
    BestSlack,
    DescendingSlack,
    ImpliedSlack,
    _grid_response,
    _level,
    atom_weights,
    slack_gradient,
)
from equirate.players.state import State
from equirate.players.steps import ADAM, STEPS, Adam, Damped, InverseRoot, Plain, step_named
from equirate.problem.canonical import RatioForm, canonicalize
from equirate.problem.table import make_table

N, COUNT = 50, 5
rng = np.random.default_rng(2)
Y = (rng.random(N) < 0.4).astype(int)
GROUP = rng.choice(["a", "b"], N)
A, B = eq.attr("group") == "a", eq.attr("group") == "b"
EXAMPLES = Examples.of(Y, {"group": GROUP})
SMOOTH = eq.Problem(
    eq.minimize(eq.kl_divergence(A) + eq.square(eq.tpr(A) - eq.tpr(B))), [eq.g_mean() >= 0.5, eq.fpr() <= 0.4]
)
BOXED = eq.Problem(
    eq.minimize(
        eq.kl_divergence(A) + eq.max(eq.fpr(), eq.fnr()) + eq.inv(eq.tpr(B)) - eq.sqrt(eq.tnr(A)) - eq.h_mean(B)
        + eq.black_box(lambda x, y: x**2 + y, eq.fpr(A), eq.fnr(A), increasing=True)
    ),
    [eq.g_mean() >= 0.5, eq.norm(eq.fpr(), eq.fnr()) <= 0.4, eq.square(eq.tpr(A) - eq.tpr(B)) <= 0.1],
)  # fmt: skip
RATIOS = eq.Problem(eq.maximize(eq.f1()), [eq.precision(A) >= eq.precision(B) - 0.1, eq.g_mean() >= 0.4])
TABLES = {
    "smooth": make_table(canonicalize(SMOOTH), EXAMPLES),
    "boxed": make_table(canonicalize(BOXED), EXAMPLES),
    "ratios": make_table(canonicalize(RATIOS), EXAMPLES),
    "biconvex": make_table(canonicalize(RATIOS, RatioForm.BICONVEX), EXAMPLES),
}
SLACKS = [
    (player, table)
    for player, tables in (
        (ImpliedSlack(), ["smooth"]),
        (BestSlack(), ["smooth", "boxed", "biconvex"]),
        (BestSlack(Plain()), ["biconvex"]),
        (DescendingSlack(), ["smooth", "ratios"]),
        (DescendingSlack(Plain()), ["smooth", "ratios"]),
        (DescendingSlack(InverseRoot()), ["ratios"]),
    )
    for table in tables
]
MULTIPLIERS = [
    (player, table)
    for player, tables in (
        (Ascent(), ["smooth", "boxed", "ratios", "biconvex"]),
        (Ascent(step=Plain(), radius=1.0), ["smooth", "boxed"]),
        (Ascent(step=InverseRoot(), initial=0.3), ["ratios"]),
        (FollowTheLeader(), ["smooth"]),
        (Following(), ["smooth", "ratios"]),
        (Following(step=Plain(), memory=3.0, edge=0.1), ["ratios"]),
        (OuterAscent(inner=2), ["smooth"]),
        (OuterAscent(step=Plain(), inner=1), ["smooth"]),
        (SwapRegret(), ["smooth", "ratios"]),
    )
    for table in tables
]
STEP_RULES = [*STEPS.values(), Adam(0.5, 0.9, 1e-3)]


def arrays_of(state):
    for field in fields(state):
        value = getattr(state, field.name)
        if isinstance(value, State):
            yield from arrays_of(value)
        elif isinstance(value, np.ndarray):
            yield value


def same(one, other):
    for a, b in zip(arrays_of(one), arrays_of(other), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10, rtol=1e-10)


def a_round(table, t, count=COUNT):
    source = np.random.default_rng(t)
    rows = table.rows(table.cells.sums(source.random((N, count)) < 0.5))
    lam = source.uniform(0.05, 2, (table.program.n_multipliers, count))
    residual = source.normal(size=lam.shape)
    return rows, lam, residual


# -- step rules -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", STEP_RULES, ids=repr)
def test_step_rules_treat_configurations_apart_and_can_drop_some(rule):
    rate, columns = rng.uniform(0.1, 1, COUNT), np.array([0, 3])
    gradients = rng.normal(size=(8, 4, COUNT))
    together, alone = rule.start((4, COUNT)), rule.start((4, 2))
    for g in gradients[:4]:
        step, together = rule.move(together, g, rate)
        own, alone = rule.move(alone, g[:, columns], rate[columns])
        np.testing.assert_allclose(step[:, columns], own)
    kept = together.keep(columns)
    for g in gradients[4:]:
        step, kept = rule.move(kept, g[:, columns], rate[columns])
        own, alone = rule.move(alone, g[:, columns], rate[columns])
        np.testing.assert_allclose(step, own)


@pytest.mark.parametrize("rule", STEP_RULES, ids=repr)
def test_step_rules_find_the_minimum_of_a_parabola(rule):
    x, state = np.array([[3.0, -2.0]]), rule.start((1, 2))
    for _ in range(3000):
        move, state = rule.move(state, 2 * (x - 1), np.array([0.05, 0.1]))
        x = x - move
    np.testing.assert_allclose(x, 1.0, atol=0.04)  # constant steps end in a small cycle


def test_adam_is_the_published_algorithm():
    rate, beta1, beta2, epsilon = 0.1, 0.9, 0.999, 1e-8
    m = v = np.zeros((3, 2))
    state = ADAM.start((3, 2))
    for t in range(1, 30):
        g = rng.normal(size=(3, 2))
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
        expected = rate * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + epsilon)
        step, state = ADAM.move(state, g, np.full(2, rate))
        np.testing.assert_allclose(step, expected, rtol=1e-10)


def test_plain_and_inverse_root_steps():
    g, rate = np.ones((2, 1)), np.array([0.5])
    assert Plain().move(Plain().start((2, 1)), g, rate)[0].tolist() == [[0.5], [0.5]]
    state = InverseRoot().start((2, 1))
    for t in range(1, 6):
        step, state = InverseRoot().move(state, g, rate)
        np.testing.assert_allclose(step, 0.5 / math.sqrt(t))


def test_damped_steps_follow_the_gradient_and_its_change_each_row_in_its_unit():
    rule = Damped(np.array([0.0, 3.0]), np.array([1.0, 0.1]), patience=5.0)
    state = rule.start((2, 1))
    first, state = rule.move(state, np.array([[2.0], [4.0]]), np.array([0.5]))
    np.testing.assert_allclose(first, [[1.0], [0.2]])  # there was no change yet
    second, state = rule.move(state, np.array([[2.0], [3.0]]), np.array([0.5]))
    faster = math.exp(1 / 5)  # one of five steps with the same sign
    np.testing.assert_allclose(second, [[1.0], [0.05 * (3 * faster - 3)]])  # 0.5 * 0.1 * (3 * faster + 3 * (3 - 4))
    assert state.t == 2
    for _ in range(100):
        third, state = rule.move(state, np.array([[2.0], [3.0]]), np.array([0.5]))
    np.testing.assert_allclose(third, [[1.0], [0.05 * 3 * rule.fastest]])
    fourth, state = rule.move(state, np.array([[2.0], [-1.0]]), np.array([0.5]))
    np.testing.assert_allclose(fourth, [[1.0], [0.05 * (-1 + 3 * (-1 - 3))]])  # another sign: slow again


def test_a_constraints_unit_is_its_groups_share_of_the_examples():
    y, group = np.tile([0, 1], 100), np.where(np.arange(200) < 10, "a", "b")
    a = eq.attr("group") == "a"
    problem = eq.Problem(
        eq.maximize(eq.g_mean()), [eq.positive_rate(a) <= 0.3, eq.positive_rate() <= 0.4, eq.f1(a) >= eq.f1(~a) - 0.1]
    )
    table = make_table(canonicalize(problem), Examples.of(y, {"group": group}))
    rule = damped_steps(table, Pace(damping=7.0, units=3.0, patience=9.0), learns_couplings=True)
    np.testing.assert_allclose(rule.scale[:2], [3 * 10 / 200, 3.0])
    np.testing.assert_allclose(rule.scale[2:], 1.0)
    np.testing.assert_allclose(rule.damping[:2], 7.0)
    np.testing.assert_allclose(rule.damping[2:], 0.0)  # slacks that answer best jump
    assert rule.scale.shape == rule.damping.shape == (table.program.n_multipliers - 1,)
    assert rule.patience == 9.0


def test_a_constraint_with_atoms_has_the_unit_of_its_gradient_where_couplings_follow():
    y, group = np.tile([0, 1], 100), np.where(np.arange(200) < 20, "a", "b")
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.square(eq.positive_rate(eq.attr("group") == "a")) <= 0.1])
    table = make_table(canonicalize(problem), Examples.of(y, {"group": group}))
    rule = damped_steps(table, Pace(damping=7.0, units=3.0, patience=9.0), learns_couplings=False)
    # the slope of the square is 1 in the middle of [0, 1], and one of 20 moves the rate by 1 / 20: 20 / 200 of an error
    np.testing.assert_allclose(rule.scale[0], 3 * 20 / 200)
    np.testing.assert_allclose(rule.damping[0], 7.0)


@pytest.mark.parametrize("name", ["smooth", "ratios"])
def test_following_prices_atoms_by_their_gradient_at_the_mean_of_the_rates(name):
    """Checked by differences: the costs are the slope of the Lagrangian's functions in the predictions."""
    table = TABLES[name]
    player = Following(step=Plain(), memory=1.0, edge=0.0)
    state = player.start(table, 1)
    sums = table.cells.totals[:, None] * np.random.default_rng(3).uniform(0.3, 0.7, (len(table.cells), 1))
    rows = table.rows(sums)
    state = player.learn(state, table, rows, np.zeros((table.program.n_multipliers, 1)), np.array([0.5]), 1)
    lam = state.lam

    def worth(sums):
        rows = table.rows(sums)[: table.program.n_multipliers]
        whole = rows + table.atom_matrix @ table.atom_values(table.arguments(rows)[0])
        return float((lam * whole)[: 1 + table.program.n_constraints].sum())

    steps = 1e-6 * np.eye(len(sums))[:, :, None]
    slope = np.array([(worth(sums + step) - worth(sums - step)) / 2e-6 for step in steps])
    np.testing.assert_allclose(table.coefficients(lam)[:, 0], slope, rtol=1e-4, atol=1e-7)


def test_following_learns_the_constraints_alone_and_keeps_off_the_edge():
    problem = eq.Problem(eq.maximize(eq.g_mean()), [eq.positive_rate() <= 0.4])
    table = make_table(canonicalize(problem), Examples.of(np.tile([0, 1], 50)))
    player = Following(step=Plain(), memory=4.0)
    state = player.start(table, 1)
    assert state.lam[1, 0] == 0.0
    nothing = np.zeros((table.program.n_multipliers, 1))
    everybody = table.rows(table.cells.totals[:, None])  # true negative rate 0, where the root has no slope
    state = player.learn(state, table, everybody, nothing, np.array([0.5]), 1)
    assert state.lam[1, 0] == pytest.approx(0.5 * 0.6)
    assert np.isfinite(state.lam).all()
    assert state.lam.max() < 100
    np.testing.assert_allclose(state.point, everybody[: table.program.n_multipliers])
    nobody = table.rows(0 * table.cells.totals[:, None])
    state = player.learn(state, table, nobody, nothing, np.array([0.5]), 9)
    mean = 0.75 * everybody + 0.25 * nobody
    np.testing.assert_allclose(state.point, mean[: table.program.n_multipliers])
    assert state.lam[1, 0] == pytest.approx(0.5 * 0.6 - 0.5 * 0.4)


def test_step_rules_by_name():
    assert step_named("adam") is ADAM is step_named(ADAM)
    with pytest.raises(eq.AlgorithmError, match="'plain', 'sqrt', 'adam'; got 'newton'"):
        step_named("newton")


# -- the contract of slack players ------------------------------------------------------------------------


@pytest.mark.parametrize(("player", "name"), SLACKS, ids=repr)
def test_slack_contract(player, name):
    table, rate = TABLES[name], np.linspace(0.05, 0.5, COUNT)
    columns = np.array([1, 4])
    together, alone, single = player.start(table, COUNT), player.start(table, 2), None
    assert together.xi.shape == (table.n_slacks, COUNT)
    assert all(a.shape[-1] == COUNT for a in arrays_of(together))
    for t in range(6):
        rows, lam, _ = a_round(table, t)
        if t == 3:
            single = together.keep(columns)
            same(single, alone)
        together = player.answer(together, table, lam)
        assert (together.xi >= table.lo[:, None] - 1e-12).all()
        assert (together.xi <= table.hi[:, None] + 1e-12).all()
        full = player.direct(together, table, lam)
        assert full.shape == (len(table.program.rows) - table.program.n_multipliers, COUNT)
        assert (full >= 0).all()
        together = player.learn(together, table, lam, rows, rate)
        alone = player.learn(
            player.answer(alone, table, lam[:, columns]), table, lam[:, columns], rows[:, columns], rate[columns]
        )
        if single is not None:
            single = player.learn(
                player.answer(single, table, lam[:, columns]), table, lam[:, columns], rows[:, columns], rate[columns]
            )
            same(single, alone)
        same(together.keep(columns), alone)


@pytest.mark.parametrize("seed", range(5))
def test_no_slack_in_the_box_beats_the_best_response(seed):
    table = TABLES["boxed"]
    source = np.random.default_rng(seed)
    lam = source.exponential(size=(table.program.n_multipliers, COUNT)) * (source.random(COUNT) < 0.8)
    player = BestSlack()

    def slack_part(xi):
        price = table.sense[table.couplings, None] * lam[table.couplings]
        return (atom_weights(table, lam) * table.atom_values(xi)).sum(0) - (price * xi).sum(0)

    xi = player.answer(player.start(table, COUNT), table, lam).xi
    best = slack_part(xi)
    black = [s for group in table.groups if group.form.grid for s in group.slacks.ravel()]
    for _ in range(300):
        other = table.lo[:, None] + (table.hi - table.lo)[:, None] * source.random(xi.shape)
        other = np.where(source.random(xi.shape) < 0.5, xi, other)
        other[black] = xi[black]  # a grid is exact to its own spacing only
        assert (slack_part(other) >= best - 1e-7 * (1 + np.abs(best))).all()
    for _ in range(100):
        other = xi.copy()
        other[black] = table.lo[black, None] + (table.hi - table.lo)[black, None] * source.random((len(black), COUNT))
        assert (slack_part(other) >= best - 0.1).all()


@pytest.mark.parametrize(
    ("function", "arguments", "points"),
    [
        (lambda x: np.sin(7 * x) + 2 * x, 1, 20001),
        (lambda x, y: np.sin(7 * x) * y + 3 * np.abs(x - 0.377) + y**2, 2, 1001),
        (lambda x, y, z: (x - 0.313) ** 2 + np.abs(y - x * z) + (z - 0.618) ** 2, 3, 101),
    ],
)
def test_a_black_box_is_searched_as_finely_as_a_dense_search(function, arguments: int, points: int):
    """Not monotone, so that the best point lies inside; the prices are as the game has them, and others."""
    rates = [eq.fpr(A), eq.fnr(A), eq.positive_rate(B)][:arguments]
    table = make_table(canonicalize(eq.Problem(eq.minimize(eq.black_box(function, *rates, increasing=True)))), EXAMPLES)
    (group,) = table.groups
    rng = np.random.default_rng(arguments)
    weight, price = rng.uniform(0.5, 2, (1, 3)), rng.uniform(0, 2, (arguments, 1, 3))
    lo, hi = table.lo[group.slacks][..., None], table.hi[group.slacks][..., None]
    found = _grid_response(group, weight, price, lo, hi)
    axes = [np.linspace(low[0, 0], high[0, 0], points) for low, high in zip(lo, hi, strict=True)]
    dense = np.array(np.meshgrid(*axes, indexing="ij")).reshape(arguments, -1)
    for c in range(3):

        def worth(x, c=c):
            return weight[0, c] * function(*x) - price[:, 0, c] @ x

        assert worth(found[:, 0, c]) <= worth(dense).min() + 2e-3


def test_levels_cover_the_first_argument_of_a_black_box():
    """Every other turn the slack stays within one level; the levels reach everywhere."""
    table = make_table(canonicalize(eq.Problem(eq.maximize(eq.matthews()))), EXAMPLES)
    (group,) = table.groups
    lo, hi = table.lo[group.slacks][..., None], table.hi[group.slacks][..., None]
    assert (hi - lo)[2, 0, 0] == 0  # the base rate is a constant of the data
    boxes = [_level(lo, hi, turn * HOLD) for turn in range(40)]
    assert all((low == lo).all() and (high == hi).all() for low, high in boxes[::2])
    covered = np.zeros(101, dtype=bool)
    for low, high in boxes[1::2]:
        assert (high - low)[0, 0, 0] == pytest.approx(WINDOW * (hi - lo)[0, 0, 0])
        assert (low[1:] == lo[1:]).all()
        covered |= (np.linspace(0, 1, 101) >= low[0, 0, 0] - 1e-9) & (np.linspace(0, 1, 101) <= high[0, 0, 0] + 1e-9)
    assert covered.all()


def test_a_black_box_that_is_not_defined_somewhere_is_searched_elsewhere():
    box = eq.black_box(lambda x: np.where(x < 0.5, np.nan, x), eq.fpr(), increasing=True)
    table = make_table(canonicalize(eq.Problem(eq.minimize(box))), EXAMPLES)
    player = BestSlack()
    for lam in ([[1.0], [0.0]], [[0.0], [0.0]]):
        xi = player.answer(player.start(table, 1), table, np.array(lam)).xi
        assert xi[0, 0] >= 0.5 - 1e-9


def test_descent_is_a_projected_gradient_step():
    table = TABLES["ratios"]
    player, rate = DescendingSlack(Plain()), np.linspace(0.1, 2.0, COUNT)
    state = player.start(table, COUNT)
    rows, lam, _ = a_round(table, 0)
    moved = player.learn(state, table, lam, rows, rate).xi
    expected = state.xi - rate * slack_gradient(table, state.xi, lam)
    np.testing.assert_allclose(moved, np.clip(expected, table.lo[:, None], table.hi[:, None]))


# -- the contract of multiplier players ---------------------------------------------------------------------


@pytest.mark.parametrize(("player", "name"), MULTIPLIERS, ids=repr)
def test_multiplier_contract(player, name):
    table, rate = TABLES[name], np.linspace(0.05, 0.5, COUNT)
    columns, n = np.array([1, 4]), TABLES[name].program.n_multipliers
    together, alone, kept = player.start(table, COUNT), player.start(table, 2), None
    for t in range(1, 9):
        lam = together.lam
        assert lam.shape == (n, COUNT)
        assert all(a.shape[-1] == COUNT for a in arrays_of(together))
        assert np.isfinite(lam).all()
        assert (lam >= 0).all()
        if isinstance(player, Ascent):
            slack = player.floor * table.program.n_constraints
            assert (lam[1:].sum(0) <= player.radius + slack + 1e-12).all()
            with_atoms = 1 + np.flatnonzero(table.atom_weights[table.constraints].any(axis=1))
            assert (lam[with_atoms] >= player.floor).all()
        if isinstance(player, SwapRegret):
            np.testing.assert_allclose(lam.sum(0), 1)
        else:
            np.testing.assert_allclose(lam[0], 1)
        assert player.share(together).shape == (COUNT,)
        assert (player.share(together) >= 0).all()
        rows, _, residual = a_round(table, t)
        if t == 4:
            kept = together.keep(columns)
        together = player.learn(together, table, rows, residual, rate, t)
        part = (rows[:, columns], residual[:, columns], rate[columns], t)
        alone = player.learn(alone, table, *part)
        same(together.keep(columns), alone)
        if kept is not None:
            kept = player.learn(kept, table, *part)
            same(kept, alone)


def test_ascent_is_a_projected_step_up():
    table = TABLES["smooth"]
    player, rate = Ascent(step=Plain(), radius=2.0), np.linspace(0.1, 1, COUNT)
    state = player.start(table, COUNT)
    rows, _, residual = a_round(table, 1)
    lam = player.learn(state, table, rows, residual, rate, 1).lam
    expected = project(state.lam[1:] + rate * residual[1:], 2.0)
    expected[0] = np.maximum(expected[0], 1e-4)  # the constraint on the G-mean has an atom
    np.testing.assert_allclose(lam[1:], expected)


def test_the_leader_supports_the_atoms_at_the_average_rates():
    """FTL: the multipliers are the gradient of the objective with respect to the couplings' rows."""
    problem = eq.Problem(eq.minimize(eq.kl_divergence(A) + eq.square(eq.tpr(A) - eq.tpr(B)) - 0.5 * eq.g_mean()))
    table = make_table(canonicalize(problem), EXAMPLES)
    player = FollowTheLeader()
    state, total = player.start(table, COUNT), 0
    for t in range(1, 5):
        rows, _, residual = a_round(table, t)
        total = total + rows
        state = player.learn(state, table, rows, residual, np.ones(COUNT), t)
    q = np.mean([table.cells.sums(np.random.default_rng(t).random((N, COUNT)) < 0.5) for t in range(1, 5)], axis=0)

    def psi(q):
        values = table.rates(q)
        by_key = {rate.key: values[k] for k, rate in enumerate(table.program.rates)}
        known = {r.key: EXAMPLES.measure(r, np.zeros(N)) for r in problem.rates() if r.key not in by_key}
        return problem.objective.expr.value(lambda rate: (by_key | known)[rate.key])

    gradient = table.coefficients(np.vstack([state.lam]))
    for cell in range(len(table.cells)):
        step = np.zeros_like(q)
        step[cell] = 1e-5
        np.testing.assert_allclose((psi(q + step) - psi(q - step)) / 2e-5, gradient[cell], atol=1e-6)
    # A best response to these multipliers is the average itself.
    np.testing.assert_allclose(slack_gradient(table, state.slacks, state.lam), 0, atol=1e-9)
    np.testing.assert_allclose(leader(table, state.slacks), state.lam)


def test_rounding_is_not_leaving_the_domain():
    table = make_table(canonicalize(eq.Problem(eq.minimize(eq.kl_divergence()))), EXAMPLES)
    rows = table.rows(table.cells.sums(np.ones((N, 3), dtype=bool)))
    rows[table.couplings][1] = [0.0, 1e-16, 1e-3]  # the signed row of 1 - positive_rate(), which falls with it
    xi, _, left = table.arguments(rows)
    assert left.tolist() == [False, False, True]
    np.testing.assert_array_equal(xi[1], table.lo[1])


@given(
    arrays(float, (4, 3), elements=st.floats(-3, 3)),
    st.floats(0.1, 4),
)
def test_projection_is_the_nearest_point(points, radius):
    found = project(points, radius)
    assert (found >= 0).all()
    assert (found.sum(0) <= radius + 1e-9).all()
    # Optimality on a convex set: no feasible direction leads towards the point. Its corners suffice.
    corners = np.vstack([np.zeros(4), radius * np.eye(4)])
    for c in range(3):
        assert ((corners - found[:, c]) @ (points[:, c] - found[:, c]) <= 1e-7).all()


def test_projection_against_a_quadratic_programme():
    for radius in (0.5, 1.0, 3.0):
        points = rng.normal(size=(5, 4)) * 2
        found = project(points, radius)
        for c in range(4):
            exact = scipy_minimize(
                lambda x, point=points[:, c]: ((x - point) ** 2).sum(),
                np.full(5, radius / 10),
                bounds=[(0, None)] * 5,
                constraints={"type": "ineq", "fun": lambda x, r=radius: r - x.sum()},
                options={"ftol": 1e-12},
            )
            np.testing.assert_allclose(found[:, c], exact.x, atol=1e-5)


def test_stationary_distributions():
    matrix = rng.dirichlet(np.ones(6), size=(6, COUNT)).transpose(2, 0, 1)  # columns are distributions
    found = stationary(matrix)
    np.testing.assert_allclose(found.sum(0), 1)
    for c in range(COUNT):
        np.testing.assert_allclose(matrix[..., c] @ found[:, c], found[:, c], atol=1e-12)
        np.testing.assert_allclose(np.linalg.matrix_power(matrix[..., c], 200)[:, 0], found[:, c], atol=1e-9)


def test_swap_regret_falls():
    """Against an adversary who punishes what was played last, no swap of one entry for another pays in the end."""
    table = TABLES["smooth"]
    m = table.program.n_multipliers

    def swap_regret(rounds):
        player, source = SwapRegret(), np.random.default_rng(0)
        rate = np.full(1, math.sqrt(m * math.log(m) / rounds))
        state, gain = player.start(table, 1), np.zeros((m, m))
        for t in range(1, rounds + 1):
            lam = state.lam[:, 0]
            gradient = source.uniform(-1, 1, m) - (lam == lam.max())
            gradient[0] = 0.0  # as the player knows: the objective is worth nothing to it
            gain += np.outer(gradient, lam) - gradient * lam  # what i instead of j would have been worth
            state = player.learn(state, table, None, gradient[:, None], rate, t)
        return gain.max(0).sum() / rounds

    regrets = [swap_regret(rounds) for rounds in (100, 400, 1600, 6400)]
    assert regrets[-1] < 0.1
    assert np.polyfit(np.log([100, 400, 1600, 6400]), np.log(regrets), 1)[0] < -0.35


def test_swap_regret_ignores_the_objectives_own_residual():
    table = TABLES["smooth"]
    player = SwapRegret()
    _, _, residual = a_round(table, 1)
    other = residual.copy()
    other[0] = 100.0
    rate = np.full(COUNT, 0.3)
    one, two = (player.learn(player.start(table, COUNT), table, None, r, rate, 1) for r in (residual, other))
    np.testing.assert_array_equal(one.lam, two.lam)
    # The first update by hand: M = uniform, multiplied by exp(rate * gradient * lambda'), columns normalised.
    gradient, m = residual.copy(), len(residual)
    gradient[0] = 0
    matrix = np.exp(0.3 * gradient[:, None] / m) * np.ones((m, m, COUNT))
    np.testing.assert_allclose(one.matrix, matrix / matrix.sum(0))


def test_inner_runs_of_coco():
    player, table = OuterAscent(step=Plain(), inner=2), TABLES["smooth"]
    state, rate = player.start(table, 1), np.array([0.5])
    assert [player.length(s) for s in (1, 2, 3, 4)] == [2, 3, 4, 4]
    assert [player.runs(t) for t in (1, 2, 4, 5, 9, 12, 13)] == [0, 1, 1, 2, 3, 3, 4]
    point, shares = None, []
    for t in range(1, 10):
        rows, _, residual = a_round(table, t, 1)
        k = t - 1 - {0: 0, 1: 2, 2: 5}[player.runs(t - 1)]
        gamma = 2 / (k + 2)
        rows = rows[: table.program.n_multipliers]
        point = rows if k == 0 else (1 - gamma) * point + gamma * rows
        shares.append(player.share(state)[0])
        before = state.lam[table.constraints]
        state = player.learn(state, table, rows, residual, rate, t)
        np.testing.assert_allclose(state.point, point)
        if player.runs(t) == player.runs(t - 1):
            np.testing.assert_array_equal(state.lam[table.constraints], before)
        else:  # the G-mean and the false positive rate of the point, by hand
            values = (
                point[table.constraints, 0]
                + (table.atom_weights @ table.atom_values(state.slacks))[table.constraints, 0]
            )
            np.testing.assert_allclose(state.lam[table.constraints, 0], np.maximum(before[:, 0] + 0.5 * values, 0))
    np.testing.assert_allclose([sum(shares[:2]), sum(shares[2:5]), sum(shares[5:9])], 1.0)


def test_swap_regret_weighs_a_round_by_the_objectives_share():
    state = SwapState(np.array([[0.7, 0.2], [0.2, 0.5], [0.1, 0.3]]), np.zeros((3, 3, 2)))
    np.testing.assert_array_equal(SwapRegret().share(state), [0.7, 0.2])
