"""What a run has reached: history, judging elsewhere, the theorem's mixtures, and the status."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.tree import DecisionTreeClassifier

import equirate as eq
from equirate.game.algorithms import Algorithm
from equirate.game.solution_status import dual_bound, list_bound
from equirate.models import Linear, PlugIn
from equirate.players.multipliers import SwapRegret
from equirate.players.slack import BestSlack

G = eq.attr("g") == 1


def data(seed=0, n=240):
    rng = np.random.default_rng(seed)
    X, g = rng.normal(size=(n, 3)), (rng.random(n) < 0.4).astype(int)
    y = (X[:, 0] + 0.6 * g + 0.7 * rng.normal(size=n) > 0.4).astype(int)
    return X, y, {"g": g}


def finite(seed=0, count=6, n=150):
    """Random 0/1 decisions on random data: a list of classifiers, and everything needed to know the optimum."""
    rng = np.random.default_rng(seed)
    y, g = rng.integers(0, 2, n), rng.integers(0, 2, n)
    share = rng.uniform(0.1, 0.9, size=(2, 2, count))
    decided = (rng.random((n, count)) < share[y, g]).astype(int)
    return np.zeros((n, 1)), y, {"g": g}, decided


PROBLEM = eq.Problem(eq.maximize(eq.g_mean()), [eq.fpr(G) <= 0.3, eq.abs(eq.tpr(G) - eq.tpr(~G)) <= 0.1])
GRID = {"theta_step": (0.02, 0.2), "lambda_step": (0.05, 0.5)}


def iterates(solution):
    """Recorded round and configuration of every column of a game."""
    return list(zip(solution.columns.handle[:, 0].tolist(), solution.columns.configuration.tolist(), strict=True))


# -- history --------------------------------------------------------------------------------------


def test_history_holds_what_evaluation_finds():
    X, y, attributes = data()
    solution = eq.solve(PROBLEM, X, y, attributes=attributes, n_rounds=60, record_every=20, **GRID)
    history = solution.history
    assert history["round"].tolist() == [20, 40, 60]
    assert history["objective"].shape == history["violation"].shape == history["lagrangian"].shape == (3, 4)
    m, s = solution.play.table.program.n_multipliers, solution.play.table.n_slacks
    assert history["multipliers"].shape == (3, m, 4)
    assert history["slacks"].shape == (3, s, 4)
    assert solution.columns.rates.shape == (len(solution.judge.program.rates), 12)
    assert iterates(solution) == [(t, c) for t in range(3) for c in range(4)]
    for k, (t, c) in enumerate(iterates(solution)):
        found = eq.Classifier(solution.members([k]), np.ones(1)).evaluate(PROBLEM, X, y, attributes=attributes)
        assert history["objective"][t, c] == pytest.approx(found["objective"])
        assert history["violation"][t, c] == pytest.approx(max(0.0, *found["violations"]))


def test_judging_elsewhere_is_evaluating_every_member_there():
    X, y, attributes = data()
    X2, y2, attributes2 = data(1, 130)
    w2 = np.random.default_rng(0).uniform(0, 2, 130)
    problem = eq.Problem(eq.minimize(eq.kl_divergence(G) + 0.1 * eq.log_loss()), [eq.error_rate() <= eq.base_rate()])
    solution = eq.solve(problem, X, y, attributes=attributes, n_rounds=30, **GRID)
    judged = solution.on(X2, y2, attributes=attributes2, sample_weight=w2)
    for k, (t, c) in enumerate(iterates(judged)):
        found = eq.Classifier(judged.members([k]), np.ones(1)).evaluate(
            problem, X2, y2, attributes=attributes2, sample_weight=w2
        )
        assert judged.history["objective"][t, c] == pytest.approx(found["objective"])
        assert judged.history["violation"][t, c] == pytest.approx(max(0.0, *found["violations"]))
    for name in ("uniform", "shrink", "best", "polish"):
        made = getattr(judged, name)()
        objective, violation = judged.value_of(made)
        found = made.evaluate(None, X2, y2, attributes=attributes2, sample_weight=w2)
        assert objective == pytest.approx(found["objective"])
        assert violation == pytest.approx(max(found["violations"]))
    assert judged.status.bound_over == "these columns"  # other data than the model answered on


ANOTHER = [
    eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr(G) >= eq.tpr(~G) - 0.05]),  # other limit, sense and shape
    eq.Problem(eq.maximize(eq.tpr(G) - 0.5 * eq.hinge_loss()), [eq.error_rate() <= 0.4]),  # one of two losses
]


@pytest.mark.parametrize("another", ANOTHER)
def test_judging_for_another_problem_is_evaluating_that_one(another):
    X, y, attributes = data()
    first = eq.log_loss() + eq.hinge_loss() + eq.error_rate()
    problem = eq.Problem(eq.minimize(first), [eq.abs(eq.tpr(G) - eq.tpr(~G)) <= 0.2])
    judged = eq.solve(problem, X, y, attributes=attributes, n_rounds=40, **GRID).for_problem(another)
    for name in ("uniform", "shrink", "best", "polish"):
        made = getattr(judged, name)()
        found = made.evaluate(None, X, y, attributes=attributes)
        assert made.problem is another
        assert judged.value_of(made) == pytest.approx((found["objective"], max(found["violations"])))


@pytest.mark.parametrize("strange", [eq.fpr(G), eq.hinge_loss()])
def test_another_problem_may_use_only_what_was_recorded(strange):
    X, y, attributes = data()
    solution = eq.solve(
        eq.Problem(eq.minimize(eq.error_rate() + eq.log_loss())), X, y, attributes=attributes, n_rounds=5
    )
    with pytest.raises(eq.AlgorithmError, match="was not recorded"):
        solution.for_problem(eq.Problem(eq.minimize(eq.error_rate() + strange)))


def test_members_are_the_iterates_in_order():
    X, y, attributes = data()
    solution = eq.solve(PROBLEM, X, y, attributes=attributes, n_rounds=30, record_every=10, **GRID)
    decided = solution.members().decide(X)
    assert decided.shape == (len(X), len(solution.columns))
    for k, (t, c) in enumerate(iterates(solution)):
        np.testing.assert_array_equal(solution.members([k]).decide(X)[:, 0], decided[:, k])
        W = solution.record.snapshots[t][:, c]
        np.testing.assert_array_equal(X @ W[:-1] + W[-1] > 0, decided[:, k])


@pytest.mark.parametrize("name", ["uniform", "shrink", "best", "polish"])
@pytest.mark.parametrize(
    "problem",
    [
        PROBLEM,
        eq.Problem(eq.minimize(eq.log_loss()), [eq.positive_rate() <= 0.3]),
        eq.Problem(eq.maximize(eq.f1()), [eq.precision(G) >= eq.precision(~G) - 0.05]),
    ],
    ids=["g-mean", "log loss", "f1"],
)
def test_value_of_is_evaluate(problem, name):
    X, y, attributes = data()
    solution = eq.solve(problem, X, y, attributes=attributes, n_rounds=100, **GRID)
    made = getattr(solution, name)()
    objective, violation = solution.value_of(made)
    found = made.evaluate(None, X, y, attributes=attributes)
    assert objective == pytest.approx(found["objective"])
    assert violation == pytest.approx(max(found["violations"]))
    assert made.origin == name
    assert made.weights.sum() == pytest.approx(1)
    polished = solution.value_of(solution.polish())
    sign = -1 if problem.objective.sense == "maximize" else 1
    if violation <= max(polished[1], 0):
        assert sign * polished[0] <= sign * objective + 1e-6


def test_losses_count_in_the_choice():
    """With a loss alone in the objective, the chosen iterate is the one with the smallest loss."""
    X, y, _ = data()
    solution = eq.solve(eq.Problem(eq.minimize(eq.log_loss())), X, y, n_rounds=100, **GRID)
    signs = 2 * y[:, None] - 1
    scores = solution.members().scores(X)
    losses = np.logaddexp(0, -signs * scores).mean(0)
    for made in (solution.polish(), solution.best(), solution.shrink()):
        assert solution.value_of(made)[0] == pytest.approx(losses.min(), abs=1e-7)


def test_a_loss_beside_a_convex_part_is_polished_exactly():
    X, y, attributes = data()
    problem = eq.Problem(eq.minimize(eq.kl_divergence(G, prior=0.2) + 0.3 * eq.log_loss()))
    solution = eq.solve(problem, X, y, attributes=attributes, n_rounds=60, **GRID)
    members = solution.members()
    losses = np.logaddexp(0, -(2 * y[:, None] - 1) * members.scores(X)).mean(0)
    group = members.decide(X)[attributes["g"] == 1].mean(0)

    def objective(mu):
        p = group @ mu
        return 0.2 * np.log(0.2 / p) + 0.8 * np.log(0.8 / (1 - p)) + 0.3 * losses @ mu

    n = len(losses)
    best = min(
        objective(np.eye(n)[a] * share + np.eye(n)[b] * (1 - share))  # one rate and one loss: two iterates suffice
        for a in range(n)
        for b in range(a)
        for share in np.linspace(0, 1, 51)
        if 0 < group[a] * share + group[b] * (1 - share) < 1
    )
    assert solution.value_of(solution.polish())[0] <= best + 1e-6


def test_mixtures_of_one_configuration():
    X, y, attributes = data()
    solution = eq.solve(PROBLEM, X, y, attributes=attributes, n_rounds=50, **GRID)
    for c in range(4):
        for name in ("uniform", "shrink", "best", "polish"):
            assert set(solution.columns.configuration[list(getattr(solution, name)(c).chosen)]) == {c}
    for bad in (-1, 4):
        with pytest.raises(eq.AlgorithmError, match=f"no configuration {bad}"):
            solution.polish(bad)
    values = [solution.value_of(solution.uniform(c)) for c in range(4)]
    ranks = [
        max(sum(o > values[c][0] for o, _ in values), sum(max(v, 0) < max(values[c][1], 0) for _, v in values))
        for c in range(4)
    ]
    assert ranks[solution.best_configuration()] == min(ranks)


# -- what the theorems are about ------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["oracle", "frank_wolfe", "surrogate"])
def test_the_theorems_mixture_is_uniform(algorithm):
    X, y, attributes = data()
    problem = eq.Problem(eq.maximize(eq.g_mean()))
    solution = eq.solve(
        problem, X, y, attributes=attributes, algorithm=algorithm, model=Linear(), n_rounds=8, record_every=2
    )
    np.testing.assert_allclose(solution.uniform(0).weights, 0.25)
    assert solution.output(0).origin == "uniform"


PROBLEM_SMOOTH = eq.Problem(eq.maximize(eq.g_mean()), [eq.positive_rate(G) <= 0.5])


def test_cocos_weights_are_those_of_its_frank_wolfe_points():
    X, y, attributes, decided = finite()
    solution = eq.solve(
        PROBLEM_SMOOTH,
        X,
        y,
        attributes=attributes,
        algorithm="coco",
        model=list(decided.T),
        n_rounds=30,
        lambda_step=0.1,
    )
    made, length = solution.uniform(), solution.algorithm.multipliers.length(1)
    point = np.zeros(length)
    for k in range(length):  # the first inner run, as Frank-Wolfe moves: towards the answer by 2 / (k + 2)
        point *= 1 - 2 / (k + 2)
        point[k] += 2 / (k + 2)
    assert made.chosen == tuple(range(30))
    np.testing.assert_allclose(made.weights[:length] / made.weights[:length].sum(), point)


def test_the_proxy_lagrangian_weighs_by_the_objectives_multiplier():
    X, y, attributes = data()
    solution = eq.solve(
        PROBLEM, X, y, attributes=attributes, algorithm="proxy_lagrangian", n_rounds=40, record_every=4, lambda_step=0.5
    )
    made = solution.uniform(0)
    own = solution.history["multipliers"][:, 0, 0]
    np.testing.assert_allclose(made.weights, own / own.sum())
    assert np.ptp(own) > 0


def test_averages():
    X, y, attributes = data()
    solution = eq.solve(
        eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr() >= 0.7]), X, y, attributes=attributes,
        algorithm="spade_plus", n_rounds=40, theta_step=0.1, lambda_step=0.1,
    )  # fmt: skip
    average = solution.output()
    assert average.origin == "average"
    assert average.is_deterministic
    W = np.mean([snapshot[:, 0] for snapshot in solution.record.snapshots], axis=0)
    np.testing.assert_allclose(average.members.W[:, 0], W)
    with pytest.raises(eq.AlgorithmError, match="no mixture of recorded iterates"):
        solution.value_of(average)


@pytest.mark.parametrize("model", [DecisionTreeClassifier(max_depth=2), PlugIn()], ids=["oracle", "plug-in"])
def test_what_has_no_average_says_so(model):
    X, y, _ = data()
    problem = eq.Problem(eq.maximize(eq.g_mean()))
    solution = eq.solve(problem, X, y, model=model, algorithm="oracle", n_rounds=5)
    with pytest.raises(eq.AlgorithmError, match="average"):
        solution.average()


# -- status ---------------------------------------------------------------------------------------


def optimum(problem, y, attributes, decided, seed=0):
    """The best mixture of a list of classifiers, by an independent solver."""
    n = decided.shape[1]
    sign = -1 if problem.objective.sense == "maximize" else 1

    def objective(mu):
        return sign * problem.objective.expr.evaluate(y, np.clip(decided @ mu, 0, 1), attributes=attributes)

    def room(mu):
        p = np.clip(decided @ mu, 0, 1)
        return [-part.residual.evaluate(y, p, attributes=attributes) for c in problem.constraints for part in c.split()]

    best = np.inf
    constraints = [{"type": "eq", "fun": lambda mu: mu.sum() - 1}]
    if problem.constraints:
        constraints.append({"type": "ineq", "fun": room})
    for start in [np.full(n, 1 / n), *(0.8 * np.eye(n) + 0.2 / n)]:
        found = minimize(
            objective, start, bounds=[(0, 1)] * n, constraints=constraints, options={"ftol": 1e-12, "maxiter": 60}
        )
        mu = np.clip(found.x, 0, 1) / np.clip(found.x, 0, 1).sum()
        if min([0.0, *(room(mu) if problem.constraints else [])]) >= -1e-7:
            best = min(best, objective(mu))
    return best


@pytest.mark.parametrize("seed", [2, *(pytest.param(k, marks=pytest.mark.slow) for k in (0, 1))])
@pytest.mark.parametrize(
    ("algorithm", "problem"),
    [
        ("oracle", PROBLEM_SMOOTH),
        ("oracle", eq.Problem(eq.minimize(eq.error_rate()), [eq.kl_divergence(G) <= 0.02])),
        ("oracle", eq.Problem(eq.minimize(eq.square(eq.max(eq.fpr(), eq.fnr()))))),
        ("frank_wolfe", eq.Problem(eq.maximize(eq.h_mean()))),
        ("frank_wolfe", eq.Problem(eq.minimize(eq.kl_divergence(G) + eq.kl_divergence(~G)))),
        ("coco", PROBLEM_SMOOTH),
    ],
    ids=["oracle-g", "oracle-kld", "oracle-nested", "frank_wolfe-h", "frank_wolfe-kld", "coco"],
)
def test_the_bounds_hold_the_optimum(algorithm, problem, seed):
    X, y, attributes, decided = finite(seed)
    solution = eq.solve(
        problem,
        X,
        y,
        attributes=attributes,
        algorithm=algorithm,
        model=list(decided.T),
        n_rounds=200,
        lambda_step=(0.02, 0.1),
    )
    status, truth = solution.status, optimum(problem, y, attributes, decided)
    if not np.isfinite(truth):
        assert not status.feasible
        return
    sign = -1 if problem.objective.sense == "maximize" else 1
    assert status.bound_over == "all classifiers of this model"
    assert sign * status.bound <= truth + 1e-6
    if status.feasible:
        assert status.gap == pytest.approx(sign * (status.objective - status.bound))
        if status.violation <= 1e-7:
            assert sign * status.objective >= truth - 1e-5
        assert sign * status.bound >= truth - 2e-5  # the whole list is a programme too
        assert f"within {max(0.0, status.gap):.2g} of the best that any mixture of all classifiers" in str(status)


@pytest.mark.parametrize(
    ("options", "over", "printed"),
    [
        ({"algorithm": "proxy_lagrangian"}, "all classifiers of this model", "all classifiers of this model"),
        ({"levels": [0.0, 0.1]}, "these columns", "the classifiers found"),
        ({"model": "linear", "algorithm": "surrogate"}, "these columns", "the classifiers found"),
    ],
    ids=["finite list", "each level is another problem", "linear"],
)
def test_a_bound_says_what_it_is_over(options, over, printed):
    X, y, attributes, decided = finite()
    X = np.repeat(X, 2, axis=1)  # of one feature, all linear classifiers are known
    options = {"algorithm": "oracle", "model": list(decided.T), **options}
    solution = eq.solve(PROBLEM_SMOOTH, X, y, attributes=attributes, n_rounds=20, **options)
    assert solution.status.feasible
    assert solution.status.bound_over == over
    assert solution.status.gap >= 0
    assert f"any mixture of {printed} can do" in str(solution.status)


def test_no_dual_bound_if_the_objectives_multiplier_moves():
    X, y, attributes, decided = finite()
    swap = Algorithm("swap", BestSlack(), SwapRegret(), eq.algorithms.oracle.model)
    solution = eq.solve(PROBLEM_SMOOTH, X, y, attributes=attributes, algorithm=swap, model=list(decided.T), n_rounds=20)
    assert dual_bound(solution) is None
    assert list_bound(solution) is not None


def test_no_bound_without_feasibility_or_with_a_black_box():
    X, y, attributes, decided = finite()
    hard = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr() >= 0.999, eq.fpr() <= 0.001])
    status = eq.solve(hard, X, y, attributes=attributes, model=list(decided.T), n_rounds=20).status
    assert (status.bound, status.bound_over, status.gap) == (None, None, None)
    box = eq.minimize(eq.black_box(lambda a, b: a * a + b, eq.fpr(), eq.fnr(), increasing=True))
    status = eq.solve(box, X, y, attributes=attributes, model=list(decided.T), n_rounds=20).status
    assert (status.bound, status.bound_over, status.gap) == (None, None, None)


def test_ratios_of_a_finite_list_are_bounded_over_the_list():
    """The optimum of one ratio over mixtures is at a single classifier; few of them are recorded."""
    X, y, attributes, decided = finite()
    solution = eq.solve(
        eq.Problem(eq.maximize(eq.f1())), X, y, attributes=attributes, model=list(decided.T), n_rounds=3
    )
    f1 = [eq.f1().evaluate(y, column, attributes=attributes) for column in decided.T]
    assert solution.status.bound_over == "all classifiers of this model"
    assert solution.status.bound == pytest.approx(max(f1), abs=1e-5)


def test_the_search_for_ratios_can_be_limited():
    X, y, attributes, decided = finite(2)
    problem = eq.Problem(eq.maximize(eq.f1(G) + eq.f1(~G)), [eq.precision(G) <= eq.precision(~G)])
    solution = eq.solve(problem, X, y, attributes=attributes, model=list(decided.T), n_rounds=30)
    local, default, fine = (solution.polish(**how) for how in ({"time_limit": 0}, {}, {"gap": 1e-5, "time_limit": 60}))
    assert local.notes["bound"] is None
    assert default.notes["gap"] <= 1e-3
    assert fine.notes["gap"] <= 1e-5
    assert fine.notes["bound"] <= default.notes["bound"] + 1e-9
    values = [solution.value_of(made)[0] for made in (local, default, fine)]
    assert values == sorted(values)
    assert default.notes["bound"] == pytest.approx(values[1] + default.notes["gap"])
    with pytest.raises(eq.AlgorithmError, match="must not be negative"):
        solution.polish(gap=-1)
    with pytest.raises(eq.AlgorithmError, match="must not be negative"):
        solution.polish(time_limit=-1)


def test_regrets_are_what_fixed_play_would_have_gained():
    X, y, attributes, decided = finite(4)
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr() >= 0.7, eq.fpr(G) <= 0.3])
    solution = eq.solve(
        problem,
        X,
        y,
        attributes=attributes,
        algorithm="oracle",
        model=list(decided.T),
        n_rounds=25,
        lambda_step=0.1,
        radius=2.0,
    )
    lam = solution.history["multipliers"][:, 1:, 0]
    played = np.array([solution.record.snapshots[t][0] for t in range(25)])
    error = (decided != y[:, None]).mean(0)
    tpr = decided[y == 1].mean(0)
    fpr = decided[(y == 0) & (attributes["g"] == 1)].mean(0)
    gain = np.stack([0.7 - tpr, fpr - 0.3])

    def lagrangian(theta, multipliers):
        return error[theta] + (multipliers * gain[:, theta].T).sum(-1)

    reached = lagrangian(played, lam).mean()
    corners = np.array([[0, 0], [2, 0], [0, 2]])
    fixed = max(lagrangian(played, np.tile(corner, (25, 1))).mean() for corner in corners)
    assert solution.status.lambda_regret == pytest.approx(fixed - reached)
    best = min(lagrangian(np.full(25, k), lam).mean() for k in range(decided.shape[1]))
    assert solution.status.theta_regret == pytest.approx(reached - best)


@pytest.mark.parametrize("algorithm", ["surrogate", "biconvex", "slack_ratios", "proxy_lagrangian", "spade_plus"])
def test_every_algorithm_has_a_status_and_no_nan(algorithm):
    X, y, attributes = data()
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.precision() >= 0.6])
    solution = eq.solve(problem, X, y, attributes=attributes, algorithm=algorithm, n_rounds=60, **GRID)
    for shown in (solution, solution.on(X, y, attributes=attributes)):
        text = str(shown.status)
        assert "nan" not in text.lower()
        assert "objective" in text
    assert solution.status.theta_regret is None or np.isfinite(solution.status.theta_regret)
    assert repr(solution).startswith(f"<Solution: {algorithm}, 60 rounds, 24 columns>")


def test_infeasible_problems_say_how_far_off_they_are():
    X, y, attributes, decided = finite()
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr() >= 0.95, eq.fpr() <= 0.02])
    solution = eq.solve(problem, X, y, attributes=attributes, algorithm="oracle", model=list(decided.T), n_rounds=300)
    tpr, fpr = decided[y == 1].mean(0), decided[y == 0].mean(0)
    least = linprog(
        [0] * 6 + [1],
        A_ub=[[*(-tpr), -1], [*fpr, -1]],
        b_ub=[-0.95, 0.02],
        A_eq=[[1] * 6 + [0]],
        b_eq=[1],
    ).fun
    status = solution.status
    assert not status.feasible
    assert status.gap is None
    assert status.violation >= least - 1e-9
    assert status.smallest_violation == pytest.approx(status.violation, abs=1e-6)
    assert "constraints NOT met" in str(status)
    assert "cannot be met" in str(status)
    if {int(p[0]) for p in solution.record.snapshots} == set(range(6)):
        assert status.violation == pytest.approx(least, abs=1e-6)


def test_a_constant_solution_is_pointed_out():
    X, y, attributes = data()
    solution = eq.solve(
        eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.0]),
        X,
        y,
        attributes=attributes,
        n_rounds=200,
        **GRID,
    )
    assert solution.status.feasible
    assert "says 0 to everybody" in str(solution.status)


def test_tolerance_decides_what_counts_as_met():
    X, y, attributes, decided = finite()
    best = decided[y == 1].mean(0).max()
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr() >= best + 0.01])
    for tolerance, met in ((0.02, True), (0.001, False)):
        options = {"algorithm": "oracle", "model": list(decided.T), "n_rounds": 100, "tolerance": tolerance}
        assert eq.solve(problem, X, y, attributes=attributes, **options).status.feasible is met


def test_a_gap_of_rounding_is_none() -> None:
    X, y, attributes = data()
    status = eq.solve(eq.minimize(eq.error_rate()), X, y, attributes=attributes).status
    for gap in (-0.0, -1e-17):
        assert "within 0 of the best" in str(replace(status, gap=gap))
