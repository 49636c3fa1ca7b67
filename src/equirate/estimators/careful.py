r"""Mixtures with a margin: the columns of one part of the data, and the standard errors of their mixtures.

In: recorded iterates judged on rows that may be looked at, and the `Trial` that the mixture will have to pass. Out: for
each share of the margin the best mixture :math:`\mu` with

.. math:: \phi_j(\mu) + s\,\bigl(f_j + z\,SE_j(\mu)\bigr) \le 0,

where z is the quantile of the confidence level and f what the test's bound reaches beyond z standard errors.

The standard error is that of the test, by its size. A residual whose gradient with respect to the rates is g moves with
example i by :math:`w_i (a_c p_i + e_c)`, a and e of its cell c (`judge.spread`), and :math:`p_i` is linear in the
mixture; so all that is needed of the rows are, for each cell, the sums of :math:`w^2 d_t d_{t'}` over pairs of columns.
They are gathered once; after that nothing costs anything per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.peers import peers
from ..data.cells import Cells
from ..game.solution import Solution
from ..judge.spread import column
from ..mixtures import Margins, Weights, polish_weights, shrink, shrink_weights
from ..models.contract import Members
from ..models.joined import constants, joined
from .trials import Residual, Trial

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

COLUMNS = 100
"""Recorded iterates of which careful mixtures are made, at most."""
ROWS = 20_000
"""Rows that standard errors are gathered on, at most."""
WORK = 2e8
"""Constraints times cells times pairs of columns, at most."""
_DIRECTIONS = 160
_AGAIN = 4
ROOM = 1e-3
"""By how much a margin may be missed in the mixture programme."""
_NEGLIGIBLE = 1e-4
"""Weight of all members together that a mixture is relieved of."""


@dataclass(frozen=True, eq=False)
class _OnCells:
    """The rates of a residual: what each cell contributes, over the denominator, and what each column's are."""

    slopes: Array
    offsets: Array
    inside: Array
    rates: Array
    """(rates, columns)"""

    @classmethod
    def of(cls, residual: Residual, cells: Cells, sums: Array) -> _OnCells:
        slopes, offsets, inside = np.stack([column(cells, rate) for rate in residual.rates], axis=-1)
        return cls(slopes, offsets, inside, slopes.T @ sums + (offsets.T @ cells.totals)[:, None])


