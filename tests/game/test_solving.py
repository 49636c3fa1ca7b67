"""The border: what solve takes, refuses, tells and repeats."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import equirate as eq
from equirate.data.examples import Examples
from equirate.game.algorithms import Algorithm, surrogate
from equirate.game.options import Options
from equirate.game.theory import lipschitz, residual_bounds, row_ranges, theory_radius, theory_theta
from equirate.models import Asked, Batch, Linear
from equirate.models.capabilities import Pace
from equirate.players import slack
from equirate.players.multipliers import Ascent
from equirate.players.steps import Adam, InverseRoot, Plain
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table

G = eq.attr("g") == 1
PROBLEM = eq.Problem(eq.maximize(eq.g_mean()), [eq.fpr(G) <= 0.3])


def data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X, g = rng.normal(size=(n, 3)), (rng.random(n) < 0.4).astype(int)
    y = (X[:, 0] + 0.6 * g + 0.7 * rng.normal(size=n) > 0.4).astype(int)
    return X, y, {"g": g}


def solve(problem=PROBLEM, **options):
    X, y, attributes = data()
    options = {"X": X, "y": y, "attributes": attributes, "n_rounds": 20, **options}
    return eq.solve(problem, options.pop("X"), options.pop("y"), **options)


def play(problem=PROBLEM, **options):
    """The same as a game."""
    return solve(problem, **{"algorithm": "surrogate", **options})


def rates_of(game):
    """Rates of every iterate of a game, (recorded rounds, rates, configurations)."""
    return game.record.stacked("rates")


# -- bad input ------------------------------------------------------------------------------------


def spoilt(value, shape=(200, 3)):
    X = np.zeros(shape)
    X[3, 1] = value
    return X


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": spoilt(np.nan)}, "X has NaN or infinite values"),
        ({"X": spoilt(np.inf)}, "X has NaN or infinite values"),
        ({"X": sp.csr_array(spoilt(np.nan))}, "X has NaN or infinite values"),
        ({"X": np.zeros((199, 3))}, "199.*200"),
        ({"X": np.zeros(200)}, "two-dimensional"),
        ({"X": np.full((200, 1), "a")}, "X must hold numbers"),
        ({"y": np.ones(200)}, "one class only"),
        ({"y": np.arange(200) / 3}, "y must hold 0 and 1"),
        ({"y": np.where(np.arange(200) % 2, "yes", "no")}, "y must hold 0 and 1"),
        ({"y": np.append(np.arange(199) % 2, np.nan)}, "y has 1 missing value"),
        ({"y": []}, "y is empty"),
        ({"attributes": {"g": np.zeros(5)}}, "attribute 'g' has 5 values, but y has 200"),
        ({"attributes": {"h": np.zeros(200)}}, "'g'"),
        ({"attributes": None}, "'g'"),
        ({"attributes": {"g": np.zeros(200, dtype=int)}}, "fpr cannot be measured.*g == 1"),
        ({"attributes": {"g": np.where(np.arange(200) % 2, 1.0, np.nan)}}, "attribute 'g' has 100 missing values"),
        ({"sample_weight": np.full(200, np.nan)}, "sample_weight has 200 missing values"),
        ({"sample_weight": np.full(200, np.inf)}, "sample_weight has infinite values"),
        ({"sample_weight": np.full(200, -1.0)}, "must not be negative"),
        ({"sample_weight": np.zeros(200)}, "sums to zero"),
        ({"sample_weight": np.ones(3)}, "sample_weight has 3 values"),
    ],
)  # fmt: skip
def test_bad_data_is_refused_by_name(options, message):
    with pytest.raises(eq.DataError, match=message):
        solve(**options)


def test_a_baseline_must_be_decisions():
    X, y, _ = data()
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.churn("old") <= 0.1])
    with pytest.raises(eq.DataError, match="the baseline 'old' must hold 0 and 1"):
        eq.solve(problem, X, y, attributes={"old": np.linspace(0, 1, 200)})
    assert eq.solve(problem, X, y, attributes={"old": y}, n_rounds=5).rounds >= 1
    assert eq.solve(problem, X, y, attributes={"old": y}, algorithm="surrogate", n_rounds=5).record.played == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_rounds": 0}, "n_rounds must be a whole number of at least 1; got 0"),
        ({"n_rounds": 2.5}, "n_rounds"),
        ({"n_rounds": True}, "n_rounds"),
        ({"record_every": 0}, "record_every must be a whole number of at least 1; got 0"),
        ({"theta_step": 0}, "theta_step must be positive"),
        ({"theta_step": [0.1, -0.1]}, "theta_step must be positive"),
        ({"theta_step": []}, "theta_step must be positive"),
        (
            {"theta_step": "fast"},
            "theta_step must be positive: a number, or several of them, or \"theory\"; got 'fast'",
        ),
        ({"theta_step": np.nan}, "theta_step"),
        ({"theta_step": np.inf}, "theta_step"),
        ({"lambda_step": -1}, "lambda_step must be positive"),
        ({"lambda_step": "slow"}, "lambda_step"),
        ({"slack_step": 0}, "slack_step"),
        ({"slack_step": "theory"}, "slack_step"),
        ({"slack_step": [0.1, 0.2]}, "slack_step must be one positive number"),
        ({"algorithm": "newton"}, "the algorithm must be one of 'auto', 'frank_wolfe'.*got 'newton'"),
        ({"algorithm": "frank_wolfe"}, "frank_wolfe solves problems without constraints"),
        ({"algorithm": "surrogate", "model": LogisticRegression()}, "without gradients"),
        ({"model": "forest"}, "the model must be"),
        ({"model": 3}, "the model must be"),
        ({"model": []}, "empty"),
        ({"surrogate": "quadratic"}, "the surrogate must be one of 'hinge', 'logistic', 'sigmoid'; got 'quadratic'"),
        ({"step_rule": "newton"}, "the step rule must be one of 'plain', 'sqrt', 'adam'; got 'newton'"),
        ({"radius": "big"}, "the radius must be a positive number or \"theory\"; got 'big'"),
        ({"radius": 0}, "the radius"),
        ({"radius": np.nan}, "the radius"),
        ({"radius": "theory", "algorithm": "oracle"}, "needs margin"),
        ({"radius": "theory", "algorithm": "oracle", "margin": -1}, "needs margin"),
        ({"theta_step": "theory"}, "bounded model"),
        ({"levels": [[0.0, 0.1]]}, r"levels must be finite, of shape \(levels,\) or \(levels, 1\); got shape \(1, 2\)"),
        ({"levels": []}, "levels"),
        ({"levels": [np.nan]}, "levels"),
        ({"levels": ["tight"]}, "levels must be numbers"),
        ({"seeds": []}, "seeds"),
        ({"seeds": [-1]}, "seeds"),
        ({"seeds": [0.5]}, "seeds"),
        ({"tolerance": -1}, "tolerance"),
        ({"tolerance": np.nan}, "tolerance"),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_bad_settings_are_refused_by_name(options, message):
    with pytest.raises(eq.AlgorithmError, match=message):
        play(**options)
    if not {"record_every", "slack_step", "surrogate", "step_rule", "radius"} & set(options):
        with pytest.raises(eq.AlgorithmError, match=message):
            solve(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"record_every": 2},
        {"slack_step": 0.1},
        {"step_rule": "adam"},
        {"surrogate": "hinge"},
        {"bounds": "net"},
        {"radius": 1.0},
        {"margin": 0.1},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_only_a_game_takes_is_refused_by_column_generation(options):
    (name,) = options
    for algorithm in ("auto", "column_generation"):
        with pytest.raises(eq.AlgorithmError, match=f"column_generation takes no {name}.*algorithm=.surrogate."):
            solve(algorithm=algorithm, **options)
    assert solve(theta_step=0.1, **options).algorithm.name == "surrogate"  # steps are those of a game


def test_column_generation_takes_one_seed():
    with pytest.raises(eq.AlgorithmError, match=r"column_generation takes one seed; got \(0, 1\)"):
        solve(seeds=(0, 1))


def test_a_radius_is_checked_even_where_it_is_not_used():
    with pytest.raises(eq.AlgorithmError, match="radius"):
        solve(eq.maximize(eq.g_mean()), algorithm="frank_wolfe", radius="big")


def test_levels_need_constraints():
    with pytest.raises(eq.AlgorithmError, match="this problem has none"):
        solve(eq.maximize(eq.g_mean()), levels=[0.1])


@pytest.mark.parametrize("problem", [eq.g_mean(), [eq.fpr() <= 0.1], "f1()", None])
def test_the_problem_must_be_one(problem):
    with pytest.raises(TypeError, match="takes a Problem or an objective"):
        solve(problem)


# -- divergence and interruption ------------------------------------------------------------------


UNSTABLE = {"model": Linear(penalty=1.0), "step_rule": "plain", "lambda_step": 0.1, "n_rounds": 60, "record_every": 20}
"""With a penalty, steps that are too long multiply the parameters in every round."""


def test_what_diverges_is_dropped_and_named():
    with pytest.warns(eq.NotSolvedWarning, match="configurations 1 diverged"):
        solution = play(theta_step=(0.1, 1e30), **UNSTABLE)
    assert set(solution.record.diverged) == {1}
    assert set(solution.columns.configuration) == {0}
    assert any("configuration 1 (theta_step=1e+30" in line for line in solution.status.advice)
    assert np.isnan(solution.history["objective"][-1, 1])
    assert np.isfinite(solution.history["objective"][:, 0]).all()
    alone = play(theta_step=0.1, **UNSTABLE)
    assert solution.value_of(solution.polish()) == alone.value_of(alone.polish())
    assert "nan" not in str(solution.status)
    with pytest.raises(eq.AlgorithmError, match="configuration 1 diverged"):
        solution.uniform(1)


def test_nothing_left_is_an_error():
    with pytest.raises(eq.AlgorithmError, match=r"every configuration diverged.*smaller steps"):
        play(theta_step=(1e30, 1e40), **UNSTABLE)


def stop_after(rounds):
    def progress(moment):
        if moment.round >= rounds:
            raise KeyboardInterrupt

    return progress


def test_interruption_keeps_what_was_reached():
    with pytest.warns(eq.NotSolvedWarning, match="interrupted after 30 of 100 rounds"):
        solution = play(n_rounds=100, record_every=10, progress=stop_after(30))
    assert solution.record.interrupted
    assert solution.status.interrupted
    assert solution.status.rounds == 30
    assert solution.history["round"].tolist() == [10, 20, 30]
    assert "interrupted" in str(solution.status)
    whole = play(n_rounds=30, record_every=10)
    np.testing.assert_array_equal(rates_of(solution), rates_of(whole))
    assert solution.value_of(solution.polish()) == whole.value_of(whole.polish())


@pytest.mark.parametrize("algorithm", ["auto", "oracle"])
def test_interruption_before_anything_was_recorded_goes_on(algorithm):
    class Stubborn(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(model=Stubborn(), algorithm=algorithm, n_rounds=10)


# -- telling --------------------------------------------------------------------------------------


def test_progress_is_told_what_is_recorded():
    moments = []
    solution = play(n_rounds=50, record_every=20, theta_step=(0.01, 0.1), lambda_step=0.1, progress=moments.append)
    assert [(m.round, m.n_rounds) for m in moments] == [(20, 50), (40, 50), (50, 50)]
    for t, moment in enumerate(moments):
        assert moment.active.tolist() == [0, 1]
        np.testing.assert_allclose(moment.objective, solution.history["objective"][t])
        np.testing.assert_allclose(moment.violation, solution.history["violation"][t])


def test_progress_line(capsys):
    solution = play(n_rounds=30, theta_step=(1e-6, 0.1), lambda_step=0.1, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("\n")
    last = err.splitlines()[-1]
    found = re.match(r"round 30/30  best iterate of this round: objective (\S+), violation (\S+)  \d+ s", last)
    assert found
    objective, violation = solution.history["objective"][-1], solution.history["violation"][-1]
    best = min(range(2), key=lambda c: (violation[c], -objective[c]))
    assert float(found[1]) == pytest.approx(objective[best], abs=1e-4)
    assert float(found[2]) == pytest.approx(violation[best], abs=1e-4)


@pytest.mark.parametrize(("algorithm", "good"), [("auto", 5), ("oracle", 6)])
def test_the_line_ends_even_if_the_run_does_not(capsys, algorithm, good):
    fits = []

    class Broken(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            fits.append(1)
            if len(fits) > good:  # the first ones look whether weights matter to it; then come some that are told of
                raise RuntimeError("out of order")
            return super().fit(X, y, sample_weight)

    with pytest.raises(RuntimeError, match="out of order"):
        solve(model=Broken(), algorithm=algorithm, progress=True)
    assert capsys.readouterr().err.endswith("\n")


# -- the same again -------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["surrogate", "slack_ratios", "proxy_lagrangian", "oracle"])
def test_runs_repeat_to_the_last_bit(algorithm):
    options = {"algorithm": algorithm, "model": Linear(spread=0.1), "seeds": (0, 1), "n_rounds": 30}
    first, second = solve(**options), solve(**options)
    np.testing.assert_array_equal(rates_of(first), rates_of(second))
    for name in ("multipliers", "slacks", "lagrangian"):
        np.testing.assert_array_equal(first.history[name], second.history[name])
    for name in ("uniform", "shrink", "best", "polish"):
        a, b = getattr(first, name)(), getattr(second, name)()
        assert a.chosen == b.chosen
        np.testing.assert_array_equal(a.weights, b.weights)


@pytest.mark.parametrize("algorithm", ["surrogate", "slack_ratios", "biconvex", "proxy_lagrangian", "spade_plus"])
def test_one_configuration_at_a_time_is_the_batch(algorithm):
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.precision(G) >= 0.6])
    options = {"algorithm": algorithm, "model": Linear(spread=0.1), "n_rounds": 30}
    batch = solve(problem, theta_step=(0.02, 0.2), lambda_step=(0.05, 0.5), levels=[0.0, 0.1], seeds=(0, 1), **options)
    for c, setting in enumerate(batch.configurations):
        setting = dict(setting)
        alone = solve(
            problem, levels=[[0.0, 0.1][setting.pop("level")]], seeds=setting.pop("seed"), **setting, **options
        )
        np.testing.assert_allclose(rates_of(batch)[:, :, c], rates_of(alone)[:, :, 0], atol=1e-12)
        np.testing.assert_allclose(batch.history["multipliers"][:, :, c], alone.history["multipliers"][:, :, 0])


def test_any_table_will_do():
    X, y, attributes = data()
    reference = rates_of(play(n_rounds=40))
    names = ["a", "b", "c"]
    frames = {
        "pandas": (pd.DataFrame(X, columns=names), pd.Series(y), pd.DataFrame(attributes)),
        "polars": (pl.DataFrame(X, schema=names), pl.Series(y), pl.DataFrame(attributes)),
        "lists": (X.tolist(), y.tolist(), {"g": attributes["g"].tolist()}),
        "signs": (X, 2 * y - 1, attributes),
        "booleans": (X, y.astype(bool), attributes),
        "sparse": (sp.csr_matrix(X), y, attributes),
    }
    for name, (features, labels, columns) in frames.items():
        game = eq.solve(PROBLEM, features, labels, attributes=columns, algorithm="surrogate", n_rounds=40)
        np.testing.assert_allclose(rates_of(game), reference, atol=1e-9, err_msg=name)
        generated = eq.solve(PROBLEM, features, labels, attributes=columns)
        for solution in (game, generated):
            found = solution.polish().evaluate(None, features, labels, attributes=columns)
            assert found["objective"] == pytest.approx(solution.value_of(solution.polish())[0])
        assert generated.status.objective == pytest.approx(solve(n_rounds=None).status.objective, abs=2e-3), name


def test_columns_of_the_features_are_attributes():
    X, y, attributes = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(g=attributes["g"])
    solution = eq.solve(PROBLEM, frame, y)
    given = eq.solve(PROBLEM, frame.to_numpy(), y, attributes=attributes)
    np.testing.assert_array_equal(solution.columns.rates, given.columns.rates)
    judged = solution.on(frame[:100], y[:100])
    assert judged.value_of(judged.best())[0] == pytest.approx(
        judged.best().evaluate(None, frame[:100], y[:100])["objective"]
    )


def test_weights_are_repetitions():
    X, y, attributes = data()
    times = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = play(sample_weight=times, n_rounds=40)
    rows = np.repeat(np.arange(len(y)), times)
    again = {"X": X[rows], "y": y[rows], "attributes": {"g": attributes["g"][rows]}}
    np.testing.assert_allclose(rates_of(weighted), rates_of(play(n_rounds=40, **again)), atol=1e-9)
    weighted, repeated = solve(sample_weight=times, n_rounds=None), solve(n_rounds=None, **again)
    assert weighted.status.objective == pytest.approx(repeated.status.objective, abs=2e-3)
    found = weighted.polish().evaluate(None, again["X"], again["y"], attributes=again["attributes"])
    assert found["objective"] == pytest.approx(weighted.status.objective, abs=1e-9)


# -- the grid -------------------------------------------------------------------------------------


def test_configurations_are_what_was_run():
    solution = solve(theta_step=(0.1, 0.2), lambda_step=(0.3, 0.4), levels=[0.0, 0.05], seeds=(7, 8), slack_step=0.9)
    assert len(solution.configurations) == 16
    assert solution.configurations[0] == {"theta_step": 0.1, "lambda_step": 0.3, "level": 0, "seed": 7}
    assert solution.configurations[-1] == {"theta_step": 0.2, "lambda_step": 0.4, "level": 1, "seed": 8}
    rules = solution.play.rules
    for c, setting in enumerate(solution.configurations):
        assert rules.theta_rate[c] == setting["theta_step"]
        assert rules.lambda_rate[c] == setting["lambda_step"]
        assert rules.slack_rate[c] == 0.9
        assert rules.levels[:, c].tolist() == [[0.0, 0.05][setting["level"]]]
    np.testing.assert_array_equal(solve(theta_step=0.1, lambda_step=(0.3, 0.4)).play.rules.slack_rate, [0.3, 0.4])


def test_steps_that_nobody_takes_are_no_configurations():
    solution = solve(algorithm="oracle", theta_step=(0.1, 0.2), lambda_step=(0.3, 0.4), n_rounds=3)
    assert solution.configurations == ({"lambda_step": 0.3, "seed": 0}, {"lambda_step": 0.4, "seed": 0})
    free = solve(eq.maximize(eq.g_mean()), algorithm="frank_wolfe", n_rounds=3)
    assert free.configurations == ({"seed": 0},)


def test_seeds_matter_where_something_is_random():
    solution = solve(model=Linear(spread=0.5), theta_step=0.1, lambda_step=0.1, seeds=(0, 1, 0))
    rates = rates_of(solution)
    np.testing.assert_array_equal(rates[..., 0], rates[..., 2])
    assert (rates[..., 0] != rates[..., 1]).any()


def test_a_tighter_level_keeps_a_tighter_constraint():
    """Each level is trained like the problem whose constraint is shifted by it."""
    options = {"theta_step": 0.05, "lambda_step": 0.1, "n_rounds": 300}
    solution = solve(levels=[0.0, -0.2], **options)
    shifted = solve(eq.Problem(PROBLEM.objective, [eq.fpr(G) <= 0.1]), **options)
    np.testing.assert_allclose(rates_of(solution)[:, :, 1], rates_of(shifted)[:, :, 0], atol=1e-12)


def test_the_algorithms_own_step_rule_is_kept_unless_another_is_asked_for():
    own = Algorithm("own", slack.BestSlack(), Ascent(step=InverseRoot()), surrogate.model)
    assert solve(algorithm=own, n_rounds=2).algorithm.multipliers.step == InverseRoot()
    assert solve(algorithm=own, n_rounds=2, step_rule="plain").algorithm.multipliers.step == Plain()
    assert play(n_rounds=2).algorithm.model.step == Adam()
    assert play(n_rounds=2, surrogate="logistic").algorithm.model.surrogate.name == "logistic"
    assert play(n_rounds=2, radius=3).algorithm.multipliers.radius == 3.0


# -- the theorems' constants ----------------------------------------------------------------------


def table_of(problem):
    X, y, attributes = data()
    examples = Examples.of(y, attributes)
    return X, make_table(canonicalize(problem.expanded(examples)), examples)


PROBLEMS = {
    "g-mean": eq.Problem(eq.maximize(eq.g_mean()), [eq.fpr(G) <= 0.3]),
    "kld": eq.Problem(eq.minimize(eq.kl_divergence(G, prior=0.3)), [eq.error_rate() <= 0.3]),
    "convex constraints": eq.Problem(
        eq.minimize(eq.error_rate()), [eq.norm(eq.fpr(), eq.fnr()) <= 0.5, eq.square(eq.fpr(G) - eq.fpr(~G)) <= 0.01]
    ),
    "nested": eq.Problem(eq.minimize(eq.square(eq.max(eq.fpr(), eq.fnr())) + eq.error_rate())),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_bounds_hold_whatever_is_played(name):
    """Random predictions, random slacks in their boxes: nothing leaves the ranges that the steps are computed from."""
    _, table = table_of(PROBLEMS[name])
    rng = np.random.default_rng(0)
    J, m = table.program.n_constraints, table.program.n_multipliers
    count = 2000
    q = rng.beta(0.3, 0.3, (len(table.cells), count)) * table.cells.totals[:, None]
    xi = table.lo[:, None] + (table.hi - table.lo)[:, None] * rng.beta(0.3, 0.3, (table.n_slacks, count))
    values = table.atom_values(xi)
    residual = table.rows(q)[:m] + table.atom_weights @ values
    residual[table.couplings] -= table.sense[table.couplings, None] * xi
    assert (np.abs(residual[1:]) <= residual_bounds(table)[:, None] + 1e-9).all()
    low, high = row_ranges(table)
    assert (residual[: 1 + J] >= low[: 1 + J, None] - 1e-9).all()
    assert (residual[: 1 + J] <= high[: 1 + J, None] + 1e-9).all()
    for row in range(1 + J):  # multipliers that support the atoms anywhere in the box sum to at most L
        lam = np.zeros((m, count))
        lam[row] = 1.0
        for group in reversed(table.groups):
            weight = (table.atom_weights.T @ lam)[group.atoms]
            lam[table.couplings.start + group.slacks] = weight * np.abs(group.form.gradient(xi[group.slacks]))
        assert (lam[table.couplings].sum(0) <= lipschitz(table, row) * (1 + 1e-9) + 1e-12).all()


@pytest.mark.parametrize("surrogate_name", ["hinge", "logistic", "sigmoid"])
@pytest.mark.parametrize("sparse", [False, True])
def test_theta_steps_fit_the_steepest_gradient(surrogate_name, sparse):
    X, y, attributes = data()
    problem = eq.Problem(eq.minimize(eq.error_rate() + 0.2 * eq.log_loss()), [eq.fpr(G) <= 0.2])
    features = sp.csr_array(X) if sparse else X
    solution = eq.solve(
        problem, features, y, attributes=attributes, model=Linear(radius=2.0), theta_step="theory",
        lambda_step="theory", radius="theory", surrogate=surrogate_name, n_rounds=50,
    )  # fmt: skip
    table, algorithm = solution.play.table, solution.algorithm
    assert algorithm.model.step == algorithm.multipliers.step == Plain()
    kappa = algorithm.multipliers.radius
    assert kappa == pytest.approx(50**0.25)  # no atoms: L = 0
    step = solution.configurations[0]["theta_step"]
    bound = 2.0 / (step * np.sqrt(100))
    rng = np.random.default_rng(0)
    steepest = 0.0
    for _ in range(200):
        W = rng.normal(size=(4, 1)) * rng.choice([0.01, 1, 3])
        scores = X @ W[:3] + W[3]
        lam = np.array([[1.0], [rng.choice([0.0, kappa])]])
        losses = {name: coefficient[:, None] * lam[0] for name, coefficient in table.loss.items()}
        asked = Asked(False, *table.split_coefficients(lam), algorithm.model.surrogate, losses)
        gradient = asked.slope(Batch(None, cells=table.cells, trained=table.cells, rows=slice(None)), scores)
        steepest = max(steepest, np.linalg.norm(np.append(X.T @ gradient, gradient.sum())))
    assert steepest <= bound
    assert bound <= 50 * steepest
    assert step == theory_theta(table, algorithm, Linear(radius=2.0), 50, features)


def test_multipliers_that_see_bounds_need_those_of_the_rows():
    problem = eq.Problem(eq.minimize(eq.error_rate()))
    x, y = np.random.default_rng(0).normal(size=(40, 2)), np.tile([0, 1], 20)
    with pytest.raises(eq.AlgorithmError, match=r'spade shows .* surrogate rates, which needs bounds="row"'):
        eq.solve(problem, x, y, algorithm="spade", bounds="net", n_rounds=2)
    for algorithm, bounds in (("spade", "row"), ("surrogate", "net"), ("surrogate", "row")):
        solution = eq.solve(problem, x, y, algorithm=algorithm, bounds=bounds, n_rounds=2)
        assert solution.algorithm.model.net is (bounds == "net")
    with pytest.raises(eq.AlgorithmError, match=r"bounds must be .* or .*; got 'column'"):
        eq.solve(problem, x, y, algorithm="surrogate", bounds="column", n_rounds=2)


def test_how_long_a_game_is_where_nobody_says():
    assert Options().rounds(responds=False, pace=Pace()) == (2000, 10)
    assert Options().rounds(responds=True, pace=Pace(rounds=70, record_every=7)) == (300, 1)
    assert Options().rounds(responds=False, pace=Pace(rounds=70, record_every=7)) == (70, 7)
    assert Options(n_rounds=5).rounds(responds=False, pace=Pace()) == (5, 5)


def test_radius_and_lambda_steps_are_the_theorems():
    _, table = table_of(PROBLEMS["convex constraints"])
    L = max(lipschitz(table, 1), lipschitz(table, 2))
    assert theory_radius(table, surrogate, 81, None) == pytest.approx(3 * (L + 1))
    oracle = eq.algorithms.oracle
    low, high = row_ranges(table)
    assert theory_radius(table, oracle, 81, 0.1) == pytest.approx(2 * (L + 1) * (high[0] - low[0]) / 0.1)
    bounds, J = residual_bounds(table), table.program.n_constraints
    bound = np.linalg.norm(bounds)
    assert oracle.multipliers.theory_rate(bounds, J, 50) == pytest.approx(100.0 / (bound * 10))
    _, free = table_of(PROBLEMS["nested"])
    assert theory_radius(free, oracle, 50, None) == pytest.approx(lipschitz(free, 0))
    assert 4 <= lipschitz(free, 0) <= 6  # square' <= 2, then max' <= 1 for either argument
    proxy = eq.algorithms.proxy_lagrangian
    m = table.program.n_multipliers
    assert proxy.multipliers.theory_rate(bounds, J, 50) == pytest.approx(np.sqrt(m * np.log(m) / 50) / bounds.max())


@pytest.mark.parametrize("algorithm", ["oracle", "coco", "proxy_lagrangian", "spade_plus", "surrogate"])
def test_theory_by_name(algorithm):
    solution = solve(
        algorithm=algorithm, lambda_step="theory", radius="theory", margin=0.1, n_rounds=5, model=Linear(radius=1.0)
    )
    assert all(0 < setting["lambda_step"] < np.inf for setting in solution.configurations)


def test_a_misspelt_value_is_told_from_those_that_are_there():
    rng = np.random.default_rng(0)
    X, race = rng.normal(size=(60, 2)), rng.choice(["African", "Asian", "European"], size=60)
    y = (X[:, 0] > 0).astype(int)
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr(eq.attr("race") == "Afican") >= 0.5])
    with pytest.raises(eq.DataError, match="'African'"):
        eq.solve(problem, X, y, attributes={"race": race})
