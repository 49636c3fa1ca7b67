"""Rows on many machines: fits with rows on several processes, tables in Parquet files, and Dask clusters.

Inside ``torchrun``, `equirate.solve` and `RateClassifier.fit` take each process's own rows, without anything from this
package. `processes` changes their settings, and inside `alone` a process works on its own rows only. `ParquetRows` are
rows in files that need not fit into memory, on one machine or many. `fit` fits on the workers of a Dask cluster.
"""

from .cluster import fit
from .parquet import ParquetRows
from .torchrun import alone, processes

__all__ = ["ParquetRows", "alone", "fit", "processes"]


def __dir__() -> list[str]:
    """The public names alone."""
    return list(__all__)
