import importlib
import pkgutil
import re
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
