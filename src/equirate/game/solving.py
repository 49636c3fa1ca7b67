"""`solve`: from a problem and data to a `Solution`. The border is crossed here, once."""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.errors import AlgorithmError, DataError, NotSolvedWarning
from .._core.threads import undisturbed
from ..data.examples import Examples
from ..data.features import features, stacked
from ..models import Linear, make_model
from ..players import model as model_player
from ..players import slack as slack_player
from ..players.multipliers import Ascent, OuterAscent, SwapRegret
from ..players.steps import Plain, StepRule, step_named
from ..players.surrogates import Surrogate, surrogate_named
from ..problem.canonical import RatioForm, canonicalize
from ..problem.problem import Objective, Problem
from ..problem.table import make_table
from .algorithms import Algorithm, choose
from .loop import Moment, Progress, Rules, Start, play
from .solution import Solution
from .theory import theory_lambda, theory_radius, theory_theta

Array = NDArray[np.float64]
Steps = float | str | Sequence[float]
Grid = list[dict[str, Any]]

ROUNDS_DESCENT, ROUNDS_RESPONSE = 2000, 300


def solve(
    problem: Problem | Objective,
    X: Any,
    y: ArrayLike,
    attributes: Any = None,
    sample_weight: ArrayLike | None = None,
    algorithm: str | Algorithm = "auto",
    model: Any = "linear",
    *,
    n_rounds: int | None = None,
    record_every: int | None = None,
    theta_step: Steps = (0.01, 0.1),
    lambda_step: Steps = (0.01, 0.1),
    slack_step: float | None = None,
    step_rule: str | StepRule | None = None,
    surrogate: str | Surrogate | None = None,
    bounds: str | None = None,
    radius: float | str | None = None,
    margin: float | None = None,
    levels: ArrayLike | None = None,
    seeds: Sequence[int] = (0,),
    referee: tuple[Any, ...] | None = None,
    start: Start | None = None,
    tolerance: float = 1e-3,
    progress: bool | Progress | None = None,
) -> Solution:
    """Solve a problem: find classifiers at the equilibrium of the three-player game.

    Parameters
    ----------
    problem
        An objective, or a `Problem` with constraints.
    X, y
        Features and labels (0/1, False/True or -1/1).
    attributes
        Columns for slices and baselines: data frame, dict of arrays, series or array. Columns of a data frame X
        serve too.
    sample_weight
        Non-negative weights.
    algorithm
        A name from `equirate.algorithms`, an `Algorithm`, or ``"auto"``.
    model
        ``"linear"``, a list of classifiers, a scikit-learn classifier (an oracle), or a model of `equirate.models`.
    n_rounds, record_every
        Rounds to play, and how often to record an iterate. By default 2000 and 10 for a model that descends, 300 and
        1 for one that best-responds.
    theta_step, lambda_step
        Step sizes of model and multipliers. Several values make a grid, played side by side. ``"theory"`` takes the
        theorems' constant steps (theta needs a ``Linear(radius=...)``). Steps of a player that takes none are not used.
    slack_step
        Step size of a slack that descends; by default the multipliers'.
    step_rule
        ``"adam"``, ``"sqrt"`` (1/sqrt(t)) or ``"plain"``; by default the algorithm's own, which is Adam.
    surrogate
        ``"hinge"``, ``"logistic"`` or ``"sigmoid"``: what the model descends on; by default the algorithm's (hinge).
    bounds
        What the surrogate bounds: ``"net"``, the coefficient of each prediction after all rows are added up, or
        ``"row"``, each row's by itself, as the paper has it; by default the algorithm's own. Net bounds are tighter.
    radius
        Bound on the sum of the multipliers; ``"theory"`` for the theorems' (constraints then need ``margin``).
    margin
        Slater margin gamma: some mixture meets every constraint with this much to spare. Used by ``"theory"``.
    levels
        (levels, constraints) or (levels,): let each constraint be overstepped by so much (negative: tighter); every
        level is a configuration. The constraints count after ``abs`` and ``max`` are split.
    seeds
        Seeds of the first parameters (``Linear(spread=...)``); every seed is a configuration.
    referee
        ``(X, y)``, ``(X, y, attributes)`` or ``(X, y, attributes, sample_weight)``: data that the multipliers see
        instead of the training data, so that constraints are played for where the model has not been fitted.
    start
        ``solution.record.end()`` of an earlier run with the same problem and configurations: continue from there.
    tolerance
        Largest violation that counts as met in the status.
    progress
        True for a line on standard error, or a function of a `Moment`, called whenever an iterate is recorded.

    Returns
    -------
    Solution
        Ctrl-C ends the play early: the solution is then what was reached, with a warning (before anything was
        recorded, KeyboardInterrupt goes on).

    Examples
    --------
    >>> import numpy as np, equirate as eq
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = (X[:, 0] + 0.5 * rng.normal(size=500) > 0.8).astype(int)
    >>> solution = eq.solve(eq.Problem(eq.maximize(eq.g_mean()), [eq.fpr() <= 0.1]), X, y, n_rounds=500)
    >>> solution.status.feasible
    True
    >>> classifier = solution.polish()
    >>> eq.fpr().evaluate(y, classifier.positive_probability(X)) <= 0.1 + 1e-6
    True
    """
    problem = Problem(problem) if isinstance(problem, Objective) else problem
    if not isinstance(problem, Problem):
        raise TypeError(f"solve takes a Problem or an objective made with minimize or maximize; got {problem!r}")
    chosen_model = make_model(model)
    examples = Examples.of(y, attributes, sample_weight, fallback=X, two_classes=True)
    problem = problem.expanded(examples)
    trained_on = examples
    if referee is not None:
        X, trained_on, examples = _joined(X, examples, referee)
    chosen = choose(algorithm, problem, chosen_model.can_descend)
    program = canonicalize(problem, chosen.form)
    chosen.check(program)
    table = make_table(program, examples)
    training = table if referee is None else make_table(program, trained_on)
    rounds = _count(n_rounds, "n_rounds", ROUNDS_RESPONSE if chosen.responds else ROUNDS_DESCENT)
    every = _count(record_every, "record_every", 1 if chosen.responds else 10)
    if not tolerance >= 0:
        raise AlgorithmError(f"the tolerance must not be negative; got {tolerance!r}")
    chosen = _with_steps(chosen, step_rule, surrogate, isinstance(theta_step, str), isinstance(lambda_step, str))
    chosen = _with_bounds(chosen, bounds)
    chosen = _with_radius(chosen, radius, lambda: theory_radius(table, chosen, rounds, margin))
    shifts = _levels(levels, program.n_constraints)
    grid = _grid(
        theta_step=_steps(
            theta_step, "theta_step", lambda: theory_theta(table, chosen, chosen_model, rounds, X), chosen.responds
        ),
        lambda_step=_steps(
            lambda_step,
            "lambda_step",
            lambda: theory_lambda(table, chosen, rounds),
            not isinstance(chosen.multipliers, (Ascent, OuterAscent, SwapRegret)),
        ),
        level=None if levels is None else range(len(shifts)),
        seed=_seeds(seeds),
    )
    rules = _rules(grid, rounds, min(every, rounds), slack_step, None if levels is None else shifts)
    step = chosen.model.step if isinstance(chosen.model, model_player.Descent) else Plain()
    rules = replace(rules, two_sets=referee is not None)
    player = chosen_model.bind(X, training, rules.count, step, [setting["seed"] for setting in grid])
    watch = ProgressLine(problem.objective.sense) if progress is True else progress or None
    compiled = len(examples) if isinstance(chosen_model, Linear) else 0
    try:
        with undisturbed(compiled):
            record = play(table, player, chosen.slack, chosen.multipliers, chosen.model, rules, watch, training, start)
    finally:
        if isinstance(watch, ProgressLine):
            watch.end()
    if record.interrupted and not record.rounds:
        raise KeyboardInterrupt
    judge = table if chosen.form is RatioForm.SLACK else make_table(canonicalize(problem), examples)
    known = {rate.key: k for k, rate in enumerate(program.rates)}
    rates = record.stacked("rates")[:, [known[rate.key] for rate in judge.program.rates]]
    solution = Solution(
        problem, chosen, table, record, rules, player, tuple(grid), judge, rates, record.stacked("losses"), tolerance
    )
    _warn(solution)
    return solution


