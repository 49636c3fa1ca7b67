"""Measuring versions of equirate on the same rows: every split a job, every version an interpreter.

In: data sets, splits, and the interpreter of another version. Out: plain results, one dict for each measurement.
``equirate-lab held-out`` calls `run`. Answers of the other version are kept in the folder, since that version does not
change; ours are asked for again, unless an interrupted run goes on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

import equirate as eq

from ..benchmarks.timing import thread_variables
from ..experiments.files import read_json, write_json
from .fitting import PROBLEMS
from .people import ACS, Rows, load

Array = NDArray[np.float64]
Result = dict[str, Any]
SCRIPT = Path(__file__).with_name("fitting.py")
OURS, THEIRS = "now", "before"

TOLERANCE = 0.02
LOOSE = 0.9
"""A difference of positive rates that no classifier here comes near: a constraint that does not bind."""
LEVELS = (0.01, 0.05, 0.15, 0.4)
"""Tolerances of demographic parity along which the error must not rise."""
MOST = {"wiki_toxicity": 20_000, ACS: 30_000}
"""Rows to fit on (half as many new ones), where more would take more than a few seconds a fit."""
MANY = {"wiki_toxicity": 40_000, ACS: 100_000}
"""The same for the comparison with logistic regression."""
COLUMNS = 8000


@dataclass(frozen=True)
class Plan:
    """What is measured: data sets, splits of each, splits for frontiers, repetitions for times."""

    names: tuple[str, ...]
    splits: int = 5
    frontiers: int = 1
    repeat: int = 2
    data_dir: str | None = None
    go_on: bool = False
    """Whether what this version has answered is kept, as the other's is."""


@dataclass(frozen=True)
class Version:
    """An equirate: what it is called, and the interpreter that has it."""

    name: str
    python: str
    ours: bool
    kept: bool = False
    """Whether answers to the same job are kept."""


@dataclass(frozen=True, eq=False)
class Job:
    """Tasks on some rows, under a name of their own."""

    name: str
    tasks: tuple[dict[str, Any], ...]
    fit: Rows
    new: Rows
    seed: int

    @property
    def asked(self) -> dict[str, Any]:
        """What is written for the script, and what kept answers must be answers to."""
        return {"tasks": list(self.tasks), "seed": self.seed, "rows": [len(self.fit), len(self.new)]}


@dataclass(frozen=True, eq=False)
class Answer:
    """What a version answered to a job: numbers by task, and predictions by task and part."""

    version: str
    numbers: list[Any]
    predictions: dict[str, Array]


Measure = Callable[[str, int, Job, Answer], list[Result]]
"""Makes results of a data set's split, a job and its answer."""
Tell = Callable[[str], None]


def run(plan: Plan, folder: Path, other: str | None = None, tell: Tell = lambda line: None) -> list[Result]:
    """Measure everything, for both versions where there is another."""
    versions = [Version(OURS, sys.executable, True, plan.go_on)]
    if other is not None:
        versions.append(Version(THEIRS, other, False, True))
    results: list[Result] = []
    for name in plan.names:
        planned = list(_planned(name, plan, folder))
        for version in versions:
            tell(f"{name}: {len(planned)} jobs for the version {version.name!r}")
            answers = asked([job for _, _, job in planned], version, folder)
            for (split, measure, job), answer in zip(planned, answers, strict=True):
                results += measure(name, split, job, answer)
        write_json(folder / "results.json", results)
    if "adult" in plan.names:
        tell("adult: times")
        results += _times(plan, versions, folder)
        write_json(folder / "results.json", results)
    return results


def _planned(name: str, plan: Plan, folder: Path) -> Iterator[tuple[int, Measure, Job]]:
    """The jobs of a data set, and what to make of their answers."""
    parity = "error, demographic parity"
    for split in range(plan.splits):
        rows = _prepared(name, split, plan.data_dir, folder)
        fit, new = _some(name, *rows, MOST, split)
        posed = [{"kind": "fit", "problem": problem, "level": level} for problem, level in _levels(fit).items()]
        yield split, _held_out, Job(f"{name}-{split}-held-out", tuple(posed), fit, new, split)
        if split < plan.frontiers:
            traced = {"kind": "frontier", "problem": parity, "levels": list(LEVELS)}
            alone = [{"kind": "fit", "problem": parity, "level": level} for level in LEVELS]
            yield split, _monotone, Job(f"{name}-{split}-monotone", (traced, *alone), fit, new, split)
        loose = {"kind": "fit", "problem": parity, "level": LOOSE}
        yield (
            split,
            _unconstrained,
            Job(f"{name}-{split}-unconstrained", (loose,), *_some(name, *rows, MANY, split), split),
        )


