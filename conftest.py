"""Settings and fixtures shared by all tests."""

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Before anything imports matplotlib: tests draw to files, never to a screen.
os.environ.setdefault("MPLBACKEND", "agg")

import pytest
from hypothesis import HealthCheck, settings

# Nothing may fail for the speed of the machine: no deadline for an example, no complaint of slow generation.
settings.register_profile("equirate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# In continuous integration the examples are also the same in every run.
settings.register_profile("equirate-ci", settings.get_profile("equirate"), derandomize=True, database=None)
settings.load_profile("equirate-ci" if os.environ.get("CI") else "equirate")

ROOT = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the directory of the public data sets, or skip the test if there is none."""
    configured = os.environ.get("EQUIRATE_DATA")
    path = Path(configured) if configured else ROOT.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"no data directory at {path}: set EQUIRATE_DATA to one")
    return path


# -- pages in a browser ----------------------------------------------------------------------------

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)


class Browser:
    """Headless Chromium."""

    def __init__(self, chromium: str, driver: str) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in FLAGS.split():
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(driver), options=options)
        self.driver.set_script_timeout(60)

    def run(self, script: str) -> Any:
        """Run a script in the page and return what it returns."""
        return self.driver.execute_script(script)

    def command(self, name: str, **arguments: Any) -> Any:
        """Send a command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(name, arguments)

    def open(self, path: Path, width: int = 1100, dark: bool = False, wait_for: str = "true") -> None:
        """Open a page, and wait until an expression is true in it."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500
        )
        self.logs("performance"), self.logs("browser")  # what came before
        self.driver.get(path.as_uri())
        self.driver.execute_async_script(
            f"const done = arguments[0]; (function wait() {{ ({wait_for}) ? done() : setTimeout(wait, 20); }})();"
        )

    def logs(self, kind: str) -> list[dict[str, Any]]:
        """Take what was logged since the last time."""
        return list(self.driver.get_log(kind))

    def findings(self) -> list[tuple[Any, ...]]:
        """What axe-core finds wrong with the page."""
        axe = pytest.importorskip("axe_core_python")
        self.run((Path(axe.__file__).parent / "axe.min.js").read_text("utf-8"))
        found = self.driver.execute_async_script("axe.run(document).then(arguments[0])")
        assert len(found["passes"]) > 10
        return [(v["id"], v["impact"], [n["html"][:200] for n in v["nodes"]]) for v in found["violations"]]

    def outside(self) -> list[str]:
        """Elements that stick out of the page to the right, but for those in a part that scrolls by itself."""
        found: list[str] = self.run(
            "const width = document.documentElement.clientWidth;"
            "const wide = e => e.getBoundingClientRect().right > width + 1 && !e.closest('.scroll > *');"
            "return [...document.querySelectorAll('body *:not(svg *)')].filter(wide)"
            ".map(e => e.outerHTML.slice(0, 200))"
        )
        return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return a browser, or skip the test if there is none."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None or find_spec("selenium") is None:
        pytest.skip("no browser: needs Debian's chromium and chromium-driver, and selenium")
    found = Browser(chromium, driver)
    yield found
    found.driver.quit()
