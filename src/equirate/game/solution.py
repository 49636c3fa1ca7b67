"""What a run has reached: the recorded iterates, their exact rates, and the classifiers that can be made of them.

In: the record of a play. Out: `Solution`, with ``.uniform() .average() .shrink() .best() .polish()``, each a
`Classifier`; the history as arrays; and a `Status` that says what was reached, how sure we are, and what to try.
``solution.on(X, y, ...)`` judges the same iterates on other data, so that selection can happen on a validation part;
``solution.for_problem(problem)`` judges them for another problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.errors import AlgorithmError
from .._core.peers import joined
from ..data.cells import Cells
from ..data.sample import Sample
from ..mixtures import Search, Weights, best_index, polish_weights, shrink_weights
from ..models.contract import Fit, Learner, Members, Rows
from ..players.losses import loss_values
from ..problem.canonical import canonicalize
from ..problem.problem import Problem
from ..problem.table import Table, make_table
from .algorithms import Algorithm, Output
from .classifiers import Classifier, snapped
from .finishing import ROUNDS, Joined, Told, finishing
from .infeasible import Conflict, conflict_of, least_broken
from .loop import Rules, values as values_of
from .record import Record
from .status import COLUMNS, EVERYTHING, Status

__all__ = ["Solution", "Status", "describe"]

Array = NDArray[np.float64]
_BLOCK = 512
_SAME = 1e-6
"""Violations that differ by less are told apart by the objective."""
PROGRAMMES = 600
"""Linear programmes that polishing takes at most without a time limit: up to about two seconds."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of `equirate.solve`.

    Attributes
    ----------
    problem, algorithm, table, record, rules
        What was solved, how, and everything that was recorded.
    configurations
        One dict per configuration: step sizes, level, seed.
    judge
        The table of the data that mixtures are chosen on: the training data, or what `on` was given.
    rates
        (recorded rounds, rates, configurations): exact rates of every iterate on the judging data; ``losses`` likewise.
    """

    problem: Problem
    algorithm: Algorithm
    table: Table
    record: Record
    rules: Rules
    learner: Learner
    configurations: tuple[dict[str, Any], ...]
    judge: Table
    rates: Array
    losses: Array
    tolerance: float = 1e-3
    exact: bool = False
    """Whether the model's best responses are ones."""
    training: Table | None = None
    """The table of what the model is trained on, where that is other data than the multipliers see."""
    every: Array | None = None
    """Sums of every classifier that the model can be, on the judging data, where they are known."""
    mixed: tuple[int, ...] | None = None
    """The recorded rounds that are mixed; None for all."""

    # -- values ----------------------------------------------------------------------------------

    @cached_property
    def iterates(self) -> list[tuple[int, int]]:
        """Every iterate that is mixed: (recorded round, configuration)."""
        rounds = range(len(self.record.actives)) if self.mixed is None else self.mixed
        return [(t, int(c)) for t in rounds for c in self.record.actives[t]]

    def values(self, rates: Array, losses: Array) -> tuple[Array, Array]:
        """Minimised objective and signed violations (split constraints) of classifiers, in the user's own terms.

        ``rates`` and ``losses`` (quantity, classifiers) are measured on the judging data; see `measured`.
        """
        return values_of(self.judge, snapped(rates), losses, self.judge.constants)

    def measured(self, chosen: Sequence[tuple[int, int]]) -> tuple[Array, Array]:
        """Exact rates and ordinary losses (quantity, chosen) of some of `iterates` on the judging data."""
        if not chosen:
            return np.zeros((self.rates.shape[1], 0)), np.zeros((self.losses.shape[1], 0))
        t, c = np.array(chosen).T
        return self.rates[t, :, c].T, self.losses[t, :, c].T

    @cached_property
    def history(self) -> dict[str, Array]:
        """Arrays over recorded rounds and configurations: objective, violation, multipliers, slacks, lagrangian.

        ``objective`` is in the user's own sense; ``violation`` is the largest, at least 0.
        """
        T, C = self.record.recorded, self.rates.shape[2]
        parts = (self.rates[:T], self.losses[:T])
        flat = [np.moveaxis(array, 1, 0).reshape(array.shape[1], T * C) for array in parts]
        objective, violations = self.values(*flat)
        if self.problem.objective.sense == "maximize":
            objective = -objective
        worst = np.maximum(violations, 0).max(axis=0, initial=0.0)
        dropped = np.isnan(self.rates[:T]).any(axis=1)
        return {
            "round": np.array(self.record.rounds[:T]),
            "objective": np.where(dropped, np.nan, objective.reshape(T, C)),
            "violation": np.where(dropped, np.nan, worst.reshape(T, C)),
            "multipliers": self.record.stacked("multipliers")[:T],
            "slacks": self.record.stacked("slacks")[:T],
            "lagrangian": self.record.stacked("lagrangian")[:T],
        }

    def on(self, X: Any, y: ArrayLike, attributes: Any = None, sample_weight: ArrayLike | None = None) -> Solution:
        """Judge the same iterates on other data: mixtures made from the result are chosen there."""
        with joined():
            return self.on_sample(Sample.of(X, y, attributes, sample_weight))

    def on_sample(self, sample: Sample, cells: Cells | None = None) -> Solution:
        """Judge the same iterates on a sample that is checked already; ``cells`` are its cells, where known."""
        judge = make_table(self.judge.program, sample.examples, cells)
        judged, lost = np.full_like(self.rates, np.nan), np.full_like(self.losses, np.nan)
        terms = self.problem.losses()
        rows = Rows.of(sample, judge.cells)
        measure = self.learner.measurer(rows)
        for start in range(0, len(self.iterates), _BLOCK):
            block = self.iterates[start : start + _BLOCK]
            members = self.members(block)
            t, c = np.array(block).T
            judged[t, :, c] = judge.rates(measure(members)).T
            if terms:
                lost[t, :, c] = loss_values(terms, sample.examples, members.scores(sample.X, sample.examples.columns)).T
        return replace(self, judge=judge, rates=judged, losses=lost, every=None)

    def for_problem(self, problem: Problem) -> Solution:
        """The same iterates on the same data, for another problem with the same rates: mixtures are made for that one.

        Another limit, another weight or another sense needs no new training; a rate that was not recorded does.

        Examples
        --------
        >>> import equirate as eq
        >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
        >>> solution = eq.solve(eq.Problem(eq.maximize(eq.tpr()), [eq.fpr() <= 0.5]), X, y, n_rounds=200)
        >>> stricter = eq.Problem(eq.maximize(eq.tpr()), [eq.fpr() <= 0.1])
        >>> solution.for_problem(stricter).polish().problem
        maximize tpr()
        subject to
          fpr() <= 0.1
        """
        program = canonicalize(problem)
        known = {rate.key: k for k, rate in enumerate(self.judge.program.rates)}
        lost = {term.key: k for k, term in enumerate(self.problem.losses())}
        strange = [repr(rate) for rate in program.rates if rate.key not in known]
        strange += [repr(loss) for loss in problem.losses() if loss.key not in lost]
        if strange:
            raise AlgorithmError(
                f"{', '.join(strange)} was not recorded: for_problem takes problems with the rates and losses of the "
                "one that was solved; solve this one by itself"
            )
        judge = make_table(program, self.judge.examples, self.judge.cells)
        rates = self.rates[:, [known[rate.key] for rate in judge.program.rates]]
        losses = self.losses[:, [lost[term.key] for term in problem.losses()]]
        return replace(self, problem=problem, judge=judge, rates=rates, losses=losses)

    # -- finishing -------------------------------------------------------------------------------

    def finish(
        self, *, rounds: int = ROUNDS, time_limit: float | None = None, progress: Told | None = None
    ) -> Solution:
        """Add classifiers that the play did not pass through, until no answer of the model improves the best mixture.

        The best mixture of all columns has prices; the model answers them, and what it answers joins the columns (see
        `equirate.game.finishing`). A linear model answers with weighted logistic regressions and a search over
        directions, each with its best intercept, and the logistic regression of the labels joins with thresholds all
        over its scores; a list of classifiers joins as a whole. Objectives with ordinary losses, which costs do not
        price, are left as they are.

        Parameters
        ----------
        rounds
            Rounds of prices and answers at most.
        time_limit
            Seconds after which no further round begins; by default until nothing improves.
        progress
            A function of the round, and of the objective and the violation of the best mixture so far.

        Returns
        -------
        Solution
            The same with more `iterates`; what the play itself has recorded (`history`, `uniform`, `average`) stays as
            it is. Ctrl-C ends the rounds and keeps what there is.

        Examples
        --------
        >>> import numpy as np, equirate as eq
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(0, 2, 300)
        >>> X = rng.normal(size=(300, 2)) + y[:, None]
        >>> problem = eq.Problem(eq.maximize(eq.f1()), [eq.precision() >= 0.95])
        >>> solution = eq.solve(problem, X, y, n_rounds=200)
        >>> solution.finish().status.objective >= solution.status.objective
        True
        """
        if self.judge.examples is not self.table.examples:
            raise AlgorithmError("finish() prices what the model is trained on: call it before on(), which judges")
        if self.problem.losses():
            return self
        with joined():
            return self.joining(finishing(self, rounds=rounds, time_limit=time_limit, told=progress))

    def played(self) -> Solution:
        """The same, with mixtures of the iterates of the play alone."""
        return replace(self, mixed=tuple(range(self.record.recorded)))

    def joined(self, fit: Fit) -> Solution:
        """The same, with mixtures of what joined after the play and fits the sample no more closely than ``fit``."""
        return replace(self, mixed=tuple(t for t, found in sorted(self.record.fits.items()) if found <= fit))

    def joining(self, joined: Joined) -> Solution:
        """The same with further classifiers, found on the data that this solution is judged on."""
        record = replace(self.record, interrupted=self.record.interrupted or joined.interrupted)
        before, count, rates = len(record.rounds), record.count, [self.rates]
        for k, (snapshot, places) in enumerate(zip(joined.snapshots, joined.places, strict=True)):
            record = record.joining(snapshot, places, joined.fits[k])
            found = self.judge.rates(joined.sums[k])
            for start in range(0, found.shape[1], count):
                some = found[:, start : start + count]
                rates.append(np.pad(some, ((0, 0), (0, count - some.shape[1])), constant_values=np.nan)[None])
        losses = np.full((len(record.rounds) - before, *self.losses.shape[1:]), np.nan)
        mixed = None if self.mixed is None else (*self.mixed, *range(before, len(record.rounds)))
        return replace(
            self,
            record=record,
            rates=np.concatenate(rates),
            losses=np.concatenate([self.losses, losses]),
            mixed=mixed,
        )

    # -- classifiers -----------------------------------------------------------------------------

    def members(self, chosen: Sequence[tuple[int, int]] | None = None) -> Members:
        """Recorded iterates as deterministic classifiers: some of `iterates`, by default all of them."""
        return self.record.members(self.learner, self.iterates if chosen is None else chosen)

    def uniform(self, configuration: int | None = None) -> Classifier:
        """The mixture that the theorem is about: equal weights, or the algorithm's own (COCO, proxy-Lagrangian)."""
        return self._classifier(*self._shares(configuration), "uniform")

    def average(self, configuration: int | None = None) -> Classifier:
        """The deterministic classifier with averaged parameters (SPADE, SPADE+ and NEMSIS)."""
        chosen, weights = self._shares(configuration)
        members = self.learner.average(self.record.snapshots, self.record.local(chosen), weights)
        return Classifier(members, np.ones(1), self.problem, "average")

    def output(self, configuration: int | None = None) -> Classifier:
        """The classifier that the algorithm's own theorem is about."""
        if self.algorithm.output is Output.BEST:
            return self.polish(configuration)
        return self.average(configuration) if self.algorithm.output is Output.AVERAGE else self.uniform(configuration)

    def shrink(self, configuration: int | None = None) -> Classifier:
        """The paper's sparse mixture: a linear programme over each iterate's own objective and violations."""
        chosen = self.iterates if configuration is None else self._of(configuration)
        objective, violations = self.values(*self.measured(chosen))
        result = shrink_weights(objective, violations)
        return self._classifier(chosen, result.weights, "shrink", result.smallest_violation)

    def best(self, configuration: int | None = None) -> Classifier:
        """The single best iterate, by the larger of its ranks in objective and violation."""
        chosen = self.iterates if configuration is None else self._of(configuration)
        objective, violations = self.values(*self.measured(chosen))
        weights = np.zeros(len(chosen))
        weights[best_index(objective, violations)] = 1.0
        return self._classifier(chosen, weights, "best")

    def polish(
        self, configuration: int | None = None, *, gap: float = 1e-3, time_limit: float | None = None
    ) -> Classifier:
        """The best mixture of the iterates for the problem itself, at least as good as `shrink` and `best`.

        For affine and convex problems, and where one ratio is the objective, no mixture does better. With up to four
        ratios it is within ``gap`` of the best if the search gets that far; with more it is a local optimum, sought
        from many starts; with black boxes, the better of `shrink` and `best`.

        Parameters
        ----------
        configuration
            Mix the iterates of this configuration alone.
        gap
            How far from the best mixture the search for ratios may end.
        time_limit
            Seconds to search for; 0 for a local optimum. By default as many programmes as take up to about two seconds:
            that gives the same mixture on every machine, which a limit in seconds does not.

        Returns
        -------
        Classifier
            Its ``notes`` have ``bound`` (no mixture of these iterates that meets the constraints has a better
            objective; None where that is not known) and ``gap``, how far its own objective is from that.

        Examples
        --------
        >>> import numpy as np, equirate as eq
        >>> rng = np.random.default_rng(0)
        >>> y, group = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
        >>> X = rng.normal(size=(400, 2)) + y[:, None]
        >>> parity = eq.predictive_parity("group", tolerance=0.01)
        >>> solution = eq.solve(eq.Problem(eq.maximize(eq.f1()), parity), X, y, {"group": group}, n_rounds=300)
        >>> solution.polish(gap=1e-3, time_limit=60).notes["gap"] <= 1e-3
        True
        """
        if configuration is None and gap == 1e-3 and time_limit is None:
            return self._polished
        if not gap >= 0 or (time_limit is not None and not time_limit >= 0):
            raise AlgorithmError(f"gap and time_limit must not be negative; got gap={gap!r}, time_limit={time_limit!r}")
        chosen = self.iterates if configuration is None else self._of(configuration)
        return self._polish(chosen, _search(gap, time_limit))

    @cached_property
    def _polished(self) -> Classifier:
        return least_broken(self, self._polish(self.iterates, Search(programmes=PROGRAMMES)))

    def _polish(self, chosen: Sequence[tuple[int, int]], search: Search | None) -> Classifier:
        rates, losses = self.measured(chosen)
        objective, violations = self.values(rates, losses)
        shrunk = shrink_weights(objective, violations)
        candidates = [shrunk.weights, np.eye(1, len(chosen), best_index(objective, violations))[0]]
        rows = self.judge.rows_from_rates(rates, losses)
        found: list[Weights] = []
        ratios = self.judge.program.has_ratios
        # Where nobody is predicted 1, two precisions are 0/0 and equal: a start that the others do not get away from.
        starts = [*candidates, np.full(len(chosen), 1 / len(chosen))] if ratios else candidates[:1]
        for start in starts:
            polished = polish_weights(self.judge, rows, start, search=None if found else search)
            if polished is not None:
                found.append(polished)
        candidates += [polished.weights for polished in found]
        k, worst = self._pick(rates, losses, candidates)
        smallest = worst if ratios or not found else min(found[0].smallest_violation, worst)
        made = self._classifier(chosen, candidates[k], "polish", smallest)
        return replace(made, notes={**made.notes, **self._proven(made, found)})

    def _proven(self, made: Classifier, found: list[Weights]) -> dict[str, float | None]:
        """The bound that the programmes proved, in the user's own sense, and how far a classifier is from it."""
        objective, violation = self.value_of(made)
        bound = found[0].bound if found else None
        if bound is None or violation > self.tolerance or not np.isfinite(objective):
            return {"bound": None, "gap": None}
        bound = min(bound, self.sign * objective)  # a violation of 1e-7 can buy that much
        return {"bound": self.sign * bound, "gap": self.sign * objective - bound}

    def best_configuration(self) -> int:
        """The configuration whose theorem's mixture is best by ranks."""
        alive = sorted({int(c) for active in self.record.actives[: self.record.recorded] for c in active})
        parts = [(self.measured(chosen), weights) for chosen, weights in map(self._shares, alive)]
        rates, losses = (np.stack([part[k] @ weights for part, weights in parts], axis=1) for k in (0, 1))
        return alive[best_index(*self.values(rates, losses))]

    def _shares(self, configuration: int | None) -> tuple[list[tuple[int, int]], Array]:
        """Iterates of a configuration and their weights in the mixture that the theorem is about."""
        c = self.best_configuration() if configuration is None else configuration
        chosen = self._of(c)
        shares = np.array([self.record.shares[t][c] for t, _ in chosen])
        return chosen, shares / shares.sum()

    def _of(self, configuration: int) -> list[tuple[int, int]]:
        if not 0 <= configuration < len(self.configurations):
            raise AlgorithmError(f"there is no configuration {configuration}: there are {len(self.configurations)}")
        record = self.record
        chosen = [(t, configuration) for t in range(record.recorded) if configuration in record.actives[t]]
        if not chosen:
            raise AlgorithmError(f"configuration {configuration} diverged before anything was recorded: see the status")
        return chosen

    def _pick(self, rates: Array, losses: Array, candidates: list[Array]) -> tuple[int, float]:
        """Of several mixtures, the one with the smallest violation, then the smallest objective; and its violation."""
        weights = np.stack(candidates, axis=1)
        objective, violations = self.values(rates @ weights, losses @ weights)
        worst = np.maximum(violations, 0.0).max(axis=0, initial=0.0)
        worst = np.where(np.isnan(worst) | np.isnan(objective), np.inf, worst)
        k = int(np.argmin(np.where(worst <= worst.min() + _SAME, objective, np.inf)))
        return k, float(worst[k])

    def _classifier(
        self, chosen: Sequence[tuple[int, int]], weights: Array, origin: str, smallest: float = 0.0
    ) -> Classifier:
        support = np.flatnonzero(weights > 0)
        picked = tuple(chosen[int(k)] for k in support)
        members = self.members(picked)
        kept = weights[support] / weights[support].sum()
        return Classifier(members, kept, self.problem, origin, picked, {"smallest_violation": smallest})

    def value_of(self, classifier: Classifier) -> tuple[float, float]:
        """Objective (in the user's sense) and largest signed violation of a mixture of iterates on the judging data."""
        if not classifier.chosen:
            raise AlgorithmError(f"{classifier!r} is no mixture of recorded iterates: use its evaluate() with data")
        mixed = [(part @ classifier.weights)[:, None] for part in self.measured(classifier.chosen)]
        objective, violations = self.values(*mixed)
        return self.sign * float(objective[0]), float(violations.max()) if len(violations) else 0.0

    @property
    def sign(self) -> float:
        """-1 where the objective is maximised: what it is multiplied with to be minimised."""
        return -1.0 if self.problem.objective.sense == "maximize" else 1.0

    # -- status ----------------------------------------------------------------------------------

    @cached_property
    def status(self) -> Status:
        """What was reached on the judging data, and what to try if that is not good."""
        best = self.polish()
        objective, violation = self.value_of(best)
        feasible = violation <= self.tolerance
        bound, over = self._bound(best) if feasible else (None, None)
        record, conflict = self.record, None if feasible else conflict_of(self)
        return Status(
            objective=objective,
            violation=max(violation, 0.0),
            feasible=feasible,
            tolerance=self.tolerance,
            smallest_violation=float(best.notes["smallest_violation"]),
            bound=bound,
            bound_over=over,
            gap=None if bound is None else self.sign * (objective - bound),
            lambda_regret=self._lambda_regret(),
            theta_regret=self._theta_regret(),
            rounds=record.played,
            interrupted=record.interrupted,
            diverged=tuple(sorted(record.diverged)),
            left_domain=tuple(sorted(record.left_domain)),
            advice=tuple(self._advice(feasible, best, conflict)),
            conflict=() if conflict is None else tuple(map(repr, conflict.constraints)),
            smallest_tolerance=None if conflict is None else conflict.tolerance,
            conflict_over=None if conflict is None else conflict.over,
        )

    def _bound(self, best: Classifier) -> tuple[float | None, str | None]:
        """What is proven, in the user's own sense, and over what: all classifiers of the model if that is known."""
        proven = [bound for bound in (self._dual_bound(), self._list_bound()) if bound is not None]
        if proven:
            reached = self.sign * self.value_of(best)[0]
            return self.sign * min(max(proven), reached), EVERYTHING
        bound = best.notes["bound"]
        return bound, None if bound is None else COLUMNS

    @property
    def _plain(self) -> bool:
        """Whether the model answers exactly, judged on the data that it answered on, for the problem itself."""
        judged = self.judge.examples is self.table.examples and self.problem is self.table.program.problem
        return self.exact and judged and self.rules.levels is None and not self.rules.two_sets

    def _dual_bound(self) -> float | None:
        """Best dual value: a bound where slack and model both answer best."""
        program = self.table.program
        convex = not program.has_ratios and not any(atom.form.grid for atom in program.atoms)
        if not (self._plain and convex and self.algorithm.bounds_optimum):
            return None
        bound = float(np.nanmax(self.record.dual_bound))
        return bound if np.isfinite(bound) else None

    def _list_bound(self) -> float | None:
        """What no mixture of the whole list, recorded or not, is below."""
        every = self.learner.every_sum() if self._plain and self.every is None else self.every
        if self.problem.losses() or every is None:
            return None
        rates, losses = self.judge.rates(every), np.zeros((0, every.shape[1]))
        start = shrink_weights(*self.values(rates, losses)).weights
        rows = self.judge.rows_from_rates(rates, losses)
        found = polish_weights(self.judge, rows, start, search=Search(programmes=PROGRAMMES))
        return None if found is None else found.bound

    def _rounds_of(self, configuration: int) -> int:
        dropped = self.record.diverged.get(configuration)  # before it played that round
        return self.record.played if dropped is None else dropped - 1

    def _lambda_regret(self) -> float | None:
        """How much better one fixed choice of multipliers would have done on average, over the best configuration."""
        player, record = self.algorithm.multipliers, self.record
        if not player.has_regret:
            return None
        c = self.best_configuration()
        top = record.residual_sum[1:, c].max(initial=0.0)
        regret = record.residual_sum[0, c] + player.most * top - record.lagrangian_sum[c]
        return _finite(regret / self._rounds_of(c))

    def _theta_regret(self) -> float | None:
        """How much better one fixed classifier would have done on average against the multipliers that were played."""
        table, record, c = self.table, self.record, self.best_configuration()
        direct = len(table.program.rows) > table.program.n_multipliers
        if direct or table.program.has_losses or self.rules.levels is not None:  # parts of L2 that are not summed up
            return None
        average = record.multiplier_sum[:, c] / self._rounds_of(c)
        every = self.learner.every_sum()
        if every is not None:
            rows = table.rows(every)
        else:
            played = [(t, c) for t in range(record.recorded) for c in record.actives[t]]
            t, configuration = np.array(played).T
            rates = record.stacked("rates")[t, :, configuration].T
            rows = table.rows_constant[:, None] + table.rows_of_rates @ rates
        return _finite(record.model_sum[c] / self._rounds_of(c) - (average @ rows).min())

    def _advice(self, feasible: bool, best: Classifier, conflict: Conflict | None) -> list[str]:
        record, advice = self.record, []
        if record.interrupted:
            advice.append(
                f"interrupted after {record.played} of {self.rules.n_rounds} rounds: run on for a better result"
            )
        for c, t in sorted(record.diverged.items()):
            setting = self.configurations[c]
            advice.append(f"configuration {c} ({describe(setting)}) diverged by round {t}: take smaller steps")
        if record.left_domain:
            c, t = min(record.left_domain.items(), key=lambda item: item[1])
            advice.append(
                f"surrogate rates left the domain of an atom (configuration {c}, round {t}): {self.algorithm.name} "
                "has no guarantee there; use surrogate (Algorithm 2), whose multipliers see the true rates, or "
                "Linear(radius=...)"
            )
        if conflict is not None:
            advice.append(conflict.advice)
        elif not feasible:
            advice.append(
                "no mixture of the recorded iterates was found that meets the constraints: loosen them, or play more "
                "rounds"
            )
        elif (answer := self._degenerate(best)) is not None:
            advice.append(
                f"every rate is that of the classifier that says {answer} to everybody: check the constraints against "
                "each other"
            )
        return advice

    def _degenerate(self, best: Classifier) -> int | None:
        """0 or 1 if the mixture's rates are those of the classifier that says so to everybody."""
        mixed = self.measured(best.chosen)[0] @ best.weights
        sums = np.stack([np.zeros(len(self.judge.cells)), self.judge.cells.totals], axis=1)
        constant = self.judge.rates(sums)
        return next((k for k in (0, 1) if np.allclose(mixed, constant[:, k], rtol=0, atol=1e-9)), None)

    def __repr__(self) -> str:
        return (
            f"<Solution: {self.algorithm.name}, {self.record.played} rounds, {len(self.configurations)} "
            f"configurations, {len(self.iterates)} recorded iterates>\n{self.status}"
        )


def _search(gap: float, time_limit: float | None) -> Search | None:
    """How far to look; None for a local optimum."""
    if time_limit == 0:
        return None
    return Search(gap, time_limit, PROGRAMMES if time_limit is None else None)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def describe(setting: dict[str, Any]) -> str:
    """Show a configuration's settings."""
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in setting.items()
    )
