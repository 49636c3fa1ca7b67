"""The master problem of column generation: columns in portions against all at once, and prices against both."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import equirate as eq
from equirate.data.examples import Examples
from equirate.mixtures import Master, Search, judged, polish_weights
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table

A, B = eq.attr("g") == 0, eq.attr("g") == 1
AFFINE = {
    "no constraint": eq.Problem(eq.minimize(eq.error_rate())),
    "parity": eq.Problem(eq.minimize(eq.error_rate()), eq.equal_opportunity("g", tolerance=0.01)),
    "several": eq.Problem(eq.maximize(eq.tpr()), [eq.fpr() <= 0.2, eq.positive_rate(A) <= eq.positive_rate(B) - 0.05]),
    "out of reach": eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr() >= 0.97, eq.fpr() <= 0.03]),
}
CONVEX = {
    "divergence": eq.Problem(eq.minimize(eq.kl_divergence(A) + eq.kl_divergence(B)), [eq.error_rate() <= 0.4]),
    "divergence as a limit": eq.Problem(eq.minimize(eq.error_rate()), [eq.kl_divergence(A, prior=0.7) <= 0.01]),
    "g-mean": eq.Problem(eq.maximize(eq.g_mean()), [eq.positive_rate() <= 0.4]),
    "worst group": eq.Problem(eq.minimize(eq.max(eq.fnr(A), eq.fnr(B), eq.fpr(A), eq.fpr(B)))),
}
RATIOS = {
    "f1": eq.Problem(eq.maximize(eq.f1())),
    "f1 at a precision": eq.Problem(eq.maximize(eq.f1()), [eq.precision() >= 0.6]),
    "f1, predictive parity": eq.Problem(eq.maximize(eq.f1()), eq.predictive_parity("g", tolerance=0.02)),
}
BOXES = {
    "black box": eq.Problem(
        eq.minimize(eq.black_box(lambda a, b: a**2 + 3 * b**2, eq.fpr(), eq.fnr(), increasing=True)),
        [eq.positive_rate() <= 0.4],
    )
}


class Columns:
    """Random classifiers on random rows, as the signed rows of a problem."""

    def __init__(self, problem: eq.Problem, seed: int, count: int = 40, n: int = 300) -> None:
        rng = np.random.default_rng(seed)
        y, g = rng.integers(0, 2, n), rng.integers(0, 2, n)
        X = rng.normal(size=(n, 2)) + 0.8 * y[:, None] + 0.4 * g[:, None]
        W, edges = rng.normal(size=(2, count)) + 0.7, rng.normal(size=count)
        examples = Examples.of(y, {"g": g})
        self.table = make_table(canonicalize(problem.expanded(examples)), examples)
        rates = self.table.rates(self.table.cells.sums(edges < X @ W))
        self.rows = self.table.rows_from_rates(rates, np.zeros((0, count)))

    def by_linprog(self) -> tuple[float, float]:
        """Least violation, and the least objective with it, where all is affine."""
        objective, constraints = self.rows[0], self.rows[1 : 1 + self.table.program.n_constraints]
        n, one = self.rows.shape[1], np.append(np.ones(self.rows.shape[1]), 0.0)[None]
        free = [(0, 1)] * n
        A = np.column_stack([constraints, -np.ones(len(constraints))])
        zero = np.zeros(len(constraints))
        least = linprog(np.eye(n + 1)[-1], A, zero, one, [1.0], [*free, (0, None)]).fun
        found = linprog(np.append(objective, 0.0), A, zero, one, [1.0], [*free, (0, least + 1e-9)])
        return float(least), float(found.fun)


def in_portions(columns: Columns, sizes: tuple[int, ...], solve_between: bool) -> Master:
    edges = np.cumsum((0, *sizes))
    master = Master(columns.table, columns.rows[:, : edges[1]])
    for a, b in itertools.pairwise(edges[1:]):
        if solve_between:
            master.best()
        master.add(columns.rows[:, a:b])
    return master


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", AFFINE)
def test_the_best_mixture_is_that_of_a_linear_programme(name: str, seed: int) -> None:
    columns = Columns(AFFINE[name], seed)
    violation, objective = columns.by_linprog()
    for sizes in ((40,), (3, 30, 7)):
        found = in_portions(columns, sizes, solve_between=True).best()
        assert found.violation == pytest.approx(violation, abs=1e-6)
        assert found.objective == pytest.approx(objective, abs=1e-5)
        assert found.bound == pytest.approx(objective, abs=1e-5)


@pytest.mark.parametrize("solve_between", [False, True])
@pytest.mark.parametrize("name", CONVEX)
def test_columns_in_portions_give_what_all_of_them_give(name: str, solve_between: bool) -> None:
    columns = Columns(CONVEX[name], 5)
    once = in_portions(columns, (40,), False).best()
    found = in_portions(columns, (1, 4, 20, 15), solve_between).best()
    assert found.violation == pytest.approx(once.violation, abs=1e-6)
    assert found.objective == pytest.approx(once.objective, abs=3e-5)
    independent = polish_weights(columns.table, columns.rows, np.full(40, 1 / 40))
    objective, violation = judged(columns.table, columns.rows @ independent.weights)
    assert found.violation == pytest.approx(violation, abs=1e-6)
    assert found.objective == pytest.approx(objective, abs=3e-5)
    assert found.bound <= found.objective + 1e-6
    assert found.bound >= found.objective - 1e-4


@pytest.mark.parametrize("name", RATIOS)
def test_ratios_in_portions_reach_the_global_optimum_here(name: str) -> None:
    columns = Columns(RATIOS[name], 2)
    best = polish_weights(columns.table, columns.rows, np.full(40, 1 / 40), search=Search(gap=1e-4, programmes=3000))
    objective, violation = judged(columns.table, columns.rows @ best.weights)
    found = in_portions(columns, (5, 20, 15), True).best()
    assert found.violation <= violation + 1e-5
    assert found.objective == pytest.approx(objective, abs=2e-3)
    assert found.bound is None


@pytest.mark.parametrize(
    ("problem", "close"),
    [
        *((problem, 1e-5) for problem in AFFINE.values()),
        *((problem, 1e-3) for problem in CONVEX.values()),
        *((problem, 1e-3) for problem in RATIOS.values()),
        *((problem, 3e-2) for problem in BOXES.values()),
    ],
    ids=[*AFFINE, *CONVEX, *RATIOS, *BOXES],
)
def test_at_the_prices_the_columns_of_the_mixture_are_the_cheapest(problem: eq.Problem, close: float) -> None:
    columns = Columns(problem, 1)
    master = in_portions(columns, (10, 30), True)
    found = master.best()
    for prices in found.prices:
        cost = prices @ columns.rows
        assert cost[found.weights > 1e-6] == pytest.approx(
            cost.min(), abs=close * max(1.0, float(np.abs(prices).max()))
        )


def test_prices_of_the_violation_come_first_where_there_is_one() -> None:
    broken = Master(*_given(AFFINE["out of reach"])).best()
    assert broken.violation > 0.05
    assert len(broken.prices) == 2
    assert [prices[0] for prices in broken.prices] == [0.0, 1.0]
    # The least violation is the price of the constraints at the cheapest column: linear programmes are dual.
    columns = Columns(AFFINE["out of reach"], 1)
    assert (broken.prices[0] @ columns.rows).min() == pytest.approx(broken.violation, abs=1e-6)
    assert broken.prices[0][1:].sum() == pytest.approx(1.0, abs=1e-6)
    kept = Master(*_given(AFFINE["several"])).best()
    assert kept.violation <= 1e-6
    assert [prices[0] for prices in kept.prices] == [1.0]


def test_a_column_that_costs_less_improves_the_mixture_and_no_other_does() -> None:
    columns = Columns(AFFINE["several"], 3)
    master = Master(columns.table, columns.rows[:, :8])
    before = master.best()
    cost = before.prices[0] @ columns.rows
    least = cost[:8].min()
    for k in range(8, 40):
        other = Master(columns.table, columns.rows[:, [*range(8), k]]).best()
        if cost[k] >= least - 1e-9:
            assert other.objective == pytest.approx(before.objective, abs=1e-6)
        assert other.objective >= before.objective + min(cost[k] - least, 0.0) - 1e-6  # no more than it costs less
    assert (cost[8:] < least - 1e-4).any()


def test_a_mixture_never_becomes_worse() -> None:
    for name, problem in {**CONVEX, **RATIOS, **BOXES}.items():
        columns = Columns(problem, 4)
        master = Master(columns.table, columns.rows[:, :2])
        values = [master.best().value]
        for a in range(2, 40, 6):
            master.add(columns.rows[:, a : a + 6])
            values.append(master.best().value)
        assert values == sorted(values, reverse=True), name


def _given(problem: eq.Problem) -> tuple:
    columns = Columns(problem, 1)
    return columns.table, columns.rows
