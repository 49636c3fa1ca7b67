"""The common interface of LightGBM and XGBoost: a table is binned once, and ensembles are trained on parts of it.

In: features, settings in the library's own names, targets or slopes. Out: a `Forest` of plain arrays and scores of test
rows. All calls of a library are in this package; the libraries are imported when they are used, and the error for a
missing one names the extra that installs it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.errors import AlgorithmError
from .._core.forking import use_openmp
from .._core.tree_threads import THREADS, thread_count
from ..models.forests import Forest
from ..models.registry import load

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Params = Mapping[str, Any]

EXTRA = "{library} is not installed: pip install 'equirate[boosting]'"
ROUNDS = 100
"""Number of trees where the settings have none: the default of both libraries."""


def imported(library: str) -> Any:
    """Import a library, or raise an error that names the extra that installs it."""
    try:
        return importlib.import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:  # the library is installed, but one of its dependencies is not
            raise
        raise ImportError(EXTRA.format(library=library), name=library) from error


def installed(library: str) -> bool:
    """Whether a library is installed."""
    return importlib.util.find_spec(library) is not None


class Bins:
    """A binned table of features, shared by all ensembles that are trained on it."""

    library: ClassVar[str]
    width: int
    count: int

    def part(self, rows: Index) -> Bins:
        """The same bins with some of the rows."""
        raise NotImplementedError

    def fit(
        self, target: NDArray[Any], weights: Array | None, classes: int, settings: Params, tests: Sequence[Self] = ()
    ) -> tuple[Forest, list[Array]]:
        """Train for probabilities of classes 0, 1, ...; return the trees, and scores of ``tests`` (rows, scores)."""
        raise NotImplementedError

    def grower(self, settings: Params, rate: float, begin: Array | None) -> Grower:
        """An ensemble that grows by given slopes and curvatures, from the initial scores ``begin``."""
        raise NotImplementedError


class Grower:
    """An ensemble on all rows of a binned table, to which trees are added one by one."""

    trees: int = 0

    def __init__(self, bins: Bins, booster: Any, begin: Array | None) -> None:
        self.bins, self.booster = bins, booster
        self.scores = np.zeros(bins.count) if begin is None else begin.copy()
        """Scores of the rows, including the initial scores, as the booster adds them up."""

    def grow(self, slope: Array, curvature: Array) -> None:
        """Add the tree of a Newton step."""
        raise NotImplementedError

    def forest(self) -> Forest:
        """The trees so far, without the initial scores."""
        raise NotImplementedError


def bins_of(library: str, X: Any, settings: Params) -> Bins:
    """Bin a table for a library: ``"lightgbm"`` or ``"xgboost"``."""
    check_library(library)
    imported(library)
    use_openmp(library, thread_count(settings, X.shape[0]))
    bins: Bins = load(LIBRARIES[library]).of(X.tocsr() if hasattr(X, "tocsr") else np.ascontiguousarray(X), settings)
    return bins


def check_library(library: str) -> None:
    """Refuse other libraries than those of this package."""
    if library not in LIBRARIES:
        raise AlgorithmError(f"the library must be one of {', '.join(map(repr, LIBRARIES))}; got {library!r}")


LIBRARIES = {
    "lightgbm": "equirate.boosting.light:LightBins",
    "xgboost": "equirate.boosting.extreme:ExtremeBins",
}
"""Libraries, and the classes of their binned tables."""


def plain_settings(settings: Params) -> dict[str, Any]:
    """Settings for JSON: arrays and tuples as lists."""
    return {
        name: list(value) if isinstance(value, (tuple, list)) else value.tolist() if hasattr(value, "tolist") else value
        for name, value in settings.items()
    }


def rounds_and_params(settings: Params, names: Sequence[str], own: Sequence[str]) -> tuple[int, dict[str, Any]]:
    """The number of trees, and parameters for a library.

    ``names`` are those of the number of trees, ``own`` those of settings that its module sets itself.
    """
    rounds = next((settings[name] for name in names if settings.get(name) is not None), ROUNDS)
    is_integer = isinstance(rounds, (int, np.integer)) and not isinstance(rounds, bool)
    if not is_integer or rounds < 1:
        raise AlgorithmError(f"the number of trees must be a whole number of at least 1; got {rounds!r}")
    skipped = {*names, *own, *THREADS, "random_state", "categorical_feature", "categorical_features"}
    params = {name: value for name, value in settings.items() if name not in skipped and value is not None}
    seed = settings.get("random_state")
    return int(rounds), params if seed is None else {**params, "seed": int(seed)}


def with_trees(bare: Forest, trees: Sequence[dict[str, Any]], column: ArrayLike) -> Forest:
    """A forest without trees, with these: the arrays of the nodes of each, and the score that it adds to."""
    if not trees:
        return bare
    only = np.zeros(1, np.int32)
    parts = [replace(bare, roots=only, column=only, offset=np.zeros(1), **tree) for tree in trees]
    forest = Forest.concatenate(parts, [only] * len(parts))
    return replace(forest, column=np.asarray(column, dtype=np.int32), offset=bare.offset)