class Part:
    """The columns of one part of the data, of which mixtures with margins are made.

    Parameters
    ----------
    trial
        What the mixture has to pass.
    solution
        Columns, judged on the rows that the mixture is chosen on.
    inside
        Rows that may be looked at.
    test, size
        Rows that this part's mixture is tested on, and how many rows the whole test has.
    beyond
        What bounds reach beyond z standard errors.
    """

    def __init__(
        self,
        trial: Trial,
        solution: Solution,
        *,
        inside: Rows,
        test: Rows,
        size: int,
        beyond: Array,
    ) -> None:
        self.trial, self.solution, self.judge, self.test, self.beyond = trial, solution, solution.judge, test, beyond
        self.larger = peers().total(len(inside)) / size
        rates, losses = solution.columns.rates, solution.columns.losses
        rows = self.judge.rows_from_rates(rates, losses)
        self.plain_start = shrink(self.judge, solution.columns).weights
        picked = self._candidates(rows)
        members = solution.members(picked.tolist())
        said = constants(members)
        if said is not None and not solution.problem.losses():
            sums = np.stack([np.zeros(len(self.judge.cells)), self.judge.cells.totals], axis=1)
            members = joined([members, said])
            rates = np.concatenate([rates[:, picked], self.judge.rates(sums)], axis=1)
            losses = np.zeros((len(losses), rates.shape[1]))
        else:
            rates, losses = rates[:, picked], losses[:, picked]
        self.members: Members = members
        self.rates, self.losses = rates, losses
        self.rows = self.judge.rows_from_rates(rates, losses)
        self.start = shrink_weights(*solution.values(rates, losses)).weights
        self.near: list[Array] = []
        self._known: dict[int, tuple[Array, Array]] = {}
        self._gather(inside)
        plain = polish_weights(self.judge, self.rows, self.start, rounds=30, tolerance=1e-5)
        self.plain = self.last = _lightened(self.start if plain is None else plain.weights)
        self.wider = np.ones(len(trial.residuals))
        if trial.cells.clusters is not None:
            self.wider = trial.wider(inside, Part.probability(self, self.plain, inside))

    # -- columns ---------------------------------------------------------------------------------

    def _candidates(self, rows: Array) -> NDArray[np.intp]:
        """Columns of the best mixture without a margin and with fixed ones, and the best in many directions."""
        judge, j = self.judge, self.judge.program.n_constraints
        usable = np.flatnonzero(np.isfinite(rows).all(axis=0))
        found = [np.flatnonzero(self.plain_start)]
        for share in (0.0, 1.2):
            moved = rows.copy()
            moved[1 : 1 + j] += share * self._guess()[:, None]
            polished = polish_weights(judge, moved, self.plain_start, rounds=20, tolerance=1e-4)
            found += [] if polished is None else [np.flatnonzero(polished.weights)]
        values = rows[:, usable]
        directions = np.random.default_rng(0).dirichlet(np.full(len(rows), 0.5), _DIRECTIONS)
        directions /= np.ptp(values, axis=1) + 1e-12
        found += [usable[np.argmin(values, axis=1)], usable[np.argmin(directions @ values, axis=1)]]
        most = int(np.clip(np.sqrt(WORK / max(j * len(self.trial.cells), 1)), 40, COLUMNS))
        every = np.concatenate(found)
        first = np.sort(np.unique(every, return_index=True)[1])[:most]
        return np.asarray(np.sort(every[first]), dtype=np.intp)

    def _guess(self) -> Array:
        """Margins before any mixture is known: rates of one half."""
        found = []
        for residual in self.trial.residuals:
            gradient = residual.gradient(np.full(len(residual.rates), 0.5))
            inside = np.stack([column(self.trial.cells, rate)[2] for rate in residual.rates], axis=1)
            sizes = (self.trial.cells.totals @ inside**2) * 0.25
            found.append(self.trial.z * np.sqrt((gradient**2 * sizes).sum()))
        return np.array(found) + self.beyond

    # -- standard errors -------------------------------------------------------------------------

    def _gather(self, inside: Rows) -> None:
        """Sums over pairs of columns, cell by cell, and the columns' own rates on the rows inside."""
        trial = self.trial
        if len(inside) > ROWS:  # every so many: the rows are in no order that matters within a cell
            order = inside[np.argsort(trial.cells.of[inside], kind="stable")]
            used = np.sort(order[np.linspace(0, len(order) - 1, ROWS).astype(np.intp)])
        else:
            used = inside
        self.larger *= peers().total(len(used)) / peers().total(len(inside))
        self.cells = trial.cells.only(used)
        X, examples = trial.sample.take(used).X, trial.sample.examples.take(used)
        decided = self.members.decide(X, attributes=examples.columns)
        order = np.argsort(self.cells.of, kind="stable")
        ends = np.searchsorted(self.cells.of[order], np.arange(len(self.cells) + 1))
        count = decided.shape[1]
        self.pairs = np.zeros((len(self.cells), count, count))
        self.singles, self.squares = np.zeros((len(self.cells), count)), np.zeros(len(self.cells))
        self.sums = np.zeros((len(self.cells), count))
        for c in range(len(self.cells)):
            rows = order[ends[c] : ends[c + 1]]
            if not len(rows):
                continue
            inside_c, weights = decided[rows].astype(np.float32), self.cells.weights[rows]
            weighed = inside_c * (weights**2).astype(np.float32)[:, None]
            self.pairs[c] = weighed.T @ inside_c
            self.singles[c], self.squares[c] = weighed.sum(axis=0, dtype=float), (weights**2).sum()
            self.sums[c] = weights @ inside_c
        gathered = (self.pairs, self.singles, self.squares, self.sums)
        self.pairs, self.singles, self.squares, self.sums = (peers().total(part) for part in gathered)

    def _gradient(self, columns: _OnCells, residual: Residual) -> Array:
        return residual.gradient(np.clip(columns.rates @ self.last, 0.0, 1.0))

    @cached_property
    def _on_cells(self) -> list[_OnCells]:
        return [_OnCells.of(residual, self.cells, self.sums) for residual in self.trial.residuals]

    def _form(self, columns: _OnCells, gradient: Array) -> Array:
        """The squared standard error of a residual as a quadratic form of the mixture."""
        a, b = columns.slopes @ gradient, columns.offsets @ gradient
        e = b[:, None] - columns.inside @ (gradient[:, None] * columns.rates)
        both = (a[:, None] * self.singles).T @ e
        pairs = np.tensordot(a**2, self.pairs, axes=1)
        return np.asarray((pairs + both + both.T + (self.squares[:, None] * e).T @ e) * self.larger)

    def values(self, mu: Array) -> Array:
        """Value of each residual at a mixture, on the rows that it is chosen on."""
        found: Array = self.rows[self.judge.constraints] @ mu
        bent = self.judge.nonlinear
        if bent.any():
            mixed = [(part @ mu)[:, None] for part in (self.rates, self.losses)]
            found[bent] = self.solution.values(*mixed)[1][bent, 0]
        return found

    def margins(self, share: float, more: Array | float = 0.0) -> Margins:
        """Margins at a share of what the test will reach; functions that bend have their slopes of the last mixture."""
        forms: list[Array] = []
        of: list[int] = []
        before: tuple[list[Any], Array] | None = None
        for j, (residual, columns) in enumerate(zip(self.trial.residuals, self._on_cells, strict=True)):
            gradient, keys = self._gradient(columns, residual), [rate.key for rate in residual.rates]
            if before is None or before[0] != keys or not np.allclose(before[1], -gradient, rtol=1e-6, atol=1e-9):
                known = self._known.get(j)
                if known is None or not np.allclose(known[0], gradient, rtol=1e-6, atol=1e-9):
                    known = self._known[j] = gradient, self._form(columns, gradient)
                forms.append(known[1])
            of.append(len(forms) - 1)  # the other side of an abs has the same form
            before = keys, gradient
        fixed = share * self.beyond + more
        factor = share * self.trial.z * self.wider
        return Margins(np.stack(forms), np.array(of), fixed, factor, tuple(self.near))

    # -- mixtures --------------------------------------------------------------------------------

    def mixture(self, share: float, more: Array | float = 0.0) -> Array | None:
        """The best mixture with a share of the margin (and ``more`` beside it); None where there is none.

        Where functions bend, their standard errors are those of the last mixture; so it is asked for again until they
        are its own.
        """
        before = self.last
        for _ in range(_AGAIN if self.judge.nonlinear.any() else 1):
            found = self._solved(self.margins(share, more))
            if found is None or found.smallest_violation > ROOM:
                break
            self.last = _lightened(found.weights)
            if not self.judge.nonlinear.any() or self._keeps(self.margins(share, more).at(self.last)):
                self.near.append(self.last)
                return self.last
        self.last = before
        return None

    def _solved(self, margins: Margins) -> Weights | None:
        if not any(group.form.grid for group in self.judge.groups):
            return polish_weights(self.judge, self.rows, self.last, rounds=30, tolerance=1e-5, margins=margins)
        rows = self.rows.copy()  # black boxes have no cuts: a margin as it was last
        rows[self.judge.constraints] += margins.at(self.last)[:, None]
        return polish_weights(self.judge, rows, self.last)

    def _keeps(self, margins: Array) -> bool:
        return bool((self.values(self.last) + margins <= ROOM + 0.05 * margins).all())

    def probability(self, mu: Array, rows: Rows | None = None) -> Array:
        """Probability of predicting 1 on the rows of the test (or others)."""
        rows = self.test if rows is None else rows
        sample, support = self.trial.sample.take(rows), np.flatnonzero(mu)
        decided = self.members.take(support.tolist()).decide(sample.X, attributes=sample.examples.columns)
        return np.asarray(decided @ mu[support])


def _lightened(mu: Array) -> Array:
    """Without the smallest weights, as long as they are negligible together."""
    order = np.argsort(mu)
    gone = order[np.cumsum(mu[order]) <= _NEGLIGIBLE]
    kept = mu.copy()
    kept[gone] = 0.0
    return np.asarray(kept / kept.sum())
