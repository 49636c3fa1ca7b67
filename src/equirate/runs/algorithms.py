"""Algorithms by name, as the command line takes them: those of `equirate.algorithms`, or as the papers write them."""

from __future__ import annotations

import re

from .._core.errors import EquirateError
from ..game.algorithms import ALGORITHMS
from ..tables.reading import nearest

_PAPER = {
    "algorithm_1": "oracle",
    "algorithm_2": "surrogate",
    "algorithm_3": "slack_ratios",
    "fw": "frank_wolfe",
    "proxy_lagrange": "proxy_lagrangian",
}
"""Other names of algorithms: the numbers are those of Narasimhan, Cotter and Gupta (2019)."""


def algorithm_named(text: str) -> str:
    """The name of an algorithm in `equirate.algorithms`, or ``"auto"``, however it is written.

    Examples
    --------
    >>> algorithm_named("SPADE+"), algorithm_named("Frank-Wolfe"), algorithm_named("Algorithm 2")
    ('spade_plus', 'frank_wolfe', 'surrogate')
    """
    plain = re.sub(r"[\W_]+", "_", text.strip().casefold().replace("+", " plus")).strip("_")
    name = _PAPER.get(plain, plain)
    if name != "auto" and name not in ALGORITHMS:
        known = ("auto", *ALGORITHMS)
        raise EquirateError(
            f"there is no --algorithm {text!r}{nearest(name, known)}; there are {', '.join(known)}, and by the paper's "
            "numbers Algorithm 1 (oracle), 2 (surrogate) and 3 (slack_ratios)"
        )
    return name
