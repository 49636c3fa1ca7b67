"""Data sets that are not bundled: their loaders, their files, and the cache of what is computed of them."""

import dataclasses
import gzip
import hashlib
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from equirate_lab import datasets
from equirate_lab.datasets import business, cache as cache_module, files, wiki_toxicity
from equirate_lab.datasets.sources import SOURCES

from equirate.datasets import CorruptDataError, Dataset, names as bundled_names

# name: rows, features, positive rate, protected fraction, positive rate inside and outside that group.
FACTS = {
    "law_school": (20_512, 36, 0.949, 0.059, 0.777, 0.960),
    "business": (27_969, 36, 0.194, 0.559, 0.247, 0.127),
}


@cache
def _load(name: str, data_dir: Path) -> Dataset:
    if not (data_dir / SOURCES[name].file).is_file():
        pytest.skip(f"no data directory at {data_dir} with {SOURCES[name].file}")
    return datasets.load(name, data_dir=data_dir)


@pytest.mark.parametrize("name", FACTS)
def test_counts_and_rates_are_the_documented_ones(name: str, data_dir: Path) -> None:
    data = _load(name, data_dir)
    rows, features, positive, protected, inside, outside = FACTS[name]
    group = data.protected_rows
    assert (data.n_rows, data.n_features) == (rows, features)
    assert data.positive_rate == pytest.approx(positive, abs=6e-4)
    assert group.mean() == pytest.approx(protected, abs=6e-4)
    assert data.label[group].mean() == pytest.approx(inside, abs=6e-4)
    assert data.label[~group].mean() == pytest.approx(outside, abs=6e-4)


@pytest.mark.parametrize("name", FACTS)
def test_parts_are_numbers_without_gaps(name: str, data_dir: Path) -> None:
    data = _load(name, data_dir)
    assert set(data.features.dtypes) == {np.dtype(np.float64)}
    assert np.isfinite(data.features.to_numpy()).all()
    assert data.features.columns.is_unique
    assert data.features.index.equals(pd.RangeIndex(data.n_rows))
    assert data.attributes.index.equals(data.features.index)
    assert not data.attributes.isna().any().any()
    assert set(np.unique(data.label)) == {0, 1}
    assert data.label.dtype == np.int64


@pytest.mark.parametrize("name", FACTS)
def test_describe_says_what_load_gives(name: str, data_dir: Path) -> None:
    data = _load(name, data_dir)
    row = datasets.describe().set_index("name").loc[name]
    assert (row["rows"], row["features"]) == (data.n_rows, data.n_features)
    assert row["positive_rate"] == pytest.approx(data.positive_rate, abs=6e-4)
    assert row["protected"] == data.protected.name


def test_bundled_sets_need_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIRATE_DATA", str(tmp_path))
    datasets.require_files("compas")
    assert datasets.load("compas").n_rows == 6_172


def test_the_split_of_business_is_the_published_one(data_dir: Path) -> None:
    parts = _load("business", data_dir).split
    assert dict(zip(*np.unique(parts, return_counts=True), strict=True)) == {
        "train": 13_984,
        "dev": 5_594,
        "test": 8_391,
    }


def test_names_and_describe_list_the_six() -> None:
    assert set(datasets.names()) == {*bundled_names(), *SOURCES}
    table = datasets.describe()
    assert list(table["name"]) == list(datasets.names())
    assert set(table.loc[table["bundled"].astype(bool), "name"]) == set(bundled_names())
    assert not table.isna().any().any()


def test_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"Did you mean 'compas'\?"):
        datasets.load("compass")


@pytest.mark.parametrize("name", SOURCES)
def test_missing_file_is_explained(name: str, tmp_path: Path) -> None:
    with pytest.raises(datasets.MissingDataError) as caught:
        datasets.load(name, data_dir=tmp_path)
    message = str(caught.value)
    source = SOURCES[name]
    for part in (source.file, str(tmp_path), source.source, source.sha256, "data_dir=", "EQUIRATE_DATA"):
        assert part in message
    assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(datasets.MissingDataError) as again:
        datasets.require_files(name, data_dir=tmp_path)
    assert str(again.value) == message
    (tmp_path / source.file).touch()
    datasets.require_files(name, data_dir=tmp_path)  # found, not read


def test_directory_is_the_argument_else_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIRATE_DATA", str(tmp_path / "variable"))
    assert files.data_directory() == tmp_path / "variable"
    assert files.data_directory(tmp_path) == tmp_path


def test_wrong_file_is_refused_with_both_digests(tmp_path: Path) -> None:
    content = gzip.compress(b"a,b\n1,2\n")
    (tmp_path / "law_school.csv.gz").write_bytes(content)
    with pytest.raises(CorruptDataError) as caught:
        datasets.load("law_school", data_dir=tmp_path)
    message = str(caught.value)
    assert "law_school.csv.gz" in message
    assert SOURCES["law_school"].sha256 in message
    assert hashlib.sha256(content).hexdigest() in message


def test_a_table_compressed_anew_is_accepted_by_its_content(tmp_path: Path) -> None:
    text = b"a,b\n1,2\n"
    source = dataclasses.replace(
        SOURCES["law_school"], content_sha256=hashlib.sha256(text).hexdigest(), sha256="0" * 64
    )
    (tmp_path / source.file).write_bytes(gzip.compress(text))
    assert files.read_table(source, tmp_path).to_dict("list") == {"a": [1], "b": [2]}


def test_the_stand_in_says_that_it_is_one() -> None:
    assert "stand-in" in SOURCES["business"].description


