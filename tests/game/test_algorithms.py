"""Every algorithm on every kind of problem, with a model that descends and one that cannot: runs, or says why not."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import equirate as eq
from equirate.game import algorithms
from equirate.game.algorithms import ALGORITHMS, Output, choose
from equirate.players import model as model_player, slack as slack_player
from equirate.players.multipliers import Ascent, Following, FollowTheLeader, MasterDuals, OuterAscent, SwapRegret
from equirate.problem.canonical import RatioForm, canonicalize

N = 60
rng = np.random.default_rng(4)
X = rng.normal(size=(N, 2))
Y = (X[:, 0] + 0.8 * rng.normal(size=N) > 0).astype(int)
ATTRIBUTES = {"group": np.where(rng.random(N) < 0.5, "a", "b"), "old": (X[:, 1] > 0).astype(int)}
LIST = [(X @ v > b).astype(int) for v in (np.array([1.0, 0]), np.array([0.5, 1])) for b in (-0.5, 0.0, 0.5)]
A, B = eq.attr("group") == "a", eq.attr("group") == "b"
CONVEX = eq.kl_divergence(A) + eq.kl_divergence(B)
BOX = eq.black_box(lambda x, y: x**2 + y, eq.fpr(), eq.fnr(), increasing=True)

PROBLEMS = {
    "affine": eq.Problem(eq.minimize(eq.error_rate())),
    "affine, constrained": eq.Problem(
        eq.minimize(eq.error_rate()), [eq.fpr(A) <= 0.2, abs(eq.tpr(A) - eq.tpr(B)) <= 0.1]
    ),
    "smooth": eq.Problem(eq.minimize(CONVEX)),
    "smooth, nested": eq.Problem(eq.minimize(eq.error_rate() + eq.square(eq.tpr(A) - eq.tpr(B)))),
    "g_mean": eq.Problem(eq.maximize(eq.g_mean())),
    "smooth, constrained": eq.Problem(eq.minimize(CONVEX), [eq.g_mean() >= 0.6, eq.churn("old") <= 0.5]),
    "kinked": eq.Problem(eq.minimize(eq.max(eq.fpr(), eq.fnr()))),
    "kinked, constrained": eq.Problem(eq.minimize(eq.error_rate()), [eq.square(eq.max(eq.fpr(A), eq.fpr(B))) <= 0.1]),
    "ratio": eq.Problem(eq.maximize(eq.f1())),
    "ratio bound": eq.Problem(eq.minimize(eq.error_rate()), [eq.precision(A) >= 0.6]),
    "ratios, constrained": eq.Problem(eq.maximize(eq.f1()), [eq.precision(A) >= eq.precision(B) - 0.1, CONVEX <= 0.2]),
    "unbounded ratio": eq.Problem(eq.maximize(eq.win_loss_ratio("old"))),
    "black box": eq.Problem(eq.minimize(BOX)),
    "black box constraint": eq.Problem(eq.minimize(eq.error_rate()), [BOX <= 0.5]),
    "loss": eq.Problem(eq.minimize(eq.log_loss() + 0.1 * eq.fpr())),
    "loss, constrained": eq.Problem(eq.minimize(eq.hinge_loss(A)), [eq.fpr() <= 0.3]),
}
CONSTRAINED = {name for name, problem in PROBLEMS.items() if problem.constraints}
RATIO = {"ratio", "ratios, constrained", "unbounded ratio"}
KINKED = {"kinked", "kinked, constrained"}
BOXES = {"black box", "black box constraint"}
LOSSES = {"loss", "loss, constrained"}


def reason(algorithm, problem):
    """What the refusal is about, or None: written from the table in ALGORITHMS' docstring, not from the code."""
    best_responding = {"frank_wolfe", "oracle", "coco", "column_generation"}
    if algorithm in ("frank_wolfe", "spade", "nemsis") and problem in CONSTRAINED:
        return "without constraints"
    if problem in RATIO and algorithm not in ("slack_ratios", "biconvex", "linearized", "column_generation"):
        return "is a ratio"
    if algorithm == "biconvex" and problem == "unbounded ratio":
        return "0 <= numerator <= denominator"
    if problem in BOXES and algorithm in (
        "frank_wolfe", "nemsis", "coco", "slack_ratios", "proxy_lagrangian", "linearized",
    ):  # fmt: skip
        return "black box"
    if problem in KINKED and algorithm in ("frank_wolfe", "nemsis", "coco", "linearized"):
        return "smooth"
    if problem in LOSSES and algorithm in best_responding:
        return "cannot minimise"
    return None


