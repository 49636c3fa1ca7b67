"""Linear rates and ordinary losses as functions that users call: one for each row of `kinds.KINDS`.

In: a slice (no slice means everybody), and for some the name of a baseline's column. Out: `Rate` and `Loss` nodes.
`LINEAR` holds the functions by name; ``from .rates import tpr`` finds them too.

Examples
--------
>>> from equirate import attr
>>> LINEAR["tpr"](attr("sex") == "Female")
tpr(sex == 'Female')
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import TYPE_CHECKING, Any, Protocol

from .._core.choices import Average
from ..data.kinds import CONFUSION, CONFUSION_ROW, KINDS, RateKind
from ..data.slices import EVERYBODY, Attribute, Slice
from .class_refusals import AVERAGED
from .expressions import Expression
from .nodes import Loss, Named, Rate, call_text
from .over_classes import averaged, label_given


class RateOfSlice(Protocol):
    """A function that makes a rate of a slice; no slice means everybody."""

    def __call__(self, slice: Slice | None = None) -> Expression:
        """Make the rate."""
        ...


class RateOfClass(Protocol):
    """A function that makes a rate of one class, within a slice; no slice means everybody."""

    def __call__(self, slice: Slice | None = None, *, label: Any = None) -> Expression:
        """Make the rate."""
        ...


class RateOfClasses(Protocol):
    """A function that makes a rate of one class or an average over all, within a slice."""

    def __call__(self, slice: Slice | None = None, *, label: Any = None, average: Average | None = None) -> Expression:
        """Make the rate."""
        ...


class RateAgainstBaseline(Protocol):
    """A function that makes a rate against a baseline's predictions, which an attribute holds."""

    def __call__(self, baseline: str | Attribute, slice: Slice | None = None) -> Expression:
        """Make the rate."""
        ...


def slice_given(value: Slice | None, caller: str) -> Slice:
    """Return the slice that a function was given; for anything else, an error that names ``caller``."""
    if value is None:
        return EVERYBODY
    if isinstance(value, Slice):
        return value
    if isinstance(value, Attribute):
        raise TypeError(f"{caller}({value!r}) needs a slice, not an attribute: compare it, as in {value!r} == 'value'")
    raise TypeError(f"the slice of {caller} must be made with attr(...) and a comparison; got {value!r}")


def column_name(baseline: str | Attribute, caller: str) -> str:
    """Return the name of the attribute that holds a baseline's predictions."""
    name = baseline.name if isinstance(baseline, Attribute) else baseline
    if not isinstance(name, str):
        raise TypeError(f"the baseline of {caller} is the name of an attribute with 0/1 predictions; got {baseline!r}")
    return name


def _of_slice(kind: RateKind) -> Callable[..., Expression]:
    def rate(slice: Slice | None = None) -> Expression:
        return Rate(kind, slice_given(slice, kind.name))

    return rate


def _of_class(kind: RateKind) -> Callable[..., Expression]:
    def rate(slice: Slice | None = None, *, label: Any = None) -> Expression:
        known = label_given(label, kind.name)
        return Rate(kind, slice_given(slice, kind.name), label=known, predicted=known)

    return rate


def _of_classes(kind: RateKind) -> Callable[..., Expression]:
    one = _of_class(kind)

    def rate(slice: Slice | None = None, *, label: Any = None, average: Average | None = None) -> Expression:
        if average is not None:
            return averaged(kind.name, average, slice_given(slice, kind.name), label)
        return one(slice, label=label)

    return rate


def _against_baseline(kind: RateKind) -> Callable[..., Expression]:
    def rate(baseline: str | Attribute, slice: Slice | None = None) -> Expression:
        return Rate(kind, slice_given(slice, kind.name), column_name(baseline, kind.name))

    return rate


_PARAMETERS = {
    "baseline": "The attribute, or its name, that holds the other model's predictions.",
    "slice": "Part of the data; None for everybody.",
    "label": "The class that counts as 1, the others together being 0; None for the positive one of two.",
    "average": 'Mean over all classes instead: ``"macro"`` or ``"weighted"``; of recall also ``"micro"``.',
}
"""Descriptions of the parameters of these functions, for their docstrings."""


def _function(kind: RateKind) -> Callable[..., Expression]:
    """The public function of a kind of rate, with its documentation."""
    if kind.compares:
        rate = _against_baseline(kind)
    elif not kind.of_class:
        rate = _of_slice(kind)
    else:
        rate = _of_classes(kind) if kind.name in AVERAGED else _of_class(kind)
    rate.__name__ = rate.__qualname__ = kind.name
    parameters = "\n".join(f"    {name}\n        {_PARAMETERS[name]}" for name in signature(rate).parameters)
    first = "'old_model', " * kind.compares
    rate.__doc__ = f"""{kind.summary}, within a slice. Linear in the predictions.

    Parameters
    ----------
{parameters}

    Returns
    -------
    Expression
        Combine it with others, or compare it.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.{kind.name}({first}eq.attr("age") < 30)
    {kind.name}({first}age < 30)
    """
    return rate


