"""`Explanations`: for each row, the decision, its members, its chance, and what each feature added.

In: decisions and weights of the members of a mixture, the member that was drawn for each row, contributions of the
features, and what the classifier without constraints says. Out: objects, a data frame, and a sentence for one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .._core.frames import make_frame
from ..mixtures import snapped
from ..models.contributions import Contributions
from . import sentences

Array = NDArray[np.float64]
GROUPS = "estimated groups"
"""Name of what the estimated groups of a row add to the score of a plug-in rule."""


@dataclass(frozen=True)
class Reason:
    """What one feature adds to the score that decided: a positive contribution is for the positive label."""

    feature: str
    value: Any
    contribution: float


@dataclass(frozen=True)
class MemberDecision:
    """What one member of the mixture decides: its weight, its label and its score, None where it has none."""

    weight: float
    label: Any
    score: float | None
    drawn: bool


@dataclass(frozen=True)
class Explanation:
    """Why one row was decided as it was. Prints as a sentence.

    Attributes
    ----------
    label
        The label that is predicted; for a stochastic output, which draws anew, the more probable one.
    pmf
        The probability of predicting each label.
    chance
        The probability that another draw would have given the other label; 0 where all members agree.
    members
        What each member decides. In a deterministic output that was made of a mixture there is one.
    score, base
        The score that decided, and what it begins with: ``base`` and all contributions add up to ``score``, which is
        above 0 where the positive label is predicted. Of the member that was drawn or, for a stochastic output, the
        mean of all members. None if the members have no contributions.
    reasons
        Every feature with what it adds, the largest first.
    unconstrained
        The probability of predicting the positive label without the constraints; None where that is not known.
    changed
        Whether the classifier without constraints predicts the other label; None where that is not known.
    positive
        The positive label.
    """

    label: Any
    pmf: dict[Any, float]
    chance: float
    members: tuple[MemberDecision, ...]
    score: float | None
    base: float | None
    reasons: tuple[Reason, ...]
    unconstrained: float | None
    changed: bool | None
    positive: Any

    @property
    def without(self) -> Any:
        """The label that is predicted without the constraints; None where that is not known."""
        if self.changed is None:
            return None
        return next(label for label in self.pmf if (label != self.label) == self.changed)

    def sentence(self, most: int = 3) -> str:
        """The decision in words, with so many reasons for it and against it at most."""
        return sentences.sentence(self, most)

    def __str__(self) -> str:
        return self.sentence()

    def to_dict(self) -> dict[str, Any]:
        """As plain data; labels are the keys of ``pmf`` as text."""
        return {**asdict(self), "pmf": {str(label): chance for label, chance in self.pmf.items()}}


@dataclass(frozen=True)
class ClassExplanation(Explanation):
    """Why one row was decided as it was, among more than two classes.

    There is no positive label, and features have no contributions: costs of all classes are compared. ``unconstrained``
    is the probability of predicting ``label`` without the constraints, ``free`` the label that is then predicted.
    """

    free: Any = None

    @property
    def without(self) -> Any:
        """The label that is predicted without the constraints; None where that is not known."""
        return self.free


@dataclass(frozen=True, eq=False)
class Explanations(Sequence[Explanation]):
    """Why rows were decided as they were: a sequence with one `Explanation` for each row.

    Attributes
    ----------
    classes, positive
        The labels, and the positive one.
    weights
        Probabilities of the members.
    decided
        Whether each member predicts the positive label (rows, members).
    drawn
        The member that decides each row; None for a stochastic output.
    contributions
        What each feature adds to the scores of each member; None if the members have no contributions.
    names, values
        Names of the features, and for each of them the values of all rows.
    unconstrained
        Probability of predicting the positive label without the constraints, where that is known.
    """

    classes: NDArray[Any]
    positive: Any
    weights: Array
    decided: NDArray[np.bool_]
    drawn: NDArray[np.intp] | None
    contributions: Contributions | None
    names: tuple[str, ...]
    values: tuple[Any, ...]
    unconstrained: Array | None = None

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.decided)

    @overload
    def __getitem__(self, row: int) -> Explanation: ...
    @overload
    def __getitem__(self, row: slice) -> Explanations: ...
    def __getitem__(self, row: int | slice) -> Explanation | Explanations:
        """One row, or some rows."""
        if isinstance(row, slice):
            return self._rows(row)
        if not -len(self) <= row < len(self):
            raise IndexError(f"there are {len(self)} explanations; asked for number {row}")
        return self._row(row % len(self))

    # -- all rows ------------------------------------------------------------------------------------

    @property
    def probability(self) -> Array:
        """Probability of predicting the positive label."""
        return snapped(self.decided @ self.weights)

    @property
    def predicted(self) -> NDArray[np.bool_]:
        """Whether the positive label is predicted; for a stochastic output, whether it is at least as probable."""
        if self.drawn is None:
            return np.asarray(self.probability >= 0.5)
        return np.asarray(self.decided[np.arange(len(self)), self.drawn])

    @property
    def label(self) -> NDArray[Any]:
        """The labels that are predicted."""
        return np.where(self.predicted, np.array([self.positive]), np.array([self._negative]))

    @property
    def chance(self) -> Array:
        """Probability that another draw would have given the other label."""
        return np.asarray(np.where(self.predicted, 1 - self.probability, self.probability))

    @property
    def changed(self) -> NDArray[np.bool_] | None:
        """Whether the classifier without constraints predicts the other label."""
        return None if self.unconstrained is None else np.asarray((self.unconstrained >= 0.5) != self.predicted)

    @property
    def deciding(self) -> Contributions | None:
        """Contributions to the scores that decided: of the member that was drawn, or the mean of all."""
        if self.contributions is None:
            return None
        return self.contributions.mean(self.weights) if self.drawn is None else self.contributions.picked(self.drawn)

    def merged(self, names: Sequence[str], parts: Sequence[slice], values: Sequence[Any]) -> Explanations:
        """The same with features that belong together as one, such as those that a column was encoded as."""
        merged = None if self.contributions is None else self.contributions.merged(parts)
        return replace(self, contributions=merged, names=tuple(names), values=tuple(values))

    def to_frame(self) -> Any:
        """A row for each explanation: pandas, or polars or pyarrow without it.

        The columns are ``label``, ``probability`` (of the positive label), ``chance``, ``unconstrained``, ``changed``,
        ``score``, ``base``, ``contribution of NAME`` for each feature, and ``contribution of estimated groups`` where
        there are such.
        """
        empty = [None] * len(self)
        changed, deciding = self.changed, self.deciding
        columns: dict[str, Any] = {
            "label": self.label.tolist(),
            "probability": self.probability.tolist(),
            "chance": self.chance.tolist(),
            "unconstrained": empty if self.unconstrained is None else self.unconstrained.tolist(),
            "changed": empty if changed is None else changed.tolist(),
            "score": empty if deciding is None else deciding.scores[:, 0].tolist(),
            "base": empty if deciding is None else deciding.base[:, 0].tolist(),
        }
        if deciding is not None:
            for k, name in enumerate(self.names):
                columns[f"contribution of {name}"] = deciding.features[:, 0, k].tolist()
            if deciding.groups.any():
                columns[f"contribution of {GROUPS}"] = deciding.groups[:, 0].tolist()
        return make_frame(columns)

    def __repr__(self) -> str:
        return f"<Explanations of {len(self):,} rows by {len(self.weights)} members and {len(self.names)} features>"

    # -- one row -------------------------------------------------------------------------------------

    @property
    def _negative(self) -> Any:
        return self.classes[1] if self.classes[0] == self.positive else self.classes[0]

    def _label(self, positive: Any) -> Any:
        label = self.positive if positive else self._negative
        return label.item() if isinstance(label, np.generic) else label

    def _rows(self, rows: slice) -> Explanations:
        all_contributions = self.contributions
        return replace(
            self,
            decided=self.decided[rows],
            drawn=None if self.drawn is None else self.drawn[rows],
            contributions=all_contributions
            and Contributions(
                all_contributions.base[rows], all_contributions.features[rows], all_contributions.groups[rows]
            ),
            values=tuple(values[rows] for values in self.values),
            unconstrained=None if self.unconstrained is None else self.unconstrained[rows],
        )

    def _row(self, row: int) -> Explanation:
        only = self._rows(slice(row, row + 1))
        p, scores = float(only.probability[0]), None if only.contributions is None else only.contributions.scores[0]
        members = tuple(
            MemberDecision(
                float(weight),
                self._label(only.decided[0, k]),
                None if scores is None else float(scores[k]),
                only.drawn is not None and int(only.drawn[0]) == k,
            )
            for k, weight in enumerate(self.weights)
        )
        chances = {self._label(False): 1 - p, self._label(True): p}
        deciding, free, changed = only.deciding, only.unconstrained, only.changed
        return Explanation(
            label=self._label(only.predicted[0]),
            pmf={label: chances[label] for label in map(self._label, self.classes == self.positive)},
            chance=float(only.chance[0]),
            members=members,
            score=None if deciding is None else float(deciding.scores[0, 0]),
            base=None if deciding is None else float(deciding.base[0, 0]),
            reasons=() if deciding is None else self._reasons(deciding, only.values),
            unconstrained=None if free is None else float(free[0]),
            changed=None if changed is None else bool(changed[0]),
            positive=self._label(True),
        )

    def _reasons(self, deciding: Contributions, values: Sequence[Any]) -> tuple[Reason, ...]:
        reasons = [
            Reason(name, _scalar(column[0]), float(part))
            for name, column, part in zip(self.names, values, deciding.features[0, 0], strict=True)
        ]
        if deciding.groups[0, 0]:
            reasons.append(Reason(GROUPS, None, float(deciding.groups[0, 0])))
        return tuple(sorted(reasons, key=lambda reason: -abs(reason.contribution)))


class ClassExplanations(Explanations):
    """The same for more than two classes: ``decided`` are codes, and ``unconstrained`` is (rows, classes).

    ``probability`` is that of the label which is predicted.
    """

    @property
    def pmf(self) -> Array:
        """Probability of predicting each class (rows, classes)."""
        each = [(self.decided == k) @ self.weights for k in range(len(self.classes))]
        return snapped(np.stack(each, axis=1))

    @property
    def predicted(self) -> NDArray[Any]:
        """Code of the class that is predicted; for a stochastic output, the most probable one."""
        if self.drawn is None:
            return np.asarray(self.pmf.argmax(axis=1))
        return np.asarray(self.decided[np.arange(len(self)), self.drawn])

    @property
    def probability(self) -> Array:
        """Probability of predicting the label."""
        return np.asarray(self.pmf[np.arange(len(self)), self.predicted])

    @property
    def label(self) -> NDArray[Any]:
        """The labels that are predicted."""
        return np.asarray(self.classes[self.predicted])

    @property
    def chance(self) -> Array:
        """Probability that another draw would have given another label."""
        return np.asarray(1 - self.probability)

    @property
    def changed(self) -> NDArray[np.bool_] | None:
        """Whether the classifier without constraints predicts another label."""
        return None if self.unconstrained is None else np.asarray(self.unconstrained.argmax(axis=1) != self.predicted)

    def to_frame(self) -> Any:
        """A row for each explanation: pandas, or polars or pyarrow without it.

        The columns are ``label``, ``probability`` (of that label), ``chance``, ``probability of NAME`` for each class,
        ``unconstrained`` (the label without the constraints) and ``changed``.
        """
        changed, free, pmf = self.changed, self.unconstrained, self.pmf
        empty = [None] * len(self)
        return make_frame(
            {
                "label": self.label.tolist(),
                "probability": self.probability.tolist(),
                "chance": self.chance.tolist(),
                **{f"probability of {_scalar(each)}": pmf[:, k].tolist() for k, each in enumerate(self.classes)},
                "unconstrained": empty if free is None else self.classes[free.argmax(axis=1)].tolist(),
                "changed": empty if changed is None else changed.tolist(),
            }
        )

    def _row(self, row: int) -> Explanation:
        only: Any = self._rows(slice(row, row + 1))
        code, free, changed = int(only.predicted[0]), only.unconstrained, only.changed
        names = [_scalar(each) for each in self.classes]
        drawn = None if only.drawn is None else int(only.drawn[0])
        return ClassExplanation(
            label=names[code],
            pmf=dict(zip(names, only.pmf[0].tolist(), strict=True)),
            chance=float(only.chance[0]),
            members=tuple(
                MemberDecision(float(weight), names[int(only.decided[0, k])], None, drawn == k)
                for k, weight in enumerate(self.weights)
            ),
            score=None,
            base=None,
            reasons=(),
            unconstrained=None if free is None else float(free[0, code]),
            changed=None if changed is None else bool(changed[0]),
            positive=None,
            free=None if free is None else names[int(free[0].argmax())],
        )


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
