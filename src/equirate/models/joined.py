"""Members of several plays as one: what a mixture over folds is made of.

In: members of any kind. Out: members that decide as all of them, side by side, of the same kind where that can be, so
that they are saved as those are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .contract import Members
from .finite import FiniteMembers
from .linear import LinearMembers
from .oracle import ScoredMembers
from .plug_in import PlugInMembers
from .side_by_side import SideBySide
from .thresholds import ThresholdMembers


def joined(parts: Sequence[Members]) -> Members:
    """All of them, in order.

    Examples
    --------
    >>> both = joined([LinearMembers(np.array([[1.0], [0.0]])), LinearMembers(np.array([[0.0], [1.0]]))])
    >>> both.decide(np.array([[-1.0], [1.0]]))
    array([[False,  True],
           [ True,  True]])
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, LinearMembers) and all(isinstance(part, LinearMembers) for part in parts):
        linear = [part for part in parts if isinstance(part, LinearMembers)]
        return LinearMembers(np.concatenate([part.with_intercept for part in linear], axis=1), True, first.names)
    if all(isinstance(part, FiniteMembers) for part in parts):
        return FiniteMembers(tuple(c for part in parts if isinstance(part, FiniteMembers) for c in part.classifiers))
    cut = [part for part in parts if isinstance(part, ThresholdMembers)]
    if len(cut) == len(parts) and all(part.setting is cut[0].setting for part in cut):
        return ThresholdMembers(cut[0].setting, np.concatenate([part.cuts for part in cut], axis=1))
    rules = [part for part in parts if isinstance(part, PlugInMembers)]
    if len(rules) == len(parts) and all(part.posterior.signatures is rules[0].posterior.signatures for part in rules):
        return PlugInMembers(rules[0].posterior, np.concatenate([part.k for part in rules], axis=1))
    scored = [part for part in parts if isinstance(part, ScoredMembers)]
    return _scored(scored) if len(scored) == len(parts) else SideBySide.of(parts)


def _scored(parts: Sequence[ScoredMembers]) -> Members:
    """Thresholds on the scores of all of them, each of which scores once."""
    distinct = {id(fitted): fitted for part in parts for fitted in part.fitted}
    order = {key: k for k, key in enumerate(distinct)}
    place = [order[id(part.fitted[k])] for part in parts for k in part.place]
    cuts = np.concatenate([part.cuts for part in parts])
    return ScoredMembers(tuple(distinct.values()), np.array(place, dtype=np.intp), cuts, parts[0].remembered)


def constants(like: Members) -> Members | None:
    """The classifiers that say 0 and 1 to everybody, of the same kind; None where the kind has none."""
    if isinstance(like, LinearMembers):
        W = np.zeros((len(like.with_intercept), 2), like.W.dtype)
        W[-1] = -1.0, 1.0
        return LinearMembers(W, True, like.names)
    if isinstance(like, ThresholdMembers):
        return ThresholdMembers(like.setting, np.repeat([[np.inf, -np.inf]], len(like.cuts), axis=0))
    return None
