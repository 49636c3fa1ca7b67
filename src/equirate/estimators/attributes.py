"""Attributes as scikit-learn passes them: an array takes the one name that the problem lacks; rows by index; routing.

In: ``sensitive_features`` as passed to `fit`, `predict`, a scorer or a report. Out: the same with names, or a
`DataError` that says how a search passes them on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from .._core.errors import DataError
from ..data.arrays import refuse_lazy
from ..data.attributes import attribute_columns
from ..data.examples import Examples
from ..data.features import feature_names
from ..data.labels import plain
from ..data.slices import column_of
from ..language.parity import ConstraintFamily
from ..problem.problem import Problem

ROUTING = (
    "In a pipeline, the name of the step goes before: pipe.fit(X, y, clf__sensitive_features=people). In a search or a "
    "cross-validation, scikit-learn routes them: call "
    "sklearn.set_config(enable_metadata_routing=True), .set_fit_request(sensitive_features=True) on the estimator and "
    ".set_score_request(sensitive_features=True) on the scorer (the default of eq.scorer), and pass "
    "sensitive_features to the search"
)


def attribute_names(problem: Problem) -> set[str]:
    """Names of the attributes that slices, families and baselines of a problem refer to."""
    named = {name for rate in problem.rates() for name in rate.slice.attributes}
    families = [constraint for constraint in problem.constraints if isinstance(constraint, ConstraintFamily)]
    return named | problem.baselines() | {name for family in families for name in family.attributes}


def named(sensitive_features: Any, names: Collection[str], X: Any = None) -> Any:
    """Name an array that has no name, if only one name is possible.

    Parameters
    ----------
    sensitive_features
        Attributes as passed by the user.
    names
        Names of the attributes that are needed.
    X
        The features: attributes that are columns of X need not be in ``sensitive_features``.

    Examples
    --------
    >>> named(["F", "M"], {"sex"})
    {'sex': ['F', 'M']}
    >>> named({"race": ["a", "b"]}, {"sex"})
    {'race': ['a', 'b']}
    """
    if sensitive_features is None or isinstance(sensitive_features, Mapping):
        return sensitive_features
    refuse_lazy(sensitive_features, "sensitive_features (attributes)")
    if feature_names(sensitive_features) is not None or getattr(sensitive_features, "name", None) not in (None, ""):
        return sensitive_features
    missing_names = set(names) - set(feature_names(X) or ())
    if len(missing_names) != 1:
        return sensitive_features
    columns = attribute_columns(sensitive_features)
    if len(columns) != 1:
        return sensitive_features
    one_column = getattr(sensitive_features, "ndim", 1) == 2
    (name,), (column,) = missing_names, columns.values()
    return {name: column if one_column else sensitive_features}


def refuse_unsplit(sensitive_features: Any, rows: int) -> None:
    """Refuse a dict whose columns are longer than the labels: a search splits arrays and frames, but not a dict."""
    if not isinstance(sensitive_features, Mapping) or not sensitive_features:
        return
    lengths = {len(column) for column in attribute_columns(sensitive_features).values()}
    if len(lengths) == 1 and min(lengths) > rows:
        raise DataError(
            f"sensitive_features is a dict of columns with {min(lengths)} values, but y has {rows}: they must describe "
            "the same examples. A search or a cross-validation passes a dict on whole: give a data frame, such as "
            "pandas.DataFrame(sensitive_features)"
        )


def refuse_unrouted(problem: Problem, examples: Examples) -> None:
    """Refuse a problem if no attributes were passed at all, and explain scikit-learn's metadata routing."""
    if examples.given:
        return
    for name in sorted(attribute_names(problem) - set(examples.columns) - examples.ambiguous):
        try:
            column_of(examples.columns, name, given=False)
        except DataError as error:
            raise DataError(f"{error}. {ROUTING}") from None


def looked_up(people: Any, X: Any) -> Any:
    """The rows of a pandas frame (or series) of attributes that have the index of X."""
    if not (hasattr(X, "loc") and hasattr(X, "index")):
        raise DataError(
            "sensitive_features given to eq.scorer are looked up by the index of X, and X is a "
            f"{type(X).__name__} without one: give X as a pandas data frame, or pass them on by routing. {ROUTING}"
        )
    absent = X.index[~X.index.isin(people.index)]
    if len(absent):
        raise DataError(
            f"{len(absent)} rows of X are not in the sensitive_features given to eq.scorer: its index has no "
            f"{plain(absent[0])!r}"
        )
    return people.loc[X.index]


def refuse_without_index(people: Any) -> None:
    """Refuse attributes that have no index, or an index with duplicates."""
    if not (hasattr(people, "loc") and hasattr(people, "index")):
        raise DataError(
            "sensitive_features of eq.scorer must be a pandas data frame or series, whose rows are looked up by "
            f"X.index; got {type(people).__name__}"
        )
    if not people.index.is_unique:
        twice = people.index[people.index.duplicated()][0]
        raise DataError(
            f"sensitive_features of eq.scorer have the index {plain(twice)!r} twice, so rows cannot be looked "
            "up by it: give every row an index of its own, for example with .reset_index(drop=True) on X and on them"
        )
