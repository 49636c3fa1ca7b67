"""Tables as people have them, each with several things to decide; written by code, so that they stay small."""

from __future__ import annotations

import datetime
import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ROWS = 320


@dataclass(frozen=True)
class Messy:
    """A file, what its user knows of it, and what its columns should be found to be."""

    name: str
    content: Callable[[], bytes]
    options: tuple[str, ...]
    kinds: dict[str, str] = field(default_factory=dict)
    """What some of the features should hold."""
    ignored: tuple[str, ...] = ()
    """Columns that are proposed to be left out."""


def dates(rng: np.random.Generator, format_: str, rows: int = ROWS) -> list[str]:
    first = datetime.date(2019, 1, 1)
    return [(first + datetime.timedelta(days=int(k))).strftime(format_) for k in rng.integers(0, 1200, rows)]


def people(seed: int) -> tuple[np.random.Generator, Any, Any, Any]:
    """A generator, a score, a group and a label that depends on both."""
    rng = np.random.default_rng(seed)
    score, group = rng.normal(50, 15, ROWS), rng.choice(["a", "b"], ROWS)
    return rng, score, group, score + 4 * (group == "a") + rng.normal(0, 8, ROWS) > 52


def delimited(columns: dict[str, Any], separator: str, end: str = "\n") -> str:
    lines = [separator.join(columns)]
    lines += [separator.join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return end.join(lines) + end


def bank() -> bytes:
    """Spreadsheet of a bank: cp1252, sep=, decimal commas, thousands, percent, dd.mm.yyyy, - for missing."""
    rng, score, group, label = people(1)
    opened = dates(rng, "%d.%m.%Y")
    income = [f"{euros:,}".replace(",", ".") + ",50" for euros in rng.integers(800, 9000, ROWS)]
    columns = {
        "Kundennr": [f"K-{k:05d}" for k in range(ROWS)],
        "Eröffnet": ["-" if k % 40 == 0 else day for k, day in enumerate(opened)],
        "Einkommen": income,
        "Auslastung": [f"{share} %" for share in rng.integers(0, 100, ROWS)],
        "Punkte": [f"{value:.2f}".replace(".", ",") for value in score],
        "Land": ["Österreich – West"] * ROWS,
        "Geschlecht": np.where(group == "a", "w", "m"),
        "Mahnung am": ["01.02.2023" if yes else "" for yes in label],
        "Ausfall": ["" if k % 30 == 7 else "ja" if yes else "nein" for k, yes in enumerate(label)],
    }
    return ("sep=;\r\n" + delimited(columns, ";", "\r\n")).encode("cp1252")


def waiting() -> bytes:
    """Unicode text of a spreadsheet: UTF-16, tabs, a label of days, ambiguous dates, thousands with commas."""
    rng, score, group, _ = people(2)
    columns = {
        "case id": np.arange(5000, 5000 + ROWS),
        "filed": [f"{day}/{month}/2021" for day, month in rng.integers(1, 13, (ROWS, 2))],
        "claim": [f"{amount:,}" for amount in rng.integers(1200, 90_000, ROWS)],
        "severity": [f"{value:.1f}" for value in score],
        "group": group,
        "days": (2 * score + rng.normal(60, 20, ROWS)).round().astype(int),
    }
    return delimited(columns, "\t").encode("utf-16")


def loans() -> bytes:
    """A label of several values that are written in several ways, and money with signs."""
    rng, score, group, label = people(3)
    approved = rng.choice(["Approved", "approved", "APPROVED "], ROWS)
    others = rng.choice(["denied", "withdrawn", "Denied"], ROWS)
    columns = {
        "application": [f"{k:08x}" for k in rng.integers(0, 2**31, ROWS)],
        "amount": [f'"${amount:,.2f}"' for amount in rng.uniform(1000, 50_000, ROWS)],
        "rating": [f"{value:.2f}" for value in score],
        "ethnicity": group,
        "outcome": np.where(label, approved, others),
    }
    return delimited(columns, ",").encode()


def survey() -> bytes:
    """An index without a name, ? for missing, the same column twice, empty cells of an attribute."""
    rng, score, group, label = people(4)
    age = rng.integers(18, 80, ROWS)
    school = rng.integers(0, 5, ROWS)
    columns = {
        "": np.arange(ROWS),
        "age": ["?" if k % 25 == 0 else value for k, value in enumerate(age)],
        "school": np.array(["none", "primary", "secondary", "college", "doctorate"])[school],
        "school code": school,
        "job": np.where(rng.random(ROWS) < 0.1, "?", rng.choice(["clerk", "nurse", "driver"], ROWS)),
        "hours": [f"{value:.0f}" for value in score],
        "race": np.where(rng.random(ROWS) < 0.1, "", group),
        "income": np.where(label, ">50K", "<=50K"),
    }
    return delimited(columns, ",").encode()


def clinic() -> bytes:
    """Latin-1, bars, free text with line breaks, names with commas, a word for missing among numbers."""
    rng, score, group, label = people(5)
    notes = [f'"patient no. {k}\nseen again, {word}"' for k, word in enumerate(rng.choice(["fiévre", "toux"], ROWS))]
    columns = {
        '"Remarques, libres"': notes,
        "âge": ["unknown" if k % 30 == 1 else value for k, value in enumerate(rng.integers(20, 90, ROWS))],
        "tension": [f"{value:.1f}" for value in score],
        "sexe": group,
        "réadmis": label.astype(int),
    }
    return delimited(columns, "|").encode("latin-1")


def parole() -> bytes:
    """Packed, with the first letter beyond ASCII far down, codes of digits, and a column that tells the label."""
    rng, score, group, label = people(6)
    columns = {
        "precinct": rng.integers(1, 60, ROWS),
        "officer": ["José" if k == ROWS - 2 else name for k, name in enumerate(rng.choice(["Ann", "Bob"], ROWS))],
        "points": [f"{value:.2f}" for value in score],
        "released": dates(rng, "%Y-%m-%d"),
        "new arrest on": [day if yes else "" for day, yes in zip(dates(rng, "%Y-%m-%d"), label, strict=True)],
        "race": group,
        "again": ["" if k % 50 == 3 else int(yes) for k, yes in enumerate(label)],
    }
    return gzip.compress(delimited(columns, ",").encode("cp1252"))


def ledger() -> bytes:
    """Parquet of another program: dates and numbers as text, rows without a label, a column of lists."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rng, score, group, label = people(7)
    table = pa.table(
        {
            "account": [f"DE{k:010d}" for k in range(ROWS)],
            "booked": dates(rng, "%d/%m/%Y"),
            "balance": [f"{value:.2f}".replace(".", ",") for value in 100 * score],
            "tags": [["a", "b"]] * ROWS,
            "branch": rng.integers(1, 30, ROWS),
            "segment": group.tolist(),
            "late": [None if k % 40 == 9 else bool(yes) for k, yes in enumerate(label)],
        }
    )
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def sensors() -> bytes:
    """Semicolons, numbers with several signs for missing, a time with a clock, a constant and a repeated column."""
    rng, score, group, label = people(8)
    value = [f"{x:.3f}".replace(".", ",") for x in score]
    columns = {
        "unit": ["mg/l"] * ROWS,
        "taken": [f"{day} 08:{k % 60:02d}" for k, day in enumerate(dates(rng, "%d.%m.%Y"))],
        "level": [("n/a", "--", "#NV")[k % 3] if k % 20 == 0 else x for k, x in enumerate(value)],
        "level again": [("n/a", "--", "#NV")[k % 3] if k % 20 == 0 else x for k, x in enumerate(value)],
        "site": group,
        "alarm": np.where(label, "TRUE", "FALSE"),
    }
    return delimited(columns, ";").encode("utf-8-sig")


def housing() -> bytes:
    """French survey: commas between quoted decimals, money with narrow spaces, months by name, Oui, Non and NSP."""
    rng, score, group, label = people(9)
    rents = [f"{euros:,} €".replace(",", "\u202f") for euros in rng.integers(300, 2900, ROWS)]
    columns = {
        "référence": [f"{a:08x}-{b:04x}" for a, b in rng.integers(0, 2**16, (ROWS, 2))],
        "loyer": rents,
        "surface": [f'"{value:.1f}"'.replace(".", ",") for value in score],
        "visite": dates(rng, "%d %b %Y"),
        "chauffage": np.where(rng.random(ROWS) < 0.1, "n.d.", rng.choice(["gaz", "bois", "électrique"], ROWS)),
        "région": np.where(rng.random(ROWS) < 0.08, "", group),
        "accepté": ["NSP" if k % 45 == 11 else "Oui" if yes else "Non" for k, yes in enumerate(label)],
    }
    return delimited(columns, ",", "\r\n").encode("utf-8-sig")


def staff() -> bytes:
    """American payroll: cp1252, dates with a clock, dollars, percent, zip codes, ids in no order, months to leave."""
    rng, score, group, _ = people(10)
    hired = [f"{day} {k % 12 + 1}:{k % 60:02d}" for k, day in enumerate(dates(rng, "%m/%d/%Y"))]
    months = np.maximum(1, (30 - 0.3 * score + rng.normal(0, 5, ROWS)).round()).astype(int)
    columns = {
        "EmployeeID": rng.permutation(np.arange(7000, 7000 + ROWS)),
        "Hired": hired,
        "Salary": [f'"${amount:,}"' for amount in rng.integers(40_000, 180_000, ROWS)],
        "Bonus": [f"{share:.1f}%" for share in rng.uniform(0, 20, ROWS)],
        "Zip": [f"{code:05d}" for code in rng.integers(501, 560, ROWS)],
        "Review": [f"{value:.2f}" if k % 33 else "n/a" for k, value in enumerate(score)],
        "Café": rng.choice(["yes", "no"], ROWS),
        "Company": ["Smith & Söhne™"] * ROWS,
        "Gender": np.where(rng.random(ROWS) < 0.05, "", group),
        "Months": ["" if k % 60 == 9 else month for k, month in enumerate(months)],
    }
    return delimited(columns, ",").encode("cp1252")


def invoices() -> bytes:
    """German spreadsheet: a title above the header, empty columns, years of two digits, thousands, a total below."""
    rng, score, group, label = people(21)
    amounts = [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in rng.uniform(100, 90_000, ROWS)]
    columns = {
        "Rechnung": [f"RE-2023/{k:04d}" for k in range(ROWS)],
        "Datum": dates(rng, "%d.%m.%y"),
        "Betrag (€)": amounts,
        "Bonität": [f"{value:.1f}".replace(".", ",") for value in score],
        "Mahnstufe": rng.integers(0, 4, ROWS),
        "Region": np.where(rng.random(ROWS) < 0.06, "", np.where(group == "a", "Süd", "Nord")),
        "Bezahlt": np.where(label, "Ja", "Nein"),
        "": [""] * ROWS,
        " ": [""] * ROWS,
    }
    title = "Offene Posten 2023;;;;;;;;\r\n;;;;;;;;\r\n"
    return (title + delimited(columns, ";", "\r\n") + "Summe;;12.345.678,90;;;;;;\r\n").encode("utf-8-sig")


def admissions() -> bytes:
    """American spreadsheet: a name twice, names with commas, words for missing, lines without values at the end."""
    rng, score, group, label = people(22)
    days = zip(rng.integers(1, 13, ROWS), rng.integers(1, 29, ROWS), rng.integers(1990, 2005, ROWS), strict=True)
    incomes = rng.integers(8000, 250_000, ROWS)
    columns = {
        "Name": [f'"Doe, Jane {k}"' for k in range(ROWS)],
        "DOB": [f"{month}/{day}/{year}" for month, day, year in days],
        "Score": [f"{value:.1f}" for value in score],
        "Income": [f'"{income:,}"' if k % 29 else "unknown" for k, income in enumerate(incomes)],
        "Grade": [f"{value:.2f}" if k % 31 else "N.A." for k, value in enumerate(rng.uniform(1, 4, ROWS))],
        "First Gen?": rng.choice(["Y", "N", "y"], ROWS),
        "Ethnicity": group,
        "Admitted": np.where(label, "YES", "no "),
    }
    text = delimited(columns, ",", "\r\n").replace("Grade", "Score", 1)
    return (text + "\r\n,,,,,,,\r\nSource: registrar\r\n").encode("cp1252")


MESSY = (
    Messy(
        "bank.csv",
        bank,
        ("--label", "Ausfall", "--attributes", "Geschlecht"),
        {"Eröffnet": "date", "Einkommen": "number", "Auslastung": "number", "Punkte": "number"},
        ("Kundennr", "Mahnung am"),
    ),
    Messy(
        "waiting.txt",
        waiting,
        ("--label", "days", "--attributes", "group"),
        {"filed": "date", "claim": "number", "severity": "number"},
        ("case id",),
    ),
    Messy(
        "loans.csv",
        loans,
        ("--label", "outcome", "--positive", "approved", "--attributes", "ethnicity"),
        {"amount": "number", "rating": "number"},
        ("application",),
    ),
    Messy(
        "survey.csv",
        survey,
        ("--label", "income", "--positive", ">50K", "--attributes", "race"),
        {"age": "number", "school": "category", "job": "category"},
        ("school code",),
    ),
    Messy(
        "clinic.csv",
        clinic,
        ("--label", "réadmis", "--attributes", "sexe"),
        {"âge": "number", "tension": "number"},
        ("Remarques, libres",),
    ),
    Messy(
        "parole.csv.gz",
        parole,
        ("--label", "again", "--attributes", "race", "--category", "precinct"),
        {"precinct": "category", "officer": "category", "released": "date"},
        ("new arrest on",),
    ),
    Messy(
        "ledger.parquet",
        ledger,
        ("--label", "late", "--attributes", "segment"),
        {"booked": "date", "balance": "number"},
        ("account", "tags"),
    ),
    Messy(
        "sensors.csv",
        sensors,
        ("--label", "alarm", "--attributes", "site"),
        {"taken": "date", "level": "number"},
        ("level again",),
    ),
    Messy(
        "housing.csv",
        housing,
        ("--label", "accepté", "--positive", "oui", "--attributes", "région"),
        {"loyer": "number", "surface": "number", "visite": "date", "chauffage": "category"},
        ("référence",),
    ),
    Messy(
        "staff.csv",
        staff,
        ("--label", "Months", "--positive", "<= 12", "--attributes", "Gender"),
        {"Hired": "date", "Salary": "number", "Bonus": "number", "Review": "number"},
        ("EmployeeID",),
    ),
    Messy(
        "invoices.csv",
        invoices,
        ("--label", "Bezahlt", "--positive", "ja", "--attributes", "Region"),
        {"Datum": "date", "Betrag (€)": "number", "Bonität": "number", "Mahnstufe": "number"},
        ("Rechnung",),
    ),
    Messy(
        "admissions.csv",
        admissions,
        ("--label", "Admitted", "--positive", "yes", "--attributes", "Ethnicity"),
        {"DOB": "date", "Score": "number", "Income": "number", "Score.1": "number", "First Gen?": "category"},
        ("Name",),
    ),
)
