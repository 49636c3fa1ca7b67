"""Exact truth: on a finite set of classifiers the optimum over mixtures is a small convex programme.

The optimum is computed here with scipy on rates worked out by hand; the algorithms must reach it through the
output of their own theorems, as fast as the theorems say.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog, minimize as scipy_minimize

import equirate as eq
from equirate.game.solution_status import dual_bound
from equirate.players.multipliers import OuterAscent

rng = np.random.default_rng(7)
N = 80
Y = (rng.random(N) < 0.4).astype(int)
GROUP = np.where(rng.random(N) < 0.5, "a", "b")
W = rng.uniform(0.5, 2.0, N)
X = np.zeros((N, 1))
# Thresholds on a noisy score, far apart and not the same for both groups, and both constants: mixtures are better.
SCORE = Y + 0.8 * rng.normal(size=N)
THRESHOLDS = [(-0.6, -0.8), (1.5, 1.6), (-0.7, 1.7), (1.6, -0.5), (-9.0, -9.0), (9.0, 9.0), (0.1, 1.1)]
DECISIONS = np.stack([np.where(GROUP == "a", a < SCORE, b < SCORE) for a, b in THRESHOLDS], axis=1).astype(int)
K = len(THRESHOLDS)
LIST = [DECISIONS[:, k].copy() for k in range(K)]
A, B = eq.attr("group") == "a", eq.attr("group") == "b"
IN_A, IN_B = GROUP == "a", GROUP == "b"

Hand = Callable[[np.ndarray], float]


def mean(values, inside):
    return float(W[inside] @ values[inside] / W[inside].sum())


EVERYBODY = np.ones(N, dtype=bool)
BASE = mean(Y.astype(float), EVERYBODY)


def pos(p, inside=EVERYBODY):
    return mean(p, inside)


def tpr(p, inside=EVERYBODY):
    return mean(p, inside & (Y == 1))


def fpr(p, inside=EVERYBODY):
    return mean(p, inside & (Y == 0))


def error(p):
    return mean(np.where(Y == 1, 1 - p, p), EVERYBODY)


def kld(p, inside=EVERYBODY, prior=BASE):
    q = np.clip(pos(p, inside), 1e-12, 1 - 1e-12)
    return prior * np.log(prior / q) + (1 - prior) * np.log((1 - prior) / (1 - q))


@dataclass(frozen=True)
class Case:
    """A problem, and the same by hand: minimised objective and constraints as functions of the predictions."""

    problem: eq.Problem
    objective: Hand
    constraints: tuple[Hand, ...] = ()
    smooth: bool = True

    def violation(self, p):
        return max((f(p) for f in self.constraints), default=0.0)


CASES = {
    "kld": Case(
        eq.Problem(eq.minimize(eq.kl_divergence(A, prior=0.2) + eq.kl_divergence(B, prior=0.6))),
        lambda p: kld(p, IN_A, 0.2) + kld(p, IN_B, 0.6),
    ),
    "g_mean": Case(
        eq.Problem(eq.maximize(eq.g_mean())),
        lambda p: -np.sqrt(max(tpr(p) * (1 - fpr(p)), 0.0)),
    ),
    "h_mean": Case(
        eq.Problem(eq.maximize(eq.h_mean())),
        lambda p: -2 / (1 / max(tpr(p), 1e-12) + 1 / max(1 - fpr(p), 1e-12)),
    ),
    "q_mean": Case(
        eq.Problem(eq.maximize(eq.q_mean())),
        lambda p: np.hypot(fpr(p), 1 - tpr(p)) / np.sqrt(2) - 1,
    ),
    "affine": Case(
        eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate() >= 0.6, eq.tpr(A) - eq.tpr(B) <= -0.1]),
        error,
        (lambda p: 0.6 - pos(p), lambda p: tpr(p, IN_A) - tpr(p, IN_B) + 0.1),
    ),
    "kld constraint": Case(
        eq.Problem(eq.minimize(eq.error_rate()), [eq.kl_divergence(A, prior=0.6) <= 0.02]),
        error,
        (lambda p: kld(p, IN_A, 0.6) - 0.02,),
    ),
    "idle kld constraint": Case(
        eq.Problem(eq.minimize(eq.error_rate()), [eq.kl_divergence(A, prior=0.4) <= 0.3]),
        error,
        (lambda p: kld(p, IN_A, 0.4) - 0.3,),
    ),
    "kld and constraint": Case(
        eq.Problem(eq.minimize(eq.kl_divergence(A, prior=0.8)), [eq.error_rate() <= 0.36]),
        lambda p: kld(p, IN_A, 0.8),
        (lambda p: error(p) - 0.36,),
    ),
    "square": Case(
        eq.Problem(eq.minimize(eq.error_rate() + 3 * eq.square(eq.tpr(A) - eq.tpr(B)))),
        lambda p: error(p) + 3 * (tpr(p, IN_A) - tpr(p, IN_B)) ** 2,
    ),
    "worst group": Case(
        eq.Problem(eq.minimize(eq.max(eq.fnr(A), eq.fnr(B), eq.fpr(A), eq.fpr(B)))),
        lambda p: max(1 - tpr(p, IN_A), 1 - tpr(p, IN_B), fpr(p, IN_A), fpr(p, IN_B)),
        smooth=False,
    ),
}


@cache
def optimum(name):
    """Solve the convex programme over the simplex: minimise t subject to objective <= t (so that max is smooth too)."""
    case, best = CASES[name], np.inf
    starts = np.random.default_rng(0)
    for _ in range(12):
        mu = starts.dirichlet(np.ones(K))
        found = scipy_minimize(
            lambda z: z[-1],
            np.append(mu, case.objective(DECISIONS @ mu)),
            bounds=[(0, 1)] * K + [(None, None)],
            constraints=[
                {"type": "eq", "fun": lambda z: z[:-1].sum() - 1},
                {"type": "ineq", "fun": lambda z: z[-1] - case.objective(DECISIONS @ z[:-1])},
                *({"type": "ineq", "fun": lambda z, f=f: -f(DECISIONS @ z[:-1])} for f in case.constraints),
            ],
            options={"ftol": 1e-12, "maxiter": 500},
        )
        p = DECISIONS @ (np.maximum(found.x[:-1], 0) / np.maximum(found.x[:-1], 0).sum())
        if case.violation(p) <= 1e-7:
            best = min(best, case.objective(p))
    return best


def run(name, algorithm, n_rounds, **settings):
    settings = {"lambda_step": 0.5, "step_rule": "sqrt", "record_every": 1} | settings
    return eq.solve(
        CASES[name].problem,
        X,
        Y,
        attributes={"group": GROUP},
        sample_weight=W,
        algorithm=algorithm,
        model=LIST,
        n_rounds=n_rounds,
        **settings,
    )


def prefixes(solution, lengths):
    """Predictions of the theorem's mixture after each number of rounds, by hand from shares and snapshots."""
    index = np.array([snapshot[0] for snapshot in solution.record.snapshots])
    shares = np.array(solution.record.shares)[:, 0]
    weight = (np.eye(K)[index] * shares[:, None]).cumsum(0)
    return [DECISIONS @ (weight[t - 1] / weight[t - 1].sum()) for t in lengths]


