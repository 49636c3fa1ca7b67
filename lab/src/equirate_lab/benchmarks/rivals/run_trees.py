"""Rivals on boosted trees: fairlearn, error-parity, OxonFair, FairGBM and perpetual; each run by its own interpreter.

Request: ``{"method": "error_parity", "kind": "tpr", "level": 0.05}`` trains on the training rows and stores the
probability of predicting 1 of each test row in ``METHOD.npz``. ``kind`` is ``"dp"`` (demographic parity), ``"tpr"``
(equal opportunity) or ``"odds"`` (equalized odds). The answer has the seconds of processor time that training took.
"""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

TREES: dict[str, Any] = {"n_estimators": 100, "n_jobs": 1, "verbose": -1, "random_state": 0}


def reductions(data: dict[str, Any], kind: str, level: float) -> Any:
    """Fairlearn's ``ExponentiatedGradient`` around LightGBM."""
    from fairlearn import reductions as fair  # type: ignore[import-not-found,unused-ignore]
    from lightgbm import LGBMClassifier

    moments = {"dp": fair.DemographicParity, "tpr": fair.TruePositiveRateParity, "odds": fair.EqualizedOdds}
    # between a group and everybody: half of what two groups may differ by
    model = fair.ExponentiatedGradient(
        LGBMClassifier(**TREES), moments[kind](difference_bound=level / 2), eps=level / 2
    )
    model.fit(data["train_X"], data["train_y"], sensitive_features=data["train_group"])
    return lambda: model._pmf_predict(data["test_X"])[:, 1]


def error_parity(data: dict[str, Any], kind: str, level: float) -> Any:
    """A threshold a group, randomised, on LightGBM's probabilities; chosen on a quarter of the training rows."""
    from error_parity import RelaxedThresholdOptimizer  # type: ignore[import-not-found,unused-ignore]
    from lightgbm import LGBMClassifier

    names = {"dp": "demographic_parity", "tpr": "true_positive_rate_parity", "odds": "equalized_odds"}
    held = np.random.default_rng(0).random(len(data["train_y"])) < 0.25
    model: Any = LGBMClassifier(**TREES).fit(data["train_X"][~held], data["train_y"][~held])
    scores = {"train": model.predict_proba(data["train_X"][held])[:, 1:]}
    chosen = RelaxedThresholdOptimizer(
        predictor=lambda S: np.asarray(S)[:, 0],  # scores are computed once
        constraint=names[kind],
        tolerance=level,
        false_pos_cost=1,
        false_neg_cost=1,
        seed=0,
    )
    chosen.fit(X=scores["train"], y=data["train_y"][held], group=data["train_group"][held])

    def decide() -> Any:  # the mean of draws is the probability of predicting 1
        tested = model.predict_proba(data["test_X"])[:, 1:]
        return np.mean([chosen.predict(tested, group=data["test_group"]) for _ in range(5)], axis=0)

    return decide


def oxonfair(data: dict[str, Any], kind: str, level: float) -> Any:
    """OxonFair's thresholds by group on LightGBM's probabilities; chosen on a quarter of the training rows."""
    import oxonfair as ox  # type: ignore[import-not-found,unused-ignore]
    from lightgbm import LGBMClassifier

    measures = {
        "dp": ox.group_metrics.demographic_parity,
        "tpr": ox.group_metrics.equal_opportunity,
        "odds": ox.group_metrics.equalized_odds,
    }
    held = np.random.default_rng(0).random(len(data["train_y"])) < 0.25
    model: Any = LGBMClassifier(**TREES).fit(data["train_X"][~held], data["train_y"][~held])

    def scored(X: Any, y: Any, group: Any) -> dict[str, Any]:
        return {"target": y, "data": model.predict_proba(X), "groups": group}

    valid = scored(data["train_X"][held], data["train_y"][held], data["train_group"][held])
    fair = ox.FairPredictor(None, valid)
    fair.fit(ox.group_metrics.accuracy, measures[kind], level)
    return lambda: fair.predict(scored(data["test_X"], data["test_y"], data["test_group"]))


def fairgbm(data: dict[str, Any], kind: str, level: float) -> Any:
    """FairGBM: the constraint is part of the boosting; the group is not needed to predict."""
    from fairgbm import FairGBMClassifier  # type: ignore[import-not-found,unused-ignore]

    names = {"tpr": "FNR", "odds": "FNR,FPR"}
    bounds = {"constraint_fnr_threshold": level, "constraint_fpr_threshold": level}
    model = FairGBMClassifier(
        constraint_type=names[kind], n_estimators=100, n_jobs=1, random_state=0, verbose=-1, **bounds
    )
    model.fit(data["train_X"], data["train_y"], constraint_group=data["train_group"])
    return lambda: (model.predict_proba(data["test_X"])[:, -1] > 0.5).astype(float)


def threshold_optimizer(data: dict[str, Any], kind: str, level: float) -> Any:
    """Fairlearn's ``ThresholdOptimizer`` around LightGBM: a randomised threshold a group, without a tolerance."""
    from fairlearn.postprocessing import ThresholdOptimizer  # type: ignore[import-not-found,unused-ignore]
    from lightgbm import LGBMClassifier

    names = {"dp": "demographic_parity", "tpr": "true_positive_rate_parity", "odds": "equalized_odds"}
    model = ThresholdOptimizer(
        estimator=LGBMClassifier(**TREES),
        constraints=names[kind],
        objective="accuracy_score",
        predict_method="predict_proba",
    )
    model.fit(data["train_X"], data["train_y"], sensitive_features=data["train_group"])
    return lambda: model._pmf_predict(data["test_X"], sensitive_features=data["test_group"])[:, 1]


def perpetual(data: dict[str, Any], kind: str, level: float) -> Any:
    """``FairClassifier``: the level is the strength of its penalty; the group is a feature, as it requires."""
    from perpetual.fairness import FairClassifier  # type: ignore[import-not-found,unused-ignore]

    names = {"dp": "demographic_parity", "odds": "equalized_odds"}
    train, test = (np.column_stack([data[f"{part}_X"], data[f"{part}_group"]]) for part in ("train", "test"))
    model = FairClassifier(train.shape[1] - 1, names[kind], lam=level, num_threads=1)
    model.fit(train, data["train_y"])
    return lambda: model.predict(test).astype(float)


METHODS = {
    "reductions": reductions,
    "error_parity": error_parity,
    "oxonfair": oxonfair,
    "fairgbm": fairgbm,
    "threshold_optimizer": threshold_optimizer,
    "perpetual": perpetual,
}


def prepare(job: dict[str, Any], data: dict[str, Any], folder: Path) -> Any:
    """Return what answers requests."""
    warnings.simplefilter("ignore")

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        rows = slice(request.get("rows"))  # a few, to load what is loaded at first use
        given = {name: value[rows] if name.startswith("train") else value for name, value in data.items()}
        begin = time.process_time()
        try:
            decide = METHODS[request["method"]](given, request["kind"], float(request["level"]))
        except Exception as error:  # a rival that fails is reported as such
            return {"error": f"{type(error).__name__}: {error}"[:300]}
        seconds = time.process_time() - begin
        np.savez(folder / f"{request['method']}.npz", test=np.asarray(decide(), dtype=float))
        return {"seconds": seconds}

    return answer


if __name__ == "__main__":
    from serve import serve  # type: ignore[import-not-found,unused-ignore]

    serve(prepare)
