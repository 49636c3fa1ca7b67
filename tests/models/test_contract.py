"""The contract holds for models that nobody thought of: each is a learner of its own, under forty lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import equirate as eq
from equirate.data.sample import Sample
from equirate.models import Asked, Batch, Learner, Linear, Members, Model, Rows, Seen
from equirate.models.capabilities import Capabilities
from equirate.models.design import linear_scores
from equirate.models.linear_members import LinearMembers
from equirate.players.multipliers import MultiplierPlayer, Multipliers
from equirate.players.surrogates import SURROGATES

N = 600
rng = np.random.default_rng(4)
X = np.hstack([rng.normal(size=(N, 3)), np.ones((N, 1))])  # a network without intercepts needs the ones
GROUP = np.where(rng.random(N) < 0.4, "a", "b")
Y = (X[:, 0] ** 2 + 0.5 * X[:, 2] + 0.4 * (GROUP == "a") + 0.5 * rng.normal(size=N) > 0.8).astype(int)
A, B = eq.attr("group") == "a", eq.attr("group") == "b"
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()), [abs(eq.positive_rate(A) - eq.positive_rate(B)) <= 0.05])


# -- a network fed by minibatches, in plain numpy ------------------------------------------------------


class Networks(Members):
    def __init__(self, layers):
        self.layers = layers

    def __len__(self):
        return len(self.layers)

    def decide(self, X, attributes=None):
        return np.stack([np.tanh(X @ V) @ w > 0 for V, w in self.layers], axis=1)

    def take(self, indices):
        return Networks([self.layers[k] for k in indices])


class NetworkLearner(Learner):
    """A hidden layer of 16 for every configuration; each answer is one minibatch, predictions are remembered."""

    def __init__(self, rows, seeds):
        self.rows, self.rng = rows, np.random.default_rng(0)
        self.layers = [
            (0.5 * r.normal(size=(4, 16)), 0.1 * r.normal(size=16)) for r in map(np.random.default_rng, seeds)
        ]
        self.predicted = Networks(self.layers).decide(rows.X)

    def answer(self, asked):
        batch = next(iter(self.rows.batches(64, self.rng)))
        hidden = [np.tanh(batch.X @ V) for V, _ in self.layers]
        scores = np.stack([h @ w for h, (_, w) in zip(hidden, self.layers, strict=True)], axis=1)
        slope = asked.slope(batch, scores) * len(self.rows) / len(scores)
        self.slopes = [
            (batch.X.T @ (np.outer(s, w) * (1 - h**2)), h.T @ s)
            for h, (_, w), s in zip(hidden, self.layers, slope.T, strict=True)
        ]
        self.predicted[batch.rows] = scores > 0
        return Seen(self.rows.cells.sums(self.predicted))

    def advance(self, rate):
        pairs = zip(self.layers, self.slopes, rate, strict=True)
        self.layers = [(V - r * dV, w - r * dw) for (V, w), (dV, dw), r in pairs]

    def snapshot(self):
        return list(self.layers)

    def keep(self, columns):
        self.layers, self.predicted = [self.layers[c] for c in columns], self.predicted[:, columns]

    def finite(self):
        return np.array([np.isfinite(V).all() and np.isfinite(w).all() for V, w in self.layers])

    def members(self, snapshots, chosen):
        return Networks([snapshots[t][c] for t, c in chosen])


# -- boosted trees on scikit-learn's regression trees ----------------------------------------------------


class Ensembles(Members):
    def __init__(self, ensembles):
        self.ensembles = ensembles

    def __len__(self):
        return len(self.ensembles)

    def decide(self, X, attributes=None):
        columns = [sum((rate * tree.predict(X) for rate, tree in e), np.zeros(len(X))) > 0 for e in self.ensembles]
        return np.stack(columns, axis=1)

    def take(self, indices):
        return Ensembles([self.ensembles[k] for k in indices])


class TreeLearner(Learner):
    """Every round adds a tree, fitted to slope over curvature at the current scores; every prefix is an iterate."""

    def __init__(self, rows, count):
        self.rows, self.ensembles = rows, [()] * count
        self.scores = np.zeros((len(rows), count))

    def answer(self, asked):
        (batch,) = self.rows.batches()
        slope, curvature = asked.slope(batch, self.scores), asked.curvature(batch, self.scores)
        floor = 1e-3 / len(self.rows)
        self.steps = [(g / (h + floor), h + floor) for g, h in zip(slope.T, curvature.T, strict=True)]
        return asked.seen(batch, self.scores)

    def advance(self, rate):
        for c, (target, weight) in enumerate(self.steps):
            tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(self.rows.X, target, weight)
            self.ensembles[c] = (*self.ensembles[c], (-rate[c], tree))
            self.scores[:, c] -= rate[c] * tree.predict(self.rows.X)

    def snapshot(self):
        return list(self.ensembles)

    def keep(self, columns):
        self.ensembles, self.scores = [self.ensembles[c] for c in columns], self.scores[:, columns]

    def finite(self):
        return np.isfinite(self.scores).all(axis=0)

    def members(self, snapshots, chosen):
        return Ensembles([snapshots[t][c] for t, c in chosen])


# -- a linear model over three shards ----------------------------------------------------------------------


class ShardedLearner(Learner):
    """Three sets of rows that never meet: what each sees and its slope add up."""

    def __init__(self, rows, step, count):
        shards = [np.arange(k, len(rows), 3) for k in range(3)]
        self.shards = [[rows.batch(part)] for part in shards]
        self.W, self.rule = np.zeros((rows.X.shape[1] + 1, count)), step
        self.steps = step.start(self.W.shape)

    def answer(self, asked):
        seen, self.slope = None, np.zeros_like(self.W)
        for batch in (batch for shard in self.shards for batch in shard):
            scores = linear_scores(batch.X, self.W)
            part, g = asked.seen(batch, scores), asked.slope(batch, scores)
            seen = part if seen is None else seen.plus(part)
            self.slope += np.vstack([batch.X.T @ g, g.sum(0)])
        return seen

    def advance(self, rate):
        move, self.steps = self.rule.move(self.steps, self.slope, rate)
        self.W = self.W - move

    def snapshot(self):
        return self.W.copy()

    def keep(self, columns):
        self.W, self.steps = self.W[:, columns], self.steps.keep(columns)

    def finite(self):
        return np.isfinite(self.W).all(axis=0)

    def members(self, snapshots, chosen):
        return LinearMembers(np.stack([snapshots[t][:, c] for t, c in chosen], axis=1))


@dataclass(frozen=True, eq=False)
class Made(Model):
    """A model of a learner's constructor."""

    make: object

    @property
    def capabilities(self):
        return Capabilities(descends=True)

    def bind(self, rows: Rows, count, step, seeds):
        return self.make(rows, count, step, seeds)


