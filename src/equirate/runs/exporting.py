"""``export``: a model's folder as an ONNX model, with the encoding of the table's columns inside.

In: a folder that ``fit`` has written and, if wanted, a table to check the decisions on. Out: a file whose inputs are
the columns of the table. It is written only if it decides every checked row as Python does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._core.errors import EquirateError
from ..estimators.exporting import export_of as export_of_estimator
from ..export.columns import Column, NumberColumn, TextColumn
from ..export.model import CHECKED, Export
from ..tables.encoder import FARTHEST, Encoder, Encoding, OneHot
from ..tables.kinds import Kind, codes, numbers
from ..tables.reading import open_source
from .fitting import Exit, RunOutcome
from .folders import FolderModel, open_model
from .models import needs_dense
from .preparing import RunLog

ONNX = "model.onnx"


def export(model_folder: Path, out: Path | None, data: Path | None, log: RunLog) -> RunOutcome:
    """Write an ONNX model, checked on generated rows and on those of a table."""
    model, path = open_model(model_folder), model_folder / ONNX if out is None else out
    exported, rows, count = export_of(model), None, CHECKED
    if data is not None:
        log.stage(f"Reading {data}")
        rows = _inputs_of(model, data)
        count += len(next(iter(rows.values())))
    log.stage("Exporting")
    exported.write(path, rows)
    summary = {"onnx": str(path), "bytes": path.stat().st_size, "checked": count, "inputs": list(model.encoder.names)}
    text = f"{path}: {summary['bytes']:,} bytes, the same decisions as Python in all of {count:,} checked rows"
    return RunOutcome(text, summary, Exit.DONE)


def export_of(model: FolderModel) -> Export:
    """The ONNX model of a folder, before it is written."""
    trained, encoder = model.trained, model.encoder
    if trained.estimator is None:
        raise EquirateError("a mixture made by recertify cannot be exported: fit it again with its constraints")
    exported = export_of_estimator(trained.estimator)
    dense = needs_dense(trained.kind)

    def decide(inputs: Mapping[str, Any]) -> NDArray[np.bool_]:
        X = _numbers_only(encoder).features_of(_table_of(encoder, inputs), None, dense)
        return exported.decide({"X": X})

    return replace(
        exported,
        decide=decide,
        columns=tuple(map(_column, encoder.columns)),
        dtype=np.float32,
    )


def _column(encoding: Encoding) -> Column:
    if isinstance(encoding, OneHot):
        return TextColumn(encoding.name, encoding.values, encoding.missing)
    return NumberColumn(encoding.name, encoding.mean, encoding.scale, encoding.missing, FARTHEST)


def _numbers_only(encoder: Encoder) -> Encoder:
    """The same encoder for dates and times that are numbers already, as the inputs of the model are."""
    return Encoder(
        tuple(each if isinstance(each, OneHot) else replace(each, kind=Kind.NUMBER) for each in encoder.columns)
    )


def _table_of(encoder: Encoder, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs of the model as columns of a table."""
    table = {}
    for column in encoder.columns:
        values = inputs[column.name][:, 0]
        if isinstance(column, OneHot):
            table[column.name] = pa.array([text or None for text in values.tolist()], pa.string())
        else:
            table[column.name] = pa.array(values, pa.float64())
    return table


def _inputs_of(model: FolderModel, data: Path) -> dict[str, Any]:
    """Columns of a table as inputs of the model."""
    encoder, source = model.encoder, open_source(data, model.reading)
    source.require(encoder.names, "the model")
    table = source.table(list(encoder.names), dict(encoder.kinds))
    inputs = dict[str, Any]()
    for column in encoder.columns:
        if isinstance(column, OneHot):
            indices, values = codes(table[column.name])
            inputs[column.name] = np.array([*values, ""], dtype=object)[indices][:, None]
        else:
            inputs[column.name] = numbers(column.name, table[column.name], column.kind)[:, None]
    return inputs
