"""Ready-made constraints: parity of a rate between groups.

Given slices, each function returns a list of plain constraints. Given an attribute, the values are only known
with the data, so the list holds one `ConstraintFamily` that `Problem.expanded` turns into plain constraints then.

Examples
--------
>>> from equirate import attr
>>> women = attr("sex") == "Female"
>>> equal_opportunity([women, ~women], tolerance=0.05)
[abs(tpr(sex == 'Female') - tpr(~(sex == 'Female'))) <= 0.05]
>>> equalized_odds(attr("race"), tolerance=0.1)
[equalized_odds(race, tolerance=0.1)]
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

from .._core.choices import Comparison
from .._core.errors import DataError, EquirateWarning
from .._core.listing import listed
from .._core.warning import warn
from ..data.examples import Examples
from ..data.groups import Groups, refuse_many
from ..data.labels import code_of
from ..data.slices import EVERYBODY, Attribute, Slice
from .curvature import Curvature
from .expressions import Constraint, Expression, number
from .metrics import f1, precision, win_loss_ratio
from .over_classes import label_given
from .rates import column_name, confusion, fpr, positive_rate, tpr

RateOfSlice = Callable[[Slice], Expression]
Over = str | Attribute | Slice | Sequence["str | Attribute | Slice"]
_COMPARE = ("rest", "pairs", "overall")
MOST_CONSTRAINTS = 4096
"""Constraints of one parity at most: as many as a saved file may have."""


@dataclass(frozen=True)
class Metric:
    """A named function of a slice, such as precision, perhaps with further arguments."""

    function: Callable[..., Expression]
    arguments: tuple[str, ...] = ()
    label: Any = None
    predicted: Any = None
    """For an entry of the confusion matrix: the predicted class, where ``label`` is true."""

    def __call__(self, slice_: Slice) -> Expression:
        """Return the metric of a slice."""
        if self.predicted is not None:
            return confusion(self.label, self.predicted, slice_, given="true")
        more = {} if self.label is None else {"label": self.label}
        return self.function(*self.arguments, slice_, **more)

    def of_classes(self, labels: Sequence[Any]) -> list[Metric]:
        """The same metric for each class; one that compares with a baseline is for all classes at once."""
        return [self] if self.arguments else [replace(self, label=label) for label in labels]


@dataclass(frozen=True, repr=False)
class ConstraintFamily:
    """Parity over the values of attributes: a constraint per group, once the groups are known from the data."""

    name: str
    metrics: tuple[Metric, ...]
    attributes: tuple[str, ...]
    tolerance: float
    compare: str
    intersect: bool
    min_support: float
    labels: tuple[Any, ...] | None = None
    """Classes to compare; None for the positive one of two, and for every one of more."""
    entries: bool = False
    """Whether all entries of the confusion matrix are compared."""

    @property
    def curvature(self) -> Curvature:
        """Curvature of the rates compared."""
        total = Curvature.CONSTANT
        for metric in self.metrics:
            total = total + metric(EVERYBODY).curvature
        return total

    def expanded(self, examples: Examples) -> list[Constraint]:
        """Return one constraint per group, or per pair of groups, of the data."""
        sets = [self.attributes] if self.intersect else [(name,) for name in self.attributes]
        if len(examples.classes) == 2 and self.labels is None and not self.entries:
            return [part for names in sets for part in self._over(names, examples)]
        return [part.on(examples) for names in sets for part in self._over_classes(names, examples)]

    def _over_classes(self, names: tuple[str, ...], examples: Examples) -> list[Constraint]:
        """Constraints of each class; a group needs ``min_support`` examples of the class."""
        occurring = Groups.of(names, examples)
        refuse_many(occurring, len(occurring), repr(self))
        chosen = examples.classes if self.labels is None else self.labels
        codes = [code_of(label, examples.classes, repr(self)) for label in chosen]
        groups, pairs, small = [occurring.slice(k) for k in range(len(occurring))], [], []
        for label, code in zip(chosen, codes, strict=True):
            supports = [self._support(group, code, examples) for group in groups]
            kept = [
                group for group, number in zip(groups, supports, strict=True) if number >= max(self.min_support, 1e-300)
            ]
            small += [f"{label!r} in {group!r}" for group in groups if group not in kept]
            if len(kept) >= 2:
                pairs.append((label, kept))
        if small:
            warn(f"{self!r} leaves out classes in groups with too few examples: {listed(small)}", EquirateWarning)
        if not pairs:
            raise DataError(f"{self!r} needs a class that at least two groups have enough examples of")
        constraints = []
        for label, kept in pairs:
            metrics = [
                each
                for metric in self.metrics
                for each in (self._entries(label, examples) if self.entries else metric.of_classes([label]))
            ]
            constraints += compared(metrics, kept, self.tolerance, self.compare, repr(self))
        if len(constraints) > MOST_CONSTRAINTS:
            raise DataError(
                f"{self!r} makes {len(constraints):,} constraints, more than {MOST_CONSTRAINTS:,}: take fewer classes "
                "with labels=[...], or fewer groups"
            )
        return list(dict.fromkeys(constraints))

    def _entries(self, label: Any, examples: Examples) -> list[Metric]:
        return [Metric(confusion, label=label, predicted=each) for each in examples.classes]

    def _support(self, group: Slice, code: int, examples: Examples) -> float:
        """Number of examples of a class in a group, or their share of the weight of the class."""
        inside = examples.mask(group) & (examples.labels == code)
        if self.min_support >= 1:
            return float(examples.shared.total(float((inside & (examples.weights > 0)).sum())))
        own = examples.shared.total(
            np.array([examples.weights[inside].sum(), examples.weights[examples.labels == code].sum()])
        )
        return float(own[0] / own[1]) if own[1] > 0 else 0.0

    def _over(self, names: tuple[str, ...], examples: Examples) -> list[Constraint]:
        occurring = Groups.of(names, examples)
        enough = occurring.support(self.min_support < 1) >= self.min_support
        refuse_many(occurring, int(enough.sum()), repr(self))
        groups = [occurring.slice(k) for k in np.flatnonzero(enough).tolist()]
        small = [repr(occurring.slice(k)) for k in np.flatnonzero(~enough).tolist()]
        if small:
            warn(f"{self!r} leaves out groups below min_support: {listed(small)}", EquirateWarning)
        if len(groups) < 2:
            raise DataError(
                f"{self!r} needs at least two groups with enough examples in {' and '.join(map(repr, names))}; "
                f"found {len(groups)}"
            )
        return compared(self.metrics, groups, self.tolerance, self.compare, repr(self))

    def __repr__(self) -> str:
        shown = [", ".join(map(repr, map(Attribute, self.attributes)))]
        if len(self.attributes) > 1:
            shown[0] = f"[{shown[0]}]"
        shown.insert(0, repr(self.metrics[0].arguments[0]) if self.metrics[0].arguments else "")
        extra = [f"tolerance={self.tolerance!r}"]
        extra += [f"compare={self.compare!r}"] if self.compare != "rest" else []
        extra += ["intersect=True"] if self.intersect else []
        extra += [f"min_support={self.min_support!r}"] if self.min_support else []
        extra += [f"labels={list(self.labels)!r}"] if self.labels is not None else []
        extra += ["entries=True"] if self.entries else []
        return f"{self.name}({', '.join(part for part in shown + extra if part)})"


def compared(
    metrics: Sequence[RateOfSlice], groups: Sequence[Slice], tolerance: float, compare: str, what: str
) -> list[Constraint]:
    """Constrain the metrics of groups to lie within a tolerance of each other; ``what`` is named in errors."""
    count = len(metrics) * (len(groups) * (len(groups) - 1) // 2 if compare == "pairs" else len(groups))
    if count > MOST_CONSTRAINTS:
        cure = 'compare="rest", or fewer groups' if compare == "pairs" else "fewer groups"
        raise DataError(f"{what} makes {count:,} constraints, more than {MOST_CONSTRAINTS:,}: take {cure}")
    if compare == "pairs":
        pairs = list(itertools.combinations(groups, 2))
    elif compare == "overall":
        pairs = [(group, EVERYBODY) for group in groups]
    elif len(groups) == 2:
        pairs = [(groups[0], groups[1])]
    else:
        pairs = [(group, ~group) for group in groups]
    return [abs(metric(a) - metric(b)) <= tolerance for metric in metrics for a, b in pairs]


def attributes_in(over: Any) -> list[Any]:
    """One or several attributes or slices as a list; a plain string is the name of an attribute."""
    parts = list(over) if isinstance(over, (list, tuple)) else [over]
    return [Attribute(part) if isinstance(part, str) else part for part in parts]


def _parity(
    name: str,
    metrics: Sequence[Metric],
    over: Over,
    tolerance: float,
    compare: str,
    intersect: bool,
    min_support: float,
    labels: Sequence[Any] | None = None,
    entries: bool = False,
) -> list[Constraint | ConstraintFamily]:
    chosen = None if labels is None else _labels(labels, name)
    if entries and name != "equalized_odds":
        raise TypeError(f"entries=True is for equalized_odds, which compares the confusion matrix; not for {name}")
    tolerance, min_support = (
        _nonnegative(value, f"the {what} of {name}")
        for what, value in (("tolerance", tolerance), ("min_support", min_support))
    )
    if compare not in _COMPARE:
        raise TypeError(f"compare of {name} must be one of {', '.join(map(repr, _COMPARE))}; got {compare!r}")
    parts = attributes_in(over)
    if parts and all(isinstance(part, Attribute) for part in parts):
        names = tuple(part.name for part in parts)
        family = (tuple(metrics), names, tolerance, compare, intersect, min_support, chosen, bool(entries))
        return [ConstraintFamily(name, *family)]
    if not parts or not all(isinstance(part, Slice) for part in parts):
        raise TypeError(f"{name} takes attributes, as in attr('sex'), or a list of slices; got {over!r}")
    slices = parts if len(parts) > 1 else [parts[0], ~parts[0]]
    if entries:
        if chosen is None:
            raise TypeError("equalized_odds of slices with entries=True needs labels=[...], the classes to compare")
        metrics = [Metric(confusion, label=true, predicted=each) for true in chosen for each in chosen]
    elif chosen is not None:
        metrics = [each for metric in metrics for each in metric.of_classes(chosen)]
    return list(compared(metrics, slices, tolerance, compare, f"{name} over {len(slices):,} slices"))


def _labels(labels: Any, name: str) -> tuple[Any, ...]:
    if isinstance(labels, str) or not isinstance(labels, (list, tuple, np.ndarray)) or not len(labels):
        raise TypeError(f"labels of {name} is a list of classes; got {labels!r}")
    return tuple(dict.fromkeys(label_given(label, name) for label in labels))


def _nonnegative(value: float, what: str) -> float:
    checked = number(value, f"a number for {what}")
    if checked < 0:
        raise TypeError(f"{what} must be a number >= 0; got {value!r}")
    return checked


class ReadyMade(Protocol):
    """A function that makes constraints over groups."""

    def __call__(
        self,
        over: Over,
        *,
        tolerance: float,
        compare: Comparison = "rest",
        intersect: bool = False,
        min_support: float = 0,
        labels: Sequence[Any] | None = None,
        entries: bool = False,
    ) -> list[Constraint | ConstraintFamily]:
        """Make the constraints."""
        ...


P = ParamSpec("P")
R = TypeVar("R")


def _with_tolerance(function: Callable[P, R]) -> Callable[P, R]:
    """The same, where a call without ``tolerance=`` is refused with what to write."""
    taken = sum(each.kind is each.POSITIONAL_OR_KEYWORD for each in inspect.signature(function).parameters.values())

    @functools.wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> R:
        if len(args) > taken or (len(args) == taken and "tolerance" not in options):
            name, over = function.__name__, ", ".join(map(repr, args[:taken]))
            limit = args[taken] if len(args) == taken + 1 else 0.05
            raise TypeError(f"{name} takes the largest difference by name: write {name}({over}, tolerance={limit!r})")
        return function(*args, **options)

    return checked


READY_MADE: dict[str, Callable[..., list[Constraint | ConstraintFamily]]] = {}
"""Every function of this module that users call, by its name."""


def _ready_made(name: str, summary: str, *functions: Callable[..., Expression]) -> ReadyMade:
    def constraints(
        over: Over,
        *,
        tolerance: float,
        compare: Comparison = "rest",
        intersect: bool = False,
        min_support: float = 0,
        labels: Sequence[Any] | None = None,
        entries: bool = False,
    ) -> list[Constraint | ConstraintFamily]:
        metrics = [Metric(function) for function in functions]
        return _parity(name, metrics, over, tolerance, compare, intersect, min_support, labels, entries)

    constraints.__name__ = constraints.__qualname__ = name
    constraints.__doc__ = f"""{summary}

    Parameters
    ----------
    over
        An attribute or its name (all its values), a list of them, a slice (against everybody else) or a list of slices.
    tolerance
        Largest difference allowed.
    compare
        ``"rest"``: each group against everybody else; ``"pairs"``: every pair; ``"overall"``: each against all.
    intersect
        With several attributes: compare the combinations of their values, not each attribute by itself.
    min_support
        Leave out groups with fewer examples (a number >= 1) or a smaller share of the weight (below 1), with a warning.
        With more than two classes: of a class within a group.
    labels
        Classes to compare, one by one; by default the positive one of two, and every one of more.
    entries
        Of `equalized_odds`: compare every P[predicted k | label j].

    Returns
    -------
    list
        Constraints, for `Problem` or an estimator.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.{name}(eq.attr("sex"), tolerance=0.05)
    [{name}(sex, tolerance=0.05)]
    """
    READY_MADE[name] = checked = _with_tolerance(constraints)
    return checked


demographic_parity = _ready_made("demographic_parity", "Equal positive rates, up to a tolerance.", positive_rate)
equal_opportunity = _ready_made("equal_opportunity", "Equal true positive rates, up to a tolerance.", tpr)
equalized_odds = _ready_made("equalized_odds", "Equal true and false positive rates, up to a tolerance.", tpr, fpr)
predictive_parity = _ready_made("predictive_parity", "Equal precision, up to a tolerance.", precision)
f1_parity = _ready_made("f1_parity", "Equal F-measure, up to a tolerance.", f1)


@_with_tolerance
def churn_difference(
    baseline: str | Attribute,
    over: Over,
    *,
    tolerance: float,
    compare: Comparison = "rest",
    intersect: bool = False,
    min_support: float = 0,
) -> list[Constraint | ConstraintFamily]:
    """Equal win-loss ratios against a baseline model, up to a tolerance.

    Parameters
    ----------
    baseline
        The attribute, or its name, that holds the other model's predictions.
    over, tolerance, compare, intersect, min_support
        As in `demographic_parity`.

    Returns
    -------
    list
        Constraints, for `Problem` or an estimator.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.churn_difference("old_model", eq.attr("sex"), tolerance=0.1)
    [churn_difference('old_model', sex, tolerance=0.1)]
    """
    metrics = [Metric(win_loss_ratio, (column_name(baseline, "churn_difference"),))]
    return _parity("churn_difference", metrics, over, tolerance, compare, intersect, min_support)


READY_MADE["churn_difference"] = churn_difference
