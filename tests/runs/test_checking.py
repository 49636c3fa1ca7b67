"""What is found in a table before training, each with the option that mends it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

import pyarrow as pa
import pyarrow.csv as arrow_csv

import equirate as eq
from equirate.runs.checking import Checked, check, command, refuse
from equirate.runs.likeness import duplicates, share_determined
from equirate.runs.preparing import features_of
from equirate.runs.settings import RunSettings
from equirate.tables.reading import open_source

ROWS = 200
LABEL = ["01"[k % 3 == 0] for k in range(ROWS)]


def found(folder: Path, columns: dict[str, Any], separator: str = ";", **options: Any) -> tuple[RunSettings, Checked]:
    """What is found in a table with these columns beside a number, an attribute and a label."""
    rng = np.random.default_rng(0)
    whole = {"x": [f"{value:.4f}" for value in rng.normal(size=ROWS)], "sex": list("FM") * (ROWS // 2), "y": LABEL}
    path = folder / "table.csv"
    lines = [separator.join({**whole, **columns})]
    lines += [separator.join(map(str, row)) for row in zip(*{**whole, **columns}.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    settings = RunSettings.of({"data": str(path), "label": "y", "attributes": ("sex",), **options})
    source = open_source(path, settings.reading())
    return settings, check(settings, source, features_of(settings, source))


def numbers(rows: int = ROWS) -> list[int]:
    return np.random.default_rng(1).integers(1000, 9999, rows).tolist()


@pytest.mark.parametrize(
    ("values", "options", "stops"),
    [
        ([f"id{k}" for k in range(ROWS)], [("ignore", "c")], True),
        (list(range(ROWS)), [("ignore", "c")], False),
        ([f"{k % 28 + 1:02d}.{k % 12 + 1:02d}.2024" for k in range(ROWS)], [("date", "c")], True),
        ([f"{k % 12 + 1}/{k % 11 + 1}/2024" for k in range(ROWS)], [("date", "c=%d/%m/%Y")], True),
        ([f"{k / 7:.2f}".replace(".", ",") for k in numbers()], [("number", "c")], True),  # x has points
        ([f"{k % 90}%" for k in numbers()], [("number", "c")], True),
        (["-" if k % 9 == 0 else k for k in numbers()], [("missing", "-")], True),
        (["unknown" if k % 9 == 0 else k for k in numbers()], [("missing", "unknown")], True),
        (["?" if k % 9 == 0 else "ab"[k % 2] for k in range(ROWS)], [("missing", "?")], False),
        ([("-" if k % 9 == 0 else f"2024-01-{k % 28 + 1:02d}") for k in range(ROWS)], [("missing", "-")], True),
        (["abc" if k == 7 else value for k, value in enumerate(numbers())], [("missing", "abc")], True),
        ([f"{k % 5} %" for k in range(ROWS)], [("number", "c")], False),  # few values do as categories
        (["same"] * ROWS, [], False),
        (list("FM") * (ROWS // 2), [("ignore", "c")], False),
        (["f", "m"] * (ROWS // 2), [("ignore", "c")], False),
        (["late" if y == "1" else "" for y in LABEL], [("ignore", "c")], False),
        ([k / 1e3 + 10 * int(y) for k, y in zip(numbers(), LABEL, strict=True)], [("ignore", "c")], False),
        ([1e400 if k == 3 else k for k in range(ROWS)], [("ignore", "c")], True),
    ],
)
def test_a_column(tmp_path: Path, values: list[Any], options: list[tuple[str, str]], stops: bool) -> None:
    _, result = found(tmp_path, {"c": values})
    about = [finding for finding in result.findings if finding.column == "c"]
    assert len(about) == 1
    assert list(about[0].options) == options
    assert about[0].stops is stops


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(2).choice(["a", "b", "c"], ROWS).tolist(),
        numbers(),
        [f"2024-01-{k % 28 + 1:02d}" for k in range(ROWS)],
        [f"{k % 5}+" for k in range(ROWS)],
        ["true" if k % 2 else "false" for k in numbers()],
    ],
)
def test_nothing_is_found_in_a_good_column(tmp_path: Path, values: list[Any]) -> None:
    _, result = found(tmp_path, {"c": values})
    assert result.findings == ()


def test_decimal_commas_are_one_option_for_the_file(tmp_path: Path) -> None:
    commas = {name: [f"{k / 7:.2f}".replace(".", ",") for k in numbers()] for name in ("x", "b")}
    settings, result = found(tmp_path, commas)
    assert result.proposed == (("decimal", ","), ("ignore", "b"))
    again = found(tmp_path, commas, **{"decimal": ",", "ignore": ("b",)})[1]
    assert again.findings == ()
    assert again.table["x"].type == pa.float64()
    assert command(settings, result).endswith("--decimal , --maximize 'f1()' --out model")


def test_the_label(tmp_path: Path) -> None:
    some = ["" if k % 10 == 0 else "yes" if k % 3 == 0 else "no" for k in range(ROWS)]
    settings, result = found(tmp_path, {"y": some})
    assert result.proposed == (("drop_unlabelled", ""), ("positive", "yes"))
    with pytest.raises(eq.DataError) as refusal:
        refuse(settings, result, "out")
    assert len(str(refusal.value).splitlines()) == 1 + 2 * 2 + 2
    assert found(tmp_path, {"y": some}, drop_unlabelled=True, positive="yes")[1].dropped == {
        "without a label (y)": 20,
    }
    days = numbers()
    assert found(tmp_path, {"y": days})[1].proposed == (("positive", f">= {np.median(days):g}"),)
    several = found(tmp_path, {"y": ["a", "b", "c", "a"] * 50})[1]
    assert not several.stops
    assert not several.proposed
    assert "each is a class" in several.findings[0].what
    many = [f"name {k % 150}" for k in range(ROWS)]
    assert found(tmp_path, {"y": many})[1].stops
    for own in ([f"C{k}" for k in range(ROWS)], list(range(ROWS))):
        result = found(tmp_path, {"y": own})[1]
        assert "this is no label" in result.stops[0].what
        assert not any(name == "positive" for name, _ in result.proposed)


def test_missing_attributes_are_a_group_refused_or_left_out(tmp_path: Path) -> None:
    some = ["" if k % 10 == 0 else "FM"[k % 2] for k in range(ROWS)]
    result = found(tmp_path, {"sex": some})[1]
    assert ["a group 'missing', which ready-made constraints cover" in each.what for each in result.findings] == [True]
    assert not result.stops
    assert not result.proposed
    refused = found(tmp_path, {"sex": some}, missing_attributes="refuse")[1]
    assert [each.options for each in refused.stops] == [(("missing_attributes", "drop"),)]
    dropped = found(tmp_path, {"sex": some}, missing_attributes="drop")[1]
    assert (dropped.table.num_rows, dropped.findings) == (180, ())
    ages = ["" if k % 10 == 0 else k for k in numbers()]
    asked = {"minimize": "error_rate()", "subject_to": ("fpr(sex >= 5000) <= 0.5",)}
    assert found(tmp_path, {"sex": ages}, **asked)[1].proposed == (("missing_attributes", "drop"),)
    with pytest.raises(eq.EquirateError, match="--missing-attributes must be one of group, refuse, drop"):
        found(tmp_path, {"sex": some}, missing_attributes="fill")


def test_a_name_with_spaces_is_shown_as_it_is_written(tmp_path: Path) -> None:
    regions = ["ab"[k % 7 == 0] for k in range(ROWS)]
    said = "in the text of a constraint it is written attr('a region')"
    for text, shown in (("fpr() <= 0.5", True), ("fpr(attr('a region') == 'a') <= 0.5", False)):
        asked = {"minimize": "error_rate()", "subject_to": (text,), "attributes": ("a region",)}
        findings = found(tmp_path, {"a region": regions}, **asked)[1].findings
        assert (said in [each.what for each in findings]) is shown


def test_a_category_is_what_the_user_says_it_is(tmp_path: Path) -> None:
    values = [f"{k % 150:03d}" for k in range(ROWS)]
    result = found(tmp_path, {"c": values}, category=("c",))[1]
    assert result.findings == ()
    assert result.table["c"].to_pylist()[:2] == ["000", "001"]


def test_one_decision_is_one_line(tmp_path: Path) -> None:
    settings, result = found(tmp_path, {"c": [f"id{k}" for k in range(ROWS)]})
    with pytest.raises(eq.DataError) as refusal:
        refuse(settings, result)
    assert str(refusal.value).count("\n") == 0
    assert str(refusal.value).endswith("(--ignore c)")


def test_columns_that_say_the_same() -> None:
    rng = np.random.default_rng(0)
    codes, floats = rng.integers(0, 4, 300), rng.normal(size=300)
    table = pa.table(
        {
            "a": codes,
            "b": np.array(["n", "s", "e", "w"])[codes],
            "c": np.minimum(codes, 2),
            "d": floats,
            "e": floats,
            "f": 2 * floats,  # says the same too, but so does every column of distinct numbers
            "g": np.arange(300),
        }
    )
    assert duplicates(table, table.schema.names) == [("b", "a"), ("e", "d")]


def test_what_tells_the_label() -> None:
    y = np.random.default_rng(0).random(1000) < 0.3
    assert share_determined(pa.array(np.where(y, "x", "z")), y) == 1.0
    assert share_determined(pa.array(np.where(y, 5.0, np.nan), from_pandas=True), y) == 1.0
    assert share_determined(pa.array(np.where(y, -1.0, 1.0)), y) == 1.0
    noisy = y.copy()
    noisy[:100] = ~noisy[:100]
    assert share_determined(pa.array(noisy), y) is None
    assert share_determined(pa.array([f"v{k}" for k in range(1000)]), y) is None
    assert share_determined(pa.array(y), np.arange(1000) < 5) is None


def test_large_tables_are_looked_at_in_part() -> None:
    table = arrow_csv.read_csv(pa.BufferReader(b"a,b\n" + b"1,2\n2,1\n" * 30_000))
    assert duplicates(table, ["a", "b"]) == [("b", "a")]


def test_values_that_differ_by_spaces_or_case_are_named(tmp_path: Path) -> None:
    city = ["Oslo", "Rome"] * (ROWS // 2)
    city[:3], city[10] = [" Oslo", "OSLO", " Oslo"], "rome"
    _, checked = found(tmp_path, {"city": city})
    what = [finding.what for finding in checked.findings if finding.column == "city"]
    assert what == [
        "values that differ only by spaces or case are different ones here, make them alike: "
        "'Rome', 'rome' in 1 rows; 'Oslo', ' Oslo', 'OSLO' in 3 rows"
    ]
    _, checked = found(tmp_path, {"city": ["Oslo", "Rome", "Bonn", "Rome"] * (ROWS // 4)})
    assert not [finding for finding in checked.findings if finding.column == "city"]
