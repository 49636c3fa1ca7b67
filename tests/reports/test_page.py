"""The page of a report, as text and in a browser: no script error, no network, escaped, legible, and it follows."""

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equirate as eq
from equirate.data.examples import Examples
from equirate.judge.evaluation import Evaluation
from equirate.reports.facts import SHOWN, Baseline, GameCourse, Member, Origin, Point, changes, moves, rates_by_slice
from equirate.reports.report import Report

HOSTILE = "<script>alert(1)</script>"
VALUE = "\"'><img src=x onerror=alert(2)>{{ 7 * 7 }}${at}"
LABEL = "'</script><script>alert(3)</script><!--'"
GROUP = eq.attr(HOSTILE) == VALUE
PROBLEM = eq.Problem(
    eq.minimize(eq.error_rate()),
    [eq.tpr(GROUP) >= eq.tpr(~GROUP) - 0.1, eq.positive_rate() <= 0.5, eq.precision(GROUP) >= 0.2],
)


def made(slices: int = 0) -> Report:
    """A report with everything in it, of data with hostile names."""
    rng = np.random.default_rng(0)
    n = 400
    y, group = rng.integers(0, 2, n), np.where(rng.random(n) < 0.4, VALUE, "b")
    examples = Examples.of(y, {HOSTILE: group})
    scores = y + rng.normal(size=n)
    problem = PROBLEM
    for _ in range(slices):
        problem = eq.Problem(problem.objective, [*problem.constraints, eq.tpr(~GROUP) >= 0.1])

    def at(threshold: float) -> Any:
        return 0.7 * (scores > threshold) + 0.3 * (scores > 1.5)

    def evaluated(p: Any) -> Evaluation:
        return Evaluation.of(problem, examples, p)

    def rates(p: Any) -> Any:
        return rates_by_slice(problem, examples, p, 0.95)

    plain = (scores > 0.5).astype(float)
    points = tuple(
        Point(level, evaluated(at(cut)), rates(at(cut))) for level, cut in ((-0.1, 0.9), (0.0, 0.6), (0.2, 0.2))
    )
    history = {"round": np.arange(200), "objective": rng.random((200, 4)), "violation": rng.normal(size=(200, 4))}
    return Report(
        repr(problem),
        {"train": evaluated(at(0.5)), "test": evaluated(at(0.6))},
        (f"a note about {HOSTILE}",),
        LABEL,
        rates(at(0.6)),
        Baseline(
            f"the old {HOSTILE}",
            f"what {VALUE} is",
            evaluated(plain),
            rates(plain),
            changes(problem, examples, at(0.6), plain),
        ),
        points,
        GameCourse.of(history),
        Origin(
            f"RateClassifier({HOSTILE})", (Member(0.7, 0.4), Member(0.3, 0.1)), {"features": VALUE}, {"equirate": "0"}
        ),
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("vl_convert")
    path = tmp_path_factory.mktemp("page") / "report.html"
    made().to_html(path, title=f"Title {HOSTILE}", command=f"equirate fit '{HOSTILE}'")
    return path


# -- as text --------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Collects tags and their attributes, and checks that they nest."""

    VOID = ("meta", "link", "br", "input", "img")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_one_small_file_that_asks_for_nothing(written: Path) -> None:
    page = written.read_text("utf-8")
    assert len(page.encode()) < 2_000_000
    for tag, attributes in Tags(page).found:
        for name in ("src", "href", "action", "srcset"):
            assert (attributes.get(name) or "").split("#")[0] in ("", "data:,"), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")]
    assert re.findall(r"@import|url\(", page.split("</style>")[0]) == []


def test_the_same_report_gives_the_same_bytes(written: Path, tmp_path: Path) -> None:
    made().to_html(tmp_path / "again.html", title=f"Title {HOSTILE}", command=f"equirate fit '{HOSTILE}'")
    assert (tmp_path / "again.html").read_bytes() == written.read_bytes()


def test_names_from_the_data_are_never_markup(written: Path) -> None:
    page = written.read_text("utf-8")
    tags = [tag for tag, _ in Tags(page).found]
    assert tags.count("script") == 4  # two with data, the charting library, and the page's own
    assert "img" not in tags
    assert "alert(1)" in page  # shown as text
    for island in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, flags=re.DOTALL):
        assert not set("<>&") & set(island)
        json.loads(island)


def test_every_table_has_a_caption_and_every_chart_words(written: Path) -> None:
    page = written.read_text("utf-8")
    found = Tags(page).found
    tables = [tag for tag, _ in found if tag == "table"]
    assert len(tables) == page.count("<caption>")
    canvases = [attributes for _, attributes in found if "data-chart" in attributes]
    assert len(canvases) == 1 + 1 + len(SHOWN) + 2
    assert all(len(attributes["aria-label"] or "") > 30 for attributes in canvases)
    assert {a["data-chart"] for a in canvases} == set(json.loads(re.findall(r'id="specs">(.*?)</script>', page)[0]))


