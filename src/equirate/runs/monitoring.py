"""``monitor``: a model's constraints followed on files of new rows.

In: a model's folder, a file or a folder of files, and the monitor's own file. Out: a `RunOutcome` with one line for
each constraint; its code is 3 where there is an alarm. The state is written after every file together with the file's
checksum, so that a command that was killed is simply run again, and no file is counted twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq

from .._core.errors import DataError, EquirateError, FileError
from ..monitoring.monitor import Monitor, MonitorSource, refuse_repeated
from ..monitoring.page import sentence, write_page
from ..tables.kinds import Kind, text_of
from ..tables.reading import open_source
from .checking import drop_rows
from .fitting import Exit, RunOutcome
from .folders import FolderModel, open_model
from .identity import CLASSIFIER
from .judging import decisions, key_of
from .labels import Labels
from .models import needs_dense
from .names import attributes_of
from .preparing import RunLog, people_of, refuse_missing, weights_of

_BLOCK = 1 << 20


@dataclass(frozen=True)
class MonitoringOptions:
    """Options of monitoring.

    Attributes
    ----------
    state
        The monitor's file; it is begun where there is none.
    confidence, floor
        Of a new monitor.
    late
        Whether the rows were counted before, and their labels have come now.
    prediction, key
        Column of the decisions as they were served; without it the model decides again, by this key.
    page
        Where the page goes; by default beside the state.
    """

    state: Path
    confidence: float | None = None
    floor: float | None = None
    late: bool = False
    prediction: str = ""
    key: str = ""
    page: Path | None = None


def monitor(model_folder: Path, data: Path, how: MonitoringOptions, log: RunLog) -> RunOutcome:
    """Count the rows of new files, and say which constraints are kept."""
    model = open_model(model_folder)
    digest = _digest(model_folder / CLASSIFIER)
    following = _opened(model, digest, how)
    page = how.page or how.state.with_suffix(".html")
    counted = {(source.sha256, source.late) for source in following.sources}
    new, skipped = 0, 0
    for file in _files(data, {how.state.resolve(), page.resolve()}):
        checksum = _digest(file)
        if (checksum, how.late) in counted:
            skipped += 1
            continue
        log.stage(f"Counting {file}")
        rows = sum(_updated(following, model, how, batch) for batch in _batches(file, model, how))
        following.sources.append(MonitorSource(file.name, checksum, rows, how.late))
        counted.add((checksum, how.late))
        following.save(how.state)
        new += rows
    if not how.state.exists():
        following.save(how.state)
    write_page(following, page)
    return _outcome(following, new, skipped, page)


def _opened(model: FolderModel, digest: str, how: MonitoringOptions) -> Monitor:
    """The monitor of a state file, or a new one."""
    if how.state.exists():
        saved = Monitor.load(how.state)
        if saved.model != digest:
            raise FileError(f"the state {how.state} is of another model: give a new file with --state")
        if how.floor is not None or how.confidence not in (None, saved.confidence):
            raise EquirateError(
                f"--confidence and --floor belong to a new state, and {how.state} is there already: give another "
                "--state, or leave them out"
            )
        return saved
    confidence = 0.95 if how.confidence is None else how.confidence
    new = Monitor(model.trained.problem, confidence, floor=how.floor, classes=model.labels.classes or None)
    if not model.labels.classes:
        new.labels = (model.labels.negative, model.labels.positive)
    new.model = digest
    return new


def _files(data: Path, others: set[Path]) -> list[Path]:
    """The file, or the files of a folder by name, but for hidden ones and the monitor's own."""
    if not data.is_dir():
        return [data]
    files = sorted(file for file in data.iterdir() if file.is_file() and not file.name.startswith("."))
    files = [file for file in files if file.resolve() not in others]
    if not files:
        raise DataError(f"the folder {data} holds no files")
    return files


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    return digest.hexdigest()


def _batches(file: Path, model: FolderModel, how: MonitoringOptions) -> Iterator[dict[str, Any]]:
    """The columns that are needed, batch by batch."""
    source = open_source(file, model.reading)
    kinds: dict[str, Kind | None] = {name: Kind.CATEGORY for name in (how.prediction, how.key) if name}
    source.require(kinds, "--prediction or --key")
    if not how.prediction:
        source.require(model.encoder.names, "the model")
        kinds = {**kinds, **model.encoder.kinds}
    named = attributes_of(model.trained.problem)
    needed = {name: kind for name, kind in model.kinds.items() if name in named}
    source.require(needed, "an attribute")
    known = {**kinds, **needed}
    if model.weight:
        source.require([model.weight], "--weight")
        known[model.weight] = Kind.NUMBER
    if model.labels.column in source.names:
        known[model.labels.column] = Kind.CATEGORY
    elif how.late:
        source.require([model.labels.column], "--late")
    if model.cluster and model.cluster in source.names:
        codes, texts = text_of(source.table([model.cluster], {model.cluster: Kind.CATEGORY})[model.cluster])
        refuse_repeated(np.array(texts)[codes[codes >= 0]], f"{file}, column {model.cluster!r}: ")
    rules = replace(model.rules, drop_unlabelled=False)  # rows without a label wait for it
    for batch in source.batches(list(known), known):
        refuse_missing(batch, needed, rules)
        batch, _, _ = drop_rows(batch, model.labels.column, list(needed), rules, all_of_them=True)
        if batch.num_rows:
            yield dict(zip(batch.schema.names, batch.columns, strict=True))


def _updated(following: Monitor, model: FolderModel, how: MonitoringOptions, table: dict[str, Any]) -> int:
    """Count one batch; returns its rows."""
    labels = model.labels
    if how.prediction:
        decided = labels.named(decisions(how.prediction, table[how.prediction], labels))
    else:
        X = model.encoder.features_of(table, None, needs_dense(model.trained.kind))
        decided = model.trained.decide(X, labels, key_of(how.key, table[how.key]) if how.key else None)
    people = people_of(table, {name: kind for name, kind in model.kinds.items() if name in table})
    y = _labels(labels, table[labels.column], model.reading.decimal) if labels.column in table else None
    following.update(
        decided, y, attributes=people or None, sample_weight=weights_of(model.weight, table), late=how.late
    )
    return len(decided)


def _labels(labels: Labels, column: Any, decimal: str) -> NDArray[Any]:
    """Labels as text, and None where they are missing."""
    present = text_of(column)[0] >= 0
    named = np.full(len(present), None, dtype=object)
    named[present] = labels.named(labels.codes(column.filter(present), decimal))
    return named


def _outcome(following: Monitor, new: int, skipped: int, page: Path) -> RunOutcome:
    statuses, alarms = following.status(), following.alarms
    lines = [sentence(following), "", *map(str, statuses), *([""] if alarms else []), *map(str, alarms)]
    if skipped:
        lines += ["", f"{skipped} file{'s' * (skipped > 1)} counted before, and not again"]
    lines += ["", f"bounds over time: {page}"]
    code = Exit.NOT_KEPT if alarms else Exit.DONE
    summary = {
        "equirate": eq.__version__,
        "code": int(code),
        "verdict": sentence(following),
        "confidence": following.confidence,
        "rows": {"new": new, "total": following.rows},
        "constraints": [asdict(status) for status in statuses],
        "alarms": [asdict(alarm) for alarm in alarms],
        "files": [asdict(source) for source in following.sources],
    }
    return RunOutcome("\n".join(lines), summary, code)
