"""The loop: published updates by hand, the Lagrangian and its parts, domains, divergence, batches."""

from dataclasses import replace

import numpy as np
import pytest

import equirate as eq
from equirate.data.examples import Examples
from equirate.data.sample import Sample
from equirate.game import algorithms
from equirate.game.loop import Game, Rules, play
from equirate.game.stopping import LevelPlateaus
from equirate.mixtures import values
from equirate.models import Finite, Linear
from equirate.models.rows import Rows
from equirate.players.model import Respond
from equirate.players.multipliers import Ascent
from equirate.players.slack import BestSlack, atom_weights, slack_gradient
from equirate.players.steps import Plain
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table

N = 60
rng = np.random.default_rng(11)
X = rng.normal(size=(N, 3))
Y = (X[:, 0] + rng.normal(size=N) > 0.3).astype(int)
GROUP = np.where(rng.random(N) < 0.5, "a", "b")
W = rng.uniform(0.5, 2.0, N)
A, B = eq.attr("group") == "a", eq.attr("group") == "b"
SQUARES = eq.Problem(eq.minimize(eq.square(eq.fpr()) + eq.square(eq.fnr())))


def solve(problem, algorithm, n_rounds=40, **settings):
    settings = {"theta_step": 0.3, "lambda_step": 0.2, "step_rule": "plain", "record_every": 1} | settings
    return eq.solve(
        problem, X, Y, attributes={"group": GROUP}, sample_weight=W, algorithm=algorithm, n_rounds=n_rounds, **settings
    )


def weights_of(solution, c=0):
    return np.array([snapshot[:, c] for snapshot in solution.record.snapshots])


# -- SPADE and NEMSIS against their own published updates, with the signs corrected -------------------

Z = np.hstack([X, np.ones((N, 1))])
NEGATIVE, POSITIVE = (np.where(label == Y, W, 0.0) / W[label == Y].sum() for label in (0, 1))


def hinge_rates(theta):
    """(R~1, R~2) = (fpr, fnr) with hinge surrogates, and their subgradients."""
    f = Z @ theta
    rates = np.array([NEGATIVE @ np.maximum(0, 1 + f), POSITIVE @ np.maximum(0, 1 - f)])
    return rates, np.array([(NEGATIVE * (f > -1)) @ Z, -(POSITIVE * (f < 1)) @ Z])


def test_spade_is_its_published_update():
    theta, dual, expected, duals = np.zeros(4), np.array([1.0, 1.0]), [], []
    for _ in range(40):
        expected.append(theta)
        duals.append(dual)
        rates, slopes = hinge_rates(theta)
        conjugate = np.clip(dual / 2, 0, 1)  # grad psi* of psi(r) = r1^2 + r2^2, with r in [0, 1]
        theta = theta - 0.3 * dual @ slopes
        dual = np.maximum(dual + 0.2 * (rates - conjugate), 0)  # ascends; the radius is never reached
    solution = solve(SQUARES, "spade")
    np.testing.assert_allclose(weights_of(solution), expected, atol=1e-12)
    np.testing.assert_allclose(solution.record.stacked("multipliers")[:, 1:, 0], duals, atol=1e-12)
    np.testing.assert_allclose(solution.output().members.W[:, 0], np.mean(expected, axis=0), atol=1e-12)


def test_nemsis_is_its_published_update():
    theta, dual, expected, seen = np.zeros(4), np.array([0.0, 2.0]), [], []  # grad psi at R(0) = (0, 1)
    for _ in range(40):
        expected.append(theta)
        rates, slopes = hinge_rates(theta)
        theta = theta - 0.3 * dual @ slopes
        seen.append(rates)
        # argmax over the gradients of psi of sum_tau dual . R~(theta^tau) - psi*(dual)
        dual = 2 * np.clip(np.mean(seen, axis=0), 0, 1)
    solution = solve(SQUARES, "nemsis")
    np.testing.assert_allclose(weights_of(solution), expected, atol=1e-12)
    np.testing.assert_allclose(solution.output().members.W[:, 0], np.mean(expected, axis=0), atol=1e-12)


