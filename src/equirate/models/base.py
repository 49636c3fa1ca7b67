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
from ..table import Cells, Table

Array = NDArray[np.float64]
Choice = tuple[int, int]
"""A recorded iterate: (index of the photograph, configuration)."""


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
        values = matrix.data
    else:
        matrix = to_numpy(X)
        if matrix.dtype not in (np.float32, np.float64):
            try:
                matrix = matrix.astype(np.float64)
            except (TypeError, ValueError):
                raise DataError(
                    "X must hold numbers: encode text and categories first, for example with "
                    "sklearn.preprocessing.OneHotEncoder"
                ) from None
        values = matrix
    if matrix.ndim != 2:
        raise DataError(f"X must be two-dimensional (examples, features); got shape {matrix.shape}")
    if length is not None:
        _same_rows(matrix, length)
    if finite and not _all_finite(values):
        bad = "" if sp.issparse(matrix) else _where(matrix)
        raise DataError(f"X has NaN or infinite values{bad}: fill them or drop those examples")
    return matrix


def feature_names(X: Any) -> tuple[str, ...] | None:
    """Names of the columns of a data frame; None for anything else."""
    columns = getattr(X, "columns", None)
    return None if columns is None else tuple(map(str, columns))


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


def _where(matrix: NDArray[Any]) -> str:
    columns = np.flatnonzero(~np.isfinite(matrix).all(axis=0))
    return f" (columns {', '.join(map(str, columns[:5]))}{', ...' if len(columns) > 5 else ''})"
