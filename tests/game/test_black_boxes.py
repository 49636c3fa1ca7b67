"""Black boxes over lists of classifiers: the best threshold is found, and no bound is computed that nobody can use."""

from __future__ import annotations

import numpy as np
import pytest

import equirate as eq
from equirate.game import solution_status


def _best_threshold(x: np.ndarray, y: np.ndarray) -> float:
    """The largest Matthews correlation of any threshold, in either direction."""
    found = []
    for edge in np.unique(x):
        for predicted in (x > edge, x <= edge):
            if 0 < predicted.sum() < len(x):
                found.append(np.corrcoef(predicted, y)[0, 1])
    return float(max(found))


@pytest.mark.parametrize("seed", [0, 14, 20, 27, 45])
def test_no_threshold_of_one_feature_has_a_larger_matthews_correlation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=150)
    y = (x + rng.normal(size=150) > 0.5).astype(int)
    clf = eq.RateClassifier(eq.maximize(eq.matthews()), random_state=0).fit(x[:, None], y)
    assert clf.status_.objective >= _best_threshold(x, y) - 2e-3  # the tolerance of the search


def test_the_status_of_a_black_box_searches_no_list_for_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("searched")

    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 1))
    y = (x[:, 0] + rng.normal(size=80) > 0).astype(int)
    solution = eq.solve(eq.Problem(eq.maximize(eq.matthews())), x, y, algorithm="column_generation")
    monkeypatch.setattr(solution_status, "best", refuse)
    assert solution.status.bound is None
