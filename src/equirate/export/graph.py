"""A small builder of ONNX graphs: each method adds a node and returns the name of its output.

In: names of tensors and numpy arrays. Out: nodes and initializers that `model` puts into one file. Only operators of
the standard domains are used, all of them in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError

OPSET, ML_OPSET, IR_VERSION = 18, 5, 10
"""Versions of the operators and of the file format; ai.onnx.ml 5 is the first with trees in double precision."""
ML = "ai.onnx.ml"


def imported(name: str) -> Any:
    """Import onnx or onnxruntime, or say which extra brings it."""
    try:
        return import_module(name)
    except ImportError:
        package = name.split(".")[0]
        raise EquirateError(f"to_onnx needs {package}, which is not installed: pip install 'equirate[onnx]'") from None


@dataclass(eq=False)
class Graph:
    """Nodes and constants of a graph that is being built."""

    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    parent: Graph | None = None
    """The graph whose names this one continues, for the bodies of ``If`` and ``Scan``."""
    count: int = 0

    def name(self, word: str) -> str:
        """A name that no other tensor has."""
        if self.parent is not None:
            return self.parent.name(word)
        self.count += 1
        return f"{word}_{self.count}"

    def inner(self) -> Graph:
        """A graph for the body of a node; it may use every tensor of this one."""
        return Graph(parent=self)

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Add a constant."""
        name = self.name("constant")
        self.constants[name] = np.asarray(values, dtype=dtype)
        return name

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output."""
        return self.ops(kind, inputs, 1, domain, **attributes)[0]

    def ops(self, kind: str, inputs: Any, outputs: int, domain: str = "", **attributes: Any) -> list[str]:
        """Add a node with several outputs."""
        names = [self.name(kind) for _ in range(outputs)]
        node = imported("onnx.helper").make_node(kind, list(inputs), names, domain=domain, **attributes)
        self.nodes.append(node)
        return names

    def cast(self, tensor: str, dtype: Any) -> str:
        """Convert to another type."""
        return self.op("Cast", tensor, to=onnx_type(dtype))

    def column(self, tensor: str, k: int) -> str:
        """One column of a matrix, as a matrix."""
        return self.op("Gather", tensor, self.constant([k], np.int64), axis=1)

    def unsqueezed(self, tensor: str, axis: int) -> str:
        """One more axis, of length 1."""
        return self.op("Unsqueeze", tensor, self.constant([axis], np.int64))

    def proto(self, name: str, inputs: Any, outputs: Any) -> Any:
        """The graph as an ONNX message; inputs and outputs are (name, type, shape)."""
        helper, numpy_helper = imported("onnx.helper"), imported("onnx.numpy_helper")
        values = [
            [helper.make_tensor_value_info(each, onnx_type(dtype), shape) for each, dtype, shape in part]
            for part in (inputs, outputs)
        ]
        constants = [_tensor(helper, numpy_helper, key, array) for key, array in self.constants.items()]
        return helper.make_graph(self.nodes, name, *values, constants)


def onnx_type(dtype: Any) -> int:
    """ONNX's number of a numpy type; ``str`` is text."""
    if dtype is str:
        return int(imported("onnx").TensorProto.STRING)
    return int(imported("onnx.helper").np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _tensor(helper: Any, numpy_helper: Any, name: str, array: NDArray[Any]) -> Any:
    if array.dtype.kind in "OU":
        texts = [str(text).encode() for text in array.reshape(-1).tolist()]
        return helper.make_tensor(name, onnx_type(str), array.shape, texts)
    return numpy_helper.from_array(np.ascontiguousarray(array), name)
