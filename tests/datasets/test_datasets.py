import dataclasses
import gzip
import hashlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from equirate import datasets
from equirate.datasets import business, cache as cache_module, crime, files, optional, tabular, wiki_toxicity
from equirate.datasets.sources import SOURCES

pd = pytest.importorskip("pandas")

BUNDLED = ("compas", "crime", "adult")
OTHERS = ("law_school", "wiki_toxicity", "business")

# name: rows, features, positive rate, protected fraction, positive rate inside and outside that group.
FACTS = {
    "compas": (6_172, 31, 0.455, 0.190, 0.351, 0.479),
    "crime": (1_994, 135, 0.292, 0.486, 0.490, 0.105),
    "law_school": (20_512, 36, 0.949, 0.059, 0.777, 0.960),
    "adult": (48_842, 122, 0.239, 0.332, 0.109, 0.304),
    "business": (27_969, 36, 0.194, 0.559, 0.247, 0.127),
}


@cache
def _load(name: str, data_dir: Path | None = None) -> datasets.Dataset:
    return datasets.load(name, data_dir=data_dir)


def _get(name: str, request: pytest.FixtureRequest) -> datasets.Dataset:
    """A data set, or a skip if it needs a file or a package that is not there."""
    if name in BUNDLED:
        return _load(name)
    directory: Path = request.getfixturevalue("data_dir")
    if not (directory / SOURCES[name].file).is_file():
        pytest.skip(f"{SOURCES[name].file} is not in the data directory")
    if name == "business":
        pytest.importorskip("rapidfuzz")
    return _load(name, directory)


@pytest.mark.parametrize("name", FACTS)
def test_counts_and_rates_are_the_documented_ones(name: str, request: pytest.FixtureRequest) -> None:
    data = _get(name, request)
    rows, features, positive, protected, inside, outside = FACTS[name]
    group = data.protected_rows
    assert (data.n_rows, data.n_features) == (rows, features)
    assert data.positive_rate == pytest.approx(positive, abs=6e-4)
    assert group.mean() == pytest.approx(protected, abs=6e-4)
    assert data.label[group].mean() == pytest.approx(inside, abs=6e-4)
    assert data.label[~group].mean() == pytest.approx(outside, abs=6e-4)


@pytest.mark.parametrize("name", FACTS)
def test_parts_are_numbers_without_gaps(name: str, request: pytest.FixtureRequest) -> None:
    data = _get(name, request)
    assert set(data.features.dtypes) == {np.dtype(np.float64)}
    assert np.isfinite(data.features.to_numpy()).all()
    assert data.features.columns.is_unique
    assert data.features.index.equals(pd.RangeIndex(data.n_rows))
    assert data.attributes.index.equals(data.features.index)
    assert not data.attributes.isna().any().any()
    assert set(np.unique(data.label)) == {0, 1}
    assert data.label.dtype == np.int64


