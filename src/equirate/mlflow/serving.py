"""What MLflow's ``python_function`` calls: predictions of a saved estimator.

In: the path of ``model.equirate``. Out: an object whose ``predict`` gives labels or, as ``params`` say, probabilities.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import equirate as eq

from .._core.errors import EquirateError

METHODS = ("predict", "predict_pmf")


class ServedModel:
    """A saved estimator behind MLflow's interface."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Labels of rows, or with ``params={"method": "predict_pmf"}`` the probability of predicting each class."""
        method = (params or {}).get("method", "predict")
        if method not in METHODS:
            raise EquirateError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}")
        return getattr(self.estimator, method)(model_input)


def _load_pyfunc(path: str) -> ServedModel:
    """Open a file for ``mlflow.pyfunc``, which gives the path of the file or of its folder."""
    location = Path(path)
    return ServedModel(eq.load(location / "model.equirate" if location.is_dir() else location))
