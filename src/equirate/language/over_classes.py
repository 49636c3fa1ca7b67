"""Metrics over all classes: their definition for two classes, and their expansion once the classes are known.

In: the name of a definition and its arguments. Out: `OverClasses`, a named metric whose definition depends on the
classes: until data are given, it is that of two. `class_metrics` holds the definitions, by name, in `DEFINITIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..data.labels import BINARY, Classes, plain
from ..data.slices import Attribute, Slice
from .curvature import REALS, Interval
from .expressions import Expression
from .nodes import Keyword, Named, call_text

DEFINITIONS: dict[str, Callable[..., Expression]] = {}
"""Functions of the classes and of arguments, by name."""
AVERAGES = ("macro", "micro", "weighted")


@dataclass(frozen=True, eq=False, repr=False)
class OverClasses(Named):
    """A metric over all classes; ``definition`` is that of two classes."""

    by_class: str = ""
    arguments: tuple[Any, ...] = ()
    of_two: bool = False
    """Whether there is a special definition for two classes, without labels."""

    def for_classes(self, classes: Classes) -> Expression:
        """The metric written out for these classes, under the same name."""
        unlabelled = all(rate.label is None for rate in self.definition.rates())
        if len(classes) == 2 and unlabelled and (self.of_two or classes == BINARY):
            return self
        definition = DEFINITIONS[self.by_class](classes, *self.arguments)
        return Named(self.name, definition.for_classes(classes), self.within)


def over_classes(
    text: str,
    by_class: str,
    *arguments: Any,
    definition: Expression | None = None,
    within: Interval = REALS,
) -> Expression:
    """A metric over all classes; ``definition`` is that of two, where it is written in another way."""
    two = DEFINITIONS[by_class](BINARY, *arguments).for_classes(BINARY) if definition is None else definition
    return OverClasses(text, two, within, by_class, arguments, definition is not None)


def averaged(name: str, average: Any, slice_: Slice, label: Any = None, *first: Any) -> Expression:
    """A rate or metric averaged over all classes; ``first`` are its arguments before the slice."""
    if average not in AVERAGES:
        raise TypeError(f"average of {name} must be one of {', '.join(map(repr, AVERAGES))}; got {average!r}")
    if label is not None:
        raise TypeError(f"{name} takes label= (one class) or average= (all of them), not both")
    text = call_text(name, *first, slice_, Keyword("average", average))
    return over_classes(text, "average", name, average, slice_, *first)


def label_given(label: Any, caller: str) -> Any:
    """A class by value; an error that names ``caller`` if it cannot be one."""
    value = plain(label)
    if isinstance(value, Attribute):
        raise TypeError(f"a class of {caller} is text or a number: put text in quotes, as in {value.name!r}")
    if value is not None and not isinstance(value, (str, bool, int, float)):
        raise TypeError(f"a class of {caller} is text, a number or a boolean; got {label!r}")
    if value != value:
        raise TypeError(f"a class of {caller} cannot be missing; got {label!r}")
    return value
