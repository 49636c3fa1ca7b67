"""`load`: open files written by `RateClassifier.save` and `RatePostprocessor.save`. Nothing in a file is executed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from .._core.errors import EquirateError, FileError
from .._core.rules import shown
from ..game.classifiers import Classifier
from ..storage import container
from ..storage.saving import read_classifier, read_mixture, read_postprocessor
from .postprocessor import RatePostprocessor
from .rate_classifier import RateClassifier

SKOPS_TRUSTED = (
    "equirate.estimators.rate_classifier.RateClassifier",
    "equirate.estimators.postprocessor.RatePostprocessor",
)
"""The types of equirate that ``skops.io.load(file, trusted=...)`` has to trust."""
READERS: dict[str, Callable[..., Any]] = {
    "RateClassifier": partial(read_classifier, RateClassifier),
    "RatePostprocessor": partial(read_postprocessor, RatePostprocessor),
    "Classifier": read_mixture,
}


def load(path: str | os.PathLike[str], *, module: Any = None) -> Any:
    """Open a `RateClassifier` or a `RatePostprocessor` that was saved with ``save``. Nothing in the file is executed.

    Whatever the file holds, only `FileError` is raised, and little more memory is used than the size of the file.

    Parameters
    ----------
    path
        The file.
    module
        For networks, of which a file has the tensors only: the module, or a function without arguments that makes it.

    Returns
    -------
    RateClassifier, RatePostprocessor or Classifier
        What was saved.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.load("no such file")
    Traceback (most recent call last):
    ...
    equirate.FileError: cannot load no such file: there is no such file
    """
    try:
        loaded = restored(*container.read(path))
    except EquirateError as error:
        raise FileError(f"cannot load {path!s}: {error}") from None
    except Exception as error:  # every failure that the checks did not foresee is refused, too
        raise FileError(f"cannot load {path!s}: it is damaged ({type(error).__name__}: {error})") from error
    try:
        return completed(loaded, module)
    except EquirateError as error:
        raise FileError(f"cannot load {path!s}: {error}") from None


def completed(loaded: Any, module: Any) -> Any:
    """Give the members the modules that no file holds."""
    if isinstance(loaded, Classifier):
        return replace(loaded, members=loaded.members.map(lambda members: members.completed(module)))
    loaded.outputs_ = {
        name: replace(output, classifier=completed(output.classifier, module))
        for name, output in loaded.outputs_.items()
    }
    return loaded


def restored(manifest: container.Manifest, arrays: container.Arrays) -> Any:
    """Make the estimator that a manifest and arrays describe; raises `FileError` if they are invalid."""
    name = manifest.get("kind")
    if not isinstance(name, str) or name not in READERS:
        raise FileError(f"it holds {shown(name)}, not a {' or a '.join(READERS)}")
    return READERS[name](manifest, arrays)