def _count(value: int | None, name: str, default: int) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise AlgorithmError(f"{name} must be a whole number of at least 1; got {value!r}")
    return int(value)


# -- the players' settings ------------------------------------------------------------------------


def _with_steps(
    algorithm: Algorithm,
    step_rule: str | StepRule | None,
    surrogate: str | Surrogate | None,
    theta_by_theory: bool,
    lambda_by_theory: bool,
) -> Algorithm:
    """Give the players their step rules and the model its surrogate; the theorems' steps are plain."""
    rule = None if step_rule is None else step_named(step_rule)
    bounds = None if surrogate is None else surrogate_named(surrogate)
    theta_rule = Plain() if theta_by_theory else rule
    lambda_rule = Plain() if lambda_by_theory else rule
    slack, multipliers, model = algorithm.slack, algorithm.multipliers, algorithm.model
    if lambda_rule is not None and isinstance(multipliers, (Ascent, OuterAscent)):
        multipliers = replace(multipliers, step=lambda_rule)
    if lambda_rule is not None and isinstance(slack, (slack_player.BestResponse, slack_player.Descent)):
        slack = replace(slack, step=lambda_rule)
    if isinstance(model, model_player.Descent):
        model = replace(model, step=theta_rule or model.step, surrogate=bounds or model.surrogate)
    return replace(algorithm, slack=slack, multipliers=multipliers, model=model)