@pytest.mark.parametrize("name", FACTS)
def test_describe_says_what_load_gives(name: str, request: pytest.FixtureRequest) -> None:
    data = _get(name, request)
    row = datasets.describe().set_index("name").loc[name]
    assert (row["rows"], row["features"]) == (data.n_rows, data.n_features)
    assert row["positive_rate"] == pytest.approx(data.positive_rate, abs=6e-4)
    assert row["protected"] == data.protected.name


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_need_no_directory_and_are_the_same_each_time(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIRATE_DATA", str(tmp_path))
    first, second = datasets.load(name), _load(name)
    pd.testing.assert_frame_equal(first.features, second.features)
    pd.testing.assert_frame_equal(first.attributes, second.attributes)
    np.testing.assert_array_equal(first.label, second.label)


def test_splits_are_the_published_ones(request: pytest.FixtureRequest) -> None:
    adult = _get("adult", request)
    assert dict(zip(*np.unique(adult.split, return_counts=True), strict=True)) == {
        "test": 16_281,
        "train": 32_561,
    }
    train = adult.split == "train"
    assert adult.label[train].mean() == pytest.approx(0.241, abs=6e-4)
    assert adult.protected_rows[train].mean() == pytest.approx(0.331, abs=6e-4)
    assert _get("compas", request).split is None
    parts = _get("business", request).split
    assert dict(zip(*np.unique(parts, return_counts=True), strict=True)) == {
        "train": 13_984,
        "dev": 5_594,
        "test": 8_391,
    }


def test_attributes_have_readable_values(request: pytest.FixtureRequest) -> None:
    assert set(_get("adult", request).attributes["sex"]) == {"Female", "Male"}
    assert {"African-American", "Caucasian"} < set(_get("compas", request).attributes["race"])
    assert set(_get("crime", request).attributes["black_population"]) == {"high", "low"}


def test_published_recipe_leaves_the_lowest_out_of_every_interval(request: pytest.FixtureRequest) -> None:
    compas = _get("compas", request).features
    priors = compas.filter(like="priors_count").to_numpy()
    assert (np.diff(priors, axis=1) <= 0).all(), "cumulative indicators fall from left to right"
    assert (priors.sum(axis=1) == 0).any()
    ages = _get("adult", request).features.filter(like="age=").filter(regex="^age")
    assert set(ages.sum(axis=1)) == {0.0, 1.0}


def test_crime_takes_fill_values_and_thirds_from_the_training_rows() -> None:
    table = files.read_table(SOURCES["crime"])
    rows = np.arange(0, len(table), 2)
    data = crime.build(table, rows)
    column = table["PolicBudgPerPop"].to_numpy(dtype=float)
    filled = data.features["PolicBudgPerPop"].to_numpy()
    np.testing.assert_allclose(filled[np.isnan(column)], np.nanmean(column[rows]))
    np.testing.assert_array_equal(datasets.load_crime(training_rows=rows).features, data.features)
    mask = np.isin(np.arange(len(table)), rows)
    np.testing.assert_array_equal(crime.build(table, mask).features, data.features)
    assert data.n_features == 135


def test_names_and_describe_list_the_six() -> None:
    assert set(datasets.names()) == {*BUNDLED, *OTHERS} == set(SOURCES)
    table = datasets.describe()
    assert list(table["name"]) == list(datasets.names())
    assert list(table.columns) == [
        "name", "rows", "features", "positive_rate", "protected", "bundled", "licence", "source",
    ]  # fmt: skip
    assert set(table.loc[table["bundled"], "name"]) == set(BUNDLED)


def test_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"must be one of .*Got 'compass' instead. Did you mean 'compas'\?"):
        datasets.load("compass")
    with pytest.raises(ValueError, match="parameter of locate must be one of"):
        datasets.locate("compass")


@pytest.mark.parametrize("name", OTHERS)
def test_missing_file_is_explained(name: str, tmp_path: Path) -> None:
    with pytest.raises(datasets.MissingDataError) as caught:
        datasets.load(name, data_dir=tmp_path)
    message = str(caught.value)
    source = SOURCES[name]
    for part in (source.file, str(tmp_path), source.source, source.sha256, "data_dir=", "EQUIRATE_DATA"):
        assert part in message
    assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(datasets.MissingDataError) as again:
        datasets.locate(name, data_dir=tmp_path)
    assert str(again.value) == message
    (tmp_path / source.file).touch()
    assert datasets.locate(name, data_dir=tmp_path) == tmp_path / source.file  # found, not read


def test_directory_is_the_argument_else_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIRATE_DATA", str(tmp_path / "variable"))
    assert files.data_directory() == tmp_path / "variable"
    assert files.data_directory(tmp_path) == tmp_path


def test_wrong_file_is_refused_with_both_digests(tmp_path: Path) -> None:
    content = gzip.compress(b"a,b\n1,2\n")
    (tmp_path / "law_school.csv.gz").write_bytes(content)
    with pytest.raises(datasets.CorruptDataError) as caught:
        datasets.load("law_school", data_dir=tmp_path)
    message = str(caught.value)
    assert "law_school.csv.gz" in message
    assert SOURCES["law_school"].sha256 in message
    assert hashlib.sha256(content).hexdigest() in message


