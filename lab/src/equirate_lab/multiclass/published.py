"""A published task: the H-mean of the classes' recalls, with the proportions of the classes kept.

In: the files and the printed results of "Consistent Multiclass Algorithms for Complex Metrics and Constraints"
(Narasimhan et al. 2024), one number for each of ten splits. Out: `Split`s, ours beside theirs. The task: maximise the
H-mean such that every class's share of the predictions is within 0.01 of its share of the labels, on training rows.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq

from .data import folder, stored

PUBLISHED = ("abalone", "page_blocks", "glass")
"""Data sets with printed results."""
SPLITS = 10
TOLERANCE = 0.01
OURS = "equirate"
METHODS = {
    "tfco_three_player": "TFCO three-player",
    "con_gda": "ConGDA",
    "split_fw": "SplitFW",
    "con_ellipsoid": "ConEllipsoid",
    "fw_unconstrained": "no constraint",
    "logistic": "logistic",
}
"""Printed methods, and what tables call them."""


@dataclass(frozen=True)
class Split:
    """One fit: H-mean and largest deviation of a share, on training and on test rows."""

    data: str
    seed: int
    train_score: float
    train_deviation: float
    test_score: float
    test_deviation: float
    seconds: float


def reproduced(
    names: Sequence[str] = PUBLISHED,
    splits: int = SPLITS,
    data_dir: str | None = None,
    model: Any = "linear",
    tell: Callable[[str], None] = lambda line: None,
) -> list[Split]:
    """Fit the task on every split."""
    made = []
    for name in names:
        for seed in range(splits):
            made.append(fitted(name, seed, data_dir, model))
            tell(f"{name}, split {seed}: H-mean {made[-1].test_score:.3f}, deviation {made[-1].test_deviation:.3f}")
    return made


def fitted(name: str, seed: int, data_dir: str | None = None, model: Any = "linear") -> Split:
    """Fit the task on one split, with the rows that the paper's code took."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    rows = stored(name, data_dir)
    X, new, y, new_y = train_test_split(rows.X, rows.y, test_size=0.3, random_state=seed)
    scaler = StandardScaler().fit(X)
    X, new = scaler.transform(X), scaler.transform(new)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.EquirateWarning)
        clf = eq.RateClassifier(*task(np.unique(y).tolist()), model=model, random_state=0).fit(X, y)
    seconds = time.perf_counter() - begin
    parts = [measured(clf.predict_pmf(part), labels, clf.classes_) for part, labels in ((X, y), (new, new_y))]
    return Split(name, seed, *parts[0], *parts[1], seconds)


def task(classes: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Objective and constraints for some classes."""
    kept = [eq.abs(eq.coverage(k) - eq.base_rate(label=k)) <= TOLERANCE for k in classes]
    return eq.maximize(eq.h_mean()), kept


def measured(pmf: NDArray[Any], y: NDArray[Any], classes: NDArray[Any]) -> tuple[float, float]:
    """H-mean of the recalls and the largest deviation of a share, of the mixture itself."""
    truth = y[:, None] == classes
    recalls = (pmf * truth).sum(axis=0) / np.maximum(truth.sum(axis=0), 1)
    harmonic = float(len(recalls) / np.sum(1 / recalls)) if recalls.min() > 0 else 0.0
    return harmonic, float(np.abs(pmf.mean(axis=0) - truth.mean(axis=0)).max())


def printed(data_dir: str | None = None) -> dict[str, dict[str, dict[str, list[float]]]]:
    """The printed results: data set, method, number, split."""
    text = (folder(data_dir) / "multiclass" / "published.json").read_text("utf-8")
    found: dict[str, dict[str, dict[str, list[float]]]] = json.loads(text)
    return found
