"""Tables of what is kept on new rows: means over splits, with standard errors of paired differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ..experiments.tables import ABSENT, Table
from .people import title
from .runner import COLUMNS, LEVELS, OURS, THEIRS, Result

ASKED = {"affine": 1.3, "convex": 1.3, "ratios": 2.0}
"""How many times as long as before fits may take."""
MOST_SECONDS = 2.0
"""How long ``polish()`` over many columns may take."""
HIGHER = ("F1", "accuracy")
"""Objectives that are better high begin with one of these."""


def make_tables(results: Sequence[Result], other: str = "the other version") -> list[Table]:
    """Every table that there are results for; ``other`` is what the version beside this one is called."""
    made = [_held_out(results, other), _unconstrained(results, other), _monotone(results), _times(results)]
    return [table for table in made if table.rows]


def _held_out(results: Sequence[Result], other: str) -> Table:
    rows, better, worse = [], 0, []
    found = [one for one in results if one["what"] == "held out"]
    for name, problem in _pairs(found, "data", "problem"):
        both = {
            version: _by_split(one for one in found if _is(one, data=name, problem=problem, version=version))
            for version in (OURS, THEIRS)
        }
        cells = [title(name), problem, f"{next(iter(both[OURS].values()))['rows']:,}"]
        kept = True
        for key, sign in (("objective", -1.0 if problem.startswith(HIGHER) else 1.0), ("violation", 1.0)):
            ours, theirs = (np.array([one[f"{key}_new"] for one in both[version].values()]) for version in both)
            if not len(theirs):
                cells += [f"{ours.mean():.4f}", ABSENT, ABSENT]
                continue
            mean, error = _paired(ours - theirs)
            cells += [f"{ours.mean():.4f}", f"{theirs.mean():.4f}", f"{mean:+.4f} ± {error:.4f}"]
            if sign * mean > 5e-5:
                kept = False
                worse.append(f"{title(name)}, {problem}: {key} {mean:+.4f} ± {error:.4f}")
        better += kept
        rows.append(tuple(cells))
    note = (
        "New rows: objective and largest violation (0 where all constraints hold), means over splits; the difference, "
        f"now minus before, with the standard error of its mean over splits. Before: {other}. Both versions: "
        f"default settings, the same rows and seeds. In {better} of {len(rows)} rows neither is worse."
    )
    if worse:
        note += " Worse in the mean: " + "; ".join(worse) + "."
    header = ("data", "problem", "rows", "objective", "before", "difference", "violation", "before", "difference")
    return Table(f"New rows, beside {other}", note, header, tuple(rows))


def _unconstrained(results: Sequence[Result], other: str) -> Table:
    found = [one for one in results if one["what"] == "unconstrained"]
    rows = []
    for (name,) in _pairs(found, "data"):
        ours, theirs = (
            _by_split(one for one in found if _is(one, data=name, version=version)) for version in (OURS, THEIRS)
        )
        errors, plain = (np.array([one[key] for one in ours.values()]) for key in ("error", "logistic"))
        mean, error = _paired(errors - plain)
        before = f"{np.mean([one['error'] for one in theirs.values()]):.4f}" if theirs else ABSENT
        kept = "yes" if mean <= error else "no"
        count = f"{next(iter(ours.values()))['rows']:,}"
        rows.append(
            (
                title(name),
                count,
                f"{errors.mean():.4f}",
                f"{plain.mean():.4f}",
                f"{mean:+.4f} ± {error:.4f}",
                kept,
                before,
            )
        )
    note = (
        "Error on new rows, objective error, with a constraint that does not bind (positive rates within 0.9 of each "
        "other), beside scikit-learn's `LogisticRegression()` on the same features; means over splits, the difference "
        f"with its paired standard error, and whether it is at most that. Before: {other}."
    )
    header = ("data", "rows", "error", "logistic regression", "difference", "not above", "before")
    return Table("Never worse than unconstrained", note, header, tuple(rows))


def _monotone(results: Sequence[Result]) -> Table:
    found = [one for one in results if one["what"] == "monotone"]
    rows = []
    for (name,) in _pairs(found, "data"):
        cells = [title(name)]
        for version in (OURS, THEIRS):
            known = [one for one in found if _is(one, data=name, version=version)]
            for key in ("frontier", "fits"):
                cells.append(f"{max(one[key] for one in known):.4f}" if known else ABSENT)
        rows.append(tuple(cells))
    note = (
        "The largest rise of the error from one tolerance of demographic parity to a looser one "
        f"({', '.join(map(str, LEVELS))}), on the rows given to `fit`, along a frontier and between fits of their own; "
        "one split."
    )
    header = ("data", "frontier", "fits", "frontier, before", "fits, before")
    return Table("Nothing is lost by asking less", note, header, tuple(rows))


def _times(results: Sequence[Result]) -> Table:
    found = {(one["of"], one["version"]): one["seconds"] for one in results if one["what"] == "time"}
    rows = []
    for of in dict.fromkeys(of for of, _ in found):
        ours, theirs = found[of, OURS], found.get((of, THEIRS), math.nan)
        name = f"`polish()`, two ratios, {COLUMNS:,} columns" if of == "polish" else f"`RateClassifier` on Adult, {of}"
        asked = f"{MOST_SECONDS:g} s" if of == "polish" else f"{ASKED[of]:g} times"
        before, ratio = (f"{theirs:.2f}", f"{ours / theirs:.2f}") if math.isfinite(theirs) else (ABSENT, ABSENT)
        rows.append((name, f"{ours:.2f}", before, ratio, asked))
    note = "CPU seconds on one thread, the least of several; versions take turns."
    return Table("Times", note, ("what", "seconds", "before", "ratio", "at most"), tuple(rows))


def _pairs(found: Sequence[Result], *keys: str) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(tuple(one[key] for key in keys) for one in found))


def _is(one: Result, **wanted: str) -> bool:
    return all(one[key] == value for key, value in wanted.items())


def _by_split(found: Iterable[Result]) -> dict[int, Result]:
    return {one["split"]: one for one in sorted(found, key=lambda one: int(one["split"]))}


def _paired(differences: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float]:
    """Mean and standard error of differences."""
    count = len(differences)
    error = float(differences.std(ddof=1) / math.sqrt(count)) if count > 1 else math.nan
    return float(differences.mean()), error