NETWORK = Made(lambda rows, count, step, seeds: NetworkLearner(rows, [seed + c for c, seed in enumerate(seeds)]))
TREES = Made(lambda rows, count, step, seeds: TreeLearner(rows, count))
SHARDS = Made(lambda rows, count, step, seeds: ShardedLearner(rows, step, count))


def solved(model, **settings):
    settings = {"algorithm": "surrogate", **settings}
    return eq.solve(PROBLEM, X, Y, attributes={"group": GROUP}, model=model, record_every=5, **settings)


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (NETWORK, {"theta_step": (0.3, 1.0), "lambda_step": 0.1, "n_rounds": 800, "step_rule": "plain"}),
        (TREES, {"theta_step": (0.1, 0.3), "lambda_step": 0.02, "n_rounds": 60, "surrogate": "logistic"}),
    ],
    ids=["network", "trees"],
)
def test_a_model_of_ones_own_beats_the_linear_one_where_the_truth_is_not_linear(model, settings):
    linear = solved("linear", n_rounds=300)
    own = solved(model, **settings).on(
        X, Y, attributes={"group": GROUP}
    )  # the network's remembered predictions are old ones
    assert own.status.feasible
    assert linear.status.feasible
    assert own.status.objective < linear.status.objective - 0.05
    classifier = own.polish()
    found = classifier.evaluate(PROBLEM, X, Y, attributes={"group": GROUP})
    assert found["objective"] == pytest.approx(own.status.objective)
    assert max(found["violations"]) <= 1e-3


def test_what_shards_see_adds_up_to_what_one_place_sees():
    settings = {"theta_step": (0.01, 0.1), "lambda_step": 0.05, "n_rounds": 120}
    together, apart = solved(Linear(), **settings), solved(SHARDS, **settings)
    np.testing.assert_allclose(apart.record.snapshots[-1], together.record.snapshots[-1], atol=1e-9)
    np.testing.assert_allclose(apart.columns.rates, together.columns.rates, atol=1e-12)
    np.testing.assert_allclose(apart.record.stacked("multipliers"), together.record.stacked("multipliers"), atol=1e-9)