LINEAR: dict[str, Callable[..., Expression]] = {name: _function(kind) for name, kind in KINDS.items()}
"""Every linear rate by its public name."""
__test__: dict[str, Any] = LINEAR  # their examples are part of the tests


if TYPE_CHECKING:  # what type checkers see; when the module runs, `__getattr__` finds them
    positive_rate: RateOfClass
    negative_rate: RateOfClass
    accuracy: RateOfSlice
    error_rate: RateOfSlice
    tpr: RateOfClasses
    recall: RateOfClasses
    fnr: RateOfClasses
    fpr: RateOfClasses
    tnr: RateOfClasses
    tp: RateOfClass
    fp: RateOfClass
    tn: RateOfClass
    fn: RateOfClass
    base_rate: RateOfClass
    wins: RateAgainstBaseline
    losses: RateAgainstBaseline
    churn: RateAgainstBaseline
else:

    def __getattr__(name: str) -> Callable[..., Expression]:
        """Find a linear rate by its name, as if it were written out here."""
        if name in LINEAR:
            return LINEAR[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def confusion(true: Any, predicted: Any, slice: Slice | None = None, *, given: str | None = None) -> Expression:
    """P[label = true and predicted as another class], within a slice: an entry of the confusion matrix. Linear.

    With ``given="true"`` it is the share of those whose label is ``true``: P[predicted | true].

    Parameters
    ----------
    true
        The class of the label.
    predicted
        The class that is predicted.
    slice
        Part of the data; None for everybody.
    given
        None for a share of all examples; ``"true"`` for a share of those whose label is ``true``.

    Returns
    -------
    Expression
        Combine it with others, or compare it.

    Examples
    --------
    >>> confusion("cat", "dog", given="true")
    confusion('cat', 'dog', given='true')
    >>> confusion("cat", "dog").evaluate(["cat", "cat", "dog", "owl"], ["cat", "dog", "dog", "dog"])
    0.25
    """
    if given not in (None, "true"):
        raise TypeError(f"given of confusion must be None or 'true'; got {given!r}")
    known = [label_given(each, "confusion") for each in (true, predicted)]
    if None in known:
        raise TypeError("confusion takes two classes: the true one and the predicted one")
    kind = CONFUSION if given is None else CONFUSION_ROW
    return Rate(kind, slice_given(slice, "confusion"), label=known[0], predicted=known[1])


def coverage(label: Any, slice: Slice | None = None) -> Expression:
    """P[predicted as the class], within a slice: positive_rate of that class. Linear.

    Parameters
    ----------
    label
        The class.
    slice
        Part of the data; None for everybody.

    Returns
    -------
    Expression
        Combine it with others, or compare it.

    Examples
    --------
    >>> coverage("cat")
    coverage('cat')
    >>> coverage("cat").evaluate(["cat", "dog", "owl", "owl"], ["cat", "dog", "cat", "owl"])
    0.5
    """
    known = label_given(label, "coverage")
    if known is None:
        raise TypeError("coverage takes a class, as in coverage('cat')")
    definition = Rate(KINDS["positive_rate"], slice_given(slice, "coverage"), label=known, predicted=known)
    return Named(call_text("coverage", known, definition.slice), definition)


ENTRIES: dict[str, Callable[..., Expression]] = {"confusion": confusion, "coverage": coverage}
"""Functions of rates of classes that have no row in `KINDS`."""


def log_loss(slice: Slice | None = None) -> Expression:
    """Average logistic loss of the scores: a term of the objective.

    Parameters
    ----------
    slice
        Part of the data; None for everybody.

    Returns
    -------
    Expression
        Combine it with rates in an objective.
    """
    return Loss("log_loss", slice_given(slice, "log_loss"))


def hinge_loss(slice: Slice | None = None) -> Expression:
    """Average hinge loss of the scores: a term of the objective.

    Parameters
    ----------
    slice
        Part of the data; None for everybody.

    Returns
    -------
    Expression
        Combine it with rates in an objective.
    """
    return Loss("hinge_loss", slice_given(slice, "hinge_loss"))


LOSSES: dict[str, Callable[..., Expression]] = {"log_loss": log_loss, "hinge_loss": hinge_loss}
