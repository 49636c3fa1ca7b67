"""The catalogue: every rate, ratio, score, loss and function that users write, by name, in reading order.

In: the tables of `rates`, `metrics` and `functions`, which come from `kinds.KINDS`, from definitions and from
`atoms.ATOMS`. Out: `CATALOGUE`, from which ``equirate.__all__`` and the parser are made.
"""

from __future__ import annotations

from collections.abc import Callable

from .class_metrics import CLASS_METRICS
from .expressions import Expression
from .functions import FUNCTIONS
from .metrics import METRICS
from .rates import ENTRIES, LINEAR, LOSSES

CATALOGUE: dict[str, Callable[..., Expression]] = {
    **LINEAR,
    **ENTRIES,
    **METRICS,
    **CLASS_METRICS,
    **FUNCTIONS,
    **LOSSES,
}
