"""Linear functions of rates on a sample: standard errors and one-sided bounds, of many functions at once.

In: functions that are *alike*, that is, of the same rates but for their slices, as the gaps of all groups are; and sums
over the sample. Out: a bound for each of them, as the docstring of `estimates` derives it. The first axis of every
array is that of the functions. `estimates` asks for one or for many.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtr, ndtri, stdtrit

from .._core.cached import cached_property
from ..data.cells import Cells
from ..language.nodes import Rate
from .spread import CellSums, Sums, outcomes

Array = NDArray[np.float64]
Functions = Sequence[Sequence[Rate]]
"""The rates of each of several functions."""

FEWER = 4  # cells are put together where that leaves a quarter of them at most


class Influence(NamedTuple):
    """What examples do to linear functions, the made-up ones included."""

    a: Array
    """(functions, counts): by prediction."""
    b: Array
    """(functions, cells): whatever is predicted."""
    slopes: Array
    offsets: Array
    """The same for each rate by itself, as a last axis."""
    step: Array
    """(functions, rates): what the made-up example does to each rate."""
    new: Array
    """(functions, denominators): what it does to the function."""
    span: Array
    """(functions, denominators): how far apart one example's outcomes are."""


@dataclass(frozen=True, eq=False)
class LinearFunctions:
    """Rates of functions that are alike, and how they spread."""

    sums: Sums
    plain: bool
    """Whether every example counts the same, and by itself: then counts are binomial."""
    here: Array
    """(functions, rates): their values."""
    slopes: Array
    """(functions, counts, rates)"""
    offsets: Array
    inside: Array
    """(functions, cells, rates)"""
    populations: Sequence[Hashable]
    """What each rate is measured among: rates of one population have one denominator."""
    outcomes: Array
    """(rates, sorts): what an example of each sort contributes."""

    @cached_property
    def group(self) -> NDArray[np.intp]:
        """The denominator of each rate."""
        number = {population: k for k, population in enumerate(dict.fromkeys(self.populations))}
        return np.array([number[population] for population in self.populations], dtype=np.intp)

    @cached_property
    def first(self) -> NDArray[np.intp]:
        """The first rate of each denominator."""
        return np.unique(self.group, return_index=True)[1]

    @cached_property
    def sizes(self) -> Array:
        """(functions, rates): effective numbers of examples."""
        sizes: Array = 1 / self.sums.concentration(self.inside)
        return sizes

    def by_denominator(self, values: Array) -> Array:
        """Add values of rates (functions, rates, ...) up, denominator by denominator."""
        sums = np.zeros((len(self.first), len(values), *values.shape[2:]))
        np.add.at(sums, self.group, values.swapaxes(0, 1))
        return sums.swapaxes(0, 1)

    def influence(self, gradient: Array, side: int) -> Influence:
        """Every example's influence, with one made-up example for every denominator, of the worst outcome."""
        moved = self.by_denominator(gradient[:, :, None] * self.outcomes)
        worst = (side * moved).round(12).argmax(axis=2)  # a tie is not decided by rounding
        made_up = self.outcomes[np.arange(len(self.group)), worst[:, self.group]]
        share = self.sizes / (self.sizes + 1)
        shifted = share * self.here + (1 - share) * made_up
        slopes = self.slopes * share[:, None]
        offsets = (self.offsets - self.inside * shifted[:, None]) * share[:, None]
        step = (made_up - shifted) / (self.sizes + 1)
        return Influence(
            _total(slopes, gradient),
            _total(offsets, gradient),
            slopes,
            offsets,
            step,
            self.by_denominator(gradient * step),
            np.ptp(moved, axis=2) / self.sizes[:, self.first],
        )

    def reach(
        self, gradient: Array, side: int, level: float, influence: Influence | None = None
    ) -> tuple[Array, Array]:
        """How far each function may be from its value, and its second moment; ``influence``, if it is known."""
        _, _, _, _, _, new, span = influence = influence or self.influence(gradient, side)
        second, third = self.sums.moments(influence.a, influence.b)
        second, third = second + (new * new).sum(axis=1), third + (new * new * new).sum(axis=1)
        error = np.sqrt(np.where(second > 0, second, 1.0))
        shift = third / error**2 / 2 + side * np.sqrt((span * span).sum(axis=1)) / 2
        z = side * self._quantile(gradient, level)
        reach = side * np.maximum(side * (shift + error * _skewed(z, 2 * third / error**3)), 0.0)
        return np.where(second > 0, reach, 0.0), second

    def _quantile(self, gradient: Array, level: float) -> Array:
        """Normal for counts; Student's where the spread itself is estimated from few clusters or uneven weights."""
        if self.plain:
            return np.full(len(gradient), ndtri(level))
        sizes = self.sizes[:, self.first]
        variances = self.by_denominator(np.abs(gradient)) ** 2 / sizes
        with np.errstate(invalid="ignore", divide="ignore"):  # a function that is constant has no variance
            freedom = variances.sum(axis=1) ** 2 / (variances**2 / np.maximum(sizes - 1, 0.5)).sum(axis=1)
        return np.asarray(stdtrit(freedom, level))

    def error(self, gradient: Array) -> Array:
        """Standard error of each function, with the outcomes that could have gone unseen."""
        plain, _ = self.sums.moments(_total(self.slopes, gradient), _total(self.centred, gradient))
        unseen = self.by_denominator(gradient[:, :, None] * self.unseen)
        return np.asarray(np.sqrt(plain + (unseen * unseen).sum(axis=(1, 2))))

    @cached_property
    def centred(self) -> Array:
        """Offsets from the values of the rates."""
        centred: Array = self.offsets - self.inside * self.here[:, None]
        return centred

    @cached_property
    def unseen(self) -> Array:
        """What half an example of each sort would do to each rate, (functions, rates, sorts)."""
        spread = self.outcomes - self.outcomes.mean(axis=1, keepdims=True)
        effect: Array = spread / (self.sizes + 1)[:, :, None] / np.sqrt(self.outcomes.shape[1])
        return effect