def gaps(name, solution, lengths):
    case = CASES[name]
    points = prefixes(solution, lengths)
    return np.array([case.objective(p) for p in points]) - optimum(name), np.array([case.violation(p) for p in points])


def slope(lengths, values):
    return np.polyfit(np.log(lengths), np.log(np.maximum(values, 1e-9)), 1)[0]


# -- the theorems' outputs reach the optimum, as fast as the theorems say ---------------------------

LENGTHS = [50, 100, 200, 400, 800, 1600]
SMOOTH = ["kld", "g_mean", "h_mean", "q_mean", "square"]
RUNS = [
    *(("frank_wolfe", name, 1.0, 6e-4, -0.9) for name in SMOOTH),
    *(("oracle", name, 0.5, 2e-3, -0.5) for name in [*SMOOTH, "affine", "idle kld constraint", "worst group"]),
    ("oracle", "kld constraint", 2.0, 2e-3, -0.5),
    ("oracle", "kld and constraint", 5.0, 3e-3, -0.5),
    # COCO's inner runs grow like the square root of their number: T^(-1/3) on both sides.
    *(("coco", name, 1.0, 6e-3, -0.3) for name in ["kld", "g_mean", "h_mean", "q_mean"]),
    ("coco", "square", 1.0, 4e-2, -0.25),
    ("coco", "affine", 2.0, 1e-2, -0.3),
    ("coco", "kld constraint", 5.0, 1e-2, -0.3),
    ("coco", "kld and constraint", 20.0, 1e-2, -0.3),
    *(("proxy_lagrangian", name, 0.5, 2e-3, -0.5) for name in [*SMOOTH, "affine", "worst group"]),
    ("proxy_lagrangian", "kld constraint", 0.5, 2e-3, -0.5),
    ("proxy_lagrangian", "kld and constraint", 2.0, 5e-3, -0.5),
]


