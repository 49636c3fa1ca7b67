r"""Constraints with a margin that depends on the mixture: a multiple of its own standard error.

In: a `MixtureProgramme`, and for each constraint a quadratic form Q with :math:`SE_j(\mu)^2 = \mu^\top Q_j \mu`.
Out: `MarginProgramme`, a programme whose constraints are

.. math:: \phi_j(\mu) + f_j + k_j\, SE_j(\mu) \le v.

A standard error is a norm of a linear function of the mixture, so it is convex, and

.. math:: SE(\mu) \ge (Q \mu^0)^\top \mu \,/\, SE(\mu^0)

is a cut that holds for every mixture. `MarginProgramme.solve` adds such cuts until they are exact at the solution, so
the methods for ratios and convex atoms need no change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..problem.table import Table
from .programme import Cut, MixtureProgramme, judged, violations_at

Array = NDArray[np.float64]

EXACT = 1e-4
"""Tolerance for the violation of a constraint with its margin: small compared with any useful margin."""
_CUTS = 40
"""Largest number of rounds of cuts in one solve."""
_REMEMBERED = 6
"""Number of mixtures of earlier programmes at which standard errors are cut initially."""


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
        Margin of each constraint in standard errors, added to ``fixed``.
    """

    forms: Array
    of: NDArray[np.intp]
    fixed: Array
    factor: Array
    near: tuple[Array, ...] = ()
    """Mixtures that the best one may be close to: standard errors are cut there initially."""

    def errors(self, mu: Array) -> Array:
        """Standard error of each constraint at a mixture."""
        support = np.flatnonzero(mu)
        part = self.forms[:, support[:, None], support] @ mu[support]
        errors: Array = np.sqrt(np.maximum(part @ mu[support], 0.0))
        return errors[self.of]

    def at(self, mu: Array) -> Array:
        """Margin of each constraint at a mixture."""
        margins: Array = self.fixed + self.factor * self.errors(mu)
        return margins

    def among(self, columns: NDArray[np.intp]) -> Margins:
        """The margins of mixtures of some of the columns."""
        near = tuple(mu[columns] for mu in self.near[-_REMEMBERED:])
        return replace(self, forms=self.forms[:, columns[:, None], columns], near=near)


class MarginProgramme(MixtureProgramme):
    """A programme over columns whose constraints have margins."""

    def __init__(self, table: Table, rows: Array, cuts: list[Cut], start: Array, margins: Margins) -> None:
        self.margins = margins
        rows = rows.copy()
        rows[table.constraints] += margins.fixed[:, None]
        super().__init__(table, rows, cuts, start)
        for mu in (start, *margins.near):
            self._cut(mu, np.arange(self.n_constraints))

    def judge(self, mu: Array) -> tuple[float, float]:
        """Objective, and largest violation with the margins (at least 0)."""
        signed = self.rows @ mu
        signed[self.table.constraints] += self.margins.factor * self.margins.errors(mu)
        objective, violation = judged(self.table, signed)
        return objective, max(violation - EXACT, 0.0)

    def solve(self) -> tuple[Array, Array, float] | None:
        """Solve, and cut the standard errors that the programme underestimates."""
        solved = super().solve()
        for _ in range(_CUTS):
            if solved is None:
                break
            mu, others, _ = solved
            without = violations_at(self.table, self.rows @ mu, others[self.n_slacks : self.violation_index])
            missing = without + self.margins.factor * self.margins.errors(mu) - others[self.violation_index]
            if not self._cut(mu, np.flatnonzero(missing > EXACT / 2)):
                break
            solved = super().solve()
        return solved

    def _cut(self, mu: Array, chosen: NDArray[np.intp]) -> bool:
        """Cut the standard errors of some constraints at a mixture."""
        margins, support = self.margins, np.flatnonzero(mu)
        slopes = margins.forms[:, :, support] @ mu[support]
        errors = np.sqrt(np.maximum(slopes @ mu, 0.0))
        chosen = chosen[errors[margins.of[chosen]] > 1e-9]
        if not len(chosen):
            return False
        of = margins.of[chosen]
        columns = self.rows[1 + chosen] + margins.factor[chosen, None] * slopes[of] / errors[of, None]
        padded = np.zeros((len(chosen), len(self.cost)))
        padded[:, self.n_slacks : self.violation_index] = self.table.atom_weights[1 + chosen]
        padded[:, self.violation_index] = -1.0
        self.programme.add(padded, np.zeros(len(chosen)), columns)
        return True
