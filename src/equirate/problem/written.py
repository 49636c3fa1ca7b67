"""Parts of a problem as text and back, for files: writing checks that the text parses back to the same part."""

from __future__ import annotations

from typing import Any

from .._core.errors import EquirateError, FileError
from ..data.slices import EVERYBODY, Attribute, Slice
from .text import parse


def as_text(part: Any) -> str:
    """Text of the language that parses back to the same thing.

    Examples
    --------
    >>> from equirate import attr
    >>> as_text(attr("age") < 30)
    'age < 30'
    """
    text = repr(part)
    try:
        back = parse(text)
    except EquirateError as error:
        raise FileError(f"{text} cannot be saved as text: {error}") from None
    back = back[0] if isinstance(back, list) and len(back) == 1 else back
    if repr(back) != text or isinstance(back, Slice) != isinstance(part, Slice):
        raise FileError(f"{text} cannot be saved as text: it reads back as {back!r}")
    return text


def read_group(text: str) -> Attribute | Slice:
    """An attribute or a slice."""
    group = parse(text)
    if not isinstance(group, (Attribute, Slice)):
        raise FileError(f"{text!r} is not an attribute or a slice")
    return group


def slice_text(part: Slice) -> str | None:
    """A slice as text; None for everybody, which has no text."""
    return None if part == EVERYBODY else as_text(part)


def read_slice(text: str | None) -> Slice:
    """A slice; None for everybody."""
    if text is None:
        return EVERYBODY
    slice_ = read_group(text)
    if not isinstance(slice_, Slice):
        raise FileError(f"{text!r} is not a slice")
    return slice_
