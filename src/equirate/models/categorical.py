"""Classifiers that can split categorical features, and the parameter that names those features.

In: a classifier of LightGBM, XGBoost or scikit-learn (or one of `equirate.boosting`), and places of columns. Out: a
copy of it that knows them; None for a classifier that takes no categories.
"""

from __future__ import annotations

from typing import Any

PARAMETERS = {
    "LGBMClassifier": "categorical_feature",
    "XGBClassifier": "categorical_feature",
    "HistGradientBoostingClassifier": "categorical_features",
}
"""The parameter of each classifier that names categorical features; XGBoost's is read where features are binned."""
UNSET = ("auto", "from_dtype")
"""Values, besides None, by which a classifier finds categorical features itself."""
MAX_CATEGORIES = {"HistGradientBoostingClassifier": 255}
"""Largest number of categories of one feature that a classifier takes, where there is a limit."""


def with_categories(estimator: Any, columns: tuple[int, ...]) -> Any:
    """A classifier whose settings name the categorical features, unless they do so already.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> with_categories(HistGradientBoostingClassifier(), (0, 2))
    HistGradientBoostingClassifier(categorical_features=[0, 2])
    """
    if hasattr(estimator, "with_categories"):
        return estimator.with_categories(columns)
    name = PARAMETERS.get(type(estimator).__name__)
    if name is None:
        return None
    current = estimator.get_params().get(name)
    if not (current is None or (isinstance(current, str) and current in UNSET)):
        return estimator
    from sklearn.base import clone  # takes a second: only where it is used

    return clone(estimator).set_params(**{name: list(columns)})


def most_categories(estimator: Any) -> int | None:
    """Largest number of categories of one feature that a classifier takes; None for no limit."""
    return MAX_CATEGORIES.get(type(estimator).__name__)