def _with_bounds(algorithm: Algorithm, bounds: str | None) -> Algorithm:
    """Choose what the model's surrogate bounds: the net coefficient of a prediction, or each row's."""
    if bounds is None or not isinstance(algorithm.model, model_player.Descent):
        return algorithm
    if bounds not in ("net", "row"):
        raise AlgorithmError(f'bounds must be "net" or "row"; got {bounds!r}')
    if bounds == "net" and algorithm.multipliers.surrogate:
        raise AlgorithmError(f'{algorithm.name} shows its multipliers surrogate rates, which needs bounds="row"')
    return replace(algorithm, model=replace(algorithm.model, net=bounds == "net"))


def _joined(X: Any, examples: Examples, referee: tuple[Any, ...]) -> tuple[Any, Examples, Examples]:
    """Put training and referee data in one table of rows: each part has weight 0 where the other one counts."""
    if not isinstance(referee, (tuple, list)) or not 2 <= len(referee) <= 4:
        raise AlgorithmError("referee must be (X, y), (X, y, attributes) or (X, y, attributes, sample_weight)")
    other = Examples.of(referee[1], *referee[2:], fallback=referee[0], two_classes=True)
    first, second = features(X, len(examples)), features(referee[0], len(other))
    if first.shape[1] != second.shape[1]:
        raise DataError(f"the referee's X has {second.shape[1]} features, the training X {first.shape[1]}")
    labels = np.concatenate([examples.labels, other.labels])
    columns = {
        name: np.concatenate([column, other.columns[name]])
        for name, column in examples.columns.items()
        if name in other.columns
    }
    nothing, nobody = np.zeros(len(examples)), np.zeros(len(other))
    trained_on = Examples(labels, np.concatenate([examples.weights, nobody]), columns)
    return stacked(first, second), trained_on, Examples(labels, np.concatenate([nothing, other.weights]), columns)


def _with_radius(algorithm: Algorithm, radius: float | str | None, theory: Callable[[], float]) -> Algorithm:
    if radius is None:
        return algorithm
    named = isinstance(radius, str)
    if radius != "theory" if named else isinstance(radius, bool) or not _positive(radius):
        raise AlgorithmError(f'the radius must be a positive number or "theory"; got {radius!r}')
    if not isinstance(algorithm.multipliers, (Ascent, OuterAscent)):
        return algorithm
    size = theory() if named else float(radius)
    return replace(algorithm, multipliers=replace(algorithm.multipliers, radius=size))


# -- the grid of configurations -------------------------------------------------------------------


def _grid(**axes: Sequence[Any] | None) -> Grid:
    """Every combination of the settings, in reading order; an axis that is None is not in use."""
    used = {name: values for name, values in axes.items() if values is not None}
    return [dict(zip(used, point, strict=True)) for point in itertools.product(*used.values())]


def _rules(grid: Grid, rounds: int, every: int, slack_step: float | None, shifts: list[Array] | None) -> Rules:
    theta, lam = (np.array([setting.get(name, 1.0) for setting in grid]) for name in ("theta_step", "lambda_step"))
    slack = lam
    if slack_step is not None:
        sizes = _steps(slack_step, "slack_step") or []
        if len(sizes) != 1:
            raise AlgorithmError(f"slack_step must be one positive number; got {slack_step!r}")
        slack = np.full(len(grid), sizes[0])
    levels = None if shifts is None else np.array([shifts[setting["level"]] for setting in grid]).T
    return Rules(rounds, every, theta, lam, slack, levels)


