"""Whole fits of several classes, in fits of scikit-learn's multinomial regression.

In: numbers of classes, rows and features. Out: `Timed`: processor time of `RateClassifier` with its defaults and of
``LogisticRegression()`` on the same made-up rows, on one thread, in turns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import equirate as eq

from ..benchmarks.timing import by_default, cpu_seconds
from .comparison import PARITY
from .data import Rows

SIZES = ((5, 20_000, 20), (10, 50_000, 50))
"""Classes, rows, features."""
PROBLEMS: dict[str, Callable[[], Any]] = {
    "macro-F1": lambda: (eq.maximize(eq.macro_f1()), []),
    "worst recall": lambda: (eq.maximize(eq.worst_recall()), []),
    "error, demographic parity": lambda: (
        eq.minimize(eq.error_rate()),
        list(eq.demographic_parity("group", tolerance=PARITY)),
    ),
}


@dataclass(frozen=True)
class Timed:
    """Medians of a problem: seconds of a whole fit and of one regression."""

    problem: str
    classes: int
    rows: int
    features: int
    seconds: float
    regression: float


def timed(sizes: Sequence[tuple[int, int, int]] = SIZES, repetitions: int = 3) -> list[Timed]:
    """Fit every problem."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

    with by_default(), threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_of_problem(name, made_up(*size), repetitions) for size in sizes for name in PROBLEMS]


def _of_problem(name: str, rows: Rows, repetitions: int) -> Timed:
    from sklearn.linear_model import LogisticRegression

    ours, theirs = [], []
    for _ in range(repetitions):
        clf = eq.RateClassifier(*PROBLEMS[name](), random_state=0)
        ours.append(cpu_seconds(partial(clf.fit, rows.X, rows.y, sensitive_features={"group": rows.group})))
        theirs.append(cpu_seconds(partial(LogisticRegression().fit, rows.X, rows.y)))
    count, width = rows.X.shape
    return Timed(name, rows.n_classes, count, width, float(np.median(ours)), float(np.median(theirs)))


def made_up(classes: int, count: int, width: int, seed: int = 0) -> Rows:
    """Normal features around a mean of each class, and a group that shifts the first one; each class is rarer."""
    rng = np.random.default_rng(seed)
    prior = 0.75 ** np.arange(classes)
    y = rng.choice(classes, count, p=prior / prior.sum())
    group = rng.integers(0, 2, count)
    X = (rng.normal(size=(classes, width)) * np.sqrt(2.5 / width))[y] + rng.normal(size=(count, width))
    X[:, 0] += 0.5 * group
    return Rows(X, y.astype(np.int64), group.astype(np.int64))
