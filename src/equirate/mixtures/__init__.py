"""The programmes over columns: which mixture of recorded classifiers is best.

A *column* is a recorded classifier: its values in every signed row of the problem. A mixture's rates are the mixture of
the rates, so the best mixture is a *programme* over the simplex of columns, made linear by *cuts*.

`linear`
    A linear programme over the simplex, columns priced in, solved again from where it ended.
`shrinking`
    The paper's sparse mixture and best single iterate, from each iterate's own values.
`columns`
    A problem over columns: values at a mixture, and its programme.
`convex`
    Cutting planes: exact.
`ratios`
    One ratio exactly; several to a local optimum.
`branching`
    Several ratios to the global optimum.
`margins`
    Constraints that keep so many standard errors of the mixture.
`black_boxes`
    Functions known by their values alone, searched over their arguments.
`pricing`
    What a further column would have to beat.
`polishing`
    Which of these a problem needs.
"""

from .branching import MOST_RATIOS, Search
from .columns import Cut, judged
from .margins import Margins
from .polishing import best_mixture, polish_weights
from .pricing import Prices, prices
from .ratios import PENALTY
from .shrinking import Weights, best_index, shrink_weights

__all__ = [
    "MOST_RATIOS",
    "PENALTY",
    "Cut",
    "Margins",
    "Prices",
    "Search",
    "Weights",
    "best_index",
    "best_mixture",
    "judged",
    "polish_weights",
    "prices",
    "shrink_weights",
]
