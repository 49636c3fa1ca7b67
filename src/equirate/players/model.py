"""The model player: how the classifier moves, which the game sees only through sums over cells.

Strategies: `Descend`, a gradient step on the surrogate Lagrangian, and `Respond`, a cost-sensitive oracle that
minimises the true one. Every model can best-respond; some can also descend.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..problem.table import Table
from .steps import ADAM, PLAIN, StepRule
from .surrogates import HINGE, Surrogate

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ModelPlayer:
    """Base of the strategies: whether the model responds or descends, and on what."""

    responds: ClassVar[bool]
    """Whether the model best-responds rather than takes a gradient step."""

    step: StepRule[Any] = PLAIN
    """The step rule of a model that descends."""
    surrogate: Surrogate = HINGE
    """The bounds on the predictions that a model descends on."""

    def split(self, table: Table, multipliers: Array, levels: Array | None) -> tuple[Array, Array]:
        """Per-cell costs (>= 0, <= 0) on the upper and lower bounds of the predictions; their sum is the true cost."""
        total = table.coefficients(multipliers, levels)
        return np.maximum(total, 0.0), np.minimum(total, 0.0)

    def settled_on(
        self, rule: StepRule[Any] | None = None, surrogate: Surrogate | None = None, net: bool | None = None
    ) -> Self:
        """The strategy with these settings instead of its own; settings that it does not have are ignored."""
        return self


@dataclass(frozen=True)
class Respond(ModelPlayer):
    """Let the model's oracle minimise the true weighted sum of rates."""

    responds: ClassVar[bool] = True


@dataclass(frozen=True)
class Descend(ModelPlayer):
    """Take a gradient step on the surrogate weighted sum of rates, plus the objective's ordinary losses.

    ``net`` says what is bounded: the net coefficient of every example's prediction, after all rows are added up, or
    each row's coefficient by itself. Both give an upper bound on the weighted sum of rates. The net one is tighter: two
    rows that pull a prediction both ways cancel instead of pinning its score near 0. Multipliers that see surrogate
    rates (SPADE and similar) need the rows, because only then is the surrogate linear in the multipliers.
    """

    responds: ClassVar[bool] = False

    step: StepRule[Any] = ADAM
    net: bool = True

    def split(self, table: Table, multipliers: Array, levels: Array | None) -> tuple[Array, Array]:
        """By the sign of the net coefficient, or row by row."""
        return super().split(table, multipliers, levels) if self.net else table.split_coefficients(multipliers, levels)

    def settled_on(
        self, rule: StepRule[Any] | None = None, surrogate: Surrogate | None = None, net: bool | None = None
    ) -> Self:
        """Descend with another step rule, on other bounds, or on the net or the rows' coefficients."""
        net = self.net if net is None else net
        return replace(self, step=rule or self.step, surrogate=surrogate or self.surrogate, net=net)
