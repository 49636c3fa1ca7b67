"""Tables of what was measured with several classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..experiments.tables import Table
from .chance import ByChance
from .columns import Proven
from .comparison import ARGMAX, OURS, PROBLEMS, SHIFT, WAYS, Measured
from .published import METHODS, Split, printed
from .times import Timed

_NONE = "–"


def published_table(splits: Sequence[Split], data_dir: str | None = None) -> Table:
    """The H-mean task, ours beside the printed methods."""
    theirs, rows = printed(data_dir), []
    for name in dict.fromkeys(each.data for each in splits):
        ours = [each for each in splits if each.data == name]
        cells = [_pair([each.test_score for each in ours], [each.test_deviation for each in ours])]
        seeds = [each.seed for each in ours]
        for method in METHODS:
            values = theirs[name][method]
            cells.append(_pair(*([values[key][k] for k in seeds] for key in ("test_scores", "test_cons"))))
        seconds = f"{np.mean([each.seconds for each in ours]):.1f} s"
        rows.append((name.replace("_", "-"), str(len(ours)), *cells, seconds))
    note = (
        "H-mean of the classes' recalls on test rows, and in brackets the largest difference between a class's share "
        "of the predictions and of the labels there; 0.01 was asked for on training rows. Means over the splits of the "
        "paper; the numbers of the others are those it printed. equirate: the linear model with its default settings."
    )
    header = ("data", "splits", "equirate", *METHODS.values(), "fit")
    return Table("H-mean with the proportions of the classes kept", note, header, tuple(rows))


def _pair(scores: Sequence[float], deviations: Sequence[float]) -> str:
    return f"{_number(np.mean(scores))} ({_number(np.mean(deviations))})"


def comparison_tables(found: Sequence[Measured]) -> list[Table]:
    """Gains over both rules: means over data sets and splits, then data set by data set."""
    models = list(dict.fromkeys(each.model for each in found))
    return [_means(found, models), *(_by_data([each for each in found if each.model == m], m) for m in models)]


def _means(found: Sequence[Measured], models: Sequence[str]) -> Table:
    rows = []
    for problem in PROBLEMS:
        for model in models:
            some = [each for each in found if each.problem == problem.name and each.model == model]
            if not some:
                continue
            cells = [f"{_signed(_mean_gain(some, over))}" for over in (ARGMAX, SHIFT)]
            kept = [_number(np.mean([each.violations[way] for each in some])) for way in WAYS]
            ours = _number(np.mean([each.scores[OURS] for each in some]))
            rows.append((problem.name, model, str(len(some)), ours, *cells, *kept))
    header = (
        "problem",
        "model",
        "fits",
        "equirate",
        "over argmax",
        "over tuned shift",
        *(f"violation, {w}" for w in WAYS),
    )
    note = (
        "New rows: the mean score of equirate, its gain over the largest probability and over a tuned shift of the "
        "prior (positive is better, also where smaller is better), and the mean largest violation of the constraints."
    )
    return Table("Several classes: gains over simpler rules", note, header, tuple(rows))


def _by_data(found: Sequence[Measured], model: str) -> Table:
    names = list(dict.fromkeys(each.data for each in found))
    known = [p.name for p in PROBLEMS if any(each.problem == p.name for each in found)]
    rows = []
    for name in names:
        cells = []
        for problem in known:
            some = [each for each in found if each.data == name and each.problem == problem]
            cells.append(
                _NONE if not some else f"{_signed(_mean_gain(some, ARGMAX))} / {_signed(_mean_gain(some, SHIFT))}"
            )
        rows.append((name.replace("_", "-"), *cells))
    note = "Gains of equirate over the largest probability / over a tuned shift, by data set: means over splits."
    return Table(f"Several classes, by data set: {model}", note, ("data", *known), tuple(rows))


def proven_table(found: Sequence[Proven]) -> Table:
    """Macro-F1 over columns."""
    rows = [
        (
            each.data.replace("_", "-"),
            str(each.classes),
            _number(each.value),
            _NONE if each.gap is None else f"{each.gap:.5f}",
            f"{each.seconds:.1f}",
        )
        for each in found
    ]
    note = (
        "The best mixture of 160 plug-in rules for macro-F1: its value, how far the proven bound is from it, seconds."
    )
    return Table("Macro-F1 over 160 columns", note, ("data", "classes", "macro-F1", "gap", "seconds"), tuple(rows))


def chance_table(found: Sequence[ByChance]) -> Table:
    """Violations of coverage by chance."""
    rows = [
        (
            each.data.replace("_", "-"),
            str(each.classes),
            f"{each.new_rows:,}",
            _number(each.centred),
            _number(each.at_limits),
        )
        for each in found
    ]
    centred, at_limits = (np.mean([getattr(each, name) for each in found]) for name in ("centred", "at_limits"))
    rows.append(("mean", "", "", _number(centred), _number(at_limits)))
    note = (
        "Mean largest violation of the coverage constraints on new rows of a classifier that keeps them in the "
        "population: with the shares of the training labels exactly, and with shares at the limits."
    )
    return Table(
        "Coverage: violations by chance", note, ("data", "classes", "new rows", "exact", "at the limits"), tuple(rows)
    )


def times_table(found: Sequence[Timed]) -> Table:
    """Whole fits in fits of a regression."""
    rows = [
        (
            each.problem,
            f"{each.classes} classes, {each.rows:,} rows, {each.features} features",
            f"{each.seconds:.2f}",
            f"{each.regression:.2f}",
            f"{each.seconds / each.regression:.1f}",
        )
        for each in found
    ]
    note = (
        "Seconds of processor time on one thread, medians of three: a whole fit of the linear model, one "
        "`LogisticRegression()` of scikit-learn on the same made-up rows, and the ratio."
    )
    return Table("Time of a whole fit", note, ("problem", "data", "fit", "one regression", "ratio"), tuple(rows))


def _mean_gain(some: Sequence[Measured], over: str) -> float:
    return float(np.mean([each.gain(over) for each in some]))


def _number(value: Any) -> str:
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("0.", ".", 1)
