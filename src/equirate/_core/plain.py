"""Plain data (what JSON can hold) as text and back, with limits that are checked before it is parsed.

In: dicts, lists, texts, numbers, flags and None, also from untrusted files. Out: the same. Text of plain data is ASCII;
numbers that JSON does not have (NaN and the infinities) are written as ``{"float": "nan"}``. What the data must hold is
declared and checked in `rules`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from .errors import FileError
from .rules import shown

MOST_TEXT = 2**24
"""Bytes of text."""
MOST_VALUES = 400_000
"""Values in it: a value of two bytes of text can take a hundred in memory."""
DEEPEST = 32
_ABSENT = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def plain(value: Any) -> Any:
    """Make plain data of dataclasses, tuples and numpy's numbers; refuses everything else.

    Examples
    --------
    >>> plain({"steps": (np.float32(0.5), 1), "more": None})
    {'steps': [0.5, 1], 'more': None}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: plain(part) for name, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    raise FileError(f"{shown(value)} is not plain data")


def to_text(value: Any, *, ordered: bool = False) -> bytes:
    """Write plain data as JSON; the same data gives the same bytes, whatever its order, unless that matters."""
    text = json.dumps(_with_names(plain(value)), indent=1, sort_keys=not ordered, allow_nan=False).encode("ascii")
    _check_sizes(text)
    return text


def from_text(text: bytes) -> Any:
    """Read plain data from JSON. Whatever the bytes are, only `FileError` is raised, before much memory is taken.

    Examples
    --------
    >>> from_text(b'{"a": [1, {"float": "inf"}]}')
    {'a': [1, inf]}
    >>> from_text(b"[" * 1000)
    Traceback (most recent call last):
    ...
    equirate.FileError: the text is nested more than 32 deep
    """
    _check_sizes(text)
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_refused, object_pairs_hook=_named)
    except FileError:
        raise
    except (ValueError, RecursionError):
        raise FileError("the text is not JSON") from None


def _check_sizes(text: bytes) -> None:
    """Refuse text that is too long, too deep or has too many values, from its quotes, brackets and commas alone."""
    if len(text) > MOST_TEXT:
        raise FileError(f"the text has more than {MOST_TEXT >> 20} MiB")
    if not text.isascii():
        raise FileError("the text is not JSON in ASCII")
    letters = np.frombuffer(text.replace(b"\\\\", b"").replace(b'\\"', b""), dtype=np.uint8)
    quoted = np.cumsum(letters == ord('"'), dtype=np.uint8) & 1  # modulo 256: odd inside of a string
    letters = letters[quoted == 0]
    opened = (letters == ord("[")) | (letters == ord("{"))
    closed = (letters == ord("]")) | (letters == ord("}"))
    if int(opened.sum()) + int((letters == ord(",")).sum()) > MOST_VALUES:
        raise FileError(f"the text holds more than {MOST_VALUES} values")
    depth = np.cumsum((opened.astype(np.int8) - closed)[opened | closed], dtype=np.int32)
    if depth.max(initial=0) > DEEPEST:
        raise FileError(f"the text is nested more than {DEEPEST} deep")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise FileError(f"the number {text[:40]} is too large")
    return value


def _refused(text: str) -> Any:
    raise FileError(f"{text} is not JSON")


def _named(pairs: list[tuple[str, Any]]) -> Any:
    named = dict(pairs)
    if len(named) != len(pairs):
        raise FileError("a name is given twice")
    if named.keys() == {"float"}:
        name = named["float"]
        if not isinstance(name, str) or name not in _ABSENT:
            raise FileError(f"a number is given as {shown(name)}")
        return _ABSENT[name]
    return named


def _with_names(value: Any) -> Any:
    """Plain data with names for the numbers that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, dict):
        return {name: _with_names(part) for name, part in value.items()}
    return [_with_names(part) for part in value] if isinstance(value, list) else value
