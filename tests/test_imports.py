import importlib
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import equirate

PYPROJECT = tomllib.loads((Path(__file__).resolve().parent.parent / "pyproject.toml").read_text("utf-8"))
EXTRAS = {
    re.split(r"[^\w-]", requirement)[0]
    for requirements in PYPROJECT["project"]["optional-dependencies"].values()
    for requirement in requirements
}
MODULES = [
    module.name
    for module in pkgutil.walk_packages(equirate.__path__, "equirate.", onerror=lambda _: None)
    if not module.name.endswith(".__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_module_imports_unless_an_extra_is_missing(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError as error:
        missing = error if isinstance(error, ModuleNotFoundError) else error.__cause__
        if isinstance(missing, ModuleNotFoundError) and (missing.name or "").split(".")[0] in EXTRAS:
            pytest.skip(f"{missing.name} is not installed")
        raise


@pytest.mark.slow
def test_type_checkers_know_the_public_names_and_no_others(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    path = tmp_path / "user.py"
    path.write_text(
        "import equirate as eq\nfrom equirate import *\nfrom equirate import RateClassifier, f1\n"
        "f1(label='cow')\nmaximize(precision())\neq.RateClassifier\neq.no_such_name\n"
    )
    command = [sys.executable, "-m", "mypy", "--config-file", os.devnull, "--cache-dir", str(tmp_path), str(path)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    errors = [line for line in found.stdout.splitlines() if "error" in line and str(path) in line]
    assert len(errors) == 1
    assert 'user.py:7: error: Module has no attribute "no_such_name"' in errors[0]
