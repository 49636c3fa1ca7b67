r"""Audit predictions of any classifier: every rate in every group and pair of groups, compared with everybody else.

In: labels, predictions and attributes, 0/1 or codes of several classes, each of which is then compared with the rest.
Out: an `Audit`, whose findings are sorted by how far the difference between
a group and everybody else is from chance. Nothing is trained.

All rates here are proportions :math:`a/b` of counts (F1 is one through the Jaccard index J: :math:`2J/(1+J)` rises
with it), so their intervals are Wilson's, with Kish's effective number of examples where there are weights; the
interval of a difference of two independent proportions is Newcombe's hybrid of the two. With m differences in all,
each interval has the level :math:`1 - (1 - \text{confidence})/m` (Bonferroni): all of them hold at once with the
given confidence.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .._core.errors import DataError
from .._core.listing import listed
from .._core.percent import percent
from ..data.slices import Slice, attr
from .certify import check_confidence

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Interval = tuple[float, float]

SMALLEST = 30
"""Fewest examples of a rate that is audited."""
_MANY = 10  # a numeric attribute with more values than this is cut into quarters
_MOST = 100  # values of an attribute


@dataclass(frozen=True)
class AuditedRate:
    """A rate as a proportion: among which examples, which of them count, and how the proportion becomes its value."""

    among: Callable[[Mask, Mask], Mask]
    counted: Callable[[Mask, Mask], Mask]
    value: Callable[[float], float] = float


def _f1(jaccard: float) -> float:
    return 2 * jaccard / (1 + jaccard)


RATES = {
    "positive_rate": AuditedRate(lambda y, p: np.ones_like(y), lambda y, p: p),
    "error_rate": AuditedRate(lambda y, p: np.ones(len(y), dtype=bool), lambda y, p: y != p),
    "tpr": AuditedRate(lambda y, p: y, lambda y, p: p),
    "fpr": AuditedRate(lambda y, p: ~y, lambda y, p: p),
    "precision": AuditedRate(lambda y, p: p, lambda y, p: y),
    "npv": AuditedRate(lambda y, p: ~p, lambda y, p: ~y),
    "f1": AuditedRate(lambda y, p: y | p, lambda y, p: y & p, _f1),
}
"""The rates that are audited; negative_rate, accuracy, fnr and tnr are one minus one of them."""


class Look(NamedTuple):
    """A rate to look at, with the labels and predictions that it is of: codes, or one class against the rest."""

    rate: AuditedRate
    y: NDArray[Any]
    p: NDArray[Any]


def looks(
    y: NDArray[Any], p: NDArray[Any], classes: Sequence[Any] | None = None, labels: Sequence[Any] | None = None
) -> dict[str, Look]:
    """The rates to look at, by their text: of several classes the error rate, and those of each one of ``labels``."""
    if classes is None:
        return {name: Look(rate, y, p) for name, rate in RATES.items()}
    by_name = {"error_rate": Look(RATES["error_rate"], y, p)}
    for value in classes if labels is None else labels:
        code = list(classes).index(value)
        labelled, predicted = y == code, p == code
        by_class = {name: rate for name, rate in RATES.items() if name not in by_name}
        by_name |= {f"{name}(label={value!r})": Look(rate, labelled, predicted) for name, rate in by_class.items()}
    return by_name


@dataclass(frozen=True)
class Finding:
    """One rate in one group, and in everybody else.

    ``difference`` is the group's rate minus the others'; ``low`` and ``high`` bound it for all findings at once.
    ``clear`` says that the bounds are on one side of 0.
    """

    rate: str
    group: str
    examples: int
    value: float
    others: float
    difference: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the difference is more than chance."""
        return self.low > 0 or self.high < 0

    @property
    def sure(self) -> float:
        """The smallest absolute difference inside the interval; 0 if the interval contains 0."""
        return max(self.low, -self.high, 0.0)


