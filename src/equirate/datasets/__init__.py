"""Three data sets that come with the package: COMPAS, Communities and Crime, and Adult.

In: a name. Out: a :class:`Dataset`: features, labels, attributes to slice by, and the protected group.
The laboratory (equirate-lab) has loaders of the other three of the paper's Table 4, which are not bundled.

This sub-package needs pandas (the extra ``data``), and imports nothing else of equirate.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from . import adult, compas, crime
from .dataset import Dataset, ProtectedGroup
from .files import CorruptDataError, read_table
from .optional import require
from .sources import SOURCES, DataSource

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "CorruptDataError",
    "DataSource",
    "Dataset",
    "ProtectedGroup",
    "describe",
    "load",
    "load_adult",
    "load_compas",
    "load_crime",
    "names",
]


def __dir__() -> list[str]:
    """The public names alone."""
    return list(__all__)


_BUILDERS: dict[str, Callable[[pd.DataFrame], Dataset]] = {
    "compas": compas.build,
    "crime": crime.build,
    "adult": adult.build,
}


def names() -> tuple[str, ...]:
    """List the data sets that :func:`load` knows, in the order of the paper's Table 4.

    Returns
    -------
    tuple of str
        Names for :func:`load`.

    Examples
    --------
    >>> names()
    ('compas', 'crime', 'adult')
    """
    return tuple(_BUILDERS)


def load(name: str) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    Dataset
        Features, label, attributes and protected group.

    Raises
    ------
    CorruptDataError
        If the file's sha256 is not the known one.

    Examples
    --------
    >>> data = load("adult")
    >>> data
    <Dataset adult: 48,842 rows x 122 features, 23.9% positive, 33.2% protected (women: sex == 'Female'),
     parts train/test>
    >>> train = data.split == "train"
    >>> data.features[train].shape, data.label[train].shape
    ((32561, 122), (32561,))
    """
    if name not in _BUILDERS:
        near = difflib.get_close_matches(str(name), _BUILDERS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"The 'name' parameter of load must be one of {names()}. Got {name!r} instead.{hint}")
    return _BUILDERS[name](read_table(SOURCES[name]))


def describe() -> pd.DataFrame:
    """Describe each data set in one row: size, positive rate, protected group, licence, source.

    Nothing is loaded: the numbers are known beforehand, and hold for the files this version knows.

    Returns
    -------
    pandas.DataFrame
        One row per data set.

    Examples
    --------
    >>> describe()[["name", "rows", "features", "positive_rate"]]
         name   rows  features  positive_rate
    0  compas   6172        31          0.455
    1   crime   1994       135          0.292
    2   adult  48842       122          0.239
    """
    pd = require("pandas", caller="equirate.datasets")
    rows = [
        {
            "name": source.name,
            "rows": source.n_rows,
            "features": source.n_features,
            "positive_rate": source.positive_rate,
            "protected": source.protected.name,
            "licence": source.licence,
            "source": source.source,
        }
        for source in (SOURCES[name] for name in names())
    ]
    return pd.DataFrame(rows)  # type: ignore[no-any-return]


def load_compas() -> Dataset:
    """Load COMPAS: recidivism within two years; protected: women. See ``equirate.datasets.compas``.

    Returns
    -------
    Dataset
        Features, label, attributes and protected group.

    Examples
    --------
    >>> load_compas().n_features
    31
    """
    return load("compas")


def load_adult() -> Dataset:
    """Load Adult: income above 50,000 dollars; protected: women. See ``equirate.datasets.adult``.

    Returns
    -------
    Dataset
        Features, label, attributes and protected group.

    Examples
    --------
    >>> load_adult().n_features
    122
    """
    return load("adult")


def load_crime(*, training_rows: ArrayLike | None = None) -> Dataset:
    """Load Communities and Crime: high crime rate; protected: communities with many black citizens.

    Parameters
    ----------
    training_rows : array-like of int or bool, optional
        The rows that fill values and bin edges are taken from, if you have chosen a split; all rows if None.
        See ``equirate.datasets.crime``.

    Returns
    -------
    Dataset
        Features, label, attributes and protected group.

    Examples
    --------
    >>> load_crime().n_features
    135
    """
    return crime.build(read_table(SOURCES["crime"]), training_rows)
