"""Boosted trees: LightGBM and XGBoost as learners of the game (the extra ``boosting``).

`BoostedTrees` descends in function space, one tree per round. `default_trees` is what ``model="trees"`` stands for: the
plug-in rule on probabilities of boosted trees, the best in our experiments (``docs/trees.md``). The libraries are
imported when they are used; without LightGBM, ``model="trees"`` uses scikit-learn's
``HistGradientBoostingClassifier``.
"""

from __future__ import annotations

from typing import Any

from .._core.choices import Library
from ..models.plug_in import PlugIn
from .boosted import BoostedTrees
from .handing_over import to_lightgbm, to_xgboost
from .libraries import installed
from .training import GROUP_RATE, GROUP_TREES, BoostedProbabilities, for_groups

__all__ = ["BoostedProbabilities", "BoostedTrees", "default_trees", "to_lightgbm", "to_xgboost"]


def __dir__() -> list[str]:
    """The public names alone."""
    return list(__all__)


def default_trees(library: Library | None = None, **settings: Any) -> PlugIn:
    """The plug-in rule on boosted trees: what ``model="trees"`` stands for.

    Parameters
    ----------
    library
        ``"lightgbm"``, ``"xgboost"`` or ``"sklearn"``; by default LightGBM if it is installed, otherwise scikit-learn's
        ``HistGradientBoostingClassifier``.
    **settings
        Settings of the trees for the label, in the library's own names.

    Returns
    -------
    PlugIn
        The model.

    Examples
    --------
    >>> default_trees("sklearn").estimator
    HistGradientBoostingClassifier(random_state=0)
    """
    name = library or ("lightgbm" if installed("lightgbm") else "sklearn")
    if name == "sklearn":
        from sklearn.ensemble import HistGradientBoostingClassifier

        few = {"max_iter": GROUP_TREES // 4, "learning_rate": GROUP_RATE}
        return PlugIn(
            HistGradientBoostingClassifier(**{"random_state": 0, **settings}),
            group_estimator=HistGradientBoostingClassifier(**{"random_state": 0, **few}),
        )
    given = {"random_state": 0, **settings}
    label = BoostedProbabilities(name, tuple(given.items()))
    return PlugIn(label, group_estimator=for_groups(name, given))
