"""Column generation: the optimum where all classifiers are known, and what a solution says of itself elsewhere."""

import itertools
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import equirate as eq
from equirate.data.sample import Sample
from equirate.game import linear_engine
from equirate.game.column_generation import PASSES, Pass
from equirate.game.infeasible import COLUMNS, EVERYTHING
from equirate.game.linear_engine import LinearEngine
from equirate.game.record import Start
from equirate.judge.evaluation import Evaluation
from equirate.mixtures import Source
from equirate.models import Linear, PlugIn
from equirate.models.thresholds import GivenScores, Thresholds

from .finite_truth import PROBLEMS, A, B, Counted, best, one_feature, one_hot, two_features

PARITY = eq.Problem(*PROBLEMS["error, equal opportunity"])
F1 = eq.Problem(*PROBLEMS["f1, precision bound"])


def sign_of(problem):
    return -1 if problem.objective.sense == "maximize" else 1


def noisy(seed=0, n=400, d=3):
    """Labels that are linear in the features, up to noise, and a group."""
    rng = np.random.default_rng(seed)
    g = (rng.random(n) < 0.4).astype(int)
    X = rng.normal(size=(n, d)) + 0.5 * g[:, None]
    y = (X[:, 0] - 0.5 * X[:, 1] + 0.8 * rng.normal(size=n) > 0.4).astype(int)
    return X, y, {"g": g}


# -- the optimum ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(
    ("data", "listed", "close"),
    [(one_hot, False, 5e-3), (one_hot, True, 1e-5), (one_feature, False, 1e-5)],
    ids=["indicators", "list", "one feature"],
)
def test_the_optimum_over_all_classifiers(name, data, listed, close):
    X, y, attributes, decided = data(3)
    problem = eq.Problem(*PROBLEMS[name])
    model = [np.ascontiguousarray(column) for column in decided.T] if listed else "linear"
    status = eq.solve(problem, X, y, attributes=attributes, model=model).status
    low, high = best(name, y, attributes, decided)
    assert status.violation <= 1e-5
    assert status.objective >= low - close
    assert status.objective <= high + close
    if listed or data is one_feature:
        sign = sign_of(problem)
        assert status.bound_over == EVERYTHING
        assert sign * status.bound <= sign * status.objective + 1e-9
        assert low - 1e-5 <= status.bound <= high + 2e-3
        assert status.gap <= 2e-3  # what the search for several ratios leaves


@pytest.mark.parametrize("name", PROBLEMS)
def test_half_planes_are_no_better_than_the_best_and_no_worse_than_those_of_a_regression(name):
    """No answer of a linear model is exact: it is held between all half-planes and one regression's thresholds."""
    X, y, attributes, decided = two_features(3)
    problem = eq.Problem(*PROBLEMS[name])
    sign = sign_of(problem)
    status = eq.solve(problem, X, y, attributes=attributes).status
    score = LogisticRegression(max_iter=1000).fit(X, y).decision_function(X)
    above = (score[:, None] > np.append(-np.inf, np.sort(score))).astype(int)
    truth = min(sign * each for each in best(name, y, attributes, decided))
    regression = max(sign * each for each in best(name, y, attributes, above))
    assert status.violation <= 1e-5
    assert status.bound_over == COLUMNS
    assert sign * status.objective >= truth - 1e-4
    assert sign * status.objective <= regression + 0.01


def test_one_feature_is_listed_whole():
    X, y, attributes, decided = one_feature(1)
    solution = eq.solve(PARITY, X, y, attributes=attributes)
    assert set(solution.columns.source) == {Source.LISTED}
    assert solution.exact
    assert solution.learner.every_sum().shape[1] == 2 * len(np.unique(X))
    shifted = eq.solve(PARITY, 1e6 + X, y, attributes=attributes)
    assert shifted.status.objective == pytest.approx(solution.status.objective, abs=1e-6)
    assert len(decided.T) == 2 * len(np.unique(X)) + 2  # both constants are listed twice there


