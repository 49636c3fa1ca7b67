"""Shrinking, ranking and polishing against independent solutions of the same small programmes."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog, minimize

import equirate as eq
from equirate.data.examples import Examples
from equirate.mixtures import best_index, polish_weights, ratios, shrink_weights, shrinking, values
from equirate.mixtures.linear import solve_over_simplex
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table

G = eq.attr("g") == 1


# -- shrink ---------------------------------------------------------------------------------------


@st.composite
def linear_instances(draw):
    seed, n, J = draw(st.integers(0, 10**6)), draw(st.integers(1, 9)), draw(st.integers(0, 3))
    rng = np.random.default_rng(seed)
    objective, violations = rng.normal(size=n), rng.normal(draw(st.sampled_from([-0.5, 0.0, 0.8])), 0.5, (J, n))
    if draw(st.booleans()):  # ties and repeated iterates
        objective, violations = objective.round(), violations.round()
    return objective, violations


def vertices(violations, level):
    """Every basic mixture of at most J + 1 iterates whose tight rows are at ``level``: brute force over bases."""
    J, n = violations.shape
    for size in range(1, min(J + 1, n) + 1):
        for support in itertools.combinations(range(n), size):
            for tight in itertools.combinations(range(J), size - 1):
                A = np.vstack([np.ones(size), violations[np.ix_(tight, support)]])
                if np.linalg.cond(A) > 1e9:
                    continue
                part = np.linalg.solve(A, np.concatenate([[1.0], np.full(size - 1, level)]))
                if (part >= -1e-12).all():
                    mu = np.zeros(n)
                    mu[list(support)] = part
                    yield mu


def smallest_violation(violations):
    """The value of the matrix game max_j min_mu, from its dual: the best mixture of the rows."""
    J, n = violations.shape
    if not J:
        return 0.0
    result = linprog(
        np.append(np.zeros(J), -1.0),
        A_ub=np.hstack([-violations.T, np.ones((n, 1))]),
        b_ub=np.zeros(n),
        A_eq=np.append(np.ones(J), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * J + [(None, None)],
    )
    return max(-result.fun, 0.0)


@given(linear_instances())
@settings(max_examples=150)
def test_shrinking_is_the_best_basic_mixture(instance):
    objective, violations = instance
    result = shrink_weights(objective, violations)
    level = smallest_violation(violations)
    assert result.weights.min() >= 0
    assert result.weights.sum() == pytest.approx(1)
    assert np.count_nonzero(result.weights) <= len(violations) + 1
    assert result.smallest_violation == pytest.approx(level, abs=1e-7)
    assert (violations @ result.weights).max(initial=0.0) <= level + 1e-7
    others = [mu for mu in vertices(violations, level) if (violations @ mu <= level + 1e-9).all()]
    if others:  # where the level is not attained to the last digit, brute force may find no vertex
        assert objective @ result.weights <= min(objective @ mu for mu in others) + 1e-6


def test_shrinking_leaves_out_iterates_that_are_not_finite():
    objective = np.array([np.nan, 0.3, -5.0, np.inf])
    violations = np.array([[0.0, -0.1, np.nan, -1.0]])
    np.testing.assert_array_equal(shrink_weights(objective, violations).weights, [0, 1, 0, 0])
    # Each alone may be infinite (a divergence where all are predicted alike), and a mixture not.
    np.testing.assert_array_equal(shrink_weights(np.array([np.inf, np.inf]), np.zeros((1, 2))).weights, [0.5, 0.5])


def test_shrinking_without_any_finite_iterate_knows_no_average_violation():
    all_infinite = shrink_weights(np.zeros(3), np.array([[np.inf, np.inf, np.nan], [-1.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(all_infinite.weights, [0.5, 0.5, 0])
    assert all_infinite.smallest_violation == np.inf
    some = shrink_weights(np.full(3, np.inf), np.array([[np.inf, 0.25, 0.75]]))
    np.testing.assert_array_equal(some.weights, [0, 0.5, 0.5])
    assert some.smallest_violation == pytest.approx(0.25)
    np.testing.assert_array_equal(shrink_weights(np.full(2, np.nan), np.zeros((0, 2))).weights, [0.5, 0.5])


# -- best -----------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(0, 3))
def test_ranking_is_the_naive_heuristic(seed, n, J):
    rng = np.random.default_rng(seed)
    objective, violations = rng.integers(0, 4, n) / 4, rng.integers(-2, 3, (J, n)) / 4
    worst = [max([0.0, *violations[:, t]]) for t in range(n)]
    larger = [
        max(sum(other < objective[t] for other in objective), sum(other < worst[t] for other in worst))
        for t in range(n)
    ]
    chosen = best_index(objective, violations)
    assert larger[chosen] == min(larger)
    assert objective[chosen] == min(objective[t] for t in range(n) if larger[t] == min(larger))


# -- polish ---------------------------------------------------------------------------------------


class Instance:
    """A problem on random data, with random deterministic classifiers as the iterates."""

    def __init__(self, problem, seed, count, quality=0.7, n=120):
        rng = np.random.default_rng(seed)
        self.y = (rng.random(n) < 0.4).astype(int)
        self.y[:2] = 0, 1
        g = (rng.random(n) < 0.5).astype(int)
        g[:4] = 0, 1, 1, 0
        self.attributes = {"g": g}
        shares = rng.uniform(0.05, 0.95, size=(2, 2, count))
        shares[1] = quality * shares[1] + (1 - quality) * np.sqrt(shares[1])
        self.decided = rng.random((n, count)) < shares[self.y, g]
        examples = Examples.of(self.y, self.attributes)
        self.problem = problem.expanded(examples)
        self.table = make_table(canonicalize(self.problem), examples)
        self.rates = self.table.rates(self.table.cells.sums(self.decided))
        m = self.table.program.n_multipliers
        self.rows = self.table.rows_constant[:m, None] + (self.table.rows_of_rates @ self.rates)[:m]
        self.count = count

    def value(self, mu):
        """Objective and largest violation of mixtures (columns), from the user's own expressions."""
        mu = np.asarray(mu, dtype=float).reshape(self.count, -1)
        objective, violations = values(self.table, self.rates @ mu)
        return objective, np.maximum(violations, 0).max(axis=0, initial=0.0)

    def shrunk(self):
        objective, violations = values(self.table, self.rates)
        return shrink_weights(objective, violations)

    def polished(self, start=None):
        return polish_weights(self.table, self.rows, self.shrunk().weights if start is None else start)

    def slsqp(self, least_violation=False):
        """The best objective, or the smallest violation there is, with scipy: variables mu and the violation v."""
        n, best = self.count, np.inf
        constraints = [{"type": "eq", "fun": lambda x: x[:n].sum() - 1}]
        if self.problem.constraints:
            constraints.append({"type": "ineq", "fun": lambda x: x[n] - self.violations(x[:n])})
        for start in [np.full(n, 1 / n), *np.eye(n)[:3]]:
            start = 0.9 * start + 0.1 / n
            found = minimize(
                (lambda x: x[n]) if least_violation else (lambda x: self.objective(x[:n])),
                np.append(start, self.violation(start) if least_violation else 0.0),
                bounds=[(0, 1)] * n + [(0, 1 if least_violation else 0)],
                constraints=constraints, method="SLSQP", options={"maxiter": 500, "ftol": 1e-12},
            )  # fmt: skip
            mu = np.clip(found.x[:n], 0, 1) / np.clip(found.x[:n], 0, 1).sum()
            if least_violation:
                best = min(best, self.violation(mu))
            elif self.violation(mu) <= 1e-7:
                best = min(best, self.objective(mu))
        return best

    def objective(self, mu):
        return float(self.value(mu)[0][0])

    def violations(self, mu):
        mu = np.asarray(mu, dtype=float).reshape(self.count, 1)
        return values(self.table, self.rates @ mu)[1][:, 0]

    def violation(self, mu):
        return float(self.value(mu)[1][0])


