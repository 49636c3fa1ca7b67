"""Displays in scikit-learn's way, on matplotlib: rates by group with intervals, and a trade-off frontier.

In: a fitted estimator and data, predictions, or a `Frontier`. Out: a display, which holds the numbers, and draws them
with `plot`. Needs the extra ``plot``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.errors import DataError, EquirateError
from ..data.arrays import one_dimensional, refuse_missing, to_numpy
from ..data.attributes import columns_of
from ..data.examples import Examples
from ..data.groups import Groups
from ..data.labels import codes_of, positive_label
from ..data.slices import EVERYBODY
from ..language.parity import attributes_in
from ..reports.facts import SHOWN, RateName, RateValue, measured_rate
from .attributes import named
from .frontier import Frontier, pyplot
from .predictions import decided, served
from .reporting import as_probabilities, shown_label

Array = NDArray[np.float64]

RATES = ("positive_rate", "tpr", "fpr")
"""The rates that are shown by default: those of demographic parity and of equalized odds."""


class RateDisplay:
    """Rates of groups with their intervals.

    Use `from_estimator` or `from_predictions` to make one.

    Parameters
    ----------
    rates
        A `RateValue` for each rate and group: ``rate``, ``slice``, ``value``, ``low`` and ``high``.
    positive_label
        The label that counts as positive, as text.
    estimator_name
        A name for the legend.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure, after `plot`.
    containers_
        The error bars, one container for each rate.

    Examples
    --------
    >>> import numpy as np, equirate as eq
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(2, size=300), rng.choice(["F", "M"], 300)
    >>> shown = eq.RateDisplay.from_predictions(y, y, sensitive_features={"sex": sex})
    >>> [rate.slice for rate in shown.rates][:3]
    ['everybody', "sex == 'F'", "sex == 'M'"]
    """

    def __init__(
        self, rates: Sequence[RateValue], *, positive_label: str = "1", estimator_name: str | None = None
    ) -> None:
        self.rates = tuple(rates)
        self.positive_label = positive_label
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: Any = None,
        by: Any = None,
        rates: Sequence[str] = RATES,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        confidence: float = 0.95,
        ax: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> RateDisplay:
        """Draw the rates of a fitted classifier by group.

        Parameters
        ----------
        estimator
            A fitted classifier, or a pipeline or a search around one. A mixture counts by its expected rates.
        X, y
            Data to measure on.
        sensitive_features
            Attributes that groups are made of; columns of a data frame X serve, too.
        by
            One or several attributes, or their names; every combination of their values is a group. By default every
            attribute in ``sensitive_features``, each by itself.
        rates
            Names of rates: any of ``"positive_rate"``, ``"tpr"``, ``"fpr"``, ``"precision"`` and ``"accuracy"``.
        sample_weight
            Non-negative weights.
        pos_label
            The label to call positive; by default the classifier's own, or the larger one.
        confidence
            Level of the intervals.
        ax
            Axes to draw on; by default new ones.
        name
            A name for the legend; by default that of the estimator's class.
        **options
            Passed to matplotlib's ``errorbar``.

        Returns
        -------
        RateDisplay
            The display, with its axes as ``ax_``.
        """
        inner = served(estimator)
        classes = np.asarray(getattr(inner, "classes_", np.unique(to_numpy(y))))
        label = getattr(inner, "pos_label", None) if pos_label is None else pos_label
        positive = _positive(label, classes)
        people = named(sensitive_features, _names(by))
        predictions = decided(estimator, X, people, positive)
        name = type(inner).__name__ if name is None else name
        measured = _measured(y, predictions, classes, positive, people, X, by, rates, sample_weight, confidence)
        return cls(measured, positive_label=shown_label(positive), estimator_name=name).plot(ax=ax, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        sensitive_features: Any,
        by: Any = None,
        rates: Sequence[str] = RATES,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        confidence: float = 0.95,
        ax: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> RateDisplay:
        """Draw the rates of predictions by group; ``y_pred`` are labels, or probabilities of predicting the positive.

        Parameters
        ----------
        y_true
            Labels.
        y_pred
            Predicted labels, or probabilities of predicting the positive label.
        sensitive_features
            Attributes that groups are made of.
        by
            One or several attributes, or their names; every combination of their values is a group. By default
            every attribute in ``sensitive_features``, each by itself.
        rates
            Names of rates: any of ``"positive_rate"``, ``"tpr"``, ``"fpr"``, ``"precision"`` and ``"accuracy"``.
        sample_weight
            Non-negative weights.
        pos_label
            The label to call positive; by default the larger one.
        confidence
            Level of the intervals.
        ax
            Axes to draw on; by default new ones.
        name
            A name for the legend.
        **options
            Passed to matplotlib's ``errorbar``.

        Returns
        -------
        RateDisplay
            The display, with its axes as ``ax_``.
        """
        labels = to_numpy(y_true)
        classes = np.unique(labels)
        positive = _positive(pos_label, classes)
        people = named(sensitive_features, _names(by))
        predictions = as_probabilities(y_pred, classes, positive, len(labels), "y_pred")
        measured = _measured(labels, predictions, classes, positive, people, None, by, rates, sample_weight, confidence)
        return cls(measured, positive_label=shown_label(positive), estimator_name=name).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, name: str | None = None, **options: Any) -> RateDisplay:
        """Draw the rates: a row for each group, a mark with its interval for each rate.

        Parameters
        ----------
        ax
            Axes to draw on; by default new ones.
        name
            A name for the legend.
        **options
            Passed to matplotlib's ``errorbar``.

        Returns
        -------
        RateDisplay
            The display itself, with its axes as ``ax_``.
        """
        plt = pyplot()
        groups = list(dict.fromkeys(rate.slice for rate in self.rates))
        kinds = list(dict.fromkeys(rate.rate for rate in self.rates))
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 1.2 + 0.3 * len(groups) * max(len(kinds), 2) / 2), layout="constrained")
        name = self.estimator_name if name is None else name
        self.containers_ = []
        for k, kind in enumerate(kinds):
            shown = [rate for rate in self.rates if rate.rate == kind]
            places = [groups.index(rate.slice) + 0.6 * (k - (len(kinds) - 1) / 2) / len(kinds) for rate in shown]
            values = np.array([(rate.low, rate.value, rate.high) for rate in shown])
            error = np.maximum([values[:, 1] - values[:, 0], values[:, 2] - values[:, 1]], 0.0)
            label = kind if name is None else f"{kind} ({name})"
            style = {"fmt": "o", "capsize": 3, "label": label, **options}
            self.containers_.append(ax.errorbar(values[:, 1], places, xerr=error, **style))
        ax.set_yticks(range(len(groups)), groups)
        ax.invert_yaxis()
        ax.set_xlim(0, 1)
        ax.set_xlabel(f"Rate (positive label: {self.positive_label})")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


class FrontierDisplay:
    """Objective against the largest violation, along a trade-off frontier.

    Use `from_estimator`, or `from_frontier` for what `RateClassifier.frontier` returned.

    Parameters
    ----------
    frontier
        A `Frontier`.
    estimator_name
        A name for the legend.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure, after `plot`.

    Examples
    --------
    >>> import equirate as eq
    >>> frontier = clf.frontier(X, y, levels=[0.0, 0.05, 0.1])  # doctest: +SKIP
    >>> eq.FrontierDisplay.from_frontier(frontier)  # doctest: +SKIP
    """

    def __init__(self, frontier: Frontier, *, estimator_name: str | None = None) -> None:
        self.frontier = frontier
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        levels: Sequence[float],
        test: tuple[Any, ...] | None = None,
        ax: Any = None,
        name: str | None = None,
    ) -> FrontierDisplay:
        """Train a `RateClassifier` once for many levels of its constraints, and draw the trade-off.

        Parameters
        ----------
        estimator
            A `RateClassifier`, fitted or not; it is not changed.
        X, y, sensitive_features, sample_weight, levels, test
            As in `RateClassifier.frontier`.
        ax
            Axes to draw on; by default new ones.
        name
            A name for the legend.

        Returns
        -------
        FrontierDisplay
            The display, with its axes as ``ax_``.
        """
        if not hasattr(estimator, "frontier"):
            raise EquirateError(f"a frontier is traced by a RateClassifier; got {type(estimator).__name__}")
        data = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        frontier = estimator.frontier(X, y, **data, levels=levels, test=test)
        return cls(frontier, estimator_name=name).plot(ax=ax)

    @classmethod
    def from_frontier(cls, frontier: Frontier, *, ax: Any = None, name: str | None = None) -> FrontierDisplay:
        """Draw a frontier.

        Parameters
        ----------
        frontier
            What `RateClassifier.frontier` returned.
        ax
            Axes to draw on; by default new ones.
        name
            A name for the legend.

        Returns
        -------
        FrontierDisplay
            The display, with its axes as ``ax_``.
        """
        return cls(frontier, estimator_name=name).plot(ax=ax)

    def plot(self, ax: Any = None, *, name: str | None = None) -> FrontierDisplay:
        """Draw objective against largest violation, with intervals on the last part of the data.

        Parameters
        ----------
        ax
            Axes to draw on; by default new ones.
        name
            A name for the legend.

        Returns
        -------
        FrontierDisplay
            The display itself, with its axes as ``ax_``.
        """
        name = self.estimator_name if name is None else name
        self.ax_ = self.frontier.plot(ax)
        if name is not None:
            self.ax_.legend(title=name)
        self.figure_ = self.ax_.figure
        return self


def _names(by: Any) -> tuple[str, ...]:
    return () if by is None else tuple(part.name for part in attributes_in(by) if hasattr(part, "name"))


def _positive(pos_label: Any, classes: NDArray[Any]) -> Any:
    if pos_label is None and len(classes) > 2:
        raise DataError(f"there are {len(classes)} classes: say which one to show against the others with pos_label=")
    return positive_label(pos_label, classes)


def _measured(
    y: ArrayLike,
    predictions: Array,
    classes: NDArray[Any],
    positive: Any,
    sensitive_features: Any,
    X: Any,
    by: Any,
    rates: Sequence[str],
    sample_weight: ArrayLike | None,
    confidence: float,
) -> list[RateValue]:
    """Each rate, for everybody and for each group."""
    known = {shown.name: shown for shown in SHOWN}
    strange = [rate for rate in rates if rate not in known]
    if strange:
        raise EquirateError(f"rates must be some of {', '.join(map(repr, known))}; got {strange[0]!r}")
    labels = one_dimensional(to_numpy(y), "y")
    refuse_missing(labels, "y")
    codes_of(labels, tuple(classes.tolist()), "y")  # refuses labels that are no class
    examples = Examples.of(labels == positive, sensitive_features, sample_weight, fallback=X)
    sets = [_names(by)] if by is not None else [(name,) for name in columns_of(sensitive_features)]
    if not any(sets):
        raise DataError("there are no groups to show: give sensitive_features, or by= with columns of X")
    combined = [Groups.of(names, examples) for names in sets]
    groups = [EVERYBODY, *(grouping.slice(k) for grouping in combined for k in range(len(grouping)))]
    groups = [group for group in groups if examples.mask(group).any()]
    rate_names: list[RateName] = [known[rate] for rate in rates]
    return [measured_rate(rate, group, examples, predictions, confidence) for rate in rate_names for group in groups]
