"""Fitting samples and judging what comes of them on fresh rows; every sample is a line of a file, so runs go on."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import equirate as eq

from .problems import PROBLEMS, ClassPopulation, Data, Population, Problem

CONFIDENCE, POWER = 0.95, 0.8
FRESH = 200_000
METHODS = ("plain", "cross", "holdout")
BLOCK = 20
"""Samples of each problem before it is the next one's turn."""
FRESH_SEED, PILOT_SEED = 7_000_000, 8_000_000


@dataclass(frozen=True)
class Fresh:
    """Many fresh rows, judged by what is predicted on average in each cell: label and group."""

    data: Data

    def judged(self, problem: Problem, classifier: eq.RateClassifier) -> tuple[float, float]:
        """Objective and largest violation on the fresh rows."""
        data, classes = self.data, problem.population.classes
        cell, count = classes * data.g + data.y, 2 * classes
        counts = np.bincount(cell, minlength=count)
        pmf = classifier.predict_pmf(data.X)
        sums = np.stack([np.bincount(cell, weights=column, minlength=count) for column in pmf.T], axis=1)
        mean = np.clip(sums / np.maximum(counts, 1)[:, None], 0.0, 1.0)
        given = (np.tile(np.arange(classes), 2), mean[:, 1] if classes == 2 else mean)
        attributes = {"g": np.repeat([0, 1], classes)}
        cells: dict[str, Any] = {"attributes": attributes, "sample_weight": counts.astype(float)}
        violations = [constraint.residual.evaluate(*given, **cells) for constraint in problem.constraints]
        return float(problem.objective.expr.evaluate(*given, **cells)), float(max(violations))


@dataclass(frozen=True)
class Results:
    """Every sample of every problem, and what `equirate.power` says of the problems."""

    samples: dict[str, list[dict[str, Any]]]
    needed: dict[str, float]
    """Margin that is needed over the one there is: up to 1, certification is expected."""


def run(
    samples: int = 200,
    seed: int = 0,
    out: Path = Path("build/confidence"),
    problems: Sequence[Problem] = PROBLEMS,
    fresh: int = FRESH,
    tell: Callable[[str], None] = lambda line: None,
) -> Results:
    """Fit and judge as many samples of each problem as are not in the files of an earlier run.

    All problems go forward together, block by block, so that a run that ends early tells of all of them alike. With
    ``samples=0`` nothing is fitted, and all samples in the files count.
    """
    out.mkdir(parents=True, exist_ok=True)
    found = {problem.name: read(_path(out, problem, seed)) for problem in problems}
    for done in range(BLOCK, samples + BLOCK, BLOCK):
        for problem in problems:
            wanted = min(done, samples) * problem.samples
            found[problem.name] = _more(problem, _path(out, problem, seed), wanted, seed, fresh)
        tell(f"{min(done, samples)} of {samples} samples")
    found = {name: known for name, known in found.items() if known}
    return Results(found, {problem.name: needed(problem) for problem in problems if problem.name in found})


def _path(out: Path, problem: Problem, seed: int) -> Path:
    slug = "".join(c if c.isalnum() else "-" for c in problem.name.lower()).strip("-")
    return out / f"{slug}-{seed}.jsonl"


def _more(problem: Problem, path: Path, wanted: int, seed: int, fresh: int) -> list[dict[str, Any]]:
    """The samples in a file, after as many as are missing were put to it."""
    known = read(path)
    if len(known) < wanted:
        rows = Fresh(drawn(problem.population, FRESH_SEED + seed, fresh))
        with path.open("a", encoding="utf-8") as file:
            for k in range(len(known), wanted):
                known.append(fitted(problem, rows, [seed, k]))
                file.write(json.dumps(known[-1]) + "\n")
                file.flush()
    return known[:wanted]


def read(path: Path) -> list[dict[str, Any]]:
    """The samples of a file; a line that was not finished is left out."""
    if not path.exists():
        return []
    lines = path.read_text("utf-8").splitlines()
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            break
    if len(found) < len(lines):
        path.write_text("".join(json.dumps(one) + "\n" for one in found), "utf-8")
    return found


def drawn(population: Population | ClassPopulation, seed: int, size: int) -> Data:
    """A large sample."""
    return population.draw(np.random.default_rng(seed), size / population.n)


def fitted(problem: Problem, fresh: Fresh, seed: Sequence[int]) -> dict[str, Any]:
    """One sample: what each method claims, and what is true."""
    data = problem.population.draw(np.random.default_rng([*seed, *problem.name.encode()]))
    sign = -1 if problem.objective.sense == "maximize" else 1
    found: dict[str, Any] = {"seed": list(seed), "sign": sign}
    for method in METHODS:
        began = time.process_time()
        try:
            classifier = fit(problem, data, method, seed[-1])
        except eq.EquirateError:  # the strict method takes no functions that bend
            continue
        seconds = time.process_time() - began
        status = classifier.status_
        objective, violation = fresh.judged(problem, classifier)
        claims = status.feasible if method == "plain" else bool(status.certified)
        found[method] = {"claims": claims, "objective": objective, "violation": violation, "seconds": round(seconds, 3)}
    return found


def fit(problem: Problem, data: Data, method: str, seed: int) -> eq.RateClassifier:
    """Fit one classifier."""
    options: dict[str, Any] = {} if method == "plain" else {"confidence": CONFIDENCE, "confidence_method": method}
    estimator = eq.RateClassifier(problem.objective, list(problem.constraints), random_state=seed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        return estimator.fit(data.X, data.y, sensitive_features={"g": data.g})


def needed(problem: Problem) -> float:
    """The largest share of what there is that certification needs, at the rates of a classifier of a large sample."""
    population = problem.population
    pilot = fit(problem, drawn(population, PILOT_SEED, 20_000), "plain", 0)
    data = drawn(population, PILOT_SEED + 1, 50_000)
    pmf = pilot.predict_pmf(data.X)
    rates: dict[Any, float]
    if population.classes == 2:
        rates = {"tpr": float(pmf[data.y == 1, 1].mean()), "fpr": float(pmf[data.y == 0, 1].mean())}
    else:
        rates = {k: float(pmf[data.y == k, k].mean()) for k in range(population.classes)}
    labels, group = population.expected(), population.groups()
    told = eq.power(
        list(problem.constraints), labels, attributes={"g": group}, confidence=CONFIDENCE, power=POWER, rates=rates
    ).constraints
    shares = []
    for part in told:
        room = part.available if part.two_sided else problem.room
        if room is not None:
            shares.append(part.margin / room)
    return max(shares, default=float("nan"))
