"""`solve`: from a problem and data to a `Solution`. The border is crossed here, once."""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .algorithms import Algorithm, choose
from .canonical import RatioForm, canonicalize
from .data import Examples
from .errors import AlgorithmError, NotSolvedWarning
from .game import Moment, Progress, Rules, play
from .models import Linear, Model, make_model
from .players import model as model_player
from .players.steps import Plain, StepRule, step_named
from .problem import Objective, Problem
from .solution import Solution
from .surrogates import Surrogate, surrogate_named
from .table import Table, make_table

Array = NDArray[np.float64]
Steps = float | str | Sequence[float]

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
    step_rule: str | StepRule = "adam",
    surrogate: str | Surrogate = "hinge",
    radius: float | str | None = None,
    margin: float | None = None,
    levels: ArrayLike | None = None,
    seeds: Sequence[int] = (0,),
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
        theorems' constant steps (theta needs a ``Linear(radius=...)``).
    slack_step
        Step size of a slack that descends; by default the multipliers'.
    step_rule
        ``"adam"``, ``"sqrt"`` (1/sqrt(t)) or ``"plain"``.
    surrogate
        ``"hinge"``, ``"logistic"`` or ``"sigmoid"``: what the model descends on.
    radius
        Bound on the sum of the multipliers; ``"theory"`` for the theorems' (constraints then need ``margin``).
    margin
        Slater margin gamma: some mixture meets every constraint with this much to spare. Used by ``"theory"``.
    levels
        (levels, constraints) or (levels,): let each constraint be overstepped by so much (negative: tighter); every
        level is a configuration. The constraints count after ``abs`` and ``max`` are split.
    seeds
        Seeds of the first parameters (``Linear(spread=...)``); every seed is a configuration.
    tolerance
        Largest violation that counts as met in the status.
    progress
        True for a line on standard error, or a function of a `Moment`.

    Returns
    -------
    Solution

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
    chosen = choose(algorithm, problem, chosen_model.can_descend)
    program = canonicalize(problem, chosen.form)
    chosen.check(program)
    chosen = _adjusted(chosen, step_named(step_rule), surrogate_named(surrogate), theta_step, lambda_step)
    table = make_table(program, examples)
    rounds = _count(n_rounds, "n_rounds", ROUNDS_RESPONSE if chosen.responds else ROUNDS_DESCENT)
    every = _count(record_every, "record_every", 1 if chosen.responds else 10)
    chosen = _with_radius(chosen, table, radius, margin, rounds)
    rules, settings = _rules(
        chosen,
        table,
        chosen_model,
        rounds,
        min(every, rounds),
        theta_step,
        lambda_step,
        slack_step,
        levels,
        seeds,
    )
    step = chosen.model.step if isinstance(chosen.model, model_player.Descent) else Plain()
    player = chosen_model.bind(X, table, rules.count, step, [s["seed"] for s in settings])
    watch = _Line() if progress is True else progress or None
    record = play(table, player, chosen.slack, chosen.multipliers, chosen.model, rules, watch)
    if isinstance(watch, _Line):
        watch.end(record.interrupted)
    if not record.rounds:
        if record.interrupted:
            raise KeyboardInterrupt
        raise AlgorithmError("nothing was recorded: play more rounds")
    judge = table if chosen.form is RatioForm.SLACK else make_table(canonicalize(problem), examples)
    known = {rate.key: k for k, rate in enumerate(program.rates)}
    rates = record.stacked("rates")[:, [known[rate.key] for rate in judge.program.rates]]
    solution = Solution(
        problem, chosen, table, record, rules, player, settings, judge, rates, record.stacked("losses"), tolerance
    )
    _warn(solution)
    return solution


def _count(value: int | None, name: str, default: int) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise AlgorithmError(f"{name} must be a whole number of at least 1; got {value!r}")
    return int(value)


def _adjusted(algorithm: Algorithm, rule: StepRule, surrogate: Surrogate, theta: Steps, lam: Steps) -> Algorithm:
    """Give the players their step rules; the theorems' steps are plain."""
    lam_rule = Plain() if isinstance(lam, str) else rule
    parts: dict[str, Any] = {}
    if hasattr(algorithm.multipliers, "step"):
        parts["multipliers"] = replace(algorithm.multipliers, step=lam_rule)  # type: ignore[type-var, call-arg]
    if hasattr(algorithm.slack, "step"):
        parts["slack"] = replace(algorithm.slack, step=lam_rule)  # type: ignore[type-var, call-arg]
    if isinstance(algorithm.model, model_player.Descent):
        parts["model"] = replace(algorithm.model, step=Plain() if isinstance(theta, str) else rule, surrogate=surrogate)
    return replace(algorithm, **parts)