@pytest.mark.parametrize("seed", range(3))
def test_exact_answers_prove_the_optimum(seed):
    """Thresholds of both groups are too many to list here; answers to the prices prove what no mixture beats."""
    rng = np.random.default_rng(seed)
    n = 80
    y, g = rng.integers(0, 2, n), rng.integers(0, 2, n)
    score = (y + 1.2 * rng.normal(size=n)).round(1)
    cuts = [np.append(-np.inf, np.unique(score[g == k])) for k in (0, 1)]
    decided = np.stack(
        [np.where(g == 0, score > a, score > b).astype(int) for a, b in itertools.product(*cuts)], axis=1
    )
    solution = eq.solve(PARITY, score, y, attributes={"g": g}, model=Thresholds(GivenScores(), (A, B)))
    (truth, _) = best("error, equal opportunity", y, {"g": g}, decided)
    assert solution.learner.every_sum() is None
    assert solution.status.objective == pytest.approx(truth, abs=1e-4)
    assert solution.status.bound_over == EVERYTHING
    assert solution.status.bound <= truth + 1e-7
    assert solution.status.gap <= 2e-4

    hard = eq.Problem(PARITY.objective, [eq.tpr() >= 0.97, eq.fpr() <= 0.03])
    counted = Counted(y, g, decided)
    fpr = (counted.positive - counted.tp) / (1 - counted.base)
    rows = np.column_stack([np.stack([0.97 - counted.tpr, fpr - 0.03]), [-1.0, -1.0]])
    one = np.append(np.ones(counted.n), 0.0)[None]
    least = linprog(np.eye(counted.n + 1)[-1], rows, [0, 0], one, [1.0], (0, 1)).fun
    broken = eq.solve(hard, score, y, attributes={"g": g}, model=Thresholds(GivenScores(), (A, B)))
    assert broken.status.violation == pytest.approx(least, abs=2e-4)
    assert broken.status.conflict_over == EVERYTHING


def test_answers_on_other_rows_prove_nothing():
    rng = np.random.default_rng(0)
    n = 160
    y, g = rng.integers(0, 2, n), rng.integers(0, 2, n)
    score = (y + 1.2 * rng.normal(size=n)).round(1)[:, None]
    train, other = np.arange(n) < 80, np.arange(n) >= 80
    model = Thresholds(GivenScores(), (A, B))
    referee = (score[other], y[other], {"g": g[other]})
    solution = eq.solve(PARITY, score[train], y[train], attributes={"g": g[train]}, model=model, referee=referee)
    alone = eq.solve(PARITY, score[other], y[other], attributes={"g": g[other]}, model=model)
    assert alone.status.objective < solution.status.objective - 0.01  # so there would be nothing to prove
    assert solution.status.bound_over == COLUMNS
    assert solution.course.bound is None


@pytest.mark.parametrize("linear", [False, True])
def test_infeasible_problems_and_their_least_violation(linear):
    X, y, attributes, decided = one_hot(1)
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr() >= 0.95, eq.fpr() <= 0.05])
    model = "linear" if linear else [np.ascontiguousarray(column) for column in decided.T]
    solution = eq.solve(problem, X, y, attributes=attributes, model=model)
    tpr, fpr = decided[y == 1].mean(axis=0), decided[y == 0].mean(axis=0)
    rows = np.column_stack([np.stack([0.95 - tpr, fpr - 0.05]), [-1.0, -1.0]])
    least = linprog(np.eye(65)[-1], rows, [0, 0], np.append(np.ones(64), 0.0)[None], [1.0], (0, 1)).fun
    assert not solution.status.feasible
    assert solution.status.violation == pytest.approx(least, abs=1e-6)
    assert solution.status.smallest_violation == pytest.approx(solution.status.violation, abs=1e-5)
    assert solution.status.conflict == ("tpr() >= 0.95", "fpr() <= 0.05")
    assert solution.status.conflict_over == EVERYTHING
    assert (solution.status.bound, solution.status.gap) == (None, None)


