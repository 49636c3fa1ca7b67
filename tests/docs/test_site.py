"""The site as ``make docs`` builds it: links lead somewhere, pages ask no other host, and a browser finds no fault."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest

pytestmark = pytest.mark.slow

SITE = Path(__file__).resolve().parents[2] / "build" / "site"
PAGES = ["index.html", "gallery/plot_recall_at_precision.html", "api/generated/equirate.RateClassifier.html"]


@pytest.fixture(scope="module")
def site() -> Path:
    if not (SITE / "index.html").exists():
        pytest.skip("no site: make docs builds it")
    return SITE


class Links(HTMLParser):
    """Collects what a page links to, loads and offers as targets."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.targets: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.targets |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif "src" in given:
            self.loaded.add(given["src"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.add(given["href"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    found = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)
    return {path.resolve(): Links(path.read_text("utf-8")) for path in found}


def test_every_link_leads_somewhere(pages: dict[Path, Links]) -> None:
    dead = []
    for path, page in pages.items():
        for link in page.links | page.loaded:
            address, place = urldefrag(link)
            if re.match(r"[a-z]+:", address):
                continue
            target = (path.parent / unquote(address.split("?")[0])).resolve() if address else path
            wrong = not target.exists() or (place and target in pages and unquote(place) not in pages[target].targets)
            dead += [f"{path.name}: {link}"] if wrong else []
    assert dead == []


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Links]) -> None:
    outside = {link for page in pages.values() for link in page.loaded if re.match(r"(https?:)?//", link)}
    assert outside == set()


def test_the_site_is_small(site: Path) -> None:
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) <= 40e6


def test_examples_are_linked_from_what_they_use(site: Path) -> None:
    page = (site / "api" / "generated" / "equirate.precision.html").read_text("utf-8")
    assert "gallery/plot_recall_at_precision.html" in page


def test_an_example_has_a_picture(site: Path) -> None:
    pictures = list((site / "_images").glob("sphx_glr_plot_*_001.png"))
    assert len(pictures) >= 16


def requests(browser: Any) -> list[str]:
    messages = [json.loads(entry["message"])["message"] for entry in browser.logs("performance")]
    sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [address for address in sent if not address.startswith(("file:", "data:"))]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (320, False)])
def test_a_page_in_a_browser(browser: Any, site: Path, page: str, width: int, dark: bool) -> None:
    browser.open(site / page, width=width, dark=dark, wait_for="document.readyState === 'complete'")
    shade = browser.run("return document.documentElement.dataset.theme")
    assert shade == ("dark" if dark else "light")
    overflow = browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0
    assert browser.findings() == []
    assert [entry["message"] for entry in browser.logs("browser") if entry["level"] == "SEVERE"] == []
    assert requests(browser) == []


def test_search_works_from_a_folder(browser: Any, site: Path) -> None:
    browser.open(site / "index.html")
    browser.driver.get((site / "search.html").as_uri() + "?q=precision")
    browser.driver.execute_async_script(
        "const done = arguments[0]; (function wait() {"
        " document.querySelectorAll('#search-results li a').length > 3 ? done() : setTimeout(wait, 50); })();"
    )
    found = browser.run("return [...document.querySelectorAll('#search-results li a')].map(a => a.href)")
    assert any("plot_recall_at_precision" in link or "constraints" in link for link in found)


def test_formulas_are_set(browser: Any, site: Path) -> None:
    browser.open(site / "concepts.html", wait_for="document.querySelectorAll('mjx-container').length > 0")
    assert browser.run("return document.querySelectorAll('mjx-merror').length") == 0
    assert requests(browser) == []
