"""What a run has reached: the recorded iterates, their exact rates, and the classifiers that can be made of them.

In: the record of a play. Out: `Solution`, with ``.uniform() .average() .shrink() .best() .polish()``, each a
`Classifier`; the history as arrays; and a `Status` that says what was reached, how sure we are, and what to try.
``solution.on(X, y, ...)`` judges the same iterates on other data, so that selection can happen on a validation part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .algorithms import Algorithm, Output
from .classifiers import Classifier
from .data import Examples
from .discipline import Curvature
from .errors import AlgorithmError
from .expressions import Rate
from .game import Record, Rules
from .mixtures import best_index, polish_weights, shrink_weights
from .models.base import Player
from .models.finite import FinitePlayer
from .problem import Problem
from .table import Table, rate_values

Array = NDArray[np.float64]
_BLOCK = 512


@dataclass(frozen=True)
class Status:
    """What was reached and how sure we are.

    Attributes
    ----------
    objective, violation
        Of the best mixture of the iterates on the data they were trained on, in the user's own terms.
    feasible
        Whether the largest violation is at most ``tolerance``.
    lower_bound
        No classifier the model can express does better than this (minimised objective), where that is known.
    gap
        Objective minus lower bound; None where there is no bound.
    lambda_regret, theta_regret
        Average regret of the players on the recorded play; ``theta_regret`` is against the recorded iterates (a lower
        estimate), or against all classifiers for a finite list (exact).
    advice
        What to try if this is not good enough.
    """

    objective: float
    violation: float
    feasible: bool
    tolerance: float
    smallest_violation: float
    lower_bound: float | None
    gap: float | None
    lambda_regret: float | None
    theta_regret: float
    rounds: int
    interrupted: bool
    diverged: tuple[int, ...]
    left_domain: tuple[int, ...]
    advice: tuple[str, ...]

    def __str__(self) -> str:
        head = "constraints met" if self.feasible else f"constraints NOT met (largest violation {self.violation:.4g})"
        lines = [f"{head}; objective {self.objective:.6g} after {self.rounds} rounds"]
        if self.gap is not None:
            lines.append(f"at most {max(self.gap, 0.0):.2g} from the optimum over mixtures")
        if self.interrupted:
            lines.append("interrupted: this is what was reached so far")
        return "\n".join(lines + [f"- {line}" for line in self.advice])


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of `equirate.solve`.

    Attributes
    ----------
    problem, algorithm, table, record, rules
        What was solved, how, and everything that was recorded.
    configurations
        One dict per configuration: step sizes, level, seed.
    rates
        (recorded rounds, rates, configurations): exact rates of every iterate on the judging data.
    """

    problem: Problem
    algorithm: Algorithm
    table: Table
    record: Record
    rules: Rules
    player: Player
    configurations: tuple[dict[str, Any], ...]
    rates: Array
    constants: dict[tuple[Any, ...], float]
    tolerance: float = 1e-3

    # -- values ----------------------------------------------------------------------------------

    @cached_property
    def iterates(self) -> list[tuple[int, int]]:
        """Every recorded iterate: (recorded round, configuration)."""
        return [(t, int(c)) for t, active in enumerate(self.record.actives) for c in active]

    def rates_of(self, chosen: Sequence[tuple[int, int]]) -> Array:
        """(rates, chosen): exact rates of some iterates."""
        if not chosen:
            return np.zeros((self.rates.shape[1], 0))
        t, c = np.array(chosen).T
        return self.rates[t, :, c].T

    def _values(self, rates: Array) -> tuple[Array, Array]:
        """Minimised objective and signed violations (split constraints), in the user's own terms."""
        index = {rate.key: k for k, rate in enumerate(self.table.program.rates)}

        def measure(rate: Rate) -> Any:
            return rates[index[rate.key]] if rate.key in index else self.constants[rate.key]

        count = rates.shape[1]
        parts = self._scored_objective()
        with np.errstate(all="ignore"):
            objective = np.broadcast_to(np.asarray(parts.value(measure), dtype=float), (count,)).copy()
            rows = [np.broadcast_to(part.residual.value(measure), (count,)) for _, part in self.table.program.parts]
        return objective, np.array(rows, dtype=float).reshape(len(rows), count)

    def _scored_objective(self) -> Any:
        """The objective without ordinary losses, which are not functions of rates."""
        whole = self.problem.objective.minimised
        if not self.table.program.has_losses:
            return whole
        kept = [factor if part is None else factor * part for factor, part in whole.terms() if type(part).__name__ != "Loss"]
        return sum(kept[1:], kept[0]) if kept else whole.__class__ and _zero()

    @cached_property
    def history(self) -> dict[str, Array]:
        """Arrays over recorded rounds and configurations: objective, violation, multipliers, slacks, lagrangian.

        ``objective`` is in the user's own sense; ``violation`` is the largest, at least 0.
        """
        T, K, C = self.rates.shape
        objective, violations = self._values(np.moveaxis(self.rates, 1, 0).reshape(K, T * C))
        if self.problem.objective.sense == "maximize":
            objective = -objective
        worst = np.maximum(violations, 0).max(axis=0, initial=0.0)
        dropped = np.isnan(self.rates).any(axis=1)
        return {
            "round": np.array(self.record.rounds),
            "objective": np.where(dropped, np.nan, objective.reshape(T, C)),
            "violation": np.where(dropped, np.nan, worst.reshape(T, C)),
            "multipliers": self.record.stacked("multipliers"),
            "slacks": self.record.stacked("slacks"),
            "lagrangian": self.record.stacked("lagrangian"),
        }

    def on(self, X: Any, y: ArrayLike, attributes: Any = None, sample_weight: ArrayLike | None = None) -> Solution:
        """Judge the same iterates on other data: mixtures made from the result are chosen there."""
        examples = Examples.of(y, attributes, sample_weight, fallback=X)
        rates = self.table.program.rates
        cells, matrix, offset = rate_values(rates, examples)
        judged = np.full_like(self.rates, np.nan)
        for start in range(0, len(self.iterates), _BLOCK):
            block = self.iterates[start : start + _BLOCK]
            decided = self.record.members(self.player, block).decide(X, attributes)
            t, c = np.array(block).T
            judged[t, :, c] = (offset[:, None] + matrix @ cells.sums(decided)).T
        zeros = np.zeros(len(examples))
        constants = {
            rate.key: examples.measure(rate.kind, rate.slice, rate.baseline, zeros)
            for rate in self.problem.rates()
            if rate.curvature is Curvature.CONSTANT
        }
        return replace(self, rates=judged, constants=constants)

    # -- classifiers -----------------------------------------------------------------------------

    def uniform(self, configuration: int | None = None) -> Classifier:
        """The mixture that the theorem is about: equal weights, or the algorithm's own (COCO, proxy-Lagrangian)."""
        c = self.best_configuration() if configuration is None else configuration
        chosen = self._of(c)
        weights = np.array([self.record.shares[t][c] for t, _ in chosen])
        weights = weights / weights.sum()
        return self._classifier(chosen, weights, "uniform")

    def average(self, configuration: int | None = None) -> Classifier:
        """The deterministic classifier with averaged parameters (SPADE, SPADE+ and NEMSIS)."""
        c = self.best_configuration() if configuration is None else configuration
        chosen = self._of(c)
        weights = np.array([self.record.shares[t][c] for t, _ in chosen])
        members = self.player.average(self.record.photographs, self.record.local(chosen), weights / weights.sum())
        return Classifier(members, np.ones(1), self.problem, "average")

    def output(self, configuration: int | None = None) -> Classifier:
        """The classifier that the algorithm's own theorem is about."""
        return self.average(configuration) if self.algorithm.output is Output.AVERAGE else self.uniform(configuration)

    def shrink(self, configuration: int | None = None) -> Classifier:
        """The paper's sparse mixture: a linear programme over each iterate's own objective and violations."""
        chosen = self.iterates if configuration is None else self._of(configuration)
        objective, violations = self._values(self.rates_of(chosen))
        result = shrink_weights(objective, violations)
        return self._classifier(chosen, result.weights, "shrink", result.smallest_violation)

    def best(self, configuration: int | None = None) -> Classifier:
        """The single best iterate, by the larger of its ranks in objective and violation."""
        chosen = self.iterates if configuration is None else self._of(configuration)
        objective, violations = self._values(self.rates_of(chosen))
        weights = np.zeros(len(chosen))
        weights[best_index(objective, violations)] = 1.0
        return self._classifier(chosen, weights, "best")

    def polish(self, configuration: int | None = None) -> Classifier:
        """The best mixture of the iterates for the problem itself, at least as good as `shrink`."""
        chosen = self.iterates if configuration is None else self._of(configuration)
        rates = self.rates_of(chosen)
        objective, violations = self._values(rates)
        shrunk = shrink_weights(objective, violations)
        candidates = [shrunk.weights, np.eye(1, len(chosen), best_index(objective, violations))[0]]
        smallest = shrunk.smallest_violation
        rows = self._rows(rates)
        for start in list(candidates):
            polished = polish_weights(self.table, rows, start)
            if polished is None:
                break
            candidates.append(polished.weights)
            smallest = min(smallest, polished.smallest_violation)
            if not self.table.program.has_ratios:
                break
        return self._classifier(chosen, self._pick(rates, candidates), "polish", smallest)

    def best_configuration(self) -> int:
        """The configuration whose theorem's mixture is best by ranks."""
        alive = [c for c in range(len(self.configurations)) if self._of(c)]
        if not alive:
            raise AlgorithmError("no configuration has a recorded iterate: every one diverged; take smaller steps")
        mixtures = []
        for c in alive:
            chosen = self._of(c)
            weights = np.array([self.record.shares[t][c] for t, _ in chosen])
            mixtures.append(self.rates_of(chosen) @ (weights / weights.sum()))
        return alive[best_index(*self._values(np.array(mixtures).T))]

    def _of(self, configuration: int) -> list[tuple[int, int]]:
        if not 0 <= configuration < len(self.configurations):
            raise AlgorithmError(f"there is no configuration {configuration}: there are {len(self.configurations)}")
        return [(t, c) for t, c in self.iterates if c == configuration]

    def _rows(self, rates: Array) -> Array:
        """Signed multiplier rows of iterates, from their rates."""
        table = self.table
        n = table.program.n_multipliers
        rows: Array = table.rows_constant[:n, None] + (table.rows_of_rates @ rates)[:n]
        return rows

    def _pick(self, rates: Array, candidates: list[Array]) -> Array:
        """Of several mixtures, the one with the smallest violation, then the smallest objective."""
        objective, violations = self._values(np.stack([rates @ w for w in candidates], axis=1))
        worst = np.maximum(violations, 0.0).max(axis=0, initial=0.0)
        least = worst.min()
        good = worst <= least + 1e-6
        return candidates[int(np.argmin(np.where(good, objective, np.inf)))]

    def _classifier(
        self, chosen: Sequence[tuple[int, int]], weights: Array, origin: str, smallest: float = 0.0
    ) -> Classifier:
        support = np.flatnonzero(weights > 0)
        picked = tuple(chosen[k] for k in support)
        members = self.record.members(self.player, picked)
        kept = weights[support] / weights[support].sum()
        return Classifier(members, kept, self.problem, origin, picked, {"smallest_violation": smallest})

    def value_of(self, classifier: Classifier) -> tuple[float, float]:
        """Objective (in the user's sense) and largest violation of a mixture of iterates on the judging data."""
        rates = self.rates_of(classifier.chosen) @ classifier.weights
        objective, violations = self._values(rates[:, None])
        sign = -1.0 if self.problem.objective.sense == "maximize" else 1.0
        return sign * float(objective[0]), float(violations.max(initial=-np.inf)) if len(violations) else 0.0

    # -- status ----------------------------------------------------------------------------------

    @cached_property
    def status(self) -> Status:
        """What was reached on the judging data, and what to try if that is not good."""
        best = self.polish()
        objective, violation = self.value_of(best)
        bound = self._lower_bound()
        minimised = -objective if self.problem.objective.sense == "maximize" else objective
        feasible = violation <= self.tolerance
        record = self.record
        return Status(
            objective=objective,
            violation=max(violation, 0.0),
            feasible=feasible,
            tolerance=self.tolerance,
            smallest_violation=float(best.notes["smallest_violation"]),
            lower_bound=bound,
            gap=None if bound is None else minimised - bound,
            lambda_regret=self._lambda_regret(),
            theta_regret=self._theta_regret(),
            rounds=record.played,
            interrupted=record.interrupted,
            diverged=tuple(sorted(record.diverged)),
            left_domain=tuple(sorted(record.left_domain)),
            advice=tuple(self._advice(feasible, best)),
        )

    def _lower_bound(self) -> float | None:
        """Best dual value: exact where the slack answers best and the model is a finite list."""
        exact = isinstance(self.player, FinitePlayer) and not self.table.program.has_ratios
        if not (exact and self.algorithm.responds) or self.record.dual_bound is None or self.rules.levels is not None:
            return None
        bound = float(np.nanmax(self.record.dual_bound))
        return bound if np.isfinite(bound) else None

    def _lambda_regret(self) -> float | None:
        """How much better one fixed choice of multipliers would have done on average, over the best configuration."""
        radius = getattr(self.algorithm.multipliers, "radius", None)
        record = self.record
        if radius is None or not record.played or record.residual_sum is None or record.lagrangian_sum is None:
            return None
        c = self.best_configuration()
        top = max(0.0, float(record.residual_sum[1:, c].max(initial=0.0)))
        return float(record.residual_sum[0, c] + radius * top - record.lagrangian_sum[c]) / record.played

    def _theta_regret(self) -> float:
        """How much better one fixed classifier would have done on average against the multipliers that were played."""
        record, c = self.record, self.best_configuration()
        assert record.multiplier_sum is not None and record.model_sum is not None  # made when the play begins
        average = record.multiplier_sum[:, c] / record.played
        rows = self._rows(self.rates_of(self.iterates))
        if isinstance(self.player, FinitePlayer):
            rows = self.table.rows(self.player.cell_sums)[: len(average)]
        return float(record.model_sum[c] / record.played - (average @ rows).min())

    def _advice(self, feasible: bool, best: Classifier) -> list[str]:
        record, advice = self.record, []
        if record.interrupted:
            advice.append(f"interrupted after {record.played} of {self.rules.n_rounds} rounds: run on for a better result")
        for c, t in sorted(record.diverged.items()):
            setting = self.configurations[c]
            advice.append(f"configuration {c} ({describe(setting)}) diverged by round {t}: take smaller steps")
        if record.left_domain:
            c, t = min(record.left_domain.items(), key=lambda item: item[1])
            advice.append(
                f"surrogate rates left the domain of an atom (configuration {c}, round {t}): {self.algorithm.name} has no "
                "guarantee there; use surrogate (Algorithm 2), whose multipliers see the true rates, or Linear(radius=...)"
            )
        if not feasible:
            smallest = best.notes["smallest_violation"]
            advice.append(
                f"no mixture of the recorded iterates has a violation below {smallest:.4g}: play more rounds, try larger "
                "lambda steps or a richer model, or loosen the constraints"
            )
        elif best.weights.max() > 0 and self._degenerate(best):
            advice.append("the solution predicts the same class for everybody: check the constraints against each other")
        return advice

    def _degenerate(self, best: Classifier) -> bool:
        share = self.table.cells.totals.sum()
        decided = best.members.decide(self.player.X) if hasattr(self.player, "X") else None
        if decided is None:
            return False
        positive = float(self.table.cells.weights @ (decided @ best.weights)) / share
        return positive in (0.0, 1.0)

    def __repr__(self) -> str:
        return (
            f"<Solution: {self.algorithm.name}, {self.record.played} rounds, {len(self.configurations)} configurations, "
            f"{len(self.iterates)} recorded iterates>\n{self.status}"
        )


def _zero() -> Any:
    from .expressions import ZERO

    return ZERO


def describe(setting: dict[str, Any]) -> str:
    """Show a configuration's settings."""
    return ", ".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in setting.items())