STEPS = {"record_every": 2, "theta_step": [0.1, 0.5], "lambda_step": 0.1}
GAMES = [name for name in ALGORITHMS if name != "column_generation"]


def solve(problem, algorithm, model):
    steps = STEPS if algorithm in GAMES else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)  # few rounds: only that it runs is of interest
        return eq.solve(
            PROBLEMS[problem], X, Y, attributes=ATTRIBUTES, algorithm=algorithm, model=model, n_rounds=8, **steps
        )


def check_columns(solution):
    """Column generation: rates are rates, and its output is a mixture."""
    assert np.isfinite(solution.history["objective"]).all()
    assert (solution.columns.rates >= -1e-12).all()
    assert (solution.columns.rates <= 1 + 1e-12).all()
    assert solution.output().weights.sum() == pytest.approx(1)
    assert solution.output().weights.min() >= 0


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_linear_models(algorithm, problem):
    expected = reason(algorithm, problem)
    if expected is not None:
        with pytest.raises(eq.AlgorithmError, match=expected):
            solve(problem, algorithm, "linear")
        return
    solution = solve(problem, algorithm, "linear")
    if algorithm not in GAMES:
        check_columns(solution)
        assert np.isfinite(solution.output().positive_probability(X)).all()
        return
    for name in ("rates", "losses", "multipliers", "slacks", "lagrangian", "shares"):
        assert np.isfinite(solution.record.stacked(name)).all(), name
    rates = solution.record.stacked("rates")
    assert (rates >= -1e-12).all()
    assert (rates <= 1 + 1e-12).all()
    probability = solution.output(0).positive_probability(X)
    assert np.isfinite(probability).all()


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_finite_lists(algorithm, problem):
    expected = reason(algorithm, problem)
    if algorithm in ("spade", "nemsis", "surrogate", "spade_plus", "linearized"):
        expected = "without gradients"
    elif expected is None and problem in LOSSES:
        expected = "cannot minimise"
    if expected is not None:
        with pytest.raises(eq.AlgorithmError, match=expected):
            solve(problem, algorithm, LIST)
        return
    solution = solve(problem, algorithm, LIST)
    if algorithm not in GAMES:
        check_columns(solution)
        return
    for name in ("rates", "multipliers", "slacks", "lagrangian", "shares"):
        assert np.isfinite(solution.record.stacked(name)).all(), name
    assert solution.output(0).weights.sum() == pytest.approx(1)


def test_a_refusal_names_the_part_and_the_way_out():
    assert "max(fpr(), fnr()) is not. Use surrogate or oracle" in algorithms.coco.refusal(
        canonicalize(PROBLEMS["kinked"])
    )
    program = canonicalize(PROBLEMS["ratios, constrained"])
    assert "slack_ratios or biconvex" in algorithms.oracle.refusal(program)
    assert algorithms.slack_ratios.refusal(program) is None


def test_table_two():
    """Who plays what: the table of the paper, written out once more."""
    BR, OGD, IMPLIED = slack_player.BestSlack, slack_player.DescendingSlack, slack_player.ImpliedSlack
    respond, descend = model_player.Respond, model_player.Descend
    uniform, average = Output.UNIFORM, Output.AVERAGE
    expected = {
        "frank_wolfe": (IMPLIED, FollowTheLeader, False, respond, uniform),
        "spade": (BR, Ascent, True, descend, average),
        "nemsis": (IMPLIED, FollowTheLeader, True, descend, average),
        "oracle": (BR, Ascent, False, respond, uniform),
        "surrogate": (BR, Ascent, False, descend, uniform),
        "spade_plus": (BR, Ascent, True, descend, average),
        "coco": (IMPLIED, OuterAscent, False, respond, uniform),
        "slack_ratios": (OGD, Ascent, False, descend, uniform),
        "biconvex": (BR, Ascent, False, descend, uniform),
        "proxy_lagrangian": (OGD, SwapRegret, False, descend, uniform),
        "linearized": (IMPLIED, Following, False, descend, uniform),
        "column_generation": (IMPLIED, MasterDuals, False, respond, Output.BEST),
    }
    found = {
        name: (type(a.slack), type(a.multipliers), a.multipliers.sees_bounds, type(a.model), a.output)
        for name, a in ALGORITHMS.items()
    }
    assert found == expected
    assert algorithms.biconvex.form is RatioForm.BICONVEX


