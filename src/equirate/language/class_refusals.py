"""Errors for rates that need a class but name none, with more than two classes.

In: the name of a rate or metric, and the classes. Out: nothing, or a `DataError` with the ways to write it.
"""

from __future__ import annotations

from .._core.errors import DataError
from ..data.labels import Classes

AVERAGED = (
    *("recall", "tpr", "fnr", "fpr", "tnr", "precision", "npv", "f1", "f_score"),
    *("jaccard", "informedness", "markedness", "lift"),
)
"""Rates and metrics that take ``average=``, and that `worst` takes by name."""
_COUNTED = ("tp", "fp", "tn", "fn", "base_rate", "negative_rate")
_TWO_ONLY = {
    "matthews": "matthews() is defined for two classes (with more it is no function of a few rates): use kappa(), "
    "g_mean() or f1(average='macro')",
    "log_loss": "log_loss() is trained for two classes only: leave it out of the objective",
    "hinge_loss": "hinge_loss() is trained for two classes only: leave it out of the objective",
}


def refuse_unlabelled(name: str, classes: Classes) -> None:
    """Raise an error for a metric that needs a class, given by its name, if there are more than two."""
    if len(classes) > 2 and (name in AVERAGED or name in _TWO_ONLY or name == "cost"):
        raise needs_label(name, classes)


def needs_label(name: str, classes: Classes) -> DataError:
    """The error, with the ways to write a rate of one class or of all.

    Examples
    --------
    >>> print(needs_label("recall", ("cat", "dog", "owl")))
    y has 3 classes: write recall(label='cat'), recall(average='macro') or worst_recall()
    """
    first, many = repr(classes[0]), f"y has {len(classes)} classes"
    if name in _TWO_ONLY:
        return DataError(f"{many}: {_TWO_ONLY[name]}")
    if name == "cost":
        return DataError(f"{many}: write cost(matrix=[[0, 1, ...], ...], labels=[{first}, ...]) instead of fp=, fn=")
    if name == "f_score":
        return DataError(
            f"{many}: write f_score(beta, label={first}), f_score(beta, average='macro') or worst('f_score', beta=...)"
        )
    if name in AVERAGED:
        worst = "worst_recall()" if name == "recall" else f"worst({name!r})"
        return DataError(f"{many}: write {name}(label={first}), {name}(average='macro') or {worst}")
    if name in _COUNTED:
        return DataError(f"{many}: write {name}(label={first}), or confusion({first}, ...) for a single entry")
    return DataError(f"{many}: write {name}(label={first}), coverage({first}) or confusion(..., {first})")
