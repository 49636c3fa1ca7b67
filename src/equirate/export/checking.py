"""Whether an ONNX model decides as Python does.

In: the model as bytes, a value of each input, and Python's decisions. Out: nothing, or an error that says how many
decisions differ. Such a model is not written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError
from .graph import imported

BATCH = 10_000
"""Rows that are run at once: each tree has a column of leaves, in double precision."""


def session(content: bytes) -> Any:
    """Open a model in onnxruntime; an error says why it cannot."""
    runtime = imported("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 3  # errors alone
    try:
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no error of its own that all versions raise
        raise EquirateError(f"onnxruntime {runtime.__version__} does not run the exported model: {error}") from None


def run(content: bytes, inputs: Mapping[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The probabilities and the members' decisions of a model, a batch at a time."""
    opened = session(content)
    rows = len(next(iter(inputs.values())))
    outputs = [
        opened.run(["pmf", "members"], {name: values[a : a + BATCH] for name, values in inputs.items()})
        for a in range(0, rows, BATCH)
    ]
    return np.concatenate([pmf for pmf, _ in outputs]), np.concatenate([members for _, members in outputs])


def check(content: bytes, inputs: Mapping[str, Any], decided: NDArray[np.bool_], weights: NDArray[np.float64]) -> None:
    """Raise an error if a decision of the model differs from Python's."""
    pmf, members = run(content, inputs)
    differ = np.flatnonzero((members != decided).any(axis=1))
    if len(differ):
        raise EquirateError(
            f"the ONNX model decides {len(differ):,} of {len(decided):,} checked rows differently from Python (the "
            f"first is {_shown(inputs, int(differ[0]))}), so it was not written"
        )
    expected = np.sort(np.stack([decided @ weights, 1 - decided @ weights], axis=1), axis=1)
    if not np.allclose(np.sort(pmf, axis=1), expected, rtol=0, atol=1e-9):
        raise EquirateError("the ONNX model has other probabilities than Python, so it was not written")


def _shown(inputs: Mapping[str, Any], row: int, most: int = 5) -> str:
    values = {name: column[row].tolist() for name, column in inputs.items()}
    flat = [f"{name}={value[0] if len(value) == 1 else value[:most]}" for name, value in values.items()]
    return ", ".join(flat[:most])
