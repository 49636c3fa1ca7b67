"""Settings and fixtures shared by all tests."""

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Before anything imports matplotlib: tests draw to files, never to a screen.
os.environ.setdefault("MPLBACKEND", "agg")
# Before anything loads OpenMP: threads that wait leave the cores to others, as on the command line.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# Before anything imports numpy: tests run in one process per core, so each uses one thread. Tests of threads set more.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
# Before anything loads OpenBLAS: the same kernels on all x86-64 processors, so that golden fits have the same digits.
X86_64 = platform.machine().lower() in ("x86_64", "amd64")
if X86_64:
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
# Files carry the date of their model: with this one, equal runs write equal bytes.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1700000000")

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


# -- skips -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Allowed:
    """A skip that continuous integration may have: what it says, why it is no fault, and whether that is so here."""

    reason: str
    why: str
    here: bool


ROOT_USER = hasattr(os, "geteuid") and os.geteuid() == 0
ALLOWED_SKIPS = [
    Allowed(
        r"no data directory at ",
        "the data sets of others are not in the repository, and a machine may have none",
        "EQUIRATE_DATA" not in os.environ,
    ),
    Allowed(
        r"no browser: ",
        ".ci/run installs one only as root of a Debian system",
        not (ROOT_USER and shutil.which("apt-get")),
    ),
    Allowed(r"no site: ", "make docs needs npm, which brings MathJax", shutil.which("npm") is None),
    Allowed(r"no node: ", "JavaScript is run where node is there already", shutil.which("node") is None),
    Allowed(
        r"could not import 'mlflow'",
        "mlflow-skinny wants an importlib_metadata below 10, which constraints/dev.txt is above",
        find_spec("mlflow") is None,
    ),
    Allowed(
        r"could not import 'numpydoc",
        "it belongs to the group docs, which make docs installs",
        find_spec("numpydoc") is None,
    ),
    Allowed(r"root may write anywhere", "a folder that root cannot write to is hard to find", ROOT_USER),
    Allowed(r"no /dev/full on this system", "only Linux has a file that is always full", sys.platform != "linux"),
    Allowed(r"signals as shells send them", "Windows has none", os.name == "nt"),
    Allowed(
        r"the compiled passes are turned off|needs numba|no compiled passes here",
        "the library without compiled passes is tested as well",
        os.environ.get("EQUIRATE_KERNELS") == "0",
    ),
    Allowed(r"recorded with ", "the last digits of golden fits depend on the kind of processor", not X86_64),
    Allowed(r"this BLAS cannot have two threads", "there is one core", os.cpu_count() == 1),
]
"""Where CI is set, any other skip fails the run: a test that nobody runs is no test."""


def refused_skips(reports: Iterable[Any], allowed: Iterable[Allowed] = ALLOWED_SKIPS) -> list[str]:
    """Name the skipped tests, each with its reason, whose reason is not allowed here."""
    here = [entry for entry in allowed if entry.here]
    refused = []
    for report in reports:
        where = report.longrepr
        said = str(where[2] if isinstance(where, tuple) else where).removeprefix("Skipped: ")
        if not any(re.match(entry.reason, said) for entry in here):
            refused.append(f"{report.nodeid}: {said}")
    return refused


def _refused(config: pytest.Config) -> list[str]:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("CI") or terminal is None:
        return []
    return refused_skips(terminal.stats.get("skipped", []))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that skipped what it should not."""
    if session.exitstatus == pytest.ExitCode.OK and _refused(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Name the tests that should not have been skipped."""
    refused = _refused(config)
    if refused:
        terminalreporter.section("skipped for a reason that is not in ALLOWED_SKIPS of conftest.py", red=True)
        for line in refused:
            terminalreporter.line(line)


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
        """What axe-core finds wrong with the page, once transitions of colours have ended."""
        axe = pytest.importorskip("axe_core_python")
        self.run((Path(axe.__file__).parent / "axe.min.js").read_text("utf-8"))
        found = self.driver.execute_async_script(
            "const ending = document.getAnimations().filter(a => a.effect.getComputedTiming().endTime < Infinity);"
            "Promise.allSettled(ending.map(a => a.finished)).then(() => axe.run(document)).then(arguments[0])"
        )
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
