"""Modules that are imported when they are first used, so that what does not use them starts quickly."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class Late(ModuleType):
    """A module that is imported when one of its names is first used.

    Examples
    --------
    >>> fractions = Late("fractions")
    >>> fractions.Fraction(2, 4)
    Fraction(1, 2)
    """

    def __getattr__(self, name: str) -> Any:
        """Import the module and return the name from it."""
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value
