"""More than two classes: a published task beside its printed numbers, comparisons with simpler rules, proven optima.

In: data sets with three to 26 classes (`data`). Out: tables (`tables`). ``equirate-lab reproduce multiclass`` calls
`reproduced`, the task of "Consistent Multiclass Algorithms for Complex Metrics and Constraints" (`published`);
``equirate-lab multiclass`` calls `compared`, what equirate gains over the largest probability and over tuned weights of
the classes (`comparison`), and `proven`, the gap of macro-F1 over many columns (`columns`).
"""

from .columns import proven
from .comparison import PROBLEMS, Measured, compared
from .data import NAMES, missing
from .published import PUBLISHED, reproduced
from .tables import comparison_tables, proven_table, published_table

__all__ = [
    "NAMES",
    "PROBLEMS",
    "PUBLISHED",
    "Measured",
    "compared",
    "comparison_tables",
    "missing",
    "proven",
    "proven_table",
    "published_table",
    "reproduced",
]
