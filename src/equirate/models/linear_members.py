"""Linear classifiers as members: weights for the features as given, one column for each classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import FileError
from .._core.rules import FLAG, ArrayOf, Fields
from ..data.features import checked_features
from .contributions import Contributions, linear_contributions
from .design import decisions, linear_scores
from .members import Array, Members, Written
from .rows import blocks

BLOCK_ROWS = 1 << 20
"""Rows per block of a large array."""


@dataclass(frozen=True, eq=False)
class LinearMembers(Members):
    """Linear classifiers, one column each; the intercepts are the last row.

    ``equirate.Classifier`` makes a classifier of them, also where the weights come from elsewhere.

    Parameters
    ----------
    W
        Weights, one column per classifier.
    intercept
        Whether the last row of ``W`` is the intercepts.
    names
        Names of the features, where they are known; other names are then refused.

    Examples
    --------
    >>> import equirate as eq
    >>> W = np.array([[1.0, 0.0], [0.0, 1.0], [-0.5, -0.5]])  # two classifiers on two features
    >>> mixture = eq.Classifier(LinearMembers(W), np.array([0.25, 0.75]))
    >>> mixture.positive_probability(np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([0.25, 1.  ])
    """

    W: NDArray[Any]
    intercept: bool = True
    names: tuple[str, ...] | None = None
    settings_rule = Fields({"intercept": FLAG})
    array_rules = {"coefficients": ArrayOf("f", 2)}  # noqa: RUF012  # frozen like the class

    def __len__(self) -> int:
        """Count the columns."""
        return int(self.W.shape[1])

    @property
    def with_intercept(self) -> NDArray[Any]:
        """The weights with a row of intercepts, of zeros where there is none."""
        return self.W if self.intercept else np.vstack([self.W, np.zeros((1, self.W.shape[1]), self.W.dtype)])

    def scores(self, X: Any, *, attributes: Any = None) -> NDArray[Any]:
        """Scores of new examples (examples, classifiers).

        Parameters
        ----------
        X
            Features.
        attributes
            Not used.

        Returns
        -------
        numpy.ndarray
            (examples, classifiers).
        """
        return linear_scores(checked_features(X, len(self.W) - self.intercept, self.names), self.with_intercept)

    def mean_score(self, X: Any, *, weights: Array, attributes: Any = None) -> Array:
        """The score of the mean weights, in double precision of features in the precision trained in.

        Parameters
        ----------
        X
            Features.
        weights
            One weight per classifier.
        attributes
            Not used.

        Returns
        -------
        numpy.ndarray
            One score per example.
        """
        X = checked_features(X, len(self.W) - self.intercept, self.names)
        V = self.with_intercept.astype(float) @ weights
        parts = [X[rows].astype(self.W.dtype).astype(float) @ V[:-1] for rows in blocks(X.shape[0])]
        return np.asarray(np.concatenate([*parts, np.zeros(0)]) + V[-1], dtype=float)

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[np.bool_]:
        """Predict 1 where the score is above 0.

        Parameters
        ----------
        X
            Features.
        attributes
            Not used.

        Returns
        -------
        numpy.ndarray of bool
            (examples, classifiers).
        """
        width, V = len(self.W) - self.intercept, self.with_intercept
        if isinstance(X, np.ndarray) and len(X) > BLOCK_ROWS:  # a block at a time
            return np.concatenate([self.decide(X[rows]) for rows in blocks(len(X), BLOCK_ROWS)])
        decided = decisions(checked_features(X, width, self.names, finite=False), V)
        if decided is None:  # refuses features that are not finite; scores of finite ones may still be infinite
            return np.asarray(self.scores(X) > 0)
        return decided

    def contributions(self, X: Any, *, attributes: Any = None) -> Contributions:
        """Each feature times its weight.

        Parameters
        ----------
        X
            Features.
        attributes
            Not used.

        Returns
        -------
        Contributions
            For each example and classifier.
        """
        return linear_contributions(checked_features(X, self.width, self.names), self.with_intercept)

    def take(self, indices: Sequence[int]) -> Members:
        """Keep some columns.

        Parameters
        ----------
        indices
            Positions of classifiers.

        Returns
        -------
        LinearMembers
            These classifiers, in this order.
        """
        return LinearMembers(self.W[:, list(indices)], self.intercept, self.names)

    def concatenate(self, parts: Sequence[LinearMembers]) -> Members:
        """All columns, with intercepts.

        Parameters
        ----------
        parts
            Linear members, these first.

        Returns
        -------
        LinearMembers
            The classifiers of all parts.
        """
        return LinearMembers(np.concatenate([part.with_intercept for part in parts], axis=1), True, self.names)

    def linear_weights(self) -> NDArray[Any]:
        """The weights, with a row of intercepts.

        Returns
        -------
        numpy.ndarray
            (features and intercept, classifiers).
        """
        return self.with_intercept

    def constants(self) -> Members:
        """Weights of 0 with intercepts of -1 and 1.

        Returns
        -------
        LinearMembers
            Two classifiers.
        """
        W = np.zeros((len(self.with_intercept), 2), self.W.dtype)
        W[-1] = -1.0, 1.0
        return LinearMembers(W, True, self.names)

    @property
    def width(self) -> int:
        """Rows without the intercept's."""
        return len(self.W) - self.intercept

    def plain(self, width: int) -> Written:
        """Write the coefficients.

        Parameters
        ----------
        width
            Number of features.

        Returns
        -------
        Written
            Kind, settings and arrays.
        """
        return Written("linear", {"intercept": self.intercept}, {"coefficients": self.W})

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Read the coefficients.

        Parameters
        ----------
        settings
            Settings that `plain` wrote.
        arrays
            Arrays that `plain` wrote.

        Returns
        -------
        LinearMembers
            The classifiers.
        """
        if len(arrays["coefficients"]) <= settings["intercept"]:
            raise FileError("the coefficients of a linear model are for no features")
        return cls(arrays["coefficients"], settings["intercept"])
