"""The programmes over columns: which mixture of recorded classifiers is best.

`shrink_weights` and `best_index` are public: they need nothing but each classifier's objective and violations, so they
serve classifiers that were trained elsewhere too.
"""

from .programmes import Weights, best_index, shrink_weights

__all__ = ["Weights", "best_index", "shrink_weights"]
