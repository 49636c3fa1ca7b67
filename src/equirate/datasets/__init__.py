"""The six data sets of the paper's Table 4, ready to train on.

In: a name. Out: a :class:`Dataset`: features, labels, attributes to slice by, and the protected group.
COMPAS, Adult and Communities and Crime come with the package; the others are read from a data directory (see
:func:`load`). Business is a public stand-in for data that were never published, and Wiki Toxicity is a close
relative of the paper's; :func:`describe` and each data set's ``description`` say so.

This sub-package needs pandas (the extra ``data``), and imports nothing else of equirate.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from . import adult, business, compas, crime, law_school, wiki_toxicity
from .dataset import Dataset, ProtectedGroup
from .files import CorruptDataError, Directory, MissingDataError, path_of, read_table
from .optional import require
from .sources import SOURCES, DataSource

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "CorruptDataError",
    "Dataset",
    "MissingDataError",
    "ProtectedGroup",
    "describe",
    "load",
    "load_adult",
    "load_business",
    "load_compas",
    "load_crime",
    "load_law_school",
    "load_wiki_toxicity",
    "locate",
    "names",
]


def __dir__() -> list[str]:
    """The public names alone."""
    return list(__all__)


_BUILDERS: dict[str, Callable[[pd.DataFrame], Dataset]] = {
    "compas": compas.build,
    "crime": crime.build,
    "law_school": law_school.build,
    "adult": adult.build,
    "wiki_toxicity": wiki_toxicity.build,
    "business": business.build,
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
    ('compas', 'crime', 'law_school', 'adult', 'wiki_toxicity', 'business')
    """
    return tuple(_BUILDERS)


def load(name: str, *, data_dir: Directory | None = None) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    data_dir : path, optional
        Where the files lie that are not bundled; by default the directory that the environment variable
        ``EQUIRATE_DATA`` names. Bundled data sets do not use it.

    Returns
    -------
    Dataset
        Features, label, attributes and protected group.

    Raises
    ------
    MissingDataError
        If the file is neither bundled nor in the data directory; says where to get it.
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
    source = _source(name, "load")
    return _BUILDERS[name](read_table(source, data_dir))


def locate(name: str, *, data_dir: Directory | None = None) -> Path:
    """Find the file of a data set without reading it, to check that it exists before anything is computed.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    data_dir : path, optional
        As in :func:`load`.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> locate("adult").name
    'adult.csv.gz'
    """
    return path_of(_source(name, "locate"), data_dir)


def _source(name: str, caller: str) -> DataSource:
    if name not in _BUILDERS:
        near = difflib.get_close_matches(str(name), _BUILDERS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"The 'name' parameter of {caller} must be one of {names()}. Got {name!r} instead.{hint}")
    return SOURCES[name]


def describe() -> pd.DataFrame:
    """Describe each data set in one row: size, positive rate, protected group, licence, source.

    Nothing is loaded: the numbers are known beforehand, and hold for the files this version knows.

    Returns
    -------
    pandas.DataFrame
        One row per data set.

    Examples
    --------
    >>> describe()[["name", "rows", "features", "positive_rate", "bundled"]]
                name    rows  features  positive_rate  bundled
    0         compas    6172        31          0.455     True
    1          crime    1994       135          0.292     True
    2     law_school   20512        36          0.949    False
    3          adult   48842       122          0.239     True
    4  wiki_toxicity  159571       100          0.898    False
    5       business   27969        36          0.194    False
    """
    pd = require("pandas", caller="equirate.datasets")
    rows = [
        {
            "name": source.name,
            "rows": source.n_rows,
            "features": source.n_features,
            "positive_rate": source.positive_rate,
            "protected": source.protected.name,
            "bundled": source.bundled,
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


def load_law_school(*, data_dir: Directory | None = None) -> Dataset:
    """Load Law School: passing the bar exam; protected: black students.

    See ``equirate.datasets.law_school``.

    Parameters
    ----------
    data_dir : path, optional
        As in :func:`load`.

    Returns
    -------
    Dataset
        Features, label, attributes and protected group.
    """
    return load("law_school", data_dir=data_dir)


def load_wiki_toxicity(*, data_dir: Directory | None = None) -> Dataset:
    """Load Wiki Toxicity: acceptable comments; protected: those with the term "gay".

    See ``equirate.datasets.wiki_toxicity`` for the embedding, which is computed once and then cached.

    Parameters
    ----------
    data_dir : path, optional
        As in :func:`load`.

    Returns
    -------
    Dataset
        Features, label, attributes and protected group.
    """
    return load("wiki_toxicity", data_dir=data_dir)


def load_business(*, data_dir: Directory | None = None) -> Dataset:
    """Load Business entity resolution, a stand-in: same business or not; protected: non-chain businesses.

    See ``equirate.datasets.business``. Needs rapidfuzz (the extra ``data``).

    Parameters
    ----------
    data_dir : path, optional
        As in :func:`load`.

    Returns
    -------
    Dataset
        Features, label, attributes and protected group.
    """
    return load("business", data_dir=data_dir)