@dataclass(frozen=True, repr=False)
class Audit:
    """The findings of an audit, the largest differences first; it prints as a table."""

    findings: tuple[Finding, ...]
    overall: dict[str, tuple[float, float, float]]
    left_out: tuple[tuple[str, int], ...]
    examples: int
    confidence: float
    smallest: int

    @property
    def looked_at(self) -> int:
        """How many differences were examined, for which every interval is corrected."""
        return len(self.findings)

    def text(self, most: int = 20, rest: str = "findings has all") -> str:
        """Write the first findings as a table.

        Parameters
        ----------
        most
            How many findings to show.
        rest
            Where the others are to be had.

        Returns
        -------
        str
            The table, with what was left out below it.
        """
        clear = sum(finding.clear for finding in self.findings)
        lines = [
            f"{clear} of {self.looked_at} differences between a group and everybody else are more than chance "
            f"({percent(self.confidence)} confidence in all of them at once).",
            "",
            "overall: " + ", ".join(f"{rate} {value:.3f}" for rate, (value, _, _) in self.overall.items()),
            "",
        ]
        if self.findings:
            rows = [("rate", "group", "others", "difference", "interval", "")]
            for each in self.findings[:most]:
                interval = f"[{each.low:+.3f}, {each.high:+.3f}]"
                group = f"{each.value:.3f}"
                rows.append((each.rate, group, f"{each.others:.3f}", f"{each.difference:+.3f}", interval, each.group))
            widths = [max(len(row[k]) for row in rows) for k in range(5)]
            for row in rows:
                cells = [row[0].ljust(widths[0]), *(row[k].rjust(widths[k]) for k in range(1, 5)), row[5]]
                lines.append("  ".join(cells).rstrip())
            if len(self.findings) > most:
                lines.append(f"... and {len(self.findings) - most} more ({rest})")
        if self.left_out:
            groups = listed([f"{group} ({count})" for group, count in self.left_out])
            lines += ["", f"left out, with fewer than {self.smallest} examples behind them: {groups}"]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "examples": self.examples,
            "confidence": self.confidence,
            "looked_at": self.looked_at,
            "clear": sum(finding.clear for finding in self.findings),
            "overall": {
                name: dict(zip(("value", "low", "high"), row, strict=True)) for name, row in self.overall.items()
            },
            "findings": [{**asdict(finding), "clear": finding.clear} for finding in self.findings],
            "left_out": [{"group": group, "examples": count} for group, count in self.left_out],
            "smallest": self.smallest,
        }


def audit(
    labels: NDArray[Any],
    predictions: NDArray[Any],
    *,
    attributes: Mapping[str, NDArray[Any]],
    sample_weight: NDArray[Any] | None = None,
    confidence: float = 0.95,
    smallest: int = SMALLEST,
    classes: Sequence[Any] | None = None,
    among: Sequence[Any] | None = None,
) -> Audit:
    """Compare every rate in every group, and in every pair of groups, with everybody else's.

    Parameters
    ----------
    labels, predictions
        0/1 or False/True; codes where there are ``classes``.
    attributes
        Columns whose values make the groups; numbers with many values are cut into quarters.
    sample_weight
        Non-negative weights.
    confidence
        With which all intervals hold at once.
    smallest
        Fewest examples behind a rate; groups with less are left out, and named.
    classes
        The classes that codes stand for, where there are more than two.
    among
        The classes to look at; all by default.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["Female", "Male"], 2000)
    >>> y = rng.random(2000) < 0.4
    >>> p = np.where(sex == "Male", y, rng.random(2000) < 0.2)
    >>> result = audit(y, p, attributes={"sex": sex})
    >>> result.findings[0].rate, result.findings[0].clear, result.looked_at
    ('tpr', True, 7)
    """
    check_confidence(confidence)
    y, p = np.asarray(labels), np.asarray(predictions)
    if classes is None:
        y, p = y.astype(bool), p.astype(bool)
    looked = looks(y, p, classes, among)
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    kept, left_out = _cells(_groups(attributes), looked, weights, smallest)
    z = float(ndtri(1 - (1 - confidence) / (2 * max(len(kept), 1))))
    findings = []
    for rate, group, inside in kept:
        own, others = (_measured(looked[rate], weights, rows, z) for rows in (inside, ~inside))
        low, high = newcombe(own, others)
        size = int(np.count_nonzero(inside))
        findings.append(Finding(rate, group, size, own[0], others[0], own[0] - others[0], low, high))
    findings.sort(key=lambda finding: (-finding.sure, -abs(finding.difference), finding.rate, finding.group))
    plain, everybody = float(ndtri(0.5 + confidence / 2)), np.ones(len(y), dtype=bool)
    overall = {rate: _measured(look, weights, everybody, plain) for rate, look in looked.items()}
    return Audit(tuple(findings), overall, tuple(left_out), len(y), confidence, smallest)