def test_the_convex_programme_is_solved():
    # A mixture is really needed, so that reaching the optimum means something.
    for name, case in CASES.items():
        single = min(
            (case.objective(d.astype(float)) for d in LIST if case.violation(d.astype(float)) <= 1e-9), default=np.inf
        )
        assert np.isfinite(optimum(name))
        if name != "idle kld constraint":
            assert single > optimum(name) + 2e-5, name


@pytest.mark.parametrize(("algorithm", "name", "step", "small", "steepness"), RUNS, ids=lambda v: str(v))
def test_reaches_the_optimum_at_the_rate_of_its_theorem(algorithm, name, step, small, steepness):
    solution = run(name, algorithm, LENGTHS[-1], lambda_step=step)
    gap, violation = gaps(name, solution, LENGTHS)
    error = np.maximum(np.abs(gap), violation)  # infeasible mixtures may be below the optimum
    assert error[-1] <= small
    assert (gap >= -10 * np.maximum(violation, 0) - 1e-6).all()  # never better than the optimum by itself
    if error[0] > 1e-6:
        assert slope(LENGTHS, np.maximum(error, 1e-6)) <= steepness
    # The classifier of the theorem is this very mixture.
    objective, worst = solution.value_of(solution.output())
    point = prefixes(solution, [LENGTHS[-1]])[0]
    sign = -1 if CASES[name].problem.objective.sense == "maximize" else 1
    assert sign * objective == pytest.approx(CASES[name].objective(point), abs=1e-9)
    assert max(worst, 0) == pytest.approx(max(CASES[name].violation(point), 0), abs=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_column_generation_proves_the_optimum(name):
    """A list is known whole, so that there is nothing to ask it for."""
    solution = eq.solve(
        CASES[name].problem,
        X,
        Y,
        attributes={"group": GROUP},
        sample_weight=W,
        algorithm="column_generation",
        model=LIST,
    )
    assert solution.rounds <= 2
    objective, violation = solution.value_of(solution.output())
    sign = -1 if CASES[name].problem.objective.sense == "maximize" else 1
    assert sign * objective == pytest.approx(optimum(name), abs=3e-6)
    assert violation <= 1e-6
    assert optimum(name) - 3e-6 <= sign * solution.status.bound <= optimum(name) + 1e-7


def test_column_generation_finds_that_constraints_cannot_be_met():
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr() >= 0.99, eq.fpr() <= 0.01])
    decided = np.array([d.astype(float) for d in LIST]).T
    solution = eq.solve(
        problem, X, Y, attributes={"group": GROUP}, sample_weight=W, algorithm="column_generation", model=LIST
    )
    assert not solution.status.feasible
    weights = W / W.sum()
    parts = weights * Y, weights * (1 - Y)
    tprs, fprs = (part @ decided / part.sum() for part in parts)
    best = linprog(  # the smallest violation of any mixture
        np.append(np.zeros(K), 1.0),
        A_ub=np.array([np.append(-tprs, -1.0), np.append(fprs, -1.0)]),
        b_ub=[-0.99, 0.01],
        A_eq=[np.append(np.ones(K), 0.0)],
        b_eq=[1.0],
    )
    assert solution.status.violation == pytest.approx(best.fun, abs=1e-5)


@pytest.mark.parametrize("name", ["g_mean", "kld", "affine", "kld constraint"])
def test_the_dual_bound_is_below_the_optimum(name):
    solution = run(name, "oracle", 400)
    assert dual_bound(solution) <= optimum(name) + 1e-7
    assert dual_bound(solution) >= optimum(name) - 0.1


@pytest.mark.parametrize("name", ["q_mean", "h_mean", "square", "worst group"])
def test_theory_steps_give_the_guarantee_without_constraints(name):
    for rounds in (100, 400, 1600):
        solution = run(name, "oracle", rounds, radius="theory", lambda_step="theory")
        gap, _ = gaps(name, solution, [rounds])
        step, radius = solution.play.rules.lambda_rate[0], solution.algorithm.multipliers.radius
        bound = radius**2 / step / rounds  # kappa B sqrt(2 / T), since the step is kappa / (B sqrt(2 T))
        assert gap[0] <= bound


def test_theory_steps_give_the_guarantee_with_constraints():
    name, rounds = "affine", 1600
    solution = run(name, "oracle", rounds, radius="theory", lambda_step="theory", margin=0.05)
    gap, violation = gaps(name, solution, [rounds])
    step, radius = solution.play.rules.lambda_rate[0], solution.algorithm.multipliers.radius
    bound = radius**2 / step / rounds
    assert gap[0] <= bound
    assert violation[0] <= 2 * bound / radius


