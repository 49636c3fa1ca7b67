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
from typing import TYPE_CHECKING, Any, Protocol

from ..data.kinds import KINDS, RateKind
from ..data.slices import EVERYBODY, Attribute, Slice
from .expressions import Expression
from .nodes import Loss, Rate


class RateOfSlice(Protocol):
    """A function that makes a rate of a slice; no slice means everybody."""

    def __call__(self, slice: Slice | None = None) -> Expression:
        """Make the rate."""
        ...


class RateAgainstBaseline(Protocol):
    """A function that makes a rate against a baseline's 0/1 predictions, which an attribute holds."""

    def __call__(self, baseline: str | Attribute, slice: Slice | None = None) -> Expression:
        """Make the rate."""
        ...


def slice_given(value: Slice | None, caller: str) -> Slice:
    """Return the slice that a function was given; refuse anything else in the name of its ``caller``."""
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


def _against_baseline(kind: RateKind) -> Callable[..., Expression]:
    def rate(baseline: str | Attribute, slice: Slice | None = None) -> Expression:
        return Rate(kind, slice_given(slice, kind.name), column_name(baseline, kind.name))

    return rate


def _function(kind: RateKind) -> Callable[..., Expression]:
    """The public function of a kind of rate, with its documentation."""
    rate = _against_baseline(kind) if kind.compares else _of_slice(kind)
    rate.__name__ = rate.__qualname__ = kind.name
    baseline = "\n    ``baseline`` names the attribute that holds the other model's 0/1 predictions.\n" * kind.compares
    first = "'old_model', " * kind.compares
    rate.__doc__ = f"""{kind.summary}, within a slice. Linear in the predictions.
{baseline}
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
    positive_rate: RateOfSlice
    negative_rate: RateOfSlice
    accuracy: RateOfSlice
    error_rate: RateOfSlice
    tpr: RateOfSlice
    recall: RateOfSlice
    fnr: RateOfSlice
    fpr: RateOfSlice
    tnr: RateOfSlice
    tp: RateOfSlice
    fp: RateOfSlice
    tn: RateOfSlice
    fn: RateOfSlice
    base_rate: RateOfSlice
    wins: RateAgainstBaseline
    losses: RateAgainstBaseline
    churn: RateAgainstBaseline
else:

    def __getattr__(name: str) -> Callable[..., Expression]:
        """Find a linear rate by its name, as if it were written out here."""
        if name in LINEAR:
            return LINEAR[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def log_loss(slice: Slice | None = None) -> Expression:
    """Average logistic loss of the scores: a term of the objective."""
    return Loss("log_loss", slice_given(slice, "log_loss"))


def hinge_loss(slice: Slice | None = None) -> Expression:
    """Average hinge loss of the scores: a term of the objective."""
    return Loss("hinge_loss", slice_given(slice, "hinge_loss"))


LOSSES: dict[str, Callable[..., Expression]] = {"log_loss": log_loss, "hinge_loss": hinge_loss}
