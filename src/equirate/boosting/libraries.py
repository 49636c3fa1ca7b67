"""The common interface of LightGBM and XGBoost: a table is binned once, and ensembles are trained on parts of it.

In: features, settings in the library's own names, targets or slopes. Out: a `Forest` of plain arrays and scores of test
rows. All calls of a library are in this package; the libraries are imported when they are used, and the error for a
missing one names the extra that installs it.
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
"""The libraries' names for the number of threads."""


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


def thread_count(settings: Settings) -> int:
    """Number of threads in the settings; by default and for -1 ``OMP_NUM_THREADS``, or all of the machine."""
    wish = next((settings[name] for name in THREADS if settings.get(name) is not None), None)
    if wish is None or int(wish) == 0:
        return threads.count()
    return int(wish) if int(wish) > 0 else max(threads.count() + 1 + int(wish), 1)


class Bins:
    """A binned table of features, shared by all ensembles that are trained on it."""

    library: ClassVar[str]
    width: int
    count: int

    def part(self, rows: Index) -> Bins:
        """The same bins with some of the rows."""
        raise NotImplementedError

    def fit(
        self, target: NDArray[Any], weights: Array | None, classes: int, settings: Settings, tests: Sequence[Bins] = ()
    ) -> tuple[Forest, list[Array]]:
        """Train for probabilities of classes 0, 1, ...; return the trees, and scores of ``tests`` (rows, scores)."""
        raise NotImplementedError

    def grower(self, settings: Settings, rate: float, begin: Array | None) -> Grower:
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


def bins_of(library: str, X: Any, settings: Settings) -> Bins:
    """Bin a table for a library: ``"lightgbm"`` or ``"xgboost"``."""
    if library not in LIBRARIES:
        raise AlgorithmError(f"the library must be one of {', '.join(map(repr, LIBRARIES))}; got {library!r}")
    imported(library)
    use_openmp(library, thread_count(settings))
    maker = getattr(importlib.import_module(f"equirate.boosting.{LIBRARIES[library][0]}"), LIBRARIES[library][1])
    bins: Bins = maker.of(X, settings)
    return bins


LIBRARIES = {"lightgbm": ("light", "LightBins"), "xgboost": ("extreme", "ExtremeBins")}
"""Libraries: the module of this package that calls each, and its class."""


def plain_settings(settings: Settings) -> dict[str, Any]:
    """Settings for JSON: arrays and tuples as lists."""
    return {
        name: list(value) if isinstance(value, (tuple, list)) else value.tolist() if hasattr(value, "tolist") else value
        for name, value in settings.items()
    }


def rounds_of(settings: Settings, names: Sequence[str], default: int) -> tuple[int, dict[str, Any]]:
    """The number of trees, under any of its names, and the other settings."""
    rounds = next((settings[name] for name in names if settings.get(name) is not None), default)
    is_integer = isinstance(rounds, (int, np.integer)) and not isinstance(rounds, bool)
    if not is_integer or rounds < 1:
        raise AlgorithmError(f"the number of trees must be a whole number of at least 1; got {rounds!r}")
    return int(rounds), {name: value for name, value in settings.items() if name not in names}
