r"""Fully corrective multipliers: the duals of the best mixture of everything the model has answered so far.

Each round, the exact programme over mixtures of all columns seen (the model's rates, `mixtures`) is solved; its dual
variables price objective, constraints and couplings, and the model answers those prices. Nothing is forgotten and no
step size is chosen, so a model that answers exactly needs few rounds. The programme's value and the largest Lagrangian
so far enclose the optimum; the play ends when they meet.

This is column generation with the smoothing of Wentges (1997): the prices played lie between the programme's and those
of the largest Lagrangian so far, which keeps them from jumping about while there are few columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..mixtures import Cut, best_mixture
from ..problem.table import Table
from .multipliers import MultiplierPlayer, State, leader

Array = NDArray[np.float64]

_SAME = 1e-12
"""Columns that differ by less are the same."""


@dataclass(frozen=True, kw_only=True)
class Corrective(MultiplierPlayer):
    """Play the duals of the mixture programme.

    ``radius`` is the price of a violation, and so a bound on the sum of the constraints' multipliers. ``smoothing`` is
    the share of the best multipliers so far in those that are played. The play ends when the gap between the mixture's
    value and the bound is at most ``tolerance``, or when the model has nothing new to answer to the programme's own
    prices.
    """

    radius: float = 100.0
    smoothing: float = 0.5
    tolerance: float = 1e-6

    def start(self, table: Table, count: int) -> State:
        """Begin at the gradient of the atoms in the middle of their boxes, with constraints that have atoms at 1."""
        middle = np.repeat(((table.lo + table.hi) / 2)[:, None], count, axis=1)
        lam = leader(table, middle, np.repeat(table.nonlinear[:, None].astype(float), count, axis=1))
        cuts: list[Cut] = []
        return {
            "lam": lam,
            "columns": np.zeros((0, table.program.n_multipliers, count)),
            "best": lam,
            "bound": np.full(count, -np.inf),
            "gap": np.full(count, np.inf),
            "asked": np.zeros(count, dtype=bool),
            "done": np.zeros(count, dtype=bool),
            "cuts": cuts,
        }

    def learn(self, state: State, table: Table, rows: Array, residual: Array, rate: Array, t: int) -> State:
        """Add this round's columns, solve the programmes, and move towards their duals."""
        columns = np.concatenate([state["columns"], rows[None, : table.program.n_multipliers]])
        value = (state["lam"] * residual).sum(0)
        better = value > state["bound"]
        bound = np.where(better, value, state["bound"])
        best = state["best"].copy()
        best[:, better] = state["lam"][:, better]
        lam, gap = best.copy(), state["gap"].copy()
        asked, done = state["asked"].copy(), state["done"].copy()
        for c in range(rows.shape[1]):  # one programme each; models that answer exactly have few configurations
            if gap[c] <= self.tolerance or done[c]:
                continue
            found = best_mixture(table, columns[:, :, c].T, self.radius, self.tolerance / 2, state["cuts"])
            if found is None:
                continue
            fresh = (np.abs(state["columns"][:, :, c] - columns[-1, :, c]) > _SAME).any(axis=1).all()
            done[c] = asked[c] and not fresh  # nothing new at the programme's own prices: no column improves it
            asked[c] = not fresh  # an answer that is known already: ask for the programme's own prices
            share = self.smoothing if fresh else 0.0
            lam[1:, c] = share * best[1:, c] + (1 - share) * found.multipliers
            gap[c] = found.value - bound[c]
        moved = {"lam": lam, "columns": columns, "best": best, "bound": bound, "gap": gap}
        return {**state, **moved, "asked": asked, "done": done}

    def settled(self, state: State) -> bool:
        """Whether every configuration has met its bound, or has no column to gain."""
        return bool(((state["gap"] <= self.tolerance) | state["done"]).all())
