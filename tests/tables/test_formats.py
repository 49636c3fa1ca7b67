"""Numbers and dates as people write them, against Python's own readers."""

import datetime

import pytest
from hypothesis import given, strategies as st

pytest.importorskip("pyarrow")

import pyarrow as pa

import equirate as eq
from equirate.tables.formats import FORMATS, as_dates, as_numbers, date_formats, number_style
from equirate.tables.options import ReadOptions, date_format


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=20), st.sampled_from([".", ","]))
def test_thousands_and_decimals_read_back(hundredths: list[int], style: str) -> None:
    other = {".": ",", ",": "."}[style]
    written = [f"{value / 100:,.2f}".replace(",", "_").replace(".", style).replace("_", other) for value in hundredths]
    assert number_style(pa.array(written)) == style
    assert as_numbers("x", pa.array(written), style).to_pylist() == pytest.approx([v / 100 for v in hundredths])


@pytest.mark.parametrize(
    ("text", "style", "value"),
    [
        ("12%", ".", 12.0),
        ("7,5 %", ",", 7.5),
        ("$1,234.50", ".", 1234.5),
        ("€ 1.234,50", ",", 1234.5),
        ("-3", ".", -3.0),
        ("−3,5", ",", -3.5),
        ("1 234,5", ",", 1234.5),
        ("1'234.5", ".", 1234.5),
        ("1.000 EUR", ",", 1000.0),
        (".5", ".", 0.5),
    ],
)
def test_signs(text: str, style: str, value: float) -> None:
    assert number_style(pa.array([text]), style) == style
    assert as_numbers("x", pa.array([text]), style).to_pylist() == [value]


@pytest.mark.parametrize("text", ["A12", "12 kg", "1-2", "3+", "12.34.56", "1,23,4", "", "%"])
def test_what_is_no_number(text: str) -> None:
    assert number_style(pa.array([text])) == ""
    with pytest.raises(eq.DataError, match="which is no number"):
        as_numbers("x", pa.array([text]), ".")


@given(st.lists(st.dates(datetime.date(1970, 1, 1), datetime.date(2068, 12, 31)), min_size=1, max_size=10))
def test_dates_read_back(days: list[datetime.date]) -> None:
    for format_ in FORMATS:
        written = pa.array([day.strftime(format_) for day in days])
        assert format_ in date_formats(written)
        read = [value.date() for value in as_dates("x", written, format_).to_pylist()]
        assert read == days


def test_two_ways_to_read_a_date_are_refused() -> None:
    with pytest.raises(eq.DataError, match=r"--date 'day=%d/%m/%Y' or --date 'day=%m/%d/%Y'"):
        date_format("day", pa.array(["1/2/2024", "3/4/2024"]))
    assert date_format("day", pa.array(["1/2/2024", "13/4/2024"])) == "%d/%m/%Y"


def test_two_digits_are_no_year_of_four() -> None:
    with pytest.raises(eq.DataError, match=r"holds '1\.2\.24' in 1 row, which is no date"):
        as_dates("day", pa.array(["1.2.2024", "1.2.24"]), "%d.%m.%Y")


def test_a_column_is_read_in_one_way() -> None:
    with pytest.raises(eq.DataError, match="one of --category, --date and --number"):
        ReadOptions(categories=("a",), dates={"a": ""})
    with pytest.raises(eq.DataError, match="--decimal"):
        ReadOptions(decimal=";")


def test_options_come_back_from_plain_data() -> None:
    options = ReadOptions(("-",), ",", "cp1252", ("code",), {"day": "%d.%m.%Y"}, {"price": ","})
    assert ReadOptions.read(options.plain()) == options
    for wrong in (None, {}, {**options.plain(), "more": 1}, {**options.plain(), "numbers": {"a": "x"}}):
        with pytest.raises(eq.FileError):
            ReadOptions.read(wrong)


def test_converted_columns_of_a_table() -> None:
    table = pa.table({"code": [1.0, None, 3.0], "day": ["1.2.2024", None, "3.4.2024"], "share": ["1%", "2%", "3%"]})
    options = ReadOptions(categories=("code",), dates={"day": ""}, numbers={"share": ""}).recognised(table)
    assert options.dates == {"day": "%d.%m.%Y"}
    found = options.converted(table).to_pydict()
    assert found["code"] == ["1", None, "3"]
    assert found["day"][2] == datetime.datetime(2024, 4, 3)
    assert found["share"] == [1.0, 2.0, 3.0]
