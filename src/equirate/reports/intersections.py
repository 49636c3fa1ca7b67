"""Gaps between combinations of attributes that a problem constrains one by one.

In: a problem as the user wrote it, examples and predictions. Out: a note for each ready-made constraint over several
attributes that does not compare their combinations, where those differ by more than its tolerance.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError, UndefinedRateWarning
from ..data.examples import Examples
from ..data.groups import Groups
from ..data.slices import EVERYBODY, Slice
from ..judge.audit import SMALLEST
from ..language.measuring import Measure, measurer
from ..language.parity import ConstraintFamily, Metric
from ..problem.problem import Problem

Array = NDArray[np.float64]


def intersection_notes(problem: Problem, examples: Examples, predictions: Array) -> list[str]:
    """Name the largest gap between combinations, for each family of constraints that leaves them out."""
    families = [part for part in problem.constraints if isinstance(part, ConstraintFamily)]
    left_out = [family for family in families if len(family.attributes) > 1 and not family.intersect]
    measure = measurer(examples, predictions) if left_out else None
    notes = [_note(family, examples, measure) for family in left_out if measure is not None]
    return [note for note in notes if note]


def _note(family: ConstraintFamily, examples: Examples, measure: Measure) -> str:
    """The largest gap of a family, in words; empty where it is within the tolerance."""
    known = Groups.of(family.attributes, examples)
    counts = known.support(share=False)
    groups = {known.slice(k): int(count) for k, count in enumerate(counts) if count >= SMALLEST}
    largest, text = family.tolerance, ""
    for metric in family.metrics:
        values = dict(_measured(metric, groups, measure))
        if len(values) < 2:
            continue
        low, high = min(values, key=lambda group: values[group]), max(values, key=lambda group: values[group])
        if values[high] - values[low] > largest:
            largest = values[high] - values[low]
            ends = [f"{values[group]:.4f} for {group!r} ({groups[group]:,} examples)" for group in (low, high)]
            text = f"{metric(EVERYBODY)!r} differs by up to {largest:.4f}: {ends[0]}, {ends[1]}"
    if not text:
        return ""
    return (
        f"{family!r} compares the values of each attribute by itself. Between combinations of them, {text}. "
        "intersect=True compares the combinations"
    )


def _measured(metric: Metric, groups: dict[Slice, int], measure: Measure) -> Iterator[tuple[Slice, float]]:
    """The metric of every group in which it is defined."""
    for group in groups:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UndefinedRateWarning)
            try:
                yield group, float(metric(group).value(measure))
            except (DataError, UndefinedRateWarning):
                continue
