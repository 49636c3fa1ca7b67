"""Exports to ONNX beside Python: the same decision in every row, the size of the file, and the time of one row.

In: classifiers of every kind that can be exported (`kinds`) and hard rows (`rows`): at thresholds and beside them, on
edges where rounding decides, missing values, categories never seen. Out: how many rows are decided otherwise
(`runner`), as a table. ``equirate-lab export`` calls `run`.
"""

from .kinds import KINDS
from .runner import Measured, make_table, run

__all__ = ["KINDS", "Measured", "make_table", "run"]