def test_algorithm_2_is_its_published_update_for_the_kl_divergence():
    # Appendix on surrogates for KL-divergence: xi = (p, 1 - p) / lambda, true rates for lambda, surrogates for theta.
    share, p = W / W.sum(), float(W @ Y / W.sum())
    theta, lam, expected = np.zeros(4), np.array([p, 1 - p]) / ((1 + 1e-6) / 2), []  # the middle of [1e-6, 1]
    for _ in range(40):
        expected.append(theta)
        f = Z @ theta
        xi = np.clip(np.array([p, 1 - p]) / np.maximum(lam, 1e-30), 1e-6, 1)
        slope = -lam[0] * (share * (f < 1)) @ Z + lam[1] * (share * (f > -1)) @ Z
        true = share @ (f > 0)
        theta = theta - 0.3 * slope
        lam = np.maximum(lam + 0.2 * (xi - np.array([true, 1 - true])), 0)
    as_printed = replace(eq.algorithms.surrogate, model=replace(eq.algorithms.surrogate.model, net=False))
    solution = solve(eq.Problem(eq.minimize(eq.kl_divergence())), as_printed)
    np.testing.assert_allclose(weights_of(solution), expected, atol=1e-10)


def test_net_bounds_take_the_sum_of_the_coefficients_on_a_prediction():
    share, p = W / W.sum(), float(W @ Y / W.sum())
    theta, lam, expected = np.zeros(4), np.array([p, 1 - p]) / ((1 + 1e-6) / 2), []
    for _ in range(40):
        expected.append(theta)
        f, net = Z @ theta, lam[1] - lam[0]
        xi = np.clip(np.array([p, 1 - p]) / np.maximum(lam, 1e-30), 1e-6, 1)
        true = share @ (f > 0)
        theta = theta - 0.3 * net * (share * ((f > -1) if net > 0 else (f < 1))) @ Z
        lam = np.maximum(lam + 0.2 * (xi - np.array([true, 1 - true])), 0)
    solution = solve(eq.Problem(eq.minimize(eq.kl_divergence())), "surrogate")
    np.testing.assert_allclose(weights_of(solution), expected, atol=1e-10)


# -- domains ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "objective", [eq.minimize(eq.kl_divergence(A) + eq.kl_divergence(B)), eq.maximize(eq.g_mean())]
)
@pytest.mark.parametrize("rule", ["plain", "adam"])
def test_algorithm_2_keeps_the_slack_in_the_domain_when_surrogate_rates_leave_it(objective, rule):
    problem, fast = eq.Problem(objective), {"theta_step": 2.0, "lambda_step": 1.0, "n_rounds": 80, "step_rule": rule}
    solution = solve(problem, "surrogate", **fast)
    slacks, table = solution.record.stacked("slacks"), solution.play.table
    scores = [Z @ theta for theta in weights_of(solution)]
    lowest = min(min(W @ np.minimum(1, f), (W * (Y == 1)) @ np.minimum(1, f)) for f in scores)
    assert lowest < 0  # so the test means something
    assert (slacks >= table.lo[:, None]).all()
    assert (slacks <= table.hi[:, None]).all()
    assert table.lo.min() > 0
    assert np.isfinite(solution.record.stacked("multipliers")).all()
    assert not solution.record.left_domain
    for algorithm in ("spade", "nemsis"):
        with pytest.warns(eq.NotSolvedWarning, match="left the domain"):
            other = solve(problem, algorithm, **fast)
        assert other.record.left_domain
        for name in ("rates", "multipliers", "slacks", "lagrangian"):
            assert np.isfinite(other.record.stacked(name)).all(), (algorithm, name)
        assert np.isfinite(other.output().members.W).all()


# -- the Lagrangian -----------------------------------------------------------------------------------

MIXED = eq.Problem(
    eq.minimize(0.5 * eq.error_rate() + eq.kl_divergence(A, prior=0.3)),
    [eq.g_mean(B) >= 0.6, eq.precision(A) >= eq.precision(B) - 0.1, eq.fpr() <= 0.3],
)


def game_of(problem, count=3, algorithm=None):
    algorithm = algorithm or algorithms.ALGORITHMS["slack_ratios"]
    table = make_table(canonicalize(problem, algorithm.form), Examples.of(Y, {"group": GROUP}, W))
    rules = Rules(10, 1, *(np.full(count, 0.1),) * 3)
    learner = Linear().bind(Rows.of(Sample(X, table.examples), table.cells), count, Plain(), range(count))
    game = Game(table, table, learner, algorithm, rules)
    return table, game


