"""Rules for plain data and arrays from untrusted files: declared as values, checked in one place.

A rule says what a value must be; any other is a `FileError` that names the place, the rule and the value. Rules
allocate nothing whose size the file determines. Those of dataclasses are made in `records`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import FileError

MAX_CHARACTERS = 20_000
"""Characters of one text."""
MAX_ENTRIES = 100_000
"""Entries of one list."""
_BLOCK = 2**20
_HALVES = re.compile("[\ud800-\udfff]")


class Rule:
    """What a value must be."""

    def check(self, value: Any, place: str) -> None:
        """Raise an error for a value that does not pass; ``place`` says where it is."""
        if not self.passes(value):
            raise FileError(f"{place} must be {self}; it is {shown(value)}")

    def passes(self, value: Any) -> bool:
        """Whether a value follows the rule; for a list or an object, only whether it is one."""
        raise NotImplementedError


@dataclass(frozen=True)
class Flag(Rule):
    """True or false."""

    def passes(self, value: Any) -> bool:
        """Whether it is one of the two."""
        return isinstance(value, bool)

    def __str__(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class Number(Rule):
    """A number between two others, inclusive; NaN and infinity pass only if not ``finite``."""

    low: float = -math.inf
    high: float = math.inf
    finite: bool = True

    def passes(self, value: Any) -> bool:
        """Whether it is a number in the range; a whole number must fit a float."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        if isinstance(value, int):
            return abs(value) <= 2**1000 and self.low <= value <= self.high
        return not self.finite if not math.isfinite(value) else self.low <= value <= self.high

    def __str__(self) -> str:
        return f"a {'finite ' if self.finite else ''}number{_range(self.low, self.high)}"


@dataclass(frozen=True)
class Whole(Rule):
    """A whole number between two others, inclusive."""

    low: int = 0
    high: int = 2**63

    def passes(self, value: Any) -> bool:
        """Whether it is a whole number in the range."""
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"a whole number{_range(self.low, self.high)}"


@dataclass(frozen=True)
class Text(Rule):
    """A text that is not too long."""

    longest: int = MAX_CHARACTERS

    def passes(self, value: Any) -> bool:
        """Whether it is text of that length without surrogates, which cannot be encoded."""
        if not isinstance(value, str) or len(value) > self.longest:
            return False
        return value.isascii() or _HALVES.search(value) is None

    def __str__(self) -> str:
        return f"a text of at most {self.longest} characters"


@dataclass(frozen=True)
class OneOf(Rule):
    """One of some words."""

    words: tuple[str, ...]

    def passes(self, value: Any) -> bool:
        """Whether it is among them."""
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return f"one of {', '.join(map(repr, self.words))}"


@dataclass(frozen=True)
class Nothing(Rule):
    """Not given."""

    def passes(self, value: Any) -> bool:
        """Whether nothing was given."""
        return value is None

    def __str__(self) -> str:
        return "null"


@dataclass(frozen=True)
class Either(Rule):
    """One of several rules, for values of different forms."""

    rules: tuple[Rule, ...]

    def passes(self, value: Any) -> bool:
        """Whether it passes one of them."""
        return any(rule.passes(value) for rule in self.rules)

    def check(self, value: Any, place: str) -> None:
        """Check by the first rule that the value passes."""
        for rule in self.rules:
            if rule.passes(value):
                return rule.check(value, place)
        raise FileError(f"{place} must be {self}; it is {shown(value)}")

    def __str__(self) -> str:
        return " or ".join(map(str, self.rules))


@dataclass(frozen=True)
class ListOf(Rule):
    """A list whose entries follow one rule."""

    rule: Rule
    most: int = MAX_ENTRIES
    least: int = 0

    def passes(self, value: Any) -> bool:
        """Whether it is a list."""
        return isinstance(value, list)

    def check(self, value: Any, place: str) -> None:
        """Count first, then check each."""
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            raise FileError(f"{place} must be {self}; it is {shown(value)}")
        for index, part in enumerate(value):
            self.rule.check(part, f"{place}[{index}]")

    def __str__(self) -> str:
        return f"a list of {self.least} to {self.most} entries"


