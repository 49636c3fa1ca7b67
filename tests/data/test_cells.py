"""Cells by part of the examples: sums by (cell, part) give those of any parts together."""

import numpy as np
import pytest

import equirate as eq
from equirate.data.cells import Cells
from equirate.data.examples import Examples

N, PARTS = 200, 3
rng = np.random.default_rng(0)
SLICE = eq.attr("g") == 1


def make_cells(weighted: bool) -> Cells:
    attributes = {"g": rng.integers(0, 3, N), "old": rng.integers(0, 2, N)}
    weights = rng.random(N) if weighted else None
    return Cells.of_examples(Examples.of(rng.integers(0, 2, N), attributes, weights), [SLICE], ["old"])


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_by_part_are_those_of_the_part_alone(weighted: bool) -> None:
    cells, part, values = make_cells(weighted), rng.integers(0, PARTS, N), rng.random((N, 4))
    fine = cells.by_part(part, PARTS)
    sums = fine.sums(values).reshape(len(cells), PARTS, 4)
    for k in range(PARTS):
        alone = cells.subset(np.flatnonzero(part == k))
        np.testing.assert_allclose(sums[:, k], alone.sums(values[part == k]), rtol=1e-12)
        np.testing.assert_allclose(fine.totals.reshape(-1, PARTS)[:, k], alone.totals, rtol=1e-12)
    np.testing.assert_allclose(sums.sum(axis=1), cells.sums(values), rtol=1e-12)


def test_parts_of_a_cell_are_alike() -> None:
    cells = make_cells(weighted=False)
    fine = cells.by_part(np.arange(N) % PARTS, PARTS)
    for whole, split in (
        (cells.labels, fine.labels),
        (cells.members[SLICE], fine.members[SLICE]),
        (cells.baselines["old"], fine.baselines["old"]),
    ):
        np.testing.assert_array_equal(split.reshape(-1, PARTS), np.repeat(whole[:, None], PARTS, axis=1))
