"""The provenance of a fitted estimator: date, version, and the hashes of its model and of its training data.

In: a fitted estimator, and the data if they are to be hashed. Out: its `Provenance`. The data are hashed if there is a
confidence level, since a certificate is about them; otherwise hashing would only slow the fit down.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import equirate as eq

from .._core.errors import EquirateError
from .._core.peers import Peers
from .._core.provenance import Provenance, digest, present
from ..data.mapped import is_mapped
from ..game.classifiers import Classifier
from .saving import plain_mixture


def keep_provenance(estimator: Any, given: tuple[Any, ...], shared: Peers) -> None:
    """Give a fitted estimator, and its certificate, their provenance; ``given`` is the data of the fit."""
    alone = shared.size == 1 and not any(is_mapped(part) for part in given)
    hashed = estimator.confidence is not None and alone
    provenance = Provenance(
        present(), eq.__version__, model_digest(estimator.classifier_), digest(*given) if hashed else ""
    )
    with_provenance(estimator, provenance)


def is_trained_on(estimator: Any, *given: Any) -> bool:
    """Whether these are the data of the fit: features, labels, attributes and weights; False where it hashed none."""
    known = getattr(estimator, "provenance_", None)
    return known is not None and bool(known.data) and estimator.confidence is not None and digest(*given) == known.data


def with_provenance(estimator: Any, provenance: Provenance) -> None:
    """Set the provenance of an estimator and of its certificate."""
    estimator.provenance_ = provenance
    if getattr(estimator, "certification_", None) is not None:
        estimator.certification_ = replace(estimator.certification_, provenance=provenance)


def model_digest(classifier: Classifier) -> str:
    """SHA-256 of the members of a mixture and their weights; empty for members that are not plain data."""
    try:
        manifest, arrays = plain_mixture(classifier)
    except (EquirateError, TypeError, ValueError, AttributeError):
        return ""
    return digest({"output": np.array(repr(sorted(manifest["output"].items()))), **arrays})