def test_damaged_bundled_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BUNDLED", tmp_path)
    (tmp_path / "compas.csv.gz").write_bytes(b"not even gzip")
    with pytest.raises(datasets.CorruptDataError, match="compas"):
        datasets.load("compas")


def test_a_table_compressed_anew_is_accepted_by_its_content(tmp_path: Path) -> None:
    text = b"a,b\n1,2\n"
    source = dataclasses.replace(
        SOURCES["law_school"], content_sha256=hashlib.sha256(text).hexdigest(), sha256="0" * 64
    )
    (tmp_path / source.file).write_bytes(gzip.compress(text))
    assert files.read_table(source, tmp_path).to_dict("list") == {"a": [1], "b": [2]}


def test_dataset_is_frozen_and_its_arrays_are_read_only(request: pytest.FixtureRequest) -> None:
    data = _get("compas", request)
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "other"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        data.label[0] = 1
    with pytest.raises(ValueError, match="as many rows"):
        dataclasses.replace(data, label=np.zeros(3, dtype=np.int64))


def test_description_gives_source_licence_and_credit(request: pytest.FixtureRequest) -> None:
    text = _get("adult", request).description
    assert all(word in text for word in ("Source:", "Licence: CC BY 4.0", "Credit:"))
    assert "stand-in" in SOURCES["business"].description


def test_missing_pandas_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"equirate\.datasets needs pandas: pip install 'equirate\[data\]'"):
        datasets.load("compas")


def test_missing_rapidfuzz_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("rapidfuzz.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    with pytest.raises(ImportError, match=r"load_business needs rapidfuzz: pip install 'equirate\[data\]'"):
        business._scorers()


def test_a_fault_inside_a_package_is_not_called_a_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_package.py").write_text("import a_module_that_is_not_there\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        optional.require("broken_package", caller="test")


def test_import_needs_no_extra() -> None:
    block = "import sys; sys.modules.update(pandas=None, rapidfuzz=None); "
    subprocess.run([sys.executable, "-c", block + "import equirate.datasets"], check=True)


# Tables of indicators


def test_buckets_are_open_below_and_closed_above() -> None:
    columns = tabular.bucket_columns("n", [0, 1, 2, 3, 4], [0, 2, 3])
    assert {name: column.tolist() for name, column in columns.items()} == {
        "n=0..2": [0, 1, 1, 0, 0],
        "n=2..3": [0, 0, 0, 1, 0],
    }


def test_quantile_bins_hold_every_value_once_even_outside_the_training_range() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, -100.0, 100.0])
    known = np.array([True, True, True, True, False, False])
    columns = tabular.quantile_columns("n", values, 4, training_rows=known)
    assert (sum(columns.values()) == 1).all()
    assert next(iter(columns.values()))[4] == 1


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
        pytest.skip(f"{source.file} is not in the data directory")
    monkeypatch.setenv("EQUIRATE_CACHE", str(tmp_path))
    monkeypatch.setattr(
        wiki_toxicity,
        "embed",
        lambda comments, training_rows: np.zeros((len(comments), 100), dtype=np.float32),
    )
    data = datasets.load_wiki_toxicity(data_dir=data_dir)
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
    pytest.importorskip("rapidfuzz")
    columns = business._text_columns("name", ["", "Tim Hortons", ""], ["", "TIM HORTONS!", "Subway"])
    for name, column in columns.items():
        assert column[0] == column[2] == 0, name
    assert columns["name_equal"][1] == columns["name_edit"][1] == columns["name_token_set"][1] == 1
    assert columns["name_trigrams"][1] == pytest.approx(1)
    assert columns["name_length_difference"][1] == 0


def test_similarities_lie_between_nought_and_one(request: pytest.FixtureRequest) -> None:
    features = _get("business", request).features.drop(columns="log_distance")
    assert features.min().min() >= 0
    assert features.max().max() <= 1 + 1e-9