CONVEX = {
    "kld of a group": eq.Problem(eq.minimize(eq.kl_divergence(G)), [eq.error_rate() <= 0.5]),
    "sum of klds": eq.Problem(eq.minimize(eq.kl_divergence(G) + eq.kl_divergence(~G))),
    "g-mean": eq.Problem(eq.maximize(eq.g_mean()), [eq.positive_rate(G) <= 0.45]),
    "h-mean and parity": eq.Problem(eq.maximize(eq.h_mean()), eq.demographic_parity(eq.attr("g"), tolerance=0.1)),
    "q-mean": eq.Problem(eq.maximize(eq.q_mean()), [eq.fpr() <= 0.4]),
    "kld as a constraint": eq.Problem(eq.minimize(eq.error_rate()), [eq.kl_divergence(G) <= 0.01]),
    "two atoms in constraints": eq.Problem(
        eq.maximize(eq.tpr()), [eq.g_mean() >= 0.45, eq.square(eq.fpr(G) - eq.fpr(~G)) <= 0.01]
    ),
    "nested": eq.Problem(eq.minimize(eq.square(eq.max(eq.fpr(), eq.fnr()))), [eq.norm(eq.fpr(G), eq.fnr(G)) <= 0.9]),
    "largest error": eq.Problem(eq.minimize(eq.max(eq.error_rate(G), eq.error_rate(~G)))),
}


