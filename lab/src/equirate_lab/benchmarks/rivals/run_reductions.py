"""Linear classifiers under parity by reductions to logistic regression; run by the interpreter that has fairlearn.

Request: ``{"method": "fairlearn", "kind": "dp", "level": 0.05}`` fits on the training rows, and stores the probability
of predicting 1 of each test row in ``METHOD.npz``. ``kind`` is ``"dp"``, ``"tpr"`` or ``"odds"``. The answer has the
seconds of processor time of ``fit`` alone, and how often logistic regression was fitted. ``rows`` limits the training
rows, to warm up.

``fairlearn`` is its ``ExponentiatedGradient`` with scikit-learn's logistic regression, both as they come.
``sampled`` is column generation with adaptive sampling, for which there is no package: it is written here from the
public description (https://openreview.net/forum?id=C0AdL3r1Dc) on fairlearn's moments. Updates of exponentiated
gradient alternate with columns at the prices of the linear programme, and regressions see samples that grow.
"""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

EPS = 0.01
"""fairlearn's own: the slack of the linear programme costs 1 / EPS."""
ROUNDS, FIRST = 50, 16
"""Rounds at most, as in fairlearn, and the share of the rows in the first sample."""
LEAST = 500
"""Rows of a sample at least."""


def moment(kind: str, level: float) -> Any:
    """The constraint in fairlearn's words."""
    from fairlearn import reductions as fair  # type: ignore[import-not-found,unused-ignore]

    names = {"dp": fair.DemographicParity, "tpr": fair.TruePositiveRateParity, "odds": fair.EqualizedOdds}
    return names[kind](difference_bound=level)


def fairlearn(X: Any, y: Any, group: Any, kind: str, level: float) -> tuple[Any, int]:
    """Fairlearn's ``ExponentiatedGradient``."""
    from fairlearn.reductions import ExponentiatedGradient  # type: ignore[import-not-found,unused-ignore]
    from sklearn.linear_model import LogisticRegression

    model = ExponentiatedGradient(LogisticRegression(), moment(kind, level))
    model.fit(X, y, sensitive_features=group)
    return lambda tested: model._pmf_predict(tested)[:, 1], int(model.n_oracle_calls_)


def sampled(X: Any, y: Any, group: Any, kind: str, level: float) -> tuple[Any, int]:
    """Column generation with adaptive sampling."""
    import pandas as pd

    constraints = moment(kind, level)
    constraints.load_data(X, pd.Series(y), sensitive_features=pd.Series(group))
    objective = constraints.default_objective()
    objective.load_data(X, pd.Series(y), sensitive_features=pd.Series(group))
    search = Search(X, constraints, objective)
    duals, calls, best = np.zeros_like(search.bound), 0, np.inf
    direction = np.zeros_like(search.bound)
    for _ in range(ROUNDS):
        powers = np.exp(direction - direction.max(initial=0.0))
        exponentiated = powers / EPS / (np.exp(-direction.max(initial=0.0)) + powers.sum())
        for prices in (exponentiated, duals):
            search.add(prices)
            calls += 1
        direction += 2 * EPS * (search.gammas[-2] - search.bound)
        value, weights, duals = search.mixture()
        settled = best - value < search.accuracy
        best = min(best, value)
        if settled and search.size == len(y):
            break
        if settled:
            search.size = min(len(y), 2 * search.size)

    def decide(tested: Any) -> Any:
        shares = [share * model.predict(tested) for share, model in zip(weights, search.models, strict=True) if share]
        return np.clip(np.sum(shares, axis=0), 0.0, 1.0)

    return decide, calls


class Search:
    """The columns so far, each with its error and its constraints on all rows."""

    def __init__(self, X: Any, constraints: Any, objective: Any) -> None:
        self.X, self.constraints, self.objective = X, constraints, objective
        self.bound = np.asarray(constraints.bound(), dtype=float)
        self.index = constraints.bound().index
        self.size = min(len(X), max(LEAST, len(X) // FIRST))
        self.models: list[Any] = []
        self.errors: list[float] = []
        self.gammas: list[Any] = []
        self.accuracy = 0.0
        self.rng = np.random.default_rng(0)

    def add(self, prices: Any) -> None:
        """Fit logistic regression at prices, on rows drawn by their costs."""
        import pandas as pd
        from sklearn.dummy import DummyClassifier
        from sklearn.linear_model import LogisticRegression

        costs = np.asarray(
            self.objective.signed_weights() + self.constraints.signed_weights(pd.Series(prices, self.index))
        )
        labels, sizes = (costs > 0).astype(int), np.abs(costs)
        if self.size < len(sizes):
            rows, weight = self.rng.choice(len(sizes), size=self.size, p=sizes / sizes.sum()), None
        else:
            rows, weight = np.arange(len(sizes)), sizes
        one = len(np.unique(labels[rows])) == 1
        model = DummyClassifier(strategy="most_frequent") if one else LogisticRegression()
        model.fit(self.X[rows], labels[rows], sample_weight=weight)
        decided = model.predict(self.X)
        error = np.asarray(self.objective.gamma(lambda _: decided))
        self.models.append(model)
        self.errors.append(float(error[0]))
        self.gammas.append(np.asarray(self.constraints.gamma(lambda _: decided), dtype=float))
        self.accuracy = 1.5 * (error[0] * (1 - error[0]) / len(self.X)) ** 0.5 / 10

    def mixture(self) -> tuple[float, Any, Any]:
        """The best mixture of the columns: value, shares and prices."""
        from scipy.optimize import linprog

        count = len(self.errors)
        slacks = np.stack(self.gammas, axis=1) - self.bound[:, None]
        found = linprog(
            np.append(self.errors, 1 / EPS),
            A_ub=np.column_stack([slacks, -np.ones(len(slacks))]),
            b_ub=np.zeros(len(slacks)),
            A_eq=np.append(np.ones(count), 0.0)[None],
            b_eq=[1.0],
            method="highs",
        )
        return float(found["fun"]), found["x"][:count], -found["ineqlin"]["marginals"]


METHODS = {"fairlearn": fairlearn, "sampled": sampled}


def prepare(job: dict[str, Any], data: dict[str, Any], folder: Path) -> Any:
    """Return what answers requests."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped,unused-ignore]

    warnings.simplefilter("ignore")
    limits = threadpool_limits(int(job["threads"]))

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        assert limits is not None  # holds as long as the answers are given
        rows = slice(request.get("rows"))
        X, y, group = (data[name][rows] for name in ("train_X", "train_y", "train_group"))
        begin = time.process_time()
        decide, calls = METHODS[request["method"]](X, y, group, request["kind"], float(request["level"]))
        seconds = time.process_time() - begin
        np.savez(folder / f"{request['method']}.npz", test=np.asarray(decide(data["test_X"]), dtype=float))
        return {"seconds": seconds, "calls": calls}

    return answer


if __name__ == "__main__":
    from serve import serve  # type: ignore[import-not-found,unused-ignore]

    serve(prepare)
