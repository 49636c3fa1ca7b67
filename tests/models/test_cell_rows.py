"""One pass over rows laid out by cell: sums, moments and thresholds against plain numpy."""

import numpy as np
import pytest
import scipy.sparse as sp

from equirate import attr
from equirate.data.cells import Cells
from equirate.data.examples import Examples
from equirate.models.cell_rows import CellRows
from equirate.models.linear_members import LinearMembers

KINDS = ["dense", "weighted", "sparse", "many cells", "single precision"]


def make(kind: str, n: int = 900, d: int = 5):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d)) * [1, 10, 0.1, 1, 1] + [0, 50, 0, 1, 0]
    X[:, 3] = X[:, 3] > 1
    group = rng.integers(0, 300 if kind == "many cells" else 3, n)
    weights = rng.uniform(0, 3, n) if kind == "weighted" else None
    y = rng.integers(0, 2, n)
    examples = Examples.of(y, {"g": group}, weights)
    cells = Cells.of_examples(examples, [attr("g") == value for value in np.unique(group)], [])
    if kind == "sparse":
        X = sp.random_array((n, d), density=0.4, rng=rng, format="csr")
    if kind == "single precision":
        X = X.astype(np.float32)
    return X, cells


def scores(rows: CellRows, X, w):
    """Scores of the rows as they were given."""
    raw = rows.raw(w, 0.0)
    return np.asarray(X @ raw[:-1]).ravel() + raw[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_sums_of_a_pass_are_those_of_all_rows(kind):
    X, cells = make(kind)
    rows = CellRows(X, cells)
    W = np.random.default_rng(0).normal(size=(rows.width, 3))
    Z = sp.csr_array(X).toarray() if sp.issparse(X) else X
    Z = np.column_stack([(Z - rows.mean) / rows.scale, np.ones(len(Z))])
    for w, found in zip(W.T, rows.score(W), strict=True):
        z, p = scores(rows, X, w), 1 / (1 + np.exp(-scores(rows, X, w)))

        def total(values):
            return cells.adder @ values

        np.testing.assert_allclose(found.loss, total(np.logaddexp(0, z)), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.linear, total(z), rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(found.slope, total(p[:, None] * Z), rtol=1e-4, atol=2e-3)
    np.testing.assert_allclose(rows.first, cells.adder @ Z, rtol=1e-4, atol=1e-3)
    second = np.stack([(Z * (cells.weights * (cells.index == c))[:, None]).T @ Z for c in range(len(cells))])
    if rows.diagonal:
        second = np.diagonal(second, axis1=1, axis2=2)
    np.testing.assert_allclose(rows.moments, second, rtol=1e-4, atol=2e-3)
    bent = p * (1 - p)
    np.testing.assert_allclose(rows.count_slopes(W)[-1], cells.adder @ (bent[:, None] * Z), rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_every_threshold_counts_what_its_classifier_decides(kind):
    X, cells = make(kind)
    rows = CellRows(X, cells)
    (found,) = rows.score(np.random.default_rng(1).normal(size=(rows.width, 1)), losses=False)
    some = np.unique(np.linspace(0, len(found.edges) - 1, 40).astype(int))
    members = LinearMembers(np.stack([rows.raw(found.weights, found.edges[k]) for k in some], axis=1))
    np.testing.assert_allclose(found.sums[:, some], cells.sums(members.decide(X)), rtol=1e-6, atol=1e-6)
    assert (np.diff(found.edges) > 0).all()
    np.testing.assert_allclose(found.sums[:, 0], cells.totals, rtol=1e-6)  # the first has everybody above it


def test_equal_scores_stay_on_one_side_of_every_threshold():
    rng = np.random.default_rng(0)
    X = np.eye(4)[rng.integers(0, 4, 500)]
    examples = Examples.of(rng.integers(0, 2, 500), None)
    rows = CellRows(X, Cells.of_examples(examples, [], []))
    (found,) = rows.score(np.array([[0.1], [0.1 + 1e-3], [0.4], [0.9], [0.0]]), losses=False)
    assert found.sums.shape[1] == 4  # as many as there are different scores


def test_features_that_do_not_vary_or_are_huge_are_standardised():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(300, 7.0), 1e30 * rng.normal(size=300), 1e6 + rng.normal(size=300)])
    examples = Examples.of(rng.integers(0, 2, 300), None)
    rows = CellRows(X, Cells.of_examples(examples, [], []))
    assert np.isfinite(rows.X).all()
    np.testing.assert_allclose(rows.X.mean(axis=0), [0, 0, 0, 1], atol=1e-5)
    np.testing.assert_allclose(rows.X.std(axis=0), [0, 1, 1, 0], atol=1e-5)
    w = rng.normal(size=(4, 2))
    raw = np.stack([rows.raw(column, 0.0) for column in w.T], axis=1)
    np.testing.assert_allclose(rows.standard(raw)[1:], w[1:], rtol=1e-6, atol=1e-6)  # the first feature tells nothing


def test_some_rows_of_every_cell_stand_for_all():
    X, cells = make("weighted", 5000)
    rows = CellRows(X, cells)
    some = rows.thinned(500)
    assert rows.thinned(5000) is rows
    assert 450 <= some.size <= 550
    counts = np.diff(some.starts)
    np.testing.assert_allclose(counts, np.diff(rows.starts) / 10, atol=1)
    totals = [some.weights[a:b].sum() for a, b in zip(some.starts, some.starts[1:], strict=False)]
    np.testing.assert_allclose(some.cells.totals, totals, rtol=1e-5)


def test_rows_without_weight_change_nothing():
    X, cells = make("weighted")
    kept = np.arange(900) % 3 > 0
    spoilt = np.where(kept[:, None], X, 1e6)
    rows = CellRows(spoilt, cells.weighing(np.where(kept, cells.weights, 0.0)))
    alone = CellRows(X[kept], cells.subset(np.flatnonzero(kept)))
    np.testing.assert_allclose(rows.mean, alone.mean, rtol=1e-12)
    np.testing.assert_allclose(rows.scale, alone.scale, rtol=1e-9)
    W = np.random.default_rng(0).normal(size=(rows.width, 1))
    (one,), (other,) = rows.score(W), alone.score(W)
    np.testing.assert_allclose(one.edges, other.edges, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(one.sums, other.sums, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "weighted", "sparse", "single precision"])
def test_the_least_cost_of_a_direction_is_that_of_its_cheapest_threshold(kind):
    X, cells = make(kind)
    rows = CellRows(X, cells)
    rng = np.random.default_rng(5)
    W, costs = rng.normal(size=(rows.width, 4)), rng.normal(size=(2, len(cells)))
    expected = [[(cost @ each.sums).min() for each in rows.score(W)] for cost in costs]  # 900 rows: all are thresholds
    np.testing.assert_allclose(rows.least(W, costs), expected, rtol=1e-6, atol=1e-9)


def test_many_rows_in_few_cells_are_counted_exactly():
    rng = np.random.default_rng(0)
    n = 140_000
    X, y = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    cells = Cells.of_examples(Examples.of(y, None), [], [])
    rows = CellRows(X, cells)
    assert len(cells) * rows.bins * 4 <= n  # counted in all bins at once
    (found,) = rows.score(rng.normal(size=(3, 1)))
    z = np.empty((1, n), np.float32)
    rows._scored(found.weights.astype(np.float32)[:, None], z)
    label = np.repeat([0, 1], np.diff(rows.starts))
    for k in range(0, len(found.edges), 97):
        above = z[0] > found.edges[k]
        assert [np.count_nonzero(above & (label == c)) for c in (0, 1)] == found.sums[:, k].tolist()


def test_some_rows_have_moments_of_their_own_where_they_are_regressed_on():
    X, cells = make("dense", 4000)
    some = CellRows(X, cells).thinned(500, regress=True)
    ends = zip(some.starts, some.starts[1:], strict=False)
    parts = [some.X[a:b].astype(float) for a, b in ends]
    np.testing.assert_allclose(some.first, [part.sum(axis=0) for part in parts], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(some.moments, [part.T @ part for part in parts], rtol=1e-4, atol=1e-3)
