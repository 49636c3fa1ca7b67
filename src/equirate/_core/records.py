"""Dataclasses from plain data: the rule follows from the types of the fields, so that a new field is checked too.

In: a dataclass of numbers, texts, flags, tuples, mappings and other such dataclasses. Out: `record`, the rule that
plain data must pass, and `build`, which makes the dataclass from data that passed.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

from .rules import FLAG, SCALAR, TEXT, Either, Fields, ListOf, MapOf, Nothing, Number, Rule, Whole


def record(kind: type) -> Fields:
    """The rule of a dataclass, from the types of its fields; those with a default, or that may be None, may be absent.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: float
    ...     name: str | None
    >>> record(Point).check({"x": "1"}, "the point")
    Traceback (most recent call last):
    ...
    equirate.FileError: the point.x must be a number; it is '1'
    """
    hints = _hints(kind)
    needed: dict[str, Rule] = {}
    optional: dict[str, Rule] = {}
    for part in fields(kind):
        absent = part.default is not MISSING or part.default_factory is not MISSING or _may_be_none(hints[part.name])
        (optional if absent else needed)[part.name] = _rule(hints[part.name])
    return Fields(needed, optional)


def build(kind: Any, value: Mapping[str, Any]) -> Any:
    """Make a dataclass of plain data that passed its `record`."""
    hints = _hints(kind)
    given = {name: _built(hints[name], part) for name, part in value.items()}
    for part in fields(kind):
        if part.name not in given and part.default is MISSING and part.default_factory is MISSING:
            given[part.name] = None
    return kind(**given)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


_SCALARS: dict[Any, Rule] = {bool: FLAG, int: Whole(-(2**63)), float: Number(finite=False), str: TEXT}


def _rule(hint: Any) -> Rule:
    if hint in _SCALARS:
        return _SCALARS[hint]
    if is_dataclass(hint) and isinstance(hint, type):
        return record(hint)
    parts = typing.get_args(hint)
    if _is_union(hint):
        return Either(tuple(Nothing() if part is type(None) else _rule(part) for part in parts))
    if typing.get_origin(hint) is tuple and parts[1:] == (...,):
        return ListOf(_rule(parts[0]))
    if isinstance(typing.get_origin(hint), type) and issubclass(typing.get_origin(hint), Mapping):
        return MapOf(_rule(parts[1]))
    return SCALAR


def _built(hint: Any, value: Any) -> Any:
    if value is None or hint in _SCALARS:
        return float(value) if hint is float else value
    if is_dataclass(hint) and isinstance(hint, type):
        return build(hint, value)
    parts = typing.get_args(hint)
    if _is_union(hint):
        (only, *others) = [part for part in parts if part is not type(None)]
        return value if others else _built(only, value)
    if isinstance(value, list):
        return tuple(_built(parts[0] if parts else Any, part) for part in value)
    if isinstance(value, dict) and len(parts) == 2:
        return {name: _built(parts[1], part) for name, part in value.items()}
    return value


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _may_be_none(hint: Any) -> bool:
    return _is_union(hint) and type(None) in typing.get_args(hint)
