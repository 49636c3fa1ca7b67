"""What a module takes and returns: arrays, tensors, a ``Dataset`` or a ``DataLoader`` by row numbers; checks of scores.

In: features. Out: `Inputs`, which return the module's inputs for any rows on its device; and scores, checked to be one
per example, or one for each class.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, default_collate

from .._core.errors import AlgorithmError, DataError
from ..data.arrays import to_numpy
from ..data.features import feature_names, features, refuse_infinite

Rows = NDArray[np.int64]


class Inputs:
    """Inputs of a module for any rows, in any order."""

    n: int

    def take(self, rows: Rows) -> Any:
        """The inputs of the given rows, on the module's device."""
        raise NotImplementedError

    def blocks(self, rows: Rows, size: int) -> Iterator[tuple[Any, Rows]]:
        """The inputs of the given rows in blocks, with their row numbers."""
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            yield self.take(part), part


class Tensors(Inputs):
    """Rows of one tensor."""

    def __init__(self, X: torch.Tensor, device: torch.device, dtype: torch.dtype) -> None:
        self.X, self.device, self.n = X, device, len(X)
        self.dtype = dtype if X.is_floating_point() else X.dtype

    def take(self, rows: Rows) -> torch.Tensor:
        """Pick the rows where they are, then move them."""
        picked = self.X.index_select(0, torch.from_numpy(rows).to(self.X.device))
        return picked.to(self.device, self.dtype)

    def blocks(self, rows: Rows, size: int) -> Iterator[tuple[Any, Rows]]:
        """As slices, if all rows are read in order."""
        if len(rows) != self.n or (rows[1:] < rows[:-1]).any():
            yield from super().blocks(rows, size)
            return
        for start in range(0, self.n, size):
            yield self.X[start : start + size].to(self.device, self.dtype), rows[start : start + size]


class SparseRows(Inputs):
    """Rows of a sparse matrix, made dense batch by batch."""

    def __init__(self, X: Any, device: torch.device, dtype: torch.dtype) -> None:
        self.X, self.device, self.dtype, self.n = X, device, dtype, X.shape[0]

    def take(self, rows: Rows) -> torch.Tensor:
        """Select the rows, make them dense, and move them."""
        return torch.from_numpy(self.X[rows].toarray()).to(self.device, self.dtype)


class Items(Inputs):
    """Items of a data set, collated as a loader does.

    Of a tuple, the module takes the first part, or as many as it has inputs; further parts (labels) are left out.
    """

    def __init__(self, data: Any, device: torch.device, dtype: torch.dtype, inputs: int = 1) -> None:
        self.data, self.device, self.dtype, self.n, self.inputs = data, device, dtype, len(data), inputs

    def take(self, rows: Rows) -> Any:
        """Read each item."""
        if hasattr(self.data, "__getitems__"):
            items = self.data.__getitems__(rows.tolist())
        else:
            items = [self.data[int(row)] for row in rows]
        batch = default_collate([self._inputs(item) for item in items])
        return moved(batch, self.device, self.dtype)

    def _inputs(self, item: Any) -> Any:
        if not isinstance(item, (tuple, list)):
            return item
        if self.inputs == 1:
            return item[0]
        if len(item) < self.inputs:
            raise DataError(f"the module takes {self.inputs} inputs; an item of the data set has {len(item)} parts")
        return tuple(item[: self.inputs])


