"""`Monitor`: follows the constraints of a problem on rows that arrive after the fit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.errors import DataError, EquirateError
from ..data.alignment import check_indexes
from ..data.arrays import missing_values, one_dimensional, same_length, to_numpy
from ..data.attributes import fill_missing
from ..data.examples import Examples
from ..data.labels import BINARY, binary, codes_of, codes_of_predictions, label_classes, plain
from ..judge.border import constraints_in
from ..judge.certify import check_confidence
from ..language.expressions import Constraint, number
from ..language.parity import ConstraintFamily
from ..problem.problem import Objective, Problem
from .following import Alarm, ConstraintStatus, Follower

if TYPE_CHECKING:
    from pathlib import Path

Labels = tuple[Any, ...]
"""The negative and the positive label; of more than two classes, all of them."""


@dataclass(frozen=True)
class MonitorSource:
    """A file whose rows were counted, by its content: the command line counts no file twice."""

    name: str
    sha256: str
    rows: int
    late: bool = False


class Monitor:
    """Follow constraints on new rows: kept, broken (an alarm) or cannot tell yet, at any time.

    Bounds are anytime-valid: with a chance of ``confidence`` all bounds of all constraints hold at all times together,
    however often one looks. So the chance that a constraint that is kept ever raises an alarm is at most 1 -
    confidence, over the whole life of the monitor. Rows must be independent of each other: of several rows of one
    person, give one.

    Parameters
    ----------
    problem_or_fitted
        A `Problem`, a constraint or a list of them, or anything fitted that has one: `RateClassifier`,
        `RatePostprocessor`, `Classifier`. Ready-made constraints over an attribute are those of the groups that the
        classifier was fitted on; without one, of the groups among the first rows.
    confidence
        Of all bounds together.
    floor
        Follow the objective, too: the least value of one that is maximised, the largest of one that is minimised.
    classes
        All labels, where they are not 0 and 1 and nothing that is fitted tells them; of two, the second is positive.

    Examples
    --------
    >>> import numpy as np
    >>> import equirate as eq
    >>> monitor = eq.Monitor([eq.positive_rate() <= 0.3, eq.recall() >= 0.5])
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.2
    >>> monitor = monitor.update(np.where(rng.random(2000) < 0.7, y, ~y), y)
    >>> for line in monitor.status():
    ...     print(line.verdict, line.constraint)
    broken positive_rate() <= 0.3
    kept recall() >= 0.5
    >>> print(monitor.alarms[0].constraint)
    positive_rate() <= 0.3
    """

    def __init__(
        self,
        problem_or_fitted: Any,
        confidence: float = 0.95,
        *,
        floor: float | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        check_confidence(confidence)
        problem, self.labels = problem_or_fitted, _labels_of(problem_or_fitted)
        if classes is not None:
            self.labels = _classes_given(classes, self.labels)
        for name in ("problem_", "problem"):
            problem = getattr(problem_or_fitted, name, None) or problem
        self.fills = getattr(problem_or_fitted, "missing", "refuse") == "group"
        asked = list(_constraints(problem))
        if floor is not None:
            asked.append(_above_floor(problem, floor))
        if not asked:
            raise EquirateError("there is nothing to follow: give a constraint, or a floor of the objective")
        self.confidence = float(confidence)
        self.rows = 0
        self.model: str | None = None
        self.sources: list[MonitorSource] = []
        self._families = asked if any(isinstance(each, ConstraintFamily) for each in asked) else []
        self.followers = [] if self._families else self._new_followers([c for c in asked if isinstance(c, Constraint)])

    def _new_followers(self, constraints: list[Constraint]) -> list[Follower]:
        """Followers, each with an equal share of the error probability."""
        alpha = (1 - self.confidence) / len(constraints)
        labels = BINARY if self.labels is None else self.labels
        named = [rate for each in constraints for rate in each.residual.rates() if rate.label not in (None, *labels)]
        if named and self.labels is None:
            raise DataError(f"{named[0]!r} names a class: give all labels, as in Monitor(..., classes=[...])")
        written = [constraint.in_classes(labels) for constraint in constraints]
        return [Follower(constraint, alpha, classes=len(labels)) for constraint in written]

    @property
    def _many(self) -> Labels | None:
        """The classes, where there are more than two."""
        return self.labels if self.labels is not None and len(self.labels) > 2 else None

    @property
    def constraints(self) -> list[Constraint]:
        """The monitored constraints; the objective with its floor is the last."""
        return [follower.constraint for follower in self.followers]

    @property
    def alarms(self) -> list[Alarm]:
        """Constraints that were shown to be broken, in the order of the constraints; an alarm stays."""
        return [follower.alarm for follower in self.followers if follower.alarm is not None]

    def update(
        self,
        y_pred: ArrayLike,
        y: ArrayLike | None = None,
        *,
        attributes: Any = None,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        late: bool = False,
    ) -> Self:
        """Count new rows, however many, in the order in which they were decided.

        Parameters
        ----------
        y_pred
            Decisions as they were served, not probabilities: 0 and 1, or labels of the classifier or of ``classes``.
        y
            Labels; None or NaN where a label is not known (yet). Constraints that need a label count the rows that have
            one, others count all rows.
        attributes
            Columns that slices and baselines name: data frame, dict of arrays, series or array.
        sample_weight
            0 leaves a row out; all others must be equal, since a weighted sum is not a count.
        clusters
            The person, or other unit, that each row belongs to. The bounds need independent rows: a unit with several
            rows is refused.
        late
            The rows were counted before, without labels: only constraints that need a label count them now.

        Returns
        -------
        Monitor
            The monitor itself.
        """
        if late and y is None:
            raise DataError("late=True brings labels of rows that were counted before: give y")
        check_indexes({"y_pred": y_pred, "y": y, "attributes": attributes, "sample_weight": sample_weight})
        predicted, labels, known = self._decisions(y_pred, y)
        if not len(predicted):
            return self
        if clusters is not None:
            units = np.asarray(clusters)
            if units.shape != (len(predicted),):
                raise DataError(
                    f"clusters has the shape {units.shape}: give one value for each of {len(predicted)} rows"
                )
            refuse_repeated(units.astype(str))
        examples = self._examples(labels, attributes)
        counted = _counted(sample_weight, len(predicted))
        followers = self.followers or self._new_followers(constraints_in(self._families, examples))
        marked = {}
        for follower in followers:
            if not (late and not follower.needs_label):
                use = counted & known if follower.needs_label else counted
                marks = [one.mark(examples, predicted) for one in follower.proportions]
                marked[follower] = [(trials[use], successes[use]) for trials, successes in marks], int(use.sum())
        self.followers, self._families = followers, []
        for follower, (marks, length) in marked.items():  # nothing is counted unless everything can be
            follower.add(marks, length)
        self.rows += 0 if late else int(counted.sum())
        return self

    def status(self) -> list[ConstraintStatus]:
        """One entry for each constraint: verdict, estimate and bounds of the violation, rows, and how many more.

        Returns
        -------
        list of ConstraintStatus
            In the order of the constraints.
        """
        return [follower.status() for follower in self.followers]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the monitor to a small plain file, atomically.

        Parameters
        ----------
        path
            The file to write.
        """
        from .saving import write

        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Monitor:
        """Open a monitor that was saved. Nothing in the file is executed; an inconsistent file is an error.

        Parameters
        ----------
        path
            A file that `save` wrote.

        Returns
        -------
        Monitor
            The monitor, which continues where it was saved.
        """
        from .saving import read

        return read(path)

    def to_html(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """Draw the bounds over time as one self-contained page, and return its path.

        Parameters
        ----------
        path
            The file to write.
        title
            The title of the page; by default ``"Are the constraints still kept?"``.

        Returns
        -------
        pathlib.Path
            The file that was written.
        """
        from .page import write_page

        return write_page(self, path, title)

    def __str__(self) -> str:
        return "\n".join(map(str, self.status()))

    def __repr__(self) -> str:
        return f"<Monitor: {len(self.followers)} constraints, {self.rows:,} rows, {len(self.alarms)} alarms>"

    def _examples(self, labels: NDArray[Any], attributes: Any) -> Examples:
        """Labels and attributes; missing ones and baselines are read as the fitted classifier does."""
        if self._many is not None:
            values = np.array(self._many)[labels]
            examples = Examples.of(values, attributes, compared=True, classes=self._many)
            return examples.with_columns(fill_missing(examples.columns)) if self.fills else examples
        examples = Examples.of(labels, attributes, compared=True)
        columns = dict(fill_missing(examples.columns) if self.fills else examples.columns)
        baselines = {one.baseline for follower in self.followers for one in follower.proportions}
        for name in columns.keys() & baselines:
            codes = codes_of_predictions(columns[name], self.labels or BINARY, f"the baseline {name!r}")
            columns[name] = columns[name] if codes is None else codes
        return examples.with_columns(columns)

    def _decisions(self, y_pred: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
        """Decisions and labels as 0 and 1 or codes of classes, and which labels are known (the others are 0)."""
        decided = one_dimensional(to_numpy(y_pred), "y_pred")
        if decided.dtype.kind == "f" and len(decided) and self.labels is None:
            inside = decided[(decided > 0) & (decided < 1)]
            if len(inside):
                raise DataError(
                    f"y_pred must hold decisions as they were served, 0 and 1; got {inside[0]:.6g}: give what predict "
                    "returns, not probabilities"
                )
        predicted = self._coded(decided, "y_pred")
        if y is None:
            return predicted, np.zeros_like(predicted), np.zeros(len(predicted), dtype=bool)
        given = one_dimensional(to_numpy(y), "y")
        if len(given) != len(predicted):
            raise DataError(
                f"y has {len(given)} values, but y_pred has {len(predicted)}: they must describe the same rows"
            )
        missing = missing_values(given)
        labels = np.zeros_like(predicted)
        labels[~missing] = self._coded(given[~missing], "y")
        return predicted, labels, ~missing

    def _coded(self, values: NDArray[Any], name: str) -> NDArray[Any]:
        if not len(values):
            return np.zeros(0, np.int8 if self._many is None else np.intp)
        if self._many is not None:
            return codes_of(values, self._many, name).astype(np.intp)
        if self.labels is None:
            if values.dtype == object:
                values = np.array(values.tolist())
            return binary(values, name)
        negative, positive = self.labels
        is_positive = np.asarray(values == positive)
        unknown = values[~(is_positive | np.asarray(values == negative))]
        if len(unknown):
            raise DataError(
                f"{name} holds {plain(unknown[0])!r}, which is no label of the classifier: they are {negative!r} and "
                f"{positive!r}"
            )
        return is_positive.astype(np.int8)


def _labels_of(fitted: Any) -> Labels | None:
    """The labels of a fitted estimator."""
    classes = getattr(fitted, "classes_", None)
    if classes is None:
        return None
    if len(classes) > 2:
        return tuple(map(plain, classes))
    given = getattr(fitted, "pos_label", None)
    positive = classes[1] if given is None else given
    negative = classes[0] if classes[1] == positive else classes[1]
    return plain(negative), plain(positive)


def _classes_given(classes: Sequence[Any], known: Labels | None) -> Labels:
    """Classes as users give them, more than two in order; refuses others than those of a fitted classifier."""
    if isinstance(classes, str) or np.ndim(classes) != 1 or len(classes) < 2:
        raise DataError(f"classes must be a list of all labels; got {classes!r}")
    labels: Labels = label_classes(np.asarray(classes), "classes")
    if len(labels) != len(classes):
        raise DataError(f"classes must be a list of different labels; got {classes!r}")
    if len(labels) == 2:
        labels = tuple(map(plain, classes))
    if known is not None and labels != known:
        raise DataError(f"classes are those of the fitted classifier, {known!r}; got {classes!r}: leave them out")
    return labels


def _constraints(given: Any) -> Iterable[Constraint | ConstraintFamily]:
    """The constraints of a problem, a list, or a single constraint."""
    if isinstance(given, (Constraint, ConstraintFamily)):
        yield given
    elif isinstance(given, Problem):
        yield from given.constraints
    elif isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        yield from (part for each in given for part in _constraints(each))
    else:
        raise TypeError(f"a Monitor takes a problem, constraints or a fitted classifier; got {given!r}")


def _above_floor(problem: Any, floor: float) -> Constraint:
    objective = getattr(problem, "objective", None)
    if not isinstance(objective, Objective):
        raise EquirateError("floor is about the objective, and there is none: give a problem or a fitted classifier")
    limit = number(floor, "a number for floor")
    return objective.expr >= limit if objective.sense == "maximize" else objective.expr <= limit


def refuse_repeated(clusters: NDArray[Any], where: str = "") -> None:
    """Raise an error for clusters of several rows, which are not independent; the message begins with ``where``."""
    values, counts = np.unique(clusters, return_counts=True)
    several = int((counts > 1).sum())
    if several:
        worst = counts.argmax()
        raise DataError(
            f"{where}{several:,} of {len(counts):,} clusters have several rows, such as {str(values[worst])!r} with "
            f"{counts[worst]}, and a monitor counts independent rows: give one row of each, over all calls together"
        )


def _counted(sample_weight: ArrayLike | None, length: int) -> NDArray[np.bool_]:
    """Which rows count; refuses weights that differ."""
    if sample_weight is None:
        return np.ones(length, dtype=bool)
    weights = np.asarray(to_numpy(sample_weight), dtype=float).reshape(-1)
    same_length(weights, length, "sample_weight")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("sample_weight must hold numbers that are not negative, none of them missing")
    positive = weights > 0
    if len(set(weights[positive].tolist())) > 1:
        raise EquirateError(
            "a Monitor counts rows, and a weighted sum is not a count: leave sample_weight out, or give 0 and one "
            "other weight; certify(method='approximate') takes weights"
        )
    return positive
