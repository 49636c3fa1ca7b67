"""MLflow models keep the file instead of a pickle, and log the report."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equirate as eq
from equirate.mlflow import flavor

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))
Y = np.where(X[:, 0] + 0.5 * rng.normal(size=300) > 0.3, "yes", "no")


@pytest.fixture(scope="module")
def clf() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        return eq.RateClassifier(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.4], n_rounds=30, random_state=0).fit(
            X, Y
        )


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """MLflow with a store in a folder."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of MLflow's own dependencies
        found = pytest.importorskip("mlflow")
    found.set_tracking_uri((tmp_path / "runs").as_uri())
    return found


def test_without_mlflow_the_extra_is_named(clf: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(flavor, "import_module", absent)
    with pytest.raises(eq.EquirateError, match=r"needs mlflow.*pip install 'equirate\[mlflow\]'"):
        flavor.save_model(clf, tmp_path / "model")


def test_the_numbers_of_a_report(clf: Any) -> None:
    report = clf.report(X, Y)
    found = flavor.metrics(report)
    assert found["test.objective"] == report.last.objective
    assert found["test.violation.1"] == report.last.constraints[0].violation
    assert set(found) == {
        f"{part}.{name}"
        for part in report.parts
        for name in ("objective", "positive_rate", "largest_violation", "violation.1")
    }


@pytest.mark.filterwarnings("ignore")  # those of MLflow's own code
def test_saved_and_loaded(clf: Any, tmp_path: Path, mlflow: Any) -> None:
    from equirate.mlflow import load_model, save_model

    save_model(clf, tmp_path / "model", report=clf.report(X, Y))
    names = {path.name for path in (tmp_path / "model").iterdir()}
    assert names == {"MLmodel", "README.md", "model.equirate", "python_env.yaml", "report.json", "requirements.txt"}
    assert json.loads((tmp_path / "model" / "report.json").read_text("utf-8"))["verdict"] is not None
    assert (load_model(str(tmp_path / "model")).predict(X) == clf.predict(X)).all()
    with pytest.raises(eq.EquirateError, match="not empty"):
        save_model(clf, tmp_path / "model")


@pytest.mark.filterwarnings("ignore")
def test_logged_with_metrics(clf: Any, mlflow: Any) -> None:
    from equirate.mlflow import load_model, log_model

    report = clf.report(X, Y)
    with mlflow.start_run() as run:
        info = log_model(clf, report=report)
    assert mlflow.get_run(run.info.run_id).data.metrics == pytest.approx(flavor.metrics(report))
    assert (load_model(info.model_uri).predict(X) == clf.predict(X)).all()
    pytest.importorskip("pandas")
    served = mlflow.pyfunc.load_model(info.model_uri)
    assert (served.predict(X) == clf.predict(X)).all()


def test_served(clf: Any, tmp_path: Path) -> None:
    from equirate.mlflow import _load_pyfunc

    clf.save(tmp_path / "model.equirate")
    for path in (tmp_path, tmp_path / "model.equirate"):
        served = _load_pyfunc(str(path))
        assert (served.predict(X) == clf.predict(X)).all()
        assert (served.predict(X, {"method": "predict_pmf"}) == clf.predict_pmf(X)).all()
    with pytest.raises(eq.EquirateError, match="method must be one of"):
        served.predict(X, {"method": "fit"})
