"""Members: the deterministic classifiers of a mixture, which can be written and read as plain data.

A mixture draws one of its members for each row. Every model has a class of members of its own; `concatenate_members`
(`side_by_side`) makes one of several, and `read_members` (`registry`) reads any kind from a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError, FileError
from .._core.rules import Fields, Rule
from ..data.sample import Sample
from .contributions import Contributions

Array = NDArray[np.float64]
Scores = NDArray[Any]


class Written(NamedTuple):
    """Members as plain data: their kind, settings that JSON can hold, and arrays."""

    kind: str
    settings: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def named_inside(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The values whose names begin with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


class Members:
    """Several deterministic classifiers, such as those of a mixture, which can be written and read as plain data."""

    needs_attributes = False
    n_classes = 2
    settings_rule: ClassVar[Rule] = Fields({})
    array_rules: ClassVar[Mapping[str, Rule]] = {}
    """What the settings and the arrays in a file must be; checked before `from_plain` is called."""
    nested: ClassVar[str] = ""
    """Prefix of the names of arrays that belong to members inside these, which check them themselves."""

    @property
    def width(self) -> int | None:
        """Number of features; None where any number will do."""
        return None

    def __len__(self) -> int:
        """Count the classifiers."""
        raise NotImplementedError

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[Any]:
        """Return the 0/1 decisions, (examples, classifiers), as booleans; of more classes, their codes.

        Parameters
        ----------
        X
            Features.
        attributes
            Attributes of the examples, where ``needs_attributes`` is set.

        Returns
        -------
        numpy.ndarray
            (examples, classifiers).
        """
        raise NotImplementedError

    def decide_sample(self, sample: Sample) -> NDArray[Any]:
        """`decide` for the rows of a sample, which caches the decisions.

        Parameters
        ----------
        sample
            The rows.

        Returns
        -------
        numpy.ndarray
            (examples, classifiers); not to be changed.
        """

        def decided() -> NDArray[Any]:
            return self.decide(sample.X, attributes=sample.examples.columns)

        decisions: NDArray[Any] = sample.remember((self,), decided)
        return decisions

    def scores(self, X: Any, *, attributes: Any = None) -> Scores:
        """Return real-valued scores (examples, classifiers), for classifiers that have scores.

        Parameters
        ----------
        X
            Features.
        attributes
            Attributes of the examples, where ``needs_attributes`` is set.

        Returns
        -------
        numpy.ndarray
            (examples, classifiers).
        """
        raise AlgorithmError("these classifiers decide without a score")

    @property
    def has_scores(self) -> bool:
        """Whether the classifiers have scores."""
        return type(self).scores is not Members.scores

    def split_counts(self) -> Array | None:
        """Number of splits of the trees by each feature; None for members that are not trees.

        Returns
        -------
        numpy.ndarray or None
            One number per feature.
        """
        return None

    def __getitem__(self, index: int | slice) -> Members:
        """One of the classifiers as members of their own, or several by a slice."""
        if isinstance(index, slice):
            return self.take(range(*index.indices(len(self))))
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"there are {len(self)} members; asked for number {index}")
        return self.take([place])

    def __iter__(self) -> Iterator[Members]:
        return (self[k] for k in range(len(self)))

    def mean_score(self, X: Any, *, weights: Array, attributes: Any = None) -> Array:
        """Weighted mean of the scores, one number per example; it does not depend on the other examples.

        Parameters
        ----------
        X
            Features.
        weights
            One weight per classifier.
        attributes
            Attributes of the examples, where ``needs_attributes`` is set.

        Returns
        -------
        numpy.ndarray
            One score per example.
        """
        return np.asarray(self.scores(X, attributes=attributes) @ weights, dtype=float)

    def contributions(self, X: Any, *, attributes: Any = None) -> Contributions | None:
        """What each feature adds to the scores; None for classifiers without contributions.

        Parameters
        ----------
        X
            Features.
        attributes
            Attributes of the examples, where ``needs_attributes`` is set.

        Returns
        -------
        Contributions or None
            For each example and classifier.
        """
        return None

    def take(self, indices: Sequence[int]) -> Members:
        """Return some of the classifiers.

        Parameters
        ----------
        indices
            Positions of classifiers.

        Returns
        -------
        Members
            These classifiers, in this order.
        """
        raise NotImplementedError

    def concatenate(self, parts: Sequence[Self]) -> Members | None:
        """Members of the same kind that decide as all of ``parts``, in order; None where one kind cannot hold them.

        `concatenate_members` calls this with parts of the same class, these members first.

        Parameters
        ----------
        parts
            Members of this class, these first.

        Returns
        -------
        Members or None
            The classifiers of all parts.
        """
        return None

    def map(self, function: Callable[[Members], Members]) -> Members:
        """Apply a function to the parts of combined members; to the members themselves where they have no parts.

        Parameters
        ----------
        function
            From members to members.

        Returns
        -------
        Members
            The results, combined in the same way as the parts.
        """
        return function(self)

    def linear_weights(self) -> NDArray[Any] | None:
        """Weights of linear classifiers (features and intercept, classifiers); None for other classifiers.

        Returns
        -------
        numpy.ndarray or None
            The weights.
        """
        return None

    def forests(self) -> Any:
        """The same classifiers as `ForestMembers`; refuses classifiers that are not trees.

        Returns
        -------
        ForestMembers
            The classifiers as ensembles of trees.
        """
        raise AlgorithmError(f"{type(self).__name__} are not ensembles of trees")

    @property
    def scorer(self) -> Any:
        """The scorer of thresholds on one score; None for other classifiers."""
        return None

    def with_scorer(self, scorer: Any) -> Members:
        """The same thresholds on the scores of another scorer.

        Parameters
        ----------
        scorer
            Function from features to one score per example.

        Returns
        -------
        Members
            The thresholds on these scores.
        """
        raise AlgorithmError(f"{type(self).__name__} are not thresholds on one score")

    def constants(self) -> Members | None:
        """The classifiers of the same kind that predict 0 and 1 for every row; None where the kind has none.

        Returns
        -------
        Members or None
            Two classifiers.
        """
        return None

    def completed(self, module: Any) -> Members:
        """Add what files do not hold: the constructor of a network's module. Other members need nothing.

        Parameters
        ----------
        module
            The module, or a function without arguments that makes it.

        Returns
        -------
        Members
            Members that can decide.
        """
        return self

    def plain(self, width: int) -> Written:
        """Write the members as plain data, for ``width`` features; refuses members that only pickle could keep.

        Parameters
        ----------
        width
            Number of features.

        Returns
        -------
        Written
            Kind, settings and arrays.
        """
        raise FileError(f"{type(self).__name__} cannot be saved without pickle")

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Make members of settings and arrays that passed the rules; refuses those that contradict each other.

        Parameters
        ----------
        settings
            Settings that `plain` wrote.
        arrays
            Arrays that `plain` wrote.

        Returns
        -------
        Members
            The classifiers.
        """
        raise NotImplementedError