class Loaded(Inputs):
    """Batches of a user's loader: (inputs, row numbers), in its own order."""

    def __init__(self, loader: Any, n: int, device: torch.device, dtype: torch.dtype) -> None:
        self.loader, self.device, self.dtype, self.n = loader, device, dtype, n

    def take(self, rows: Rows) -> Any:
        """Not available."""
        raise AlgorithmError("a DataLoader gives rows in its own order: give its Dataset where rows are picked")

    def batches(self) -> Iterator[tuple[Any, Rows]]:
        """One pass of the loader, with row numbers that are checked."""
        for item in self.loader:
            if not isinstance(item, (tuple, list)) or len(item) != 2:
                raise DataError(
                    "a DataLoader for equirate yields pairs (inputs, index), with index the row numbers of y; got "
                    f"{_shape(item)}"
                )
            index = checked_index(item[1], self.n)
            yield moved(item[0], self.device, self.dtype), index

    def blocks(self, rows: Rows, size: int) -> Iterator[tuple[Any, Rows]]:
        """A whole pass; refuses one that leaves out rows or gives them twice."""
        times = np.zeros(self.n, dtype=np.int64)
        for inputs, index in self.batches():
            times[index] += 1
            yield inputs, index
        if (times > 1).any():
            raise DataError(f"the loader gave row {int(np.argmax(times > 1))} twice in one pass: each row comes once")
        absent = rows[times[rows] == 0]
        if len(absent):
            raise DataError(
                f"the loader ended after {int((times > 0).sum())} of {self.n} rows (row {int(absent[0])} is missing): "
                "exact rates need a pass over all of them; leave drop_last=False, and sample without replacement"
            )


def inputs_of(
    X: Any, n: int, device: torch.device, dtype: torch.dtype, keep_integers: bool = False, inputs: int = 1
) -> Inputs:
    """Make inputs from features of any type.

    ``keep_integers`` keeps integers (for an embedding) as they are; ``inputs`` is the number of inputs of the module.
    """
    if isinstance(X, DataLoader):
        return Loaded(X, n, device, dtype)
    if isinstance(X, IterableDataset):
        raise DataError("an IterableDataset has no row numbers: give a Dataset, or a DataLoader of (inputs, index)")
    if isinstance(X, Dataset):
        return Items(X, device, dtype, inputs)
    if isinstance(X, torch.Tensor):
        if X.is_floating_point() and not bool(torch.isfinite(X).all()):
            raise DataError("X has NaN or infinite values: fill them or drop those examples")
        return Tensors(X, device, dtype)
    if sp.issparse(X):
        return SparseRows(features(X), device, dtype)
    array = to_numpy(X)
    if array.dtype.kind not in "biuf":
        array = features(X)  # the error names columns that are not numeric
    if array.dtype.kind == "f" and array.ndim == 2:
        refuse_infinite(array, feature_names(X))
    elif array.dtype.kind == "f" and not np.isfinite(array).all():
        raise DataError("X has NaN or infinite values: fill them or drop those examples")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a read-only array is never written to
        tensor = torch.from_numpy(np.ascontiguousarray(array))
    if keep_integers and array.dtype.kind in "iu":
        return Tensors(tensor.long(), device, dtype)
    return Tensors(tensor.to(dtype), device, dtype)


def as_rows(X: Any) -> Any:
    """One data set of the inputs of a module that takes several, given as a tuple; anything else as it is."""
    if not isinstance(X, (tuple, list)) or not X or not all(hasattr(part, "shape") for part in X):
        return X
    parts = [part if isinstance(part, torch.Tensor) else torch.from_numpy(np.array(to_numpy(part))) for part in X]
    if len({len(part) for part in parts}) > 1:
        raise DataError(f"the inputs have different numbers of rows: {', '.join(str(len(part)) for part in parts)}")
    return TensorDataset(*parts)


def input_count(module: torch.nn.Module) -> int:
    """Number of inputs of a module: the positional arguments of ``forward`` without a default; at least one."""
    try:
        parameters = inspect.signature(module.forward).parameters.values()
    except (TypeError, ValueError):  # compiled elsewhere
        return 1
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return max(sum(parameter.kind in by_place and parameter.default is parameter.empty for parameter in parameters), 1)


def moved(batch: Any, device: torch.device, dtype: torch.dtype) -> Any:
    """Tensors of a batch on a device; floats in the module's precision."""
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else batch.dtype)
    if isinstance(batch, Mapping):
        return {name: moved(part, device, dtype) for name, part in batch.items()}
    if isinstance(batch, (tuple, list)):
        return [moved(part, device, dtype) for part in batch]
    return batch


