"""An encoder learnt batch by batch, for tables that do not fit into memory.

In: batches of a table, and which of their rows to learn from. Out: the `Encoder` that `Encoder.learnt` gives, up to
rounding; memory does not grow with the table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError
from .encoder import MOST_VALUES, Encoder, Encoding, OneHot, Scaled
from .kinds import Kind, codes, kind_of, numbers

Positions = NDArray[np.intp]


class _Numbers:
    """Count, mean and sum of squared deviations of a column, merged batch by batch (Chan, Golub and LeVeque)."""

    def __init__(self, name: str, kind: Kind) -> None:
        self.name, self.kind = name, kind
        self.count, self.mean, self.squares, self.missing = 0, 0.0, 0.0, False

    def add(self, column: Any, rows: Positions) -> None:
        values = numbers(self.name, column, self.kind)[rows]
        present = values[~np.isnan(values)]
        self.missing |= len(present) < len(values)
        if not len(present):
            return
        with np.errstate(over="ignore", invalid="ignore"):
            mean, count = float(present.mean()), self.count + len(present)
            difference = mean - self.mean
            self.squares += float(((present - mean) ** 2).sum()) + difference**2 * self.count * len(present) / count
            self.mean += difference * len(present) / count
        self.count = count

    def encoding(self) -> Encoding | None:
        if not self.count:
            return None
        scale = math.sqrt(self.squares / self.count) if self.squares >= 0 else math.nan
        if not (math.isfinite(self.mean) and math.isfinite(scale)):
            raise DataError(f"column {self.name!r} holds numbers too large to scale")
        if scale <= 1e-12 * abs(self.mean):  # the same number everywhere, up to rounding
            return Scaled(self.name, self.kind, self.mean, 1.0, True) if self.missing else None
        return Scaled(self.name, self.kind, self.mean, scale, self.missing)


class _Texts:
    """The values of a column of categories."""

    def __init__(self, name: str) -> None:
        self.name, self.missing = name, False
        self.values: Counter[str] = Counter()

    def add(self, column: Any, rows: Positions) -> None:
        indices, values = codes(column)
        counts = np.bincount(indices[rows] + 1, minlength=len(values) + 1)
        self.missing |= bool(counts[0])
        self.values.update({value: int(count) for value, count in zip(values, counts[1:], strict=True) if count})
        if len(self.values) > MOST_VALUES:
            raise DataError(
                f"column {self.name!r} has more than {MOST_VALUES:,} distinct values: it looks like an identifier or "
                f"free text, which is no feature; leave it out with --ignore {self.name!r}"
            )

    def encoding(self) -> Encoding | None:
        several = len(self.values) + self.missing > 1
        return OneHot(self.name, tuple(sorted(self.values)), self.missing) if several else None


def learnt_from(batches: Iterable[Any], names: Sequence[str], rows: Positions) -> Encoder:
    """Learn how columns become features.

    Parameters
    ----------
    batches
        Batches of the table, in order.
    names
        The columns that become features.
    rows
        Indices of the rows to learn from, in ascending order.
    """
    seen: dict[str, _Numbers | _Texts] = {}
    start = 0
    for batch in batches:
        positions = within(rows, start, batch.num_rows)
        start += batch.num_rows
        for name in names:
            column = batch.column(batch.schema.get_field_index(name))
            if name not in seen:
                kind = kind_of(name, column)
                seen[name] = _Texts(name) if kind in (None, Kind.CATEGORY) else _Numbers(name, kind)
            seen[name].add(column, positions)
    encodings = (seen[name].encoding() for name in names if name in seen)
    return Encoder(tuple(column for column in encodings if column is not None))


def within(rows: Positions, start: int, count: int) -> Positions:
    """The given rows of a table that are in a batch, as indices in the batch."""
    first, last = np.searchsorted(rows, [start, start + count])
    return rows[first:last] - start