# The embedding of Wiki Toxicity


WORDS = ("good", "bad", "new", "old", "edit", "page", "idea", "source", "link", "user")
TEXTS = [" ".join(WORDS[(i * step) % 10] for step in (1, 3, 4)) for i in range(30)]


def test_embedding_is_deterministic_and_standardised_on_the_training_part() -> None:
    known = np.arange(len(TEXTS)) % 3 > 0
    one, two = (wiki_toxicity.embed(TEXTS, known, n_dimensions=3) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one[known].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(one[known].std(axis=0), 1, atol=1e-4)


def test_embedding_does_not_learn_from_other_rows() -> None:
    known = np.arange(len(TEXTS)) % 3 > 0
    other = [text if learnt else "entirely different words" for text, learnt in zip(TEXTS, known, strict=True)]
    one, two = (wiki_toxicity.embed(texts, known, n_dimensions=3) for texts in (TEXTS, other))
    np.testing.assert_array_equal(one[known], two[known])


def test_wiki_rows_labels_and_groups(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole file with the embedding left out, which takes too long to compute here."""
    source = SOURCES["wiki_toxicity"]
    if not (data_dir / source.file).is_file():
        pytest.skip(f"no data directory at {data_dir} with {source.file}")
    monkeypatch.setenv("EQUIRATE_CACHE", str(tmp_path))
    monkeypatch.setattr(
        wiki_toxicity,
        "embed",
        lambda comments, training_rows: np.zeros((len(comments), 100), dtype=np.float32),
    )
    data = datasets.load("wiki_toxicity", data_dir=data_dir)
    assert (data.n_rows, data.n_features) == (source.n_rows, source.n_features) == (159_571, 100)
    assert dict(zip(*np.unique(data.split, return_counts=True), strict=True)) == {
        "train": 95_692,
        "dev": 32_128,
        "test": 31_751,
    }
    assert (data.label == 0).sum() == 16_225  # label 1 is acceptable
    assert data.positive_rate == pytest.approx(source.positive_rate, abs=6e-4)
    assert data.protected_rows.sum() == 998
    assert data.protected_rows[data.split == "train"].sum() == 594


@pytest.mark.slow
def test_wiki_embedding_predicts(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    table = files.read_table(SOURCES["wiki_toxicity"], data_dir).iloc[:20_000]
    monkeypatch.setenv("EQUIRATE_CACHE", str(tmp_path))
    data = wiki_toxicity.build(table)
    train, test = data.split == "train", data.split == "test"
    values = data.features.to_numpy()
    scores = LogisticRegression(max_iter=500).fit(values[train], data.label[train]).decision_function(values[test])
    assert np.isfinite(values).all()
    assert roc_auc_score(data.label[test], scores) > 0.88


# The cache


def _ones() -> np.ndarray:
    return np.ones((2, 3), dtype=np.float32)


def _never() -> np.ndarray:
    raise AssertionError("computed although it was in the cache")


@pytest.fixture
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EQUIRATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_cache_keeps_what_was_computed(cache_dir: Path) -> None:
    cache_module.cached_array("key", _ones, shape=(2, 3))
    np.testing.assert_array_equal(cache_module.cached_array("key", _never, shape=(2, 3)), _ones())
    assert [path.name for path in cache_dir.iterdir()] == ["key.npz"]


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "flipped", "shape", "nan", "pickle"])
def test_damaged_cache_is_computed_anew(damage: str, cache_dir: Path) -> None:
    cache_module.cached_array("key", _ones, shape=(2, 3))
    path = cache_dir / "key.npz"
    whole = path.read_bytes()
    middle = len(whole) // 2
    if damage == "shape":
        np.savez(path, array=np.ones((3, 2), dtype=np.float32))
    elif damage == "nan":
        np.savez(path, array=np.full((2, 3), np.nan, dtype=np.float32))
    elif damage == "pickle":
        np.savez(path, array=np.array([[{}] * 3] * 2, dtype=object))
    else:
        path.write_bytes(
            {
                "empty": b"",
                "text": b"not an archive",
                "cut": whole[:middle],
                "flipped": whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :],
            }[damage]
        )
    np.testing.assert_array_equal(cache_module.cached_array("key", _ones, shape=(2, 3)), _ones())
    np.testing.assert_array_equal(cache_module.cached_array("key", _never, shape=(2, 3)), _ones())


def test_unwritable_cache_costs_a_warning_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocker = tmp_path / "a file"
    blocker.write_text("", "utf-8")
    monkeypatch.setenv("EQUIRATE_CACHE", str(blocker))
    with pytest.warns(UserWarning, match="EQUIRATE_CACHE"):
        array = cache_module.cached_array("key", _ones, shape=(2, 3))
    np.testing.assert_array_equal(array, _ones())


# The features of Business


def test_missing_text_has_no_similarity() -> None:
    columns = business._text_columns("name", ["", "Tim Hortons", ""], ["", "TIM HORTONS!", "Subway"])
    for name, column in columns.items():
        assert column[0] == column[2] == 0, name
    assert columns["name_equal"][1] == columns["name_edit"][1] == columns["name_token_set"][1] == 1
    assert columns["name_trigrams"][1] == pytest.approx(1)
    assert columns["name_length_difference"][1] == 0


def test_similarities_lie_between_nought_and_one(data_dir: Path) -> None:
    features = _load("business", data_dir).features.drop(columns="log_distance")
    assert features.min().min() >= 0
    assert features.max().max() <= 1 + 1e-9
