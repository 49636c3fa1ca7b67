"""``evaluate``, ``predict`` and ``audit``: a model on new rows, and predictions of any model.

In: a model's folder, or a table of predictions. Out: a `RunOutcome` or, for ``predict``, a file of decisions that is
written batch by batch, so that memory does not grow with the table.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq

from .._core.errors import DataError, EquirateError
from .._core.provenance import file_digest, present
from ..judge.audit import audit
from ..judge.certify import check_confidence
from ..tables.kinds import Kind, kind_of, numbers, text_of
from ..tables.options import ReadOptions
from ..tables.reading import open_source
from ..tables.writing import Sink
from . import reasons
from .checking import RowRules, drop_rows
from .fitting import GIVEN, Exit, RunOutcome, achieved_text, sentence, verdict_code, write_report
from .folders import FolderModel, open_model
from .identity import CLASSIFIER
from .labels import Labels, same, shown_values
from .models import needs_dense
from .names import attributes_of
from .preparing import RunLog, note_dropped, people_of, read_part, weights_of
from .publishing import output_folder


def evaluate(
    model_folder: Path, data: Path, confidence: float, out: Path | None, log: RunLog, force: bool
) -> RunOutcome:
    """Judge a model on a new file: asked, achieved, interval, verdict."""
    check_confidence(confidence)
    model = open_model(model_folder)
    needed = attributes_of(model.trained.problem)
    kinds = {name: kind for name, kind in model.kinds.items() if name in needed}
    log.stage(f"Reading {data}")
    dense = needs_dense(model.trained.kind)
    source = open_source(data, model.reading)
    part = read_part(source, model.labels, kinds, model.weight, model.encoder, log, dense, model.rules, model.cluster)
    log.stage("Judging")
    digest = file_digest(data)
    if digest == getattr(getattr(model.trained.estimator, "provenance_", None), "data", ""):
        log.note("most of these rows were trained on: this is the file that the model was made from")
    achieved = model.trained.evaluate(part, confidence)
    summary: dict[str, Any] = {
        "equirate": eq.__version__,
        "code": int(verdict_code(achieved, None)),
        "verdict": sentence(achieved, GIVEN),
        "date": present(),
        "data": digest,
        "model": file_digest(model_folder / CLASSIFIER),
        "rows": len(part),
        "test": achieved,
    }
    text = achieved_text(achieved, len(part), which=GIVEN)
    if out is not None:
        with output_folder(out, force) as folder:
            report = model.trained.report(part, model.labels, confidence)
            command = shlex.join(["equirate", "evaluate", str(model_folder), str(data)])
            page = write_report(report, folder, text, command, log, {"judged on, SHA-256": summary["data"]})
        text = f"{text}\n\nreport: {out / page}"
    return RunOutcome(text, summary, verdict_code(achieved, None))


# -- predict --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Predicting:
    """How to predict: by which key, with which columns copied, with or without probabilities and reasons."""

    key: str = ""
    keep: tuple[str, ...] = ()
    probability: bool = False
    reasons: bool = False

    def columns(self, labels: Labels) -> tuple[str, ...]:
        """Names of the columns that are written."""
        probability = probability_columns(labels) if self.probability else ()
        return ("prediction", *probability, *(reasons.COLUMNS if self.reasons else ()))


def probability_columns(labels: Labels) -> tuple[str, ...]:
    """The column of the probability of a positive decision; with more than two classes, one for each."""
    return tuple(f"probability {each}" for each in labels.classes) or ("probability",)


def predict(model_folder: Path, data: Path, out: Path | None, how: Predicting, log: RunLog) -> int:
    """Decide on every row of a file, batch by batch; returns how many there were.

    After an interruption the rows decided so far are kept, and KeyboardInterrupt is raised again.
    """
    model = open_model(model_folder)
    if how.reasons and model.labels.classes:
        raise EquirateError(
            f"--reasons is for two classes, and this model has {len(model.labels.classes)}: --probability writes the "
            "probability of each"
        )
    source = open_source(data, model.reading)
    copied = tuple(dict.fromkeys([*([how.key] if how.key else []), *how.keep]))
    source.require(model.encoder.names, "the model")
    source.require(copied, "--key or --keep")
    for name in how.columns(model.labels):
        if name in copied:
            raise EquirateError(f"the column {name!r} cannot be kept: the predictions have that name")
    kinds = {**dict.fromkeys(copied, Kind.CATEGORY), **model.encoder.kinds}
    batches = source.batches(list(kinds), kinds)
    log.stage("Predicting")
    with Sink(out) as sink:
        try:
            for columns in _decided(model, batches, copied, how):
                sink.write(columns)
                log.stage(f"Predicting: {sink.rows:,} rows")
        except KeyboardInterrupt:
            if sink.rows:
                sink.keep()
            raise
        if not sink.rows:
            raise DataError(f"{data} has a header but no rows")
    return sink.rows


def _decided(
    model: FolderModel, batches: Iterator[Any], copied: tuple[str, ...], how: Predicting
) -> Iterator[dict[str, Any]]:
    dense = needs_dense(model.trained.kind)
    for batch in batches:
        if not batch.num_rows:
            continue
        table = dict(zip(batch.schema.names, batch.columns, strict=True))
        X = model.encoder.features_of(table, None, dense)
        key = key_of(how.key, table[how.key]) if how.key else None
        columns: dict[str, Any] = {name: table[name] for name in copied}
        columns["prediction"] = model.trained.decide(X, model.labels, key)
        if how.probability:
            probabilities = np.atleast_2d(model.trained.probabilities(X).T)
            columns |= dict(zip(probability_columns(model.labels), probabilities, strict=True))
        if how.reasons:
            columns |= reasons.reasons(model, table, X, key)
        yield columns


def key_of(name: str, column: Any) -> NDArray[Any]:
    """The values of a key's column, none of them missing."""
    codes, values = text_of(column)
    if (codes < 0).any():
        raise DataError(f"the key {name!r} is missing in {int((codes < 0).sum()):,} rows")
    return np.array(values)[codes]


