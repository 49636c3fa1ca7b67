"""Lists in messages, cut where they are long."""

from __future__ import annotations

from collections.abc import Sequence


def listed(parts: Sequence[str], most: int = 5) -> str:
    """The first few of some words, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b"]), listed(list("abcdefgh"), 2)
    ('a, b', 'a, b and 6 more')
    """
    more = f" and {len(parts) - most:,} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more
