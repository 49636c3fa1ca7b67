"""What ``model="trees"`` stands for, and the settings of its trees; sizes for few rows: `boosting/training.py`."""

from __future__ import annotations

from typing import Any

from .._core.choices import Library
from ..models.plug_in import PlugIn
from .libraries import installed
from .training import GROUP_RATE, GROUP_TREES, BoostedProbabilities, for_groups


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
