"""Many machines: what a round costs over several processes, from Parquet files, and what becomes of killed processes.

In: how much to measure, and a folder to work in. Out: result files, and tables for ``lab/results/scale.md``.
``equirate-lab bench machines`` calls `measure`.

The modules: `jobs` (what the measured processes do, each started by itself), `measuring` (starting them), `model` (the
cost of a round as a formula) and `tables`.
"""

from __future__ import annotations

from .measuring import PARTS, Settings, measure
from .tables import make_tables

__all__ = ["PARTS", "Settings", "make_tables", "measure"]
