"""The settings of a game that users give: checked, and turned into players, configurations and rules.

In: `Options`, the arguments of `solve`. Out: an `Algorithm` with its players set, the grid of configurations, and the
`Rules` of the loop. `solving` calls this.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.errors import AlgorithmError
from ..models.capabilities import Pace
from ..players.steps import Plain, StepRule, step_named
from ..players.surrogates import Surrogate, surrogate_named
from .algorithms import Algorithm
from .column_generation import PASSES
from .loop import Progress, Rules
from .record import Start

Array = NDArray[np.float64]
Steps = float | str | Sequence[float]
Grid = list[dict[str, Any]]

ROUNDS_DESCENT, ROUNDS_RESPONSE = 2000, 300
STEPS = (0.01, 0.1)
"""Default step sizes of the model and of the multipliers."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Options:
    """The arguments of `equirate.solve` for the game; they are documented there."""

    algorithm: str | Algorithm = "auto"
    model: Any = "linear"
    n_rounds: int | None = None
    record_every: int | None = None
    theta_step: Steps | None = None
    lambda_step: Steps | None = None
    slack_step: float | None = None
    step_rule: str | StepRule[Any] | None = None
    surrogate: str | Surrogate | None = None
    bounds: str | None = None
    radius: float | str | None = None
    margin: float | None = None
    levels: ArrayLike | None = None
    seeds: Sequence[int] = (0,)
    start: Start | None = None
    tolerance: float = 1e-3
    progress: Progress | None = None

    def shared_settings(self) -> dict[str, Any]:
        """The settings that must be the same on every process."""
        excluded = ("start", "progress")  # arrays that are equal in any case, and the display of each process
        return {setting.name: getattr(self, setting.name) for setting in fields(self) if setting.name not in excluded}

    @property
    def steps(self) -> bool:
        """Whether step sizes were given, which only a game uses."""
        return self.theta_step is not None or self.lambda_step is not None

    def passes(self) -> int:
        """Largest number of passes of column generation."""
        return _count(self.n_rounds, "n_rounds", PASSES)

    def generated_levels(self, n_constraints: int) -> list[Array]:
        """Levels of column generation: how far each constraint is loosened; 0 if none are given."""
        return [np.zeros(n_constraints)] if self.levels is None else _levels(self.levels, n_constraints)

    def seed(self) -> int:
        """The seed of column generation, which takes only one."""
        seeds = _seeds(self.seeds)
        if len(seeds) > 1:
            raise AlgorithmError(
                f"column_generation takes one seed; got {self.seeds!r}: name an algorithm of the paper to play several"
            )
        return seeds[0]

    def check_generated(self) -> None:
        """Raise an error for settings of column generation that are wrong, or that only a game uses."""
        given = [
            name
            for name in ("record_every", "slack_step", "step_rule", "surrogate", "bounds", "radius", "margin")
            if getattr(self, name) is not None
        ]
        if given:
            raise AlgorithmError(
                f"column_generation takes no {', '.join(given)}: name an algorithm of the paper, such as "
                'algorithm="surrogate"'
            )
        for check in (self.passes, self.checked_tolerance, self.seed):
            check()

    def rounds(self, responds: bool, pace: Pace) -> tuple[int, int]:
        """Rounds to play, and how often to record one; a model that is trained on batches has a number of its own."""
        rounds = _count(self.n_rounds, "n_rounds", ROUNDS_RESPONSE if responds else ROUNDS_DESCENT)
        if not responds:
            rounds = pace.rounds or rounds
        usual = 1 if responds else pace.record_every or 10
        return rounds, min(_count(self.record_every, "record_every", usual), rounds)

    def paced(self, pace: Pace) -> Options:
        """The same options, with steps where none are given: the model's own of the multipliers, or defaults."""
        theta_step = STEPS if self.theta_step is None else self.theta_step
        lambda_step = self.lambda_step
        if lambda_step is None:
            lambda_step = STEPS if pace.lambda_step is None else pace.lambda_step
        step_rule = "plain" if self.damped(pace) else self.step_rule
        return replace(self, theta_step=theta_step, lambda_step=lambda_step, step_rule=step_rule)

    def damped(self, pace: Pace) -> bool:
        """Whether multipliers take the model's damped steps, because ``step_rule`` is not given."""
        return pace.damping is not None and self.step_rule is None

    def checked_tolerance(self) -> float:
        """The tolerance, which must not be negative."""
        if not 0 <= self.tolerance < np.inf:
            raise AlgorithmError(f"the tolerance must not be negative, and finite; got {self.tolerance!r}")
        return self.tolerance

    def set_players(self, algorithm: Algorithm, radius: Callable[[Algorithm], float]) -> Algorithm:
        """Give the players their step rules, the model its bounds, and the multipliers their radius.

        ``radius`` computes the theorem's.
        """
        rule = None if self.step_rule is None else step_named(self.step_rule)
        surrogate = None if self.surrogate is None else surrogate_named(self.surrogate)
        theta_rule, lambda_rule = (
            Plain() if isinstance(step, str) else rule for step in (self.theta_step, self.lambda_step)
        )  # the theorems' steps are plain
        if lambda_rule is not None:
            multipliers, slack = algorithm.multipliers.stepping(lambda_rule), algorithm.slack.stepping(lambda_rule)
            algorithm = replace(algorithm, multipliers=multipliers, slack=slack)
        net = self._net(algorithm)
        algorithm = replace(algorithm, model=algorithm.model.settled_on(theta_rule, surrogate, net))
        if self.radius is None:
            return algorithm
        named = isinstance(self.radius, str)
        if self.radius != "theory" if named else isinstance(self.radius, bool) or not _positive(self.radius):
            raise AlgorithmError(f'the radius must be a positive number or "theory"; got {self.radius!r}')
        if not algorithm.multipliers.has_radius:
            return algorithm
        size = radius(algorithm) if named else float(self.radius)
        return replace(algorithm, multipliers=algorithm.multipliers.within(size))

    def _net(self, algorithm: Algorithm) -> bool | None:
        """Whether the model's surrogate bounds net coefficients of predictions or each row's; None: the default."""
        if self.bounds is None or algorithm.responds:
            return None
        if self.bounds not in ("net", "row"):
            raise AlgorithmError(f'bounds must be "net" or "row"; got {self.bounds!r}')
        if self.bounds == "net" and algorithm.multipliers.sees_bounds:
            raise AlgorithmError(f'{algorithm.name} shows its multipliers surrogate rates, which needs bounds="row"')
        return self.bounds == "net"

    def configurations(
        self,
        algorithm: Algorithm,
        n_constraints: int,
        theta: Callable[[], float],
        lam: Callable[[], float],
        own_steps: bool = False,
    ) -> Grid:
        """Every combination of the settings, the last one fastest; ``theta`` and ``lam`` compute the theorems' steps.

        ``own_steps`` says that the model does not use step sizes of the game.
        """
        axes = {
            "theta_step": _steps(self.theta_step, "theta_step", theta, algorithm.responds or own_steps),
            "lambda_step": _steps(self.lambda_step, "lambda_step", lam, not algorithm.multipliers.takes_steps),
            "level": range(len(_levels(self.levels, n_constraints))) or None,
            "seed": _seeds(self.seeds),
        }
        used = {name: values for name, values in axes.items() if values is not None}
        return [dict(zip(used, point, strict=True)) for point in itertools.product(*used.values())]

    def rules(
        self, grid: Grid, rounds: int, every: int, n_constraints: int, two_sets: bool, share: float = 1.0
    ) -> Rules:
        """The rules of the loop for these configurations; ``share`` is the share of the examples used in a round."""
        theta, lam = (np.array([setting.get(name, 1.0) for setting in grid]) for name in ("theta_step", "lambda_step"))
        slack = lam
        if self.slack_step is not None:
            sizes = _steps(self.slack_step, "slack_step") or []
            if len(sizes) != 1:
                raise AlgorithmError(f"slack_step must be one positive number; got {self.slack_step!r}")
            slack = np.full(len(grid), sizes[0])
        shifts = _levels(self.levels, n_constraints)
        levels = None if self.levels is None else np.array([shifts[setting["level"]] for setting in grid]).T
        return Rules(rounds, every, theta, share * lam, share * slack, levels, two_sets)


