r"""Mixtures with a margin: the columns of one part of the data, and the standard errors of their mixtures.

In: columns judged on rows that may be used, and the `ConstraintTest` that the mixture will have to pass. Out: for
each share s of the margin, the best mixture :math:`\mu` with

.. math:: \phi_j(\mu) + s\,\bigl(f_j + z\,SE_j(\mu)\bigr) \le 0,

where z is the normal quantile of the confidence level, and :math:`f_j` is how far the test's bound exceeds z standard
errors.

The standard error is the one that the test will have with its number of rows. To first order, example i of cell c adds
:math:`w_i (a_c p_i + e_c)` to a residual, where a and e follow from the residual's gradient (`judge.spread`) and the
probability :math:`p_i` of predicting 1 is linear in the mixture. The squared standard error is therefore a quadratic
form of the mixture, and needs only sums over the rows of each cell: those of :math:`w^2 d_t d_{t'}` for the decisions
of all pairs of columns. They are computed once; after that no cost depends on the number of rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.cached import cached_property
from ..game.classifiers import Classifier
from ..game.solution import Solution
from ..judge.spread import columns
from ..mixtures import Columns, Margins, Source, Weights, best_with_margins, shrink
from ..models.side_by_side import concatenate_members
from .constraint_test import ConstraintTest

Array = NDArray[np.float64]
RowIndex = NDArray[np.intp]

MAX_COLUMNS = 100
"""Columns that mixtures with margins are made of, at most."""
MAX_ROWS = 20_000
"""Rows that standard errors are gathered on, at most."""
MAX_WORK = 2e8
"""Constraints times cells times pairs of columns, at most."""
_DIRECTIONS = 160
_NONLINEAR_ROUNDS = 4
MARGIN_TOLERANCE = 1e-3
"""Largest shortfall of a mixture's margin: the tolerance of the mixture programme."""
_NEGLIGIBLE = 1e-4
"""Total weight of the smallest members that are dropped from a mixture."""


class _OnCells(NamedTuple):
    """The rates of a residual: contributions of each cell, over the denominator, and the rates of each column."""

    slopes: Array
    offsets: Array
    inside: Array
    rates: Array
    """(rates, columns)"""