def by_hand(inside, of):
    return W[inside] @ of[inside] / W[inside].sum()


def test_the_lagrangian_is_the_sum_of_its_parts_by_definition():
    table, game = game_of(MIXED, 1)
    p = (rng.random(N) < 0.5).astype(float)
    a, b, one, zero, everybody = GROUP == "a", GROUP == "b", Y == 1, Y == 0, np.ones(N, dtype=bool)
    rates = {
        "positive_rate(group == 'a')": by_hand(a, p),
        "1 - positive_rate(group == 'a')": 1 - by_hand(a, p),
        "tpr(group == 'b')": by_hand(b & one, p),
        "tnr(group == 'b')": 1 - by_hand(b & zero, p),
        "tp(group == 'a')": by_hand(a, p * Y),
        "tp(group == 'b')": by_hand(b, p * Y),
        "positive_rate(group == 'b')": by_hand(b, p),
    }
    texts = [row.text for row in table.program.rows]
    couplings = texts[table.couplings]
    lam = rng.uniform(0.1, 2, (table.program.n_multipliers, 1))
    lam[0] = 1.0
    xi = rng.uniform(table.lo, table.hi)[:, None]
    residual = game.residual_of(table.rows(table.cells.sums((p > 0)[:, None])), xi)

    def x(text, nth=0):
        return xi[[k for k, t in enumerate(couplings) if t == text][nth], 0]

    # The positive rate of group a is coupled twice: in the divergence and under the precision.
    kld = [-0.3 * np.log(x("positive_rate(group == 'a')")), -0.7 * np.log(x("1 - positive_rate(group == 'a')"))]
    constant = 0.3 * np.log(0.3) + 0.7 * np.log(0.7)
    error = by_hand(everybody, np.where(Y == 1, 1 - p, p))
    precision_a = x("tp(group == 'a')") / x("positive_rate(group == 'a')", 1)
    precision_b = x("tp(group == 'b')") / x("positive_rate(group == 'b')")
    expected = [
        0.5 * error + sum(kld) + constant,
        0.6 - np.sqrt(x("tpr(group == 'b')") * x("tnr(group == 'b')")),
        precision_b - 0.1 - precision_a,
        by_hand(zero, p) - 0.3,
        *(
            slack.sense * (rates[text] - xi[k, 0])
            for k, (slack, text) in enumerate(zip(table.program.slacks, couplings, strict=True))
        ),
    ]
    np.testing.assert_allclose(residual[:, 0], expected, atol=1e-12)
    senses = {text: slack.sense for text, slack in zip(couplings, table.program.slacks, strict=True)}
    assert senses["tp(group == 'a')"] == -1  # a >= N only where the ratio enters increasingly
    assert senses["tp(group == 'b')"] == 1
    # L = L1 + L2
    sense = table.sense[table.couplings]
    L1 = (atom_weights(table, lam) * table.atom_values(xi)).sum() - (lam[table.couplings, 0] * sense * xi[:, 0]).sum()
    L2 = (lam * table.rows(table.cells.sums((p > 0)[:, None]))[: len(lam)]).sum()
    assert (lam * residual).sum() == pytest.approx(L1 + L2)
    assert (lam * residual).sum() == pytest.approx(float(np.array(expected) @ lam[:, 0]))