def test_little_to_tell(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    whole = made()
    problem = eq.Problem(eq.minimize(eq.error_rate()))
    bare = replace(whole.last, constraints=())
    for k, report in enumerate(
        [
            Report(repr(PROBLEM), {"train": whole.last}),
            Report(repr(problem), {"train": bare}),
            Report(
                repr(problem), {"train": replace(bare, objective=float("nan"), low=-np.inf, high=np.inf, slices=())}
            ),
            replace(whole, baseline=None),
            replace(whole, frontier=()),
            replace(whole, frontier=(), baseline=replace(whole.baseline, rates=(), changes=())),  # type: ignore[type-var]
        ]
    ):
        report.to_html(tmp_path / f"{k}.html")
        page = (tmp_path / f"{k}.html").read_text("utf-8")
        Tags(page)
        assert "nan" not in page.split("<script")[0].replace("nan</td>", "").lower() or not np.isfinite(
            report.last.objective
        )
        assert ('id="at"' in page) == bool(report.frontier)


@pytest.mark.parametrize("name", ["jinja2", "altair", "vl_convert"])
def test_a_missing_extra_is_named(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from equirate.reports import page

    monkeypatch.setattr(page, "_bundle", page._bundle.__wrapped__)  # which would otherwise be remembered
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'equirate\[report\]'"):
        made().to_html(tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    with pytest.raises(eq.EquirateError, match=r"cannot be written to .*nowhere"):
        made().to_html(tmp_path / "nowhere" / "page.html")


# -- in a browser ---------------------------------------------------------------------------------

DRAWN = "document.documentElement.dataset.drawn"


@pytest.mark.slow
def test_no_script_error_and_no_request(browser: Any, written: Path) -> None:
    browser.open(written, wait_for=DRAWN)
    assert browser.logs("browser") == []  # no error, no warning, nothing refused by the page's own policy
    messages = [json.loads(entry["message"])["message"] for entry in browser.logs("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert written.as_uri() in asked
    assert [url for url in asked if not url.startswith(("data:", written.as_uri()))] == []


@pytest.mark.slow
def test_charts_are_drawn(browser: Any, written: Path) -> None:
    browser.open(written, wait_for=DRAWN)
    drawn = browser.run(
        "return [...document.querySelectorAll('[data-chart]:not(details *)')]"
        ".map(c => c.querySelectorAll('svg path').length)"
    )
    assert len(drawn) == 1 + 1 + len(SHOWN)
    assert min(drawn) > 3
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    browser.driver.execute_async_script(
        "const done = arguments[0]; const all = () => [...document.querySelectorAll('[data-chart]')];"
        "(function wait() { all().every(c => c.querySelector('svg')) ? done() : setTimeout(wait, 20); })();"
    )
    assert browser.logs("browser") == []


@pytest.mark.slow
def test_hostile_names_are_shown_as_text(browser: Any, written: Path) -> None:
    browser.open(written, wait_for=DRAWN)
    shown = browser.run("return document.body.innerText")
    assert HOSTILE in shown
    assert VALUE in shown
    assert LABEL in shown
    assert browser.run("return document.querySelectorAll('img').length") == 0
    assert browser.run("return document.title") == f"Title {HOSTILE}"
    assert any(
        "<script>" in text  # and cut where it is too long
        for text in browser.run("return [...document.querySelectorAll('svg text')].map(t => t.textContent)")
    )


@pytest.mark.slow
def test_the_slider_moves_every_number(browser: Any, written: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    report = made()
    browser.open(written, wait_for=DRAWN)
    slider = browser.driver.find_element(By.ID, "at")
    read = "return [...document.querySelectorAll('#moved tbody td')].map(c => c.textContent)"
    rings = (
        "return [...document.querySelectorAll('[data-chart]')].filter(c => c.dataset.chart.match(/^(rate|frontier)/))"
        ".map(c => [...c.querySelectorAll('path[stroke=\"var(--moved)\"]')]"
        ".map(p => p.getAttribute('transform')).join())"
    )
    seen, places = [], []
    for key, k in ((Keys.HOME, 0), (Keys.ARROW_RIGHT, 1), (Keys.ARROW_RIGHT, 2)):
        slider.send_keys(key)  # by keyboard alone
        browser.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 50))")
        point = report.frontier[k]
        wanted = [
            f"{rate.value:.1%}" for size in point.evaluation.slices for rate in point.rates if rate.slice == size.slice
        ]
        seen.append(browser.run(read))
        assert seen[-1] == wanted
        words = browser.run("return document.getElementById('at-words').textContent")
        assert f"{('-0.1', '0', '+0.2')[k]}: error_rate() {point.evaluation.objective:.4f}" in words
        assert slider.get_attribute("aria-valuetext") == words
        kept = browser.run("return [...document.querySelectorAll('#kept .badge')].map(b => b.textContent)")
        assert [text.split()[-1] for text in kept] == [f"{c.violation:+.4f}" for c in point.evaluation.constraints]
        places.append(browser.run(rings))
    assert len({tuple(values) for values in seen}) == 3
    assert len(places[0]) == 1 + len(SHOWN)
    for chart in zip(*places, strict=True):  # the ring of every chart moves along
        assert all(chart)
        assert len(set(chart)) > 1


UNFOLD = "document.querySelectorAll('details').forEach(d => { d.open = true; })"


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 390, 768])
def test_no_sideways_scrolling(width: int, browser: Any, written: Path) -> None:
    browser.open(written, width, wait_for=DRAWN)
    browser.run(UNFOLD)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.outside() == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(1100, False), (1100, True), (390, False), (390, True)])
