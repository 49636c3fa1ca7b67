"""Rows of Parquet files give what the same rows give from memory, shared out or not; bad files are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import equirate as eq
from equirate.data.mapped import is_mapped
from equirate.distributed import ParquetRows
from equirate.distributed.parquet import Group, share

pa = pytest.importorskip("pyarrow", reason="the extra distributed is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="the extra distributed is not installed")

N = 1500
rng = np.random.default_rng(8)
X = rng.normal(size=(N, 3)).astype(np.float32)
GROUP = np.where(rng.random(N) < 0.4, "a", "bb")
Y = np.where(X[:, 0] + 0.5 * (GROUP == "a") + 0.5 * rng.normal(size=N) > 0.3, "yes", "no")
WEIGHT = rng.random(N) + 0.5
NAMED = {"label": "y", "attributes": ["group"]}


def table(rows=slice(None)):
    columns = {name: X[rows, k] for k, name in enumerate(("one", "two", "three"))}
    return pa.table({**columns, "group": GROUP[rows], "y": Y[rows], "weight": WEIGHT[rows]})


@pytest.fixture
def folder(tmp_path):
    pq.write_table(table(slice(0, 900)), tmp_path / "a.parquet", row_group_size=250)
    coded = table(slice(900, N))
    pq.write_table(coded, tmp_path / "b.parquet", row_group_size=200)
    return tmp_path


def estimator(**settings):
    constraints = eq.demographic_parity("group", tolerance=0.05)
    return eq.RateClassifier(eq.maximize(eq.f1()), constraints, random_state=0, **settings)


GAME = {"algorithm": "slack_ratios", "n_rounds": 60}
ENGINES = pytest.mark.parametrize("engine", [{}, GAME], ids=["column generation", "a game"])


@ENGINES
def test_the_same_as_from_memory(folder, engine):
    rows = ParquetRows(folder, **NAMED, sample_weight="weight")
    given = rows.given()
    assert is_mapped(given.X)
    np.testing.assert_array_equal(given.X, X)
    np.testing.assert_array_equal(given.y, Y)
    np.testing.assert_array_equal(given.attributes["group"], GROUP)
    np.testing.assert_array_equal(given.sample_weight, WEIGHT)
    own, other = (
        estimator(**engine).fit(rows),
        estimator(**engine).fit(X, Y, sensitive_features={"group": GROUP}, sample_weight=WEIGHT),
    )
    np.testing.assert_array_equal(own.members_.W, other.members_.W)
    np.testing.assert_array_equal(own.weights_, other.weights_)
    np.testing.assert_array_equal(own.feature_names_in_, ["one", "two", "three"])


def test_solve_takes_them_too(tmp_path):
    told = pa.table({"one": X[:, 0], "two": X[:, 1], "label": (Y == "yes").astype(np.int8)})
    pq.write_table(told, tmp_path / "rows.parquet")
    problem = eq.maximize(eq.f1())
    own = eq.solve(problem, ParquetRows(tmp_path / "rows.parquet", label="label", features=["two", "one"]), n_rounds=10)
    other = eq.solve(problem, X[:, [1, 0]], (Y == "yes").astype(int), n_rounds=10)
    np.testing.assert_array_equal(own.columns.rates, other.columns.rates)
    assert own.members().names == ("two", "one")


@ENGINES
def test_shared_out_by_row_groups(together, folder, engine):
    names = ["one", "two", "three"]
    rows, frame = ParquetRows(folder, **NAMED, features=names), table().select(names).to_pandas()
    (alone,) = together(1, lambda rank: estimator(**engine).fit(rows))
    for size in (2, 3):
        for own in together(size, lambda rank: estimator(**engine).fit(rows)):
            assert np.mean(np.abs(own.predict_pmf(frame) - alone.predict_pmf(frame)) > 1e-4) <= 1e-4
            assert own.status_.objective == pytest.approx(alone.status_.objective, abs=1e-6)


def test_every_process_has_some_of_the_row_groups():
    for sizes in ([5, 5, 5], [100, 1, 1], [1, 1, 100], [3, 9, 2, 40, 1, 1, 7]):
        groups = [Group("f", k, rows) for k, rows in enumerate(sizes)]
        for size in range(1, len(sizes) + 1):
            shares = [share(groups, rank, size) for rank in range(size)]
            assert all(shares)
            assert [group for part in shares for group in part] == groups


def cut(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def spoilt(path):
    content = bytearray(path.read_bytes())
    content[100:4000] = b"\x00" * 3900
    path.write_bytes(bytes(content))


def other_type(path):
    changed = table().set_column(1, "two", pa.array(np.arange(N)))
    pq.write_table(changed, path)


def fewer(path):
    pq.write_table(table().drop_columns(["two"]), path)


def hole(path):
    values = X[:, 1].copy()
    values[7] = np.nan
    pq.write_table(table().set_column(1, "two", pa.array(values)), path)


def absent(path):
    pq.write_table(table().set_column(3, "group", pa.array([None, *GROUP[1:]])), path)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (cut, "b.parquet cannot be read as a Parquet file"),
        (spoilt, "row group 0 of .*b.parquet cannot be read"),
        (other_type, r"b.parquet has other columns than .*a.parquet: 'two' \(int64\) where that has 'two' \(float\)"),
        (fewer, "b.parquet has other columns|b.parquet has no column"),
        (hole, r"NaN or infinite values in column 'two' \(.*b.parquet\)"),
        (absent, "'group' of .*b.parquet has 1 missing values"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_bad_files_are_refused_on_every_process(together, folder, spoil, message):
    spoil(folder / "b.parquet")
    rows = ParquetRows(folder, **NAMED)
    for error in together(2, lambda rank: estimator().fit(rows)):
        with pytest.raises(eq.DataError, match=message):
            raise error


def test_what_cannot_be_is_refused(together, tmp_path, folder):
    with pytest.raises(eq.DataError, match="there is no Parquet file at"):
        ParquetRows(tmp_path / "nothing" / "*.parquet", label="y").given()
    with pytest.raises(eq.DataError, match="has no column 'z'; it has 'one'"):
        ParquetRows(folder, label="z").given()
    with pytest.raises(eq.DataError, match="has its own labels, attributes and weights"):
        estimator().fit(ParquetRows(folder, **NAMED), Y)
    for error in together(2, lambda rank: ParquetRows(folder / "few.parquet", label="y").given()):
        assert isinstance(error, eq.DataError)
    pq.write_table(table(), folder / "single.parquet")
    for error in together(2, lambda rank: estimator().fit(ParquetRows(folder / "single.parquet", **NAMED))):
        with pytest.raises(eq.DataError, match="1 row groups for 2 processes"):
            raise error
