"""State of a player: its memory between rounds, as a dataclass of arrays whose last axis is configurations."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class State:
    """Base of every state. Subclasses are frozen dataclasses of arrays, numbers and other states."""

    def keep(self, columns: NDArray[np.intp]) -> Self:
        """The state of some of the configurations: arrays lose the others, numbers and lists stay."""
        return replace(self, **{field.name: _kept(getattr(self, field.name), columns) for field in fields(self)})


def _kept(value: Any, columns: NDArray[np.intp]) -> Any:
    if isinstance(value, State):
        return value.keep(columns)
    return value[..., columns] if isinstance(value, np.ndarray) else value
