"""`load`: open what `RateClassifier.save` and `RatePostprocessor.save` have written. Nothing in a file is executed."""

from __future__ import annotations

import os
from typing import Any

from .._core.errors import EquirateError, FileError
from . import files
from .postprocessor import RatePostprocessor
from .rate_classifier import RateClassifier
from .saving import read_classifier, read_postprocessor

KINDS = {
    "RateClassifier": (RateClassifier, read_classifier),
    "RatePostprocessor": (RatePostprocessor, read_postprocessor),
}


def load(path: str | os.PathLike[str]) -> Any:
    """Open a `RateClassifier` or a `RatePostprocessor` that was saved with ``save``. Nothing in the file is executed.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.load("no such file")
    Traceback (most recent call last):
    ...
    equirate.FileError: there is no file no such file
    """
    manifest, arrays = files.read(path)
    name = manifest.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        raise FileError(f"{path} holds a {name!r}, not a {' or a '.join(KINDS)}")
    kind, read = KINDS[name]
    try:
        return read(kind, manifest, arrays)
    except FileError:
        raise
    except (EquirateError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise FileError(f"{path} is damaged: {error}") from error
