"""Offsets of classes, against every offset that can be told apart."""

from __future__ import annotations

import numpy as np
import pytest

from equirate.models.class_offsets import BINS, cheapest_offsets


def total(expected: np.ndarray, price: np.ndarray, offsets: np.ndarray) -> float:
    return float(price[np.arange(len(price)), (expected + offsets).argmin(axis=1)].sum())


def cheapest_of_all(expected: np.ndarray, price: np.ndarray) -> float:
    """The cheapest offset of class 0, by trying one between all neighbouring points at which a row changes."""
    room = np.unique(expected[:, 1:].min(axis=1) - expected[:, 0])
    tried = [room[0] - 1.0, *(room[1:] + room[:-1]) / 2, room[-1] + 1.0, 0.0]
    return min(total(expected, price, np.eye(expected.shape[1])[0] * offset) for offset in tried)


@pytest.mark.parametrize("digits", [1, 2, 15])  # many rows with equal room, some, none
@pytest.mark.parametrize("rows", [3, 300, 2 * BINS])
@pytest.mark.parametrize("scale", [1.0, 1e-6])  # evenly spread, and all but a few rows within one bin
def test_one_class_is_searched_exactly(digits: int, rows: int, scale: float) -> None:
    rng = np.random.default_rng(rows)
    chances = rng.dirichlet([1.0, 1.0, 1.0], rows)
    labels = (chances.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    expected = np.round(1 - chances, digits) * np.where(np.arange(rows) % 100 == 0, 1.0, scale)[:, None]
    price = (1.0 - np.eye(3))[labels] * rng.choice([0.2, 1.0, 3.0], rows)[:, None]
    others = np.full(rows, 1e3)
    first_only = np.stack([expected[:, 0], expected[:, 1:].min(axis=1), others], axis=1)  # class 2 is never cheapest
    best = np.stack([price[:, 0], price[np.arange(rows), 1 + expected[:, 1:].argmin(axis=1)], others], axis=1)
    offsets = cheapest_offsets(first_only, best, sweeps=1)
    assert total(first_only, best, offsets) <= cheapest_of_all(first_only, best) + 1e-9


def test_equal_costs_are_left_alone() -> None:
    assert not cheapest_offsets(np.ones((5, 3)), np.ones((5, 3))).any()