@pytest.mark.parametrize("descends", [True, False])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_auto_generates_columns_but_for_ordinary_losses(problem, descends):
    if problem in LOSSES and not descends:
        with pytest.raises(eq.AlgorithmError, match="without gradients"):
            choose("auto", PROBLEMS[problem], descends)
        return
    assert choose("auto", PROBLEMS[problem], descends).name == (
        "surrogate" if problem in LOSSES else "column_generation"
    )


@pytest.mark.parametrize("how", [{"batches": True}, {"steps": True}], ids=["a network", "steps are given"])
@pytest.mark.parametrize(
    ("problem", "name"),
    [
        ("affine", "surrogate"),
        ("smooth, constrained", "surrogate"),
        ("kinked", "surrogate"),
        ("ratio", "linearized"),
        ("ratio bound", "surrogate"),  # multiplied through, it is affine
        ("ratios, constrained", "linearized"),
        ("black box", "surrogate"),
        ("loss", "surrogate"),
    ],
)
def test_auto_plays_a_game_by_curvature(problem, name, how):
    assert choose("auto", PROBLEMS[problem], True, **how).name == name
    kinked = eq.Problem(
        eq.maximize(eq.f1()), [eq.max(eq.fpr(A), eq.fpr(B)) * 1.0 <= 0.3, eq.square(eq.max(eq.fpr(), eq.fnr())) <= 0.3]
    )
    assert choose("auto", kinked, True, **how).name == "slack_ratios"  # linearized takes smooth functions


def test_a_model_without_gradients_has_no_steps_to_take():
    assert choose("auto", PROBLEMS["affine"], False, steps=True).name == "column_generation"


def test_choosing_by_name_or_object():
    problem = PROBLEMS["affine"]
    assert choose("spade", problem, True) is algorithms.spade
    own = replace(algorithms.oracle, multipliers=Ascent(radius=3.0))
    assert choose(own, problem, True) is own
    with pytest.raises(eq.AlgorithmError, match="'auto', 'frank_wolfe'"):
        choose("newton", problem, True)
    assert repr(algorithms.spade_plus) == "spade_plus"


@pytest.mark.parametrize(
    "algorithm", ["surrogate", "slack_ratios", "biconvex", "proxy_lagrangian", "linearized", "spade_plus"]
)
def test_descending_algorithms_learn(algorithm):
    """On easy data every algorithm that descends finds a classifier far better than a constant one."""
    x = np.random.default_rng(0).normal(size=(400, 2))
    y = (x[:, 0] + 0.3 * np.random.default_rng(1).normal(size=400) > 0.2).astype(int)
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.fpr() <= 0.1])
    solution = eq.solve(problem, x, y, algorithm=algorithm, n_rounds=600, theta_step=0.05, lambda_step=0.05)
    assert solution.status.objective < 0.12
    assert solution.status.violation <= 1e-6


@pytest.mark.parametrize("algorithm", ["slack_ratios", "biconvex"])
@pytest.mark.parametrize("model", ["linear", "list"])
def test_ratio_algorithms_raise_the_f_measure(algorithm, model):
    source = np.random.default_rng(0)
    x = source.normal(size=(500, 2))
    y = (x[:, 0] + source.normal(size=500) > 1.2).astype(int)
    classifiers = [(x[:, 0] > t).astype(int) for t in (-1, 0, 0.3, 0.6, 1, 1.5)]
    best = max(eq.f1().evaluate(y, c) for c in classifiers)
    solution = eq.solve(
        eq.maximize(eq.f1()), x, y, algorithm=algorithm, model="linear" if model == "linear" else classifiers,
        n_rounds=800, theta_step=0.05, lambda_step=0.05, record_every=5,
    )  # fmt: skip
    assert solution.status.objective >= best - 0.02
