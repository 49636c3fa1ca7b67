"""The page of a monitor: self-contained, escaped, and the same for the same monitor."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import equirate as eq
from equirate.monitoring.page import _ticks, page, sentence


def monitor() -> eq.Monitor:
    rng = np.random.default_rng(0)
    y = rng.random(4000) < 0.4
    predicted = np.where(rng.random(4000) < 0.8, y, ~y)
    evil = eq.attr("<script>alert(1)</script>") == "\"'&<b>"
    people = {"<script>alert(1)</script>": np.where(rng.random(4000) < 0.5, "\"'&<b>", "other")}
    found = eq.Monitor([eq.accuracy() >= 0.9, eq.recall(evil) >= 0.5, eq.npv() >= 0.86])
    for start in range(0, 4000, 400):
        part = slice(start, start + 400)
        found.update(predicted[part], y[part], attributes={name: column[part] for name, column in people.items()})
    return found


def test_it_is_self_contained_and_escaped() -> None:
    text = page(monitor())
    assert not re.search(r"<script|https?://(?!www\.w3\.org)|<b>|src=|url\(", text.replace("&lt;script", ""))
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text
    assert text.count("<svg") == 3
    assert "After 4,000 rows: 1 constraint is broken, 1 is kept, 1 cannot be decided yet." in text
    assert ">alarm</text>" in text
    assert "more would decide" in text


def test_its_elements_are_closed() -> None:
    opened: list[str] = []

    class Balanced(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "link", "line"):
                opened.append(tag)

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            pass

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Balanced().feed(page(monitor()))
    assert opened == []


def test_the_same_monitor_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (monitor().to_html(tmp_path / name).read_bytes() for name in ("a.html", "b.html"))
    assert first == second


def test_before_any_row() -> None:
    empty = eq.Monitor([eq.f1() >= 0.5, eq.recall() >= 0.5])
    assert sentence(empty) == "After 0 rows: 2 constraints cannot be decided yet."
    assert "no rows yet" in page(empty)


@pytest.mark.parametrize(("low", "high"), [(-0.03, 0.12), (-1e-4, 2e-4), (-3.0, 0.0), (-0.5, 0.5)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    ticks = _ticks(low, high)
    assert 2 <= len(ticks) <= 6
    assert low <= min(ticks)
    assert max(ticks) <= high
    assert 0 in ticks
