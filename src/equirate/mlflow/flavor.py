"""Writing, logging and opening MLflow models.

In: a fitted `RateClassifier` or `RatePostprocessor` and, if there is one, its report. Out: a folder as MLflow has them,
or a model logged to a run with the report's numbers as metrics.
"""

from __future__ import annotations

import json
import math
import platform
from importlib import import_module
from pathlib import Path
from typing import Any

import equirate as eq

from .._core.errors import EquirateError
from ..reports.report import Report

FLAVOR, FILE = "equirate", "model.equirate"


def _mlflow(part: str = "") -> Any:
    try:
        return import_module(f"mlflow{part}")
    except ImportError as error:
        raise EquirateError(
            f"equirate.mlflow needs mlflow, which is not installed ({error}): pip install 'equirate[mlflow]'"
        ) from None


def save_model(
    estimator: Any,
    path: str | Path,
    *,
    report: Report | None = None,
    mlflow_model: Any = None,
    signature: Any = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Save a fitted estimator as an MLflow model: a folder with ``model.equirate`` in it, and no pickle.

    Parameters
    ----------
    estimator
        A fitted `RateClassifier` or `RatePostprocessor` that ``save`` takes.
    path
        The folder to write, which must not be there yet.
    report
        What ``estimator.report(...)`` returned: written as ``report.json`` and as a card, ``README.md``.
    mlflow_model
        The ``mlflow.models.Model`` to complete; `log_model` gives it.
    signature, metadata
        As MLflow has them: an ``mlflow.models.ModelSignature``, and a dict.
    """
    folder = Path(path)
    if folder.exists() and any(folder.iterdir()):
        raise EquirateError(f"the folder {folder} is not empty: MLflow models are written into a folder of their own")
    model = _mlflow(".models").Model() if mlflow_model is None else mlflow_model
    folder.mkdir(parents=True, exist_ok=True)
    estimator.save(folder / FILE)
    if report is not None:
        (folder / "report.json").write_text(json.dumps(report.to_dict(), indent=1), "utf-8")
        report.to_card(folder / "README.md")
    if signature is not None:
        model.signature = signature
    if metadata is not None:
        model.metadata = metadata
    (folder / "requirements.txt").write_text(f"equirate=={eq.__version__}\n", "utf-8")
    (folder / "python_env.yaml").write_text(
        f"python: {platform.python_version()}\nbuild_dependencies:\n- pip\ndependencies:\n- -r requirements.txt\n",
        "utf-8",
    )
    model.add_flavor(FLAVOR, equirate_version=eq.__version__, data=FILE, kind=type(estimator).__name__)
    model.add_flavor(
        "python_function",
        loader_module="equirate.mlflow",
        python_version=platform.python_version(),
        data=FILE,
        env={"virtualenv": "python_env.yaml"},
    )
    model.save(str(folder / "MLmodel"))


def log_model(estimator: Any, name: str = "model", *, report: Report | None = None, **options: Any) -> Any:
    """Log a fitted estimator to the active MLflow run, or to a new one, and the report's numbers as metrics.

    Parameters
    ----------
    estimator
        As in `save_model`.
    name
        The model's name in the run.
    report
        As in `save_model`. For each part of the report the metrics are ``PART.objective``, ``PART.positive_rate``,
        ``PART.largest_violation`` and, for each constraint, ``PART.violation.NUMBER``.
    **options
        What ``mlflow.models.Model.log`` takes besides, such as ``registered_model_name`` and ``signature``.

    Returns
    -------
    mlflow.models.model.ModelInfo
        What MLflow says of the model, with its ``model_uri``.
    """
    mlflow = _mlflow()
    logged = _mlflow(".models").Model.log(
        artifact_path=None,
        flavor=import_module("equirate.mlflow"),
        name=name,
        estimator=estimator,
        report=report,
        **options,
    )
    if report is not None:
        values = metrics(report)
        if mlflow.active_run() is not None:
            mlflow.log_metrics(values)
        else:
            client = mlflow.MlflowClient()
            for key, value in values.items():
                client.log_metric(logged.run_id, key, value)
    return logged


def metrics(report: Report) -> dict[str, float]:
    """The numbers of a report as MLflow's metrics, without those that are not finite."""
    values = {}
    for part, each in report.parts.items():
        values[f"{part}.objective"] = each.objective
        values[f"{part}.positive_rate"] = each.positive_rate
        values[f"{part}.largest_violation"] = each.violation
        for k, constraint in enumerate(each.constraints, 1):
            values[f"{part}.violation.{k}"] = constraint.violation
    return {name: float(value) for name, value in values.items() if math.isfinite(value)}


def load_model(model_uri: str, *, dst_path: str | None = None) -> Any:
    """Open the estimator of an MLflow model: a folder, ``runs:/...``, ``models:/...``, or another URI of MLflow.

    Nothing in the file is executed.

    Parameters
    ----------
    model_uri
        Where the model is.
    dst_path
        A folder to download to; by default a temporary one.

    Returns
    -------
    RateClassifier or RatePostprocessor
        The fitted estimator.
    """
    local = _mlflow(".artifacts").download_artifacts(artifact_uri=str(model_uri), dst_path=dst_path)
    flavor = _mlflow(".models").Model.load(str(local)).flavors.get(FLAVOR)
    if flavor is None:
        raise EquirateError(f"the MLflow model {model_uri} has no flavour {FLAVOR!r}: equirate.mlflow did not write it")
    return eq.load(Path(local) / FILE)
