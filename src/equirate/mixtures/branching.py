r"""Several ratios over mixtures of columns to their global optimum: branch and bound.

In: a `MixtureProgramme` with ratios, and a start. Out: the best mixture found, and a lower bound on the value of all
mixtures.

With :math:`z_m = N_m / D_m` everything but the products :math:`N_m = z_m D_m` is linear or convex. Over a box of
denominators and values each product is relaxed to its McCormick envelope, four inequalities, so a linear programme
gives a lower bound for the box (McCormick 1976). First the box is tightened around the mixtures that are better than
the best known one (`tightening`), which alone often closes the gap. Then the box with the smallest bound is split at
the ratio whose product is furthest from exact, until no bound is below the best mixture by more than the allowed gap.
Some of the mixtures that the programmes return are improved to a local optimum.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .convex import ConvexSolution
from .programme import Box, MixtureProgramme
from .ratios import local
from .tightening import tighten

Array = NDArray[np.float64]

MOST_RATIOS = 50
"""With more ratios no global optimum is searched for: a pass of bound tightening takes four programmes per ratio."""

ROOM_TOLERANCE = 1e-7
"""A mixture is accepted with a violation up to this much beyond the allowed one."""

STARTS = 12
"""Random starts if there are more than `MOST_RATIOS` ratios."""

SHRINKS = 0.1
"""Tightening is repeated if it shortened some side of the box by at least this fraction."""

_CUTOFF = 0.5
"""A mixture stays in a tightened box if it is better by this fraction of the gap: no smaller gap can be proven."""

_CUT_ROUNDS = 8
"""Largest number of programmes per box to cut its convex atoms."""


@dataclass(frozen=True)
class Search:
    """Limits of the search for the global optimum.

    Attributes
    ----------
    gap
        How far from the optimum the mixture may be.
    time_limit
        Seconds; None for no limit.
    programmes
        Number of linear programmes, a limit that does not depend on the machine; None for no limit.
    """

    gap: float = 1e-3
    time_limit: float | None = None
    programmes: int | None = None


@dataclass
class Effort:
    """The limits of a search and what has been used of them."""

    columns: MixtureProgramme
    search: Search
    began: float = field(default_factory=lambda: time.perf_counter())

    def __post_init__(self) -> None:
        self.first = self.columns.programme.solves

    @property
    def over(self) -> bool:
        """Whether the limits are reached."""
        limit, most = self.search.time_limit, self.search.programmes
        if limit is not None and time.perf_counter() - self.began > limit:
            return True
        return most is not None and self.columns.programme.solves - self.first >= most


@dataclass(order=True)
class _Node:
    """A box with its bound, and the halves that it is split into."""

    bound: float
    number: int
    box: Box = field(compare=False)
    halves: tuple[Box, Box] = field(compare=False)
    shrinking: bool = field(compare=False)
    """Whether to tighten the box again, or its halves."""


def best(columns: MixtureProgramme, start: Array, room: float | None, effort: Effort) -> ConvexSolution:
    """The mixture with the smallest objective and violation at most ``room``; if that is None, smallest violation."""
    root = root_box(columns)
    if root is None:
        return ConvexSolution(start, _value(columns, start, room), -np.inf)
    search = _Branching(columns, start, room, effort, root)
    return search.run() if len(columns.ratios) <= MOST_RATIOS else search.run_from_many_starts()


def root_box(columns: MixtureProgramme) -> Box | None:
    """The box of all denominators at or above their floors, and of the ratios' values; None if one has no column."""
    low, high = np.zeros((2, len(columns.ratios))), np.zeros((2, len(columns.ratios)))
    for m, ratio in enumerate(columns.ratios):
        N, D = ratio.numerator, ratio.denominator
        enough = ratio.floor <= D
        if not enough.any():
            return None
        low[0, m], high[0, m] = max(ratio.floor, D.min()), D.max()
        # N <= a D + b in every column, so N / D <= a + b / floor for every mixture; and likewise from below.
        values = N[enough] / D[enough]
        high[1, m] = values.max() + max((N - values.max() * D).max(), 0.0) / low[0, m]
        low[1, m] = values.min() + min((N - values.min() * D).min(), 0.0) / low[0, m]
    return Box(low, high)


def _value(columns: MixtureProgramme, mu: Array, room: float | None) -> float:
    objective, violation = columns.judge(mu)
    if not np.isfinite(objective + violation):
        return np.inf
    if room is None:
        return violation
    return objective if violation <= room + ROOM_TOLERANCE else np.inf


