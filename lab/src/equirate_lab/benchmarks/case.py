"""A measurement by name: what is run, and what its result depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .ground import Ground, Measured


@dataclass(frozen=True)
class Case:
    """One measurement.

    Attributes
    ----------
    part, name, title
        Which part of the suite, the name of the result file, and a line for people.
    measure
        Does the work.
    depends
        Names of the settings that the result depends on.
    rival
        The environment that is needed, if any.
    curve, x
        For growth: which curve the result is a point of, and where.
    """

    part: str
    name: str
    title: str
    measure: Callable[[Ground], Measured]
    depends: tuple[str, ...]
    rival: str | None = None
    curve: str = ""
    x: float = 0.0

    def describe(self) -> dict[str, Any]:
        """What the result file says about it."""
        return {
            "part": self.part,
            "name": self.name,
            "title": self.title,
            "rival": self.rival,
            "curve": self.curve,
            "x": self.x,
        }
