"""Multipliers that are solved for: the duals of the best mixture so far.

`game.column_generation` computes them from its master programme, without steps or learning. `MasterDuals` represents
them in the table of algorithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .multipliers import MultiplierPlayer


@dataclass(frozen=True, kw_only=True)
class MasterDuals(MultiplierPlayer[Any]):
    """The duals of the master programme of column generation."""