@pytest.mark.parametrize("algorithm", ["slack_ratios", "biconvex"])
@pytest.mark.parametrize("problem", [MIXED, eq.Problem(eq.minimize(eq.square(eq.tpr(A) - eq.tpr(B)) - eq.f1()))])
def test_residual_and_slack_gradient_are_derivatives_of_the_lagrangian(problem, algorithm):
    count, h = 3, 1e-6
    table, game = game_of(problem, count, algorithms.ALGORITHMS[algorithm])
    n = table.program.n_multipliers
    rows = table.rows(table.cells.sums(rng.random((N, count)) < 0.5))
    lam = rng.uniform(0.1, 2, (n, count))
    xi = table.lo[:, None] + (table.hi - table.lo)[:, None] * rng.uniform(0.2, 0.8, (table.n_slacks, count))
    biconvex = game.slacks.u is not None
    if biconvex:
        game.slacks.u[:] = rng.uniform(0.1, 0.9, game.slacks.u.shape)

    def lagrangian(lam, xi):
        return (lam * game.residual_of(rows, xi)).sum(0)

    residual = game.residual_of(rows, xi)
    for k in range(n):
        step = np.zeros_like(lam)
        step[k] = h
        np.testing.assert_allclose(
            (lagrangian(lam + step, xi) - lagrangian(lam - step, xi)) / (2 * h), residual[k], atol=1e-7
        )
    if biconvex:  # there, slacks best-respond and u descends
        slope = {}

        class Keep(Plain):
            def move(self, state, gradient, rate):
                slope["u"] = gradient
                return super().move(state, gradient, rate)

        u = game.slacks.u.copy()
        state = replace(game.slacks, xi=xi)
        BestSlack(Keep()).learn(state, table, lam, rows, np.full(count, 0.1))
        for group in (g for g in table.groups if g.direct is not None):
            for a in group.atoms:
                ends = []
                for step in (h, -h):
                    game.slacks = replace(game.slacks, u=u.copy())
                    game.slacks.u[a] += step
                    ends.append(lagrangian(lam, xi))
                np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), slope["u"][a], rtol=1e-5, atol=1e-7)
        return
    gradient = slack_gradient(table, xi, lam)
    for s in range(table.n_slacks):
        step = np.zeros_like(xi)
        step[s] = h
        np.testing.assert_allclose(
            (lagrangian(lam, xi + step) - lagrangian(lam, xi - step)) / (2 * h), gradient[s], rtol=1e-5, atol=1e-6
        )


def test_values_are_in_the_users_own_terms():
    table, _ = game_of(MIXED)
    predictions = rng.random((N, 4)) < 0.5
    objective, violations = values(table, table.rates(table.cells.sums(predictions)))
    for c in range(4):
        people = {"attributes": {"group": GROUP}, "sample_weight": W}
        assert objective[c] == pytest.approx(MIXED.objective.expr.evaluate(Y, predictions[:, c], **people))
        for j, constraint in enumerate(MIXED.constraints):
            assert violations[j, c] == pytest.approx(constraint.evaluate(Y, predictions[:, c], **people))


# -- batches ------------------------------------------------------------------------------------------

BATCH = {
    "frank_wolfe": SQUARES,
    "spade": SQUARES,
    "nemsis": SQUARES,
    "oracle": MIXED,
    "surrogate": MIXED,
    "spade_plus": eq.Problem(eq.minimize(eq.error_rate()), [eq.square(eq.fnr()) <= 0.1, eq.fpr() <= 0.3]),
    "coco": eq.Problem(eq.minimize(eq.error_rate()), [eq.square(eq.fnr()) <= 0.1, eq.fpr() <= 0.3]),
    "slack_ratios": MIXED,
    "biconvex": MIXED,
    "proxy_lagrangian": eq.Problem(eq.minimize(eq.kl_divergence(A)), [eq.g_mean() >= 0.6, eq.fpr() <= 0.3]),
}
for _name in ("oracle", "surrogate"):
    BATCH[_name] = BATCH["proxy_lagrangian"]


@pytest.mark.parametrize("name", BATCH)
@pytest.mark.parametrize("rule", ["plain", "sqrt", "adam"])
def test_a_batch_of_configurations_is_the_same_as_one_at_a_time(name, rule):
    problem = BATCH[name]
    J = canonicalize(problem).n_constraints
    grid = {"theta_step": [0.05, 0.2], "lambda_step": [0.1, 0.7]}
    settings = {"step_rule": rule, "model": Linear(spread=0.5), "seeds": (3,), "n_rounds": 12}
    if J:
        settings["levels"] = [[0.02] * J]
    if algorithms.ALGORITHMS[name].responds:
        settings["model"] = [(X @ v > 0.1).astype(int) for v in rng.normal(size=(6, 3))]
    together = solve(problem, name, **settings, **grid)
    for c, setting in enumerate(together.configurations):
        steps = {step: setting[step] for step in grid if step in setting}
        alone = solve(problem, name, **settings, **steps)
        for quantity in ("rates", "multipliers", "slacks", "lagrangian", "shares"):
            np.testing.assert_allclose(
                together.record.stacked(quantity)[..., c], alone.record.stacked(quantity)[..., 0], atol=1e-10, rtol=1e-9
            )


