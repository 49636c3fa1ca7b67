"""Reading tables: every format and compression gives the same table; what is wrong with a file is said in one line."""

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet

import equirate as eq
from equirate.tables.kinds import Kind
from equirate.tables.options import ReadOptions
from equirate.tables.reading import FileForm, open_source

TEXT = 'id,age,name,when\n1,30,Ann,2020-01-01\n2,,"B, b",2020-02-01\n3,40.5,,2021-01-01\n'
KINDS = {"age": Kind.NUMBER, "name": Kind.CATEGORY, "when": Kind.DATE, "id": Kind.NUMBER}


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


def csv_table(folder: Path) -> pa.Table:
    source = open_source(written(folder, "plain.csv", TEXT.encode()))
    return source.table(source.names, KINDS)


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.csv", bytes),
        ("a.csv.gz", gzip.compress),
        ("a.csv.bz2", bz2.compress),
        ("a.csv.xz", lzma.compress),
        ("a.csv.zst", zstd),
        ("misnamed.parquet", gzip.compress),  # what a file is, is seen from its bytes
    ],
)
def test_compressed_csv(tmp_path: Path, name: str, pack: object) -> None:
    source = open_source(written(tmp_path, name, pack(TEXT.encode())))  # type: ignore[operator]
    assert source.form is FileForm.CSV
    assert source.table(source.names, KINDS).equals(csv_table(tmp_path))


def test_parquet_feather_and_folder(tmp_path: Path) -> None:
    table = csv_table(tmp_path)
    parquet.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, tmp_path / "a.feather")
    folder = tmp_path / "parts"
    folder.mkdir()
    parquet.write_table(table.slice(0, 2), folder / "0.parquet")
    parquet.write_table(table.slice(2), folder / "1.parquet")
    for path in (tmp_path / "a.parquet", tmp_path / "a.feather", folder):
        source = open_source(path)
        assert source.names == ("id", "age", "name", "when")
        assert source.table(["name", "age"], {}).equals(table.select(["name", "age"]))
        batches = list(source.batches(["age"], KINDS))
        assert pa.Table.from_batches(batches).equals(table.select(["age"]))


def test_types_are_inferred(tmp_path: Path) -> None:
    from equirate.tables.kinds import kind_of

    text = "a,b,c,d,e,f\n1,x,true,2020-01-01,2020-01-01T00:00:00Z,10:30:00\n2.5,,false,,,\n"
    source = open_source(written(tmp_path, "a.csv", text.encode()))
    table = source.table(source.names, {})
    found = [kind_of(name, table[name]) for name in source.names]
    assert found == [Kind.NUMBER, Kind.CATEGORY, Kind.TRUTH, Kind.DATE, Kind.ZONED, Kind.TIME]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_and_the_order_mark(tmp_path: Path, delimiter: str) -> None:
    text = f"\ufeffa{delimiter}b\n1{delimiter}2\n"
    source = open_source(written(tmp_path, "a.csv", text.encode()))
    assert source.names == ("a", "b")
    assert source.table(["b"], {})["b"].to_pylist() == [2]


def test_columns_without_a_name_are_left_out(tmp_path: Path) -> None:
    source = open_source(written(tmp_path, "a.csv", b",a,\n0,1,2\n"))
    assert source.names == ("a",)
    assert source.table(["a"], {})["a"].to_pylist() == [1]


def test_missing_values(tmp_path: Path) -> None:
    source = open_source(written(tmp_path, "a.csv", b"a,b\n1,x\nNA,?\n?,null\n"), ReadOptions(missing=("?",)))
    table = source.table(["a", "b"], {})
    assert table["a"].to_pylist() == [1, None, None]
    assert table["b"].to_pylist() == ["x", None, None]


def test_batches_are_the_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = "\n".join(f"{x:.6f},v{k % 7}" for k, x in enumerate(rng.normal(size=400_000)))
    source = open_source(written(tmp_path, "a.csv", f"x,c\n{rows}\n".encode()))
    kinds = {"x": Kind.NUMBER, "c": Kind.CATEGORY}
    batches = list(source.batches(["x", "c"], kinds))
    assert len(batches) > 1
    whole = source.table(["x", "c"], kinds)
    assert pa.Table.from_batches(batches).cast(whole.schema).equals(whole.combine_chunks())


def whole(path: Path) -> pa.Table:
    source = open_source(path)
    return source.table(source.names, {})


