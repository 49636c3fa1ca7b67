"""A fit of one size, in a process of its own, so that its memory is its own; `alone` starts it.

In: a job such as ``{"by": "rows", "size": 1000, "repetitions": 5, "enough": 60}``, where no fit is begun after enough
seconds. Out: the seconds of processor time of each fit, the bytes of the features, and the most memory that fitting
took beyond the data.
"""

from __future__ import annotations

import math
import warnings
from itertools import islice, permutations
from typing import Any

import numpy as np

import equirate as eq

from .made_up import GROUP, made_up
from .timing import cpu_seconds, peak_memory

ROWS, COLUMNS = 100_000, 30
"""Of the tables whose rows or features do not grow."""
SPARSE_ROWS, WORDS_OF_ROW = 20_000, 20
PAIRS_OF = 33
"""Groups whose ordered pairs give up to 1,056 constraints."""
ERROR = eq.minimize(eq.error_rate())
Work = tuple[Any, Any, Any, list[Any]]
"""Features, labels, groups and constraints."""


def work(by: str, size: int) -> Work:
    """The data and the constraints of one size.

    Examples
    --------
    >>> X, y, group, constraints = work("constraints", 5)
    >>> X.shape, len(constraints)
    ((100000, 30), 5)
    """
    parity = eq.demographic_parity(GROUP, tolerance=0.05)
    if by == "rows":
        return *made_up(size, COLUMNS), parity
    if by == "features":
        return *sparse(SPARSE_ROWS, size), parity
    if by == "groups":
        X, y, group = made_up(ROWS, COLUMNS, groups=size)
        return X, y, group.astype(str), parity  # many groups of a number are refused
    if by == "constraints":
        return *made_up(ROWS, COLUMNS, groups=PAIRS_OF), pairs(size)
    return *made_up(ROWS, COLUMNS), parity


def sparse(rows: int, columns: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Sparse features with a fixed number of entries a row, labels and groups."""
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    filled = min(columns, WORDS_OF_ROW)
    places = rng.integers(columns, size=rows * filled)
    X = sp.csr_array(
        (np.ones(rows * filled, np.float32), (np.repeat(np.arange(rows), filled), places)), shape=(rows, columns)
    )
    X.sum_duplicates()
    group = rng.integers(2, size=rows)
    weights = np.random.default_rng(7).normal(size=columns)
    return X, (X @ weights + 0.5 * group + rng.logistic(size=rows) > 0).astype(int), group


def pairs(count: int) -> list[Any]:
    """So many constraints: a group's positive rate at most 0.05 above another's."""
    rates = [eq.positive_rate(eq.attr(GROUP) == value) for value in range(PAIRS_OF)]
    return [a - b <= 0.05 for a, b in islice(permutations(rates, 2), count)]


def measured(job: dict[str, Any]) -> dict[str, Any]:
    """Fit some times; the first fit also tells the memory."""
    X, y, group, constraints = work(job["by"], job["size"])
    people = {GROUP: group}

    def fit() -> None:
        model = eq.RateClassifier(ERROR, constraints, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if job["by"] == "levels":
                model.frontier(X, y, sensitive_features=people, levels=levels(job["size"]))
            else:
                model.fit(X, y, sensitive_features=people)

    few = slice(2000)  # what is loaded at first use is not counted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parity = eq.demographic_parity(eq.attr(GROUP) == group[0], tolerance=0.05)
        eq.RateClassifier(ERROR, parity).fit(X[few], y[few], sensitive_features={GROUP: group[few]})
    before = peak_memory()
    first = cpu_seconds(fit)
    beyond = peak_memory() - before
    samples = [first]
    while len(samples) < job["repetitions"] and sum(samples) < job.get("enough", math.inf):
        samples.append(cpu_seconds(fit))
    data = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return {"seconds": samples, "data": data, "beyond": beyond}


def levels(count: int) -> list[float]:
    """So many levels of a frontier.

    Examples
    --------
    >>> levels(1), [round(level, 3) for level in levels(3)]
    ([0.05], [0.005, 0.052, 0.1])
    """
    return [0.05] if count == 1 else np.linspace(0.005, 0.1, count).tolist()
