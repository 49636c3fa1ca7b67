"""The trade-off frontier as users see it: its classifiers judged on rows, as a table and as a picture.

In: a `Training`, and levels. Out: `Frontier`, with what each level's classifier achieves on every part
of the data; it prints as a table and draws itself with error bars.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.frames import make_frame
from ..data.sample import Sample
from ..game.classifiers import Classifier
from ..game.status import MIXTURE, SERVED
from ..judge.evaluation import Evaluation
from ..problem.problem import Problem
from ..reports.text import aligned
from ..selection.frontier import choose_for_levels
from ..training.training import Training


@dataclass(frozen=True, eq=False)
class Frontier:
    """The best classifier at each level of the constraints.

    Attributes
    ----------
    levels
        How far every constraint may be overstepped (negative: how much tighter it is) at each point.
    parts
        For train, validation and test: one `Evaluation` per level, judged against the constraints as they were written.
    classifiers
        One classifier per level, for the features as given.
    salts
        The salt of each classifier, if rows repeat and the points are decisions as ``output="hashed"`` serves them;
        empty if the points are mixtures, judged by their expected rates.
    """

    levels: tuple[float, ...]
    parts: Mapping[str, Sequence[Evaluation]]
    classifiers: tuple[Classifier, ...]
    objective: str
    salts: tuple[int, ...] = ()

    @property
    def speaks_of(self) -> str:
        """What the numbers describe: decisions as they are served, or mixtures."""
        return SERVED if self.salts else MIXTURE

    def decided(self, k: int, X: Any, *, sensitive_features: Any = None) -> NDArray[np.float64]:
        """Decisions of the k-th point, row by row: as served if rows repeat, else in expectation."""
        classifier = self.classifiers[k]
        if self.salts:
            return classifier.predict_hashed(X, attributes=sensitive_features, salt=self.salts[k]).astype(float)
        return classifier.expected(X, attributes=sensitive_features)

    def table(self) -> list[dict[str, float]]:
        """One dict of numbers per level."""
        rows = []
        for k, level in enumerate(self.levels):
            row = {"level": level}
            for part, evaluations in self.parts.items():
                e = evaluations[k]
                row |= {f"objective_{part}": e.objective, f"violation_{part}": signed_violation(e)}
            rows.append(row)
        return rows

    def to_frame(self) -> Any:
        """The numbers of `table` as a data frame with a row per level: pandas, or polars or pyarrow without it."""
        rows = self.table()
        return make_frame({name: [row[name] for row in rows] for name in rows[0]})

    def __str__(self) -> str:
        header = ["level", *(f"{what}, {part}" for part in self.parts for what in ("objective", "violation"))]
        rows = [[f"{row['level']:+.4g}", *(f"{v:.4f}" for k, v in row.items() if k != "level")] for row in self.table()]
        return f"{self.objective}\n{aligned([header, *rows])}\nnumbers are of {self.speaks_of}"

    __repr__ = __str__

    def plot(self, ax: Any = None) -> Any:
        """Draw objective against largest violation, with error bars on each part; returns the axes."""
        plt = pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        for part, evaluations in self.parts.items():
            x = [signed_violation(e) for e in evaluations]
            y = [e.objective for e in evaluations]
            worst = [max(e.constraints, key=lambda c: c.violation, default=None) for e in evaluations]
            x_error = _bars([(0.0, 0.0, 0.0) if w is None else (w.low, w.violation, w.high) for w in worst])
            y_error = _bars([(e.low, e.objective, e.high) for e in evaluations])
            bars = {"xerr": x_error, "yerr": y_error} if part == list(self.parts)[-1] else {}
            ax.errorbar(x, y, marker="o", capsize=2, alpha=0.9, label=part, **bars)
        ax.axvline(0.0, color="grey", linewidth=1, linestyle=":")
        ax.set_xlabel("largest violation of the constraints as written")
        ax.set_ylabel(self.objective)
        ax.legend()
        return ax


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that names the extra to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'equirate[plot]'") from None
    return plt


def trace(training: Training, levels: Sequence[float], test: Sample | None) -> Frontier:
    """Choose a classifier for each level, and judge all of them on every part of the data."""
    problem, points = training.problem, choose_for_levels(training, levels)
    served = tuple(training.served(point.classifier) for point in points)
    salts = tuple(point.salt for point in points if point.salt is not None)
    frontier = Frontier(tuple(point.level for point in points), {}, served, repr(problem.objective), salts)
    values = {
        name: tuple(
            Evaluation.of(problem, part.sample.examples, part.decided(point.classifier, point.salt), cells=part.cells)
            for point in points
        )
        for name, part in training.evaluation_parts().items()
    }
    if test is not None:
        columns = test.examples.columns
        decided = [frontier.decided(k, test.X, sensitive_features=columns) for k in range(len(points))]
        values["test"] = tuple(Evaluation.of(problem, test.examples, predictions) for predictions in decided)
    return replace(frontier, parts=values)


def _bars(intervals: list[tuple[float, float, float]]) -> NDArray[np.float64]:
    """Lengths of error bars below and above; none where an end is not finite."""
    low, value, high = np.array(intervals).T
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.maximum([value - low, high - value], 0.0), nan=0.0, posinf=0.0)


def signed_violation(evaluation: Evaluation) -> float:
    """Largest signed violation; negative if every constraint holds with room to spare."""
    return max((c.violation for c in evaluation.constraints), default=0.0)


def plot_history(history: Mapping[str, Any], problem: Problem, axes: Any = None) -> Any:
    """Draw objective, largest violation and the constraints' multipliers over the rounds; returns the three axes."""
    plt = pyplot()
    if axes is None:
        _, axes = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
    count = sum(len(c.split()) for c in problem.plain_constraints)
    rounds, multipliers = history["round"], history["multipliers"][:, 1 : 1 + count]
    series = (history["objective"], history["violation"], multipliers.sum(axis=1))
    labels = (repr(problem.objective), "largest violation", "sum of the constraints' multipliers")
    for ax, values, label in zip(axes, series, labels, strict=True):
        ax.plot(rounds, values, linewidth=0.8, alpha=0.7)
        ax.set_xlabel("round")
        ax.set_ylabel(label)
    return axes
