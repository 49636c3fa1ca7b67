"""About forty fits whose results are recorded in ``golden.json``: one for each kind of model, problem and promise.

``OPENBLAS_CORETYPE=Haswell python tests/golden/golden_fits.py`` records them again, with names after it only those.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import equirate as eq

ROWS, NEW = 400, 200
FILE = Path(__file__).with_name("golden.json")
PACKAGES = ("numpy", "scipy", "scikit-learn", "lightgbm", "torch")


def people(rows: int = ROWS + NEW, seed: int = 0) -> tuple[Any, Any, dict[str, Any]]:
    """Features that are mostly linear in the label, two groups with other base rates, and a model in production."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, rows)
    X = np.column_stack([rng.normal(size=(rows, 3)), rng.normal(0.5 * sex, 1.0), rng.random(rows)])
    y = (X[:, 0] + 0.7 * X[:, 3] + 0.5 * X[:, 1] ** 2 + rng.logistic(size=rows) > 1.0).astype(int)
    old = (X[:, 0] > 0.2).astype(int)
    return X, y, {"sex": np.where(sex, "F", "M"), "old": old}


def categories(rows: int = ROWS + NEW) -> tuple[Any, Any, dict[str, Any]]:
    """A table of categories, one-hot: 12 distinct rows."""
    rng = np.random.default_rng(1)
    place, kind, sex = rng.integers(0, 3, rows), rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    X = np.column_stack([np.eye(3)[place], np.eye(2)[kind], sex])
    y = (rng.random(rows) < 0.2 + 0.2 * place + 0.1 * sex).astype(int)
    return X, y, {"sex": np.where(sex, "F", "M"), "old": kind}


PROBLEMS: dict[str, Callable[[], tuple[Any, list[Any]]]] = {
    "parity": lambda: (eq.minimize(eq.error_rate()), eq.demographic_parity("sex", tolerance=0.05)),
    "ratio": lambda: (eq.maximize(eq.f1()), [eq.precision() >= 0.7, eq.churn("old") <= 0.4]),
    "convex": lambda: (eq.maximize(eq.g_mean()), [eq.positive_rate() <= 0.4]),
    "infeasible": lambda: (eq.minimize(eq.error_rate()), [eq.recall() >= 0.9, eq.positive_rate() <= 0.1]),
    "free": lambda: (eq.maximize(eq.g_mean()), []),
    "loss": lambda: (eq.minimize(eq.log_loss()), [eq.recall() >= 0.7]),
}


def models() -> dict[str, Callable[[], Any]]:
    """Every kind of model that needs no extra."""
    return {
        "linear": lambda: "linear",
        "oracle": lambda: LogisticRegression(),
        "plug-in": lambda: eq.models.PlugIn(LogisticRegression()),
        "trees": lambda: "trees",
    }


def facts(classifier: Any, X: Any, *, status: Any, **more: Any) -> dict[str, Any]:
    """What is compared of a fit: weights, what each member decides, status and decisions on new rows."""
    said = {name: value for name, value in asdict(status).items() if name not in ("advice", "certificate")}
    return {
        "weights": np.asarray(classifier.weights_, dtype=float).tolist(),
        "members": bits(classifier.members_.decide(np.asarray(X, dtype=float)[:25])),
        "status": plain(said),
        **{name: plain(value) for name, value in more.items()},
    }


def bits(decisions: Any) -> list[str]:
    """Decisions (rows, members) as one text of 0 and 1 for each member."""
    return ["".join("01"[int(each)] for each in column) for column in np.asarray(decisions).T]


def plain(value: Any) -> Any:
    """Numbers, texts, lists and dicts alone; NaN as text."""
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(each) for each in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (float, np.floating)):
        return repr(float(value)) if not np.isfinite(value) else float(value)
    if isinstance(value, np.integer):
        return int(value)
    return value


def estimate(data: Any, problem: str, **settings: Any) -> dict[str, Any]:
    """Fit a `RateClassifier` and return what is compared."""
    X, y, attributes = data
    objective, constraints = PROBLEMS[problem]()
    classifier = eq.RateClassifier(objective, constraints, random_state=0, **settings)
    train = {name: column[:-NEW] for name, column in attributes.items()}
    classifier.fit(X[:-NEW], y[:-NEW], sensitive_features=train)
    return outcome(classifier, X[-NEW:])


