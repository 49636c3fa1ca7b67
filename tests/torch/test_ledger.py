"""The ledger: sums over cells with the data set's denominators, whatever a batch has."""

import numpy as np
from hypothesis import given, settings, strategies as st

from equirate.data.cells import Cells
from equirate.torch.ledger import Ledger


def some_cells(n, count, rng):
    of = np.concatenate([np.arange(count), rng.integers(0, count, n - count)]).astype(np.int32)
    weights = rng.integers(0, 4, n).astype(float)
    weights[:count] = 1.0
    return Cells(of, weights, np.bincount(of, weights, count), np.zeros(count, np.int8), {}, {})


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(8, 60), batches=st.integers(0, 12))
def test_sums_are_those_of_the_latest_predictions_and_never_nan(seed, n, batches):
    rng = np.random.default_rng(seed)
    cells = some_cells(n, 4, rng)
    ledger, latest = Ledger(cells, 2), np.zeros((n, 2), dtype=bool)
    known = np.zeros(n, dtype=bool)
    for _ in range(batches):
        rows = rng.permutation(n)[: rng.integers(1, n)]
        ledger.note(rows)
        known[rows] = True
        for c in range(2):
            predicted = rng.random(len(rows)) < 0.5
            ledger.remember(c, rows, predicted)
            latest[rows, c] = predicted
    np.testing.assert_allclose(ledger.sums, cells.sums(latest), atol=1e-12)
    estimate = ledger.estimate()
    assert np.isfinite(estimate).all()
    assert (estimate >= 0).all()
    assert (estimate <= cells.totals[:, None] + 1e-9).all()
    if known[cells.weights > 0].all():
        np.testing.assert_allclose(estimate, cells.sums(latest), atol=1e-12)
    else:
        assert set(ledger.unseen()) == set(np.flatnonzero(~known & (cells.weights > 0)))


def test_rows_that_were_not_seen_are_like_their_cell_and_cells_that_were_not_like_everybody():
    cells = Cells(
        np.array([0, 0, 0, 0, 1, 1], np.int32), np.ones(6), np.array([4.0, 2.0]), np.zeros(2, np.int8), {}, {}
    )
    ledger = Ledger(cells, 1)
    ledger.note(np.array([0, 1]))
    ledger.remember(0, np.array([0, 1]), np.array([True, False]))
    np.testing.assert_allclose(ledger.estimate()[:, 0], [2.0, 1.0])


def test_a_ledger_goes_on_where_its_state_was_taken():
    rng = np.random.default_rng(0)
    cells = some_cells(30, 3, rng)
    one, other = Ledger(cells, 2), Ledger(cells, 2)
    one.note(np.arange(20))
    one.remember(1, np.arange(20), rng.random(20) < 0.5)
    other.resume(one.state())
    np.testing.assert_array_equal(one.estimate(), other.estimate())
    np.testing.assert_array_equal(one.unseen(), other.unseen())
    one.replace(np.ones((30, 2), dtype=bool))
    np.testing.assert_allclose(one.estimate(), np.stack([cells.totals] * 2, axis=1))
    assert not len(one.unseen())