def test_accessible(width: int, dark: bool, browser: Any, written: Path) -> None:
    browser.open(written, width, dark, wait_for=DRAWN)
    browser.run(UNFOLD)
    assert browser.findings() == []


@pytest.mark.slow
def test_light_dark_and_paper(browser: Any, written: Path) -> None:
    colour = (
        "return [getComputedStyle(document.body).backgroundColor, "
        "getComputedStyle(document.querySelector('svg text')).fill]"
    )
    browser.open(written, wait_for=DRAWN)
    light = browser.run(colour)
    browser.open(written, dark=True, wait_for=DRAWN)
    dark = browser.run(colour)
    assert light[0] != dark[0]
    assert light[1] != dark[1]  # charts follow by themselves
    browser.command(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    assert browser.run(colour)[0] == "rgb(255, 255, 255)"
    assert browser.run("return getComputedStyle(document.querySelector('.slider')).display") == "none"
    printed = browser.command("Page.printToPDF")
    assert len(printed["data"]) > 10_000


@pytest.mark.slow
def test_without_scripts_every_number_is_there(browser: Any, written: Path) -> None:
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.command("Page.navigate", url=written.as_uri())
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
        shown = browser.run("return document.body.innerText")
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
    report = made()
    assert report.verdict in shown
    for c in report.last.constraints:
        assert f"{c.violation:+.4f}" in shown


@pytest.mark.parametrize("classes", [3, 26])
def test_several_classes_have_a_line_each_a_matrix_by_slice_and_moves(tmp_path: Path, classes: int) -> None:
    rng = np.random.default_rng(0)
    labels = np.array([f"<class {k:02d}>" for k in range(classes)])
    y, group = labels[np.arange(60 * classes) % classes], np.array(["f", "m"])[np.arange(60 * classes) % 2]
    decided = np.where(rng.random(len(y)) < 0.7, y, labels[rng.integers(0, classes, len(y))])
    wrong = np.where(decided == labels[0], labels[1], decided)
    problem = eq.Problem(eq.maximize(eq.accuracy()), [eq.error_rate(eq.attr("sex") == "f") <= 0.5])
    examples, eye = Examples.of(y, {"sex": group}, classes=tuple(labels)), np.eye(classes)
    ours, theirs = (eye[np.searchsorted(labels, each)] for each in (decided, wrong))
    asked = problem.expanded(examples)
    found = moves(examples, ours, theirs)
    beside = Baseline("old", "", Evaluation.of(asked, examples, theirs, 0.95), moves=found)
    tested = Evaluation.of(asked, examples, ours, 0.95)
    report = Report(problem=repr(asked), parts={"test": tested}, positive_label="", baseline=beside)
    report.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    Tags(page)
    assert page.count("Confusion matrix, ") == len(report.last.classes) == 2
    assert page.count('<tr><th scope="row">&lt;class') == 2 * 2 * classes + 1
    assert "<class 00>" not in page
    matrix = np.array(report.last.classes[0].shares)
    expected = [[np.mean((y == i) & (decided == j)) for j in labels] for i in labels]
    np.testing.assert_allclose(matrix, expected, atol=1e-12)
    assert [(each.before, each.after) for each in found] == [(labels[1], labels[0])]
    moved = decided == labels[0]
    counts = [moved.sum(), (moved & (y == labels[0])).sum(), (moved & (y == labels[1])).sum()]
    assert [found[0].number, found[0].right, found[0].wrong] == pytest.approx(counts)
