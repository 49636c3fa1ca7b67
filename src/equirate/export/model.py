"""`Export`: a classifier as an ONNX model, checked against Python before it is written.

In: a `Classifier`, its labels, and what comes before it: the columns of a table, or a score. Out: a file with the input
``X`` (or one input for each column) and the outputs

- ``pmf``, (rows, 2): the probability of predicting each class, NaN where Python would refuse the row;
- ``members``, (rows, members): what each member decides, for a draw of one's own (`docs/deploying.md`);
- ``label``, (rows,), where one classifier decides;
- ``features``, (rows, features), of a mixture behind columns: the numbers that the hashed draw is made of.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.atomic import write_whole
from ..game.classifiers import Classifier
from .checking import check
from .columns import Column, encoded
from .graph import IR_VERSION, ML, ML_OPSET, OPSET, Graph, imported
from .members import of_members
from .scores import Score

Tensor = tuple[str, Any, list[Any]]
"""Name, type and shape."""
CHECKED = 2000
"""Rows that every export is checked on; a second or less, and each threshold of some hundred trees several times."""
SNAP = 1e-12
"""Probabilities this close to 0 or 1 are 0 or 1, as in `game.classifiers.snapped`."""


@dataclass(frozen=True, eq=False)
class Export:
    """The parts of an ONNX model.

    Attributes
    ----------
    classifier
        The mixture, whose members see ``width`` features.
    width
        Number of features that the members see: 1 for a given score.
    classes, positive
        The labels, in the order of ``pmf``, and the positive one.
    decide
        Python's decisions (rows, members) for a value of each input, by the members as a file has them.
    columns
        The table's columns, each an input; empty where there is one input ``X``.
    score
        The score that thresholds cut, where they are given one.
    dtype
        The type that columns are encoded in.
    facts
        Metadata of the model.
    """

    classifier: Classifier
    width: int
    classes: NDArray[Any]
    positive: Any
    decide: Callable[[Mapping[str, Any]], NDArray[np.bool_]]
    columns: tuple[Column, ...] = ()
    score: Score | None = None
    dtype: Any = np.float64
    facts: Mapping[str, str] = field(default_factory=dict)

    def write(self, path: str | os.PathLike[str], rows: Mapping[str, Any] | None = None) -> None:
        """Build, check and write; ``rows`` are checked beside the generated ones."""
        content = self.content()
        inputs = [self.examples(np.random.default_rng(0), CHECKED), *([] if rows is None else [rows])]
        for each in inputs:
            check(content, each, self.decide(each), self.classifier.weights)
        write_whole(path, [content])

    def content(self) -> bytes:
        """The model as bytes."""
        onnx, helper = imported("onnx"), imported("onnx.helper")
        graph = Graph()
        inputs = [(column.name, column.dtype, [None, 1]) for column in self.columns]
        inputs = inputs or [("X", np.float64, [None, self.width if self.score is None else self.score.width])]
        outputs = self._outputs(graph, [name for name, _, _ in inputs])
        versions = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
        model = helper.make_model(
            graph.proto("equirate", inputs, outputs),
            opset_imports=versions,
            ir_version=IR_VERSION,
            producer_name="equirate",
        )
        facts = {
            **self.facts,
            "classes": json.dumps(self.classes.tolist()),
            "positive": json.dumps(np.asarray(self.positive).tolist()),
            "weights": json.dumps(self.classifier.weights.tolist()),
        }
        helper.set_model_props(model, facts)
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())

    def _outputs(self, graph: Graph, inputs: list[str]) -> list[Tensor]:
        kind = of_members(self.classifier.members, self.width)
        count = len(self.classifier.weights)
        if self.columns:
            features = encoded(graph, self.columns, inputs, self.dtype)
            numbers = [name for column, name in zip(self.columns, inputs, strict=True) if column.dtype is not str]
        else:
            features, numbers = inputs[0], [inputs[0]]
        X = features if self.dtype == np.float64 else graph.cast(features, np.float64)
        X = X if self.score is None else self.score.build(graph, X)
        decided = kind.decisions(graph, X)
        takes_missing = kind.missing if self.score is None else self.score.missing
        valid = _valid(graph, numbers, refuse_missing=not (takes_missing or self.columns))
        positive = _positive(graph, decided, self.classifier.weights)
        first = self.classes[0] == self.positive
        sides = [positive, graph.op("Sub", graph.constant(1.0), positive)]
        pmf = graph.op("Concat", *(sides if first else sides[::-1]), axis=1)
        if valid:
            pmf = graph.op("Where", valid, pmf, graph.constant(np.nan))
        outputs: list[Tensor] = [(_named(graph, pmf, "pmf"), np.float64, [None, 2])]
        outputs.append((_named(graph, decided, "members"), bool, [None, count]))
        if count == 1:
            label = self._label(graph, decided, valid)
            outputs.append((_named(graph, label, "label"), self._label_type, [None]))
        elif self.columns:
            hashed = features if self.score is None else X
            single = graph.cast(hashed, np.float32)
            outputs.append((_named(graph, single, "features"), np.float32, [None, None]))
        return outputs

    @property
    def _label_type(self) -> Any:
        return str if self.classes.dtype.kind in "OUS" else np.dtype(self.classes.dtype)

    def _label(self, graph: Graph, decided: str, valid: str) -> str:
        """The label of each row; a row that Python would refuse is an error at run time."""
        negative = self.classes[1] if self.classes[0] == self.positive else self.classes[0]
        both = np.array([negative, self.positive], dtype=self.classes.dtype)
        place = graph.cast(decided, np.int64)
        if valid:
            place = graph.op("Where", valid, place, graph.constant(len(both), np.int64))  # outside: refused
        place = graph.op("Squeeze", place, graph.constant([1], np.int64))
        return graph.op("Gather", graph.constant(both), place)

    def examples(self, rng: np.random.Generator, rows: int) -> dict[str, Any]:
        """Inputs to check the export on: at thresholds and edges, beside them, missing and never seen."""
        if self.columns:
            return {column.name: column.example(rng, rows) for column in self.columns}
        if self.score is not None:
            return {"X": self.score.rows(rng, rows)}
        return {"X": of_members(self.classifier.members, self.width).rows(rng, rows, self.width)}


def _named(graph: Graph, tensor: str, name: str) -> str:
    """Give a tensor the name of an output."""
    graph.nodes.append(imported("onnx.helper").make_node("Identity", [tensor], [name]))
    return name


def _valid(graph: Graph, numbers: list[str], refuse_missing: bool) -> str:
    """Whether Python would accept the rows (rows, 1); empty if there are no numbers to check."""
    if not numbers:
        return ""
    values = graph.op("Concat", *numbers, axis=1) if len(numbers) > 1 else numbers[0]
    good = graph.op("Not", graph.op("IsInf", graph.cast(values, np.float64)))
    if refuse_missing:
        good = graph.op("And", good, graph.op("Not", graph.op("IsNaN", values)))
    every = graph.op("ReduceMin", graph.cast(good, np.int64), graph.constant([1], np.int64), keepdims=1)
    return graph.cast(every, bool)


def _positive(graph: Graph, decided: str, weights: NDArray[np.float64]) -> str:
    """Probability of the positive label (rows, 1)."""
    total = graph.op("MatMul", graph.cast(decided, np.float64), graph.constant(weights[:, None]))
    zero, one = graph.constant(0.0), graph.constant(1.0)
    total = graph.op("Where", graph.op("Less", total, graph.constant(SNAP)), zero, total)
    return graph.op("Where", graph.op("Greater", total, graph.constant(1 - SNAP)), one, total)
