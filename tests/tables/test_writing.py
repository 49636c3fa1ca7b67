"""Writing tables: every format reads back, files are complete or not there, and a full disk is one line."""

from pathlib import Path

import pytest

pytest.importorskip("pyarrow")


import equirate as eq
from equirate.tables.reading import open_source
from equirate.tables.writing import Sink

NAMES = ("a.csv", "a.csv.gz", "a.csv.bz2", "a.csv.xz", "a.csv.zst", "a.parquet", "a.feather")


def write(path: Path) -> bytes:
    with Sink(path) as sink:
        for start in (0, 3):
            sink.write({"id": list(range(start, start + 3)), "said": ["a", 'b"', "c,"]})
    assert sink.rows == 6
    return path.read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_reads_back_and_equal_rows_are_equal_bytes(tmp_path: Path, name: str) -> None:
    first = write(tmp_path / name)
    source = open_source(tmp_path / name)
    table = source.table(source.names, {})
    assert table["id"].to_pylist() == list(range(6))
    assert table["said"].to_pylist() == ["a", 'b"', "c,"] * 2
    assert write(tmp_path / name) == first
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_nothing_is_left_after_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("before", "utf-8")
    sink = Sink(path).__enter__()
    sink.write({"a": [1]})
    sink.__exit__(RuntimeError)
    assert path.read_text("utf-8") == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["a.csv"]


def test_what_was_reached_can_be_kept(tmp_path: Path) -> None:
    sink = Sink(tmp_path / "a.csv").__enter__()
    sink.write({"a": [1, 2]})
    sink.keep()
    sink.__exit__(KeyboardInterrupt)
    assert (tmp_path / "a.csv").read_text("utf-8") == '"a"\n1\n2\n'


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(eq.FileError, match=r"must end in \.csv"):
        Sink(tmp_path / "a.pdf")
    with pytest.raises(eq.FileError, match="No such file"):
        Sink(tmp_path / "no" / "a.csv").__enter__()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk(tmp_path: Path) -> None:
    link = tmp_path / "a.csv"
    link.symlink_to("/dev/full")
    with pytest.raises(eq.FileError, match="No space left"), Sink(link) as sink:
        sink.write({"a": list(range(100_000))})


def test_two_that_write_the_same_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with Sink(path) as first:
        first.write({"a": [1]})
        with Sink(path) as second:
            second.write({"a": [2, 3]})
        assert open_source(path).table(["a"], {})["a"].to_pylist() == [2, 3]
        first.write({"a": [4]})
    assert open_source(path).table(["a"], {})["a"].to_pylist() == [1, 4]
    assert [each.name for each in tmp_path.iterdir()] == ["a.csv"]