def _with_radius(
    algorithm: Algorithm, table: Table, radius: float | str | None, margin: float | None, rounds: int
) -> Algorithm:
    if radius is None or not hasattr(algorithm.multipliers, "radius"):
        return algorithm
    if radius == "theory":
        radius = theory_radius(table, algorithm, rounds, margin)
    if isinstance(radius, str) or isinstance(radius, bool) or not radius > 0:
        raise AlgorithmError(f'the radius must be a positive number or "theory"; got {radius!r}')
    return replace(algorithm, multipliers=replace(algorithm.multipliers, radius=float(radius)))  # type: ignore[call-arg]


def _rules(
    algorithm: Algorithm,
    table: Table,
    model: Model,
    rounds: int,
    every: int,
    theta_step: Steps,
    lambda_step: Steps,
    slack_step: float | None,
    levels: ArrayLike | None,
    seeds: Sequence[int],
) -> tuple[Rules, tuple[dict[str, Any], ...]]:
    """Make the grid of configurations: every theta step with every lambda step, level and seed."""
    thetas = (
        [1.0]
        if algorithm.responds
        else _steps(theta_step, "theta_step", lambda: theory_theta(table, algorithm, model, rounds))
    )
    plays = hasattr(algorithm.multipliers, "step") or "SwapRegret" in type(algorithm.multipliers).__name__
    lambdas = _steps(lambda_step, "lambda_step", lambda: theory_lambda(table, algorithm, rounds)) if plays else [1.0]
    shifts = _levels(levels, table.program.n_constraints)
    if not len(seeds):
        raise AlgorithmError("seeds must hold at least one seed")
    grid = list(itertools.product(thetas, lambdas, range(len(shifts)), seeds))
    theta, lam = (np.array([point[k] for point in grid], dtype=float) for k in (0, 1))
    slack = lam if slack_step is None else np.full(len(grid), _steps(slack_step, "slack_step", None)[0])
    matrix = None if levels is None else np.array([shifts[k] for _, _, k, _ in grid]).T
    settings = tuple(
        {"theta_step": float(a), "lambda_step": float(b), "seed": seed} | ({} if levels is None else {"level": k})
        for a, b, k, seed in grid
    )
    return Rules(rounds, every, theta, lam, slack, matrix), settings


def _steps(value: Any, name: str, theory: Any) -> list[float]:
    if isinstance(value, str):
        if value != "theory" or theory is None:
            raise AlgorithmError(f'{name} must be a positive number, several of them, or "theory"; got {value!r}')
        return [theory()]
    steps = [float(v) for v in np.atleast_1d(np.asarray(value, dtype=float)).ravel()]
    if not steps or not all(step > 0 for step in steps):
        raise AlgorithmError(f"{name} must be positive; got {value!r}")
    return steps


def _levels(levels: ArrayLike | None, n_constraints: int) -> list[Array]:
    if levels is None:
        return [np.zeros(n_constraints)]
    array = np.asarray(levels, dtype=float)
    if array.ndim == 1:
        array = np.repeat(array[:, None], n_constraints, axis=1)
    if array.ndim != 2 or array.shape[1] != n_constraints or not len(array) or not np.isfinite(array).all():
        raise AlgorithmError(
            f"levels must be finite, of shape (levels,) or (levels, {n_constraints}); got shape {array.shape}"
        )
    return list(array)


# -- the theorems' constants ----------------------------------------------------------------------


def lipschitz(table: Table) -> float:
    """L of the theorems: largest sum of |slopes| of the atoms over their boxes, weighted as in the objective or a row."""
    xi = np.stack([table.lo, table.hi], axis=1)
    slopes = np.zeros(len(table.program.atoms))
    for group in table.groups:
        corners = np.abs(group.form.gradient(xi[group.slacks])).max(axis=-1)
        slopes[group.atoms] = corners.sum(axis=0)
    linear = np.abs(np.asarray(table.rows_of_rates.sum(axis=1))).ravel()[: table.program.n_multipliers]
    rows = table.atom_weights @ slopes + linear
    return float(rows[: 1 + table.program.n_constraints].max(initial=0.0))


