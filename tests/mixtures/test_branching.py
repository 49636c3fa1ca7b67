"""Ratios over mixtures: the global optimum against fine grids over the simplex of a few columns."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st

import equirate as eq
from equirate.data.examples import Examples
from equirate.game.solution import PROGRAMMES
from equirate.mixtures import Search, polish_weights, shrink_weights, values
from equirate.mixtures.branching import root_box
from equirate.mixtures.programme import Box, MixtureProgramme
from equirate.mixtures.tightening import tighten
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table

G, H = eq.attr("g") == 1, eq.attr("h") == 1
FINE = Search(gap=1e-4, programmes=20_000)


def parity(left, right, tolerance):
    return [left >= right - tolerance, left <= right + tolerance]


PROBLEMS = {
    "one": eq.Problem(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.4, eq.tpr(G) >= eq.tpr(~G) - 0.05]),
    "one beside a convex limit": eq.Problem(eq.maximize(eq.f1()), [eq.kl_divergence(G) <= 0.02]),
    "one among affine terms": eq.Problem(eq.minimize(eq.fnr() - eq.precision())),
    "two in constraints": eq.Problem(eq.minimize(eq.error_rate()), parity(eq.precision(G), eq.precision(~G), 0.02)),
    "two in the objective": eq.Problem(eq.maximize(eq.precision(G) - eq.precision(~G))),
    "three": eq.Problem(eq.maximize(eq.f1()), parity(eq.f1(G), eq.f1(~G), 0.01)),
    "four beside a convex limit": eq.Problem(
        eq.maximize(eq.f1(G) + eq.f1(~G)), [*parity(eq.npv(G), eq.npv(~G), 0.02), eq.g_mean() >= 0.5]
    ),
}


class Case:
    """A problem on random data with a few random classifiers as columns."""

    def __init__(self, problem, seed, count, n=120):
        rng = np.random.default_rng(seed)
        y, g, h = ((rng.random(n) < share).astype(int) for share in (0.4, 0.5, 0.5))
        y[:8], g[:8], h[:8] = np.array(list(itertools.product([0, 1], repeat=3))).T
        decided = rng.random((n, count)) < rng.uniform(0.05, 0.95, (2, 2, 2, count))[y, g, h]
        examples = Examples.of(y, {"g": g, "h": h})
        self.problem = problem.expanded(examples)
        self.table = make_table(canonicalize(self.problem), examples)
        self.use(decided)

    def use(self, decided):
        self.rates = self.table.rates(self.table.cells.sums(decided))
        self.count = decided.shape[1]
        self.rows = self.table.rows_from_rates(self.rates, np.zeros((0, self.count)))

    def value(self, mu):
        """Objective and largest violation of mixtures (columns), from the user's own expressions."""
        mu = np.asarray(mu, dtype=float).reshape(self.count, -1)
        objective, violations = values(self.table, self.rates @ mu)
        return objective, np.maximum(violations, 0).max(axis=0, initial=0.0)

    def polished(self, search):
        objective, violations = values(self.table, self.rates)
        return polish_weights(self.table, self.rows, shrink_weights(objective, violations).weights, search=search)


def simplex(count):
    """A fine grid of mixtures."""
    steps = {2: 3000, 3: 120, 4: 36}[count]
    found = [part for part in itertools.product(range(steps + 1), repeat=count - 1) if sum(part) <= steps]
    parts = np.array(found) / steps
    return np.column_stack([parts, 1 - parts.sum(axis=1)]).T


GRIDS = {count: simplex(count) for count in (2, 3, 4)}


