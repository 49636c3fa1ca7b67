"""Confidence levels as people read them."""

from __future__ import annotations


def percent(level: float) -> str:
    """A level in percent, with enough digits to distinguish it from 100 %.

    Examples
    --------
    >>> percent(0.95), percent(0.999), percent(0.99993)
    ('95%', '99.9%', '99.993%')
    """
    return f"{100 * level:.6g}%"
