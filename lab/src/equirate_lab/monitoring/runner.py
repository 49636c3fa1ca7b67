"""Streams of rows, and the row at which each method raises an alarm.

Every stream is looked at after each day. The monitor is `equirate.Monitor`; *all so far* certifies all rows up to a day
and *day by day* those of the day, both by `equirate.certify` at 95 % with Bonferroni's correction for the number of
days; MAPIE's is `RiskMonitoring` with the same limit. What is done is in a file, where a run that was interrupted goes
on.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import equirate as eq

from ..experiments.files import read_json, write_json
from .problems import PROBLEMS, Problem, Rows

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Attributes
    ----------
    streams, rows
        Streams at the boundary of each problem, and their rows.
    moved, most
        Streams for each size of the move, and the rows after which a stream without an alarm is given up.
    fewer
        Methods that take so long that they get fewer of these streams, the first ones.
    day
        Rows between looks.
    before
        Rows with a violation of ``room`` before the move, for the streams that move later.
    """

    streams: int = 2000
    rows: int = 5000
    moved: int = 100
    most: int = 20_000
    day: int = 200
    moves: tuple[float, ...] = (0.02, 0.05, 0.1)
    before: int = 5000
    room: float = -0.02
    seed: int = 0
    fewer: Mapping[str, int] = field(default_factory=lambda: {"all so far": 20, "day by day": 20, "MAPIE": 5})


def _monitor(problem: Problem, stream: Rows, day: int) -> int | None:
    """Rows until the alarm."""
    monitor = eq.Monitor(problem.constraint, CONFIDENCE)
    for end in range(day, len(stream.label) + 1, day):
        part = stream.take(slice(end - day, end))
        monitor.update(part.predicted, part.label, attributes={"sex": part.sex})
        if monitor.alarms:
            return end
    return None


def _certified(problem: Problem, stream: Rows, day: int, whole: bool) -> int | None:
    looks = len(stream.label) // day
    level = 1 - (1 - CONFIDENCE) / looks
    for end in range(day, len(stream.label) + 1, day):
        part = stream.take(slice(0 if whole else end - day, end))
        found = eq.certify(
            problem.constraint, part.label, part.predicted, attributes={"sex": part.sex}, confidence=level
        )
        if found.verdict == "fail":
            return end
    return None


def _all_so_far(problem: Problem, stream: Rows, day: int) -> int | None:
    return _certified(problem, stream, day, True)


def _day_by_day(problem: Problem, stream: Rows, day: int) -> int | None:
    return _certified(problem, stream, day, False)


def _mapie(problem: Problem, stream: Rows, day: int) -> int | None:
    """MAPIE's monitor with the limit given: half of its level is meant for a reference set, which is not needed."""
    from mapie.exchangeability_testing import RiskMonitoring  # type: ignore[import-untyped, import-not-found, unused-ignore]

    assert problem.rival is not None
    risk, limit = problem.rival
    found = RiskMonitoring(risk, test_level=2 * (1 - CONFIDENCE), threshold=limit(problem.limit), warn=False)
    label, predicted = stream.label.astype(int), stream.predicted.astype(int)
    found.update(label, predicted)  # it gives the bound after every row that counts
    counted = np.ones(len(label), dtype=bool) if risk.startswith("predicted") else predicted == 1
    above = np.flatnonzero(found.online_risk_lower_bound_sequence_history > limit(problem.limit))
    if not len(above):
        return None
    row = int(np.flatnonzero(counted)[above[0]]) + 1
    return -(-row // day) * day


METHODS: dict[str, Callable[[Problem, Rows, int], int | None]] = {
    "Monitor": _monitor,
    "all so far": _all_so_far,
    "day by day": _day_by_day,
    "MAPIE": _mapie,
}


def applies(method: str, problem: Problem) -> bool:
    """Whether a method can follow a problem, and is installed."""
    return method != "MAPIE" or (problem.rival is not None and importlib.util.find_spec("mapie") is not None)


def run(
    plan: Plan,
    out: Path,
    problems: Sequence[Problem] = PROBLEMS,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measure what is not in the file yet: for every problem, move and method the rows until the alarm, or None."""
    done: dict[str, Any] = read_json(out) or {}
    for chosen in METHODS:
        wanted = [(problem, *each) for problem in problems for each in _wanted(problem, plan) if each[1] == chosen]
        for problem, key, method, number, stream in wanted:
            if key in done and len(done[key]) >= number:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                done[key] = [METHODS[method](problem, stream(k), plan.day) for k in range(number)]
            write_json(out, done)
            raised = [rows for rows in done[key] if rows is not None]
            tell(f"{key}: {len(raised)} of {number} raised an alarm, median {np.median(raised) if raised else '-'}")
    return done


def _wanted(problem: Problem, plan: Plan) -> list[tuple[str, str, int, Callable[[int], Rows]]]:
    """Keys of the file, the method, how many streams, and the stream with a number."""

    def rng(name: str, k: int) -> np.random.Generator:
        return np.random.default_rng([plan.seed, k, *f"{problem.name}/{name}".encode()])

    def boundary(k: int) -> Rows:
        return problem.draw(rng("boundary", k), plan.rows, 0.0)

    found: list[tuple[str, str, int, Callable[[int], Rows]]] = []
    found.append((f"{problem.name}/boundary/Monitor", "Monitor", plan.streams, boundary))
    for move in plan.moves:

        def moved(k: int, move: float = move) -> Rows:
            return problem.draw(rng(f"{move}", k), plan.most, move)

        def later(k: int, move: float = move) -> Rows:
            first = problem.draw(rng(f"{move}/first", k), plan.before, plan.room)
            second = problem.draw(rng(f"{move}/second", k), plan.most, move)
            names = ("predicted", "label", "sex")
            return Rows(*(np.concatenate([getattr(first, name), getattr(second, name)]) for name in names))

        for method in METHODS:
            if applies(method, problem):
                number = min(plan.moved, plan.fewer.get(method, plan.moved))
                found.append((f"{problem.name}/{move}/{method}", method, number, moved))
                found.append((f"{problem.name}/{move} later/{method}", method, number, later))
    return found
