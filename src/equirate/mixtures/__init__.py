"""The programmes over columns: which mixture of recorded classifiers is best.

A *column* is a recorded classifier: its values in every signed row of the problem. A mixture's rates are the mixture of
the rates, so the best mixture is a *programme* over the simplex of columns, made linear by *cuts*.

`columns`
    Candidate classifiers: their rates and losses, and where they came from.
`values`
    Objective and violations of columns, in the user's own terms.
`best`
    The best mixture of columns, or the best single one: the entry points for other packages.
`linear`
    A linear programme over the simplex with column generation and warm starts.
`shrinking`
    The paper's sparse mixture and best single iterate, from each iterate's own values.
`programme`
    A problem over columns: values at a mixture, and its programme.
`convex`
    Cutting planes: exact.
`ratios`
    One ratio exactly; several to a local optimum.
`branching`
    Several ratios to the global optimum.
`margins`
    Constraints with a margin of some standard errors of the mixture.
`black_boxes`
    Functions of which only values are known: a search over their arguments.
`pricing`
    Prices of ratios and black boxes.
`master`
    The master problem of column generation: the best mixture so far, with its prices.
`polishing`
    Chooses among these methods for a problem.
`bins`
    Shares of members in bins of the rows, with the rates of a mixture.
"""

from .best import best, best_by_ranks, best_by_violation, best_priced, best_with_margins, shrink, shrunk_cost
from .branching import Search
from .columns import Columns, Source
from .margins import Margins
from .master import Master, Mixture
from .polishing import polish_weights
from .programme import Cut, judged
from .ratios import PENALTY
from .shrinking import Weights, best_index, shrink_weights
from .values import largest, snapped, values

__all__ = [
    "PENALTY",
    "Columns",
    "Cut",
    "Margins",
    "Master",
    "Mixture",
    "Search",
    "Source",
    "Weights",
    "best",
    "best_by_ranks",
    "best_by_violation",
    "best_index",
    "best_priced",
    "best_with_margins",
    "judged",
    "largest",
    "polish_weights",
    "shrink",
    "shrink_weights",
    "shrunk_cost",
    "snapped",
    "values",
]


def __dir__() -> list[str]:
    """The public names alone."""
    return list(__all__)