class FoldMixtures:
    """The columns of one part of the data, and their mixtures with margins.

    Parameters
    ----------
    constraint_test
        The test that the mixture has to pass.
    solution
        Columns, judged on the rows that the mixture is chosen on.
    inside
        Rows that may be used.
    test, size
        Rows that this part's mixture is tested on, and how many rows the whole test has.
    over_normal
        How far bounds exceed z standard errors.
    """

    def __init__(
        self,
        constraint_test: ConstraintTest,
        solution: Solution,
        *,
        inside: RowIndex,
        test: RowIndex,
        size: int,
        over_normal: Array,
    ) -> None:
        self.constraint_test, self.test, self.over_normal = constraint_test, test, over_normal
        self.solution, self.judge = solution, solution.judge
        picked = self._candidates(solution.columns)
        self.columns, self.members = solution.columns.where(picked), solution.members(picked.tolist())
        constants = self.members.constants()
        if constants is not None and not solution.problem.losses():
            self.members = concatenate_members([self.members, constants])
            rates = self.judge.rates(self.judge.cells.constants())
            self.columns = self.columns.join(Columns.of(rates, Source.CONSTANT))
        self.near: list[Array] = []
        self._known: dict[int, tuple[Array, Array]] = {}
        used = self._used(inside)
        self.larger = constraint_test.count(used) / size
        self._gather(used)
        start = shrink(self.judge, self.columns).weights
        plain = best_with_margins(self.judge, self.columns, start)
        self.plain = self.last = _without_negligible(start if plain is None else plain.weights)
        self.wider = np.ones(len(constraint_test.residuals))
        if constraint_test.cells.clusters is not None:
            decided = self.classifier(self.plain).expected_sample(constraint_test.sample.take(inside))
            self.wider = constraint_test.wider(inside, decided)

    # -- columns ---------------------------------------------------------------------------------

    def _candidates(self, columns: Columns) -> NDArray[np.intp]:
        """Columns of the best mixture without a margin and with fixed ones, and the best in many directions."""
        judge, j = self.judge, self.judge.program.n_constraints
        rows = judge.rows_from_rates(columns.rates, columns.losses)
        usable = np.flatnonzero(np.isfinite(rows).all(axis=0))
        start = shrink(judge, columns).weights
        chosen = [np.flatnonzero(start)]
        for share in (0.0, 1.2):
            polished = best_with_margins(judge, columns, start, shift=share * self._guess(), rounds=20, tolerance=1e-4)
            chosen += [] if polished is None else [np.flatnonzero(polished.weights)]
        values = rows[:, usable]
        directions = np.random.default_rng(0).dirichlet(np.full(len(rows), 0.5), _DIRECTIONS)
        directions /= np.ptp(values, axis=1) + 1e-12
        chosen += [usable[np.argmin(values, axis=1)], usable[np.argmin(directions @ values, axis=1)]]
        most = int(np.clip(np.sqrt(MAX_WORK / max(j * len(self.constraint_test.cells), 1)), 40, MAX_COLUMNS))
        candidates = np.concatenate(chosen)
        first = np.sort(np.unique(candidates, return_index=True)[1])[:most]
        return np.asarray(np.sort(candidates[first]), dtype=np.intp)

    def _guess(self) -> Array:
        """Margins before any mixture is known: rates of one half."""
        margins = []
        for residual in self.constraint_test.residuals:
            gradient = residual.gradient(np.full(len(residual.rates), 0.5))
            inside = columns(self.constraint_test.cells, residual.rates)[2]
            sizes = (self.constraint_test.cells.totals @ inside**2) * 0.25
            margins.append(self.constraint_test.z * np.sqrt((gradient**2 * sizes).sum()))
        return np.array(margins) + self.over_normal

    # -- standard errors -------------------------------------------------------------------------

    def _used(self, inside: RowIndex) -> RowIndex:
        """At most `MAX_ROWS` of the rows, evenly spaced: within a cell the order of the rows does not matter."""
        if len(inside) <= MAX_ROWS:
            return inside
        order = inside[np.argsort(self.constraint_test.cells.index[inside], kind="stable")]
        return np.sort(order[np.linspace(0, len(order) - 1, MAX_ROWS).astype(np.intp)])

    def _gather(self, used: RowIndex) -> None:
        """Sums over pairs of columns, cell by cell, and the columns' own rates on some rows."""
        self.cells = self.constraint_test.cells.subset(used)
        decided = self.members.decide_sample(self.constraint_test.sample.take(used))
        if self.cells.n_classes > 2:
            self.decided, self.sums = decided, self.cells.counts(decided)
            return
        order = np.argsort(self.cells.index, kind="stable")
        ends = np.searchsorted(self.cells.index[order], np.arange(len(self.cells) + 1))
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
        self.pairs, self.singles, self.squares, self.sums = (self.cells.shared.total(part) for part in gathered)

    @cached_property
    def _on_cells(self) -> list[_OnCells]:
        on_cells = []
        for residual in self.constraint_test.residuals:
            slopes, offsets, inside = columns(self.cells, residual.rates)
            rates = slopes.T @ self.sums + (offsets.T @ self.cells.totals)[:, None]
            on_cells.append(_OnCells(slopes, offsets, inside, rates))
        return on_cells

    def _form(self, part: _OnCells, gradient: Array) -> Array:
        """The squared standard error of a residual as a quadratic form of the mixture."""
        a, b = part.slopes @ gradient, part.offsets @ gradient
        e = b[:, None] - part.inside @ (gradient[:, None] * part.rates)
        if self.cells.n_classes > 2:
            return self._class_form(a, e)
        both = (a[:, None] * self.singles).T @ e
        pairs = np.tensordot(a**2, self.pairs, axes=1)
        return np.asarray((pairs + both + both.T + (self.squares[:, None] * e).T @ e) * self.larger)

    @cached_property
    def _rows(self) -> Array:
        """Signed rows of the columns, which values of a mixture are linear in."""
        return self.judge.rows_from_rates(self.columns.rates, self.columns.losses)

    def _class_form(self, a: Array, e: Array) -> Array:
        """The same with more than two classes: ``a`` is by count, ``e`` by cell and column."""
        cells = self.cells
        by_answer = np.concatenate([np.zeros((1, len(cells))), a.reshape(-1, len(cells))])
        moved = (by_answer[self.decided, cells.index[:, None]] + e[cells.index]) * cells.weights[:, None]
        return np.asarray(cells.shared.total(moved.T @ moved) * self.larger)

    def values(self, mu: Array) -> Array:
        """Value of each residual at a mixture, on the rows that it is chosen on."""
        values: Array = self._rows[self.judge.constraints] @ mu
        bent = self.judge.nonlinear
        if bent.any():
            mixed = [(part @ mu)[:, None] for part in (self.columns.rates, self.columns.losses)]
            values[bent] = self.solution.values(*mixed)[1][bent, 0]
        return values

    def margins(self, share: float, more: Array | float = 0.0) -> Margins:
        """Margins at a share of the test's reach; nonlinear functions have their slopes at the last mixture."""
        forms: list[Array] = []
        of: list[int] = []
        before: tuple[list[Any], Array] | None = None
        for j, (residual, part) in enumerate(zip(self.constraint_test.residuals, self._on_cells, strict=True)):
            gradient = residual.gradient(np.clip(part.rates @ self.last, 0.0, 1.0))
            keys = [rate.key for rate in residual.rates]
            if before is None or before[0] != keys or not np.allclose(before[1], -gradient, rtol=1e-6, atol=1e-9):
                known = self._known.get(j)
                if known is None or not np.allclose(known[0], gradient, rtol=1e-6, atol=1e-9):
                    known = self._known[j] = gradient, self._form(part, gradient)
                forms.append(known[1])
            of.append(len(forms) - 1)  # the other side of an abs has the same form
            before = keys, gradient
        fixed = share * self.over_normal + more
        factor = share * self.constraint_test.z * self.wider
        return Margins(np.stack(forms), np.array(of), fixed, factor, tuple(self.near))

    # -- mixtures --------------------------------------------------------------------------------

    def mixture(self, share: float, more: Array | float = 0.0) -> Array | None:
        """The best mixture with a share of the margin, plus ``more``; None if there is none.

        Standard errors of nonlinear functions are those at the last mixture, so the programme is solved again until
        they agree.
        """
        before, nonlinear = self.last, self.judge.nonlinear.any()
        for _ in range(_NONLINEAR_ROUNDS if nonlinear else 1):
            solved = self._solved(self.margins(share, more))
            if solved is None or solved.smallest_violation > MARGIN_TOLERANCE:
                break
            self.last = _without_negligible(solved.weights)
            if not nonlinear or self._satisfies(self.margins(share, more).at(self.last)):
                self.near.append(self.last)
                return self.last
        self.last = before
        return None

    def _solved(self, margins: Margins) -> Weights | None:
        if not any(group.form.grid for group in self.judge.groups):
            return best_with_margins(self.judge, self.columns, self.last, margins)
        # Black boxes have no cuts: the margin is that of the last mixture.
        return best_with_margins(self.judge, self.columns, self.last, shift=margins.at(self.last))

    def _satisfies(self, margins: Array) -> bool:
        return bool((self.values(self.last) + margins <= MARGIN_TOLERANCE + 0.05 * margins).all())

    def classifier(self, mu: Array) -> Classifier:
        """A mixture as a classifier."""
        support = np.flatnonzero(mu)
        return Classifier(self.members.take(support.tolist()), mu[support], self.solution.problem)

    def salt_of(self, mu: Array) -> int | None:
        """The salt that a mixture is served with; None for decisions that are drawn."""
        return None

    def probability(self, mu: Array) -> Array:
        """Probability of predicting 1, or of each of several classes, on the rows of the test."""
        return self.classifier(mu).expected_sample(self.constraint_test.sample.take(self.test))


def _without_negligible(mu: Array) -> Array:
    """Without the smallest weights, as long as they are negligible together."""
    order = np.argsort(mu)
    gone = order[np.cumsum(mu[order]) <= _NEGLIGIBLE]
    kept = mu.copy()
    kept[gone] = 0.0
    return np.asarray(kept / kept.sum())