@pytest.mark.parametrize("listed", [False, True])
def test_a_black_box_is_as_good_as_any_pair_of_classifiers(listed):
    X, y, attributes, decided = one_hot(2)
    box = eq.black_box(lambda a, b: a**2 + 2 * b**2, eq.fpr(), eq.fnr(), increasing=True)
    problem = eq.Problem(eq.minimize(box), [eq.positive_rate() <= 0.5])
    model = [np.ascontiguousarray(column) for column in decided.T] if listed else "linear"
    status = eq.solve(problem, X, y, attributes=attributes, model=model).status
    rates = np.stack([decided[y == 0].mean(axis=0), 1 - decided[y == 1].mean(axis=0), decided.mean(axis=0)])
    share, pairs = np.linspace(0, 1, 101), np.array(list(itertools.combinations(range(64), 2))).T
    mixed = rates[:, pairs[0], None] * share + rates[:, pairs[1], None] * (1 - share)
    value = np.where(mixed[2] <= 0.5, mixed[0] ** 2 + 2 * mixed[1] ** 2, np.inf)
    assert status.feasible
    assert status.objective <= value.min() + 5e-3
    assert (status.bound, status.bound_over) == (None, None)


def test_a_divergence_as_a_constraint_is_over_in_few_programmes(monkeypatch):
    """Programmes are exact to 1e-7: cuts must not be added for ever in search of more."""
    from equirate.mixtures import linear

    solved = []
    run = linear.Programme._run
    monkeypatch.setattr(linear.Programme, "_run", lambda programme: solved.append(1) or run(programme))
    rng = np.random.default_rng(0)
    y, g = (rng.random(400) < 0.4).astype(int), rng.integers(0, 2, 400)
    x = rng.normal(size=(400, 2)) + 0.7 * y[:, None]
    slopes, levels = rng.normal(size=(256, 2)), rng.normal(size=256)
    model = [(x @ slope > level).astype(int) for slope, level in zip(slopes, levels, strict=True)]
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.kl_divergence(B) <= 0.001])
    solution = eq.solve(problem, x, y, attributes={"g": g}, model=model)
    assert len(solved) <= 60
    assert solution.rounds <= 2
    assert solution.status.gap == pytest.approx(0, abs=2e-5)
    assert solution.status.feasible


# -- kinds of linear models -----------------------------------------------------------------------


@pytest.mark.parametrize("standardise", [False, True])
def test_without_an_intercept_there_is_none(standardise):
    X, y, attributes = noisy(d=2)
    model = Linear(intercept=False, standardise=standardise)
    solution = eq.solve(PARITY, X, y, attributes=attributes, model=model)
    middle = X.mean(axis=0, keepdims=True) if standardise else np.zeros((1, 2))
    W = solution.members().with_intercept
    np.testing.assert_allclose(middle @ W[:-1] + W[-1], 0.0, atol=1e-9)
    if not standardise:
        np.testing.assert_array_equal(solution.members().decide(middle), False)
    angles = np.linspace(0, 2 * np.pi, 2000, endpoint=False)
    decided = ((X - middle) @ np.stack([np.cos(angles), np.sin(angles)]) > 0).astype(int)
    truth = best("error, equal opportunity", y, attributes, np.column_stack([decided, np.zeros(len(y), int)]))[0]
    assert solution.status.feasible
    assert truth - 1e-6 <= solution.status.objective <= truth + 0.02


def test_scales_of_features_hardly_matter_where_rows_are_many():
    X, y, attributes = noisy(n=1500)
    scaled = X * [1.0, 1e4, 1e-3] + [0, 1e5, 1]
    found = [
        eq.solve(PARITY, features, y, attributes=attributes, model=Linear(standardise=each)).status
        for features, each in ((X, False), (X, True), (scaled, False), (scaled, True))
    ]
    assert all(status.feasible for status in found)
    assert np.ptp([status.objective for status in found]) <= 2e-3


@pytest.mark.parametrize("problem", [PARITY, F1], ids=["parity", "f1"])
def test_sparse_rows_are_solved_like_dense_ones(problem):
    X, y, attributes = noisy(n=1000, d=4)
    X[np.abs(X) < 0.5] = 0.0
    dense, sparse = (
        eq.solve(problem, X, y, attributes=attributes),
        eq.solve(problem, sp.csr_array(X), y, attributes=attributes),
    )
    assert sparse.status.feasible
    assert sparse.status.objective == pytest.approx(dense.status.objective, abs=5e-3)
    decided = sparse.polish().positive_probability(X)
    np.testing.assert_allclose(decided, sparse.polish().positive_probability(sp.csr_array(X)), atol=1e-12)