def outcome(classifier: Any, X: Any) -> dict[str, Any]:
    """What is compared of a fitted estimator."""
    more = {"decisions": bits(np.asarray(classifier.predict(X))[:, None]), "pmf": classifier.predict_pmf(X)[:25, 1]}
    if (certificate := getattr(classifier, "certification_", None)) is not None:
        more["certificate"] = {
            "certified": certificate.certified,
            "method": certificate.method,
            "margin": certificate.margin,
            "examples": certificate.examples,
            "objective": certificate.objective,
            "constraints": [each.left for each in certificate.constraints],
        }
    return facts(classifier, X, status=classifier.status_, **more)


def warm_start() -> dict[str, Any]:
    """A second fit that begins with the classifiers of the first."""
    X, y, attributes = people()
    objective, constraints = PROBLEMS["parity"]()
    classifier = eq.RateClassifier(objective, constraints, random_state=0, warm_start=True)
    classifier.fit(X, y, sensitive_features=attributes)
    classifier.fit(X[:-NEW], y[:-NEW], sensitive_features={name: each[:-NEW] for name, each in attributes.items()})
    return outcome(classifier, X[-NEW:])


def frontier() -> dict[str, Any]:
    """Three levels of one constraint."""
    X, y, attributes = people()
    classifier = eq.RateClassifier(
        eq.minimize(eq.error_rate()), eq.demographic_parity("sex", tolerance=0.1), random_state=0
    )
    points = classifier.frontier(X, y, levels=[0.02, 0.1, 0.2], sensitive_features=attributes)
    return {"points": [plain({k: v for k, v in row.items() if isinstance(v, (float, str))}) for row in rows(points)]}


def rows(points: Any) -> list[dict[str, Any]]:
    """The levels of a frontier as dicts."""
    return points.to_frame().to_dict("records")


def postprocessor(**settings: Any) -> dict[str, Any]:
    """Thresholds on a logistic regression's scores."""
    X, y, attributes = people()
    objective, constraints = PROBLEMS["parity"]()
    train = {name: each[:-NEW] for name, each in attributes.items()}
    held = {name: each[-NEW:] for name, each in attributes.items()}
    classifier = eq.RatePostprocessor(LogisticRegression(), objective, constraints, random_state=0, **settings)
    classifier.fit(X[:-NEW], y[:-NEW], sensitive_features=train)
    decided = classifier.predict(X[-NEW:], sensitive_features=held)
    said = {name: value for name, value in asdict(classifier.status_).items() if name not in ("advice", "certificate")}
    return {"decisions": bits(decided[:, None]), "status": plain(said)}


def solved(algorithm: str, problem: str = "parity", **settings: Any) -> dict[str, Any]:
    """A game by its name, its best mixture and its history."""
    X, y, attributes = people()
    whole = eq.Problem(*PROBLEMS[problem]())
    solution = eq.solve(
        whole, X[:-NEW], y[:-NEW], attributes={name: each[:-NEW] for name, each in attributes.items()},
        algorithm=algorithm, **settings,
    )  # fmt: skip
    best = solution.shrink()
    return {
        "weights": plain(best.weights),
        "members": bits(best.members.decide(X[-25:])),
        "objective": plain(solution.history["objective"][-3:]),
        "decisions": plain(best.positive_probability(X[-NEW:])),
    }


