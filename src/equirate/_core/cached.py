"""`cached_property` without a lock: threads that compute properties at the same time never wait for each other."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801  # the name of the standard library
        """As in Python 3.12 and later.

        In Python 3.11 every property has a lock for all of its objects, held while it is computed. A property that
        needs another one, or that waits for other processes, can then wait for ever for a thread that needs both in the
        other order. Without a lock, two threads may compute the same value at the same time.
        """

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            values = instance.__dict__
            if self.attrname not in values:
                values[self.attrname] = self.func(instance)
            return values[self.attrname]