def test_theory_steps_of_swap_regret_and_coco():
    for algorithm in ("proxy_lagrangian", "coco"):
        solution = run("affine", algorithm, 1600, lambda_step="theory", slack_step=0.5)
        gap, violation = gaps("affine", solution, [1600])
        assert max(abs(gap[0]), violation[0]) <= 0.08


# -- Frank-Wolfe, number by number ------------------------------------------------------------------


PSI = {
    "kld": (
        # rates (positive rate of a, of b); gradient of sum_g -p log r - (1 - p) log(1 - r), arguments kept above 1e-6
        lambda d: np.array([pos(d, IN_A), pos(d, IN_B)]),
        lambda r: -np.array([0.2, 0.6]) / np.maximum(r, 1e-6) + np.array([0.8, 0.4]) / np.maximum(1 - r, 1e-6),
    ),
    "g_mean": (
        lambda d: np.array([tpr(d), 1 - fpr(d)]),
        lambda r: -np.sqrt(np.prod(np.maximum(r, 1e-9))) / (2 * np.maximum(r, 1e-9)),
    ),
    "q_mean": (
        lambda d: np.array([fpr(d), 1 - tpr(d)]),
        lambda r: r / np.linalg.norm(r) / np.sqrt(2),
    ),
    "square": (
        lambda d: np.array([error(d), tpr(d, IN_A) - tpr(d, IN_B)]),
        lambda r: np.array([1.0, 6 * r[1]]),
    ),
}


@pytest.mark.parametrize("name", PSI)
def test_frank_wolfe_written_directly_and_as_a_game_are_the_same(name):
    rates, gradient = PSI[name]
    table = np.array([rates(d.astype(float)) for d in LIST])
    r, mean_rate, picks, points = rates(np.zeros(N)), None, [], []
    for t in range(1, 301):
        k = int(np.argmin(table @ gradient(r)))  # theta^{t} = argmin v . R(theta), v = grad psi(r)
        mean_rate = table[k] if mean_rate is None else (1 - 1 / t) * mean_rate + table[k] / t
        r = mean_rate
        picks.append(k)
        points.append(r)
    solution = run(name, "frank_wolfe", 300)
    assert [int(snapshot[0]) for snapshot in solution.record.snapshots] == picks
    played = np.cumsum([table[k] for k in picks], axis=0) / np.arange(1, 301)[:, None]
    np.testing.assert_allclose(played, points, atol=1e-12)
    # and the weights of the published output are uniform: (1/t) prod (1 - 1/tau)
    np.testing.assert_allclose(solution.output().weights, 1 / 300)
    # the slack of the game stands at the average so far
    slacks = solution.record.stacked("slacks")[1:, :, 0]
    if name in ("g_mean", "q_mean"):
        np.testing.assert_allclose(slacks, np.array(points)[:-1], atol=2e-9)


def test_frank_wolfe_never_says_that_it_left_the_domain():
    # 1 - positive_rate of the classifier that says 1 to everybody is 0 up to rounding, and not below.
    weights = np.full(N, 0.1) + 1e-3 * np.arange(N)
    for algorithm in ("frank_wolfe", "oracle", "coco"):
        solution = eq.solve(
            eq.Problem(eq.minimize(eq.kl_divergence(prior=0.999))),
            X,
            Y,
            attributes=None,
            sample_weight=weights,
            algorithm=algorithm,
            model=[np.ones(N)],
            n_rounds=5,
        )
        assert not solution.record.left_domain


def test_coco_weighs_every_inner_run_by_one():
    player = OuterAscent(inner=3)
    solution = run("affine", replace(eq.algorithms.coco, multipliers=player), 200)
    shares = np.array(solution.record.shares)[:, 0]
    start = 0
    for s in range(1, player.runs(200) + 1):
        assert shares[start : start + player.length(s)].sum() == pytest.approx(1.0)
        start += player.length(s)
    assert start <= 200 < start + player.length(player.runs(200) + 1)


def test_the_output_of_the_proxy_lagrangian_weighs_rounds_by_the_objectives_multiplier():
    solution = run("affine", "proxy_lagrangian", 50)
    lam0 = solution.record.stacked("multipliers")[:, 0, 0]
    np.testing.assert_allclose(solution.output().weights, lam0 / lam0.sum())
    np.testing.assert_allclose(solution.record.stacked("multipliers").sum(1), 1.0)
