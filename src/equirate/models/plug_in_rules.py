"""Plug-in rules for two classes: the members that decide by expected costs, and their learner.

In: probabilities of label and signature of each row, and costs (label and signature, rules). Out: for each rule, a
prediction of 1 where its expected cost is negative. `plug_in` has the model, `class_rules` the rules for more classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from .._core.rules import ArrayOf, Fields
from ..data.examples import Examples
from ..data.sample import count_rows
from ..mixtures import Source
from .contract import Array, Choice, ColumnLearner
from .contributions import Contributions
from .forests import counted_splits
from .members import Members, Written
from .messages import Asked, Family, Seen
from .posterior import (
    OPTIONAL_SETTINGS,
    SETTINGS,
    SIGNATURE_ARRAYS,
    GivenProbabilities,
    Posterior,
    log_odds_contributions,
)
from .rows import Rows
from .thresholds import midway, sums_above

MOST_THRESHOLDS, FEWEST_THRESHOLDS = 256, 16
"""Thresholds on a rule's expected costs, about equally many rows between them; fewer where cells are many."""
MOST_COUNTS = 1 << 17
"""Thresholds times cells of one rule."""
SAMPLED_ROWS = 50_000
"""Rows that thresholds are chosen from."""


class PlugInLearner(ColumnLearner):
    """Costs (label and signature, configurations)."""

    def __init__(self, posterior: Posterior | GivenProbabilities, probabilities: Array, rows: Rows, count: int) -> None:
        self.posterior, self.probabilities, self.rows = posterior, probabilities, rows
        self.places, _ = posterior.signatures.of_cells(rows.cells)
        self.parameters = np.ones((2 * len(posterior.signatures), count))

    def answer(self, asked: Asked) -> Seen:
        """Adopt the costs, and predict 1 where the expected cost is negative."""
        self.parameters = by_place(asked.costs, self.places, len(self.posterior.signatures))
        return Seen(self.rows.cells.sums(expected(self.probabilities, self.parameters) < 0))

    def families(self) -> list[Family]:
        """The constant classifiers, and all thresholds on the probability of the label."""
        label = np.repeat([0.5, -0.5], len(self.posterior.signatures))
        return [self._thresholds(label, Source.LISTED)]

    def respond(self, costs: Array) -> list[Family]:
        """The rules with the smallest expected costs, each with all thresholds on its expected costs."""
        rules = by_place(costs, self.places, len(self.posterior.signatures))
        return [self._thresholds(rule, Source.PRICED) for rule in rules.T]

    def _thresholds(self, rule: Array, source: Source) -> Family:
        """A rule with constants added to its costs: thresholds on what it expects, from everybody to nobody."""
        cells = self.rows.cells
        score = -expected(self.probabilities, rule[:, None])[:, 0]
        own = score[cells.weights > 0]
        some = np.sort(own[:: max(len(own) // SAMPLED_ROWS, 1)])
        count = int(np.clip(MOST_COUNTS // len(cells), FEWEST_THRESHOLDS, MOST_THRESHOLDS))
        places = np.linspace(0, len(some) - 1, count + 1).astype(np.intp)[1:]
        beyond = 2 * float(np.abs(score).max(initial=0.0)) + 1.0
        cuts = np.unique(np.concatenate([[-beyond, 0.0, beyond], midway(some[places - 1], some[places])]))
        sums = sums_above(np.concatenate([[-np.inf], cuts]), score, cells)[:, 1:]
        return Family(sums, source, rule[:, None] + cuts)

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Put the chosen columns side by side."""
        return PlugInMembers(self.posterior, np.stack([snapshots[t][:, c] for t, c in chosen], axis=1))

    def measurer(self, rows: Rows) -> Callable[[Members], Array]:
        """On the rows of this learner, by their out-of-fold probabilities."""
        if rows.X is not self.rows.X or isinstance(self.posterior, GivenProbabilities):
            return super().measurer(rows)

        def sums(members: Any) -> Array:
            return rows.cells.sums(expected(self.probabilities, members.costs) < 0)

        return sums


def by_place(k: Array, places: NDArray[np.intp], count: int) -> Array:
    """Coefficients of cells as (label and signature, columns): label 0 first; combinations that are not cells cost 0.

    ``places`` has the row of each cell.
    """
    spread = np.zeros((2 * count, k.shape[1]))
    spread[places] = k
    return spread


def expected(probabilities: Array, k: Array) -> Array:
    """Expected coefficient of each row (rows, columns): probabilities of label and signature times coefficients."""
    count = len(k) // 2
    positive, groups = probabilities[:, :1], probabilities[:, 1:]
    without = groups @ k[:count]
    return np.asarray(without + positive * (groups @ k[count:] - without))


@dataclass(frozen=True, eq=False)
class PosteriorMembers(Members):
    """Plug-in rules as costs, whose first axis is label and signature, and whose last axis is the rules."""

    posterior: Posterior | GivenProbabilities
    costs: Array
    nested = "learner."
    posterior_type: ClassVar[type[Posterior]] = Posterior

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # depends on the posterior
        """Number of classes."""
        return self.posterior.n_classes

    @property
    def needs_attributes(self) -> bool:  # type: ignore[override]  # depends on the posterior
        """Whether predicting needs attributes."""
        return self.posterior.needs_attributes

    @property
    def width(self) -> int | None:
        """Features of the classifiers."""
        return self.posterior.width

    def __len__(self) -> int:
        """Count the rules."""
        return int(self.costs.shape[-1])

    def served(self, posterior: Posterior) -> Self:
        """The same rules for features, instead of the probabilities of a game."""
        return replace(self, posterior=posterior)

    def _probabilities(self, X: Any, attributes: Any) -> Array:
        """Probabilities of the label and of each signature."""
        examples = None
        if self.needs_attributes and attributes is not None:
            examples = Examples.of(np.zeros(count_rows(X)), attributes)
        return self.posterior(X, examples)

    def take(self, indices: Sequence[int]) -> Members:
        """Keep some rules."""
        return replace(self, costs=self.costs[..., list(indices)])

    def concatenate(self, parts: Sequence[Self]) -> Members | None:
        """All rules, where they are on the same probabilities."""
        if not all(part.posterior.signatures is self.posterior.signatures for part in parts):
            return None
        return replace(self, costs=np.concatenate([part.costs for part in parts], axis=-1))

    def completed(self, module: Any) -> Members:
        """Add the module to networks that were read from a file."""
        return replace(self, posterior=self._fitted.completed(module))

    def plain(self, width: int) -> Written:
        """Write the classifiers of label and groups as numbers, and the costs."""
        settings, arrays = self._fitted.plain(width)
        return Written(self._fitted.kind, settings, {**arrays, "costs": self.costs})

    @property
    def _fitted(self) -> Posterior:
        assert isinstance(self.posterior, Posterior)  # rules on given probabilities exist only during a game
        return self.posterior

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Read them back."""
        return cls(cls.posterior_type.read(settings, arrays), arrays["costs"])


@dataclass(frozen=True, eq=False)
class PlugInMembers(PosteriorMembers):
    """Plug-in rules, one column of coefficients (label and signature, rules) each."""

    settings_rule = Fields(SETTINGS, OPTIONAL_SETTINGS)
    array_rules = {"costs": ArrayOf("f", 2), **SIGNATURE_ARRAYS}  # noqa: RUF012  # frozen like the class

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[np.bool_]:
        """Predict 1 where the expected coefficient is negative."""
        return np.asarray(self._expected(X, attributes) < 0)

    def scores(self, X: Any, *, attributes: Any = None) -> Array:
        """Expected saving from predicting 1."""
        return -self._expected(X, attributes)

    def _expected(self, X: Any, attributes: Any) -> Array:
        return expected(self._probabilities(X, attributes), self.costs)

    def contributions(self, X: Any, *, attributes: Any = None) -> Contributions | None:
        """Contributions to the label's log-odds, less the threshold that follows from the costs of the row's groups."""
        label = log_odds_contributions(self._fitted.label, X)
        if label is None:
            return None
        probabilities, half = self._probabilities(X, attributes), len(self.costs) // 2
        without = probabilities[:, 1:] @ self.costs[:half]
        difference = probabilities[:, 1:] @ self.costs[half:] - without
        # 1 where p * difference < -without: where p is above (or, for a positive difference, below) a threshold
        with np.errstate(divide="ignore", invalid="ignore"):
            threshold = logit(np.clip(-without / difference, 0, 1))
        threshold = np.where(difference == 0, np.where(without < 0, -np.inf, np.inf), threshold)
        sign = np.where(difference > 0, -1.0, 1.0)
        features = sign[:, :, None] * label.features
        if half == 1:  # everybody is in the same group: the threshold is one for all
            return Contributions.of(sign * (label.base - threshold), features)
        return Contributions.of(sign * label.base, features, -sign * threshold)

    def split_counts(self) -> Array | None:
        """Number of splits by each feature of the trees for label and groups; None where not all are trees."""
        learners = (self._fitted.label, self._fitted.groups)
        return counted_splits([each for each in learners if each is not None])