@pytest.mark.parametrize("name", PROBLEMS)
@given(st.integers(0, 10**6), st.sampled_from([2, 3, 4]))
@example(5622, 2)  # a search for the smallest violation that ended within the gap of the objective
@settings(max_examples=12, deadline=None)
def test_no_mixture_on_a_fine_grid_is_better_and_none_is_below_the_bound(name, seed, count):
    case = Case(PROBLEMS[name], seed, count)
    result = case.polished(FINE)
    objective, violation = (float(part[0]) for part in case.value(result.weights))
    tried, broken = case.value(GRIDS[count])
    kept = (broken <= 1e-7) & np.isfinite(tried)
    if kept.any():
        best = tried[kept].min()
        assert violation <= 2e-6
        assert objective <= best + 1.1e-4
        assert result.bound <= best + 1e-6
        assert objective - result.bound <= 1.1e-4
    else:  # perhaps between the points of the grid
        least = np.nanmin(broken)
        assert result.violation_bound <= least + 1e-6
        assert violation <= least + 1e-3


@pytest.mark.parametrize(("seed", "gain"), [(30, 0.04), (1, 3e-4), (0, 0.0)])
def test_a_local_optimum_is_left(seed, gain):
    """Seldom is there anything to gain; here is some."""
    case = Case(PROBLEMS["two in the objective"], seed, 20)
    local, found = (case.polished(search) for search in (None, Search(programmes=2000)))
    before, after = (float(case.value(result.weights)[0][0]) for result in (local, found))
    assert local.bound is None
    assert after <= before - gain + 1e-9
    assert after - found.bound <= 1.001e-3


def test_an_infeasible_problem_is_proven_to_be():
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.precision(G) >= eq.precision(~G) + 0.9])
    case = Case(problem, 0, 3)
    result = case.polished(FINE)
    assert 0.1 < result.violation_bound <= result.smallest_violation
    assert result.smallest_violation - result.violation_bound <= 1.1e-4
    assert result.smallest_violation == pytest.approx(case.value(GRIDS[3])[1].min(), abs=2e-3)


def test_a_search_that_ends_early_has_a_bound_that_holds():
    case = Case(PROBLEMS["four beside a convex limit"], 3, 40)
    bounds = [case.polished(Search(gap=1e-4, programmes=most)).bound for most in (1, 30, 300, 3000)]
    best = float(case.value(case.polished(Search(gap=1e-4, programmes=3000)).weights)[0][0])
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1] <= best


def test_a_time_limit_ends_the_search(monkeypatch):
    case = Case(PROBLEMS["four beside a convex limit"], 3, 40)
    clock = itertools.count()
    monkeypatch.setattr("equirate.mixtures.branching.time.perf_counter", lambda: float(next(clock)))
    short, long = (case.polished(Search(gap=1e-4, time_limit=limit)) for limit in (3.0, 1000.0))
    assert short.bound < long.bound


def test_more_ratios_than_are_searched_have_the_bound_of_the_relaxation(monkeypatch):
    monkeypatch.setattr("equirate.mixtures.branching.MOST_RATIOS", 5)
    four = [eq.precision(a & b) for a in (G, ~G) for b in (H, ~H)]
    problem = eq.Problem(eq.maximize(eq.f1()), [part >= eq.precision() - 0.1 for part in four])
    case = Case(problem, 1, 30, n=400)
    columns = MixtureProgramme(case.table, case.rows, [], np.full(30, 1 / 30))
    assert len(columns.ratios) == 6
    result = case.polished(Search())
    objective, violation = (float(part[0]) for part in case.value(result.weights))
    tried, broken = case.value(np.random.default_rng(0).dirichlet(np.full(30, 0.1), 20_000).T)
    assert violation <= 1e-6
    assert result.bound <= objective <= tried[broken <= 0].min() + 1e-6


def mean_f1(groups, count=60, seed=0):
    """Mean F1 of many slices over columns that predict each slice more or less often."""
    rng = np.random.default_rng(seed)
    y, g = np.tile([0, 0, 1], 10 * groups), np.repeat(np.arange(groups), 30)
    score = rng.normal(size=len(y)) + 1.2 * y
    decided = score[:, None] + 0.3 * rng.normal(size=(groups, count))[g] + rng.normal(size=count) > 0.5
    examples = Examples.of(y, {"g": g})
    problem = eq.Problem(eq.maximize(sum(eq.f1(eq.attr("g") == k) for k in range(groups)) / groups))
    case = Case.__new__(Case)
    case.table = make_table(canonicalize(problem.expanded(examples)), examples)
    case.use(decided)
    return case