def called(module: Any, inputs: Any) -> Any:
    """Output of a module; mappings and sequences are passed as its arguments."""
    if isinstance(inputs, Mapping):
        return module(**inputs)
    return module(*inputs) if isinstance(inputs, (tuple, list)) else module(inputs)


def one_score(output: Any, count: int, device: torch.device) -> torch.Tensor:
    """One score per example from a module's output; refuses other shapes and another device."""
    shape = tuple(output.shape) if isinstance(output, torch.Tensor) else None
    if shape is None or shape not in ((count,), (count, 1)):
        raise AlgorithmError(
            f"the module must give one score per example, of shape ({count},) or ({count}, 1); got {_shape(output)}. "
            "Of two logits, return the second minus the first; of an output object, its logits"
        )
    _refuse_other_device(output, device)
    scores: torch.Tensor = output.reshape(count)
    return scores


def class_scores(output: Any, count: int, classes: int, device: torch.device) -> torch.Tensor:
    """A score for each class and example from a module's output; refuses other shapes and another device."""
    if not isinstance(output, torch.Tensor) or tuple(output.shape) != (count, classes):
        raise AlgorithmError(
            f"the module must give {classes} scores per example, one for each class, of shape ({count}, {classes}); "
            f"got {_shape(output)}. Its last layer must have {classes} outputs; of an output object, return its logits"
        )
    _refuse_other_device(output, device)
    return output


def _refuse_other_device(output: torch.Tensor, device: torch.device) -> None:
    if output.device.type != device.type:
        raise AlgorithmError(
            f"the module's scores are on the device {output.device}, the data on {device}: move the module with "
            f".to({str(device)!r}), or give its device"
        )


def checked_index(index: Any, n: int) -> Rows:
    """Row numbers as an array; refuses other types, numbers out of range and duplicates."""
    array = index.detach().cpu().numpy() if isinstance(index, torch.Tensor) else np.asarray(index)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"index must be the row numbers of y, whole numbers of shape (batch,); got {array.dtype} of shape "
            f"{array.shape}"
        )
    rows = array.astype(np.int64, copy=False)
    if len(rows) and (rows.min() < 0 or rows.max() >= n):
        wrong = int(rows[(rows < 0) | (rows >= n)][0])
        raise DataError(f"index has row {wrong}, but y has {n} rows (0 to {n - 1}): give places in y, not other ids")
    if len(rows) > 1:
        ordered = np.sort(rows)
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(twice):
            raise DataError(f"index has row {int(twice[0])} twice in one batch: sample without replacement")
    return rows


def device_of(module: torch.nn.Module, device: Any = None) -> torch.device:
    """Where to train: as given, or where the module's parameters are."""
    if device is not None:
        return torch.device(device)
    devices = {parameter.device for parameter in module.parameters()}
    if len(devices) > 1:
        raise AlgorithmError(
            f"the module's parameters are on several devices ({', '.join(sorted(map(str, devices)))}): move it to one, "
            "or train it in a loop of your own with equirate.torch.RateGame"
        )
    place = devices.pop() if devices else torch.device("cpu")
    if place.type == "meta":
        raise AlgorithmError("the module is on the device 'meta', which holds no numbers: make it on a real one")
    return place


def dtype_of(module: torch.nn.Module) -> torch.dtype:
    """Precision of the module's parameters."""
    return next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)


def embeds(module: torch.nn.Module) -> bool:
    """Whether the module has an embedding, which takes integers."""
    return any(isinstance(part, (torch.nn.Embedding, torch.nn.EmbeddingBag)) for part in module.modules())


def _shape(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"shape {tuple(value.shape)}"
    return f"{type(value).__name__} of {len(value)}" if isinstance(value, (tuple, list)) else type(value).__name__
