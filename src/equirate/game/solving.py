"""`solve`: from a problem and data to a `Solution`. The user's arguments are checked here, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.choices import AlgorithmName, Bounds, StepRuleName, SurrogateName
from .._core.errors import AlgorithmError, DataError, NotSolvedWarning
from .._core.peers import all_processes
from .._core.warning import warn
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.features import as_given, stacked
from ..data.labels import many_classes
from ..data.sample import Sample, given, same_everywhere
from ..models import make_model
from ..models.contract import Model, check_shared_rows
from ..models.registry import for_classes
from ..models.rows import Rows
from ..players.steps import StepRule
from ..players.surrogates import Surrogate
from ..problem.canonical import canonicalize
from ..problem.problem import Objective, Problem
from ..problem.table import make_cells, make_table, problem_cells
from .algorithms import Algorithm, choose, column_generation, refuse_games
from .engine import HeldOut, solve_by_columns
from .loop import Progress, play
from .options import Options, Steps
from .progress import ProgressLine
from .record import Record, Start
from .solution import Play, Solution
from .solution_status import rounds_played
from .theory import damped_steps, residual_bounds, theory_radius, theory_theta

Array = NDArray[np.float64]


def solve(
    problem: Problem | Objective,
    X: Any,
    y: ArrayLike | None = None,
    *,
    attributes: Any = None,
    sample_weight: ArrayLike | None = None,
    algorithm: AlgorithmName | Algorithm = "auto",
    model: Any = "linear",
    n_rounds: int | None = None,
    record_every: int | None = None,
    theta_step: Steps | None = None,
    lambda_step: Steps | None = None,
    slack_step: float | None = None,
    step_rule: StepRuleName | StepRule[Any] | None = None,
    surrogate: SurrogateName | Surrogate | None = None,
    bounds: Bounds | None = None,
    radius: float | Literal["theory"] | None = None,
    margin: float | None = None,
    levels: ArrayLike | None = None,
    seeds: Sequence[int] = (0,),
    referee: tuple[Any, ...] | None = None,
    start: Start | None = None,
    tolerance: float = 1e-3,
    progress: bool | Progress | None = None,
) -> Solution:
    """Solve a problem: find classifiers whose best mixture optimises it, at the equilibrium of the three-player game.

    Parameters
    ----------
    problem
        An objective, or a `Problem` with constraints.
    X, y
        Features and labels (0/1, False/True or -1/1; or three classes or more, of any values). Or only X, where that is
        an `equirate.distributed.ParquetRows`.
    attributes
        Columns for slices and baselines: data frame, dict of arrays, series or array. Columns of a data frame X can
        also be used.
    sample_weight
        Non-negative weights.
    algorithm
        A name from `equirate.algorithms`, an `Algorithm`, or ``"auto"``: column generation for all models but networks.
        With an algorithm of the paper, or with ``theta_step`` or ``lambda_step``, the game of the paper is played.
    model
        ``"linear"``, a list of classifiers, a scikit-learn classifier (an oracle), a model of `equirate.models`, or a
        ``torch.nn.Module`` with one score per example (see `equirate.torch.TorchModel`).
    n_rounds, record_every
        Rounds to play, and how often to record an iterate. By default 2000 and 10 for a model that descends, 300 and
        1 for one that best-responds. For column generation, the largest number of passes over the data (60).
    theta_step, lambda_step
        Step sizes of model and multipliers. Several values make a grid, played in parallel. ``"theory"`` takes the
        theorems' constant steps (theta needs a ``Linear(radius=...)``). Steps of a player that takes none are ignored.
        By default 0.01 and 0.1 for both; a network has steps of its own.
    slack_step
        Step size of a slack that descends; by default the multipliers'.
    step_rule
        ``"adam"``, ``"sqrt"`` (1/sqrt(t)) or ``"plain"``; by default the algorithm's own, which is Adam.
    surrogate
        ``"hinge"``, ``"logistic"`` or ``"sigmoid"``: the loss that the model descends on; by default the algorithm's
        (hinge).
    bounds
        What the surrogate bounds: ``"net"``, the coefficient of each prediction after all rows are added up, or
        ``"row"``, the coefficient in each row, as in the paper; by default the algorithm's own. Net bounds are tighter.
    radius
        Bound on the sum of the multipliers; ``"theory"`` for the theorems' (constraints then need ``margin``).
    margin
        Slater margin gamma: some mixture meets every constraint with this much to spare. Used by ``"theory"``.
    levels
        (levels, constraints) or (levels,): allowed violation of each constraint (negative: tighter); every level is a
        configuration. There is one column per constraint after ``abs`` and ``max`` are split.
    seeds
        Seeds of the first parameters (``Linear(spread=...)``); every seed is a configuration.
    referee
        ``(X, y)``, ``(X, y, attributes)`` or ``(X, y, attributes, sample_weight)``: data that the multipliers see
        instead of the training data, so that constraints are enforced on data that the model has not been fitted to.
    start
        ``solution.record.end()`` of an earlier run with the same problem and configurations: continue from there.
    tolerance
        Largest violation that counts as met in the status.
    progress
        True for a line on standard error, or a function that is called whenever an iterate of a game is recorded, with
        a `Moment`, or after every pass of column generation, with a `Pass`; it ends the run by returning True.

    Returns
    -------
    Solution
        Ctrl-C ends the run early: the solution is then the one reached so far, with a warning (before anything was
        found, KeyboardInterrupt is raised).

    Examples
    --------
    >>> import numpy as np, equirate as eq
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = (X[:, 0] + 0.5 * rng.normal(size=500) > 0.8).astype(int)
    >>> solution = eq.solve(eq.Problem(eq.maximize(eq.g_mean()), [eq.fpr() <= 0.1]), X, y)
    >>> solution.status.feasible
    True
    >>> classifier = solution.polish()
    >>> eq.fpr().evaluate(y, classifier.positive_probability(X)) <= 0.1 + 1e-6
    True
    """
    problem = Problem(problem) if isinstance(problem, Objective) else problem
    if not isinstance(problem, Problem):
        raise TypeError(f"solve takes a Problem or an objective made with minimize or maximize; got {problem!r}")
    line = ProgressLine(problem.objective.sense) if progress is True else None
    options = Options(
        algorithm=algorithm,
        model=model,
        n_rounds=n_rounds,
        record_every=record_every,
        theta_step=theta_step,
        lambda_step=lambda_step,
        slack_step=slack_step,
        step_rule=step_rule,
        surrogate=surrogate,
        bounds=bounds,
        radius=radius,
        margin=margin,
        levels=levels,
        seeds=seeds,
        start=start,
        tolerance=tolerance,
        progress=line if isinstance(progress, bool) else progress,
    )
    with all_processes() as shared:
        X, y, attributes, sample_weight, names = given(X, y, attributes, sample_weight)
        same_everywhere(shared, problem, X, attributes, options.shared_settings())
        sample = Sample.of(X, y, attributes, sample_weight, two_classes=True, classes=many_classes(y))
        sample = sample if names is None else replace(sample, names=names)
        problem = problem.expanded(sample.examples)
        options = replace(options, model=_model_for(sample.examples, options))
        trained = None
        if referee is not None:
            sample, trained = _with_referee(sample, referee)
        try:
            solution = solve_on(problem, sample, options, trained=trained)
        finally:
            if line is not None:
                line.end()
    _warn(solution)
    return solution


def _model_for(examples: Examples, options: Options) -> Model:
    """The model for these examples; refuses one that cannot take their classes, or rows that processes share."""
    model, n_classes = make_model(options.model), len(examples.classes)
    if n_classes > 2:
        model = for_classes(model, n_classes)
        refuse_games(options.algorithm, n_classes)
    check_shared_rows(model, examples.shared)
    return model


def solve_on(
    problem: Problem,
    sample: Sample,
    options: Options,
    *,
    cells: Cells | None = None,
    trained: Array | None = None,
    held_out: HeldOut | None = None,
    mix_on_held_out: bool = False,
) -> Solution:
    """Solve a problem on a sample that has been checked, with constraints expanded for the groups in the data.

    ``cells`` are those of the sample, if they are known. ``trained`` are the weights that the model is trained with, if
    they differ from those that rates are measured with (the game on two data sets). ``held_out`` says which rows column
    generation holds out, and ``mix_on_held_out`` whether it chooses the mixture on these alone (`solve_by_columns`).
    """
    model: Model = options.model
    can = model.capabilities
    chosen = choose(options.algorithm, problem, can.descends, can.own_steps, options.steps)
    if chosen is column_generation:
        cells = problem_cells(problem, sample.examples) if cells is None else cells
        if trained is not None:  # no row has weight in both parts
            held_out, mix_on_held_out = ~(trained > 0), True
            cells = cells.weighing(trained + sample.examples.weights)
        return solve_by_columns(problem, sample, cells, options, held_out, mix_on_held_out)
    program = canonicalize(problem, chosen.form)
    chosen.check(program)
    examples = sample.examples
    cells = make_cells(program, examples) if cells is None else cells
    table = training = make_table(program, examples, cells)
    rows = Rows.of(sample, cells)
    if trained is not None:
        rows = Rows(sample, cells, cells.weighing(trained))
        training = make_table(program, replace(examples, weights=trained), rows.trained)
    pace = model.pace(rows.trained)
    damped, options = options.damped(pace), options.paced(pace)
    rounds, every = options.rounds(chosen.responds, pace)
    tolerance = options.checked_tolerance()
    chosen = options.set_players(chosen, lambda chosen: theory_radius(table, chosen, rounds, options.margin))
    if damped:
        steps = damped_steps(table, pace, chosen.multipliers.learns_couplings)
        chosen = replace(chosen, multipliers=chosen.multipliers.stepping(steps))
    grid = options.configurations(
        chosen,
        program.n_constraints,
        lambda: theory_theta(table, chosen, model, rounds, sample.X),
        lambda: chosen.multipliers.theory_rate(residual_bounds(table), program.n_constraints, rounds),
        can.own_steps,
    )
    share = 1.0 if chosen.responds else pace.share
    rules = options.rules(grid, rounds, every, program.n_constraints, trained is not None, share)
    seeds = [setting["seed"] for setting in grid]
    learner = model.bind(rows, rules.count, chosen.model.step, seeds)
    record = play(table, learner, chosen, rules, options.progress, training, options.start)
    if record.interrupted and not record.rounds:
        raise KeyboardInterrupt
    exact = can.exact or learner.every_sum() is not None
    return Solution.of_play(Play(table, record, rules, tuple(grid)), chosen, learner, tolerance, exact)


def _with_referee(sample: Sample, referee: tuple[Any, ...]) -> tuple[Sample, Array]:
    """Training and referee data as one sample with the referee's weights, and the weights to train with.

    Every row has weight 0 in one of the two.
    """
    if not isinstance(referee, (tuple, list)) or not 2 <= len(referee) <= 4:
        raise AlgorithmError("referee must be (X, y), (X, y, attributes) or (X, y, attributes, sample_weight)")
    classes = sample.examples.classes
    other = Sample.of(*referee, two_classes=True, classes=classes if len(classes) > 2 else None)
    first, second = (as_given(one.X, len(one)) for one in (sample, other))
    if first.shape[1:] != second.shape[1:]:
        wrong, right = (X.shape[1] if X.ndim == 2 else X.shape[1:] for X in (second, first))
        raise DataError(f"the referee's X has {wrong} features, the training X {right}")
    one, two = sample.examples, other.examples
    columns = {
        name: np.concatenate([one.columns[name], two.columns[name]]) for name in one.columns if name in two.columns
    }
    weights = np.concatenate([np.zeros(len(one)), two.weights])
    labels = np.concatenate([one.labels, two.labels])
    examples = Examples(labels, weights, columns, one.categories, shared=one.shared, classes=classes)
    return Sample(stacked(first, second), examples, sample.names), np.concatenate([one.weights, np.zeros(len(two))])


def _warn(solution: Solution) -> None:
    """Issue warnings that point to the user's call of `solve`."""
    record = Record(0) if solution.play is None else solution.play.record
    messages = []
    if record.diverged:
        configurations = ", ".join(map(str, sorted(record.diverged)))
        messages.append(
            f"configurations {configurations} diverged and were dropped: take smaller steps (solution.status says "
            "which)"
        )
    if solution.interrupted:
        messages.append(f"interrupted after {rounds_played(solution)}: the solution is what was reached")
    if record.left_domain:
        messages.append(f"{solution.algorithm.name}: surrogate rates left the domain of an atom; see solution.status")
    for message in messages:
        warn(message, NotSolvedWarning)
