"""Boosted trees: LightGBM and XGBoost as learners of the game (the extra ``boosting``).

`BoostedTrees` descends in function space, one tree per round. `default_trees` is what ``model="trees"`` stands for: the
plug-in rule on probabilities of boosted trees, the best in our experiments (``docs/trees.md``). The libraries are
imported when they are used; without LightGBM, ``model="trees"`` uses scikit-learn's
``HistGradientBoostingClassifier``.
"""

from __future__ import annotations

from .boosted import BoostedTrees
from .defaults import default_trees
from .handing_over import to_lightgbm, to_xgboost
from .training import BoostedProbabilities

__all__ = ["BoostedProbabilities", "BoostedTrees", "default_trees", "to_lightgbm", "to_xgboost"]


def __dir__() -> list[str]:
    """The public names alone."""
    return list(__all__)
