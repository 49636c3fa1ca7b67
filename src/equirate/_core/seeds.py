"""Random numbers from a user's ``random_state``, independent of the user's own with the same seed.

Data generated with ``default_rng(0)`` and a split drawn with ``default_rng(0)`` would use the same numbers, and the
split would depend on the data. So every use of a seed here has a stream of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import EquirateError

_STREAMS = {
    "split": 0x51,
    "predict": 0x52,
    "parameters": 0x53,
    "salt": 0x54,
    "batches": 0x55,
    "network": 0x56,
    "folds": 0x57,
}
_PACKAGE = 0x65717569
_SEEDS = 2**31 - 1


def seed_of(random_state: Any, caller: str) -> int | None:
    """One seed of a ``random_state`` as scikit-learn has it: a generator is drawn from once, None stays None.

    Examples
    --------
    >>> seed_of(3, "RateClassifier"), seed_of(None, "RateClassifier")
    (3, None)
    >>> seed_of(np.random.default_rng(0), "RateClassifier") == seed_of(np.random.default_rng(0), "RateClassifier")
    True
    """
    if random_state is None:
        return None
    is_integer = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if is_integer and random_state >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(_SEEDS))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_SEEDS))
    raise EquirateError(
        f"The 'random_state' parameter of {caller} must be None, a whole number of at least 0, or a numpy RandomState "
        f"or Generator. Got {random_state!r} instead."
    )


def stream(use: str, seed: int | None) -> np.random.Generator:
    """Return a generator for one use of a seed; None for numbers that do not repeat.

    Examples
    --------
    >>> float(stream("split", 0).random()) == float(np.random.default_rng(0).random())
    False
    >>> float(stream("split", 0).random()) == float(stream("split", 0).random())
    True
    """
    if seed is None:
        return np.random.default_rng()
    return np.random.default_rng([int(seed), _PACKAGE, _STREAMS[use]])
