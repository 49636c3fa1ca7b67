"""More than two classes: a published task beside its printed numbers, comparisons with simpler rules, proven optima.

In: data sets with three to 26 classes (`data`). Out: tables (`tables`). ``equirate-lab reproduce multiclass`` calls
`reproduced`, the task of "Consistent Multiclass Algorithms for Complex Metrics and Constraints" (`published`);
``equirate-lab multiclass`` calls `compared`, what equirate gains over the largest probability and over tuned weights of
the classes (`comparison`), `by_chance`, which violations are chance (`chance`), `proven`, the gap of macro-F1 over many
columns (`columns`), and `timed`, what a whole fit takes (`times`).
"""

from .chance import by_chance
from .columns import proven
from .comparison import PROBLEMS, Measured, compared
from .data import NAMES, missing
from .published import PUBLISHED, reproduced
from .tables import chance_table, comparison_tables, proven_table, published_table, times_table
from .times import timed

__all__ = [
    "NAMES",
    "PROBLEMS",
    "PUBLISHED",
    "Measured",
    "by_chance",
    "chance_table",
    "compared",
    "comparison_tables",
    "missing",
    "proven",
    "proven_table",
    "published_table",
    "reproduced",
    "timed",
    "times_table",
]
