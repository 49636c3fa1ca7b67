"""Fitting with whatever equirate an interpreter has: ``python fitting.py FOLDER ...``, run as a file of its own.

In: folders, each with ``data.npz`` and ``job.json``: which problems at which levels, which seed. Out: ``answers.json``
and ``predictions.npz`` in each: every row's probability of being predicted 1, by task, for rows fitted on and new rows.
Only names that older versions have too are used, so that two versions are measured by the same lines.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import equirate as eq

GROUP = eq.attr("protected") == 1

Posed = tuple[Any, list[Any]]
PROBLEMS: dict[str, Callable[[float], Posed]] = {
    "F1, F1 parity": lambda t: (eq.maximize(eq.f1()), eq.f1_parity([GROUP, ~GROUP], tolerance=t)),
    "F1, precision floor": lambda t: (eq.maximize(eq.f1()), [eq.precision() >= t]),
    "accuracy, predictive parity": lambda t: (
        eq.maximize(eq.accuracy()),
        eq.predictive_parity([GROUP, ~GROUP], tolerance=t),
    ),
    "KL, error limit": lambda t: (
        eq.minimize(eq.kl_divergence(GROUP) + eq.kl_divergence(~GROUP)),
        [eq.error_rate() <= t],
    ),
    "error, demographic parity": lambda t: (
        eq.minimize(eq.error_rate()),
        eq.demographic_parity([GROUP, ~GROUP], tolerance=t),
    ),
}
"""Objective and constraints by name, at a level."""


def fitted(task: dict[str, Any], data: dict[str, Any], seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fit a task, ``repeat`` times for its CPU seconds; the answer, and predictions by part."""
    objective, constraints = PROBLEMS[task["problem"]](task["level"])
    given, attributes = (data["X"], data["y"]), {"protected": data["group"]}
    seconds = []
    for _ in range(task.get("repeat", 1)):
        start = time.process_time()
        clf = eq.RateClassifier(objective, constraints, random_state=seed).fit(*given, sensitive_features=attributes)
        seconds.append(time.process_time() - start)
    parts = {"fit": clf.predict_pmf(data["X"])[:, 1], "new": clf.predict_pmf(data["X_new"])[:, 1]}
    return {"seconds": seconds, "feasible": bool(clf.status_.feasible)}, parts


def frontier(task: dict[str, Any], data: dict[str, Any], seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Trace a frontier from the tightest level: predictions by level, and the objective on held-out rows."""
    levels = task["levels"]
    objective, constraints = PROBLEMS[task["problem"]](levels[0])
    clf = eq.RateClassifier(objective, constraints, random_state=seed)
    beyond = [level - levels[0] for level in levels]
    found = clf.frontier(data["X"], data["y"], sensitive_features={"protected": data["group"]}, levels=beyond)
    held = [row.get("objective_validation", row["objective_train"]) for row in found.table()]
    parts = {str(k): one.positive_probability(data["X"]) for k, one in enumerate(found.classifiers)}
    return {"held": held}, parts


def polished(task: dict[str, Any], data: dict[str, Any], seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Time ``polish()`` over so many recorded iterates."""
    objective, constraints = PROBLEMS[task["problem"]](task["level"])
    steps = (0.003, 0.01, 0.03, 0.1)
    solution = eq.solve(
        eq.Problem(objective, constraints),
        data["X"],
        data["y"],
        attributes={"protected": data["group"]},
        n_rounds=task["columns"] // len(steps) ** 2,
        record_every=1,
        theta_step=steps,
        lambda_step=steps,
    )
    seconds = []
    for _ in range(task["repeat"]):
        fresh = dataclasses.replace(solution)  # what was found is kept with a solution
        start = time.process_time()
        classifier = fresh.polish()
        seconds.append(time.process_time() - start)
    return {"seconds": seconds}, {"fit": classifier.positive_probability(data["X"])}


KINDS = {"fit": fitted, "frontier": frontier, "polish": polished}


def main(folder: Path) -> None:
    """Do every task of a job."""
    job = json.loads((folder / "job.json").read_text("utf-8"))
    with np.load(folder / "data.npz") as stored:
        data = {name: stored[name] for name in stored.files}
    answers, predictions = [], {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, task in enumerate(job["tasks"]):
            answer, parts = KINDS[task["kind"]](task, data, job["seed"])
            answers.append(answer)
            predictions.update({f"{k}/{part}": values for part, values in parts.items()})
    np.savez(folder / "predictions.npz", **predictions)
    (folder / "answers.json").write_text(json.dumps({"version": eq.__version__, "answers": answers}), "utf-8")


if __name__ == "__main__":
    for given in sys.argv[1:]:
        main(Path(given))
