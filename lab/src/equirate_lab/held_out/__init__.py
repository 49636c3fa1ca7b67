"""Held out: what classifiers keep on new rows, beside an older version and beside plain logistic regression.

In: the data sets (`people`), and the interpreter of an older version of equirate. Every split is given to both, each in
a process of its own (`fitting`), and judged by the same lines (`runner`). Out: `tables`.
``equirate-lab held-out`` calls `run`.
"""

from .people import NAMES, missing
from .runner import Plan, run
from .tables import make_tables

__all__ = ["NAMES", "Plan", "make_tables", "missing", "run"]
