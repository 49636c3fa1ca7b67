"""``fit``: from a table in a file to a model in a folder, judged on rows that it was not trained on.

In: `RunSettings` and a `RunLog` for messages. Out: a `RunOutcome`: what was achieved, the verdict, and the summary that
is written.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import equirate as eq

from .._core.percent import percent
from .._core.provenance import file_digest
from ..boosting.libraries import installed
from ..judge.certification_record import TESTED_ON
from ..storage.provenance import with_provenance
from .checking import RowRules
from .folders import FolderModel, save_classifier, save_description, write_text
from .identity import OPTIONS, REPORTS, RUN, SUMMARY, id_of, stamped
from .jsons import as_json
from .models import Trained, TrainedModel, needs_dense, train
from .preparing import PreparedTable, RunLog, prepare
from .publishing import output_folder
from .settings import RunSettings


class Exit(IntEnum):
    """Exit codes of the commands."""

    DONE = 0
    BAD_INPUT = 2
    NOT_KEPT = 3
    INTERRUPTED = 130


@dataclass(frozen=True)
class RunOutcome:
    """The result of a run.

    Attributes
    ----------
    text
        For a person.
    summary
        The same as plain data.
    code
        0; 3 if a constraint's verdict on held-out data is "fail", or a given confidence was not certified;
        130 if the run was interrupted and this is what was reached.
    """

    text: str
    summary: dict[str, Any]
    code: Exit


def fit(settings: RunSettings, out: Path, log: RunLog, force: bool = False) -> RunOutcome:
    """Train on a table, judge on held-out rows, and write model, report and summary into a folder.

    An interruption during evaluation ends only the evaluation: the model is written with the results so far.
    """
    with output_folder(out, force, RUN) as folder:
        prepared = prepare(settings, log, needs_dense(settings.model), str(out))
        if settings.model == "trees" and not installed("lightgbm"):
            log.note(
                "lightgbm is not installed, so trees are scikit-learn's HistGradientBoostingClassifier: "
                "pip install 'equirate[boosting]' for faster ones"
            )
        training = train(prepared, log)
        estimator = training.model.estimator
        with_provenance(estimator, replace(estimator.provenance_, data=file_digest(Path(settings.data))))
        judged = Judgement(training.notes)
        try:
            _judge(judged, training, prepared, folder, log)
        except KeyboardInterrupt:
            judged.stopped = True
            for name in REPORTS if not judged.page else ():
                (folder / name).unlink(missing_ok=True)  # it may be incomplete
        summary = _summary(judged, training, prepared)
        described = (prepared.labels, prepared.encoder, prepared.kinds, settings.weight, prepared.reading)
        model = FolderModel(training.model, *described, RowRules.of(settings), settings.cluster)
        _write(model, summary, settings, folder)
        log.stage(f"Writing {out}")
    written = f"model, summary and report: {out / judged.page}" if judged.page else f"model and summary: {out}"
    return RunOutcome(f"{judged.text}\n\n{written}", summary, Exit(summary["code"]))


@dataclass
class Judgement:
    """The evaluation of a model, complete or interrupted.

    Attributes
    ----------
    notes
        Remarks for the user.
    test, train
        What is achieved on held-out and on training rows; None before that is known.
    page
        Name of the report's file; empty before it is written.
    stopped
        Whether judging was interrupted.
    """

    notes: tuple[str, ...]
    test: dict[str, Any] | None = None
    train: dict[str, Any] | None = None
    page: str = ""
    text: str = ""
    stopped: bool = False


def _judge(judged: Judgement, training: TrainedModel, prepared: PreparedTable, folder: Path, log: RunLog) -> None:
    """Judge a model on the held-out rows, and write the report."""
    settings, model, test = prepared.settings, training.model, prepared.test
    confidence = settings.confidence or 0.95
    log.stage("Judging")
    if model.interrupted:
        judged.notes += ("interrupted: this is what was reached",)
    judged.test = model.evaluate(test, confidence)
    judged.train = model.evaluate(prepared.train, confidence)
    judged.text = achieved_text(judged.test, len(test), judged.notes)
    if training.certified is not None:
        judged.text = f"{_certified(model, confidence)}\n{judged.text}"
    facts = {"test data, SHA-256": file_digest(Path(settings.test))} if settings.test else {}
    report = model.report(test, prepared.labels, confidence)
    judged.page = write_report(report, folder, judged.text, settings.command(), log, facts)


def _summary(judged: Judgement, training: TrainedModel, prepared: PreparedTable) -> dict[str, Any]:
    """The results of a run, as plain data."""
    settings, model = prepared.settings, training.model
    if judged.stopped:
        judged.notes += ("interrupted while judging: the model is complete, the judgement is not",)
        again = "equirate evaluate judges it on a table"
        judged.text = f"{judged.text or 'Not judged.'}\n! {judged.notes[-1]}: {again}"
    if judged.test is None:
        code, verdict = Exit.INTERRUPTED, "Not judged."
    else:
        stopped = judged.stopped or model.interrupted
        code = verdict_code(judged.test, training.certified, stopped)
        uncovered = getattr(model.estimator, "uncovered_", ())
        verdict = "; ".join([sentence(judged.test).removesuffix("."), *uncovered]) + "."
    return {
        "equirate": eq.__version__,
        "code": int(code),
        "verdict": verdict,
        "provenance": asdict(model.estimator.provenance_),
        "problem": {
            "objective": repr(model.problem.objective),
            "constraints": [repr(constraint) for constraint in model.problem.constraints],
        },
        "options": settings.changed(),
        "model": {
            "kind": model.kind,
            "members": len(model.classifier.weights),
            "weights": model.classifier.weights.tolist(),
        },
        "rows": {"train": len(prepared.train), "test": len(prepared.test)},
        "columns": [asdict(role) for role in prepared.roles],
        "features": list(prepared.encoder.features),
        "train": judged.train,
        "test": judged.test,
        "certified": training.certified,
        "notes": list(judged.notes),
    }


def _write(model: FolderModel, summary: dict[str, Any], settings: RunSettings, folder: Path) -> None:
    """Write the files of a run beside its report, each with the run's id."""
    classifier = save_classifier(model, folder)
    run = id_of(classifier, settings.as_toml().encode(), as_json(summary).encode())
    summary["run"] = run
    save_description(model, folder, classifier, run)
    write_text(folder / SUMMARY, as_json(summary))
    write_text(folder / OPTIONS, stamped(OPTIONS, settings.as_toml(), run))
    for name in REPORTS:
        if (folder / name).exists():
            text = (folder / name).read_text("utf-8")
            (folder / name).unlink()
            write_text(folder / name, stamped(name, text, run))


