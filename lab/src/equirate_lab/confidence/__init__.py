"""Confidence: how often what says that it is certified holds on new data, how often it can say so, and at what price.

In: twelve problems (`problems`) and how many samples of each. Out: for the plain fit and both methods of confidence
whether it claims, whether the claim is broken on 200,000 fresh rows and what is given up (`runner`), as tables
(`tables`), and how long a confident fit takes (`times`). ``equirate-lab confidence`` calls `run`.
"""

from .problems import PROBLEMS, Problem
from .runner import run
from .tables import make_tables
from .times import measure

__all__ = ["PROBLEMS", "Problem", "make_tables", "measure", "run"]
