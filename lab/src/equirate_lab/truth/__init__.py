"""Truth: how far from the optimum classifiers end, on problems whose optimum is known.

In: data on which everything that linear classifiers can reach is known (`grounds`), and problems on them (`problems`),
written once for equirate and once in counts (`counted`). The optimum is computed apart from equirate, by linear and
convex programmes (`programmes`) and by branch and bound (`branching`). Out: gaps (`runner`), as tables (`tables`).
``equirate-lab truth`` calls `run`.
"""

from .problems import FAMILIES, Case, cases
from .runner import CLASSIFIER, POLISHED, Found, judged, run
from .tables import make_tables

__all__ = ["CLASSIFIER", "FAMILIES", "POLISHED", "Case", "Found", "cases", "judged", "make_tables", "run"]
