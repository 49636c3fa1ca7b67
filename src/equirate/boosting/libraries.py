"""What LightGBM and XGBoost have in common: a table is binned once, and ensembles are trained on parts of it.

In: features, settings in the library's own names, targets or slopes. Out: a `Forest` of plain arrays and scores of rows
that were not trained on. Everything that calls a library is in this package; the libraries are imported when they are
asked for, and a missing one is named with the extra that brings it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._core import threads
from .._core.errors import AlgorithmError
from .._core.forking import use_openmp
from ..models.forests import Forest

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Settings = Mapping[str, Any]

EXTRA = "{library} is not installed: pip install 'equirate[boosting]'"
THREADS = ("n_jobs", "num_threads", "nthread", "num_thread", "nthreads")
"""Names under which the libraries take a number of threads."""


def imported(library: str) -> Any:
    """A library, or an error that names the extra which brings it."""
    try:
        return importlib.import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:  # it is there, but something it needs itself is not
            raise
        raise ImportError(EXTRA.format(library=library), name=library) from error


def installed(library: str) -> bool:
    """Whether a library is there."""
    return importlib.util.find_spec(library) is not None


def thread_count(settings: Settings) -> int:
    """Threads as the settings say: all of the machine's, or of ``OMP_NUM_THREADS``, where they say nothing or -1."""
    wish = next((settings[name] for name in THREADS if settings.get(name) is not None), None)
    if wish is None or int(wish) == 0:
        return threads.count()
    return int(wish) if int(wish) > 0 else max(threads.count() + 1 + int(wish), 1)


class Bins:
    """One table of features in bins, shared by everything that is trained on it."""

    library: ClassVar[str]
    width: int
    count: int

    def part(self, rows: Index) -> Bins:
        """The same bins with some of the rows."""
        raise NotImplementedError

    def fit(
        self, target: NDArray[Any], weights: Array | None, classes: int, settings: Settings, tests: Sequence[Bins] = ()
    ) -> tuple[Forest, list[Array]]:
        """Train for probabilities of classes 0, 1, ...; return the trees, and scores of other parts (rows, scores)."""
        raise NotImplementedError

    def grower(self, settings: Settings, rate: float, begin: Array | None) -> Grower:
        """An ensemble that grows by slopes and curvatures that are given, from scores to begin with."""
        raise NotImplementedError


class Grower:
    """An ensemble on all rows of some bins that gets one tree after the other."""

    trees: int = 0

    def __init__(self, bins: Bins, booster: Any, begin: Array | None) -> None:
        self.bins, self.booster = bins, booster
        self.scores = np.zeros(bins.count) if begin is None else begin.copy()
        """Scores of the rows, as the booster has added them up, with what they began with."""

    def grow(self, slope: Array, curvature: Array) -> None:
        """Add the tree of a Newton step."""
        raise NotImplementedError

    def forest(self) -> Forest:
        """The trees so far, without what the scores began with."""
        raise NotImplementedError


def bins_of(library: str, X: Any, settings: Settings) -> Bins:
    """Bin a table for a library: ``"lightgbm"`` or ``"xgboost"``."""
    if library not in LIBRARIES:
        raise AlgorithmError(f"the library must be one of {', '.join(map(repr, LIBRARIES))}; got {library!r}")
    imported(library)
    use_openmp(library, thread_count(settings))
    maker = getattr(importlib.import_module(f"equirate.boosting.{LIBRARIES[library][0]}"), LIBRARIES[library][1])
    made: Bins = maker.of(X, settings)
    return made


LIBRARIES = {"lightgbm": ("light", "LightBins"), "xgboost": ("extreme", "ExtremeBins")}
"""Libraries: the module of this package that speaks to each, and its class."""


def plain_settings(settings: Settings) -> dict[str, Any]:
    """Settings as JSON has them: arrays and tuples as lists."""
    return {
        name: list(value) if isinstance(value, (tuple, list)) else value.tolist() if hasattr(value, "tolist") else value
        for name, value in settings.items()
    }


def rounds_of(settings: Settings, names: Sequence[str], default: int) -> tuple[int, dict[str, Any]]:
    """The number of trees, by any of its names, and the other settings."""
    rounds = next((settings[name] for name in names if settings.get(name) is not None), default)
    whole = isinstance(rounds, (int, np.integer)) and not isinstance(rounds, bool)
    if not whole or rounds < 1:
        raise AlgorithmError(f"the number of trees must be a whole number of at least 1; got {rounds!r}")
    return int(rounds), {name: value for name, value in settings.items() if name not in names}
