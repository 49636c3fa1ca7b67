"""The best mixture for black boxes, against a dense search over all mixtures."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import equirate as eq
from equirate.data.examples import Examples
from equirate.mixtures.black_boxes import _frontier, _undominated, best_for_black_boxes
from equirate.mixtures.pricing import black_box_prices
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table

N, K = 60, 4
F, M, P = eq.fpr(), eq.fnr(), eq.positive_rate()
BOXES = {
    "convex": lambda a, b: a**2 + 3 * b**2,
    "concave": lambda a, b: np.sqrt(np.maximum(a, 0)) + np.sqrt(np.maximum(b, 0)),
    "product": lambda a, b: -(1 - a) * (1 - b),
    "stairs": lambda a, b: np.floor(4 * a) / 4 + 2 * b,
}
GRID = np.array([c for c in itertools.product(range(41), repeat=K - 1) if sum(c) <= 40]) / 40
GRID = np.hstack([GRID, 1 - GRID.sum(1, keepdims=True)])


def problems(function) -> dict[str, eq.Problem]:
    box = eq.black_box(function, F, M, increasing=True)
    return {
        "alone": eq.Problem(eq.minimize(box)),
        "with an affine part": eq.Problem(eq.minimize(box + 0.5 * P)),
        "under a bound": eq.Problem(eq.minimize(box), [P <= 0.35]),
        "as a bound": eq.Problem(eq.minimize(eq.error_rate()), [box <= 0.7]),
        "two": eq.Problem(eq.minimize(box), [eq.black_box(np.square, P, increasing=True) <= 0.2]),
    }


@pytest.mark.parametrize("where", ["alone", "with an affine part", "under a bound", "as a bound", "two"])
@pytest.mark.parametrize("name", BOXES)
def test_against_a_dense_search(name: str, where: str) -> None:
    rng = np.random.default_rng(len(name))
    y = rng.integers(0, 2, N)
    score = y + rng.normal(size=N)
    decided = np.stack([score > t for t in (-0.5, 0.4, 1.2, 2.0)], axis=1)
    problem = problems(BOXES[name])[where]
    table = make_table(canonicalize(problem), Examples.of(y))
    rows = table.rows_from_rates(table.rates(table.cells.sums(decided)), np.zeros((0, K)))
    mu = best_for_black_boxes(table, rows)

    everything = np.vstack([GRID, mu]) @ decided.T
    values = {name: everything[:, y == label].mean(1) for name, label in (("fpr", 0), ("tpr", 1))}
    measure = {F.key: values["fpr"], M.key: 1 - values["tpr"], P.key: everything.mean(1)}
    measure[eq.error_rate().key] = np.where(y == 1, 1 - everything, everything).mean(1)
    broken = [c.residual.value(lambda rate: measure[rate.key]) for c in problem.constraints]
    objective = problem.objective.expr.value(lambda rate: measure[rate.key])
    merit = objective + 1e3 * np.maximum(np.max([*broken, 0 * objective], axis=0) - 1e-7, 0.0)
    assert mu.sum() == pytest.approx(1)
    assert merit[-1] <= merit[:-1].min() + 2e-3


def test_other_atoms_beside_a_black_box_are_left_alone() -> None:
    problem = eq.Problem(eq.minimize(eq.black_box(np.square, F, increasing=True) + eq.square(M)))
    table = make_table(canonicalize(problem), Examples.of([0, 1]))
    assert best_for_black_boxes(table, np.zeros((3, 2))) is None


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_frontier_and_dominated_iterates(seed: int) -> None:
    x, y = np.random.default_rng(seed).integers(0, 6, (2, 12)) / 5.0
    hull = _frontier(x, y)
    for level in np.linspace(x.min(), 1, 9):
        pairs = [(a, b, t) for a in range(12) for b in range(12) for t in np.linspace(0, 1, 21)]
        least = min(t * y[a] + (1 - t) * y[b] for a, b, t in pairs if t * x[a] + (1 - t) * x[b] <= level + 1e-9)
        assert np.interp(level, *hull) <= least + 1e-9
    assert set(map(tuple, hull.T)) <= set(zip(x, y, strict=True))
    kept = _undominated(np.stack([x, y]))
    assert all(any((x[k] <= a) and (y[k] <= b) for k in kept) for a, b in zip(x, y, strict=True))
    assert len({(x[k], y[k]) for k in kept}) == len(kept)


@pytest.mark.parametrize("where", ["alone", "with an affine part", "under a bound", "as a bound", "two"])
def test_prices_of_black_boxes_are_their_slopes_at_the_best_mixture(where: str) -> None:
    """Of a quadratic, differences to both sides give the slope itself: what the prices charge for moving towards a
    column is what the objective, and the constraints that bind, change by."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, N)
    score = y + rng.normal(size=N)
    decided = np.stack([score > t for t in (-0.5, 0.4, 1.2, 2.0)], axis=1)
    problem = problems(BOXES["convex"])[where]
    table = make_table(canonicalize(problem), Examples.of(y))
    rows = table.rows_from_rates(table.rates(table.cells.sums(decided)), np.zeros((0, K)))
    mu = best_for_black_boxes(table, rows)
    for k, found in enumerate(black_box_prices(table, rows, mu)):
        charged = found @ rows
        used = mu > 1e-6
        assert charged[used] == pytest.approx(charged[used].mean(), abs=2e-2)  # at the optimum, all that is used costs
        assert (charged >= charged[used].min() - 2e-2).all()  # the same, and nothing else is cheaper
        if k == 0 and where in ("alone", "with an affine part"):  # short steps, which stay inside the boxes
            at, h = mu @ decided.T, 1e-6

            def worth(predictions):
                fpr, fnr = predictions[y == 0].mean(), 1 - predictions[y == 1].mean()
                return fpr**2 + 3 * fnr**2 + (0.5 * predictions.mean() if "affine" in where else 0)

            moves = [h * (column - at) for column in decided.T]
            changes = [(worth(at + move) - worth(at - move)) / (2 * h) for move in moves]
            np.testing.assert_allclose(charged - charged @ mu, changes, atol=1e-6)
