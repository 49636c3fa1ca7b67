"""Counts kept by row multiply like the matrix of counts."""

import numpy as np
import pytest

from equirate.models.row_counts import RowCounts


@pytest.mark.parametrize("weighted", [False, True])
def test_products_and_columns_are_those_of_the_matrix(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    cell = np.sort(rng.integers(0, 7, 50))
    cell = cell[cell != 3]  # an empty cell
    starts = np.searchsorted(cell, np.arange(8))
    place = rng.integers(0, 5, len(cell)).astype(np.int32)
    weights = rng.random(len(cell)).astype(np.float32) if weighted else None
    counts = RowCounts(place, starts, weights, 6)
    each = np.ones(len(cell)) if weights is None else weights.astype(float)
    matrix = np.array([[each[(cell == c) & (place >= k)].sum() for k in range(6)] for c in range(7)])

    np.testing.assert_allclose(np.asarray(counts), matrix, atol=1e-12)
    np.testing.assert_allclose(counts[:, 2], matrix[:, 2], atol=1e-12)
    np.testing.assert_allclose(counts[:, [4, 1]], matrix[:, [4, 1]], atol=1e-12)
    costs = rng.normal(size=(3, 7))
    np.testing.assert_allclose(costs[0] @ counts, costs[0] @ matrix, atol=1e-12)
    np.testing.assert_allclose(costs @ counts, costs @ matrix, atol=1e-12)
    assert counts.shape == matrix.shape
