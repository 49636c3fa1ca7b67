"""The contract between the game and a model.

A `Model` is a frozen setting. ``bind`` joins it with features and the table and returns a `Player`, which holds
the parameters of all configurations side by side and can give scores, move, and be photographed. Photographs are
turned into `Members`, which decide on new data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..data import same_length, to_numpy
from ..errors import AlgorithmError, DataError
from ..players.steps import StepRule
from ..slices import is_missing
from ..table import Cells, Table

Array = NDArray[np.float64]
Choice = tuple[int, int]
"""A recorded iterate: (index of the photograph, configuration)."""


_HOLES = "X must hold numbers, all of them: fill missing values or drop those examples"

Measured = tuple[Array, tuple[Array, Array] | None]
"""Cell sums of the predictions, and of upper and lower bounds on them."""


class Members:
    """Several deterministic classifiers that decide together."""

    needs_attributes = False

    def __len__(self) -> int:
        """Count the classifiers."""
        raise NotImplementedError

    def decide(self, X: Any, attributes: Any = None) -> NDArray[np.bool_]:
        """Return the 0/1 decisions, (examples, classifiers)."""
        raise NotImplementedError

    def scores(self, X: Any, attributes: Any = None) -> NDArray[Any]:
        """Return real-valued scores (examples, classifiers), where there are any."""
        raise AlgorithmError("these classifiers decide without a score")

    def take(self, indices: Sequence[int]) -> Members:
        """Return some of the classifiers."""
        raise NotImplementedError


class Player:
    """Parameters of all configurations of a model, joined with the training data."""

    budget: float = np.inf
    """Bytes that the photographs of a run may take."""

    def scores(self) -> NDArray[Any]:
        """Scores of the training examples (examples, configurations); an example is predicted 1 if above 0."""
        raise NotImplementedError

    def sums(self, table: Table) -> Array:
        """Weighted sums of the predictions, cell by cell."""
        return table.cells.sums(self.scores() > 0)

    def descend(self, gradient: NDArray[Any], rate: Array) -> None:
        """Move against a gradient with respect to the scores."""
        raise NotImplementedError

    def sweep(self, table: Table, training: Table, up: Array, down: Array, bounds: bool) -> Measured | None:
        """Measure and feel in one pass: return the cell sums of ``table``, and keep the slope of the hinge bounds.

        ``up`` and ``down`` are coefficients per cell of ``training``; ``bounds`` asks for the cell sums of upper and
        lower hinge bounds on the predictions too. None where the model has no such pass.
        """
        return None

    def step(self, rate: Array) -> None:
        """Move against the slope that the last `sweep` kept."""
        raise NotImplementedError

    def measurer(self, X: Any, cells: Cells, attributes: Any = None) -> Callable[[Members], Array]:
        """Return a function that gives the cell sums of the decisions of members on other data."""
        return lambda members: cells.sums(members.decide(X, attributes))

    def respond(self, table: Table, coefficients: Array) -> None:
        """Minimise the sum of weighted predictions times per-cell coefficients (cells, configurations)."""
        raise NotImplementedError

    def photograph(self) -> Any:
        """Return a copy of the parameters."""
        raise NotImplementedError

    def resume(self, photograph: Any) -> None:
        """Continue from a photograph of an earlier play, where the model can."""
        raise AlgorithmError(f"{type(self).__name__} cannot continue an earlier play: only linear models can")

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop all configurations but these."""
        raise NotImplementedError

    def finite(self) -> NDArray[np.bool_]:
        """Which configurations have finite parameters."""
        raise NotImplementedError

    def members(self, photographs: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Turn recorded iterates into classifiers."""
        raise NotImplementedError

    def average(self, photographs: Sequence[Any], chosen: Sequence[Choice], weights: Array) -> Members:
        """Return the one classifier with averaged parameters, where averaging makes sense."""
        raise NotImplementedError


@dataclass(frozen=True)
class Model:
    """A setting of a model. Every model can best-respond; ``can_descend`` says whether it also takes gradients."""

    @property
    def can_descend(self) -> bool:
        """Whether the model can move against a gradient with respect to its scores."""
        return False

    def bind(self, X: Any, table: Table, count: int, step: StepRule, seeds: Sequence[int]) -> Player:
        """Join with training features and make the parameters of ``count`` configurations."""
        raise NotImplementedError


def features(X: Any, length: int | None = None, finite: bool = True) -> Any:
    """Check features: a finite two-dimensional float array, or a CSR matrix. float32 and float64 are kept.

    With ``finite=False`` the values are not looked at: whoever scores them will see.
    """
    if sp.issparse(X):
        matrix: Any = sp.csr_array(X)  # type: ignore[call-overload]  # the stubs know the classes, not `issparse`
        matrix = matrix if matrix.dtype in (np.float32, np.float64) else matrix.astype(np.float64)
    else:
        matrix = to_numpy(X)
        matrix = matrix.astype(matrix.dtype.newbyteorder("="), copy=False)  # float32 stays so in either byte order
        if matrix.dtype not in (np.float32, np.float64):
            try:
                matrix = matrix.astype(np.float64)
            except (TypeError, ValueError):
                raise DataError(not_numbers(matrix, feature_names(X)) or _HOLES) from None
    if matrix.ndim != 2:
        raise DataError(f"X must be two-dimensional (examples, features); got shape {matrix.shape}")
    if length is not None:
        _same_rows(matrix, length)
    if finite:
        refuse_infinite(matrix, feature_names(X))
    return matrix


def feature_names(X: Any) -> tuple[str, ...] | None:
    """Names of the columns of a data frame; None for anything else."""
    columns = getattr(X, "columns", None)
    return None if columns is None else tuple(map(str, columns))


def refuse_infinite(matrix: Any, names: Sequence[str] | None = None) -> None:
    """Refuse NaN and infinity in an array or a CSR matrix, and say in which columns and in how many rows."""
    sparse = bool(sp.issparse(matrix))
    if _all_finite(matrix.data if sparse else matrix):
        return
    found = []
    for what, test in (("NaN", np.isnan), ("infinity", np.isinf)):
        if sparse:
            rows = np.bincount(matrix.indices[test(matrix.data)], minlength=matrix.shape[1])
        else:
            rows = test(matrix).sum(axis=0)
        found += [(int(k), int(rows[k]), what) for k in np.flatnonzero(rows)]
    found.sort(key=lambda each: each[0])
    said = [f"{what} in {n} row{'s' if n > 1 else ''} of column {_named(k, names)}" for k, n, what in found]
    raise DataError(f"X has NaN or infinite values ({_some(said)}): fill them or drop those examples")


def not_numbers(matrix: NDArray[Any], names: Sequence[str] | None = None) -> str:
    """Say which columns of an array hold something else than numbers, and what to do; empty if none does."""
    if matrix.ndim != 2 or matrix.dtype.kind in "biufc":
        return ""
    guilty = [k for k in range(matrix.shape[1]) if _not_a_number(matrix[:, k]) is not None]
    if not guilty:
        return ""
    said = _some([f"{_named(k, names)} (such as {_not_a_number(matrix[:, k])})" for k in guilty])
    them, these = ("it", "this column does") if len(guilty) == 1 else ("them", "these columns do")
    return (
        f"X must hold numbers, and {these} not: {said}. Encode {them}, for example with "
        f"sklearn.preprocessing.OneHotEncoder, or take {them} out of X and pass {them} as sensitive_features "
        "(RateClassifier) or attributes (solve)"
    )


def stacked(first: Any, second: Any) -> Any:
    """One table of features above the other, dense or CSR."""
    sparse = bool(sp.issparse(first))
    return sp.vstack([first, second]).tocsr() if sparse else np.concatenate([first, second])


def _all_finite(values: NDArray[Any]) -> bool:
    """Whether every value is finite, without an array of answers as large as the values."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values, dtype=float)):
            return True
    return all(np.isfinite(values[k : k + 65536]).all() for k in range(0, len(values), 65536))


def _same_rows(matrix: Any, length: int) -> None:
    if matrix.shape[0] != length:
        same_length(np.empty(matrix.shape[0]), length, "X")


def _not_a_number(column: NDArray[Any]) -> str | None:
    """The first value of a column that is no number, as it is written; None if there is none."""
    try:
        column.astype(np.float64)
        return None
    except (TypeError, ValueError):
        pass
    for value in column.tolist():
        try:
            float(value)
        except (TypeError, ValueError):
            if not is_missing(value):
                return repr(value)
    return None


def _named(column: int, names: Sequence[str] | None) -> str:
    return str(column) if names is None else repr(names[column])


def _some(parts: Sequence[str], most: int = 5) -> str:
    return ", ".join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")
