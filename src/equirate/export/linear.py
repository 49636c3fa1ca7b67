"""Linear decisions in ONNX that agree with Python's in every row, also where rounding decides.

In: features in double precision and weights with the intercepts last. Out: whether each score is above 0. Python adds
the features up in order, each product and sum rounded once (`models.deciding`). A matrix product gives the same sign
unless the score is smaller than its rounding error. Only batches with such a row take the slow path: a ``Scan`` over
the features that repeats Python's rounding step by step.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .graph import Graph

_SPLIT = 2.0**27 + 1
"""Cuts a double into two halves whose products are exact (Dekker 1971), as in `models.deciding`."""


def rounded(graph: Graph, X: str, dtype: Any) -> str:
    """Features in the precision of the weights, as doubles."""
    return X if dtype == np.float64 else graph.cast(graph.cast(X, dtype), np.float64)


def products(graph: Graph, X: str, W: NDArray[Any]) -> str:
    """Scores (rows, columns) by a matrix product; the intercepts are the last row of W."""
    V = np.asarray(W, dtype=float)
    return graph.op("Add", graph.op("MatMul", X, graph.constant(V[:-1])), graph.constant(V[-1:]))


def decisions(graph: Graph, X: str, W: NDArray[Any]) -> str:
    """Whether scores are above 0 (rows, columns)."""
    X = rounded(graph, X, W.dtype)
    scores = products(graph, X, W)
    size = products(graph, graph.op("Abs", X), np.abs(W))
    # any two orders of adding up differ by less than this (Higham 2002, section 3.1), with a factor of 2 to spare
    unit = graph.constant(4 * (len(W) + 1) * float(np.finfo(W.dtype).eps))
    near = graph.op("LessOrEqual", graph.op("Abs", scores), graph.op("Mul", unit, size))
    near = graph.op("And", near, graph.op("Greater", size, graph.constant(0.0)))
    count = graph.op("ReduceSum", graph.cast(near, np.int64), keepdims=0)
    fast, slow = graph.inner(), graph.inner()
    quick = fast.op("Greater", scores, fast.constant(0.0))
    ordered = slow.op("Greater", _in_order(slow, X, W), slow.constant(0.0))
    shape = [None, W.shape[1]]
    return graph.op(
        "If",
        graph.op("Greater", count, graph.constant(0, np.int64)),
        then_branch=slow.proto("in_order", [], [(ordered, bool, shape)]),
        else_branch=fast.proto("product", [], [(quick, bool, shape)]),
    )


def _in_order(graph: Graph, X: str, W: NDArray[Any]) -> str:
    """The intercept, and then one feature after the other, each product and sum rounded together."""
    V, columns = np.asarray(W, dtype=float), W.shape[1]
    body = graph.inner()
    total, feature, weight = (body.name(word) for word in ("total", "feature", "weight"))
    a = body.unsqueezed(feature, 1)
    fused = _fused(body, a, weight, total) if W.dtype == np.float64 else _fused_single(body, a, weight, total)
    inputs = [
        (total, np.float64, [None, columns]),
        (feature, np.float64, [None]),
        (weight, np.float64, [columns]),
    ]
    rows = graph.op("Slice", graph.op("Shape", X), *(graph.constant([k], np.int64) for k in (0, 1)))
    shape = graph.op("Concat", rows, graph.constant([columns], np.int64), axis=0)
    begin = graph.op("Expand", graph.constant(V[-1:]), shape)
    return graph.op(
        "Scan",
        begin,
        graph.op("Transpose", X, perm=[1, 0]),
        graph.constant(V[:-1]),
        num_scan_inputs=2,
        body=body.proto("add_feature", inputs, [(fused, np.float64, [None, columns])]),
    )


def _fused_single(graph: Graph, a: str, b: str, c: str) -> str:
    """``a * b + c`` in single precision, rounded once: a product of two singles is a double."""
    total = graph.op("Add", graph.op("Mul", a, b), c)
    return graph.cast(graph.cast(total, np.float32), np.float64)


def _fused(graph: Graph, a: str, b: str, c: str) -> str:
    """``a * b + c`` rounded once, by the steps of `models.deciding`."""
    add, sub, mul = (partial(graph.op, kind) for kind in ("Add", "Sub", "Mul"))
    product = mul(a, b)
    (a_high, a_low), (b_high, b_low) = _halves(graph, a), _halves(graph, b)
    lost = add(add(add(sub(mul(a_high, b_high), product), mul(a_high, b_low)), mul(a_low, b_high)), mul(a_low, b_low))
    total = add(product, c)
    part = sub(total, product)
    return add(total, add(add(sub(product, sub(total, part)), sub(c, part)), lost))


def _halves(graph: Graph, x: str) -> tuple[str, str]:
    large = graph.op("Mul", graph.constant(_SPLIT), x)
    high = graph.op("Sub", large, graph.op("Sub", large, x))
    return high, graph.op("Sub", x, high)