@pytest.mark.parametrize("groups", [6, 10, 16])
def test_the_mean_f1_of_many_slices_is_proven_within_the_programmes_of_a_fit(groups):
    case = mean_f1(groups)
    result = case.polished(Search(gap=1e-3, programmes=PROGRAMMES))
    objective = float(case.value(result.weights)[0][0])
    assert objective - result.bound <= 1e-3
    tried, _ = case.value(np.random.default_rng(1).dirichlet(np.full(case.count, 0.05), 5000).T)
    assert result.bound <= objective <= tried.min() + 1e-3


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("groups", [5, 9])
def test_many_ratios_of_few_columns_have_the_optimum_of_a_fine_grid(groups, seed):
    case = mean_f1(groups, count=3, seed=seed)
    result = case.polished(FINE)
    best = float(case.value(GRIDS[3])[0].min())
    objective = float(case.value(result.weights)[0][0])
    assert objective <= best + 1e-4
    assert objective - 1e-4 <= result.bound <= best + 1e-7


# -- tightening ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two in constraints", "two in the objective", "three", "four beside a convex limit"])
@given(st.integers(0, 10**6), st.floats(0.0, 1.0))
@settings(max_examples=15, deadline=None)
def test_a_tightened_box_has_every_mixture_that_is_better_than_the_cutoff(name, seed, share):
    case = Case(PROBLEMS[name], seed, 3)
    columns = MixtureProgramme(case.table, case.rows, [], np.full(3, 1 / 3))
    root = root_box(columns)
    objective, violation = case.value(GRIDS[3])
    below = np.stack([ratio.denominator @ GRIDS[3] for ratio in columns.ratios])
    kept = (violation <= 0) & (below >= root.low[0, :, None]).all(0)
    assume(kept.any())
    cutoff = float(np.quantile(objective[kept], share))
    columns.minimize_within(0.0)
    columns.inside(root)
    columns.set_cutoff(cutoff, violation=False)
    box = tighten(columns, root, lambda: False)
    better = kept & (objective <= cutoff)
    d = below[:, better]
    z = np.stack([ratio.numerator @ GRIDS[3] for ratio in columns.ratios])[:, better] / d
    sides = np.stack([d, z])
    assert (box.low[..., None] <= sides + 1e-7).all()
    assert (sides <= box.high[..., None] + 1e-7).all()
    assert box.side_lost(root) >= 0


def test_tightening_finds_that_nothing_is_below_the_cutoff():
    case = Case(PROBLEMS["two in the objective"], 0, 3)
    columns = MixtureProgramme(case.table, case.rows, [], np.full(3, 1 / 3))
    columns.minimize_within(0.0)
    columns.inside(root_box(columns))
    columns.set_cutoff(-10.0, violation=False)
    assert tighten(columns, root_box(columns), lambda: False) is None


def test_a_search_that_is_over_leaves_the_box_as_it_is():
    case = Case(PROBLEMS["three"], 0, 4)
    columns = MixtureProgramme(case.table, case.rows, [], np.full(4, 1 / 4))
    root = root_box(columns)
    assert tighten(columns, root, lambda: True).side_lost(root) == 0


def test_plus_and_minus_a_ratio_are_one():
    case = Case(PROBLEMS["two in constraints"], 0, 5)
    columns = MixtureProgramme(case.table, case.rows, [], np.full(5, 0.2))
    assert len(columns.ratios) == 2
    assert [sorted(sign for _, sign in ratio.atoms) for ratio in columns.ratios] == [[-1, 1], [-1, 1]]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("kind", ["nobody", "everybody", "nobody and some", "the same"])
