"""Classifiers made of recorded iterates: a mixture, or a deterministic classifier if there is one member.

In: `Members` and weights. Out: probabilities, reproducible stochastic decisions, hashed decisions (the same x always
gets the same decision), and the exact value of any expression or problem on any data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.errors import DataError
from .._core.hashing import salted_keys, salted_rows, uniform
from .._core.peers import all_processes
from .._core.seeds import stream
from ..data.arrays import refuse_missing, to_numpy
from ..data.examples import Examples
from ..data.features import features
from ..data.labels import Classes
from ..data.mapped import is_mapped, scratch
from ..data.predictions import by_label
from ..data.sample import Sample
from ..language.expressions import Constraint, Expression
from ..language.measuring import measurer
from ..mixtures import snapped
from ..models.members import Members
from ..players.losses import loss_values
from ..problem.problem import Problem

Array = NDArray[np.float64]

BLOCK = 1 << 20
"""Longer arrays are predicted in blocks of this many rows."""
FEW_MEMBERS = 16
"""With up to this many members, a mixture is added up one member at a time."""


@dataclass(frozen=True, eq=False)
class Classifier:
    """A distribution over deterministic classifiers.

    Parameters
    ----------
    members
        The deterministic classifiers.
    weights
        Their probabilities.
    problem
        The problem it was trained for, if any.
    origin
        How it was made: ``"uniform"``, ``"shrink"``, ``"best"``, ``"average"``, ``"polish"``.
    chosen
        The columns of a `Solution` that the members are.
    notes
        Further facts by name, such as ``bound`` and ``gap`` of `Solution.polish`.
    """

    members: Members
    weights: Array
    problem: Problem | None = None
    origin: str = ""
    chosen: tuple[int, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_deterministic(self) -> bool:
        """Whether there is only one member."""
        return len(self.members) == 1

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.members.n_classes

    def expected(self, X: Any, *, attributes: Any = None) -> Array:
        """Probabilities that rates are measured with: of predicting 1, or of each of more than two classes.

        Parameters
        ----------
        X
            Features.
        attributes
            Attributes of the examples, where the members look them up.

        Returns
        -------
        numpy.ndarray
            One probability per example, or one row with a column for each class.
        """
        if not isinstance(X, np.ndarray) or len(X) <= BLOCK or self.members.needs_attributes:
            return self._mixed(self.members.decide(X, attributes=attributes))
        shape = (len(X),) if self.n_classes <= 2 else (len(X), self.n_classes)
        result: Array = scratch(shape, np.float64) if is_mapped(X) and self.n_classes > 2 else np.empty(shape)
        for k in range(0, len(X), BLOCK):
            result[k : k + BLOCK] = self.expected(X[k : k + BLOCK])
        return result

    def expected_sample(self, sample: Sample) -> Array:
        """`expected` for the rows of a sample, which caches the decisions of the members.

        Parameters
        ----------
        sample
            The rows.

        Returns
        -------
        numpy.ndarray
            One probability per example, or one row with a column for each class.
        """
        return self._mixed(self.members.decide_sample(sample))

    def positive_probability(self, X: Any, *, attributes: Any = None) -> Array:
        """Probability of predicting 1 for each example.

        Parameters
        ----------
        X
            Features.
        attributes
            Attributes of the examples, where the members look them up.

        Returns
        -------
        numpy.ndarray
            One probability per example.
        """
        if self.n_classes > 2:
            raise DataError(f"this classifier has {self.n_classes} classes: use predict_pmf")
        return self.expected(X, attributes=attributes)

    def _mixed(self, decided: NDArray[Any]) -> Array:
        """Probabilities of predicting 1, or of each of more than two classes, from the decisions of the members."""
        if self.n_classes > 2:
            by_class, rows = np.zeros((len(decided), self.n_classes)), np.arange(len(decided))
            for member, weight in zip(decided.T, self.weights, strict=True):
                by_class[rows, member] += weight
            return snapped(by_class)
        if len(self.weights) == 1 and self.weights[0] == 1:
            return decided[:, 0].astype(float)
        if len(self.weights) > FEW_MEMBERS:
            return snapped(decided @ self.weights)
        total = np.zeros(len(decided))
        for member, weight in zip(decided.T, self.weights, strict=True):  # avoids a float array for all members
            total += weight * member
        return snapped(total)

    def predict_pmf(self, X: Any, *, attributes: Any = None) -> Array:
        """Probability of predicting each class (examples, classes). Not a calibrated probability of the label.

        Parameters
        ----------
        X
            Features.
        attributes
            Attributes of the examples, where the members look them up.

        Returns
        -------
        numpy.ndarray
            One row per example, one column for each class.
        """
        p = self.expected(X, attributes=attributes)
        return p if self.n_classes > 2 else np.stack([1 - p, p], axis=1)

    def predict(self, X: Any, *, attributes: Any = None, random_state: int | None = 0) -> NDArray[np.int_]:
        """Predict 0 or 1 (of more classes, their codes); a mixture draws one member per example, independently.

        The i-th example gets the i-th draw of ``random_state`` (None: new draws): the same call gives the same result,
        and additional examples at the end change nothing, but an example at another position gets another draw.

        Parameters
        ----------
        X
            Features.
        attributes
            Attributes of the examples, where the members look them up.
        random_state
            Seed of the draws; None for new draws in every call.

        Returns
        -------
        numpy.ndarray
            One decision per example.
        """
        decided = self.members.decide(X, attributes=attributes)
        if self.is_deterministic:
            return decided[:, 0].astype(int)
        return self.pick(decided, stream("predict", random_state).random(len(decided)))

    def predict_hashed(self, X: Any, *, attributes: Any = None, salt: int = 0, key: Any = None) -> NDArray[np.int_]:
        """Predict as `predict`, but always the same for the same x: a hash of x draws the member.

        Neither the order of the examples nor the other examples matter; examples with equal features get the same
        decision.

        Parameters
        ----------
        X
            Features.
        attributes
            Attributes of the examples, where the members look them up.
        salt
            Added to the hash, so that nobody who does not know it can search for an x with a favourable draw.
        key
            One per example, such as an identifier of a person: hashed instead of x, so that people with equal features
            get independent draws, and a person whose features change keeps the draw.

        Returns
        -------
        numpy.ndarray
            One decision per example.
        """
        decided = self.members.decide(X, attributes=attributes)
        if self.is_deterministic:
            return decided[:, 0].astype(int)
        return self.pick(decided, hashed_uniform(X, salt, key))

    def pick(self, decided: NDArray[Any], u: Array) -> NDArray[np.int_]:
        """The decision, 0 or 1 or a code, of the member that each number in [0, 1) draws.

        Parameters
        ----------
        decided
            Decisions of the members, (examples, members).
        u
            One number in [0, 1) per example.

        Returns
        -------
        numpy.ndarray
            One decision per example.
        """
        return decided[np.arange(len(decided)), self.drawn(u)].astype(int)

    def drawn(self, u: Array) -> NDArray[np.intp]:
        """The member that each number in [0, 1) draws.

        Parameters
        ----------
        u
            One number in [0, 1) per example.

        Returns
        -------
        numpy.ndarray of int
            Positions of members.
        """
        return np.minimum(np.searchsorted(np.cumsum(self.weights), u, side="right"), len(self.weights) - 1)

    def evaluate(
        self,
        what: Expression | Constraint | Problem | None,
        X: Any,
        y: ArrayLike,
        *,
        attributes: Any = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        classes: Classes | None = None,
    ) -> Any:
        """Exact values on data: a number for an expression or constraint, a dict for a problem.

        The dict has ``objective`` and ``violations`` (signed, one per constraint, positive where broken). With
        ``pos_label``, labels may be any two values, of which that one is what the classifier calls 1.

        Parameters
        ----------
        what
            An expression, a constraint or a problem; None for the problem that it was trained for.
        X, y
            Data to measure on.
        attributes
            Attributes that slices and baselines refer to.
        sample_weight
            Non-negative weights.
        pos_label
            The label that the classifier calls 1; by default labels are 0 and 1.
        classes
            With more than two classes, the labels in the order of the classifier's codes; by default 0, 1, 2 ...

        Returns
        -------
        float or dict
            The value.
        """
        what = self.problem if what is None else what
        if what is None:
            raise DataError("this classifier has no problem of its own: give what to evaluate")
        if pos_label is not None:
            y = by_label(y, y, pos_label)[0]
        with all_processes():
            known = tuple(range(self.n_classes)) if classes is None and self.n_classes > 2 else classes
            examples = Examples.of(y, attributes, sample_weight, fallback=X, classes=known)
            terms = list(what.losses()) if isinstance(what, (Expression, Problem)) else []
            losses = {}
            if terms:
                values = loss_values(terms, examples, self.members.scores(X, attributes=attributes)) @ self.weights
                losses = {term.key: value for term, value in zip(terms, values, strict=True)}
            measure = measurer(examples, self.expected(X, attributes=attributes), losses)
            if not isinstance(what, Problem):
                expr = what.residual if isinstance(what, Constraint) else what
                return float(expr.on(examples).value(measure))
            problem = what.expanded(examples)
            objective = float(problem.objective.expr.value(measure))
            violations = [float(c.residual.value(measure)) for c in problem.plain_constraints]
            return {"objective": objective, "violations": violations}

    def __repr__(self) -> str:
        kind = "deterministic" if self.is_deterministic else f"mixture of {len(self.members)}"
        return f"<Classifier: {kind}, by {self.origin or 'hand'}>"


def checked_key(key: Any, rows: int) -> NDArray[Any]:
    """The key of each row; raises an error if the length differs or keys are missing, which would all be equal."""
    keys = to_numpy(key)
    if keys.shape != (rows,):
        raise DataError(f"key must have one value per example, ({rows},); got shape {keys.shape}")
    refuse_missing(keys, "key")
    return keys


def hashed_uniform(X: Any, salt: int = 0, key: Any = None) -> Array:
    """A number in [0, 1) for each row or key, which does not depend on the machine or the order of rows."""
    if key is not None:
        rows = X.shape[0] if getattr(X, "shape", ()) else len(X)
        return uniform(salted_keys(checked_key(key, rows), salt))
    X = X.reshape(-1, 1) if isinstance(X, np.ndarray) and X.ndim == 1 else X  # scores instead of features
    numbers = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"  # members have checked them, and may take NaN
    return uniform(salted_rows(X if numbers else features(X), salt))