def _steps(
    value: Any, name: str, theory: Callable[[], float] | None = None, unused: bool = False
) -> list[float] | None:
    """Check step sizes; None for a player that takes no steps."""
    if isinstance(value, str) and theory is not None and value == "theory":
        return None if unused else [theory()]
    try:
        steps = [float(v) for v in np.ravel(np.asarray(value, dtype=float))]
    except (TypeError, ValueError):
        steps = []
    if not steps or not all(map(_positive, steps)):
        also = "" if theory is None else ', or "theory"'
        raise AlgorithmError(f"{name} must be positive: a number, or several of them{also}; got {value!r}")
    return None if unused else steps


def _positive(value: Any) -> bool:
    try:
        return 0 < float(value) < np.inf
    except (TypeError, ValueError):
        return False


def _seeds(seeds: Any) -> list[int]:
    found = [seeds] if isinstance(seeds, (int, np.integer)) else list(seeds)
    if not found or not all(isinstance(seed, (int, np.integer)) and seed >= 0 for seed in found):
        raise AlgorithmError(f"seeds must be whole numbers of at least 0, at least one of them; got {seeds!r}")
    return [int(seed) for seed in found]


def _levels(levels: ArrayLike | None, n_constraints: int) -> list[Array]:
    if levels is None:
        return []
    if not n_constraints:
        raise AlgorithmError("levels shift the constraints, and this problem has none: leave them out")
    try:
        array = np.atleast_1d(np.asarray(levels, dtype=float))
    except (TypeError, ValueError):
        raise AlgorithmError(f"levels must be numbers; got {levels!r}") from None
    if array.ndim == 1:
        array = np.repeat(array[:, None], n_constraints, axis=1)
    if array.ndim != 2 or array.shape[1] != n_constraints or not len(array) or not np.isfinite(array).all():
        raise AlgorithmError(
            f"levels must be finite, of shape (levels,) or (levels, {n_constraints}); got shape {array.shape}"
        )
    return list(array)


# -- telling --------------------------------------------------------------------------------------


class ProgressLine:
    """Progress on one line of standard error: the best mixture so far where it is known, or this round's best iterate.

    ``mixture``, the objective (as the user wrote it) and the violation of the best mixture of what was recorded, is
    set by whoever computes it.
    """

    def __init__(self, sense: str) -> None:
        self.sign = -1.0 if sense == "maximize" else 1.0
        self.start, self.last, self.width = time.monotonic(), -np.inf, 0
        self.mixture: tuple[float, float] | None = None
        self.ended = False

    def __call__(self, moment: Moment) -> None:
        """Show where the game stands, a few times a second."""
        now = time.monotonic()
        if not len(moment.active) or (now - self.last < 0.2 and moment.round < moment.n_rounds):
            return
        self.last = now
        what = "best mixture so far"
        if self.mixture is not None:
            objective, violation = self.mixture
        else:
            what = "best iterate of this round"
            best = int(np.lexsort((self.sign * moment.objective, moment.violation))[0])
            objective, violation = float(moment.objective[best]), float(moment.violation[best])
        line = (
            f"round {moment.round}/{moment.n_rounds}  {what}: objective {objective:.4f}, violation {violation:.4f}  "
            f"{now - self.start:.0f} s"
        )
        self.width = max(self.width, len(line))  # a shorter line covers the one before
        print(f"\r{line:<{self.width}} ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """End the line, once."""
        if not self.ended:
            print(file=sys.stderr)
        self.ended = True


def _warn(solution: Solution) -> None:
    """Warn, from where the user called `solve`."""
    record = solution.record
    for said, text in (
        (
            record.diverged,
            f"configurations {', '.join(map(str, sorted(record.diverged)))} diverged and were dropped: take smaller "
            "steps (solution.status says which)",
        ),
        (
            record.interrupted,
            f"interrupted after {record.played} of {solution.rules.n_rounds} rounds: the solution is what was reached",
        ),
        (
            record.left_domain,
            f"{solution.algorithm.name}: surrogate rates left the domain of an atom; see solution.status",
        ),
    ):
        if said:
            warnings.warn(text, NotSolvedWarning, stacklevel=3)