def alike(rates: Sequence[Rate]) -> tuple[Any, ...]:
    """What functions of rates must share to be worked out together: everything but who is in the slices."""
    places = {slice_: k for k, slice_ in enumerate(dict.fromkeys(rate.slice for rate in rates))}
    return tuple((rate.kind.labels, rate.kind.contributions, places[rate.slice], rate.baseline) for rate in rates)


def together(
    cells: Cells, sums: CellSums, plain: bool, measure: Callable[[Rate], float], functions: Functions
) -> LinearFunctions:
    """Functions that are `alike`, on the cells that each of them distinguishes."""
    here = np.array([[measure(rate) for rate in rates] for rates in functions])  # refuses empty rates
    first = functions[0]
    slices = [list(dict.fromkeys(rate.slice for rate in rates)) for rates in functions]
    places = {slice_: k for k, slice_ in enumerate(slices[0])}
    names = list(dict.fromkeys(rate.baseline for rate in first if rate.baseline is not None))
    members = np.array([[cells.members[slice_] for slice_ in own] for own in slices])  # (functions, slices, cells)
    common = [cells.labels, *(cells.baselines[name] for name in names)]
    totals = cells.totals
    number = 2 ** (len(common) + len(places))
    if number * FEWER <= len(cells):
        merged = _merged(common, members, [totals, *sums.squares, *sums.cubes])
        totals, sums = merged[0], CellSums(np.stack(merged[1:4]), np.stack(merged[4:]))
        bits = np.arange(number) >> np.arange(len(common) + len(places))[:, None] & 1
        common, members = list(bits[: len(common)]), bits[None, len(common) :].astype(bool)
    by_rate = []
    for rate in first:
        counted = members[:, places[rate.slice]] & rate.among(common[0])
        weight = counted / (totals * counted).sum(axis=-1, keepdims=True)
        b = 0 if rate.baseline is None else common[1 + names.index(rate.baseline)]
        slope, offset = np.array(rate.kind.contributions)[common[0], b].T
        by_rate.append((weight * slope, weight * offset, weight))
    slopes, offsets, inside = (np.stack(part, axis=-1) for part in zip(*by_rate, strict=True))
    populations, sorts = [rate.population for rate in first], np.array([outcomes(rate) for rate in first])
    return LinearFunctions(sums, plain, here, slopes, offsets, inside, populations, sorts)


def _merged(common: Sequence[NDArray[Any]], members: NDArray[np.bool_], sums: Sequence[Array]) -> list[Array]:
    """Sums over cells (cells,) as sums over the cells that each function distinguishes, (functions, numbers of cells).

    Most cells have the same memberships, outside of a group or inside of the rest: only the others are gone through.
    """
    functions, width = len(members), len(common)
    usual = members.mean(axis=2) > 0.5
    of, cell = np.nonzero((members != usual[:, :, None]).any(axis=1))
    kind = whole_numbers([*common])
    place = kind[cell] + (whole_numbers([*members[of, :, cell].T]) << width)
    default = np.arange(2**width) + (whole_numbers([*usual.T]) << width)[:, None]
    size = 2 ** (width + members.shape[1])
    merged_sums = []
    for values in sums:
        added = np.bincount(of * size + place, weights=values[cell], minlength=functions * size)
        outside_default = np.bincount((of << width) + kind[cell], weights=values[cell], minlength=functions << width)
        by_kind = np.bincount(kind, weights=values, minlength=2**width)
        merged = added.reshape(functions, size).astype(float, copy=False)
        merged[np.arange(functions)[:, None], default] += by_kind - outside_default.reshape(functions, -1)
        merged_sums.append(merged)
    return merged_sums


def whole_numbers(bits: Sequence[NDArray[Any]]) -> NDArray[np.intp]:
    """Whole numbers from their bits, the lowest first."""
    return np.asarray(sum(np.asarray(bit, dtype=np.intp) << k for k, bit in enumerate(bits)))


def _total(parts: Array, gradient: Array) -> Array:
    """Add parts (functions, ..., rates) up over the rates."""
    total: Array = (parts @ gradient[:, :, None])[:, :, 0]
    return total


def _skewed(z: Array, skewness: Array) -> Array:
    """Quantiles of standardised gamma variables with some skewness, from those of a normal variable."""
    size = np.abs(skewness)
    small = np.where(size < 1e-6, 1.0, skewness)
    quantiles: Array = np.where(size < 1e-6, z, 2 / small * ((1 + (z - small / 6) * small / 6) ** 3 - 1))
    large = size >= 0.05  # below, Wilson and Hilferty are better than four digits
    if large.any():
        shape, sign = 4 / skewness[large] ** 2, np.sign(skewness[large])
        quantiles[large] = sign * (gammaincinv(shape, ndtr(sign * z[large])) - shape) / np.sqrt(shape)
    return quantiles