@pytest.mark.parametrize("name", CONVEX)
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_polishing_a_convex_problem_is_exact(name, seed):
    case = Instance(CONVEX[name], seed, count=7)
    result = case.polished()
    objective, violation = case.objective(result.weights), case.violation(result.weights)
    if result.smallest_violation:
        least = case.slsqp(least_violation=True)
        assert violation <= least + 1e-5
        assert result.smallest_violation == pytest.approx(violation, abs=1e-5)
    else:
        assert violation <= 1e-5
        assert objective == pytest.approx(case.slsqp(), abs=1e-5)
    assert np.count_nonzero(result.weights) <= len(case.rows) + 1


@pytest.mark.parametrize("name", CONVEX)
def test_no_mixture_beats_the_polished_one(name):
    case = Instance(CONVEX[name], 11, count=30)
    result = case.polished()
    rng = np.random.default_rng(0)
    tried = np.hstack([rng.dirichlet(np.full(30, a), 3000).T for a in (0.03, 0.1, 0.5)])
    objective, violation = case.value(tried)
    assert violation.min() >= case.violation(result.weights) - 1e-5 or case.violation(result.weights) <= 1e-5
    room = max(case.violation(result.weights), 0.0)
    kept = violation <= room
    assert not kept.any() or objective[kept].min() >= case.objective(result.weights) - 1e-5
    shrunk = case.shrunk()
    if not shrunk.smallest_violation:
        assert case.objective(result.weights) <= case.objective(shrunk.weights) + 1e-6
    assert result.weights.min() >= 0
    assert result.weights.sum() == pytest.approx(1)
    assert np.count_nonzero(result.weights) <= len(case.rows) + 1


