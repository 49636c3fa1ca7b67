"""One contract for every model, then what is particular to each."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import equirate as eq
from equirate.data.examples import Examples
from equirate.data.features import features
from equirate.data.sample import Sample
from equirate.game.column_generation import FIRST_COLUMNS
from equirate.game.linear_engine import LinearEngine
from equirate.mixtures import Source
from equirate.models import Finite, Linear, Oracle, PlugIn, make_model
from equirate.models.linear import best_threshold
from equirate.models.linear_members import LinearMembers
from equirate.models.messages import Asked
from equirate.models.rows import Rows
from equirate.players.steps import ADAM
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table

N, COUNT = 120, 4
rng = np.random.default_rng(9)
X = np.column_stack([rng.normal(size=(N, 2)), rng.integers(0, 2, N)])
Y = (X[:, 0] + 0.7 * X[:, 2] + 0.6 * rng.normal(size=N) > 0.4).astype(int)
ATTRIBUTES = {"group": np.where(rng.random(N) < 0.6, "a", "b"), "old": (X[:, 1] > 0).astype(int)}
W = rng.uniform(0.5, 2, N)
A = eq.attr("group") == "a"
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()), [eq.fpr(A) <= 0.2, eq.churn("old") <= 0.4, eq.g_mean() >= 0.5])
TABLE = make_table(canonicalize(PROBLEM), Examples.of(Y, ATTRIBUTES, W))
CELLS = len(TABLE.cells)
RULES = [lambda X, v=v, b=b: X @ v - b for v in np.vstack([np.eye(3), -np.eye(3)]) for b in (-0.5, 0.5)]
CONSTANTS = [lambda X: np.ones(len(X)), lambda X: -np.ones(len(X))]
MODELS = {
    "linear": Linear(spread=1.0),
    "linear without intercept": Linear(intercept=False, spread=1.0),
    "linear in a ball": Linear(radius=0.5, spread=1.0),
    "finite": Finite((*RULES, *CONSTANTS)),
    "plug-in, blind": PlugIn(),
    "plug-in, aware": PlugIn(group_aware=True),
    "oracle, logistic": Oracle(LogisticRegression()),
    "oracle, tree": Oracle(DecisionTreeClassifier(max_depth=3, random_state=0)),
}
EVERY = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
CONSTANT = {name: model for name, model in MODELS.items() if not (isinstance(model, Linear) and not model.intercept)}
"""Models that can say the same to everybody."""
WITH_CONSTANTS = pytest.mark.parametrize("model", CONSTANT.values(), ids=CONSTANT)


def bound(model, X=X, table=TABLE, count=COUNT, step=ADAM):
    return model.bind(Rows.of(Sample(X, table.examples), table.cells), count, step, range(count))


def respond(learner, costs):
    return learner.answer(Asked(True, np.maximum(costs, 0), np.minimum(costs, 0))).sums


def some_coefficients(seed=0, count=COUNT):
    # Costs as they come up: false positives dear in the first, misses in the last, groups unlike.
    multipliers = np.random.default_rng(seed).exponential(size=(len(TABLE.program.rows), count))
    return TABLE.coefficients(multipliers)


def decided(members):
    return members.decide(X, attributes=ATTRIBUTES) if members.needs_attributes else members.decide(X)


def now(learner):
    """Decisions of a learner as it stands."""
    return decided(learner.members([learner.snapshot()], [(0, c) for c in range(len(learner.finite()))]))


@EVERY
def test_model_contract(model):
    learner = bound(model)
    snapshots, decisions = [], []
    for t in range(3):
        sums = respond(learner, some_coefficients(t))
        snapshots.append(learner.snapshot())
        decisions.append(now(learner))
        # what is seen are the cell sums of the decisions, also of those measured later
        np.testing.assert_allclose(sums, TABLE.cells.sums(decisions[-1]))
        rows = Rows.of(Sample(X, TABLE.examples), TABLE.cells)
        kept = learner.members(snapshots[-1:], [(0, c) for c in range(COUNT)])
        np.testing.assert_allclose(learner.measurer(rows)(kept), sums)
        assert learner.finite().tolist() == [True] * COUNT
    # recorded iterates decide later what they decided then
    chosen = list(product(range(3), range(COUNT)))
    members = learner.members(snapshots, chosen)
    assert len(members) == len(chosen)
    expected = np.stack([decisions[t][:, c] for t, c in chosen], axis=1)
    np.testing.assert_array_equal(decided(members), expected)
    np.testing.assert_array_equal(decided(members.take([5, 2])), expected[:, [5, 2]])
    # some configurations can be dropped
    state = learner.state()
    learner.keep(np.array([1, 3]))
    np.testing.assert_array_equal(now(learner), decisions[-1][:, [1, 3]])
    respond(learner, some_coefficients(0)[:, [1, 3]])
    np.testing.assert_array_equal(now(learner), decisions[0][:, [1, 3]])
    assert len(learner.finite()) == 2
    # and another learner goes on where one stood
    other = bound(model)
    other.resume(state)
    np.testing.assert_array_equal(now(other), decisions[-1])


@WITH_CONSTANTS
def test_best_responses_lower_the_cost(model):
    learner = bound(model)
    for t in range(4):
        k = some_coefficients(t)
        cost = (respond(learner, k) * k).sum(0)
        constants = np.minimum(0.0, TABLE.cells.totals @ k)
        slack = 0.02 if isinstance(model, (PlugIn, Oracle)) else 1e-9  # these minimise something near the cost
        assert (cost <= constants + slack).all()
        if isinstance(model, Finite):
            costs = learner.every_sum().T @ k
            np.testing.assert_allclose(cost, costs.min(0))
            np.testing.assert_array_equal(learner.snapshot(), costs.argmin(0))


@WITH_CONSTANTS
def test_costs_of_one_sign_or_none_need_no_fit(model):
    learner = bound(model, count=3)
    respond(learner, np.outer(np.ones(CELLS), [1.0, -1.0, 0.0]))
    answers = now(learner)
    assert not answers[:, 0].any()
    assert answers[:, 1].all()


@EVERY
def test_features_of_another_length_are_refused(model):
    with pytest.raises(eq.DataError, match="119 values, but y has 120"):
        eq.solve(PROBLEM, X[:-1], Y, attributes=ATTRIBUTES, model=model)


# -- linear -----------------------------------------------------------------------------------------------


def descend(X, model=Linear(), rounds=60, **settings):  # noqa: B008  # a frozen setting
    return eq.solve(
        PROBLEM, X, Y, attributes=ATTRIBUTES, sample_weight=W, model=model, n_rounds=rounds, record_every=rounds,
        theta_step=0.05, lambda_step=0.05, **settings,
    )  # fmt: skip


def test_single_double_and_sparse_features_agree():
    double = descend(X)
    sparse = descend(sp.csr_matrix(X))
    single = descend(X.astype(np.float32))
    np.testing.assert_allclose(sparse.record.snapshots[0], double.record.snapshots[0], atol=1e-9)
    assert single.record.snapshots[0].dtype == np.float32
    np.testing.assert_allclose(single.record.snapshots[0], double.record.snapshots[0], atol=0.02)
    for solution in (double, sparse, single):
        for matrix in (X, sp.csr_array(X), sp.csc_matrix(X), X.astype(np.float32), X.tolist()):
            np.testing.assert_array_equal(solution.best().members.decide(matrix), double.best().members.decide(X))


@pytest.mark.parametrize("algorithm", ["surrogate", "oracle"])
def test_the_ball_is_respected(algorithm):
    for radius in (0.1, 1.0):
        solution = descend(X, Linear(radius=radius, spread=5.0), algorithm=algorithm, rounds=5)
        norms = [np.linalg.norm(snapshot, axis=0).max() for snapshot in solution.record.snapshots]
        assert max(norms) <= radius * (1 + 1e-9)
    inside = bound(Linear(radius=100.0, spread=1.0))
    np.testing.assert_array_equal(inside.W, bound(Linear(spread=1.0)).W)  # no projection from within


def test_best_responses_agree_on_single_double_and_sparse_features():
    answers = []
    for matrix in (X, X.astype(np.float32), sp.csr_array(X)):
        learner = bound(Linear(), matrix)
        answers.append((respond(learner, some_coefficients(1)) * some_coefficients(1)).sum(0))
    np.testing.assert_allclose(answers[1], answers[0], atol=0.02)
    np.testing.assert_allclose(answers[2], answers[0], atol=0.02)


def test_a_penalty_makes_weights_small():
    free, tight = (descend(X, Linear(penalty=p), rounds=300).record.snapshots[0] for p in (0.0, 10.0))
    assert np.linalg.norm(tight[:-1]) < 0.5 * np.linalg.norm(free[:-1])


def test_without_intercept_there_is_no_last_row():
    solution = descend(X, Linear(intercept=False))
    W = solution.record.snapshots[0]
    assert W.shape == (3, 1)
    np.testing.assert_allclose(solution.best().members.scores(X), X @ W)
    assert descend(X).record.snapshots[0].shape == (4, 1)


def test_first_parameters_come_from_the_seeds():
    one, two = (bound(Linear(spread=0.3), count=c).W for c in (2, 4))
    np.testing.assert_array_equal(one, two[:, :2])
    assert (bound(Linear()).W == 0).all()


def test_averaged_parameters():
    learner = bound(Linear(spread=1.0))
    first = learner.snapshot()
    learner.slope = rng.normal(size=first.shape)
    learner.advance(np.full(COUNT, 0.1))
    both = [first, learner.snapshot()]
    averaged = learner.average(both, [(0, 1), (1, 2)], np.array([0.25, 0.75]))
    np.testing.assert_allclose(averaged.W[:, 0], 0.25 * both[0][:, 1] + 0.75 * both[1][:, 2])
    for other in ("finite", "plug-in, blind", "oracle, tree"):
        learner = bound(MODELS[other])
        with pytest.raises(eq.AlgorithmError, match=r"uniform\(\), shrink\(\) or polish\(\)"):
            learner.average([learner.snapshot()], [(0, 0)], np.ones(1))


@pytest.mark.parametrize("setting", [{"radius": 0}, {"radius": -1.0}, {"penalty": -1}, {"spread": -0.1}])
def test_settings_that_make_no_sense_are_refused(setting):
    with pytest.raises(eq.AlgorithmError, match="Linear"):
        Linear(**setting)


def test_the_number_of_features_is_checked_when_predicting():
    members = descend(X).best().members
    with pytest.raises(eq.DataError, match="X has 2 features, but the classifier was trained on 3"):
        members.decide(X[:, :2])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.where(np.arange(N)[:, None] == 3, np.nan, X), "NaN in 1 row of column 0, NaN in 1 row of"),
        (X[:, 0], "two-dimensional"),
        (np.array([["x", "y"]] * N), "must hold numbers"),
        (sp.csr_array(np.where(X.max() == X, np.inf, X)), "NaN or infinite"),
        (X[:5], "X has 5 values, but y has 120"),
    ],
)
def test_features_are_checked(bad, message):
    with pytest.raises(eq.DataError, match=message):
        features(bad, N)


def test_what_is_not_finite_is_named_by_column_and_rows():
    spoilt = X.copy()
    spoilt[:2, 1], spoilt[5, 2], spoilt[7, 1] = np.nan, -np.inf, np.inf
    said = "NaN in 2 rows of column {0}, infinity in 1 row of column {0}, infinity in 1 row of column {1}"
    for bad, names in (
        (spoilt, ("1", "2")),
        (sp.csr_array(spoilt), ("1", "2")),
        (pd.DataFrame(spoilt, columns=["age", "pay", "on time"]), ("'pay'", "'on time'")),
    ):
        with pytest.raises(eq.DataError) as caught:
            features(bad)
        assert said.format(*names) in str(caught.value)
    with pytest.raises(eq.DataError, match="column 4 and 3 more"):
        features(np.full((4, 8), np.nan))


def test_text_is_named_by_column():
    frame = pd.DataFrame({"age": [1, 2], "sex": ["f", "m"], "town": pd.Categorical(["x", "y"]), "n": ["1", "2"]})
    with pytest.raises(
        eq.DataError, match=r"these columns do not: 'sex' \(such as 'f'\), 'town' \(such as 'x'\)\. Enc"
    ):
        features(frame)
    with pytest.raises(eq.DataError, match=r"this column does not: 'sex' .*pass it as sensitive_features"):
        features(frame[["age", "sex", "n"]])
    with pytest.raises(eq.DataError, match=r"this column does not: 1 \(such as 'a'\)"):
        features(np.array([[1, "a"], [2, "b"]], dtype=object))
    assert features(frame[["age", "n"]]).dtype == float


def test_the_best_threshold_is_the_best():
    for _ in range(50):
        scores, cost = rng.integers(0, 6, 12).astype(float), rng.normal(size=12)
        found = best_threshold(scores, cost)
        tried = [cost[scores > t].sum() for t in np.arange(-1, 7) + 0.5]
        assert cost[scores > found].sum() == pytest.approx(min(tried))


# -- finite lists -----------------------------------------------------------------------------------------


def test_a_finite_list_takes_fitted_classifiers_functions_and_decisions():
    logistic = LogisticRegression().fit(X, Y)
    tree = DecisionTreeClassifier(max_depth=2).fit(X, np.where(Y == 1, "yes", "no"))
    neighbours = KNeighborsClassifier(3).fit(X, Y)
    given = (X[:, 0] > 0).astype(int)
    learner = bound(Finite((logistic, tree, neighbours, RULES[0], given)), count=1)
    expected = [
        logistic.predict(X) == 1,
        tree.predict(X) == "yes",
        neighbours.predict(X) == 1,
        RULES[0](X) > 0,
        given == 1,
    ]
    np.testing.assert_allclose(learner.every_sum(), TABLE.cells.sums(np.stack(expected, axis=1)))
    members = learner.members([np.array([4])], [(0, 0)])
    with pytest.raises(eq.DataError, match="decisions on the training examples"):
        members.decide(X)


@pytest.mark.parametrize(
    ("classifiers", "error", "message"),
    [
        ((), eq.AlgorithmError, "empty"),
        ((np.full(N, 2),), eq.DataError, "0/1 decisions"),
        ((np.zeros(N - 1),), eq.DataError, "one decision per example"),
        (("majority",), eq.AlgorithmError, "fitted, callable or an array"),
    ],
)
def test_lists_that_make_no_sense_are_refused(classifiers, error, message):
    with pytest.raises(error, match=message):
        bound(Finite(classifiers))


# -- plug-in ----------------------------------------------------------------------------------------------


class Known:
    """An estimator that knows the distribution of cells given x: x is the index of a kind of person."""

    def get_params(self, deep=True):
        return {}

    def fit(self, X, target, sample_weight=None):
        self.classes_ = np.unique(target)
        weight = np.ones(len(target)) if sample_weight is None else sample_weight
        kinds = X[:, 0].astype(int)
        self.table = np.array([[weight[(kinds == k) & (target == c)].sum() for c in self.classes_] for k in range(6)])
        self.table /= self.table.sum(1, keepdims=True)
        return self

    def predict_proba(self, X):
        return self.table[X[:, 0].astype(int)]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_plug_in_on_exact_probabilities_reaches_the_bayes_cost(weighted):
    # every kind has every label and group, in shares that do not depend on each other
    kinds, y, second = (part.ravel() for part in np.meshgrid(np.arange(6), [0, 1], [0, 1], indexing="ij"))
    times = 1 + (7 * kinds + 3 * y) % 5  # so many of each label
    kinds, y, second = (np.repeat(part, times * (1 + second * (kinds % 3))) for part in (kinds, y, second))
    group = {"group": np.where(second == 1, "a", "b")}
    weight = np.linspace(0.5, 2, 6)[kinds] if weighted else None
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.fpr(A) <= 0.2, eq.tpr(A) >= 0.5])
    table = make_table(canonicalize(problem), Examples.of(y, group, weight))
    learner = bound(PlugIn(Known(), folds=1), kinds[:, None].astype(float), table)
    for t in range(5):
        k = table.coefficients(np.random.default_rng(t).exponential(size=(3, COUNT)))
        cost = (respond(learner, k) * k).sum(0)
        # Every rule that sees only the kind: 2^6 of them.
        costs = table.cells.spread(k)
        by_kind = np.stack([costs[kinds == kind].sum(0) for kind in range(6)])
        bayes = np.minimum(by_kind, 0).sum(0)
        np.testing.assert_allclose(cost, bayes, atol=1e-12)


def test_an_aware_plug_in_looks_groups_up():
    learner = bound(PlugIn(group_aware=True))
    member_of = TABLE.cells.members[A]
    k = np.where(member_of, -1.0, 1.0)[:, None] * np.ones(COUNT)  # group a always, the others never
    respond(learner, k)
    members = learner.members([learner.snapshot()], [(0, 0)])
    assert members.needs_attributes
    np.testing.assert_array_equal(members.decide(X, attributes=ATTRIBUTES)[:, 0], ATTRIBUTES["group"] == "a")
    swapped = {**ATTRIBUTES, "group": np.where(ATTRIBUTES["group"] == "a", "b", "a")}
    np.testing.assert_array_equal(members.decide(X, attributes=swapped)[:, 0], ATTRIBUTES["group"] == "b")
    with pytest.raises(eq.DataError, match="give attributes"):
        members.decide(X)
    # Each example's probabilities: its own groups for certain, and the label's from the classifier.
    P = learner.probabilities
    np.testing.assert_array_equal(np.sort(P[:, 1:], axis=1)[:, -2:], np.tile([0.0, 1.0], (len(P), 1)))
    np.testing.assert_allclose(P[:, 0], learner.posterior.label.predict_proba(X)[:, 1])
    assert not bound(PlugIn()).members([np.ones((CELLS, 1))], [(0, 0)]).needs_attributes


def test_plug_ins_that_cannot_work_are_refused():
    with pytest.raises(eq.AlgorithmError, match="predict_proba"):
        bound(PlugIn(object()))
    wide = {"g": np.arange(600) % 300}
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate(eq.attr("g") == g) <= 1 for g in range(300)])
    table = make_table(canonicalize(problem), Examples.of(rng.integers(0, 2, 600), wide))
    with pytest.raises(eq.AlgorithmError, match=r"too many.*group_aware=True"):
        bound(PlugIn(), rng.normal(size=(600, 2)), table)
    bound(PlugIn(group_aware=True), rng.normal(size=(600, 2)), table)


# -- oracles ------------------------------------------------------------------------------------------------


def test_an_oracle_clones_and_weighs():
    estimator = DecisionTreeClassifier(max_depth=1, random_state=0)
    learner = bound(Oracle(estimator))
    respond(learner, some_coefficients())
    assert not hasattr(estimator, "tree_")
    with pytest.raises(eq.AlgorithmError, match="sample_weight"):
        Oracle(KNeighborsClassifier())


def test_what_users_give_as_a_model():
    assert make_model("linear") == Linear()
    assert isinstance(make_model([RULES[0]]), Finite)
    assert isinstance(make_model(LogisticRegression()), Oracle)
    assert make_model(model := PlugIn()) is model
    for bad in ("forest", 3):
        with pytest.raises(eq.AlgorithmError, match="the model must be"):
            make_model(bad)


def test_a_linear_classifier_trained_on_a_frame_minds_its_columns() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(5).normal(size=(80, 3)), columns=["p", "q", "r"])
    y = (frame["p"] > 0).astype(int)
    classifier = eq.solve(eq.minimize(eq.error_rate()), frame, y, n_rounds=20).polish()
    assert classifier.predict(frame).shape == (80,)
    assert classifier.predict(frame.to_numpy()).shape == (80,)
    with pytest.raises(eq.DataError, match="in that order"):
        classifier.predict(frame[["r", "q", "p"]])


def one_feature(values, y):
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.4])
    sample = Sample.of(values[:, None], y)
    table = make_table(canonicalize(problem), sample.examples)
    return Linear().bind(Rows.of(sample, table.cells), 1, ADAM, [0]), table


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_with_one_feature_every_threshold_is_counted_as_it_decides(dtype):
    rng = np.random.default_rng(4)
    values = np.concatenate([rng.normal(size=30), rng.integers(0, 3, 20)]).astype(dtype)
    learner, table = one_feature(values, rng.integers(0, 2, 50))
    sums = learner.every_sum()
    edges = len(np.unique(values))
    assert sums.shape == (len(table.cells), 2 * edges)
    members = learner.members([learner.every_snapshot(np.arange(2 * edges))], [(0, k) for k in range(2 * edges)])
    decided = members.decide(values[:, None])
    np.testing.assert_allclose(sums, table.cells.sums(decided))
    ordered = {tuple(column) for column in decided.T.astype(int)}
    wanted = {tuple((values > t).astype(int)) for t in [-np.inf, *np.unique(values)]}
    assert ordered == wanted | {tuple(1 - np.array(each)) for each in wanted}


def test_column_generation_begins_with_the_labels_regression_at_thresholds_all_over_its_scores():
    rng = np.random.default_rng(5)
    x = rng.exponential(size=(400, 3))
    y = (x[:, 0] + x[:, 1] + rng.normal(size=400) > 3).astype(int)
    sample = Sample.of(x, y)
    table = make_table(canonicalize(eq.Problem(eq.minimize(eq.error_rate()))), sample.examples)
    engine = LinearEngine.of(sample, table.cells, None, 1, Linear())
    generation = engine.begin(engine.view([0]), table)
    first = [k for k, (family, _) in enumerate(generation.places) if family == 1]
    assert set(generation.columns(first).source) == {Source.LABELS}
    members = LinearMembers(engine.weights(generation, first))
    decided = members.decide(x)
    np.testing.assert_allclose(generation.columns(first).rates, table.rates(table.cells.sums(decided)))
    shares = np.sort(decided.mean(axis=0))
    assert len(first) in (FIRST_COLUMNS, FIRST_COLUMNS + 1)  # evenly spaced, and the one with the fewest errors
    assert np.diff(shares).max() <= 1.5 / FIRST_COLUMNS
    weights = members.W[:-1]
    np.testing.assert_allclose(weights, np.repeat(weights[:, :1], len(first), axis=1), rtol=1e-6)
    assert (decided != y[:, None]).mean(axis=0).min() == pytest.approx(
        min(((x @ weights[:, 0] > edge) != y).mean() for edge in [-np.inf, *(x @ weights[:, 0])]), abs=3e-3
    )