# -- audit ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Auditing:
    """What to audit."""

    label: str
    prediction: str
    attributes: tuple[str, ...]
    positive: str = ""
    threshold: float | None = None
    weight: str = ""
    confidence: float = 0.95
    smallest: int = 30
    missing: tuple[str, ...] = ()
    decimal: str = "."
    drop_unlabelled: bool = False


def audited(data: Path, how: Auditing, log: RunLog, most: int = 20) -> RunOutcome:
    """Compare every rate in every group with everybody else's, on predictions of any model."""
    check_confidence(how.confidence)
    if not how.attributes:
        raise EquirateError("there is nobody to compare: name columns with --attributes")
    source = open_source(data, ReadOptions(how.missing, how.decimal))
    source.require([how.label], "--label")
    source.require([how.prediction], "--prediction")
    source.require(how.attributes, "--attributes")
    source.require([how.weight] if how.weight else [], "--weight")
    log.stage(f"Reading {data}")
    names = dict.fromkeys([how.label, how.prediction, *how.attributes, *([how.weight] if how.weight else [])])
    table = source.table(list(names), {how.label: Kind.CATEGORY})
    table, _, dropped = drop_rows(table, how.label, how.attributes, RowRules(how.drop_unlabelled))
    note_dropped(dropped, log)
    labels = Labels.of(how.label, how.positive, table[how.label], how.decimal)
    truth = labels.codes(table[how.label], how.decimal)
    decided = decisions(how.prediction, table[how.prediction], labels, how.threshold)
    people = people_of(table, {name: kind_of(name, table[name]) for name in how.attributes})
    log.stage("Comparing")
    weights = weights_of(how.weight, table)
    result = audit(
        truth,
        decided,
        attributes=people,
        sample_weight=weights,
        confidence=how.confidence,
        smallest=how.smallest,
        classes=labels.classes or None,
    )
    return RunOutcome(
        result.text(most, "--top shows more, --json all"), {"equirate": eq.__version__, **result.to_dict()}, Exit.DONE
    )


def decisions(name: str, column: Any, labels: Labels, threshold: float | None = None) -> NDArray[Any]:
    """Decisions as truth values: from values of the label's column, from 0 and 1, or from scores and a threshold.

    Of more than two classes, their codes.
    """
    if threshold is not None and labels.classes:
        raise DataError(
            f"--threshold is for two labels, and {labels.column!r} has {len(labels.classes)} values, "
            f"{shown_values(labels.classes)}: say which one the scores are for with --positive"
        )
    if threshold is not None:
        kind = kind_of(name, column)
        if kind is not Kind.NUMBER:
            raise DataError(f"--threshold needs scores, but {name!r} holds no numbers")
        scores = numbers(name, column, kind)
        if np.isnan(scores).any():
            raise DataError(f"the prediction {name!r} is missing in {int(np.isnan(scores).sum()):,} rows")
        return np.asarray(scores >= threshold)
    codes, values = text_of(column)
    if (codes < 0).any():
        raise DataError(f"the prediction {name!r} is missing in {int((codes < 0).sum()):,} rows")
    if labels.classes:
        unknown = [value for value in values if not any(same(value, each) for each in labels.classes)]
        if unknown:
            raise DataError(
                f"the prediction {name!r} holds {unknown[0]!r}, which is none of the values of {labels.column!r}: "
                f"{shown_values(labels.classes)}"
            )
        return labels.codes(column)
    for yes, no in ((labels.positive, labels.negative), ("1", "0"), ("true", "false")):
        if {value.casefold() for value in values} <= {yes.casefold(), no.casefold()}:
            return np.array([value.casefold() == yes.casefold() for value in values])[codes]
    raise DataError(
        f"the prediction {name!r} holds {len(values):,} values such as {values[0]!r}, neither labels nor 0 and 1: "
        "for scores, give --threshold"
    )
