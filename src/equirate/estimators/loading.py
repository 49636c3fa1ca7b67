"""`load`: open what `RateClassifier.save` and `RatePostprocessor.save` have written. Nothing in a file is executed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
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
KINDS: dict[str, tuple[type[Any], Callable[..., Any]]] = {
    "RateClassifier": (RateClassifier, read_classifier),
    "RatePostprocessor": (RatePostprocessor, read_postprocessor),
    "Classifier": (Classifier, read_mixture),
}


def load(path: str | os.PathLike[str], *, module: Any = None) -> Any:
    """Open a `RateClassifier` or a `RatePostprocessor` that was saved with ``save``. Nothing in the file is executed.

    Whatever the file holds, only `FileError` is raised, and no more memory is taken than the file has bytes, and a
    little.

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
        found = restored(*container.read(path))
    except EquirateError as error:
        raise FileError(f"cannot load {path!s}: {error}") from None
    except Exception as error:  # the rules let nothing through that is known to fail; whatever does is still refused
        raise FileError(f"cannot load {path!s}: it is damaged ({type(error).__name__}: {error})") from error
    try:
        return completed(found, module)
    except EquirateError as error:
        raise FileError(f"cannot load {path!s}: {error}") from None


def completed(found: Any, module: Any) -> Any:
    """Hand members what no file holds."""
    if isinstance(found, Classifier):
        return replace(found, members=found.members.map(lambda members: members.completed(module)))
    if isinstance(found, RateClassifier):
        found.outputs_ = {
            name: replace(output, classifier=completed(output.classifier, module))
            for name, output in found.outputs_.items()
        }
    return found


def restored(manifest: container.Manifest, arrays: container.Arrays) -> Any:
    """Make the estimator that a manifest and arrays describe, or say why they are refused."""
    name = manifest.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        raise FileError(f"it holds {shown(name)}, not a {' or a '.join(KINDS)}")
    kind, read = KINDS[name]
    return read(kind, manifest, arrays)