def gradient_bound(table: Table) -> float:
    """B_lambda: bound on the Euclidean norm of the residuals."""
    low, high = table.reach(np.arange(table.program.n_multipliers))
    widths = np.maximum(np.abs(low), np.abs(high))
    widths[table.couplings] = table.hi - table.lo
    values = (
        np.abs(table.atom_values(np.stack([table.lo, table.hi], axis=1))).max(axis=1)
        if not any(g.direct is not None for g in table.groups)
        else np.ones(len(table.program.atoms))
    )
    widths[: 1 + table.program.n_constraints] += table.atom_weights[: 1 + table.program.n_constraints] @ values
    return float(np.sqrt((widths[1:] ** 2).sum()))


def theory_radius(table: Table, algorithm: Algorithm, rounds: int, margin: float | None) -> float:
    """kappa: L without constraints, 2 (L + 1) B_g / gamma for the oracle, (L + 1) T^(1/4) for the surrogate."""
    L = lipschitz(table)
    if not table.program.n_constraints:
        return max(L, 1e-6)
    if not algorithm.responds and not algorithm.multipliers.surrogate:
        return (L + 1) * rounds**0.25
    if margin is None or not margin > 0:
        raise AlgorithmError(
            'radius="theory" needs margin=...: how much every constraint can be met with to spare (the theorem\'s gamma)'
        )
    low, high = table.reach(np.array([0]))
    return 2 * (L + 1) * max(abs(float(low[0])), abs(float(high[0]))) / margin


def theory_lambda(table: Table, algorithm: Algorithm, rounds: int) -> float:
    """eta_lambda = kappa / (B_lambda sqrt(2 T)); for swap regret sqrt(m log m / (T B^2))."""
    bound = max(gradient_bound(table), 1e-9)
    m = table.program.n_multipliers
    if not hasattr(algorithm.multipliers, "radius"):
        return float(np.sqrt(m * np.log(max(m, 2)) / (rounds * bound**2)))
    return float(algorithm.multipliers.radius / (bound * np.sqrt(2 * rounds)))


def theory_theta(table: Table, algorithm: Algorithm, model: Model, rounds: int) -> float:
    """eta_theta = B_Theta / (B_theta sqrt(2 T)), with B_Theta the radius of the model's ball."""
    if not isinstance(model, Linear) or model.radius is None:
        raise AlgorithmError('theta_step="theory" needs a bounded model: model=Linear(radius=...)')
    assert isinstance(algorithm.model, model_player.Descent)  # a model that responds takes no steps
    radius = getattr(algorithm.multipliers, "radius", 1.0)
    mass = float((np.abs(np.asarray(table.matrix.sum(axis=0))).ravel() * table.cells.totals).sum())
    return model.radius / (max(mass, 1e-9) * (1 + radius) * algorithm.model.surrogate.slope_bound * np.sqrt(2 * rounds))


# -- telling --------------------------------------------------------------------------------------


class _Line:
    """Progress on one line of standard error."""

    def __init__(self) -> None:
        self.start = self.last = time.monotonic()

    def __call__(self, moment: Moment) -> None:
        now = time.monotonic()
        if now - self.last < 0.2 and moment.round < moment.n_rounds:
            return
        self.last = now
        best = int(np.argmin(moment.violation))
        print(
            f"\rround {moment.round}/{moment.n_rounds}  objective {moment.objective.ravel()[best]:.4f}  "
            f"violation {moment.violation[best]:.4f}  {now - self.start:.0f} s ",
            end="",
            file=sys.stderr,
            flush=True,
        )

    def end(self, interrupted: bool) -> None:
        print(" (interrupted)" if interrupted else "", file=sys.stderr)


def _warn(solution: Solution) -> None:
    record = solution.record
    if record.diverged:
        names = ", ".join(map(str, sorted(record.diverged)))
        warnings.warn(
            f"configurations {names} diverged and were dropped: take smaller steps (solution.status says which)",
            NotSolvedWarning,
            stacklevel=3,
        )
    if record.interrupted:
        warnings.warn(
            f"interrupted after {record.played} of {solution.rules.n_rounds} rounds: the solution is what was reached",
            NotSolvedWarning,
            stacklevel=3,
        )
    if record.left_domain:
        warnings.warn(
            f"{solution.algorithm.name}: surrogate rates left the domain of an atom; see solution.status",
            NotSolvedWarning,
            stacklevel=3,
        )