def test_degenerate_columns_do_not_break_the_search(name, kind):
    case = Case(PROBLEMS[name], 5, 3)
    some = np.random.default_rng(1).random((120, 1)) < 0.5
    columns = {
        "nobody": np.zeros((120, 1), dtype=bool),
        "everybody": np.ones((120, 3), dtype=bool),
        "nobody and some": np.hstack([np.zeros((120, 2), dtype=bool), some]),
        "the same": np.repeat(some, 4, axis=1),
    }
    case.use(columns[kind])
    result = polish_weights(case.table, case.rows, np.full(case.count, 1 / case.count), search=FINE)
    assert result.weights.sum() == pytest.approx(1)
    assert result.weights.min() >= 0
    objective, violation = (float(part[0]) for part in case.value(result.weights))
    if result.bound is not None and violation <= 1e-7:
        assert result.bound <= objective + 1e-7


def test_columns_that_are_not_finite_get_no_weight():
    case = Case(PROBLEMS["three"], 2, 8)
    case.rows[1, 3], case.rows[0, 5], case.rows[4, 6] = np.nan, np.inf, -np.inf
    result = polish_weights(case.table, case.rows, np.full(8, 1 / 8), search=FINE)
    assert result.weights[[3, 5, 6]].tolist() == [0, 0, 0]
    assert result.bound is not None


# -- the relaxation over a box ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two in constraints", "two in the objective", "three"])
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from([0.3, 0.03, 1e-5]))
@settings(max_examples=15, deadline=None)
def test_the_relaxation_lies_below_every_mixture_in_its_box_and_meets_them_in_a_small_one(name, seed, place, width):
    """McCormick's envelope, against a grid of mixtures: sound in every box, and tight where there is no room."""
    case = Case(PROBLEMS[name], seed, 3)
    grid = GRIDS[3]
    columns = MixtureProgramme(case.table, case.rows, [], np.full(3, 1 / 3))
    below = np.stack([ratio.denominator @ grid for ratio in columns.ratios])
    z = np.stack([ratio.numerator @ grid for ratio in columns.ratios]) / below
    centre = place % grid.shape[1]
    sides = np.stack([below, z])
    box = Box(sides[..., centre] - width, sides[..., centre] + width)
    inside = ((sides >= box.low[..., None]) & (sides <= box.high[..., None])).all(axis=(0, 1))
    objective, violation = case.value(grid[:, inside])
    room = float(violation.max())
    columns.minimize_within(room)
    columns.inside(box)
    solved = columns.solve()
    assert solved is not None
    assert solved[2] <= objective.min() + 1e-7
    if width == 1e-5:  # nothing but the centre, up to the width times the slopes
        assert solved[2] >= objective.min() - 5e-3


@pytest.mark.parametrize("seed", range(8))
def test_the_first_box_has_the_value_of_every_mixture_and_is_no_wider_than_columns_need(seed):
    rng = np.random.default_rng(seed)
    D = rng.uniform(0, 1, 6)
    N = D * rng.uniform(-0.5, 2, 6) + (0.05 * rng.normal(size=6) if seed % 2 else 0)
    floor = float(np.sort(D)[seed % 4])
    box = root_box(SimpleNamespace(ratios=[SimpleNamespace(numerator=N, denominator=D, floor=floor)]))
    mixtures = rng.dirichlet(np.full(6, 0.3), size=4000)
    n, d = mixtures @ N, mixtures @ D
    n, d = n[d >= floor], d[d >= floor]
    assert len(d) > 100
    assert (box.low[0, 0] <= d + 1e-12).all()
    assert (d <= box.high[0, 0] + 1e-12).all()
    assert (box.low[1, 0] <= n / d + 1e-12).all()
    assert (n / d <= box.high[1, 0] + 1e-12).all()
    if floor <= D.min():  # every column is allowed, and the extremes are among them
        assert box.low[1, 0] == pytest.approx((N / D).min())
        assert box.high[1, 0] == pytest.approx((N / D).max())
    else:
        assert box.low[0, 0] == floor


def test_there_is_no_box_where_no_column_has_the_denominator():
    ratio = SimpleNamespace(numerator=np.ones(2), denominator=np.array([0.1, 0.2]), floor=0.3)
    assert root_box(SimpleNamespace(ratios=[ratio])) is None
    ratio.floor = 0.2
    assert root_box(SimpleNamespace(ratios=[ratio])) is not None
