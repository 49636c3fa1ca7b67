"""Exporting every kind, running it on hard rows, and timing one row.

In: how many rows to train on and to compare. Out: `Measured` for each kind: rows decided otherwise, or why the export
was refused; bytes; the time of one row in onnxruntime and in Python.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import equirate as eq

from ..experiments import Table
from .kinds import KINDS, Kind, People
from .rows import hard_rows

BATCH = 10_000
TIMES = 200
"""Runs of one row, whose median is shown."""
SAME = 1e-9
"""Probabilities that differ by less are those of the same decisions: no member has so little weight."""


@dataclass(frozen=True)
class Measured:
    """What was measured of one kind."""

    name: str
    rows: int
    members: int
    different: int = 0
    size: int = 0
    onnx: float = float("nan")
    python: float = float("nan")
    refused: str = ""

    def __str__(self) -> str:
        if self.refused:
            return f"{self.name}: refused: {self.refused}"
        return f"{self.name}: {self.different} of {self.rows:,} rows differ, {self.size:,} bytes"


def run(
    rows: int, train: int, kinds: Sequence[Kind] = KINDS, tell: Callable[[str], None] = lambda line: None
) -> list[Measured]:
    """Measure every kind."""
    people, fresh = People.drawn(train, 1), People.drawn(rows, 2)
    found = []
    for kind in kinds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eq.NotSolvedWarning)
            estimator = kind.fitted(people)
        found.append(measured(kind.name, estimator, hard_rows(estimator, kind.features(fresh), 3)))
        tell(str(found[-1]))
    return found


def measured(name: str, estimator: Any, X: Any) -> Measured:
    """Export one estimator, and compare."""
    import onnxruntime

    members = len(estimator.classifier_.weights)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        try:
            estimator.to_onnx(path)
        except eq.EquirateError as error:
            return Measured(name, len(X), members, refused=str(error))
        opened = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        size = path.stat().st_size
    given = inputs(X)
    parts = [
        opened.run(["pmf"], {key: values[a : a + BATCH] for key, values in given.items()})[0]
        for a in range(0, len(X), BATCH)
    ]
    different = np.abs(np.concatenate(parts) - estimator.predict_pmf(X)).max(axis=1) > SAME
    first = {key: values[:1] for key, values in given.items()}
    row = X[:1]
    return Measured(
        name,
        len(X),
        members,
        int(different.sum()),
        size,
        _median(lambda: opened.run(["pmf"], first)),
        _median(lambda: estimator.predict_pmf(row)),
    )


def inputs(X: Any) -> dict[str, NDArray[Any]]:
    """Features as inputs of the model; a missing text is empty."""
    if not isinstance(X, pd.DataFrame):
        return {"X": np.ascontiguousarray(X, dtype=float)}
    found: dict[str, NDArray[Any]] = {}
    for name in X.columns:
        text = X[name].dtype != float
        found[name] = X[[name]].fillna("").to_numpy(dtype=object) if text else X[[name]].to_numpy()
    return found


def _median(call: Callable[[], Any]) -> float:
    call()
    times = []
    for _ in range(TIMES):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def make_table(found: Sequence[Measured]) -> Table:
    """What was measured, as a table."""
    rows: list[tuple[str, ...]] = []
    for each in found:
        if each.refused:
            rows.append((each.name, str(each.members), f"{each.rows:,}", f"refused: {each.refused}", "", "", ""))
            continue
        times = [f"{1e6 * value:,.0f} µs" for value in (each.onnx, each.python)]
        cells = (str(each.members), f"{each.rows:,}", f"{each.different:,}", f"{each.size / 1024:,.0f} KiB")
        rows.append((each.name, *cells, *times))
    header = ("classifier", "members", "rows", "decided otherwise", "file", "one row, onnxruntime", "one row, Python")
    note = (
        "Rows at thresholds of trees and the next numbers beside them, on edges of linear members, with missing values "
        "and with categories never seen, among others. Times are medians on the machine at hand."
    )
    return Table("ONNX models beside Python", note, header, tuple(rows))
