"""Checks of oracles: a classifier that ignores ``sample_weight`` cannot minimise costs.

In: a classifier and some rows. Out: a warning where two fits with opposite weights give the same predictions.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateWarning
from ..data.cells import Cells
from ..data.sample import taken
from .cross_fitting import probabilities_by_class
from .weighted_fit import fit_weighted

_MOST, _FEWEST = 200, 4
"""Largest number of rows of each label that are used, and the smallest number with which the check is made."""
_TIMES = 50.0
"""Weight of one label relative to the other."""


def check_weights(estimator: Any, X: Any, trained: Cells, rows: NDArray[np.intp]) -> None:
    """Warn of a classifier whose predictions do not depend on the weights."""
    labels = trained.labels[trained.index]
    parts = [rows[labels[rows] == label][: 2 * _MOST] for label in (0, 1)]
    if min(map(len, parts)) < _FEWEST:
        return
    fitted = np.sort(np.concatenate([part[::2] for part in parts]))
    judged = np.sort(np.concatenate([part[1::2] for part in parts]))
    target = labels[fitted].astype(np.intp)
    light, heavy = (_predicted(estimator, X, fitted, judged, target, label) for label in (0, 1))
    if not np.array_equal(light, heavy):
        return
    decided = light[:, 1] > 0.5
    name = type(estimator).__name__
    if decided.all() or not decided.any():
        text = (
            f"{name} predicts {int(decided[0])} for everybody, whichever label weighs more: as an oracle it has "
            "nothing to offer; choose one that distinguishes rows, or fewer constraints on how it may"
        )
    else:
        text = (
            f"{name} takes sample_weight and ignores it: its answers do not depend on the constraints. Choose another "
            "classifier, or use it as a plug-in (equirate.models.PlugIn), which needs no weights"
        )
    warnings.warn(text, EquirateWarning, stacklevel=2)


def _predicted(
    estimator: Any, X: Any, fitted: NDArray[np.intp], judged: NDArray[np.intp], target: NDArray[np.intp], heavy: int
) -> NDArray[np.float64]:
    from sklearn.base import clone

    trial = clone(estimator)
    if "random_state" in trial.get_params(deep=False):
        trial.set_params(random_state=0)
    fit_weighted(trial, taken(X, fitted), target, np.where(target == heavy, _TIMES, 1.0))
    return probabilities_by_class(trial, taken(X, judged), 2)
