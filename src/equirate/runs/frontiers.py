"""``frontier``: the best objective at each level of the constraints, as a table and as a page with a slider.

In: `RunSettings` and levels. Out: a `RunOutcome` and, in a folder, ``frontier.json`` and the page, which shows every
point of the frontier with all its rates.
"""

from __future__ import annotations

import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import equirate as eq

from .._core.errors import EquirateError
from .._core.provenance import Provenance, file_digest, present
from ..estimators.frontier import Frontier
from ..reports.facts import Member, Origin, Point, rates_by_slice
from ..reports.report import Report
from ..storage.provenance import model_digest
from .fitting import Exit, RunOutcome, write_report
from .folders import write_text
from .identity import REPORTS
from .jsons import as_json
from .models import estimator_of
from .preparing import PreparedTable, RunLog, prepare
from .publishing import output_folder
from .settings import RunSettings


def frontier(
    settings: RunSettings, levels: list[float], out: Path | None, log: RunLog, force: bool = False
) -> RunOutcome:
    """Train once for many levels of the constraints, and say what each of them costs on held-out rows."""
    if settings.model != "linear":
        raise EquirateError("a frontier is drawn for --model linear")
    if not settings.subject_to:
        raise EquirateError("a frontier needs a constraint to vary: give --subject-to")
    if out is None:
        outcome, _ = _trained(prepare(settings, log), levels, log)
        return RunOutcome(
            f"{outcome.text}\n\ngive --out FOLDER for the page with the slider", outcome.summary, outcome.code
        )
    with output_folder(out, force, ("frontier.json", *REPORTS)) as folder:
        outcome, report = _trained(prepare(settings, log, out=str(out)), levels, log)
        write_text(folder / "frontier.json", as_json(outcome.summary))
        command = settings.command().replace("equirate fit", "equirate frontier", 1)
        command += f" --levels {','.join(f'{level:g}' for level in levels)}"
        page = write_report(report, folder, outcome.text, command, log)
    return RunOutcome(f"{outcome.text}\n\nfrontier and page: {out / page}", outcome.summary, outcome.code)


def _trained(prepared: PreparedTable, levels: list[float], log: RunLog) -> tuple[RunOutcome, Report]:
    train, test = prepared.train, prepared.test
    log.stage("Training for every level")
    named = prepared.labels.named
    frontier_ = estimator_of(prepared, log).frontier(
        train.X,
        named(train.codes),
        sensitive_features=train.attributes,
        sample_weight=train.weights,
        levels=levels,
        clusters=train.clusters,
        test=(test.X, named(test.codes), test.attributes, test.weights),
    )
    digest = model_digest(frontier_.classifiers[_as_written(frontier_)])
    provenance = Provenance(present(), eq.__version__, digest, file_digest(Path(prepared.settings.data)))
    summary = {
        "equirate": eq.__version__,
        "provenance": asdict(provenance),
        "objective": frontier_.objective,
        "constraints": [repr(c) for c in prepared.problem.constraints],
        "options": prepared.settings.changed(),
        "rows": {"train": len(train), "test": len(test)},
        "points": frontier_.table(),
    }
    return RunOutcome(str(frontier_), summary, Exit.DONE), _report(prepared, frontier_, provenance)


def _as_written(frontier_: Frontier) -> int:
    """The point whose level is nearest to the constraints as they were written."""
    return int(np.argmin(np.abs(frontier_.levels)))


def _report(prepared: PreparedTable, frontier_: Frontier, provenance: Provenance) -> Report:
    """The classifier for the constraints as written, with every point of the frontier."""
    examples = prepared.test.examples()
    problem = prepared.problem.expanded(examples)
    chosen = _as_written(frontier_)

    def rates(k: int) -> Any:
        decided = frontier_.decided(k, prepared.test.X, sensitive_features=examples.columns)
        return rates_by_slice(problem, examples, decided, frontier_.parts["test"][k].confidence)

    rates_by_point = [rates(k) for k in range(len(frontier_.levels))]
    points = [
        Point(frontier_.levels[k], frontier_.parts["test"][k], rates_by_point[k])
        for k in np.argsort(frontier_.levels, kind="stable").tolist()
    ]
    classifier = frontier_.classifiers[chosen]
    decided = classifier.members.decide(prepared.test.X, attributes=examples.columns)
    members = [Member(float(w), float(s)) for w, s in zip(classifier.weights, decided.mean(axis=0), strict=True)]
    facts = {
        "trained": provenance.date,
        "model, SHA-256": provenance.model,
        "data, SHA-256": provenance.data,
        "features": f"{len(prepared.encoder.features):,}",
    }
    versions = {name: version(name) for name in ("equirate", "numpy", "scipy", "scikit-learn")}
    return Report(
        problem=repr(problem),
        parts={name: evaluations[chosen] for name, evaluations in frontier_.parts.items()},
        positive_label=repr(prepared.labels.positive) if prepared.labels.positive else "",
        rates=rates_by_point[chosen],
        frontier=tuple(points),
        origin=Origin(
            "",
            tuple(members),
            {name: value for name, value in facts.items() if value},
            {**versions, "Python": platform.python_version()},
        ),
    )