def test_other_surrogates_and_losses_take_the_same_way_through_shards():
    problem = eq.Problem(eq.minimize(eq.error_rate() + 0.3 * eq.log_loss(A)), PROBLEM.constraints)
    runs = [
        eq.solve(
            problem, X, Y, attributes={"group": GROUP}, model=model, surrogate="logistic", n_rounds=60, record_every=5
        )
        for model in (Linear(), SHARDS)
    ]
    np.testing.assert_allclose(runs[0].columns.rates, runs[1].columns.rates, atol=1e-12)
    np.testing.assert_allclose(runs[0].columns.losses, runs[1].columns.losses, atol=1e-9)
    judged = runs[0].polish().evaluate(problem, X, Y, attributes={"group": GROUP})
    assert judged["objective"] == pytest.approx(runs[0].status.objective)


# -- the parts of the contract ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SURROGATES)
def test_curvature_bounds_the_change_of_the_slope(name):
    solution = solved(Linear(), n_rounds=1)
    cells = solution.play.table.cells
    batch = Batch(X, cells=cells, trained=cells, rows=slice(None))
    up = rng.random((len(cells), 3))
    down = -rng.random((len(cells), 3))
    asked = Asked(False, up, down, SURROGATES[name], {"log_loss": rng.random((len(cells), 3))})
    scores, h = 2 * rng.normal(size=(N, 3)), 1e-4
    change = (asked.slope(batch, scores + h) - asked.slope(batch, scores - h)) / (2 * h)
    smooth = np.abs(np.abs(scores) - 1) > 2 * h  # the hinge has corners there
    assert (np.abs(change) <= asked.curvature(batch, scores) * (1 + 1e-3) + 1e-9)[smooth].all()


def test_batches_cover_every_row_once_and_add_up():
    solution = solved(Linear(), n_rounds=1)
    rows = Rows.of(Sample(X, solution.play.table.examples), solution.play.table.cells)
    asked = Asked(False, np.ones((len(rows.cells), 2)), np.zeros((len(rows.cells), 2)), bounded=True, recorded=True)
    scores = rng.normal(size=(N, 2))
    whole = asked.seen(rows.batch(slice(None)), scores)
    for batches in (rows.batches(97), rows.batches(97, np.random.default_rng(0))):
        parts, places = [], []
        for batch in batches:
            parts.append(asked.seen(batch, scores[batch.rows]))
            places.append(np.arange(N)[batch.rows])
        np.testing.assert_array_equal(np.sort(np.concatenate(places)), np.arange(N))
        total = parts[0]
        for part in parts[1:]:
            total = total.plus(part)
        for one, other in zip(total.parts(), whole.parts(), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9)


def test_a_multiplier_player_of_ones_own_gets_the_step_it_was_given():
    seen = []

    class Own(MultiplierPlayer[Multipliers]):
        def start(self, table, count):
            return Multipliers(np.ones((table.program.n_multipliers, count)))

        def learn(self, state, table, rows, residual, rate, t):
            seen.append(rate.copy())
            return state

    algorithm = eq.algorithms.Algorithm("own", eq.algorithms.surrogate.slack, Own(), eq.algorithms.surrogate.model)
    solution = solved("linear", algorithm=algorithm, theta_step=0.1, lambda_step=(0.03, 0.07), n_rounds=3)
    assert [c["lambda_step"] for c in solution.configurations] == [0.03, 0.07]
    for rate in seen:
        np.testing.assert_array_equal(rate, [0.03, 0.07])


def test_a_run_that_is_resumed_goes_on_as_if_it_had_not_stopped():
    solution = solved(Linear(), n_rounds=1)
    rows = Rows.of(Sample(X, solution.play.table.examples), solution.play.table.cells)
    up = np.abs(rng.normal(size=(len(rows.cells), 2))) / N
    asked = Asked(False, up, -up[::-1])
    bind = lambda: Linear(standardise=True).bind(rows, 2, eq.algorithms.surrogate.model.step, [0, 1])  # noqa: E731
    rate = np.array([0.1, 0.2])
    whole, first, second = bind(), bind(), bind()
    for _ in range(7):
        whole.answer(asked)
        whole.advance(rate)
    for t in range(7):
        if t == 3:
            second.resume(first.state())
        one = first if t < 3 else second
        one.answer(asked)
        one.advance(rate)
    np.testing.assert_array_equal(second.snapshot(), whole.snapshot())
