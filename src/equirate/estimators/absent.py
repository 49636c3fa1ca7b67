"""Methods that are not always there, and say what there is instead.

scikit-learn asks with ``hasattr``, so what is absent must raise `AttributeError`; its ``available_if`` does so, but in
words of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any


class Absent:
    """An attribute that is not there; asking for it says what there is.

    Examples
    --------
    >>> class Person:
    ...     height = Absent("nobody measured it")
    >>> hasattr(Person(), "height")
    False
    >>> Person().height
    Traceback (most recent call last):
    ...
    AttributeError: nobody measured it
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        raise AttributeError(self.text)


class told_if_absent:  # noqa: N801  # a decorator
    """A method that is there where ``check`` holds of the object, and else says what there is instead."""

    def __init__(self, check: Callable[[Any], bool], text: str) -> None:
        self.check, self.text = check, text

    def __call__(self, method: Callable[..., Any]) -> told_if_absent:
        """Decorate a method."""
        self.method, self.__doc__ = method, method.__doc__
        return self

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self.method
        if not self.check(owner):
            raise AttributeError(self.text)
        return MethodType(self.method, owner)


class property_if:  # noqa: N801  # a decorator
    """A property that is there where ``check`` holds of the object, and else says what there is instead."""

    def __init__(self, check: Callable[[Any], bool], text: str) -> None:
        self.check, self.text = check, text

    def __call__(self, function: Callable[[Any], Any]) -> property_if:
        """Decorate the function that gives the value."""
        self.function, self.__doc__ = function, function.__doc__
        return self

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self
        if not self.check(owner):
            raise AttributeError(self.text)
        return self.function(owner)