# -- the comparisons ------------------------------------------------------------------------------


def _held_out(name: str, split: int, job: Job, answer: Answer) -> list[Result]:
    """Objective and violation on rows fitted on and new rows, of every problem."""
    results = []
    for k, (task, numbers) in enumerate(zip(job.tasks, answer.numbers, strict=True)):
        found: Result = {"what": "held out", "data": name, "split": split, "version": answer.version, **task}
        found |= {"rows": len(job.fit), "seconds": numbers["seconds"][0], "said_feasible": numbers["feasible"]}
        for part, rows in (("fit", job.fit), ("new", job.new)):
            measured = values(task, answer.predictions[f"{k}/{part}"], rows)
            found |= {f"{key}_{part}": value for key, value in measured.items()}
        results.append(found)
    return results


def _unconstrained(name: str, split: int, job: Job, answer: Answer) -> list[Result]:
    """The error on new rows with a constraint that does not bind, beside logistic regression's."""
    plain = float((_logistic(job.fit).predict(job.new.X) != job.new.y).mean())
    error = values(job.tasks[0], answer.predictions["0/new"], job.new)["objective"]
    found = {"what": "unconstrained", "data": name, "split": split, "version": answer.version}
    return [{**found, "rows": len(job.fit), "error": error, "logistic": plain}]


def _monotone(name: str, split: int, job: Job, answer: Answer) -> list[Result]:
    """How much the error rises, at most, from one tolerance to a looser one: a frontier, and fits one by one."""

    def errors(*keys: str) -> list[float]:
        return [values(job.tasks[1], answer.predictions[key], job.fit)["objective"] for key in keys]

    levels = range(len(job.tasks) - 1)
    rises = {
        "frontier": errors(*(f"0/{k}" for k in levels)),
        "held": answer.numbers[0]["held"],
        "fits": errors(*(f"{k + 1}/fit" for k in levels)),
    }
    found = {"what": "monotone", "data": name, "split": split, "version": answer.version, "rows": len(job.fit)}
    return [found | {key: float(max(0.0, np.diff(along).max())) for key, along in rises.items()}]


def _levels(fit: Rows) -> dict[str, float]:
    """Levels from the rows to fit on alone: a quarter of the way to precision 1, and a tenth more error.

    Both are counted from a logistic regression's.
    """
    predicted = _logistic(fit).predict(fit.X)
    precision = float(fit.y[predicted == 1].mean()) if predicted.any() else float(fit.y.mean())
    error = float((predicted != fit.y).mean())
    return {
        "F1, F1 parity": TOLERANCE,
        "F1, precision floor": round(precision + 0.25 * (1 - precision), 3),
        "accuracy, predictive parity": TOLERANCE,
        "KL, error limit": round(1.1 * error, 4),
    }


def _times(plan: Plan, versions: Sequence[Version], folder: Path) -> list[Result]:
    """CPU seconds of fits on Adult, and of ``polish()`` over many columns; versions take turns."""
    fit, new = _prepared("adult", 0, plan.data_dir, folder)
    levels = _levels(fit)
    posed = {
        "affine": ("error, demographic parity", TOLERANCE),
        "convex": ("KL, error limit", levels["KL, error limit"]),
        "ratios": ("F1, F1 parity", TOLERANCE),
    }
    fits = [{"kind": "fit", "problem": problem, "level": level, "repeat": 2} for problem, level in posed.values()]
    few = fit.some(5000, 0)
    many = {"kind": "polish", "problem": "F1, F1 parity", "level": TOLERANCE, "columns": COLUMNS, "repeat": 3}
    samples: dict[tuple[str, str], list[float]] = {}
    for turn in range(plan.repeat):
        for version in versions if turn % 2 else versions[::-1]:
            (answer,) = asked([Job(f"adult-times-{turn}", tuple(fits), fit, new.some(10, 0), 0)], version, folder)
            for curvature, numbers in zip(posed, answer.numbers, strict=True):
                samples.setdefault((curvature, version.name), []).extend(numbers["seconds"])
    for version in versions:
        (answer,) = asked([Job("adult-polish", (many,), few, few.some(10, 0), 0)], version, folder)
        samples["polish", version.name] = answer.numbers[0]["seconds"]
    return [{"what": "time", "of": of, "version": name, "seconds": min(found)} for (of, name), found in samples.items()]


