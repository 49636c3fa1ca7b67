"""Makes the `Status` of a solution: values of its best mixture, proven bounds, regrets, and what to try.

In: a `Solution`. Out: its `Status`. `Solution.status` calls this once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..mixtures import Columns, Search, Source, best
from .infeasible import Conflict, conflict_of
from .record import Record
from .status import COLUMNS, EVERYTHING, MIXTURE, Status

if TYPE_CHECKING:
    from .classifiers import Classifier
    from .solution import Solution

PROGRAMMES = 600
"""Largest number of linear programmes for polishing without a time limit: up to about two seconds."""


def status_of_solution(solution: Solution) -> Status:
    """Objective, violation and bounds on the judging data, and what to try if that is not good enough."""
    mixture = solution.polish()
    objective, violation = solution.value_of(mixture)
    feasible = violation <= solution.tolerance
    bound, over = _bound(solution, mixture) if feasible else (None, None)
    conflict = None if feasible else conflict_of(solution)
    lambda_regret, theta_regret = _regrets(solution)
    record = Record(0) if solution.play is None else solution.play.record
    return Status(
        objective=objective,
        violation=max(violation, 0.0),
        feasible=feasible,
        tolerance=solution.tolerance,
        smallest_violation=float(mixture.notes["smallest_violation"]),
        bound=bound,
        bound_over=over,
        gap=None if bound is None else solution.sign * (objective - bound),
        lambda_regret=lambda_regret,
        theta_regret=theta_regret,
        rounds=solution.rounds,
        interrupted=solution.interrupted,
        diverged=tuple(sorted(record.diverged)),
        left_domain=tuple(sorted(record.left_domain)),
        advice=tuple(_advice(solution, feasible, mixture, conflict)),
        conflict=() if conflict is None else tuple(map(repr, conflict.constraints)),
        smallest_tolerance=None if conflict is None else conflict.tolerance,
        conflict_over=None if conflict is None else conflict.over,
        speaks_of="" if mixture.is_deterministic else MIXTURE,
    )


def _bound(solution: Solution, best: Classifier) -> tuple[float | None, str | None]:
    """The proven bound, in the user's own sense, and what it is over: all classifiers of the model if possible."""
    proven = [bound for bound in (dual_bound(solution), list_bound(solution)) if bound is not None]
    if proven:
        reached = solution.sign * solution.value_of(best)[0]
        return float(solution.sign * min(max(proven), reached)), EVERYTHING
    bound = best.notes["bound"]
    return bound, None if bound is None else COLUMNS


def dual_bound(solution: Solution) -> float | None:
    """Best dual value: a bound if slack and model both best-respond exactly."""
    if not solution.exact or not solution.judged_where_trained:
        return None
    if solution.play is None:
        return None if solution.course is None else solution.course.bound
    program = solution.play.table.program
    convex = not program.has_ratios and not any(atom.form.grid for atom in program.atoms)
    if not (convex and solution.algorithm.bounds_optimum):
        return None
    bound = float(np.nanmax(solution.play.record.dual_bound))
    return bound if np.isfinite(bound) else None


def list_bound(solution: Solution) -> float | None:
    """A lower bound for all mixtures of a finite list of classifiers, recorded or not."""
    if solution.problem.losses() or not (solution.exact and solution.judged_where_trained):
        return None
    every = solution.learner.every_sum()
    if every is None or any(group.form.grid for group in solution.judge.groups):  # no bound is known for black boxes
        return None
    columns = Columns.of(solution.judge.rates(every), Source.LISTED)
    return best(solution.judge, columns, Search(programmes=PROGRAMMES)).bound


def _regrets(solution: Solution) -> tuple[float | None, float | None]:
    """Average regrets of multipliers and model against the best fixed choices, for the best configuration."""
    if solution.play is None:
        return None, None
    table, record, c = solution.play.table, solution.play.record, solution.best_configuration()
    rounds = record.diverged.get(c, record.played + 1) - 1  # it diverged before it played that round
    player, of_multipliers = solution.algorithm.multipliers, None
    if player.has_regret:
        top = record.residual_sum[1:, c].max(initial=0.0)
        regret = record.residual_sum[0, c] + player.most * top - record.lagrangian_sum[c]
        of_multipliers = _finite(regret / rounds)
    direct = len(table.program.rows) > table.program.n_multipliers
    # In these cases, the record does not sum up all parts of the Lagrangian.
    if direct or table.program.has_losses or solution.play.rules.levels is not None:
        return of_multipliers, None
    every, columns = solution.learner.every_sum(), record.columns()
    rows = table.rows_from_rates(columns.rates, columns.losses) if every is None else table.rows(every)
    least = (record.multiplier_sum[:, c] / rounds @ rows).min()
    return of_multipliers, _finite(record.model_sum[c] / rounds - least)


def _advice(solution: Solution, feasible: bool, best: Classifier, conflict: Conflict | None) -> list[str]:
    advice = []
    if solution.interrupted:
        advice.append(f"interrupted after {rounds_played(solution)}: fit again for a better result")
    record = Record(0) if solution.play is None else solution.play.record
    for c, t in sorted(record.diverged.items()):
        setting = solution.configurations[c]
        advice.append(f"configuration {c} ({describe(setting)}) diverged by round {t}: take smaller steps")
    if record.left_domain:
        c, t = min(record.left_domain.items(), key=lambda item: item[1])
        advice.append(
            f"surrogate rates left the domain of an atom (configuration {c}, round {t}): {solution.algorithm.name} "
            "has no guarantee there; use surrogate (Algorithm 2), whose multipliers see the true rates, or "
            "Linear(radius=...)"
        )
    if conflict is not None:
        advice.append(conflict.advice)
    elif not feasible:
        advice.append(
            "no mixture of the classifiers found meets the constraints: loosen them, or "
            + ("give the model better features" if solution.play is None else "play more rounds")
        )
    elif (answer := _degenerate(solution, best)) is not None:
        advice.append(
            f"every rate is that of the classifier that says {answer} to everybody: check the constraints against "
            "each other"
        )
    return advice


def rounds_played(solution: Solution) -> str:
    """How many rounds or passes there were, for messages."""
    if solution.play is None:
        return f"{solution.rounds} passes"
    return f"{solution.rounds} of {solution.play.rules.n_rounds} rounds"


def _degenerate(solution: Solution, best: Classifier) -> Any:
    """The class, if the mixture's rates are those of the constant classifier that always predicts it; else None."""
    mixed = solution.columns.where(best.chosen).rates @ best.weights
    constant, classes = solution.judge.rates(solution.judge.cells.constants()), solution.judge.cells.classes
    alike = (k for k in range(len(classes)) if np.allclose(mixed, constant[:, k], rtol=0, atol=1e-9))
    first = next(alike, None)
    return first if first is None or len(classes) == 2 else repr(classes[first])


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def describe(setting: dict[str, Any]) -> str:
    """Show a configuration's settings."""
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in setting.items()
    )
