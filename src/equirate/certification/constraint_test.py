"""The test of a problem's constraints on some rows, and how far its bounds reach.

In: a problem, a sample with its cells, a confidence level and a method. Out: `ConstraintTest`, which certifies
predictions on some of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .._core.cached import cached_property
from ..data.cells import Cells
from ..data.sample import Sample
from ..judge.certify import Certificates, certify, opposed
from ..judge.estimates import CellSample, Estimate
from ..judge.exact import Decisions
from ..language.clearing import cleared
from ..language.expressions import Constraint, Expression
from ..language.measuring import measurer
from ..problem.problem import Problem

Array = NDArray[np.float64]
RowIndex = NDArray[np.intp]
_STEP = 1e-4  # of differences


@dataclass(frozen=True, eq=False)
class Residual:
    """A part of a constraint in the form of the mixture programme: a bound on one ratio is multiplied through."""

    expr: Expression

    @classmethod
    def of(cls, part: Constraint) -> Residual:
        """Multiply through by the denominator if there is a single ratio."""
        affine = cleared(part.residual)
        return cls(part.residual if affine is None else affine[0])

    @cached_property
    def rates(self) -> list[Any]:
        """The rates in it, each once."""
        return list({rate.key: rate for rate in self.expr.rates()}.values())

    def gradient(self, point: Array) -> Array:
        """Slopes with respect to the rates, by differences that stay between 0 and 1."""
        k, index = len(point), {rate.key: j for j, rate in enumerate(self.rates)}
        ends = np.clip(point[:, None] + _STEP * np.concatenate([np.eye(k), -np.eye(k)], axis=1), 0.0, 1.0)
        with np.errstate(all="ignore"):
            values = np.asarray(self.expr.value(lambda part: ends[index[part.key]]), dtype=float)
        up, down = np.split(np.broadcast_to(values, (2 * k,)), 2)
        width = np.diag(ends) - np.diag(ends, k)
        return np.asarray(np.nan_to_num((up - down) / width, posinf=0.0, neginf=0.0))


@dataclass(frozen=True, eq=False)
class ConstraintTest:
    """A test of all constraints at a confidence level."""

    problem: Problem
    sample: Sample
    cells: Cells
    confidence: float
    method: str
    correction: str | None
    seed: int

    @cached_property
    def parts(self) -> list[Constraint]:
        """The constraints with ``abs`` and ``max`` split."""
        return [part for constraint in self.written for part in constraint.split()]

    @cached_property
    def written(self) -> list[Constraint]:
        """The constraints as they were written."""
        return self.problem.plain_constraints

    @cached_property
    def residuals(self) -> list[Residual]:
        """The same in the form of the mixture programme."""
        return list(map(Residual.of, self.parts))

    @property
    def z(self) -> float:
        """Quantile of the confidence level."""
        return float(ndtri(self.confidence))

    def certify(self, rows: RowIndex, probability: Array) -> Certificates:
        """Test the constraints as they were written on some rows."""
        return certify(
            self.written,
            self.sample.examples.take(rows),
            probability,
            self.confidence,
            method=self.method,
            correction=self.correction,
            seed=self.seed,
            cells=self.cells.subset(rows),
        )

    def values(self, rows: RowIndex, probability: Array) -> Array:
        """Value of each residual on some rows."""
        measure = measurer(self.sample.examples.take(rows), probability)
        return np.array([float(residual.expr.value(measure)) for residual in self.residuals])

    def excess_over_normal(self, rows: RowIndex, probability: Array, size: int) -> Array:
        """Reach of the bound of each residual less that of z standard errors, in a test of ``size`` rows."""
        judged = self._judged(rows, probability)
        tested = plain = [judged.estimate(residual.expr) for residual in self.residuals]
        if self.method == "exact":
            examples = self.sample.examples.take(rows)
            decisions = Decisions.of(self._rates, examples, probability, self.seed, judged.cells)
            tested = [decisions.estimate(residual.expr) for residual in self.residuals]
        reach = self._reach(tested)
        with np.errstate(invalid="ignore"):
            excess = np.maximum(reach - self.z * np.array([estimate.error for estimate in plain]), 0.0)
        return np.asarray(np.where(np.isfinite(reach), excess, 0.0) * np.sqrt(self.count(rows) / size))

    def count(self, rows: NDArray[Any]) -> int:
        """Number of rows with positive weight, over all processes."""
        return int(self.cells.shared.total(np.count_nonzero(self.cells.weights[rows])))

    def wider(self, rows: RowIndex, probability: Array) -> Array:
        """How many times wider clusters make the standard error of each residual; at least 1."""
        samples = self._judged(rows, probability), self._judged(rows, probability, clustered=False)
        clustered, independent = (np.array([each.estimate(r.expr).error for r in self.residuals]) for each in samples)
        with np.errstate(all="ignore"):
            ratio = clustered / independent
        return np.asarray(np.where(np.isfinite(ratio), np.maximum(ratio, 1.0), 1.0))

    def reach(self, rows: RowIndex, probability: Array, size: int) -> Array:
        """Distance of each part's bound from its value in a test of ``size`` rows, within the room of an ``abs``."""
        judged = self._judged(rows, probability)
        estimates = [judged.estimate(part.residual) for part in self.parts]
        reach = self._reach(estimates) * np.sqrt(self.count(rows) / size)
        reach = np.where(np.isfinite(reach), reach, 0.0)
        for j in range(len(estimates) - 1):
            if opposed(self.parts[j].residual, self.parts[j + 1].residual):
                room = -(estimates[j].value + estimates[j + 1].value) / 2
                reach[j : j + 2] = np.minimum(reach[j : j + 2], 0.9 * room)
        return reach

    def _reach(self, estimates: Sequence[Estimate]) -> Array:
        """Distances of upper bounds from their values."""
        return np.array([estimate.upper(self.confidence) - estimate.value for estimate in estimates])

    @property
    def _rates(self) -> list[Any]:
        return [rate for part in self.parts for rate in part.rates()]

    def _judged(self, rows: RowIndex, probability: Array, clustered: bool = True) -> CellSample:
        """Some rows and the predictions for them; without ``clustered`` as if the rows were independent."""
        examples = self.sample.examples.take(rows)
        examples = examples if clustered else replace(examples, clusters=None)
        return CellSample.of(self._rates, examples, probability, cells=self.cells.subset(rows))