def test_an_infeasible_problem_is_polished_to_the_smallest_violation_first():
    problem = eq.Problem(eq.minimize(eq.kl_divergence(G)), [eq.error_rate() <= 0.02, eq.kl_divergence(~G) <= 1e-4])
    case = Instance(problem, 3, count=6)
    result = case.polished()
    least = case.slsqp(least_violation=True)
    assert result.smallest_violation == pytest.approx(least, abs=1e-5)
    assert case.violation(result.weights) == pytest.approx(least, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_columns_are_generated_without_loss(seed):
    """Thousands of iterates, every one a vertex, few of them active: the same value as with all of them."""
    limits = [eq.tpr(G) >= 0.6, eq.tpr(~G) >= 0.6, eq.fpr(G) <= 0.4, eq.fpr(~G) <= 0.42, eq.positive_rate(G) <= 0.45]
    case = Instance(eq.Problem(eq.minimize(eq.error_rate()), limits), seed, count=4)
    rows = np.random.default_rng(seed).normal(size=(6, 4000))
    rows = 0.3 * rows / np.linalg.norm(rows, axis=0)  # points on a sphere
    rows[1:] += 0.08
    result = polish_weights(case.table, rows, np.eye(1, 4000)[0])
    full = linprog(rows[0], A_ub=rows[1:], b_ub=np.zeros(5), A_eq=np.ones((1, 4000)), b_eq=[1.0], method="highs-ipm")
    assert full.status == 0
    assert rows[0] @ result.weights == pytest.approx(full.fun, abs=1e-6)
    assert (rows[1:] @ result.weights).max() <= 1e-6
    assert 1 < np.count_nonzero(result.weights) <= 7


RATIOS = {
    "max f1": eq.Problem(eq.maximize(eq.f1())),
    "max f1 at a precision": eq.Problem(eq.maximize(eq.f1()), [eq.precision() >= 0.45]),
    "precision parity": eq.Problem(eq.minimize(eq.error_rate()), [eq.precision(G) >= eq.precision(~G) - 0.02]),
    "f1 parity": eq.Problem(eq.maximize(eq.f1()), [eq.f1(G) >= eq.f1(~G) - 0.01, eq.f1(G) <= eq.f1(~G) + 0.01]),
}


def pairs(case, points=401):
    """Brute force: the best mixture of two iterates in the order of violation, then objective."""
    share = np.linspace(0, 1, points)
    best = (np.inf, np.inf)
    for a, b in itertools.combinations(range(case.count), 2):
        mu = np.zeros((case.count, points))
        mu[a], mu[b] = share, 1 - share
        objective, violation = case.value(mu)
        violation = np.where(violation <= 1e-6, 0.0, violation)
        k = np.lexsort((objective, violation))[0]
        best = min(best, (violation[k], objective[k]))
    return best


@pytest.mark.parametrize("name", RATIOS)
@pytest.mark.parametrize("seed", range(4))
def test_ratios_reach_the_best_pair_of_iterates(name, seed):
    case = Instance(RATIOS[name], seed, count=10)
    solution = as_solution(case)
    polished = solution.polish()
    objective, violation = solution.value_of(polished)
    minimised = -objective if case.problem.objective.sense == "maximize" else objective
    least, truth = pairs(case)
    assert max(violation, 0) <= least + 1e-5
    if least == 0:
        assert minimised <= truth + 1e-5
    for other in (solution.shrink(), solution.best()):
        worth, broken = solution.value_of(other)
        worth = -worth if case.problem.objective.sense == "maximize" else worth
        assert (max(violation, 0), minimised) <= (max(broken, 0) + 2e-6, np.inf)
        if max(broken, 0) <= max(violation, 0):
            assert minimised <= worth + 1e-9
    assert len(polished.members) <= len(case.rows) + 1


def as_solution(case, algorithm="slack_ratios"):
    """A game whose iterates are the classifiers of an instance: a finite list, each recorded once."""
    model = [column.astype(int) for column in case.decided.T]
    solution = eq.solve(
        case.problem, np.zeros((len(case.y), 1)), case.y, attributes=case.attributes, algorithm=algorithm, model=model,
        n_rounds=case.count, lambda_step=0.1,
    )  # fmt: skip
    for t in range(case.count):
        solution.snapshots[t][:] = t
    return replace(solution, columns=solution.columns.measured(case.rates))


def test_a_problem_played_in_biconvex_form_is_polished_too():
    case = Instance(RATIOS["max f1"], 0, count=10)
    solution = as_solution(case, "biconvex")
    assert solution.value_of(solution.polish())[0] == pytest.approx(-pairs(case)[1], abs=1e-5)


# -- degenerate input -----------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [*CONVEX.values(), *RATIOS.values()], ids=[*CONVEX, *RATIOS])
def test_degenerate_iterates_do_not_break_polishing(problem):
    for columns in (
        np.zeros((120, 1), dtype=bool),  # the one iterate says 0 to everybody: atoms at the ends of their domains
        np.ones((120, 3), dtype=bool),
        np.repeat(np.random.default_rng(0).random((120, 1)) < 0.5, 5, axis=1),
    ):
        case = Instance(problem, 1, count=columns.shape[1])
        case.rates = case.table.rates(case.table.cells.sums(columns))
        m = len(case.rows)
        case.rows = case.table.rows_constant[:m, None] + (case.table.rows_of_rates @ case.rates)[:m]
        start = np.full(case.count, 1 / case.count)
        result = case.polished(start)
        assert result.weights.sum() == pytest.approx(1)
        assert result.weights.min() >= 0


def test_rows_that_are_not_finite_are_left_out():
    case = Instance(CONVEX["g-mean"], 2, count=8)
    case.rows[1, 3] = np.nan
    case.rows[0, 5] = np.inf
    result = case.polished(np.full(8, 1 / 8))
    assert result.weights[[3, 5]].tolist() == [0, 0]
    assert case.polished(np.eye(1, 8, 3)[0]) is None


def test_a_box_of_no_width():
    """Everybody of the slice has the same label and the constraint is met by all: nothing to choose between."""
    n = 40
    y = np.repeat([0, 1], n // 2)
    problem = eq.Problem(eq.minimize(eq.norm(eq.fp(eq.attr("a") == 1), 0.5 * eq.error_rate())))
    examples = Examples.of(y, {"a": y})
    table = make_table(canonicalize(problem), examples)
    assert (table.lo == table.hi).any()
    decided = np.random.default_rng(0).random((n, 6)) < 0.5
    rates = table.rates(table.cells.sums(decided))
    m = table.program.n_multipliers
    rows = table.rows_constant[:m, None] + (table.rows_of_rates @ rates)[:m]
    result = polish_weights(table, rows, np.full(6, 1 / 6))
    error = 0.5 * (decided != y[:, None].astype(bool)).mean(0)
    assert error @ result.weights == pytest.approx(error.min(), abs=1e-6)


def test_black_boxes_beside_other_atoms_are_not_polished():
    box = eq.black_box(lambda a, b: a * a + b, eq.fpr(), eq.fnr(), increasing=True)
    assert Instance(eq.Problem(eq.minimize(box)), 0, count=5).polished() is not None
    assert Instance(eq.Problem(eq.minimize(box + eq.square(eq.fpr()))), 0, count=5).polished() is None


DIVERGENCES = {
    "objective": eq.Problem(eq.minimize(eq.kl_divergence(G)), [eq.error_rate() <= 0.55]),
    "constraint": eq.Problem(eq.minimize(eq.error_rate()), [eq.kl_divergence(G) <= 0.01]),
    "both": eq.Problem(eq.minimize(eq.kl_divergence()), [eq.kl_divergence(~G) <= 0.01, eq.error_rate() <= 0.6]),
}


@pytest.mark.parametrize("name", DIVERGENCES)
@pytest.mark.parametrize("algorithm", ["column_generation", "oracle"])
def test_classifiers_that_say_one_thing_to_everybody_are_mixed(name, algorithm):
    """Every iterate alone has an infinite divergence; the best mixture has none to speak of."""
    rng = np.random.default_rng(0)
    y, g = (rng.random(200) < 0.4).astype(int), rng.integers(0, 2, 200)
    model = [np.zeros(200, dtype=int), np.ones(200, dtype=int)]
    problem = DIVERGENCES[name]
    solution = eq.solve(
        problem, np.zeros((200, 1)), y, attributes={"g": g}, model=model, algorithm=algorithm, n_rounds=20
    )
    objective, violation = solution.value_of(solution.polish())
    asked = [problem.objective.expr, *(part.residual for part in problem.constraints)]
    tried = np.array(
        [
            [part.evaluate(y, np.full(200, share), attributes={"g": g}) for part in asked]
            for share in np.linspace(0.005, 0.995, 199)
        ]
    )
    assert violation <= 1e-6
    assert objective <= tried[(tried[:, 1:] <= 0).all(axis=1), 0].min() + 1e-6
    assert solution.status.feasible


def test_one_classifier_that_says_one_thing_to_everybody_is_said_to_fail():
    rng = np.random.default_rng(0)
    y, g = (rng.random(200) < 0.4).astype(int), rng.integers(0, 2, 200)
    solution = eq.solve(
        DIVERGENCES["constraint"], np.zeros((200, 1)), y, attributes={"g": g}, model=[np.zeros(200, dtype=int)],
        algorithm="column_generation",
    )  # fmt: skip
    assert not solution.status.feasible
    assert solution.status.violation == np.inf
    assert solution.status.smallest_violation > 1


class Judged:
    """Columns of which only the violation is known: that of the second one."""

    def judge(self, mu):
        return 0.0, float(mu[1])


@pytest.mark.parametrize("enough", [10.0, 1e3, 1e5])
def test_a_violation_is_priced_higher_until_it_goes(monkeypatch, enough):
    prices = []

    def descend(columns, mu, penalty, rounds, tolerance):
        prices.append(penalty)
        return np.array([1.0, 0.0]) if penalty >= enough else np.array([0.0, 1.0])

    monkeypatch.setattr(ratios, "descend", descend)
    found = ratios.local(Judged(), np.array([0.5, 0.5]), 10, 1e-6)
    assert found.tolist() == [1.0, 0.0]
    assert prices[-1] == enough  # and no further
    assert prices == sorted(prices)


@pytest.mark.parametrize("seed", range(20))
def test_columns_that_make_a_programme_possible_join_whatever_the_rounding(seed: int) -> None:
    """Two columns to begin with, both on the edge of the certificate that they are not enough: others must join."""
    rng = np.random.default_rng(seed)
    violations = np.array([[0.8, -0.1], [-0.2, 0.7]])
    inner = rng.uniform(0.0, 0.2, (2, 4))
    columns = np.concatenate([violations, inner], axis=1)
    limits = np.full(2, inner.max() + 1e-12)
    for order in ("C", "F"):
        found = solve_over_simplex(rng.random(6), np.array(columns, order=order), limits)  # type: ignore[call-overload]
        assert found is not None
        assert (columns @ found.weights <= limits + 1e-9).all()


def test_a_programme_that_fails_leaves_the_mixture_with_the_smallest_violation(monkeypatch):
    monkeypatch.setattr(shrinking, "solve_over_simplex", lambda *_: None)
    violations = np.array([[0.4, -0.2, 0.5], [-0.2, 0.4, 0.5]])
    found = shrinking.shrink_weights(np.array([0.1, 0.2, 0.0]), violations)
    assert (violations @ found.weights).max() == pytest.approx(found.smallest_violation)
    assert found.smallest_violation == pytest.approx(0.1)