def test_rows_without_weight_do_not_count():
    X, y, attributes = noisy()
    weights = np.ones(len(y))
    weights[::3] = 0.0
    kept = weights > 0
    spoilt = X.copy()
    spoilt[~kept] += 1e6
    weighted = eq.solve(PARITY, spoilt, y, attributes=attributes, sample_weight=weights)
    alone = eq.solve(PARITY, X[kept], y[kept], attributes={"g": attributes["g"][kept]})
    assert weighted.status.objective == pytest.approx(alone.status.objective, abs=2e-3)
    found = weighted.polish().evaluate(None, X[kept], y[kept], attributes={"g": attributes["g"][kept]})
    assert found["objective"] == pytest.approx(weighted.status.objective)


def _made(kind):
    X, y, attributes = noisy()
    weights = None
    models = {
        "list": [lambda X, b=b: X[:, 0] - b for b in (-0.5, 0.0, 0.5, 1.0)],
        "thresholds": Thresholds(GivenScores()),
        "trees": DecisionTreeClassifier(max_depth=2, random_state=0),
        "plug-in": PlugIn(),
        "without intercept": Linear(intercept=False),
        "standardised": Linear(standardise=True),
    }
    if kind == "one feature" or kind == "thresholds":
        X = X[:, :1]
    if kind == "sparse":
        X = sp.csr_array(np.where(np.abs(X) < 0.5, 0.0, X))
    if kind == "scales":
        X = X * [1e-8, 1e6, 1.0] + [0.0, 1e9, 1e3]
    if kind == "single precision":
        X = X.astype(np.float32)
    if kind == "weighted":
        weights = np.random.default_rng(0).uniform(0, 2, len(y))
    return X, y, attributes, weights, models.get(kind, "linear")


@pytest.mark.parametrize(
    "kind",
    ["dense", "sparse", "scales", "single precision", "weighted", "without intercept", "standardised", "one feature",
     "list", "thresholds", "trees", "plug-in"],
)  # fmt: skip
def test_every_column_counts_what_its_member_decides(kind):
    X, y, attributes, weights, model = _made(kind)
    solution = eq.solve(PARITY, X, y, attributes=attributes, sample_weight=weights, model=model)
    members = solution.members()
    assert len(members) == len(solution.columns)
    sums = solution.judge.cells.sums(members.decide(X, attributes=attributes))
    np.testing.assert_allclose(solution.columns.rates, solution.judge.rates(sums), rtol=0, atol=1e-9)
    mixture = solution.polish()
    found = mixture.evaluate(None, X, y, attributes=attributes, sample_weight=weights)
    assert solution.value_of(mixture) == pytest.approx((found["objective"], max(found["violations"])))
    again = solution.on(X, y, attributes=attributes, sample_weight=weights)
    np.testing.assert_allclose(again.columns.rates, solution.columns.rates, rtol=0, atol=1e-9)


# -- levels, two sets, warm starts ----------------------------------------------------------------


@pytest.mark.parametrize("problem", [PARITY, eq.Problem(eq.maximize(eq.tpr()), [eq.fpr() <= 0.2])], ids=["abs", "one"])
def test_every_level_is_as_good_as_solved_by_itself(problem):
    X, y, attributes = noisy(n=800)
    levels = [0.0, 0.05, -0.01]
    together = eq.solve(problem, X, y, attributes=attributes, levels=levels)
    written = problem.expanded(together.judge.examples)
    parts = [part for constraint in written.constraints for part in constraint.split()]
    for level in levels:
        shifted = eq.Problem(problem.objective, [part.left <= part.right + level for part in parts])
        judged, alone = together.for_problem(shifted).status, eq.solve(shifted, X, y, attributes=attributes).status
        assert judged.feasible
        assert sign_of(problem) * (judged.objective - alone.objective) <= 2e-3