def parquet() -> dict[str, Any]:
    """Rows read from a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from equirate.distributed import ParquetRows

    X, y, attributes = people()
    columns = {f"x{k}": column for k, column in enumerate(X[:-NEW].T)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(pa.table({**columns, "y": y[:-NEW], "sex": attributes["sex"][:-NEW]}), path)
        rows = ParquetRows(str(path), label="y", attributes=["sex"])
        objective, constraints = PROBLEMS["parity"]()
        return outcome(eq.RateClassifier(objective, constraints, random_state=0).fit(rows), X[-NEW:])


def two_processes() -> dict[str, Any]:
    """Two processes with half of the rows each, as threads; both get the same classifier."""
    from threading import Thread

    from torch.distributed import HashStore

    from equirate._core.peers import among
    from equirate.distributed.gloo import GlooPeers

    X, y, attributes = people()
    store, found = HashStore(), [{}, {}]
    parts = np.array_split(np.arange(len(y) - NEW), 2)

    def work(rank: int) -> None:
        objective, constraints = PROBLEMS["parity"]()
        part, peers = parts[rank], GlooPeers(store, rank, 2, timeout=60)
        with among(peers):
            classifier = eq.RateClassifier(objective, constraints, random_state=0)
            classifier.fit(X[part], y[part], sensitive_features={"sex": attributes["sex"][part]})
        peers.close()
        found[rank] = outcome(classifier, X[-NEW:])

    threads = [Thread(target=work, args=(rank,)) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert found[0]["decisions"] == found[1]["decisions"]
    return found[0]


def network() -> dict[str, Any]:
    """A small network that plays its game."""
    import torch

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()
    return estimate(people(), "parity", model=module, n_rounds=30)


def given_list() -> dict[str, Any]:
    """A fixed list of fitted classifiers."""
    X, y, _ = people()
    fitted = [LogisticRegression(C=c).fit(X[:100, :], y[:100]) for c in (0.001, 0.1, 10.0)]
    return estimate(people(), "convex", model=fitted)


NEEDS = {"linear-two-processes": "torch", "network-parity": "torch", "linear-parquet": "pyarrow"}
"""Extras that a fit needs; it is skipped without them. Trees need LightGBM."""


def fits() -> dict[str, Callable[[], dict[str, Any]]]:
    """Every fit by its name."""
    found: dict[str, Callable[[], dict[str, Any]]] = {}
    for model, make in models().items():
        for problem in ("parity", "ratio", "infeasible"):
            found[f"{model}-{problem}"] = lambda m=make, p=problem: estimate(people(), p, model=m())
    found |= {
        "linear-convex": lambda: estimate(people(), "convex"),
        "linear-loss": lambda: estimate(people(), "loss"),
        "linear-deterministic": lambda: estimate(people(), "ratio", output="deterministic"),
        "linear-stochastic": lambda: estimate(people(), "convex", output="stochastic"),
        "linear-no-validation": lambda: estimate(people(), "parity", validation=0),
        "linear-cross": lambda: estimate(people(2 * ROWS), "convex", confidence=0.9),
        "linear-cross-parity": lambda: estimate(people(3 * ROWS), "parity", confidence=0.8),
        "linear-holdout": lambda: estimate(people(3 * ROWS), "convex", confidence=0.9, confidence_method="holdout"),
        "linear-two-sets": lambda: estimate(people(), "parity", algorithm="surrogate", two_sets=True, n_rounds=40),
        "linear-game": lambda: estimate(people(), "ratio", algorithm="slack_ratios", n_rounds=60),
        "linear-warm-start": warm_start,
        "linear-frontier": frontier,
        "linear-parquet": parquet,
        "linear-two-processes": two_processes,
        "network-parity": network,
        "list-convex": given_list,
        "trees-deterministic": lambda: estimate(people(), "parity", model="trees", output="deterministic"),
        "plug-in-cross": lambda: estimate(
            people(2 * ROWS), "convex", model=eq.models.PlugIn(LogisticRegression()), confidence=0.9
        ),
        "categories-parity": lambda: estimate(categories(), "parity"),
        "categories-ratio": lambda: estimate(categories(), "ratio"),
        "categories-deterministic": lambda: estimate(categories(), "convex", output="deterministic"),
        "categories-split": lambda: estimate(categories(3 * ROWS), "convex", confidence=0.9),
        "postprocessor": postprocessor,
        "postprocessor-cross": lambda: postprocessor(confidence=0.8),
        "solve-frank-wolfe": lambda: solved("frank_wolfe", "free", n_rounds=40),
        "solve-spade": lambda: solved("spade", "free", n_rounds=40),
        "solve-oracle": lambda: solved("oracle", n_rounds=40, model=LogisticRegression()),
        "solve-surrogate": lambda: solved("surrogate", n_rounds=40),
        "solve-slack-ratios": lambda: solved("slack_ratios", "ratio", n_rounds=40),
        "solve-biconvex": lambda: solved("biconvex", "ratio", n_rounds=40),
        "solve-linearized": lambda: solved("linearized", "ratio", n_rounds=40),
    }  # fmt: skip
    return found


def run(name: str) -> dict[str, Any]:
    """Run one fit; what it warns of is part of its status and not compared here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fits()[name]()


def machine() -> dict[str, Any]:
    """What the last digits depend on: versions of packages, and the processor (`conftest` sets the kernels of BLAS)."""
    return {**{name: version(name) for name in PACKAGES}, "processor": platform.machine()}


def main(names: list[str]) -> None:
    """Run the fits of these names and write what they gave."""
    found = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    recorded = found.get("fits", {}) if names else {}
    for name in names or fits():
        recorded[name] = run(name)
        print(name)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in sorted(recorded.items()))
    FILE.write_text(f'{{"machine": {json.dumps(machine())},\n"fits": {{\n{lines}\n}}}}\n', "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
