r"""Refining: linear classifiers for costs that no logistic regression answers well.

In: a generation that logistic answers no longer improve. Out: further directions for it. `linear_engine` calls this,
and keeps what it finds only where held-out rows agree.

Where labels are not linear in the features, the classifier that costs least is not where a regression ends. So this
descends on the smoothed costs themselves, :math:`\sum_c k_c \sum_{i \in c} \sigma(z_i)`, from the cheapest directions,
at two sharpnesses of the sigmoid. A step goes along the slope, preconditioned by the regression's matrix, in three
lengths. Large data are searched on some of their rows; what prices in there is then counted on all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..mixtures import Source
from ..models.cell_rows import CellRows
from ..models.logistic_oracle import Solve, View
from ..models.messages import Family
from .column_generation import Generation

Array = NDArray[np.float64]

ROUNDS = 15
"""Steps at most."""
PATIENCE = 3
"""Steps in a row without an improvement after which the search ends."""
ROWS = 50_000
"""Rows that are searched, about."""
BEGIN = 2
"""Directions that a step begins at, the cheapest ones."""
SHARPNESS = (1.0, 3.0)
"""Lengths of the weights, in those of the labels' regression."""
LENGTHS = (0.05, 0.2, 0.8)
"""Lengths of a step, as shares of the weights."""
KEPT = 3
"""Directions that are kept of a step for each of the prices, at most."""
_GAIN = (1e-5, 1e-4)
"""What counts as an improvement, of the violation and of the objective."""


def refine(generation: Generation, view: View) -> None:
    """Search for directions until they no longer improve the mixture."""
    rows = view.rows.thinned(ROWS)
    length = float(np.linalg.norm(view.directions[1].weights[:-1])) if len(view.directions) > 1 else 0.0
    best, stale = generation.improve().value, 0
    for _ in range(ROUNDS if length > 0 else 0):
        weights = _step(generation, view, rows, length)
        if not weights:
            return
        found = view.rows.score(np.stack(weights, axis=1), losses=False)
        view.directions += found
        generation.families += [Family(each.sums, Source.REFINED, each) for each in found]
        now = generation.improve().value
        improved = now[0] < best[0] - _GAIN[0] or (now[0] <= best[0] + 1e-9 and now[1] < best[1] - _GAIN[1])
        best, stale = min(now, best), 0 if improved else stale + 1
        if stale >= PATIENCE:
            return


def _step(generation: Generation, view: View, rows: CellRows, length: float) -> list[Array]:
    """Weights one step from the cheapest ones, of those that cost less than every column."""
    assert generation.mixture is not None
    assert generation.master is not None
    prices = generation.mixture.prices[:2]
    costs = [generation.spread(generation.table.coefficients(each[:, None]))[:, 0] for each in prices]
    begins: list[tuple[Array, Solve, Array]] = []
    for cost in costs:
        normal = view.normal(cost)
        solve = view.solver(normal)
        begins += [(normal, solve, w * length * sharp) for w in _cheapest(view, cost) for sharp in SHARPNESS]
    slopes = rows.bent(np.stack([w for *_, w in begins], axis=1))
    candidates = []
    for (normal, solve, w), slope in zip(begins, slopes, strict=True):
        move = solve(normal @ slope)
        move *= np.linalg.norm(w[:-1]) / max(float(np.linalg.norm(move[:-1])), 1e-12)
        candidates += [w - share * move for share in LENGTHS]
    with np.errstate(divide="ignore", invalid="ignore"):
        larger = np.where(rows.cells.totals > 0, view.rows.cells.totals / rows.cells.totals, 0.0)
    keep: set[int] = set()
    least_of = rows.least(np.stack(candidates, axis=1), np.stack(costs) * view.measure * larger)
    for multipliers, values in zip(prices, least_of, strict=True):
        offset = float(multipliers @ generation.table.offset[: len(multipliers)])
        least = float((multipliers @ generation.master.rows).min()) - 1e-6 - offset
        keep |= {int(k) for k in np.argsort(values, kind="stable")[:KEPT] if values[k] < least}
    return [candidates[k] for k in sorted(keep)]


def _cheapest(view: View, cost: Array) -> list[Array]:
    """Weights of length 1 of the cheapest directions, each with its cheapest threshold; the origin is none."""
    own = cost * view.measure
    known = view.directions[1:]
    values = [(own @ each.sums).min() for each in known]
    found = []
    for k in np.argsort(values, kind="stable")[:BEGIN]:
        edge = known[k].edges[int(np.argmin(own @ known[k].sums))]
        w = known[k].weights.copy()
        w[-1] -= edge
        found.append(w / max(float(np.linalg.norm(w[:-1])), 1e-12))
    return found
