"""Classifiers that split categories by themselves, told which columns hold codes of categories.

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
"""The parameter by which each classifier is told; XGBoost's is read where its features are binned."""
UNSET = (None, "auto", "from_dtype")
MOST = {"HistGradientBoostingClassifier": 255}
"""Different values of one column that a classifier takes at most, where there is a limit."""


def with_categories(estimator: Any, columns: tuple[int, ...]) -> Any:
    """A classifier that is told which columns are codes of categories, unless its settings say so already.

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
    given = estimator.get_params().get(name)
    if not (given is None or (isinstance(given, str) and given in UNSET)):
        return estimator
    from sklearn.base import clone  # takes a second: only where it is used

    return clone(estimator).set_params(**{name: list(columns)})


def most_categories(estimator: Any) -> int | None:
    """How many different values of one column a classifier takes; None where it does not matter."""
    return MOST.get(type(estimator).__name__)