def test_levels_of_each_constraint():
    X, y, attributes = noisy(n=800)
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.2, eq.fpr(A) <= 0.1])
    solution = eq.solve(problem, X, y, attributes=attributes, levels=[[0.0, 0.0], [0.1, -0.08]])
    other = eq.Problem(problem.objective, [eq.positive_rate() <= 0.3, eq.fpr(A) <= 0.02])
    alone = eq.solve(other, X, y, attributes=attributes)
    assert solution.for_problem(other).status.objective == pytest.approx(alone.status.objective, abs=3e-3)
    assert solution.status.objective == pytest.approx(
        eq.solve(problem, X, y, attributes=attributes).status.objective, abs=3e-3
    )


@pytest.mark.parametrize(
    "model", ["linear", DecisionTreeClassifier(max_depth=2, random_state=0)], ids=["linear", "tree"]
)
def test_a_referee_chooses_the_mixture_and_trains_nothing(model):
    X, y, attributes = noisy(0, 600)
    X2, y2, attributes2 = noisy(1, 300)
    solution = eq.solve(PARITY, X, y, attributes=attributes, model=model, referee=(X2, y2, attributes2))
    found = solution.polish().evaluate(None, X2, y2, attributes=attributes2)
    assert solution.status.objective == pytest.approx(found["objective"])
    assert solution.status.violation == pytest.approx(max(0.0, *found["violations"]), abs=1e-9)
    decided = solution.members().decide(np.vstack([X, X2]))[600:]
    sums = solution.judge.cells.sums(np.vstack([np.zeros((600, decided.shape[1]), dtype=bool), decided]))
    np.testing.assert_allclose(solution.columns.rates, solution.judge.rates(sums), atol=1e-9)
    assert solution.status.bound_over == COLUMNS


def test_labels_of_a_referee_train_no_direction():
    """Other labels for the same features, and as many of each: the regression of the labels is the same."""
    X, y, _ = noisy(0, 600)
    X2, y2, _ = noisy(1, 300)
    found = []
    for labels in (y2, np.random.default_rng(0).permutation(y2)):
        solution = eq.solve(eq.minimize(eq.error_rate()), X, y, referee=(X2, labels))
        labelled = np.flatnonzero(solution.columns.source == Source.LABELS)
        found.append(solution.members(labelled).with_intercept[:-1, 0])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def start_of(solution):
    members = solution.polish().members
    return Start(members.with_intercept, np.zeros((1, len(members))))


def test_a_warm_start_begins_where_another_solution_ended():
    X, y, attributes = noisy(n=800)
    before = eq.solve(F1, X, y, attributes=attributes)
    after = eq.solve(F1, X, y, attributes=attributes, start=start_of(before))
    first, last = (solution.history["objective"][:, 0] for solution in (after, before))
    assert first[0] >= last[-1] - 1e-3
    assert first[0] > last[0] + 1e-4
    assert after.status.objective >= before.status.objective - 1e-3
    assert after.rounds <= before.rounds


@pytest.mark.parametrize("model", [Linear(), Linear(intercept=False)], ids=["intercept", "none"])
def test_a_game_is_a_start_too(model):
    X, y, attributes = noisy(n=800)
    game = eq.solve(PARITY, X, y, attributes=attributes, model=model, algorithm="surrogate", n_rounds=100)
    after = eq.solve(PARITY, X, y, attributes=attributes, model=model, start=game.record.end())
    assert after.status.feasible
    assert after.status.objective <= eq.solve(PARITY, X, y, attributes=attributes, model=model).status.objective + 5e-3


def test_a_start_with_other_features_is_refused():
    X, y, attributes = noisy()
    start = start_of(eq.solve(PARITY, X, y, attributes=attributes))
    with pytest.raises(eq.AlgorithmError, match=r"cannot continue: .* shape \(4, \d+\), and there are 2 features"):
        eq.solve(PARITY, X[:, :2], y, attributes=attributes, start=start)


# -- what a run says of itself --------------------------------------------------------------------


