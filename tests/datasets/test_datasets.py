import dataclasses
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from equirate import datasets
from equirate.datasets import crime, files, optional, tabular
from equirate.datasets.sources import SOURCES

pd = pytest.importorskip("pandas")

# name: rows, features, positive rate, protected fraction, positive rate inside and outside that group.
FACTS = {
    "compas": (6_172, 31, 0.455, 0.190, 0.351, 0.479),
    "crime": (1_994, 135, 0.292, 0.486, 0.490, 0.105),
    "adult": (48_842, 122, 0.239, 0.332, 0.109, 0.304),
}


_load = cache(datasets.load)


@pytest.mark.parametrize("name", FACTS)
def test_counts_and_rates_are_the_documented_ones(name: str) -> None:
    data = _load(name)
    rows, features, positive, protected, inside, outside = FACTS[name]
    group = data.protected_rows
    assert (data.n_rows, data.n_features) == (rows, features)
    assert data.positive_rate == pytest.approx(positive, abs=6e-4)
    assert group.mean() == pytest.approx(protected, abs=6e-4)
    assert data.label[group].mean() == pytest.approx(inside, abs=6e-4)
    assert data.label[~group].mean() == pytest.approx(outside, abs=6e-4)


@pytest.mark.parametrize("name", FACTS)
def test_parts_are_numbers_without_gaps(name: str) -> None:
    data = _load(name)
    assert set(data.features.dtypes) == {np.dtype(np.float64)}
    assert np.isfinite(data.features.to_numpy()).all()
    assert data.features.columns.is_unique
    assert data.features.index.equals(pd.RangeIndex(data.n_rows))
    assert data.attributes.index.equals(data.features.index)
    assert not data.attributes.isna().any().any()
    assert set(np.unique(data.label)) == {0, 1}
    assert data.label.dtype == np.int64


@pytest.mark.parametrize("name", FACTS)
def test_describe_says_what_load_gives(name: str) -> None:
    data = _load(name)
    row = datasets.describe().set_index("name").loc[name]
    assert (row["rows"], row["features"]) == (data.n_rows, data.n_features)
    assert row["positive_rate"] == pytest.approx(data.positive_rate, abs=6e-4)
    assert row["protected"] == data.protected.name


@pytest.mark.parametrize("name", FACTS)
def test_sets_are_the_same_each_time(name: str) -> None:
    first, second = datasets.load(name), _load(name)
    pd.testing.assert_frame_equal(first.features, second.features)
    pd.testing.assert_frame_equal(first.attributes, second.attributes)
    np.testing.assert_array_equal(first.label, second.label)


def test_splits_are_the_published_ones() -> None:
    adult = _load("adult")
    assert dict(zip(*np.unique(adult.split, return_counts=True), strict=True)) == {
        "test": 16_281,
        "train": 32_561,
    }
    train = adult.split == "train"
    assert adult.label[train].mean() == pytest.approx(0.241, abs=6e-4)
    assert adult.protected_rows[train].mean() == pytest.approx(0.331, abs=6e-4)
    assert _load("compas").split is None


def test_attributes_have_readable_values() -> None:
    assert set(_load("adult").attributes["sex"]) == {"Female", "Male"}
    assert {"African-American", "Caucasian"} < set(_load("compas").attributes["race"])
    assert set(_load("crime").attributes["black_population"]) == {"high", "low"}


def test_published_recipe_leaves_the_lowest_out_of_every_interval() -> None:
    compas = _load("compas").features
    priors = compas.filter(like="priors_count").to_numpy()
    assert (np.diff(priors, axis=1) <= 0).all(), "cumulative indicators fall from left to right"
    assert (priors.sum(axis=1) == 0).any()
    ages = _load("adult").features.filter(like="age=").filter(regex="^age")
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


def test_names_and_describe_list_the_three() -> None:
    assert set(datasets.names()) == set(FACTS) == set(SOURCES)
    table = datasets.describe()
    assert list(table["name"]) == list(datasets.names())
    assert list(table.columns) == ["name", "rows", "features", "positive_rate", "protected", "licence", "source"]


def test_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"must be one of .*Got 'compass' instead. Did you mean 'compas'\?"):
        datasets.load("compass")


def test_damaged_bundled_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BUNDLED", tmp_path)
    (tmp_path / "compas.csv.gz").write_bytes(b"not even gzip")
    with pytest.raises(datasets.CorruptDataError, match="compas") as caught:
        datasets.load("compas")
    assert SOURCES["compas"].sha256 in str(caught.value)


def test_dataset_is_frozen_and_its_arrays_are_read_only() -> None:
    data = _load("compas")
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "other"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        data.label[0] = 1
    with pytest.raises(ValueError, match="as many rows"):
        dataclasses.replace(data, label=np.zeros(3, dtype=np.int64))


def test_description_gives_source_licence_and_credit() -> None:
    text = _load("adult").description
    assert all(word in text for word in ("Source:", "Licence: CC BY 4.0", "Credit:"))


def test_missing_pandas_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"equirate\.datasets needs pandas: pip install 'equirate\[data\]'"):
        datasets.load("compas")


def test_a_fault_inside_a_package_is_not_called_a_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_package.py").write_text("import a_module_that_is_not_there\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        optional.require("broken_package", caller="test")


def test_import_needs_no_extra() -> None:
    block = "import sys; sys.modules.update(pandas=None); "
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
