"""Business entity resolution, a stand-in: whether two listings describe the same business.

In: pairs of listings. Out: the pairs between OpenStreetMap and Yelp in Toronto: 27,969 rows (13,984 train,
5,594 dev, 8,391 test), 36 features; protected are pairs of non-chain businesses.

The paper's business data are proprietary, and so are their 36 features. These are others, of the kind one
would use: nine similarities of the names and of the addresses (rapidfuzz; cosine of character trigrams),
whether they are equal, contain each other and differ in length, what is missing, postal codes, house numbers
and the distance. What is missing on either side has similarity 0.

A name, in lower case and without punctuation, is a chain's if it occurs at three or more places (coordinates
rounded to three decimals, about 100 m) on one side of the pairs; a pair is a chain's if either name is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rapidfuzz import distance, fuzz, process, utils
from sklearn.feature_extraction.text import HashingVectorizer

from equirate.datasets import Dataset

from .sources import SOURCES
from .tabular import Columns, frame, text_array

__all__ = ["build"]

CHAIN_PLACES = 3
EARTH_RADIUS = 6_371_000.0  # metres
NEAR = (50, 100, 250)  # metres
DISTRICT = 3  # a Canadian postal code's first three characters name a district
SIDES = ("left", "right")


def build(table: pd.DataFrame) -> Dataset:
    """Build the data set from the raw table of all cities and sources."""
    source = SOURCES["business"]
    toronto = (table["source"] == "osm_yelp") & (table["city"] == "tor")
    pairs = table.loc[toronto].reset_index(drop=True)
    columns: Columns = {}
    for part in ("name", "address"):
        columns |= _text_columns(part, *(pairs[f"{side}_{part}"].tolist() for side in SIDES))
    columns |= _missing_columns("address", pairs)
    columns |= _house_number_columns(*(pairs[f"{side}_address"].tolist() for side in SIDES))
    columns |= _postal_columns(*(pairs[f"{side}_postalCode"].tolist() for side in SIDES))
    columns |= _missing_columns("postalCode", pairs)
    columns |= _distance_columns(pairs)
    return Dataset(
        name=source.name,
        features=frame(columns),
        label=pairs["label"].to_numpy(dtype=np.int64, copy=True),
        attributes=pd.DataFrame({"kind": np.where(_is_chain(pairs), "chain", "non-chain")}),
        protected=source.protected,
        description=source.description,
        split=text_array(pairs["split"].replace({"valid": "dev"})),
    )


def _scorers() -> dict[str, Any]:
    """Name the similarities of two strings, each from 0 to 1 or from 0 to 100."""
    return {
        "edit": distance.Levenshtein.normalized_similarity,
        "indel": fuzz.ratio,
        "partial": fuzz.partial_ratio,
        "token_sort": fuzz.token_sort_ratio,
        "token_set": fuzz.token_set_ratio,
        "jaro_winkler": distance.JaroWinkler.normalized_similarity,
        "prefix": distance.Prefix.normalized_similarity,
        "postfix": distance.Postfix.normalized_similarity,
    }


def _text_columns(part: str, left: Sequence[str], right: Sequence[str]) -> Columns:
    """Measure how alike the two texts of each pair are, ignoring case and punctuation."""
    scorers = _scorers()
    clean = utils.default_process
    ours, theirs = [clean(text) for text in left], [clean(text) for text in right]
    known = _each(bool(a) and bool(b) for a, b in zip(ours, theirs, strict=True))
    columns: Columns = {}
    for name, scorer in scorers.items():
        scale = 100.0 if scorer.__module__.startswith("rapidfuzz.fuzz") else 1.0
        columns[f"{part}_{name}"] = known * process.cpdist(ours, theirs, scorer=scorer, dtype=np.float64) / scale
    columns[f"{part}_trigrams"] = known * _trigram_cosine(ours, theirs)
    columns[f"{part}_equal"] = known * _each(a == b for a, b in zip(ours, theirs, strict=True))
    columns[f"{part}_contained"] = known * _each(a in b or b in a for a, b in zip(ours, theirs, strict=True))
    columns[f"{part}_length_difference"] = known * _each(
        abs(len(a) - len(b)) / max(len(a), len(b), 1) for a, b in zip(ours, theirs, strict=True)
    )
    return columns


def _trigram_cosine(left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
    trigrams = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 3), alternate_sign=False)
    product = trigrams.transform(left).multiply(trigrams.transform(right))
    return np.asarray(product.sum(axis=1), dtype=np.float64).ravel()


def _missing_columns(part: str, pairs: pd.DataFrame) -> Columns:
    return {f"{side}_{part}_missing": _each(not text for text in pairs[f"{side}_{part}"]) for side in SIDES}


def _house_number_columns(left: Sequence[str], right: Sequence[str]) -> Columns:
    """Whether both addresses have numbers, and whether they share one."""
    numbers = [(set(re.findall(r"\d+", a)), set(re.findall(r"\d+", b))) for a, b in zip(left, right, strict=True)]
    return {
        "house_number_known": _each(bool(a) and bool(b) for a, b in numbers),
        "house_number_shared": _each(bool(a & b) for a, b in numbers),
    }


def _postal_columns(left: Sequence[str], right: Sequence[str]) -> Columns:
    codes = [(a.replace(" ", "").upper(), b.replace(" ", "").upper()) for a, b in zip(left, right, strict=True)]
    return {
        "postalCode_equal": _each(a == b != "" for a, b in codes),
        "postalCode_same_district": _each(a[:DISTRICT] == b[:DISTRICT] != "" for a, b in codes),
    }


def _distance_columns(pairs: pd.DataFrame) -> Columns:
    """Give the great-circle distance (haversine formula), as a logarithm and as thresholds."""
    phi, psi = (np.radians(pairs[f"{side}_latitude"].to_numpy(dtype=np.float64)) for side in SIDES)
    lam, mu = (np.radians(pairs[f"{side}_longitude"].to_numpy(dtype=np.float64)) for side in SIDES)
    chord = np.sin((psi - phi) / 2) ** 2 + np.cos(phi) * np.cos(psi) * np.sin((mu - lam) / 2) ** 2
    metres = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.clip(chord, 0, 1)))
    within = {f"within_{limit}_metres": (metres <= limit).astype(np.float64) for limit in NEAR}
    return {"log_distance": np.log1p(metres), **within}


def _is_chain(pairs: pd.DataFrame) -> NDArray[np.bool_]:
    chains: set[str] = set()
    keys = {side: [_plain(name) for name in pairs[f"{side}_name"]] for side in SIDES}
    for side in SIDES:
        places: dict[str, set[tuple[float, float]]] = {}
        spots = np.round(pairs[[f"{side}_latitude", f"{side}_longitude"]].to_numpy(dtype=np.float64), 3)
        for key, (latitude, longitude) in zip(keys[side], spots.tolist(), strict=True):
            places.setdefault(key, set()).add((latitude, longitude))
        chains |= {key for key, own in places.items() if key and len(own) >= CHAIN_PLACES}
    return np.array([a in chains or b in chains for a, b in zip(keys["left"], keys["right"], strict=True)])


def _plain(name: str) -> str:
    """Reduce a name to its words of Latin letters and digits, in lower case."""
    return " ".join(re.findall(r"[a-z0-9]+", name.lower()))


def _each(values: Iterable[float]) -> NDArray[np.float64]:
    return np.fromiter(values, dtype=np.float64)
