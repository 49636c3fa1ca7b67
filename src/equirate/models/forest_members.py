"""Ensembles of trees as members: every tree is evaluated once, whatever the number of members.

In: forests, and for each member a prefix of one of them and a threshold. Out: `ForestMembers`, whose scores are running
sums over the pieces of the forests: members that are prefixes of the same ensemble share its trees. They are saved as
arrays, and a single member can be converted back to LightGBM or XGBoost if it came from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._core.errors import FileError
from .._core.rules import FLAG, ArrayOf, Fields, Rule, Whole
from .contributions import Contributions, tree_contributions
from .forests import Forest, as_boosted
from .members import Array, Members, Written

Piece = tuple[int, int]
"""An ensemble, and the number of its first trees."""


@dataclass(frozen=True, eq=False)
class ForestMembers(Members):
    """Thresholds on prefixes of ensembles.

    Attributes
    ----------
    forest
        All trees; each adds to the piece that it belongs to.
    before
        For each piece the one that its score continues; -1 for none. It comes earlier.
    place, cuts
        For each member its piece, and the threshold that the score must be above.
    """

    forest: Forest
    before: NDArray[np.int64]
    place: NDArray[np.int64]
    cuts: Array
    settings_rule: ClassVar[Rule] = Fields({"width": Whole(1, 10_000_000), "single": FLAG})
    array_rules: ClassVar[Mapping[str, Rule]] = {
        **Forest.rules,
        **{"before": ArrayOf("i", 1), "place": ArrayOf("i", 1), "cuts": ArrayOf("f", 1)},
    }

    @classmethod
    def of_classifiers(
        cls, classifiers: Sequence[Any], place: NDArray[np.intp], cuts: Array, width: int
    ) -> ForestMembers:
        """Thresholds on the scores of whole ensembles, or of constant classifiers."""
        boosted = [as_boosted(each) for each in classifiers]
        single = next((each.forest.single for each in boosted if each is not None), False)
        nowhere = np.zeros((1, 1))
        forests = [
            Forest.constant(classifier.decision_function(nowhere), width, single) if each is None else each.forest
            for classifier, each in zip(classifiers, boosted, strict=True)
        ]
        forest = Forest.concatenate(forests)
        return cls(forest, np.full(len(forests), -1), np.asarray(place, dtype=np.int64), cuts)

    @classmethod
    def of_prefixes(
        cls, ensembles: Mapping[int, Forest], chosen: Sequence[Piece], cuts: Array, base: Forest
    ) -> ForestMembers:
        """Prefixes of ensembles that all continue one, with one score each; trees that no member needs are left out.

        The prefix of no trees is the one that they continue.
        """
        parts, before = [base], [-1]
        known: dict[Piece, int] = {}
        last: dict[int, Piece] = {}
        for piece in sorted({piece for piece in chosen if piece[1]}):
            ensemble, count = piece
            begin = last.get(ensemble)
            parts.append(ensembles[ensemble].of_trees(0 if begin is None else begin[1], count).compact())
            before.append(0 if begin is None else known[begin])
            known[piece], last[ensemble] = len(before) - 1, piece
        place = np.array([known[piece] if piece[1] else 0 for piece in chosen], dtype=np.int64)
        return cls(Forest.concatenate(parts), np.array(before), place, cuts)

    def __len__(self) -> int:
        """Count the members."""
        return len(self.place)

    @property
    def width(self) -> int | None:
        """Features of the trees."""
        return self.forest.width

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[np.bool_]:
        """Whether scores are above the thresholds."""
        return np.asarray(self.scores(X) > 0)

    def scores(self, X: Any, *, attributes: Any = None) -> Array:
        """How far the scores are above the thresholds."""
        pieces = self.forest.scores(X)
        for k, begin in enumerate(self.before.tolist()):
            if begin >= 0:
                pieces[:, k] += pieces[:, begin]
        return np.asarray(pieces[:, self.place] - self.cuts)

    def contributions(self, X: Any, *, attributes: Any = None) -> Contributions:
        """Path contributions of the trees of each prefix, less the threshold."""
        base, features = tree_contributions(self.forest, X)
        for k, begin in enumerate(self.before.tolist()):
            if begin >= 0:
                base[k] += base[begin]
                features[:, k] += features[:, begin]
        return Contributions.of(base[self.place] - self.cuts, features[:, self.place])

    def forests(self) -> ForestMembers:
        """The members themselves."""
        return self

    def split_counts(self) -> Array:
        """How often the trees split by each feature."""
        return self.forest.split_counts()

    def take(self, indices: Sequence[int]) -> Members:
        """Select members, and the trees that they need."""
        place = self.place[list(indices)]
        needed = np.zeros(len(self.before), dtype=bool)
        needed[place] = True
        for k in range(len(self.before) - 1, -1, -1):
            if needed[k] and self.before[k] >= 0:
                needed[self.before[k]] = True
        new = np.cumsum(needed) - 1
        trees = needed[self.forest.column]
        forest = replace(
            self.forest,
            roots=self.forest.roots[trees],
            column=new[self.forest.column[trees]].astype(np.int32),
            offset=self.forest.offset[needed],
        )
        before = np.where(self.before[needed] < 0, -1, new[self.before[needed]])
        return ForestMembers(forest.compact(), before, new[place], self.cuts[list(indices)])

    def plain(self, width: int) -> Written:
        """Write the trees."""
        settings = {"width": self.forest.width, "single": self.forest.single}
        pieces = {"before": self.before.astype(np.int64), "place": self.place, "cuts": self.cuts}
        return Written("forests", settings, {**self.forest.arrays(), **pieces})

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Read the trees back."""
        forest = Forest.read(arrays, settings["width"], settings["single"])
        before, place, cuts = (arrays[name] for name in ("before", "place", "cuts"))
        pieces = len(forest.offset)
        good = before.shape == (pieces,) and bool(((before >= -1) & (before < np.arange(pieces))).all())
        good = good and len(place) == len(cuts) > 0 and bool(((place >= 0) & (place < pieces)).all())
        if not good:
            raise FileError("the pieces of the trees do not fit together")
        return cls(forest, before.astype(np.int64), place.astype(np.int64), cuts)
