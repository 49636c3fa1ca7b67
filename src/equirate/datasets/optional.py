"""Import of pandas, which only the data sets need, with an error that says what to install.

In: a package's name and its caller. Out: the module. Called inside functions, so that importing
:mod:`equirate.datasets` itself does not need it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["require"]


def require(module: str, *, caller: str) -> Any:
    """Import ``module``, or say which extra brings it."""
    package = module.partition(".")[0]
    try:
        import_module(package)
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:  # the package is installed, but one of its dependencies is not
            raise
        raise ImportError(f"{caller} needs {package}: pip install 'equirate[data]'", name=package) from error
