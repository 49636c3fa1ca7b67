"""Truth: how far from the optimum classifiers end, on problems whose optimum is known.

In: data on which everything that linear classifiers can reach is known (`grounds`), and problems on them (`problems`),
written once for equirate and once in counts (`counted`); and lists of classifiers of several classes (`classes`). The
optimum is computed apart from equirate, by linear and convex programmes (`programmes`) and by branch and bound
(`branching`). Out: gaps (`runner`), as tables (`tables`).
``equirate-lab truth`` calls `run`.
"""

from .classes import FAMILIES as CLASS_FAMILIES, ClassCase, class_cases
from .problems import FAMILIES, Case, cases
from .runner import CLASSIFIER, POLISHED, Found, every_case, judged, run
from .tables import make_tables

__all__ = [
    "CLASSIFIER",
    "CLASS_FAMILIES",
    "FAMILIES",
    "POLISHED",
    "Case",
    "ClassCase",
    "Found",
    "cases",
    "class_cases",
    "every_case",
    "judged",
    "make_tables",
    "run",
]