def test_history_has_the_best_mixture_after_every_pass():
    X, y, attributes = noisy()
    seen = []
    solution = eq.solve(F1, X, y, attributes=attributes, progress=seen.append)
    history = solution.history
    assert set(history) == {"round", "objective", "violation", "multipliers", "slacks", "lagrangian", "bound"}
    count = len(seen) + 1
    assert history["round"].tolist() == list(range(count))
    assert all(isinstance(each, Pass) for each in seen)
    assert [each.round for each in seen] == list(range(1, count))
    assert [each.objective for each in seen] == history["objective"][1:, 0].tolist()
    assert history["multipliers"].shape == (count, solution.judge.program.n_multipliers, 1)
    assert np.isnan(history["bound"]).all()  # of ratios, nothing is proven on the way
    pairs = list(zip(history["violation"][:, 0].round(5), -history["objective"][:, 0], strict=True))
    assert pairs == sorted(pairs, reverse=True)  # it never becomes worse
    assert history["objective"][-1, 0] == pytest.approx(solution.status.objective, abs=2e-3)
    assert solution.rounds == len(seen) == history["round"][-1]  # the regression of the labels is round 0
    assert f"{solution.rounds} passes" in repr(solution)


def test_n_rounds_bounds_the_rounds_that_are_reported():
    X, y, _ = noisy()
    for rounds, validation in ((1, 0.25), (1, 0), (3, 0.25)):
        clf = eq.RateClassifier(
            eq.maximize(eq.f1()), [eq.positive_rate() <= 0.3], n_rounds=rounds, validation=validation, random_state=0
        ).fit(X, y)
        assert clf.n_rounds_ == clf.status_.rounds <= rounds
    assert "after 1 round\n" in str(clf.set_params(n_rounds=1).fit(X, y).status_)


def test_bounds_of_the_columns_so_far():
    X, y, attributes = noisy()
    history = eq.solve(PARITY, X, y, attributes=attributes).history
    np.testing.assert_allclose(history["bound"], history["objective"], atol=1e-4)
    assert (history["bound"] <= history["objective"] + 1e-7).all()


def test_passes_end_when_nothing_is_gained_or_when_they_are_used_up():
    X, y, attributes = noisy()
    whole = eq.solve(F1, X, y, attributes=attributes)
    assert 3 <= len(whole.history["round"]) < PASSES
    gains = np.diff(whole.history["objective"][:, 0])
    assert (gains[-2:] < 1e-4).all()
    short = eq.solve(F1, X, y, attributes=attributes, n_rounds=1)
    assert short.history["round"].tolist() == [0, 1]
    np.testing.assert_array_equal(short.history["objective"], whole.history["objective"][:2])


def test_progress_ends_a_run_by_saying_so():
    X, y, attributes = noisy()
    solution = eq.solve(F1, X, y, attributes=attributes, progress=lambda each: each.round == 2)
    assert solution.history["round"].tolist() == [0, 1, 2]
    assert not solution.interrupted


