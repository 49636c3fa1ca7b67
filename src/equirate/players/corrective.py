r"""Fully corrective multipliers: the duals of the best mixture of everything the model has answered so far.

Each round, the exact programme over mixtures of all columns seen (the model's rates, `mixtures`) is solved; its dual
variables price objective, constraints and couplings, and the model answers those prices. Nothing is forgotten and no
step size is chosen, so a model that answers exactly needs few rounds. The programme's value and the largest Lagrangian
so far enclose the optimum; the play ends when they meet.

This is column generation with the smoothing of Wentges (1997): the prices played lie between the programme's and those
of the largest Lagrangian so far, which keeps them from jumping about while there are few columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..mixtures import Cut, best_mixture
from ..problem.table import Table
from .multipliers import MultiplierPlayer, Multipliers, middle_leader

Array = NDArray[np.float64]

_SAME = 1e-12
"""Columns that differ by less are the same."""


@dataclass(frozen=True, eq=False)
class CorrectiveState(Multipliers):
    """The columns so far, the best Lagrangian with its multipliers, and what the programmes found."""

    columns: Array
    """(rounds, rows, configurations)"""
    best: Array
    bound: Array
    value: Array
    """Value of the best mixture so far."""
    gap: Array
    """Value minus bound; the bound is one only where the model answers exactly."""
    stale: NDArray[np.intp]
    """Rounds since the value last improved."""
    asked: NDArray[np.bool_]
    """Whether the model is asked at the programme's own prices."""
    nothing_new: NDArray[np.bool_]
    """Whether it had nothing new to answer to those."""
    exact: bool = False
    cuts: list[Cut] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Corrective(MultiplierPlayer[CorrectiveState]):
    """Play the duals of the mixture programme.

    ``radius`` is the price of a violation, and so a bound on the sum of the constraints' multipliers. ``smoothing`` is
    the share of the best multipliers so far in those that are played. The play ends when the model has nothing new to
    answer to the programme's own prices and, for a model that answers exactly, when the gap between the mixture's value
    and the bound is at most ``tolerance``. An approximate answer gives no bound: there the play also ends when the
    value has not improved by more than ``gain`` for ``patience`` rounds.
    """

    radius: float = 100.0
    smoothing: float = 0.5
    tolerance: float = 1e-6
    gain: float = 1e-5
    patience: int = 10

    @property
    def takes_steps(self) -> bool:
        """None."""
        return False

    def start(self, table: Table, count: int, exact: bool = False) -> CorrectiveState:
        """Begin at the gradient of the atoms in the middle of their boxes, with constraints that have atoms at 1."""
        lam = middle_leader(table, count)
        far, none = np.full(count, np.inf), np.zeros(count, dtype=np.intp)
        columns, no = np.zeros((0, table.program.n_multipliers, count)), np.zeros(count, dtype=bool)
        return CorrectiveState(lam, columns, lam, -far, far, far, none, no, no, exact)

    def learn(
        self, state: CorrectiveState, table: Table, rows: Array, residual: Array, rate: Array, t: int
    ) -> CorrectiveState:
        """Add this round's columns, solve the programmes, and move towards their duals."""
        columns = np.concatenate([state.columns, rows[None, : table.program.n_multipliers]])
        value = (state.lam * residual).sum(0)
        better = value > state.bound
        bound = np.where(better, value, state.bound)
        best = state.best.copy()
        best[:, better] = state.lam[:, better]
        lam, gap, reached, stale = best.copy(), state.gap.copy(), state.value.copy(), state.stale + 1
        asked, nothing_new = state.asked.copy(), state.nothing_new.copy()
        for c in range(rows.shape[1]):  # one programme each; models that answer exactly have few configurations
            if self._done(state, c):
                continue
            found = best_mixture(table, columns[:, :, c].T, self.radius, self.tolerance / 2, state.cuts)
            if found is None:
                continue
            fresh = (np.abs(state.columns[:, :, c] - columns[-1, :, c]) > _SAME).any(axis=1).all()
            nothing_new[c] = asked[c] and not fresh  # at the programme's own prices: no column improves it
            asked[c] = not fresh  # an answer that is known already: ask for the programme's own prices
            share = self.smoothing if fresh else 0.0
            lam[1:, c] = share * best[1:, c] + (1 - share) * found.multipliers
            gap[c] = found.value - bound[c]
            stale[c] = 0 if found.value < reached[c] - self.gain else stale[c]
            reached[c] = min(reached[c], found.value)
        played = (columns, best, bound, reached, gap, stale, asked, nothing_new)
        return CorrectiveState(lam, *played, state.exact, state.cuts)

    def _done(self, state: CorrectiveState, c: int) -> bool:
        met = state.gap[c] <= self.tolerance if state.exact else state.stale[c] >= self.patience
        return bool(met or state.nothing_new[c])

    def settled(self, state: CorrectiveState) -> bool:
        """Whether every configuration has met its bound, or gains nothing any more."""
        return all(self._done(state, c) for c in range(state.lam.shape[1]))