# -- divergence, interruption, progress -----------------------------------------------------------------


def test_a_configuration_that_diverges_is_dropped_and_named_and_the_others_go_on():
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.fpr() <= 0.3])
    settings = {"model": Linear(penalty=1.0), "lambda_step": 0.1, "n_rounds": 600, "record_every": 50}
    with pytest.warns(eq.NotSolvedWarning, match="configurations 1 diverged"):
        solution = solve(problem, "surrogate", theta_step=[0.1, 60.0, 0.2], **settings)
    assert set(solution.record.diverged) == {1}
    assert any("theta_step=60" in line and "smaller steps" in line for line in solution.status.advice)
    for t, active in enumerate(solution.record.actives):
        assert np.isfinite(solution.record.snapshots[t]).all()  # nothing that is not finite is ever recorded
        assert np.isfinite(solution.record.rates[t][:, active]).all()
    for c in (0, 2):
        alone = solve(problem, "surrogate", theta_step=[0.1, 60.0, 0.2][c], **settings)
        rates = [played.record.stacked("rates")[..., k] for played, k in ((solution, c), (alone, 0))]
        np.testing.assert_allclose(*rates, atol=1e-12)
        assert len(solution.uniform(c).members) == 12
    assert np.isnan(solution.history["objective"][-1, 1])


def test_if_all_diverge_before_anything_is_recorded_it_is_an_error_that_says_so():
    with pytest.raises(eq.AlgorithmError, match="every configuration diverged by round 600: take smaller steps"):
        solve(SQUARES, "surrogate", model=Linear(penalty=1.0), theta_step=60.0, n_rounds=600, record_every=600)


def test_an_interruption_keeps_what_was_recorded():
    def stop(moment):
        if moment.round == 7:
            raise KeyboardInterrupt

    with pytest.warns(eq.NotSolvedWarning, match="interrupted after 7 of 40"):
        solution = solve(SQUARES, "surrogate", progress=stop)
    assert solution.record.rounds == list(range(1, 8))


def test_progress_is_told_objective_and_violation():
    told = []
    problem = eq.Problem(eq.maximize(eq.accuracy()), [eq.fpr() <= 0.1])
    solution = solve(problem, "surrogate", progress=told.append, record_every=10)
    assert [moment.round for moment in told] == [10, 20, 30, 40]
    np.testing.assert_allclose([m.objective[0] for m in told], solution.history["objective"][:, 0])
    np.testing.assert_allclose([m.violation[0] for m in told], solution.history["violation"][:, 0])


def test_the_last_round_is_always_recorded():
    table, _ = game_of(SQUARES)
    rules = Rules(7, 3, *(np.full(2, 0.1),) * 3)
    rows = Rows.of(Sample(X, table.examples), table.cells)
    learner = Finite((np.zeros(N), np.ones(N))).bind(rows, 2, Plain(), (0, 0))
    record = play(table, learner, algorithms.Algorithm("own", BestSlack(), Ascent(), Respond()), rules)
    assert record.rounds == [3, 6, 7]
    assert record.stacked("rates").shape == (3, len(table.program.rates), 2)


def test_losses_share_the_objectives_multiplier():
    # The proxy-Lagrangian plays the objective's multiplier too; an ordinary loss is part of that objective.
    loss = eq.Problem(eq.minimize(eq.log_loss()), [eq.fpr() <= 0.3])
    solution = solve(loss, "proxy_lagrangian", n_rounds=2, model=Linear(intercept=False), lambda_step=1.0)
    lam = solution.record.stacked("multipliers")[0, :, 0]
    f = np.zeros(N)
    slope = lam[0] * (W / W.sum() * np.where(Y == 1, -0.5, 0.5)) @ X + lam[1] * (NEGATIVE * (f > -1)) @ X
    np.testing.assert_allclose(weights_of(solution)[1], -0.3 * slope, atol=1e-12)


