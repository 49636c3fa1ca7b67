"""Fully corrective multipliers end when there is nothing left to gain."""

import numpy as np
import pytest

import equirate as eq
from equirate.mixtures import linear


@pytest.mark.parametrize("seed", range(3))
def test_a_divergence_as_a_constraint_is_over_in_few_programmes(seed, monkeypatch):
    """A violation costs 100: programmes exact to 1e-7 never met a tolerance of 1e-6, and cut in vain for minutes."""
    solved = []
    run = linear.Programme._run
    monkeypatch.setattr(linear.Programme, "_run", lambda programme: solved.append(1) or run(programme))
    rng = np.random.default_rng(seed)
    y, g = (rng.random(400) < 0.4).astype(int), rng.integers(0, 2, 400)
    x = rng.normal(size=(400, 2)) + 0.7 * y[:, None]
    model = [
        (x @ slope > level).astype(int)
        for slope, level in zip(rng.normal(size=(256, 2)), rng.normal(size=256), strict=True)
    ]
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.kl_divergence(eq.attr("g") == 1) <= 0.001])
    solution = eq.solve(problem, x, y, {"g": g}, model=model, algorithm="corrective", n_rounds=100)
    assert solution.record.played <= 12
    assert len(solved) <= 40
    assert solution.status.gap == pytest.approx(0, abs=3e-6)
    assert solution.status.feasible
