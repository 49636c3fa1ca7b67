"""A test that does not run is seen: CI refuses skips without a listed reason, and a broken file is an error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(folder: Path, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a file of tests with this repository's settings."""
    for name in ("conftest.py", "pyproject.toml"):
        (folder / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    (folder / "test_it.py").write_text(text, "utf-8")
    clean = {name: value for name, value in os.environ.items() if name not in ("CI", "EQUIRATE_DATA")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    return subprocess.run(
        command, cwd=folder, env={**clean, **environment}, capture_output=True, text=True, check=False
    )


SKIPS = """
import pytest

def test_runs():
    pass

def test_of_today():
    pytest.skip("no time")

@pytest.mark.skipif(True, reason="never mind")
def test_of_tomorrow():
    pass

def test_with_data(data_dir):
    pass
"""


def test_ci_names_skips_whose_reason_is_not_listed(tmp_path: Path) -> None:
    found = run(tmp_path, SKIPS, CI="1")
    assert found.returncode == pytest.ExitCode.TESTS_FAILED, found.stdout
    assert "test_it.py::test_of_today: no time" in found.stdout
    assert "test_it.py::test_of_tomorrow: never mind" in found.stdout
    assert "test_with_data" not in found.stdout  # no data directory: listed


def test_other_runs_may_skip(tmp_path: Path) -> None:
    found = run(tmp_path, SKIPS)
    assert found.returncode == pytest.ExitCode.OK, found.stdout
    assert "ALLOWED_SKIPS" not in found.stdout


def test_ci_refuses_data_that_were_promised(tmp_path: Path) -> None:
    found = run(tmp_path, "def test_with_data(data_dir): pass", CI="1", EQUIRATE_DATA=str(tmp_path / "nowhere"))
    assert found.returncode == pytest.ExitCode.TESTS_FAILED, found.stdout
    assert "test_it.py::test_with_data: no data directory" in found.stdout


def test_ci_refuses_a_file_skipped_for_a_package(tmp_path: Path) -> None:
    found = run(tmp_path, "import pytest\npytest.importorskip('not_there_at_all')\ndef test_it(): pass", CI="1")
    assert found.returncode != pytest.ExitCode.OK
    assert "could not import 'not_there_at_all'" in found.stdout


def test_a_file_that_cannot_be_imported_is_an_error(tmp_path: Path) -> None:
    found = run(tmp_path, "import not_there_at_all\ndef test_it(): pass")
    assert found.returncode == pytest.ExitCode.INTERRUPTED, found.stdout
    assert "1 error" in found.stdout
