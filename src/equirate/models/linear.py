"""Linear models, all configurations side by side: one matrix product for the scores, one for the gradient."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import kernels
from .._core.cached import cached_property
from .._core.errors import AlgorithmError
from .._core.seeds import stream
from .._core.threads import undisturbed
from ..data.features import checked_features, dense, features
from ..players.state import State
from ..players.steps import StepRule, StepState
from .capabilities import ROWS_PER_FEATURE, Capabilities
from .contract import Array, Choice, Learner, Model
from .design import Design, Standard, stored_bytes, stored_values
from .linear_members import LinearMembers
from .members import Members
from .messages import Asked, Seen
from .rows import Rows
from .thresholds import MOST_LISTED, midway, sums_above

LEAST_BUDGET = 200e6
"""Bytes that the recorded weights may take, however small the data are."""
RESPONDS = (
    "a linear model cannot best-respond to rows that several processes share: take an algorithm that descends, such as "
    '"surrogate" or "slack_ratios"'
)
MAX_JUDGED = 1000
"""Recorded iterates that are judged on other data, about."""


@dataclass(frozen=True)
class Linear(Model):
    """A linear score ``x @ w + b``.

    Parameters
    ----------
    intercept
        Whether there is a b.
    radius
        Keep (w, b) inside an L2 ball of this radius; None for no bound.
    penalty
        Weight of the penalty ``|w|^2 / 2`` (b is free).
    spread
        Standard deviation of the random first parameters; 0 begins at zero.
    standardise
        Move as if every feature had mean 0 and standard deviation 1 on the training data; the resulting classifiers
        are for the features as given. Radius, penalty and spread are then about the standardised weights.
    """

    intercept: bool = True
    radius: float | None = None
    penalty: float = 0.0
    spread: float = 0.0
    standardise: bool = False

    @property
    def capabilities(self) -> Capabilities:
        """Descends by one matrix product; column generation fits all parts of the rows at once."""
        return Capabilities(
            descends=True,
            shares_rows=True,
            all_parts=True,
            standardises=True,
            warm_starts=True,
            rows_per_feature=ROWS_PER_FEATURE,
        )

    def as_linear(self) -> Linear:
        """The model itself.

        Returns
        -------
        Linear
            The model itself.
        """
        return self

    def standardised(self) -> Linear:
        """The same model, on standardised features.

        Returns
        -------
        Linear
            A model with ``standardise=True``.
        """
        return replace(self, standardise=True)

    def __post_init__(self) -> None:
        if self.radius is not None and not self.radius > 0:
            raise AlgorithmError(f"the radius of Linear must be positive; got {self.radius!r}")
        if not self.penalty >= 0 or not self.spread >= 0:
            raise AlgorithmError("the penalty and the spread of Linear must not be negative")

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Make the parameters.

        Parameters
        ----------
        rows
            The rows to train and to measure on.
        count
            Number of configurations.
        step
            The rule that turns gradients into steps.
        seeds
            One seed per configuration, for the first parameters.

        Returns
        -------
        Learner
            The weights of all configurations.
        """
        return LinearLearner(self, rows, step, seeds)


@dataclass(frozen=True, eq=False)
class LinearState(State):
    """Weights as they move, and the state of their steps."""

    W: NDArray[Any]
    step: StepState