def test_the_line_of_progress(capsys):
    X, y, attributes = noisy()
    eq.solve(PARITY, X, y, attributes=attributes, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert re.search(r"pass \d+  \d+ columns, best mixture: objective 0\.\d+, violation 0\.0000", err)


@pytest.mark.parametrize(
    "model", ["linear", DecisionTreeClassifier(max_depth=2, random_state=0)], ids=["linear", "tree"]
)
def test_an_interruption_keeps_what_was_found(model):
    X, y, attributes = noisy()

    def stop(each):
        if each.round == 2:
            raise KeyboardInterrupt

    with pytest.warns(eq.NotSolvedWarning, match=r"interrupted after \d passes"):
        solution = eq.solve(F1, X, y, attributes=attributes, model=model, progress=stop)
    whole = eq.solve(F1, X, y, attributes=attributes, model=model, n_rounds=2)
    assert solution.interrupted
    assert solution.status.interrupted
    assert any("interrupted" in line for line in solution.status.advice)
    assert solution.status.objective == pytest.approx(whole.status.objective, abs=1e-6)
    assert not whole.interrupted


@pytest.mark.parametrize("stop_at", [None, 1], ids=["whole", "interrupted"])
def test_of_many_rows_some_are_asked_what_is_kept(stop_at, monkeypatch):
    X, y, attributes = noisy(n=4000)
    problem = eq.Problem(eq.minimize(eq.error_rate()), eq.demographic_parity("g", tolerance=0.05))
    asked, run = [], LinearEngine.run

    def watched(self, pairs, *options):
        asked.append(self.rows.size)
        run(self, pairs, *options)
        if stop_at is not None:
            pairs[0][0].interrupted = True

    monkeypatch.setattr(linear_engine, "DECISION_ROWS", 1000)
    monkeypatch.setattr(LinearEngine, "run", watched)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        clf = eq.RateClassifier(problem.objective, problem.constraints, random_state=0, on_interrupt="keep")
        clf.fit(X, y, sensitive_features=attributes)
    assert asked == ([1000] if stop_at else [1000, 1000, 4000])  # with one threshold, with all, and all rows
    sample = Sample.of(X, y, attributes)
    evaluation = Evaluation.of(problem, sample.examples, clf.predict_pmf(X)[:, 1])
    assert evaluation.objective == pytest.approx(clf.status_.objective, abs=1e-12)  # counted on all rows
    assert evaluation.violation <= 1e-3


def test_what_belongs_to_a_game_is_refused_by_name():
    X, y, attributes = noisy()
    solution = eq.solve(PARITY, X, y, attributes=attributes)
    assert solution.algorithm.name == "column_generation"
    for wanted in (solution.uniform, solution.average, lambda: solution.record):
        with pytest.raises(eq.AlgorithmError, match=r'column_generation plays none.*algorithm="surrogate" or "oracle"'):
            wanted()
    with pytest.raises(eq.AlgorithmError, match="a configuration belongs to a game"):
        solution.polish(0)
    assert solution.configurations == ()
    np.testing.assert_array_equal(solution.output().weights, solution.polish().weights)
    assert {solution.shrink().origin, solution.best().origin} == {"shrink", "best"}
    assert (solution.status.lambda_regret, solution.status.theta_regret) == (None, None)


def test_ordinary_losses_are_played_for():
    X, y, attributes = noisy()
    problem = eq.Problem(eq.minimize(eq.log_loss()), [eq.fpr() <= 0.3])
    with pytest.raises(
        eq.AlgorithmError, match=r"column_generation prices rates only and cannot minimise log_loss\(\)"
    ):
        eq.solve(problem, X, y, attributes=attributes, algorithm="column_generation")
    assert eq.solve(problem, X, y, attributes=attributes, n_rounds=20).algorithm.name == "surrogate"


@pytest.mark.parametrize(
    "model", ["linear", DecisionTreeClassifier(max_depth=2, random_state=0)], ids=["linear", "tree"]
)
def test_runs_repeat_to_the_last_bit(model):
    X, y, attributes = noisy()
    first, second = (eq.solve(F1, X, y, attributes=attributes, model=model) for _ in range(2))
    np.testing.assert_array_equal(first.columns.rates, second.columns.rates)
    for name in ("objective", "multipliers", "violation"):
        np.testing.assert_array_equal(first.history[name], second.history[name])
    assert first.polish().chosen == second.polish().chosen
    np.testing.assert_array_equal(first.polish().weights, second.polish().weights)


def test_an_oracle_answers_prices():
    X, y, attributes = noisy()
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    solution = eq.solve(PARITY, X, y, attributes=attributes, model=tree)
    assert Source.PRICED in solution.columns.source
    found = eq.solve(PARITY, X, y, attributes=attributes, model=tree, algorithm="oracle", n_rounds=60)
    assert solution.rounds < 30
    assert solution.status.feasible
    assert solution.status.objective <= found.status.objective + 5e-3


@pytest.mark.parametrize("setting", [{"radius": 1.0}, {"spread": 0.5}])
def test_settings_of_a_game_are_refused(setting):
    X, y, attributes, _ = one_hot(1)
    with pytest.raises(eq.AlgorithmError, match="those of a game"):
        eq.solve(PARITY, X, y, attributes=attributes, model=eq.models.Linear(**setting))
