"""`load`: open what `RateClassifier.save` and `RatePostprocessor.save` have written. Nothing in a file is executed."""

from __future__ import annotations

import os
from typing import Any

from .._core.errors import EquirateError, FileError
from .._core.rules import shown
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

    Whatever the file holds, only `FileError` is raised, and no more memory is taken than the file has bytes, and a
    little.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.load("no such file")
    Traceback (most recent call last):
    ...
    equirate.FileError: cannot load no such file: there is no such file
    """
    try:
        return restored(*files.read(path))
    except EquirateError as error:
        raise FileError(f"cannot load {path!s}: {error}") from None
    except Exception as error:  # the rules let nothing through that is known to fail; whatever does is still refused
        raise FileError(f"cannot load {path!s}: it is damaged ({type(error).__name__}: {error})") from error


def restored(manifest: files.Manifest, arrays: files.Arrays) -> Any:
    """Make the estimator that a manifest and arrays describe, or say why they are refused."""
    name = manifest.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        raise FileError(f"it holds {shown(name)}, not a {' or a '.join(KINDS)}")
    kind, read = KINDS[name]
    return read(kind, manifest, arrays)
