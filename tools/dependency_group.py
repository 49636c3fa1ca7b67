"""Print a dependency group of pyproject.toml as a requirements file: ``dependency_group.py NAME``."""

import sys
import tomllib
from pathlib import Path
from typing import Any


def requirements(groups: dict[str, list[Any]], name: str) -> list[str]:
    found: list[str] = []
    for entry in groups[name]:
        found += [entry] if isinstance(entry, str) else requirements(groups, entry["include-group"])
    return found


if __name__ == "__main__":
    pyproject = Path(__file__).resolve().parent.parent / "pyproject.toml"
    groups = tomllib.loads(pyproject.read_text(encoding="utf-8"))["dependency-groups"]
    print("\n".join(requirements(groups, sys.argv[1])))