PARQUET = pa.BufferOutputStream()
parquet.write_table(pa.table({"a": list(range(1000))}), PARQUET)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.csv", None, "there is no file"),
        ("empty.csv", b"", "is empty"),
        ("bytes.csv", b"\x89PNG\r\n\x00\x00\x00", "is not a table"),
        ("lines.csv", b"\n\n", "names no columns"),
        (
            "ragged.csv",
            b"a,b\n1,2\n1,2,3\n",
            "line 3 has 3 values, and the header has 2: '1,2,3'; leave such lines out with --drop-ragged",
        ),
        ("ragged2.csv", b'sep=;\r\n\r\na;b\r\n"1\r\nx";2\r\n1\r\n', "line 6 has 1 values, and the header has 2: '1'"),
        ("ragged3.csv", "a\tb\nå\t2\n1\t2\t3\n".encode("utf-16"), "line 3 has 3 values"),
        ("header.csv", b"a,b\n", "no rows"),
        ("mixed.csv", "a,b\n1,caf\xe9\n".encode() + b"2,caf\xe9\n", "is UTF-8 up to byte 17"),
        ("cut.parquet", PARQUET.getvalue().to_pybytes()[:-500], "cannot be read, or is cut short"),
        ("cut.csv.gz", gzip.compress(TEXT.encode() * 1000)[:-20], "cannot be read, or is cut short"),
        ("packed.parquet.gz", gzip.compress(PARQUET.getvalue().to_pybytes()), "unpack it first"),
    ],
)
def test_refusals(tmp_path: Path, name: str, content: bytes | None, says: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(eq.DataError) as refusal:
        whole(path)
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_folders_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(eq.DataError, match="without Parquet files"):
        open_source(tmp_path)
    parquet.write_table(pa.table({"a": [1]}), tmp_path / "0.parquet")
    parquet.write_table(pa.table({"b": [1]}), tmp_path / "1.parquet")
    with pytest.raises(eq.DataError, match=r"1\.parquet does not have the same columns"):
        open_source(tmp_path)


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    source = open_source(written(tmp_path, "a.csv", b"income,age\n1,2\n"))
    with pytest.raises(eq.DataError, match="did you mean 'income'"):
        source.require(["incone"], "--label")


def test_a_column_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("# exported, yesterday\nscore,grade\n1,2\n", "utf-8")  # it could be a header of two names
    with pytest.raises(eq.DataError, match=r"does not have; its columns are '# exported', ' yesterday'$"):
        open_source(path).require(["grade"], "--label")
    path.write_text(",".join(f"c{k}" for k in range(30)) + "\n", "utf-8")
    with pytest.raises(eq.DataError, match=r"'c9' and 20 more$"):
        open_source(path).require(["grade"], "--label")


@pytest.mark.parametrize(
    "content",
    [
        b"a,b,a,,a.1,a\n1,2,3,4,5,6\n7,8,9,10,11,12\n",
        b"\n\r\na,b,a,,a.1,a\n1,2,3,4,5,6\n7,8,9,10,11,12\n",
        b"sep=;\r\n\r\na;b;a;;a.1;a\r\n1;2;3;4;5;6\r\n7;8;9;10;11;12\r\n",
        "a\tb\ta\t\ta.1\ta\n1\t2\t3\t4\t5\t6\n7\t8\t9\t10\t11\t12\n".encode("utf-16"),
    ],
)
def test_names_that_are_there_twice_get_a_number(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "twice.csv"
    path.write_bytes(content)
    source = open_source(path)
    assert source.names == ("a", "b", "a.2", "a.1", "a.3")
    expected = {"a": [1, 7], "b": [2, 8], "a.2": [3, 9], "a.1": [5, 11], "a.3": [6, 12]}
    assert whole(path).to_pydict() == expected
    kinds = dict.fromkeys(source.names, Kind.NUMBER)
    (batch,) = source.batches(["a.3", "a"], kinds)
    assert batch.to_pydict() == {"a.3": [6, 12], "a": [1, 7]}


def test_columns_of_parquet_with_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.parquet"
    parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), path)
    with pytest.raises(eq.DataError, match=r"two columns with the name 'a' \(columns 1 and 2\): rename one"):
        open_source(path)


@pytest.mark.parametrize(
    ("above", "skipped"),
    [
        ("", 0),
        ("Open invoices\n", 1),
        ("Open invoices;;\n;;\n", 2),
        ("\nOpen invoices as of May\n\nby;;\n", 4),
        ("Person;;\n", 1),  # merged cells
    ],
)
def test_lines_above_the_header_are_left_out(tmp_path: Path, above: str, skipped: int) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"{above}age;sex;paid\n31;F;yes\n42;M;no\n", "utf-8")
    source = open_source(path)
    assert (source.skipped, source.names) == (skipped, ("age", "sex", "paid"))
    assert whole(path).to_pydict() == {"age": [31, 42], "sex": ["F", "M"], "paid": ["yes", "no"]}


@pytest.mark.parametrize("text", ["a\n1\n2\n", "a,,\n1,2,3\n", ",a\n0,x\n", "a,b\n1,2\n", "a\nx\ny\n"])
def test_a_header_with_few_names_is_no_title(tmp_path: Path, text: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, "utf-8")
    assert open_source(path).skipped == 0
    assert "a" in open_source(path).names


def test_ragged_lines_are_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n3\n4,5\n6,7,8\n9,10\n", "utf-8")
    source = open_source(path, ReadOptions(drop_ragged=True))
    expected = {"a": [1, 4, 9], "b": [2, 5, 10]}
    assert source.table(["a", "b"], {}).to_pydict() == expected
    kinds = dict.fromkeys("ab", Kind.NUMBER)
    assert pa.Table.from_batches(list(source.batches(["a", "b"], kinds))).to_pydict() == expected
    assert ReadOptions.read(source.options.plain()) == source.options
    before = {key: value for key, value in source.options.plain().items() if key != "drop_ragged"}
    assert not ReadOptions.read(before).drop_ragged
    with pytest.raises(eq.DataError, match="line 3 has 1 values"):
        list(open_source(path).batches(["a", "b"], kinds))
    path.write_text("a,b\n1,2,3\n4,5,6\n7,8\n", "utf-8")  # most lines: rather the header is wrong
    with pytest.raises(eq.DataError, match="line 2 has 3 values"):
        open_source(path, ReadOptions(drop_ragged=True)).table(["a", "b"], {})
