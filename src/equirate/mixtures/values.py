"""Objective and violations of classifiers as the user wrote them, from their exact rates.

In: a table, and rates and losses with one column per classifier or mixture. Out: the minimised objective and the signed
violation of every constraint, each in the units of the constraint.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..language.expressions import Expression
from ..problem.table import Table

Array = NDArray[np.float64]


def values(table: Table, rates: Array, losses: Array | None = None) -> tuple[Array, Array]:
    """Minimised objective (columns,) and signed violations (split constraints, columns).

    There is a row for each constraint after ``abs`` and ``max`` are split. Objectives with ordinary losses are NaN
    without ``losses``.
    """
    program, rates = table.program, snapped(rates)
    count = rates.shape[1]
    terms = program.problem.losses()
    losses = np.full((len(terms), count), np.nan) if losses is None else losses
    measured: dict[tuple[Any, ...], Any] = dict(table.constants)
    measured.update((rate.key, rates[k]) for k, rate in enumerate(program.rates))
    measured.update((loss.key, losses[k]) for k, loss in enumerate(terms))

    def of(expr: Expression) -> Array:
        return np.broadcast_to(np.asarray(expr.value(lambda part: measured[part.key]), dtype=float), (count,))

    with np.errstate(divide="ignore", invalid="ignore"):  # a divergence may be infinite, a ratio 0 / 0
        objective = of(program.problem.objective.minimised)
        violations = np.empty((len(program.parts), count))
        violations[table.affine_constraints] = table.rows_from_rates(rates, losses[:0])[1 + table.affine_constraints]
        for k in np.setdiff1d(np.arange(len(program.parts)), table.affine_constraints):
            violations[k] = of(program.parts[k][1].residual)
    return objective, violations


def largest(violations: Array) -> Array:
    """The largest violation of each column, at least 0."""
    return np.asarray(np.maximum(violations, 0.0).max(axis=0, initial=0.0))


def snapped(probabilities: Array) -> Array:
    """Round probabilities within 1e-12 of 0 and 1: a logarithm would amplify the rounding error."""
    low: Array = np.where(probabilities < 1e-12, 0.0, probabilities)
    return np.where(low > 1 - 1e-12, 1.0, low)
