"""The contract between the game and a model.

A `Model` is a frozen setting. ``bind`` joins it with features and the table and returns a `Player`, which holds
the parameters of all configurations side by side and can give scores, move, and be photographed. Photographs are
turned into `Members`, which decide on new data.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError, FileError
from .._core.rules import Fields, Rule, check_arrays
from ..data.cells import Cells
from ..players.steps import StepRule
from ..problem.table import Table

Array = NDArray[np.float64]
Choice = tuple[int, int]
"""A recorded iterate: (index of the photograph, configuration)."""


Measured = tuple[Array, tuple[Array, Array] | None]
"""Cell sums of the predictions, and of upper and lower bounds on them."""


KINDS = {
    "linear": ("equirate.models.linear", "LinearMembers"),
    "thresholds": ("equirate.models.thresholds", "ThresholdMembers"),
    "plug_in": ("equirate.models.plug_in", "PlugInMembers"),
}
"""Kinds of members in files: the module, imported only when a file asks for it, and the class that reads it."""


class Written(NamedTuple):
    """Members as plain data: their kind, settings that JSON can hold, and arrays."""

    kind: str
    settings: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class Members:
    """Several deterministic classifiers that decide together, and write and read themselves as plain data."""

    needs_attributes = False
    settings_rule: ClassVar[Rule] = Fields({})
    array_rules: ClassVar[Mapping[str, Rule]] = {}
    """What the settings and the arrays in a file must be; `read` checks that first."""

    @property
    def width(self) -> int | None:
        """How many features they want; None where any number will do."""
        return None

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

    def plain(self, width: int) -> Written:
        """Write themselves, for data with so many features; those that only pickle could keep refuse."""
        raise FileError(f"{type(self).__name__} cannot be saved without pickle")

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Make members of settings and arrays that passed the rules; refuses those that do not fit together."""
        raise NotImplementedError

    @staticmethod
    def read(written: Written) -> Members:
        """Read members of any kind of `KINDS` back, which may come from a stranger."""
        if written.kind not in KINDS:
            raise FileError(f"members of the kind {written.kind[:60]!r} are not known to this equirate: upgrade it")
        module, name = KINDS[written.kind]
        reader: type[Members] = getattr(importlib.import_module(module), name)
        reader.settings_rule.check(written.settings, f"the settings of the {written.kind} members")
        check_arrays(reader.array_rules, written.arrays, f"the {written.kind} members")
        return reader.from_plain(written.settings, written.arrays)


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
