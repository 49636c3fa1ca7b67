"""Encodings are recognised in one pass, in small files and in large ones, wherever the first letter stands."""

import gzip
import io
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import equirate as eq
from equirate.tables.encodings import Utf8, check_encoding, wide_encoding
from equirate.tables.options import ReadOptions
from equirate.tables.reading import open_source

TEXT = "name;city\nZo\xeb;K\xf6ln\n\u201eAnn\u201c;M\xfcnchen\n"
LATIN = TEXT.replace("\u201e", "").replace("\u201c", "")


@pytest.mark.parametrize(
    ("text", "encoding", "said"),
    [
        (TEXT, "utf-8", "utf-8"),
        (TEXT, "utf-8-sig", "utf-8"),
        (TEXT, "utf-16", "utf-16"),
        (TEXT, "utf-16-le", "utf-16-le"),
        (TEXT, "utf-16-be", "utf-16-be"),
        (TEXT, "cp1252", "cp1252"),
        (LATIN, "latin-1", "latin-1"),
    ],
)
@pytest.mark.parametrize("plain_rows", [0, 30_000])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_recognised(tmp_path: Path, text: str, encoding: str, said: str, plain_rows: int, pack: object) -> None:
    header, rows = text.split("\n", 1)
    whole = f"{header}\n" + "plain;rows\n" * plain_rows + rows  # the first letter beyond ASCII comes late
    path = tmp_path / "a.csv"
    path.write_bytes(pack(whole.encode(encoding)))  # type: ignore[operator]
    table = open_source(path).table(["name", "city"], {})
    assert table.schema.metadata[b"encoding"].decode() == said
    assert [tuple(row.values()) for row in table.slice(plain_rows).to_pylist()] == [
        tuple(line.split(";")) for line in rows.splitlines()
    ]


@pytest.mark.parametrize("size", range(1, 40))
def test_any_cut_between_reads_gives_the_same_text(size: int) -> None:
    for text, encoding in ((TEXT, "utf-8"), (TEXT, "cp1252"), (TEXT, "utf-16"), (LATIN, "latin-1")):
        stream = Utf8(io.BytesIO(text.encode(encoding)), "a.csv")
        parts = iter(lambda stream=stream: stream.read(size), b"")
        assert b"".join(parts).decode("utf-8") == text


def test_bytes_that_cp1252_leaves_open_are_those_of_latin_1() -> None:
    stream = Utf8(io.BytesIO(b"a\xe9\x81"), "a.csv")
    assert stream.read() == "a\xe9\x81".encode()
    assert stream.encoding == "latin-1"


def test_a_header_beyond_ascii(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("gr\xf6\xdfe;b\n1;2\n".encode("cp1252"))
    assert open_source(path).names == ("gr\xf6\xdfe", "b")


def test_an_encoding_that_is_named_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("a;b\n\u0416;2\n".encode("cp1251"))
    source = open_source(path, ReadOptions(encoding="cp1251"))
    assert source.table(["a"], {})["a"].to_pylist() == ["\u0416"]
    path.write_bytes(b"a;b\n\xff;2\n")
    with pytest.raises(eq.DataError, match="is not utf-8"):
        open_source(path, ReadOptions(encoding="utf-8")).table(["a"], {})
    with pytest.raises(eq.DataError, match="there is no encoding 'klingon'"):
        ReadOptions(encoding="klingon")
    with pytest.raises(eq.DataError, match="there is no encoding"):
        check_encoding("base64")


def test_what_is_no_text_is_not_taken_for_utf_16() -> None:
    assert wide_encoding(b"\x7fELF\x00\x00\x00\x00") == ""


def test_the_first_line_may_name_the_separator(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes('sep=;\r\n"a, b";c\r\n1;2\r\n'.encode("utf-16"))
    source = open_source(path)
    assert source.names == ("a, b", "c")
    assert source.table(["c"], {})["c"].to_pylist() == [2]
