"""Libraries that people use beside scikit-learn: optuna, shap, skrub, fairlearn; and the page that lists them."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
import skrub
from fairlearn.metrics import MetricFrame, demographic_parity_difference, selection_rate
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equirate as eq

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the colours of its plots
    import shap

ROOT = Path(__file__).resolve().parents[2]
N = 200
RNG = np.random.default_rng(0)
SEX = RNG.choice(["F", "M"], N)
X = RNG.normal(size=(N, 3))
X[:, 2] += SEX == "M"
Y = (X[:, 0] + X[:, 2] + RNG.normal(size=N) > 1).astype(int)
ERROR = eq.minimize(eq.error_rate())
SMALL: dict[str, Any] = {"n_rounds": 20, "theta_step": 0.1, "lambda_step": 0.1, "random_state": 0}


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        yield


def test_a_study_of_optuna() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    score = eq.scorer(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.4])

    def objective(trial: Any) -> float:
        most = trial.suggest_float("most", 0.1, 0.5)
        clf = eq.RateClassifier(eq.maximize(eq.f1()), [eq.positive_rate() <= most], validation=0.0, **SMALL)
        return float(cross_val_score(clf, X, Y, scoring=score, cv=2).mean())

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=2)
    assert len(study.trials) == 2
    assert np.isfinite(study.best_value)


def test_values_of_shap_add_up_to_the_score() -> None:
    clf = eq.RateClassifier(ERROR, output="deterministic", **SMALL).fit(X, Y)
    linear = shap.LinearExplainer((clf.coef_[0], clf.intercept_[0]), X)(X[:5])
    np.testing.assert_allclose(linear.values.sum(axis=1) + linear.base_values, clf.decision_function(X[:5]), atol=1e-5)
    any_model = shap.PermutationExplainer(clf.decision_function, X[:20])(X[:3])
    np.testing.assert_allclose(
        any_model.values.sum(axis=1) + any_model.base_values, clf.decision_function(X[:3]), atol=1e-5
    )


def test_a_table_of_skrub() -> None:
    seen = pd.Timestamp("2024-01-01") + pd.to_timedelta(100 * X[:, 2], "D")
    frame = pd.DataFrame({"number": X[:, 0], "sex": SEX, "seen": seen})
    gap = abs(eq.positive_rate(eq.attr("sex") == "F") - eq.positive_rate(eq.attr("sex") == "M"))
    pipe = skrub.tabular_pipeline(eq.RateClassifier(ERROR, **SMALL)).fit(frame, Y)
    found = eq.report(pipe, frame, Y, problem=eq.Problem(ERROR, [gap <= 0.1]))
    assert found.last.objective == pytest.approx(
        eq.error_rate().evaluate(Y, pipe[-1].predict_pmf(pipe[:-1].transform(frame))[:, 1])
    )


def test_metrics_of_fairlearn_agree() -> None:
    gap = abs(eq.positive_rate(eq.attr("sex") == "F") - eq.positive_rate(eq.attr("sex") == "M"))
    clf = eq.RateClassifier(ERROR, [gap <= 0.05], output="deterministic", **SMALL).fit(
        X, Y, sensitive_features={"sex": SEX}
    )
    decided = clf.predict(X)
    rates = MetricFrame(metrics=selection_rate, y_true=Y, y_pred=decided, sensitive_features=SEX).by_group
    found = clf.report(X, Y, sensitive_features={"sex": SEX})
    ours = {rate.slice: rate.value for rate in found.rates if rate.rate == "positive_rate"}
    assert ours["sex == 'F'"] == pytest.approx(rates["F"])
    assert found.last.constraints[0].left == pytest.approx(
        demographic_parity_difference(Y, decided, sensitive_features=SEX)
    )


# -- the page --------------------------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "works-with.md").read_text("utf-8")
PINS = dict(
    re.findall(r"^([A-Za-z0-9_.-]+)==(\S+)$", (ROOT / "constraints" / "dev.txt").read_text("utf-8"), re.MULTILINE)
)


def test_the_page_names_the_versions_that_are_tested() -> None:
    named = re.findall(r"^\| \[?([A-Za-z0-9_.-]+)\]?[^|]*\| (\d[\w.]*) \|", PAGE, re.MULTILINE)
    assert len(named) >= 12
    pins = {name.lower(): version for name, version in PINS.items()}
    assert {name: version for name, version in named if pins[name.lower()] != version} == {}


def test_the_page_names_tests_that_there_are() -> None:
    for path in re.findall(r"`(tests/[\w/]+\.py)`", PAGE):
        assert (ROOT / path).is_file(), path


def test_functions_that_judge_are_called_as_the_page_says() -> None:
    problem = eq.Problem(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.4])
    clf = eq.RateClassifier(problem.objective, problem.constraints, random_state=0).fit(X, Y)
    pipeline = make_pipeline(StandardScaler(), clone(clf)).fit(X, Y)
    model = LogisticRegression().fit(X, Y)
    names = {
        **{"eq": eq, "clf": clf, "pipeline": pipeline, "model": model, "X": X, "y": Y, "y_pred": clf.predict(X)},
        **{"constraints": problem.constraints, "people": {"sex": SEX}, "problem": problem},
    }
    table = PAGE.split("## Which function judges what")[1].split("\n## ")[0]
    calls = re.findall(r"`((?:eq|clf)\.\w+\([^`]*\))`", table)
    assert len(calls) == 6
    for call in calls:
        assert eval(call.replace("problem=...", "problem=problem"), {}, names) is not None, call
