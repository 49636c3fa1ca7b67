"""Margins that depend on the mixture: kept, and no dearer than they must be."""

import numpy as np
import pytest
from scipy.optimize import linprog

import equirate as eq
from equirate.data.examples import Examples
from equirate.mixtures import Margins, polish_weights
from equirate.mixtures.linear import Programme
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table

G = eq.attr("g") == 1
PROBLEMS = {
    "affine": eq.Problem(eq.minimize(eq.error_rate()), [abs(eq.positive_rate(G) - eq.positive_rate(~G)) <= 0.25]),
    "convex": eq.Problem(eq.minimize(eq.error_rate()), [eq.kl_divergence(G) <= 0.08]),
    "ratio": eq.Problem(eq.minimize(eq.error_rate()), [abs(eq.precision(G) - eq.precision(~G)) <= 0.2]),
}


def columns(problem: eq.Problem, seed: int, count: int = 25):
    """A table, the signed rows of some random classifiers, and forms that look like standard errors."""
    rng = np.random.default_rng(seed)
    n = 300
    g, y = rng.integers(0, 2, n), rng.integers(0, 2, n)
    table = make_table(canonicalize(problem), Examples.of(y, {"g": g}))
    good = np.linspace(0, 1, count)  # the better a classifier is, the further it sets the groups apart
    chance = 0.5 + np.where((y == 1)[:, None], 0.4, -0.4) * good + np.where((g == 1)[:, None], 0.25, -0.25) * good
    decided = rng.random((n, count)) < chance
    rates = table.rates(table.cells.sums(decided))
    rows = table.rows_from_rates(rates, np.zeros((0, count)))
    j = table.program.n_constraints
    forms = []
    for _ in range(j):
        spread = (decided - decided.mean(axis=0)) * rng.uniform(0.5, 1.5, n)[:, None] / n
        forms.append(spread.T @ spread)
    margins = Margins(np.array(forms), np.arange(j), np.full(j, 0.002), np.full(j, 2.0))
    return table, rows, margins


def kept(table, rows, margins, mu) -> tuple[float, float]:
    """Objective, and largest violation with the margin, by hand."""
    j = table.program.n_constraints
    rates_rows = rows @ mu
    xi, values = np.zeros(table.n_slacks), np.zeros(len(table.program.atoms))
    for group in table.groups:
        inner = rates_rows[1 + j + group.slacks] + table.atom_weights[1 + j + group.slacks] @ values
        xi[group.slacks] = np.clip(
            table.sense[1 + j + group.slacks] * inner, table.lo[group.slacks], table.hi[group.slacks]
        )
        values[group.atoms] = group.form.value(xi[group.slacks][..., None])[..., 0]
    reach = margins.fixed + margins.factor * np.sqrt([mu @ form @ mu for form in margins.forms])
    lhs = rates_rows[1 : 1 + j] + table.atom_weights[1 : 1 + j] @ values + reach
    return float(rates_rows[0] + table.atom_weights[0] @ values), float(lhs.max())


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seed", range(3))
def test_a_margin_is_kept_and_no_mixture_does_better(name: str, seed: int) -> None:
    table, rows, margins = columns(PROBLEMS[name], seed)
    count = rows.shape[1]
    found = polish_weights(table, rows, np.full(count, 1 / count), margins=margins)
    objective, violation = kept(table, rows, margins, found.weights)
    without = polish_weights(table, rows, np.full(count, 1 / count)).weights
    assert kept(table, rows, margins, without)[1] > 0.01  # the margin matters
    assert -2e-4 <= violation <= 2e-4
    rng = np.random.default_rng(seed)
    for mu in rng.dirichlet(np.full(count, 0.1), 3000):
        other, broken = kept(table, rows, margins, mu)
        assert broken > 0 or other >= objective - (1e-4 if name != "ratio" else 0.02)  # ratios: a local optimum


def test_a_margin_is_so_many_standard_errors_and_what_is_fixed() -> None:
    _, rows, margins = columns(PROBLEMS["affine"], 5)
    mu = np.random.default_rng(0).dirichlet(np.ones(rows.shape[1]))
    by_hand = 0.002 + 2.0 * np.sqrt([mu @ form @ mu for form in margins.forms])
    np.testing.assert_allclose(margins.at(mu), by_hand)


@pytest.mark.parametrize("name", ["affine", "convex"])
def test_margins_that_cannot_be_kept_are_broken_as_little_as_can_be(name: str) -> None:
    table, rows, margins = columns(PROBLEMS[name], 1)
    count = rows.shape[1]
    wide = Margins(margins.forms, margins.of, margins.fixed, 30 * margins.factor)
    found = polish_weights(table, rows, np.full(count, 1 / count), margins=wide)
    violation = kept(table, rows, wide, found.weights)[1]
    assert violation > 0.05
    others = np.vstack([np.eye(count), np.random.default_rng(1).dirichlet(np.full(count, 0.3), 3000)])
    assert violation <= min(kept(table, rows, wide, mu)[1] for mu in others) + 2e-3


def test_a_margin_costs_and_none_costs_nothing() -> None:
    table, rows, margins = columns(PROBLEMS["affine"], 5)
    start = np.full(rows.shape[1], 1 / rows.shape[1])
    plain, none, careful = (
        kept(table, rows, margins, polish_weights(table, rows, start, margins=each).weights)[0]
        for each in (
            None,
            Margins(margins.forms, margins.of, 0 * margins.fixed, 0 * margins.factor),
            Margins(margins.forms, margins.of, margins.fixed, 4 * margins.factor),
        )
    )
    assert none == pytest.approx(plain, abs=1e-6)
    assert careful > plain


@pytest.mark.parametrize("seed", range(5))
def test_rows_with_columns_may_be_added_later(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, B, cost = rng.normal(size=(3, 40)), rng.normal(size=(3, 2)), rng.normal(size=40)
    later, extra = rng.normal(size=(2, 40)), rng.normal(size=(2, 2))
    programme = Programme(A, B, np.full(3, 0.5), np.array([[0.0, 1.0]] * 2), np.array([0, 1]))
    programme.set_objective(cost, np.ones(2))
    programme.solve()
    programme.add(extra, np.full(2, 0.3), later)
    found = programme.solve()
    whole = np.block([[A, B], [later, extra]])
    limits = np.array([0.5] * 3 + [0.3] * 2)
    truth = linprog(
        np.concatenate([cost, np.ones(2)]),
        whole,
        limits,
        [[1.0] * 40 + [0.0] * 2],
        [1.0],
        [(0, None)] * 40 + [(0, 1)] * 2,
    )
    assert (found is None) == (truth.status != 0)
    if found is not None:
        assert found.value == pytest.approx(truth.fun, abs=1e-7)
