"""The six data sets of the paper's Table 4: those of ``equirate.datasets``, and those that are not bundled.

In: a name. Out: an `equirate.datasets.Dataset`. COMPAS, Adult and Communities and Crime come with equirate; the others
are read from a data directory (see :func:`load`). Business is a public stand-in for data that were never published, and
Wiki Toxicity is a close relative of the paper's; :func:`describe` and each data set's ``description`` say so.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from equirate import datasets as bundled
from equirate.datasets import Dataset

from . import business, law_school, wiki_toxicity
from .files import Directory, MissingDataError, path_of, read_table
from .sources import SOURCES

__all__ = ["MissingDataError", "describe", "load", "names", "require_files"]

_BUILDERS: dict[str, Callable[[pd.DataFrame], Dataset]] = {
    "law_school": law_school.build,
    "wiki_toxicity": wiki_toxicity.build,
    "business": business.build,
}


def names() -> tuple[str, ...]:
    """List the data sets that :func:`load` knows, in the order of the paper's Table 4.

    Examples
    --------
    >>> names()
    ('compas', 'crime', 'law_school', 'adult', 'wiki_toxicity', 'business')
    """
    return ("compas", "crime", "law_school", "adult", "wiki_toxicity", "business")


def load(name: str, *, data_dir: Directory | None = None) -> Dataset:
    """Load a data set by name.

    ``data_dir`` is where the files lie that are not bundled; by default the directory that the environment variable
    ``EQUIRATE_DATA`` names.
    """
    if name not in _BUILDERS:
        return bundled.load(name)
    return _BUILDERS[name](read_table(SOURCES[name], data_dir))


def require_files(name: str, *, data_dir: Directory | None = None) -> None:
    """Raise `MissingDataError` if the file of a data set is neither bundled nor in the data directory."""
    if name in _BUILDERS:
        path_of(SOURCES[name], data_dir)


def describe() -> pd.DataFrame:
    """Describe each data set in one row: size, positive rate, protected group, whether it is bundled, licence, source.

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
    others = [
        {
            "name": source.name,
            "rows": source.n_rows,
            "features": source.n_features,
            "positive_rate": source.positive_rate,
            "protected": source.protected.name,
            "licence": source.licence,
            "source": source.source,
            "bundled": False,
        }
        for source in SOURCES.values()
    ]
    table = pd.concat([bundled.describe().assign(bundled=True), pd.DataFrame(others)])
    return table.set_index("name").loc[list(names())].reset_index()
