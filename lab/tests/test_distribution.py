"""The second distribution: one version and one licence with the library, and nothing of it is left out."""

import re
import tomllib
from pathlib import Path

from packaging.version import Version

import equirate as eq

LAB = Path(__file__).resolve().parent.parent
PROJECTS = [tomllib.loads((folder / "pyproject.toml").read_text("utf-8")) for folder in (LAB.parent, LAB)]


def test_both_distributions_read_their_version_from_one_place() -> None:
    for folder, project in zip((LAB.parent, LAB), PROJECTS, strict=True):
        assert project["project"]["dynamic"] == ["version"]
        source = folder / project["tool"]["hatch"]["version"]["path"]
        assert source.resolve() == Path(eq.__file__)
    found = re.findall(r'^__version__ = "([^"]+)"$', Path(eq.__file__).read_text("utf-8"), re.MULTILINE)
    assert found == [eq.__version__]


def test_the_laboratory_may_be_used_with_this_version() -> None:
    (needed,) = (name for name in PROJECTS[1]["project"]["dependencies"] if name.startswith("equirate["))
    assert Version(needed.split(">=")[1]) <= Version(eq.__version__)


def test_both_have_the_licence() -> None:
    assert (LAB / "LICENSE").read_bytes() == (LAB.parent / "LICENSE").read_bytes()
    for project in PROJECTS:
        assert project["project"]["license-files"] == ["LICENSE"]