class _Branching:
    """One search: the heap of open boxes and the best mixture so far."""

    def __init__(self, columns: MixtureProgramme, start: Array, room: float | None, effort: Effort, root: Box) -> None:
        self.columns, self.room, self.effort, self.root = columns, room, effort, root
        self.weights, self.value = start, _value(columns, start, room)
        self.open: list[_Node] = []
        self.closed = np.inf
        self.bounded = 0
        self.spans = np.maximum(root.high - root.low, 1e-12)

    def run(self) -> ConvexSolution:
        """Tighten the root box while that shortens it, then branch until the gap is closed or a limit is reached."""
        node = self.bound(self.root, -np.inf, shrinking=True)
        while node is not None and node.shrinking and not self.effort.over:
            node = self.tightened(node)
        if node is not None:
            node.shrinking = True  # each half gets a pass of its own
        self.keep(node)
        while self.open and self.open[0].bound < self.enough and not self.effort.over:
            node = heapq.heappop(self.open)
            for box in node.halves:
                half = self.bound(box, node.bound, shrinking=False)
                self.keep(self.tightened(half) if half is not None and node.shrinking else half)
        return self.result()

    def run_from_many_starts(self) -> ConvexSolution:
        """Find local optima from the relaxation's mixture and from random ones; the bound is the relaxation's."""
        self.keep(self.bound(self.root, -np.inf, shrinking=False))
        rng = np.random.default_rng(0)
        for _ in range(STARTS):
            if self.effort.over:
                break
            mixture = np.zeros(self.columns.n_columns)
            np.add.at(mixture, rng.integers(self.columns.n_columns, size=3), rng.dirichlet(np.ones(3)))
            self.offer(local(self.columns, mixture, 20, 1e-6))
        return self.result()

    def keep(self, node: _Node | None) -> None:
        """Add a box to the open ones; None stands for a closed box."""
        if node is not None:
            heapq.heappush(self.open, node)

    def tightened(self, node: _Node) -> _Node | None:
        """The node with its box tightened around mixtures better than the best known one; None if there are none."""
        columns, cutoff = self.columns, self._less(_CUTOFF)
        columns.minimize_within(self.room)
        columns.inside(node.box)
        columns.set_cutoff(cutoff, violation=self.room is None)
        box = tighten(columns, node.box, lambda: self.effort.over)
        columns.set_cutoff(np.inf, violation=self.room is None)
        self.closed = min(self.closed, cutoff)  # mixtures outside the box are no better than that
        if box is None:
            return None
        return self.bound(box, node.bound, shrinking=box.side_lost(node.box) >= SHRINKS)

    def result(self) -> ConvexSolution:
        """The best mixture so far, and the smallest bound of any box."""
        bound = min([self.closed, self.value, *(node.bound for node in self.open[:1])])
        return ConvexSolution(self.weights, self.value, bound)

    @property
    def enough(self) -> float:
        """A box with a bound above this need not be searched."""
        return self._less(1.0)

    def _less(self, share: float) -> float:
        """A value below the best known one by a share of the gap; a violation is searched until it is 0."""
        value = self.value - share * self.effort.search.gap
        return max(value, ROOM_TOLERANCE) if self.room is None and self.value > ROOM_TOLERANCE else value

    def bound(self, box: Box, above: float, shrinking: bool) -> _Node | None:
        """Solve a box's programme and cut its convex atoms; None if the box has no better mixture."""
        columns = self.columns
        columns.minimize_within(self.room)
        columns.inside(box)
        lower, last = above, None
        for _ in range(_CUT_ROUNDS):
            solved = columns.solve()
            if solved is None:
                if last is None:
                    return None  # the box is empty
                break
            last = solved
            lower = max(lower, solved[2])
            if lower >= self.enough or not columns.cut_off(solved[1], solved[0]):
                break
        assert last is not None  # the loop runs at least once
        self.bounded += 1
        self.offer(last[0])
        if lower < self.enough and self.bounded & (self.bounded - 1) == 0:  # at 1, 2, 4, 8, ... boxes
            self.offer(local(columns, last[0], 20, 1e-6))
        if lower >= self.enough:
            self.closed = min(self.closed, lower)
            return None
        return self._node(box, last[1], lower, shrinking)

    def offer(self, mu: Array) -> None:
        """Keep the mixture if it is better than the best one so far."""
        value = _value(self.columns, mu, self.room)
        if value < self.value:
            self.weights, self.value = mu, value

    def _node(self, box: Box, others: Array, lower: float, shrinking: bool) -> _Node:
        """Split at the ratio that is furthest from its value, along the longer side of its box, near the solution."""
        columns = self.columns
        D = np.array([others[ratio.bottom] for ratio in columns.ratios])
        N = np.array([others[ratio.top] for ratio in columns.ratios])
        z = others[columns.violation_index + 1 :]
        m = int(np.argmax(np.abs(z - N / D)))
        side = int(np.argmax((box.high - box.low)[:, m] / self.spans[:, m]))
        lo, hi = box.low[side, m], box.high[side, m]
        current = N[m] / D[m] if side else D[m]
        point = float(np.clip(0.5 * current + 0.25 * (lo + hi), lo + 0.1 * (hi - lo), hi - 0.1 * (hi - lo)))
        return _Node(lower, self.bounded, box, box.split(side, m, point), shrinking)
