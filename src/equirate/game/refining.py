r"""Refining: linear classifiers for costs that logistic regression does not minimise well.

In: a generation that logistic regressions no longer improve. Out: further directions for it. `linear_engine` calls
this, and keeps the directions only if they improve the mixture on held-out rows.

If labels are not linear in the features, a regression does not find the cheapest classifier. So this descends on the
smoothed costs themselves, :math:`\sum_c k_c \sum_{i \in c} \sigma(z_i)`, from the cheapest directions, with two
sharpnesses of the sigmoid. A step follows the gradient, preconditioned by the regression's matrix, with three step
sizes. Large data are searched on a sample of their rows; directions that are cheap enough there are counted on all.
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
"""Largest number of steps."""
PATIENCE = 3
"""Number of successive steps without an improvement after which the search ends."""
SEARCHED_ROWS = 50_000
"""Approximate number of rows that are searched."""
START_DIRECTIONS = 2
"""Number of directions that a step starts from, the cheapest ones."""
SHARPNESS = (1.0, 3.0)
"""Norms of the weights, relative to the regression of the labels."""
LENGTHS = (0.05, 0.2, 0.8)
"""Step sizes, relative to the norm of the weights."""
KEPT_DIRECTIONS = 3
"""Largest number of directions that a step keeps for each of the prices."""
_GAIN = (1e-5, 1e-4)
"""Smallest improvement that counts, of the violation and of the objective."""


def refine(generation: Generation, view: View, rounds: int = ROUNDS) -> None:
    """Search for directions until they no longer improve the mixture, for so many steps at most."""
    rows = view.rows.thinned(SEARCHED_ROWS)
    length = float(np.linalg.norm(view.directions[1].weights[:-1])) if len(view.directions) > 1 else 0.0
    best, stale = generation.improve().value, 0
    for _ in range(rounds if length > 0 else 0):
        weights = _step(generation, view, rows, length)
        if not weights:
            return
        directions = view.rows.score(np.stack(weights, axis=1), losses=False)
        view.directions += directions
        generation.families += [Family(direction.sums, Source.REFINED, direction) for direction in directions]
        now = generation.improve().value
        improved = now[0] < best[0] - _GAIN[0] or (now[0] <= best[0] + 1e-9 and now[1] < best[1] - _GAIN[1])
        best, stale = min(now, best), 0 if improved else stale + 1
        if stale >= PATIENCE:
            return


def _step(generation: Generation, view: View, rows: CellRows, length: float) -> list[Array]:
    """Weights one step from the cheapest directions that cost less than every column."""
    assert generation.mixture is not None
    assert generation.master is not None
    prices = generation.mixture.prices[:2]
    costs = [generation.spread(generation.table.coefficients(price[:, None]))[:, 0] for price in prices]
    begins: list[tuple[Array, Solve, Array]] = []
    for cost in costs:
        normal = view.normal(cost)
        solve = view.solver(normal)
        begins += [(normal, solve, w * length * sharp) for w in _cheapest(view, cost) for sharp in SHARPNESS]
    slopes = rows.count_slopes(np.stack([w for *_, w in begins], axis=1))
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
        keep |= {int(k) for k in np.argsort(values, kind="stable")[:KEPT_DIRECTIONS] if values[k] < least}
    return [candidates[k] for k in sorted(keep)]


def _cheapest(view: View, cost: Array) -> list[Array]:
    """Weights of norm 1 of the cheapest directions but the origin, each with its cheapest threshold."""
    own = cost * view.measure
    known = view.directions[1:]
    values = [(own @ direction.sums).min() for direction in known]
    cheapest = []
    for k in np.argsort(values, kind="stable")[:START_DIRECTIONS]:
        edge = known[k].edges[int(np.argmin(own @ known[k].sums))]
        w = known[k].weights.copy()
        w[-1] -= edge
        cheapest.append(w / max(float(np.linalg.norm(w[:-1])), 1e-12))
    return cheapest
