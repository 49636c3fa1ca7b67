"""However the rows are shared out, the classifier is the same; the same number of processes gives the same bits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import equirate as eq
from equirate._core.peers import ALONE, all_processes
from equirate.data.cells import Cells
from equirate.data.examples import Examples
from equirate.data.splits import split_by_cell
from equirate.models.design import Standard
from equirate.training.draws import _equal_others_of_all, rows_repeat

N = 2000
rng = np.random.default_rng(3)
GROUP = np.sort(np.where(rng.random(N) < 0.3, "a", "b"))  # sorted: some processes have no member of a group
X = rng.normal(size=(N, 5)) * [1, 2, 0.5, 1, 3] + [0, 1, 0, 5, 0]
X[rng.random(X.shape) < 0.3] = 0
Y = (X[:, 0] + 0.4 * X[:, 1] + 0.5 * (GROUP == "a") + 0.7 * rng.normal(size=N) > 0.6).astype(int)
OLD = (X[:, 0] > 0.2).astype(int)
WEIGHTS = rng.random(N) + 0.5
GAME = {"algorithm": "slack_ratios", "n_rounds": 100}
ENGINES = pytest.mark.parametrize("engine", [{}, GAME], ids=["column generation", "a game"])
PROBLEM = eq.Problem(eq.maximize(eq.f1()), eq.demographic_parity("group", tolerance=0.03))


def cut(size, unequal=False):
    edges = np.linspace(0, N, size + 1).astype(int)
    if unequal:
        edges[1:-1] = edges[1:-1] // 3
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def raised(found):
    for each in found:
        if isinstance(each, BaseException):
            raise each
    return found


def fitted(together, size, features=X, unequal=False, **settings):
    parts = cut(size, unequal)

    def work(rank):
        part = parts[rank]
        own = eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, **{"random_state": 0, **settings})
        own.fit(features[part], Y[part], sensitive_features={"group": GROUP[part]})
        return own, own.evaluate(features[part], Y[part], sensitive_features={"group": GROUP[part]})

    return raised(together(size, work))


def numbers(evaluation):
    flat = [evaluation.objective, evaluation.positive_rate, evaluation.low, evaluation.high]
    flat += [value for c in evaluation.constraints for value in (c.left, c.violation, c.low, c.high)]
    return np.array(flat + [s.predicted for s in evaluation.slices])


def differing(own, other, features=X):
    """Share of the rows that two mixtures do not decide alike."""
    return np.mean(np.abs(own.predict_pmf(features) - other.predict_pmf(features)) > 1e-4)


@ENGINES
@pytest.mark.parametrize(
    "kind", ["float32", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("float64", "sparse"))]
)
def test_any_number_of_processes_comes_to_the_same_classifier(together, kind, engine):
    features = sp.csr_array(X) if kind == "sparse" else X.astype(kind)
    (reference, value), *_ = fitted(together, 1, features, **engine)
    for size, unequal in ((2, False), (3, True), (4, False)):
        for own, found in fitted(together, size, features, unequal, **engine):
            assert differing(own, reference, features) <= 1e-4
            np.testing.assert_allclose(numbers(found), numbers(value), atol=1e-6)
            assert own.status_.objective == pytest.approx(reference.status_.objective, abs=1e-6)
            for part, evaluation in own.parts_.items():
                np.testing.assert_allclose(numbers(evaluation), numbers(reference.parts_[part]), atol=1e-6)


@pytest.mark.parametrize("width", [1, 310], ids=["one feature", "few rows for each feature"])
def test_few_and_many_features_over_processes(together, width):
    """One feature has its classifiers listed; with few rows for each feature, the ridge is chosen on all rows."""
    features = np.hstack([X, np.random.default_rng(0).normal(size=(N, 305))])[:, :width]
    settings = {"output": "stochastic"}  # one feature has rows that repeat, and processes judge mixtures alone
    (reference, value), *_ = fitted(together, 1, features, **settings)
    assert ("validation" in reference.parts_) == (width > 1)
    for size in (2, 3):
        for own, found in fitted(together, size, features, unequal=size == 3, **settings):
            assert differing(own, reference, features) <= 1e-4
            np.testing.assert_allclose(numbers(found), numbers(value), atol=1e-6)
            assert own.status_.bound_over == reference.status_.bound_over


@ENGINES
def test_one_process_among_others_is_a_process_by_itself(together, engine):
    """The numbers are those of all rows: the same that a fit without any processes comes to."""
    settings = {"scale": False, "output": "deterministic", **engine}
    (shared, value), *_ = fitted(together, 3, **settings)
    single = eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, random_state=0, **settings)
    single.fit(X, Y, sensitive_features={"group": GROUP})
    np.testing.assert_array_equal(shared.predict(X), single.predict(X))
    np.testing.assert_allclose(
        numbers(value), numbers(single.evaluate(X, Y, sensitive_features={"group": GROUP})), atol=1e-9
    )
    assert shared.salt_ == single.salt_


@ENGINES
def test_the_same_number_of_processes_twice_gives_the_same_bits(together, engine):
    first, second = (fitted(together, 3, unequal=True, **engine) for _ in range(2))
    for one, other in zip([*first, *first], [*second, *second[1:], second[0]], strict=True):
        np.testing.assert_array_equal(one[0].members_.W, other[0].members_.W)
        np.testing.assert_array_equal(one[0].weights_, other[0].weights_)
        assert one[1] == other[1]


@pytest.mark.filterwarnings("ignore:not certified")
@pytest.mark.parametrize(
    "settings",
    [
        {"two_sets": True},
        pytest.param({"confidence": 0.9}, marks=pytest.mark.slow),
        {"validation": 0},
        {"model": eq.models.Linear(penalty=0.01)},
        {"model": eq.models.Linear(intercept=False), "scale": False},
        {**GAME, "two_sets": True},
        pytest.param({**GAME, "confidence": 0.9}, marks=pytest.mark.slow),
        {**GAME, "validation": 0},
        {**GAME, "model": eq.models.Linear(penalty=0.01), "algorithm": "biconvex"},
    ],
    ids=str,
)
def test_every_way_to_fit_is_the_same_over_processes(together, settings):
    settings = {"output": "stochastic", **settings}  # some rows repeat, and processes judge mixtures alone
    (reference, value), *_ = fitted(together, 1, **settings)
    for own, found in fitted(together, 2, **settings):
        if "confidence" in settings:  # margins of ratios have local optima, and rounding may lead to another one
            assert own.status_.certified == reference.status_.certified
            np.testing.assert_allclose(numbers(found), numbers(value), atol=5e-3)
            continue
        assert differing(own, reference) <= 1e-4
        np.testing.assert_allclose(numbers(found), numbers(value), atol=1e-6)


def test_solve_with_weights_baselines_constants_losses_and_other_data(together):
    problem = eq.Problem(
        eq.minimize(eq.error_rate() + 0.1 * eq.log_loss(eq.attr("group") == "a") + 0.1 * eq.churn("old")),
        [eq.kl_divergence() <= 0.05, eq.wins("old") >= eq.losses("old")],
    )

    def solved(size):
        parts = cut(size)

        def work(rank):
            part = parts[rank]
            given = X[part], Y[part]
            people = {"group": GROUP[part], "old": OLD[part]}
            solution = eq.solve(
                problem, *given, attributes=people, sample_weight=WEIGHTS[part], n_rounds=60, surrogate="logistic"
            )
            mixture = solution.on(*given, attributes=people).polish()
            values = mixture.evaluate(problem, *given, attributes=people, sample_weight=WEIGHTS[part])
            return solution, values, solution.status, mixture

        return raised(together(size, work))

    ((one, value, status, mixture),) = solved(1)
    for other, found, reached, chosen in solved(3):
        np.testing.assert_allclose(other.columns.rates, one.columns.rates, atol=1e-9)
        np.testing.assert_allclose(other.columns.losses, one.columns.losses, atol=1e-9)
        np.testing.assert_allclose(found["violations"], value["violations"], atol=1e-7)
        assert found["objective"] == pytest.approx(value["objective"], abs=1e-7)
        assert reached.objective == pytest.approx(status.objective, abs=1e-7)
        assert chosen.chosen == mixture.chosen


@ENGINES
def test_weights_that_differ_between_processes_alone(together, engine):
    """Weights are the same within each process and differ between them: only together are they seen to differ."""
    weights = np.where(np.arange(N) < N // 2, 1.0, 3.0)

    def fit(size):
        parts = cut(size)

        def work(rank):
            part = parts[rank]
            own = eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, random_state=1, **engine)
            own.fit(X[part], Y[part], sensitive_features={"group": GROUP[part]}, sample_weight=weights[part])
            return own.evaluate(
                X[part], Y[part], sensitive_features={"group": GROUP[part]}, sample_weight=weights[part]
            )

        return raised(together(size, work))

    (one,) = fit(1)
    for other in fit(2):
        np.testing.assert_allclose(numbers(other), numbers(one), atol=1e-6)


def test_rows_are_split_as_if_they_were_in_one_place(together):
    slices = [eq.attr("group") == "a"]

    def parts_of(size):
        shards = cut(size, unequal=True)

        def work(rank):
            part = shards[rank]
            with all_processes() as shared:
                cells = Cells.of_examples(Examples.of(Y[part], {"group": GROUP[part]}), slices, [])
                first, total = shared.places(len(cells.index))
                assert total == N
                return cells, [first + rows for rows in split_by_cell(cells, (0.5, 0.3, 0.2), 7)]

        return raised(together(size, work))

    whole = Cells.of_examples(Examples.of(Y, {"group": GROUP}), slices, [])
    expected = split_by_cell(whole, (0.5, 0.3, 0.2), 7)
    for size in (1, 2, 4):
        found = parts_of(size)
        for k, part in enumerate(expected):
            np.testing.assert_array_equal(np.concatenate([parts[k] for _, parts in found]), part)
        for cells, _ in found:
            np.testing.assert_array_equal(cells.totals, whole.totals)
            np.testing.assert_array_equal(cells.labels, whole.labels)
            np.testing.assert_array_equal(cells.members[slices[0]], whole.members[slices[0]])
        np.testing.assert_array_equal(np.concatenate([cells.index for cells, _ in found]), whole.index)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_means_and_spreads_are_those_of_all_rows(together, make):
    whole = Standard.of(make(X), WEIGHTS, ALONE)

    def work(rank):
        part = cut(3, unequal=True)[rank]
        with all_processes() as shared:
            return Standard.of(make(X[part]), WEIGHTS[part], shared)

    for standard in raised(together(3, work)):
        np.testing.assert_allclose(standard.mean, whole.mean, rtol=1e-12)
        np.testing.assert_allclose(standard.spread, whole.spread, rtol=1e-12)


def test_without_a_seed_all_processes_draw_the_same_one(together):
    seeds = {own.seed_ for own, _ in fitted(together, 3, random_state=None)}
    assert len(seeds) == 1


def test_alone_a_process_counts_its_own_rows(together):
    from equirate.distributed import alone

    def work(rank):
        with alone():
            own = eq.RateClassifier(eq.minimize(eq.error_rate()), random_state=rank)
            part = cut(2)[rank]
            return own.fit(X[part], Y[part]).evaluate(X[part], Y[part]).slices[0].examples

    assert raised(together(2, work)) == [N // 2, N // 2]


DEPARTMENT = rng.integers(0, 12, N)
GENDER = np.where(rng.random(N) < 0.3 + 0.03 * DEPARTMENT, "a", "b")
ADMITTED = (rng.random(N) < 0.2 + 0.05 * DEPARTMENT).astype(int)


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_rows_that_repeat_over_processes_are_judged_as_they_are_served(together, confidence):
    features, order = np.eye(12)[DEPARTMENT], np.argsort(DEPARTMENT, kind="stable")  # some have all of a department

    def fit(rows):
        constraints = [eq.positive_rate() <= 0.3, *eq.demographic_parity("group", tolerance=0.2)]
        own = eq.RateClassifier(eq.maximize(eq.accuracy()), constraints, random_state=0, confidence=confidence)
        own.fit(features[rows], ADMITTED[rows], sensitive_features={"group": GENDER[rows]})
        return own, own.evaluate(features[rows], ADMITTED[rows], sensitive_features={"group": GENDER[rows]})

    single, expected = fit(order)
    found = raised(together(3, lambda rank: fit(order[cut(3)[rank]])))
    for own, value in found:
        assert "the decisions that predict(X) returns" in own.status_.speaks_of
        assert own.salt_ == single.salt_
        np.testing.assert_array_equal(own.predict(features), single.predict(features))
        np.testing.assert_allclose(numbers(value), numbers(expected), atol=1e-9)
        if confidence is not None:
            assert own.certification_.certified
            assert own.certification_.examples == single.certification_.examples
    assert expected.positive_rate == pytest.approx(single.predict(features).mean())


def test_rows_that_are_equal_on_different_processes_alone_repeat(together):
    def work(rank, hashes):
        with all_processes() as shared:
            return rows_repeat(hashes(rank), shared=shared)

    same, different = np.arange(500, dtype=np.uint64), np.arange(1500, dtype=np.uint64)
    assert raised(together(3, lambda rank: work(rank, lambda _: same))) == [True] * 3
    assert raised(together(3, lambda rank: work(rank, lambda rank: different[rank::3]))) == [False] * 3


def test_of_very_many_rows_the_frequent_and_a_sample_are_compared(together):
    drawn = np.random.default_rng(0)
    values = [drawn.integers(0, 40_000, 20_000).astype(np.uint64) for _ in range(3)]  # about one equal other row each
    values = [np.append(each, np.full(50, 2**40 + 1, dtype=np.uint64)) for each in values]
    counts = np.unique(np.concatenate(values), return_counts=True)[1]
    exact = (counts * (counts - 1)).sum() / counts.sum()

    def work(rank, most):
        with all_processes() as shared:
            return _equal_others_of_all(values[rank], np.ones(len(values[rank])), shared, most)

    assert raised(together(3, lambda rank: work(rank, 200_000))) == pytest.approx([exact] * 3)
    sampled = raised(together(3, lambda rank: work(rank, 3000)))
    assert sampled == pytest.approx([exact] * 3, rel=0.1)
    assert len(set(sampled)) == 1
