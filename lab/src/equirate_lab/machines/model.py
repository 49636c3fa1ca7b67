"""The cost of a round as a formula, from what was measured on one machine.

A round over P processes takes each of them its share of the rows, a fixed part (players, Python, sums of blocks), and
one all-reduce, whose messages go around a ring: 2 (P - 1) of them, each of bytes / P.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Costs:
    """Seconds.

    Attributes
    ----------
    row
        For a row, all configurations, in one thread.
    fixed
        For a round without rows.
    message
        For a message of the all-reduce, however short.
    byte
        For a byte on the way.
    """

    row: float
    fixed: float
    message: float
    byte: float

    @classmethod
    def of(cls, rounds: Sequence[dict[str, Any]]) -> Costs | None:
        """From rounds of one process with few and many rows, by its own time, and all-reduces between two processes.

        More processes than cores wait for their turn as well as for each other, so nothing is made of theirs.
        """
        single = sorted((each["rows"], each["own"]) for each in rounds if each["processes"] == 1)
        pairs = [each for each in rounds if each["processes"] == 2]
        if len(single) < 2 or not pairs:
            return None
        (few, short), (many, long) = single[0], single[-1]
        row = max((long - short) / (many - few), 0.0)
        usual = pairs[0]["bytes"]
        most = max(bytes_ for bytes_, _ in pairs[0]["reduces"])
        here, there = (median(dict(map(tuple, each["reduces"]))[size] for each in pairs) for size in (usual, most))
        byte = max((there - here) / (most - usual), 0.0)  # two messages, each of half the bytes
        return cls(row, max(short - few * row, 0.0), max(here / 2 - byte * usual / 2, 0.0), byte)

    def reduce(self, bytes_: float, processes: int) -> float:
        """One all-reduce.

        Examples
        --------
        >>> Costs(1e-7, 1e-3, 5e-5, 1e-9).reduce(4480, 1)
        0.0
        >>> round(1e3 * Costs(1e-7, 1e-3, 5e-5, 1e-9).reduce(4480, 64), 2)
        6.31
        """
        steps = 2 * (processes - 1)
        return steps * (self.message + self.byte * bytes_ / processes)

    def a_round(self, rows: float, bytes_: float, processes: int, threads: int = 1) -> float:
        """One round of so many rows in all; threads share the rows of a process."""
        return self.fixed + self.row * rows / processes / threads + self.reduce(bytes_, processes)

    def worth(self, bytes_: float, processes: int, share: float = 0.1) -> int:
        """Rows in all from which on the all-reduce takes at most a share of the round."""
        wanted = self.reduce(bytes_, processes) * (1 - share) / share - self.fixed
        return max(math.ceil(wanted * processes / self.row), 0)
