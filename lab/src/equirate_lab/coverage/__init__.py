"""Coverage: how often one-sided 95 % bounds hold, and how often what `equirate.power` foretells comes true.

In: populations whose rates are known (`populations`), expressions of them (`cases`), and how many samples. Out: the
share of samples whose bound is on the right side of the truth (`runner`), as tables (`tables`).
``equirate-lab coverage`` calls `run`.
"""

from .cases import CASES, PLANS, Case
from .runner import run
from .tables import make_tables

__all__ = ["CASES", "PLANS", "Case", "make_tables", "run"]
