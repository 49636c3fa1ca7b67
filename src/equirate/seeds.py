"""Random numbers that do not repeat anybody else's.

Data made up with ``default_rng(0)`` and a split drawn with ``default_rng(0)`` would use the same numbers, and the split
would follow the data. So every use of a seed here has a stream of its own.
"""

from __future__ import annotations

import numpy as np

_STREAMS = {"split": 0x51, "predict": 0x52, "parameters": 0x53}
_PACKAGE = 0x65717569


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