def _groups(attributes: Mapping[str, NDArray[Any]]) -> Iterator[tuple[Slice, Mask]]:
    """Every value of every attribute, and every pair of values of two attributes."""
    single = {name: list(_values(name, column)) for name, column in attributes.items()}
    for groups in single.values():
        yield from groups[:1] if len(groups) == 2 else groups  # with two groups, one comparison is enough
    for first, second in itertools.combinations(single.values(), 2):
        for (left, left_mask), (right, right_mask) in itertools.product(first, second):
            yield left & right, left_mask & right_mask


def _values(name: str, column: NDArray[Any]) -> Iterator[tuple[Slice, Mask]]:
    values = np.unique(column)
    if len(values) < 2:
        raise DataError(f"the attribute {name!r} has one value only, {values[0].item()!r}: nobody to compare with")
    if column.dtype.kind in "iuf" and len(values) > _MANY:
        if np.isnan(column.astype(float)).any():
            raise DataError(f"the attribute {name!r} has missing values: fill them or drop those rows")
        edges = np.unique(np.quantile(column, [0.25, 0.5, 0.75]))
        for low, high in itertools.pairwise([-np.inf, *edges, np.inf]):
            above, below = attr(name) >= float(low), attr(name) < float(high)
            slice_ = below if low == -np.inf else above if high == np.inf else above & below
            yield slice_, (column >= low) & (column < high)
        return
    if len(values) > _MOST:
        raise DataError(f"the attribute {name!r} has {len(values):,} values, more than {_MOST}: group them first")
    for value in values:
        yield attr(name) == value.item(), column == value


def _cells(
    groups: Iterator[tuple[Slice, Mask]], looked: Mapping[str, Look], weights: Array, smallest: int
) -> tuple[list[tuple[str, str, Mask]], list[tuple[str, int]]]:
    """The rates with enough examples inside and outside the group; and what was left out, with its size."""
    kept: list[tuple[str, str, Mask]] = []
    left_out: list[tuple[str, int]] = []
    counts = weights > 0
    for slice_, inside in groups:
        size = int(np.count_nonzero(inside & counts))
        if size < smallest:
            if size:
                left_out.append((repr(slice_), size))
            continue
        for rate, (share, y, p) in looked.items():
            among = share.among(y, p) & counts
            n_inside, n_outside = (int(np.count_nonzero(among & rows)) for rows in (inside, ~inside))
            if min(n_inside, n_outside) >= smallest:
                kept.append((rate, repr(slice_), inside))
            else:
                left_out.append((_within(rate, slice_), min(n_inside, n_outside)))
    return kept, left_out


def _within(rate: str, slice_: Slice) -> str:
    """A rate on a slice, as the language writes it."""
    name, bracket, label = rate.partition("(")
    return f"{name}({slice_!r}, {label}" if bracket else f"{name}({slice_!r})"


def _measured(look: Look, weights: Array, rows: Mask, z: float) -> tuple[float, float, float]:
    """A rate among the examples of a mask, and its interval."""
    share, y, p = look
    among = share.among(y, p) & rows
    inside = weights[among]
    total = inside.sum()
    if not total > 0:
        return float("nan"), float("nan"), float("nan")
    value = float(inside[share.counted(y, p)[among]].sum() / total)
    low, high = wilson(value, float(total**2 / (inside**2).sum()), z)
    return share.value(value), share.value(low), share.value(high)


def wilson(share: float, n: float, z: float) -> Interval:
    """Wilson's interval of a proportion among n examples: the shares that are at most z standard errors away.

    Examples
    --------
    >>> tuple(round(end, 4) for end in wilson(0.5, 100, 1.96))
    (0.4038, 0.5962)
    """
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)))
    return max(min(middle - reach, share), 0.0), min(max(middle + reach, share), 1.0)


def newcombe(first: tuple[float, float, float], second: tuple[float, float, float]) -> Interval:
    """Newcombe's interval of a difference, from two independent values with their intervals: (value, low, high)."""
    difference = first[0] - second[0]
    down = float(np.hypot(first[0] - first[1], second[2] - second[0]))
    up = float(np.hypot(first[2] - first[0], second[0] - second[1]))
    return difference - down, difference + up
