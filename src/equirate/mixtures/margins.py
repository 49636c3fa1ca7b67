r"""Mixtures that keep a margin which depends on the mixture: so many of its own standard errors.

In: a `MixtureProgramme`, and for each constraint a quadratic form Q with :math:`SE_j(\mu)^2 = \mu^\top Q_j \mu`.
Out: `Careful`, columns whose constraints are

.. math:: \phi_j(\mu) + f_j + k_j\, SE_j(\mu) \le v.

A standard error is a norm of a linear function of the mixture, so it is convex, and

.. math:: SE(\mu) \ge (Q \mu^0)^\top \mu \,/\, SE(\mu^0)

is a cut that holds for every mixture. A solve adds such cuts until they are exact at what it found, so that whoever
solves for ratios or atoms need not know of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..problem.table import Table
from .programme import Cut, MixtureProgramme

Array = NDArray[np.float64]

EXACT = 1e-4
"""How far a constraint with its margin may be from being kept: a small part of any margin that matters."""
_CUTS = 40
"""Rounds of cuts at most, for one solve."""
_REMEMBERED = 6
"""Mixtures of earlier programmes that standard errors are cut at to begin with."""


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins of all constraints over some columns.

    Attributes
    ----------
    forms
        (forms, columns, columns): squared standard errors as quadratic forms of the mixture.
    of
        Which form each constraint has; the two sides of an ``abs`` share one.
    fixed
        Margin of each constraint that does not depend on the mixture.
    factor
        How many standard errors of each constraint are kept beside it.
    """

    forms: Array
    of: NDArray[np.intp]
    fixed: Array
    factor: Array
    near: tuple[Array, ...] = ()
    """Mixtures that the best one may be near to: standard errors are cut there to begin with."""

    def errors(self, mu: Array) -> Array:
        """Standard error of each constraint at a mixture."""
        there = np.flatnonzero(mu)
        part = self.forms[:, there[:, None], there] @ mu[there]
        found: Array = np.sqrt(np.maximum(part @ mu[there], 0.0))
        return found[self.of]

    def at(self, mu: Array) -> Array:
        """Margin of each constraint at a mixture."""
        found: Array = self.fixed + self.factor * self.errors(mu)
        return found

    def among(self, columns: NDArray[np.intp]) -> Margins:
        """The margins of mixtures of some of the columns."""
        near = tuple(mu[columns] for mu in self.near[-_REMEMBERED:])
        return replace(self, forms=self.forms[:, columns[:, None], columns], near=near)


class Careful(MixtureProgramme):
    """Columns whose constraints have margins."""

    def __init__(self, table: Table, rows: Array, cuts: list[Cut], start: Array, margins: Margins) -> None:
        self.margins = margins
        rows = rows.copy()
        rows[1 : 1 + table.program.n_constraints] += margins.fixed[:, None]
        super().__init__(table, rows, cuts, start)
        for mu in (start, *margins.near):
            self._cut(mu, np.arange(self.j))

    def judge(self, mu: Array) -> tuple[float, float]:
        """Objective, and largest violation with the margins (at least 0)."""
        values, rows = self.at(mu)[1], slice(1, 1 + self.j)
        objective = float(self.rows[0] @ mu + self.table.atom_weights[0] @ values)
        kept = self.rows[rows] @ mu + self.table.atom_weights[rows] @ values + self._reach(mu)
        return objective, max(float(kept.max()) - EXACT, 0.0)

    def _reach(self, mu: Array) -> Array:
        return self.margins.factor * self.margins.errors(mu)

    def solve(self) -> tuple[Array, Array, float] | None:
        """Solve, and cut the standard errors where they are larger than the programme takes them to be."""
        solved = super().solve()
        for _ in range(_CUTS):
            if solved is None or not self._tighten(solved[0], solved[1]):
                break
            solved = super().solve()
        return solved

    def _tighten(self, mu: Array, others: Array) -> bool:
        """Cut the standard errors that are larger at a mixture than the programme takes them to be; whether any is."""
        rows = slice(1, 1 + self.j)
        atoms = self.table.atom_weights[rows] @ others[self.s : self.v]
        kept = self.rows[rows] @ mu + atoms + self._reach(mu) - others[self.v]
        return self._cut(mu, np.flatnonzero(kept > EXACT / 2))

    def _cut(self, mu: Array, chosen: NDArray[np.intp]) -> bool:
        """Cut the standard errors of some constraints at a mixture."""
        margins, there = self.margins, np.flatnonzero(mu)
        slopes = margins.forms[:, :, there] @ mu[there]
        errors = np.sqrt(np.maximum(slopes @ mu, 0.0))
        chosen = chosen[errors[margins.of[chosen]] > 1e-9]
        if not len(chosen):
            return False
        of = margins.of[chosen]
        columns = self.rows[1 + chosen] + margins.factor[chosen, None] * slopes[of] / errors[of, None]
        padded = np.zeros((len(chosen), len(self.cost)))
        padded[:, self.s : self.v] = self.table.atom_weights[1 + chosen]
        padded[:, self.v] = -1.0
        self.programme.add(padded, np.zeros(len(chosen)), columns)
        return True
