"""Methods that exist only under a condition; otherwise the error says what to use instead.

scikit-learn tests with ``hasattr``, so an absent attribute must raise `AttributeError`. Its ``available_if`` does so,
but with a message of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any


class Absent:
    """An attribute that does not exist; the `AttributeError` has a message that says what to use instead.

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


class method_if:  # noqa: N801  # a decorator
    """A method that exists if ``check(object)`` is true; otherwise `AttributeError` says what to use instead."""

    def __init__(self, check: Callable[[Any], bool], text: str) -> None:
        self.check, self.text = check, text

    def __call__(self, method: Callable[..., Any]) -> method_if:
        """Decorate a method."""
        self.method, self.__doc__ = method, method.__doc__
        return self

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self.method
        if not self.check(owner):
            raise AttributeError(self.text)
        return MethodType(self.method, owner)
