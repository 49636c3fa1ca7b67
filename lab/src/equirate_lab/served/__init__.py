"""Served: whether what is said of rows that repeat is true of what `predict` returns.

In: twelve tables of categories (`tables`) and how many fits of each. Out: with and without a confidence level, whether
"constraints met" is true of `predict` on the rows that it speaks of, and whether a certified claim is broken by the
decisions on 200,000 fresh rows (`runner`). ``equirate-lab served`` calls `run`.
"""

from .runner import make_tables, run
from .tables import TABLES, CategoryTable

__all__ = ["TABLES", "CategoryTable", "make_tables", "run"]