@dataclass(frozen=True)
class MapOf(Rule):
    """An object with any names, whose values follow one rule."""

    rule: Rule
    most: int = 1000

    def passes(self, value: Any) -> bool:
        """Whether it is an object."""
        return isinstance(value, dict)

    def check(self, value: Any, place: str) -> None:
        """Count first, then check each."""
        if not isinstance(value, dict) or len(value) > self.most:
            raise FileError(f"{place} must be {self}; it is {shown(value)}")
        for name, part in value.items():
            Text(200).check(name, f"a name in {place}")
            self.rule.check(part, f"{place}.{name}")

    def __str__(self) -> str:
        return f"an object of at most {self.most} entries"


@dataclass(frozen=True)
class Fields(Rule):
    """An object with known names, of which some are optional; any other name is an error."""

    needed: Mapping[str, Rule]
    optional: Mapping[str, Rule] = field(default_factory=dict)

    def passes(self, value: Any) -> bool:
        """Whether it is an object."""
        return isinstance(value, dict)

    def check(self, value: Any, place: str) -> None:
        """Compare the names, then check each part."""
        if not isinstance(value, dict):
            raise FileError(f"{place} must be {self}; it is {shown(value)}")
        missing = [name for name in self.needed if name not in value]
        if missing:
            raise FileError(f"{place} has no {missing[0]!r}")
        for name, part in value.items():
            rule = self.needed.get(name) or self.optional.get(name)
            if rule is None:
                raise FileError(f"{place} has a part {shown(name)} that this equirate does not know: upgrade equirate")
            rule.check(part, f"{place}.{name}")

    def __str__(self) -> str:
        return "an object"


FLAG, TEXT, NUMBER, COUNT = Flag(), Text(), Number(), Whole()
SCALAR = Either((Nothing(), FLAG, NUMBER, TEXT))
"""A setting of one value."""


def maybe(rule: Rule) -> Rule:
    """The rule, or null."""
    return Either((Nothing(), rule))


# -- arrays ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ArrayOf(Rule):
    """An array: letters of numpy's kinds, axes (None: any), and whether NaN or infinities may be in it."""

    kinds: str = "f"
    axes: int | None = None
    infinite: bool = False
    nan: bool = False

    def passes(self, value: Any) -> bool:
        """Whether it is such an array."""
        if not isinstance(value, np.ndarray) or value.dtype.kind not in self.kinds:
            return False
        return (self.axes is None or value.ndim == self.axes) and self._filled(value)

    def _filled(self, array: NDArray[Any]) -> bool:
        if array.dtype.kind != "f" or (self.infinite and self.nan):
            return True
        flat = array.reshape(-1)
        bad = np.isnan if self.infinite else _not_finite
        return not any(bad(flat[k : k + _BLOCK]).any() for k in range(0, len(flat), _BLOCK))

    def __str__(self) -> str:
        axes = "" if self.axes is None else f" with {self.axes} axes"
        wanted = {"f": "floats", "i": "whole numbers", "u": "whole numbers from 0", "b": "flags"}
        filled = "" if self.infinite and self.nan else ", none NaN" if self.infinite else ", all finite"
        return f"an array{axes} of {' or '.join(wanted[kind] for kind in self.kinds)}{filled}"


def _not_finite(block: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(~np.isfinite(block))


def check_arrays(rules: Mapping[str, Rule], arrays: Mapping[str, NDArray[Any]], place: str) -> None:
    """Raise an error for arrays that are missing, unknown, or against their rule."""
    for name in rules:
        if name not in arrays:
            raise FileError(f"{place} has no array {name!r}")
    for name, array in arrays.items():
        if name not in rules:
            raise FileError(f"{place} has an array {name!r} that this equirate does not know: upgrade equirate")
        rules[name].check(array, f"the array {name!r} of {place}")


def shown(value: Any) -> str:
    """A value in an error, however large it is."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)} entries"
    if isinstance(value, int) and abs(value) >= 2**64:
        return f"a whole number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _range(low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return ""
    return f" of at least {low}" if math.isinf(high) else f" from {low} to {high}"
