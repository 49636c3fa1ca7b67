"""The result of a run: the columns that were found, their exact rates, and the classifiers that can be made of them.

In: the columns of a game or of column generation. Out: `Solution`, with ``.uniform() .average() .shrink() .best()
.polish()``, each a `Classifier`; the history as arrays; and a `Status` with the result, what is proven about it, and
what to try. ``solution.on(X, y, ...)`` evaluates the same columns on other data, so that a classifier can be selected
on a validation set; ``solution.for_problem(problem)`` evaluates them for another problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.cached import cached_property
from .._core.errors import AlgorithmError
from .._core.peers import all_processes
from ..data.cells import Cells
from ..data.sample import Sample
from ..mixtures import Columns, Search, Source, Weights, best, best_by_ranks, best_by_violation, largest, shrink, values
from ..models.contract import Learner
from ..models.members import Members
from ..models.rows import Rows
from ..players.losses import loss_values
from ..problem.canonical import RatioForm, canonicalize
from ..problem.problem import Problem
from ..problem.table import Table, make_table
from .algorithms import Algorithm, Output
from .classifiers import Classifier
from .column_generation import Course
from .infeasible import least_broken
from .loop import Rules
from .record import Record
from .solution_status import PROGRAMMES, status_of_solution
from .status import Status

__all__ = ["Play", "Solution", "Status"]

Array = NDArray[np.float64]
_BLOCK = 512


@dataclass(frozen=True, eq=False)
class Play:
    """A game that was played: its table, its rules, its configurations, and the record."""

    table: Table
    record: Record
    rules: Rules
    configurations: tuple[dict[str, Any], ...]


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of `equirate.solve`.

    Parameters
    ----------
    problem, algorithm
        What was solved, and how.
    judge
        The table of the data that mixtures are chosen on: the training data, or the data given to `on`.
    columns
        The classifiers that were found, with their exact rates on these data.
    learner, snapshots
        The trained model, and its snapshots, from which `members` makes classifiers.
    tolerance
        Largest violation that counts as met.
    exact
        Whether the model's best responses are exact, so that they prove bounds.
    play
        The game, if one was played.
    course
        The passes of column generation, if it was used.
    """

    problem: Problem
    algorithm: Algorithm
    judge: Table
    columns: Columns
    learner: Learner
    snapshots: tuple[Any, ...]
    tolerance: float = 1e-3
    exact: bool = False
    play: Play | None = None
    course: Course | None = None

    @classmethod
    def of_play(
        cls, play: Play, algorithm: Algorithm, learner: Learner, tolerance: float, exact: bool = False
    ) -> Solution:
        """The solution of a game: its iterates as columns, judged by the problem as the user wrote it.

        Parameters
        ----------
        play
            The game that was played.
        algorithm, learner, tolerance, exact
            As for `Solution`.

        Returns
        -------
        Solution
            The iterates and how they were found.
        """
        table, record = play.table, play.record
        problem, judge, columns = table.program.problem, table, record.columns()
        if algorithm.form is not RatioForm.SLACK:  # the same rates, in another order
            judge = make_table(canonicalize(problem), table.examples, table.cells)
            known = {rate.key: k for k, rate in enumerate(table.program.rates)}
            columns = columns.measured(columns.rates[[known[rate.key] for rate in judge.program.rates]])
        return cls(problem, algorithm, judge, columns, learner, tuple(record.snapshots), tolerance, exact, play)

    # -- the game --------------------------------------------------------------------------------

    def _played(self, wanted: str) -> Play:
        if self.play is None:
            raise AlgorithmError(
                f"{wanted} belongs to a game, and {self.algorithm.name} plays none: name an algorithm of the paper, "
                'such as algorithm="surrogate" or "oracle"; polish(), shrink() and best() are there'
            )
        return self.play

    @property
    def record(self) -> Record:
        """The record of a game."""
        return self._played("a record").record

    @property
    def configurations(self) -> tuple[dict[str, Any], ...]:
        """One dict per configuration of a game: step sizes, level, seed; empty without a game."""
        return () if self.play is None else self.play.configurations

    @property
    def rounds(self) -> int:
        """Rounds that were played, or passes over the data that answered prices."""
        if self.play is not None:
            return self.play.record.played
        return 0 if self.course is None else self.course.passes

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the run."""
        if self.play is not None:
            return self.play.record.interrupted
        return self.course is not None and self.course.interrupted

    # -- values ----------------------------------------------------------------------------------

    def values(self, rates: Array, losses: Array | None = None) -> tuple[Array, Array]:
        """Minimised objective and signed violations (split constraints) of classifiers, as the user wrote them.

        Parameters
        ----------
        rates
            Rates on the judging data, (rates, classifiers).
        losses
            Ordinary losses on the judging data, (losses, classifiers).

        Returns
        -------
        objective : numpy.ndarray
            One value per classifier.
        violations : numpy.ndarray
            (constraints, classifiers); positive where a constraint is broken.
        """
        return values(self.judge, rates, losses)

    @cached_property
    def history(self) -> dict[str, Array]:
        """Arrays over rounds and configurations: objective, violation, multipliers, slacks, lagrangian, bound.

        ``objective`` is in the user's own sense; ``violation`` is the largest, at least 0. Column generation has one
        configuration, its rounds are passes, and its objective is that of the best mixture so far; no mixture of the
        columns so far is better than ``bound``.
        """
        if self.play is None:
            return {} if self.course is None else self.course.history()
        record, configurations = self.play.record, len(self.play.configurations)
        shape = (len(record.rounds), configurations)
        objective, violation = np.full(shape, np.nan), np.full(shape, np.nan)
        where = (self.columns.handle[:, 0], self.columns.configuration)
        minimised, violations = self.values(self.columns.rates, self.columns.losses)
        objective[where], violation[where] = self.sign * minimised, largest(violations)
        return {
            "round": np.array(record.rounds),
            "objective": objective,
            "violation": violation,
            "multipliers": record.stacked("multipliers"),
            "slacks": record.stacked("slacks"),
            "lagrangian": record.stacked("lagrangian"),
            "bound": np.full(shape, np.nan),
        }

    def on(self, X: Any, y: ArrayLike, *, attributes: Any = None, sample_weight: ArrayLike | None = None) -> Solution:
        """Evaluate the same columns on other data: mixtures made from the result are chosen on these data.

        Parameters
        ----------
        X, y
            The other data.
        attributes
            Attributes that slices and baselines refer to.
        sample_weight
            Non-negative weights.

        Returns
        -------
        Solution
            The same classifiers, with rates on these data.
        """
        with all_processes():
            return self.on_sample(Sample.of(X, y, attributes, sample_weight))

    def on_sample(self, sample: Sample, cells: Cells | None = None) -> Solution:
        """Evaluate the same columns on a sample that has been checked.

        Parameters
        ----------
        sample
            Features, labels, attributes and weights.
        cells
            The cells of the sample, if they are known; by default they are computed.

        Returns
        -------
        Solution
            The same classifiers, with rates on this sample.
        """
        judge = make_table(self.judge.program, sample.examples, cells)
        terms = self.problem.losses()
        measure = self.learner.measurer(Rows.of(sample, judge.cells))
        rates, losses = [], []
        for start in range(0, len(self.columns), _BLOCK):
            members = self.members(range(start, min(start + _BLOCK, len(self.columns))))
            rates.append(judge.rates(measure(members)))
            if terms:
                scores = members.scores(sample.X, attributes=sample.examples.columns)
                losses.append(loss_values(terms, sample.examples, scores))
        lost = np.concatenate(losses, axis=1) if terms else np.zeros((0, len(self.columns)))
        return replace(self, judge=judge, columns=self.columns.measured(np.concatenate(rates, axis=1), lost))

    def for_problem(self, problem: Problem) -> Solution:
        """The same columns on the same data, for another problem with the same rates.

        Another limit, another weight or another sense needs no new training; a rate that was not recorded does.

        Parameters
        ----------
        problem
            The other problem.

        Returns
        -------
        Solution
            The same classifiers, judged by that problem.

        Examples
        --------
        >>> import equirate as eq
        >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
        >>> solution = eq.solve(eq.Problem(eq.maximize(eq.tpr()), [eq.fpr() <= 0.5]), X, y)
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
        rates = self.columns.rates[[known[rate.key] for rate in judge.program.rates]]
        losses = self.columns.losses[[lost[term.key] for term in problem.losses()]]
        return replace(self, problem=problem, judge=judge, columns=self.columns.measured(rates, losses))

    # -- classifiers -----------------------------------------------------------------------------

    def members(self, chosen: Sequence[int] | None = None) -> Members:
        """Columns as deterministic classifiers, by default all.

        Parameters
        ----------
        chosen
            Positions of columns; None for all.

        Returns
        -------
        Members
            The classifiers, in this order.
        """
        handle = self.columns.handle if chosen is None else self.columns.handle[list(chosen)]
        return self.learner.members(self.snapshots, [(int(t), int(k)) for t, k in handle])

    def uniform(self, configuration: int | None = None) -> Classifier:
        """The mixture that the theorem is about: equal weights, or the algorithm's own (COCO, proxy-Lagrangian).

        Parameters
        ----------
        configuration
            Position of a configuration; None for the best one.

        Returns
        -------
        Classifier
            The mixture.
        """
        return self._classifier(*self._shares(configuration), "uniform")

    def average(self, configuration: int | None = None) -> Classifier:
        """The deterministic classifier with averaged parameters (SPADE, SPADE+ and NEMSIS).

        Parameters
        ----------
        configuration
            Position of a configuration; None for the best one.

        Returns
        -------
        Classifier
            One classifier.
        """
        chosen, weights = self._shares(configuration)
        handle = [(int(t), int(k)) for t, k in self.columns.handle[chosen]]
        members = self.learner.average(self.snapshots, handle, weights)
        return Classifier(members, np.ones(1), self.problem, "average")

    def output(self, configuration: int | None = None) -> Classifier:
        """The classifier that the algorithm's own theorem is about.

        Parameters
        ----------
        configuration
            Position of a configuration; None for the best one, or for all columns where the best mixture is the
            output.

        Returns
        -------
        Classifier
            A mixture, or one classifier.
        """
        if self.algorithm.output is Output.BEST:
            return self.polish(configuration)
        return self.average(configuration) if self.algorithm.output is Output.AVERAGE else self.uniform(configuration)

    def shrink(self, configuration: int | None = None) -> Classifier:
        """The paper's sparse mixture: a linear programme over each column's own objective and violations.

        Parameters
        ----------
        configuration
            Mix the iterates of this configuration of a game alone.

        Returns
        -------
        Classifier
            The mixture.
        """
        chosen = self._of(configuration)
        shrunk = shrink(self.judge, self.columns.where(chosen))
        return self._classifier(chosen, shrunk.weights, "shrink", shrunk.smallest_violation)

    def best(self, configuration: int | None = None) -> Classifier:
        """The single best column, by the larger of its ranks in objective and violation.

        Parameters
        ----------
        configuration
            Choose among the iterates of this configuration of a game alone.

        Returns
        -------
        Classifier
            One classifier.
        """
        chosen = self._of(configuration)
        k = best_by_ranks(self.judge, self.columns.where(chosen))
        return self._classifier(chosen[[k]], np.ones(1), "best")

    def best_single(self, constrained: bool = True) -> Classifier:
        """The single column with the best objective among those with the smallest violation.

        Parameters
        ----------
        constrained
            Whether violations matter. If False, only the objective does.

        Returns
        -------
        Classifier
            One classifier.
        """
        k = best_by_violation(self.judge, self.columns, self.tolerance, constrained)
        return self._classifier(np.array([k]), np.ones(1), "best")

    def polish(
        self, configuration: int | None = None, *, gap: float = 1e-3, time_limit: float | None = None
    ) -> Classifier:
        """The best mixture of the columns for the problem itself, at least as good as `shrink` and `best`.

        For affine and convex problems, and if one ratio is the objective, it is the global optimum. With up to fifty
        ratios it is within ``gap`` of the optimum if the search gets that far; with more it is the best of several
        local optima; with black boxes, it is at least as good as `shrink` and `best`.

        Parameters
        ----------
        configuration
            Mix the iterates of this configuration of a game alone.
        gap
            How far from the best mixture the search for ratios may end.
        time_limit
            Seconds to search for; 0 for a local optimum. By default the number of linear programmes is limited, to
            about two seconds: that gives the same mixture on every machine, which a limit in seconds does not.

        Returns
        -------
        Classifier
            Its ``notes`` have ``bound`` (no mixture of these columns that meets the constraints has a better
            objective; None if no bound is known) and ``gap``, the distance of its objective from the bound.

        Examples
        --------
        >>> import numpy as np, equirate as eq
        >>> rng = np.random.default_rng(0)
        >>> y, group = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
        >>> X = rng.normal(size=(400, 2)) + y[:, None]
        >>> parity = eq.predictive_parity("group", tolerance=0.01)
        >>> solution = eq.solve(eq.Problem(eq.maximize(eq.f1()), parity), X, y, attributes={"group": group})
        >>> solution.polish(gap=1e-3, time_limit=60).notes["gap"] <= 1e-3
        True
        """
        if configuration is None and gap == 1e-3 and time_limit is None:
            return self._polished
        if not gap >= 0 or (time_limit is not None and not time_limit >= 0):
            raise AlgorithmError(f"gap and time_limit must not be negative; got gap={gap!r}, time_limit={time_limit!r}")
        search = Search(gap, time_limit, PROGRAMMES if time_limit is None else None)
        return self._polish(self._of(configuration), None if time_limit == 0 else search)

    @cached_property
    def _polished(self) -> Classifier:
        return least_broken(self, self._polish(self._of(None), Search(programmes=PROGRAMMES)))

    def _polish(self, chosen: NDArray[np.intp], search: Search | None) -> Classifier:
        mixture = best(self.judge, self.columns.where(chosen), search)
        classifier = self._classifier(chosen, mixture.weights, "polish", mixture.smallest_violation)
        return replace(classifier, notes={**classifier.notes, **self._proven(classifier, mixture)})

    def _proven(self, classifier: Classifier, mixture: Weights) -> dict[str, float | None]:
        """The bound that the programmes proved, in the user's own sense, and the classifier's distance from it."""
        objective, violation = self.value_of(classifier)
        bound = mixture.bound
        if bound is None or violation > self.tolerance or not np.isfinite(objective):
            return {"bound": None, "gap": None}
        bound = min(bound, self.sign * objective)  # a violation of 1e-7 can improve the objective beyond the bound
        return {"bound": float(self.sign * bound), "gap": float(self.sign * objective - bound)}

    def best_configuration(self) -> int:
        """The configuration whose theorem's mixture is best by ranks.

        Returns
        -------
        int
            The position of a configuration.
        """
        alive = np.unique(self.columns.configuration).tolist()
        parts = [(self.columns.where(chosen), weights) for chosen, weights in map(self._shares, alive)]
        mixed = [np.stack([getattr(part, name) @ w for part, w in parts], axis=1) for name in ("rates", "losses")]
        mixtures = Columns.of(mixed[0], Source.PLAYED).measured(*mixed)
        return int(alive[best_by_ranks(self.judge, mixtures)])

    def _shares(self, configuration: int | None) -> tuple[NDArray[np.intp], Array]:
        """Columns of a configuration and their weights in the mixture that the theorem is about."""
        record = self._played("this mixture").record
        c = self.best_configuration() if configuration is None else configuration
        chosen = self._of(c)
        shares = np.array([record.shares[t][c] for t in self.columns.handle[chosen, 0]])
        return chosen, shares / shares.sum()

    def _of(self, configuration: int | None) -> NDArray[np.intp]:
        """Indices of the columns of a configuration of the game; None for all columns."""
        if configuration is None:
            return np.arange(len(self.columns))
        count = len(self._played("a configuration").configurations)
        if not 0 <= configuration < count:
            raise AlgorithmError(f"there is no configuration {configuration}: there are {count}")
        chosen = np.flatnonzero(self.columns.configuration == configuration)
        if not len(chosen):
            raise AlgorithmError(f"configuration {configuration} diverged before anything was recorded: see the status")
        return chosen

    def _classifier(self, chosen: NDArray[np.intp], weights: Array, origin: str, smallest: float = 0.0) -> Classifier:
        support = np.flatnonzero(weights > 0)
        picked = tuple(int(k) for k in chosen[support])
        kept = weights[support] / weights[support].sum()
        return Classifier(self.members(picked), kept, self.problem, origin, picked, {"smallest_violation": smallest})

    def value_of(self, classifier: Classifier) -> tuple[float, float]:
        """Objective (in the user's sense) and largest signed violation of a mixture of columns on the judging data.

        Parameters
        ----------
        classifier
            A mixture that this solution returned.

        Returns
        -------
        objective : float
            The objective.
        violation : float
            The largest violation; negative where every constraint holds strictly.
        """
        if not classifier.chosen:
            raise AlgorithmError(f"{classifier!r} is no mixture of recorded iterates: use its evaluate() with data")
        columns = self.columns.where(classifier.chosen)
        mixed = [(part @ classifier.weights)[:, None] for part in (columns.rates, columns.losses)]
        objective, violations = self.values(*mixed)
        return self.sign * float(objective[0]), float(violations.max()) if len(violations) else 0.0

    @property
    def sign(self) -> float:
        """Factor between the objective as the user wrote it and the one to minimise."""
        return self.problem.objective.sign

    # -- status ----------------------------------------------------------------------------------

    @cached_property
    def status(self) -> Status:
        """Objective, violation and bounds on the judging data, and what to try if that is not good enough."""
        return status_of_solution(self)

    @property
    def judged_where_trained(self) -> bool:
        """Whether columns are evaluated on the data that the model answered on, for the problem that was solved."""
        if self.play is not None:
            table = self.play.table
            same_data = self.judge.examples is table.examples and self.problem is table.program.problem
            return same_data and self.play.rules.levels is None and not self.play.rules.two_sets
        return self.course is not None and self.course.table is self.judge and not self.course.on_other_rows

    def __repr__(self) -> str:
        return (
            f"<Solution: {self.algorithm.name}, {self.rounds} {'passes' if self.play is None else 'rounds'}, "
            f"{len(self.columns)} columns>\n{self.status}"
        )
