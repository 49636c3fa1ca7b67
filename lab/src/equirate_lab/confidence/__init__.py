"""Confidence: how often what says that it is certified holds on new data, how often it can say so, and at what price.

In: problems with two and with more classes (`problems`) and how many samples of each. Out: for the plain fit and both
methods of confidence whether it claims, whether the claim is broken on 200,000 fresh rows and what is given up
(`runner`), as tables (`tables`), and how long a confident fit takes (`times`). ``equirate-lab confidence`` calls `run`.
"""

from .problems import CLASS_PROBLEMS, PROBLEMS, Problem
from .runner import run
from .tables import make_tables
from .times import measure

__all__ = ["CLASS_PROBLEMS", "PROBLEMS", "Problem", "make_tables", "measure", "run"]