class LinearLearner(Learner):
    """Weights (features and intercept, configurations), for standardised features where the model is asked to.

    The intercept's row is always there, and stays 0 where the model has none. Snapshots and members are for the
    features as given.
    """

    def __init__(self, setting: Linear, rows: Rows, step: StepRule[Any], seeds: Sequence[int]) -> None:
        self.setting, self.rows, self.rule, self.names = setting, rows, step, rows.sample.names
        self.can_start = self.shifts  # snapshots without intercepts do not match a model with them
        self.X = X = features(rows.X, len(rows))
        rows.shared.agree("the features", f"{X.shape[1]} columns of {X.dtype}")
        self.standard = Standard.of(X, rows.trained.weights, rows.shared) if setting.standardise else None
        width = X.shape[1] + setting.intercept
        columns = [stream("parameters", seed).standard_normal(width) for seed in seeds]
        self.W: NDArray[Any] = np.zeros((X.shape[1] + 1, len(columns)), X.dtype)
        self.W[:width] = setting.spread * np.stack(columns, axis=1)
        self._project()
        self.steps: StepState = step.start(self.W.shape, self.W.dtype)
        self.budget = max(stored_bytes(X), LEAST_BUDGET)
        self.slope: NDArray[Any] | None = None

    @contextmanager
    def expecting(self, rounds: int) -> Iterator[None]:
        """Compiled passes are used where the work is worth it, and have the threads to themselves."""
        work = float(self.rows.shared.total(stored_values(self.X))) * self.W.shape[1] * rounds
        with kernels.expecting(work), undisturbed(len(self.rows)):
            yield

    @cached_property
    def design(self) -> Design:
        """The rows arranged for the passes."""
        return Design(self.X, self.rows.cells, self.rows.trained, self.rows.shared.wide)

    @property
    def raw(self) -> NDArray[Any]:
        """Weights for the features as given."""
        return self.W if self.standard is None else self.standard.raw(self.W)

    def answer(self, asked: Asked) -> Seen:
        """Two matrix products in one pass over the features; or logistic regressions and one product."""
        if asked.respond:
            if self.rows.shared.size > 1:
                raise AlgorithmError(RESPONDS)
            self._respond(asked.costs)
            (sums,) = self.rows.reduce(self.design.sums(self.raw))
            return Seen(sums)
        seen, slope = self.design.sweep(self.raw, asked)
        slope, *parts = self.rows.reduce(slope, *seen.parts())
        self.slope = slope.astype(self.W.dtype, copy=False)
        return seen.of_parts(parts)

    def advance(self, rate: Array) -> None:
        """One step against the last pass's slope, one projection."""
        if self.slope is None:
            raise AlgorithmError("advance comes after an answer that was asked to descend")
        slope = self.slope if self.standard is None else self.standard.slope(self.slope)
        if self.setting.penalty:
            slope[:-1] += self.setting.penalty * self.W[:-1]
        if not self.setting.intercept:
            slope[-1] = 0.0
        move, self.steps = self.rule.move(self.steps, slope, rate.astype(self.W.dtype))
        self.W -= move
        self._project()

    def _respond(self, coefficients: Array) -> None:
        """Weighted logistic regression on the costs, with the cheapest threshold on its scores: an approximate oracle.

        With an intercept it never costs more than a constant classifier.
        """
        costs = self.rows.trained.spread(coefficients)
        for c in range(self.W.shape[1]):
            self.W[:, c] = self._respond_one(costs[:, c])
        self._project()  # decisions do not depend on the scale

    def _respond_one(self, cost: Array) -> NDArray[Any]:
        from sklearn.exceptions import ConvergenceWarning  # takes a second: only where it is used
        from sklearn.linear_model import LogisticRegression

        weights, target, size = np.zeros((len(self.W), 1), self.W.dtype), cost < 0, np.abs(cost)
        used = size > 0
        if target[used].any() and not target[used].all():
            strength = 1 / self.setting.penalty if self.setting.penalty else 1e4 * len(cost) / size.sum()
            learner = LogisticRegression(C=strength, fit_intercept=self.setting.intercept, max_iter=300, tol=1e-3)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the oracle is approximate anyway
                learner.fit(self._scaled[used], target[used], sample_weight=size[used])
            weights[:-1, 0] = learner.coef_[0]
        if self.setting.intercept:
            raw = weights if self.standard is None else self.standard.raw(weights)
            shift = -best_threshold(np.asarray(self.X @ raw[:-1, 0]), cost)
            weights[-1] += shift - raw[-1]
        return weights[:, 0]

    @cached_property
    def _scaled(self) -> Any:
        """Features for the oracle; sparse ones are scaled but not shifted, which its intercept makes up for."""
        return self.X if self.standard is None else self.standard.features(self.X)

    # -- one feature -----------------------------------------------------------------------------

    @cached_property
    def _edges(self) -> NDArray[Any] | None:
        """Every threshold of the only feature, ascending, between its values; None where there are more features."""
        if self.X.shape[1] != 1 or not self.setting.intercept:
            return None
        values, most = np.unique(self._only_feature), MOST_LISTED / len(self.rows.cells)
        if self.rows.shared.some(len(values) > most):
            return None
        values = np.unique(np.concatenate(self.rows.shared.gather(values)))
        if len(values) > most:
            return None
        return np.concatenate([[-np.inf], midway(values[:-1], values[1:])])

    @property
    def _only_feature(self) -> NDArray[Any]:
        """Values of the only feature."""
        return dense(self.X)[:, 0]

    def every_sum(self) -> Array | None:
        """With one feature: both signs with every threshold. Processes that share the rows count them once."""
        return self._every_sum

    @cached_property
    def _every_sum(self) -> Array | None:
        if self._edges is None:
            return None
        above = sums_above(self._edges, self._only_feature, self.rows.cells)
        return np.concatenate([above, self.rows.cells.totals[:, None] - above], axis=1)

    def every_snapshot(self, chosen: NDArray[np.intp]) -> NDArray[Any]:
        """Weights of 1 or -1 with thresholds."""
        assert self._edges is not None  # callers have called `every_sum`
        count = len(self._edges)
        sign = np.where(chosen < count, 1.0, -1.0)
        edge = self._edges[chosen % count].astype(float)
        always = np.isinf(edge)
        W = np.stack([np.where(always, 0.0, sign), np.where(always, sign, -sign * edge)])
        return W.astype(self.W.dtype)

    def snapshot(self) -> NDArray[Any]:
        """Copy the weights."""
        return self._as_snapshot(self.raw).copy()

    def _as_snapshot(self, V: NDArray[Any]) -> NDArray[Any]:
        """Weights without the intercept's row where there is none."""
        return V if self.shifts else V[:-1]

    @property
    def shifts(self) -> bool:
        """Whether the snapshots have a row of intercepts."""
        return self.setting.intercept or self.setting.standardise

    def start_from(self, snapshot: NDArray[Any]) -> None:
        """Start from the weights of a snapshot."""
        expected = self._as_snapshot(self.W).shape
        if snapshot.shape != expected:
            raise AlgorithmError(
                f"cannot continue: the earlier play has weights of shape {snapshot.shape}, this one {expected}"
            )
        V = np.zeros_like(self.W)
        V[: len(snapshot)] = snapshot
        self.W = V if self.standard is None else self.standard.standard(V)

    def about(self) -> str:
        """The setting, and the sums of the features over all rows."""
        sums = self.rows.shared.total(np.asarray(self.X.sum(axis=0, dtype=float)).reshape(-1))
        return f"{self.setting} {self.X.dtype} {' '.join(f'{value:.6e}' for value in sums)}"

    def state(self) -> LinearState:
        """Weights and steps."""
        return copy.deepcopy(LinearState(self.W, self.steps))

    def resume(self, state: LinearState) -> None:
        """Restore weights and steps."""
        restored = copy.deepcopy(state)
        self.W, self.steps = restored.W, restored.step

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop the other columns."""
        self.W = np.ascontiguousarray(self.W[:, columns])
        self.steps = self.steps.keep(columns)

    def finite(self) -> NDArray[np.bool_]:
        """Columns without NaN or infinity."""
        finite: NDArray[np.bool_] = np.isfinite(self.W).all(axis=0)
        return finite

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Put the chosen columns side by side."""
        W = np.stack([snapshots[t][:, c] for t, c in chosen], axis=1)
        return LinearMembers(W, self.shifts, self.names)

    def average(self, snapshots: Sequence[Any], chosen: Sequence[Choice], weights: Array) -> Members:
        """Average the chosen columns."""
        W = sum(weight * snapshots[t][:, c] for (t, c), weight in zip(chosen, weights, strict=True))
        return LinearMembers(np.asarray(W, dtype=self.W.dtype)[:, None], self.shifts, self.names)

    def measurer(self, rows: Rows) -> Callable[[Members], Array]:
        """Arrange the features once, then one product for any number of members."""
        X = checked_features(rows.X, self.X.shape[1], self.names)
        with kernels.expecting(rows.shared.total(stored_values(X)) * MAX_JUDGED):
            design = Design(X, rows.cells, rows.cells)

        def measure(members: Members) -> Array:
            weights = members.linear_weights()
            assert weights is not None  # a linear learner has made them
            return rows.reduce(design.sums(weights.astype(design.X.dtype)))[0]

        return measure

    def _project(self) -> None:
        if self.setting.radius is not None:
            norm = np.sqrt((self.W**2).sum(0))
            self.W *= np.minimum(1.0, self.setting.radius / np.maximum(norm, 1e-12)).astype(self.W.dtype)


class FittedLinear(Learner):
    """Linear classifiers that were fitted elsewhere: snapshots are weights, with a row of intercepts."""

    def __init__(self, names: tuple[str, ...] | None) -> None:
        self.names = names

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Put the chosen columns side by side."""
        W = np.stack([snapshots[t][:, c] for t, c in chosen], axis=1)
        return LinearMembers(W, names=self.names)


def best_threshold(scores: NDArray[Any], cost: Array) -> float:
    """Find the threshold above which predicting 1 costs least in sum, in the middle of a gap between scores.

    Examples
    --------
    >>> best_threshold(np.array([3.0, 1.0, 2.0]), np.array([-1.0, 4.0, -2.0]))
    1.5
    """
    values, of = np.unique(scores, return_inverse=True)
    above = np.bincount(of.reshape(-1), weights=cost)[::-1].cumsum()[::-1]
    best = int(np.argmin(np.append(above, 0.0)))
    edges = np.concatenate([[values[0] - 1], values, [values[-1] + 1]]).astype(float)
    return float(edges[best : best + 2].mean())
