"""The logit-adjusted surrogate: the right sign whatever the groups, and its effect where networks interpolate."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import equirate as eq
from equirate.data.cells import Cells
from equirate.data.examples import Examples
from equirate.models.messages import Asked
from equirate.models.rows import Batch
from equirate.torch import TorchModel
from equirate.torch.adjusting import adjusted, partners

COSTS = st.lists(st.floats(0.01, 5), min_size=4, max_size=4)


def four_cells():
    """Two groups with both labels, one example each."""
    examples = Examples.of([0, 1, 0, 1], {"g": [0, 0, 1, 1]})
    return Cells.of_examples(examples, [eq.attr("g") == 1], [])


def batch_of(cells, of, weights):
    few = Cells(np.asarray(of, np.int32), np.asarray(weights, float), cells.totals, cells.labels, {}, {})
    return Batch(None, cells=few, trained=few, rows=slice(None))


@settings(max_examples=80, deadline=None)
@given(sizes=COSTS, chances=st.lists(st.floats(0.01, 1), min_size=4, max_size=4))
def test_the_best_score_has_the_sign_that_the_costs_ask_for_also_where_x_does_not_tell_the_group(sizes, chances):
    cells = four_cells()
    cost = np.where(cells.labels == 1, -1, 1) * np.array(sizes)
    asked = adjusted(Asked(False, np.maximum(cost, 0)[:, None], np.minimum(cost, 0)[:, None]), cells, partners(cells))
    batch = batch_of(cells, range(4), chances)  # one x, whose cell is drawn with these chances
    slope = asked.slope(batch, np.zeros((4, 1)))[:, 0]
    np.testing.assert_allclose(slope, cost * np.array(chances) / (2 * np.log(2)), rtol=1e-9)
    grid = np.linspace(-8, 8, 161)
    values = [asked.value(batch, np.full((4, 1), f))[0] for f in grid]
    expected = float(cost @ np.array(chances))
    if abs(expected) > 0.3:
        assert (grid[int(np.argmin(values))] > 0) == (expected < 0)
    assert (np.diff(values, 2) > -1e-9).all()  # convex


def test_slopes_are_those_of_the_values():
    cells, rng = four_cells(), np.random.default_rng(0)
    for cost in (np.array([1.0, -3.0, 0.2, -0.1]), np.array([-1.0, -3.0, 0.2, 0.5])):  # the second pairs have one sign
        asked = adjusted(
            Asked(False, np.maximum(cost, 0)[:, None], np.minimum(cost, 0)[:, None]), cells, partners(cells)
        )
        of, weights, h = rng.integers(0, 4, 50), rng.random(50), 1e-5
        batch, scores = batch_of(cells, of, weights), rng.normal(size=(50, 1))
        for k in range(50):
            step = np.zeros((50, 1))
            step[k] = h
            change = (asked.value(batch, scores + step) - asked.value(batch, scores - step))[0] / (2 * h)
            assert asked.slope(batch, scores)[k, 0] == pytest.approx(change, abs=1e-5)


def test_partners_differ_in_the_label_alone():
    cells = four_cells()
    pairs = partners(cells)
    for c, other in enumerate(pairs):
        assert cells.labels[c] != cells.labels[other]
        assert cells.members[eq.attr("g") == 1][c] == cells.members[eq.attr("g") == 1][other]


def test_ordinary_losses_are_refused():
    with pytest.raises(eq.AlgorithmError, match=r"rates alone, and the objective has log_loss\(\)"):
        eq.solve(
            eq.minimize(eq.error_rate() + eq.log_loss()), [[0.0], [1.0]], [0, 1],
            model=TorchModel(torch.nn.Linear(1, 1), logit_adjusted=True, epochs=1),
        )  # fmt: skip


def test_shifts_move_a_network_that_interpolates_further_than_weights():
    """Sixty rows in as many dimensions, which the network fits: false negatives are to be rare on new rows."""
    rng = np.random.default_rng(0)
    y = (rng.random(2060) < 0.3).astype(int)
    X = (rng.normal(size=(2060, 60)) + 0.12 * (2 * y[:, None] - 1)).astype(np.float32)
    recall = {}
    for adjusting in (False, True):
        model = TorchModel(
            lambda: torch.nn.Sequential(torch.nn.Linear(60, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)),
            optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.5),
            batch_size=None, epochs=200, logit_adjusted=adjusting,
        )  # fmt: skip
        solution = eq.solve(eq.minimize(eq.cost(fp=1, fn=30)), X[:60], y[:60], model=model, surrogate="logistic")
        last = solution.members([len(solution.columns) - 1])
        assert (last.decide(X[:60])[:, 0] == y[:60]).all()  # it fits its training data
        recall[adjusting] = last.decide(X[60:])[:, 0][y[60:] == 1].mean()
    assert recall[True] > recall[False] + 0.03