# -- asking ---------------------------------------------------------------------------------------


def values(task: dict[str, Any], predicted: Array, rows: Rows) -> dict[str, float]:
    """Objective and largest violation (at least 0) of a task's problem on some rows."""
    objective, constraints = PROBLEMS[task["problem"]](task["level"])
    given = (rows.y, predicted)
    asked = eq.Problem(objective, constraints).constraints
    violations = [
        part.evaluate(*given, attributes=rows.attributes) for part in asked if isinstance(part, eq.Constraint)
    ]
    return {
        "objective": float(objective.expr.evaluate(*given, attributes=rows.attributes)),
        "violation": float(max(0.0, *violations, 0.0)),
    }


def asked(jobs: Sequence[Job], version: Version, folder: Path) -> list[Answer]:
    """Let an interpreter do jobs, in one process; what another version has answered already is kept."""
    places = [folder / version.name / job.name for job in jobs]
    due = [
        (job, place)
        for job, place in zip(jobs, places, strict=True)
        if not version.kept or read_json(place / "job.json") != job.asked or read_json(place / "answers.json") is None
    ]
    for job, place in due:
        place.mkdir(parents=True, exist_ok=True)
        (place / "answers.json").unlink(missing_ok=True)
        write_json(place / "job.json", job.asked)
        np.savez(place / "data.npz", X=job.fit.X, y=job.fit.y, group=job.fit.group, X_new=job.new.X)
    if due:
        environment = {**os.environ, **thread_variables(1)}
        if not version.ours:
            environment.pop("PYTHONPATH", None)
        command = [version.python, str(SCRIPT), *(str(place) for _, place in due)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        for _, place in due:
            (place / "data.npz").unlink()
        if done.returncode:
            said = (done.stderr.strip() or "it said nothing").splitlines()[-1]
            raise RuntimeError(f"the version {version.name!r} could not do {jobs[0].name} and the like: {said}")
    return [_answer(place, version) for place in places]


def _answer(place: Path, version: Version) -> Answer:
    with np.load(place / "predictions.npz") as stored:
        predictions = {name: stored[name] for name in stored.files}
    return Answer(version.name, read_json(place / "answers.json")["answers"], predictions)


def _prepared(name: str, split: int, data_dir: str | None, folder: Path) -> tuple[Rows, Rows]:
    """The rows of a split, kept in the folder: embedding the comments of Wiki Toxicity takes minutes."""
    place = folder / "data" / f"{name}-{split}.npz"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        parts = zip(("fit", "new"), load(name, split, data_dir), strict=True)
        kept = {part: rows.some(MANY.get(name), split) for part, rows in parts}
        beside = place.with_name(f".{place.name}")
        np.savez(
            beside,
            **{f"{part}_{key}": getattr(rows, key) for part, rows in kept.items() for key in ("X", "y", "group")},
        )
        beside.replace(place)
    with np.load(place) as stored:
        fit, new = (Rows(*(stored[f"{part}_{key}"] for key in ("X", "y", "group"))) for part in ("fit", "new"))
    return fit, new


def _some(name: str, fit: Rows, new: Rows, most: dict[str, int], split: int) -> tuple[Rows, Rows]:
    limit = most.get(name)
    return fit.some(limit, split), new.some(None if limit is None else limit // 2, split)


def _logistic(fit: Rows) -> LogisticRegression:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its 100 iterations may not be enough; it is taken as it comes
        return LogisticRegression().fit(fit.X, fit.y)