def write_report(
    report: Any, folder: Path, text: str, command: str, log: RunLog, facts: Mapping[str, str] | None = None
) -> str:
    """Write the page into a folder, or text if the page cannot be made; returns the file's name.

    ``facts`` are shown beside those about where the model comes from.
    """
    if facts and getattr(report, "origin", None) is not None:
        origin = replace(report.origin, facts={**report.origin.facts, **facts})
        report = replace(report, origin=origin)
    if hasattr(report, "to_html"):
        options = {"command": command} if "command" in inspect.signature(report.to_html).parameters else {}
        try:
            report.to_html(folder / "report.html", **options)
            return "report.html"
        except ImportError as error:
            log.note(f"the report is text only: {error}")
    write_text(folder / "report.txt", f"{text}\n" if report is None else f"{text}\n\n{report}\n")
    return "report.txt"


def _certified(model: Trained, confidence: float) -> str:
    """Whether the model is certified at the requested confidence, in one line."""
    certification = getattr(model.estimator, "certification_", None)
    tested = "" if certification is None else f", by the {certification.method} test on {certification.examples:,} rows"
    if model.estimator.status_.certified:
        rows = "" if certification is None else f", {TESTED_ON.get(certification.method, '')}"
        return f"Certified at {percent(confidence)}{tested}{rows}: every constraint passed."
    why = "" if certification is None or not certification.reasons else f" {certification.reasons[0]}"
    return f"Not certified at {percent(confidence)}{tested}: the constraints may not hold on new data.{why}"


# -- text -----------------------------------------------------------------------------------------


def verdict_code(achieved: dict[str, Any], certified: bool | None, interrupted: bool = False) -> Exit:
    """The exit code that follows from what was achieved on held-out rows."""
    if interrupted:
        return Exit.INTERRUPTED
    failed = any(row["verdict"] == "fail" for row in achieved["constraints"])
    return Exit.NOT_KEPT if failed or certified is False else Exit.DONE


HELD_OUT, GIVEN = "held-out", "given"
"""Rows that a model is judged on: held out by `fit`, or those of any file."""


def _data(which: str) -> str:
    return "held-out data" if which == HELD_OUT else "the data given"


def sentence(achieved: dict[str, Any], which: str = HELD_OUT) -> str:
    """The verdict in one sentence."""
    verdicts = [row["verdict"] for row in achieved["constraints"]]
    if not verdicts:
        return "There are no constraints to keep."
    counts = {word: verdicts.count(word) for word in ("pass", "fail", "cannot tell", "not measured")}
    total = "The constraint" if len(verdicts) == 1 else f"All {len(verdicts)} constraints"
    if counts["pass"] == len(verdicts):
        holds = "holds" if len(verdicts) == 1 else "hold"
        return f"{total} {holds} on {_data(which)}, at {percent(achieved['confidence'])} confidence."
    shown = {"fail": "broken", "pass": "kept", "cannot tell": "too close to tell", "not measured": "not measured"}
    parts = [
        f"{counts[word]} {shown[word]}" for word in ("fail", "cannot tell", "not measured", "pass") if counts[word]
    ]
    return f"Of {len(verdicts)} constraint{'s' * (len(verdicts) > 1)} on {_data(which)}: {', '.join(parts)}."


def achieved_text(
    achieved: dict[str, Any], rows: int, notes: list[str] | tuple[str, ...] = (), which: str = HELD_OUT
) -> str:
    """What was achieved, for a person: the verdict, the objective, and a line or two for every constraint."""
    lines = [sentence(achieved, which), ""]
    low, high = achieved["low"], achieved["high"]
    lines.append(f"objective {achieved['objective']:.4f}  [{low:.4f}, {high:.4f}]  on {rows:,} {which} rows")
    for row in achieved["constraints"]:
        violation = f"violation {row['violation']:+.4f}  [{row['low']:+.4f}, {row['high']:+.4f}]"
        if row["verdict"] == "not measured":
            lines += [f"{row['verdict']:<12}  {row['constraint']}", f"{'':<12}  no rows behind one of its rates"]
            continue
        sides = f"achieved {row['left']:.4f} {row['symbol']} {row['right']:.4f}"
        lines += [f"{row['verdict']:<12}  {row['constraint']}", f"{'':<12}  {sides}, {violation}"]
    return "\n".join([*lines, *(f"! {note}" for note in notes)])