def test_configurations_can_be_taken_out_of_the_play():
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.3])
    settings = {"theta_step": (0.05, 0.1, 0.2), "lambda_step": 0.1, "record_every": 5, "n_rounds": 40}
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)
    full = eq.solve(problem, X, y, **settings)
    seen = []

    def watch(moment):
        seen.append(moment.active.tolist())
        return np.array([1]) if moment.round == 10 else np.array([], dtype=int)

    solution = eq.solve(problem, X, y, progress=watch, **settings)
    assert seen == [[0, 1, 2]] * 2 + [[0, 2]] * 6
    assert solution.record.retired == {1: 10}
    rates, wanted = solution.record.stacked("rates"), full.record.stacked("rates")
    np.testing.assert_allclose(rates[:, :, [0, 2]], wanted[:, :, [0, 2]], atol=1e-9)
    np.testing.assert_allclose(rates[:2, :, 1], wanted[:2, :, 1], atol=1e-9)
    assert np.isnan(rates[2:, :, 1]).all()
    assert np.sum(solution.columns.configuration == 1) == 2  # what was recorded before stays
    everyone = eq.solve(problem, X, y, progress=lambda moment: np.arange(3), **settings)
    assert everyone.record.played == 5


def test_iterates_are_thinned_to_what_memory_allows(monkeypatch):
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.3])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = (X[:, 0] > 0).astype(int)
    settings = {"theta_step": (0.05, 0.1), "record_every": 1, "n_rounds": 100, "lambda_step": 0.1}
    full = eq.solve(problem, X, y, **settings)
    assert full.record.rounds == list(range(1, 101))
    size = full.record.snapshots[0].nbytes
    monkeypatch.setattr("equirate.models.linear.LEAST_BUDGET", 30 * size)
    solution = eq.solve(problem, X, y, **settings)
    assert 15 <= len(solution.record.rounds) <= 31
    assert solution.record.rounds[-1] == 100
    kept = np.array(solution.record.rounds) - 1
    np.testing.assert_allclose(solution.record.stacked("rates"), full.record.stacked("rates")[kept])
    np.testing.assert_allclose(solution.record.snapshots, np.array(full.record.snapshots)[kept])
    assert solution.history["multipliers"].shape[0] == len(kept)


def test_a_level_that_no_longer_improves_leaves_the_play():
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.2])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int)
    settings = {"theta_step": (0.05, 0.1), "lambda_step": 0.1, "record_every": 5, "levels": [0.0, 0.8]}
    watch = LevelPlateaus(patience=2, tolerance=1e-3, every=4)
    solution = eq.solve(problem, X, y, n_rounds=3000, progress=watch, **settings)
    assert set(solution.record.retired) == {0, 1, 2, 3}
    assert solution.record.played < 3000
    ends = {level: {solution.record.retired[c] for c in (level, level + 2)} for level in (0, 1)}
    assert all(len(rounds) == 1 for rounds in ends.values())  # a level's configurations leave together
    patient = eq.solve(problem, X, y, n_rounds=3000, **settings)
    for level, room in enumerate((0.0, 0.8)):
        found, best = (s.for_problem(eq.Problem(problem.objective, [eq.positive_rate() <= 0.2 + room])).polish()
                       for s in (solution, patient))  # fmt: skip
        assert solution.value_of(found)[0] <= patient.value_of(best)[0] + 0.01, level


@pytest.mark.parametrize("sense", [eq.minimize, eq.maximize])
def test_a_moment_tells_what_the_history_keeps(sense):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)
    told = []
    problem = eq.Problem(sense(eq.accuracy() if sense is eq.maximize else eq.error_rate()), [eq.positive_rate() <= 0.2])

    def watch(moment):
        told.append((moment.round, moment.objective.copy(), moment.violation.copy()))

    solution = eq.solve(problem, X, y, algorithm="surrogate", n_rounds=6, record_every=2, progress=watch)
    assert [at for at, _, _ in told] == [2, 4, 6]
    np.testing.assert_array_equal([objective for _, objective, _ in told], solution.history["objective"])
    violation = np.maximum(solution.history["violation"], 0.0)
    np.testing.assert_array_equal([each for _, _, each in told], violation.reshape(3, -1))


def test_a_play_cannot_go_on_from_one_with_other_constraints():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    settings = {"algorithm": "surrogate", "n_rounds": 4}
    one = eq.solve(eq.Problem(eq.minimize(eq.error_rate())), X, y, **settings)
    two = eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.2])
    with pytest.raises(eq.AlgorithmError, match="cannot continue: the earlier play has multipliers of shape"):
        eq.solve(two, X, y, start=one.record.end(), **settings)