_MAX_ROUNDS = 2**53
"""Largest number of rounds: integers up to this one are exact as floats."""


def _count(value: int | None, name: str, default: int) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise AlgorithmError(f"{name} must be a whole number of at least 1; got {value!r}")
    if value > _MAX_ROUNDS:
        raise AlgorithmError(f"{name} must be at most {_MAX_ROUNDS:,}")
    return int(value)


def _steps(
    value: Any, name: str, theory: Callable[[], float] | None = None, unused: bool = False
) -> list[float] | None:
    """Check step sizes; None for a player that takes no steps."""
    if value is None and unused:
        return None
    if isinstance(value, str) and theory is not None and value == "theory":
        return None if unused else [theory()]
    try:
        steps = [float(v) for v in np.ravel(np.asarray(value, dtype=float))]
    except (TypeError, ValueError, OverflowError):  # an integer may be too large for a float
        steps = []
    if not steps or not all(map(_positive, steps)):
        also = "" if theory is None else ', or "theory"'
        raise AlgorithmError(f"{name} must be positive: a number, or several of them{also}; got {value!r}")
    return None if unused else steps


def _positive(value: Any) -> bool:
    try:
        return 0 < float(value) < np.inf
    except (TypeError, ValueError, OverflowError):
        return False


def _seeds(seeds: Any) -> list[int]:
    numbers = [seeds] if isinstance(seeds, (int, np.integer)) else list(seeds)
    if not numbers or not all(isinstance(seed, (int, np.integer)) and seed >= 0 for seed in numbers):
        raise AlgorithmError(f"seeds must be whole numbers of at least 0, at least one of them; got {seeds!r}")
    return [int(seed) for seed in numbers]


def _levels(levels: ArrayLike | None, n_constraints: int) -> list[Array]:
    if levels is None:
        return []
    if not n_constraints:
        raise AlgorithmError("levels shift the constraints, and this problem has none: leave them out")
    try:
        array = np.atleast_1d(np.asarray(levels, dtype=float))
    except (TypeError, ValueError, OverflowError):
        raise AlgorithmError(f"levels must be numbers; got {levels!r}") from None
    if array.ndim == 1:
        array = np.repeat(array[:, None], n_constraints, axis=1)
    if array.ndim != 2 or array.shape[1] != n_constraints or not len(array) or not np.isfinite(array).all():
        raise AlgorithmError(
            f"levels must be finite, of shape (levels,) or (levels, {n_constraints}); got shape {array.shape}"
        )
    return list(array)
