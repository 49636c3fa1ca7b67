"""`scorer`: a problem as a scikit-learn scorer, for cross-validation and searches over parameters.

In: an objective and constraints. Out: a `RateScorer`, called with a fitted classifier and data, which says how well the
classifier solves the problem: the objective, less a price for the largest violation.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest

from .._core.errors import DataError, EquirateError
from ..data.examples import Examples, fill_missing, refuse_missing, to_numpy
from ..language.expressions import Constraint
from ..language.measuring import measurer
from ..problem.problem import Objective, Problem
from .judging import MISSING, read_like_labels

Array = NDArray[np.float64]

PRICE = 10.0
"""What a violation of 1 costs: a hundredth is worth a tenth of the objective."""


def scorer(
    objective: Objective,
    constraints: Any = (),
    *,
    penalty: float = PRICE,
    pos_label: Any = None,
    missing: str = "refuse",
) -> RateScorer:
    """Make a scikit-learn scorer of a problem: the objective, less ``penalty`` times the largest violation.

    Greater is better, whether the objective is maximised or minimised (then its sign is turned). A classifier that
    keeps every constraint on the data has the objective itself as its score.

    Parameters
    ----------
    objective, constraints
        As in `RateClassifier`. Ready-made constraints are about the groups in the data that are scored.
    penalty
        Price of a violation of 1. Violations of a part of the data are estimates, and a price weighs them; with
        ``math.inf`` a broken constraint makes the score minus infinity.
    pos_label
        The label to call positive; by default the classifier's own, or the larger one.
    missing
        What to do with missing values in an attribute: ``"refuse"``, or ``"group"``, as in `RateClassifier`.

    Returns
    -------
    RateScorer
        Give it as ``scoring=``. Columns of a data frame X serve as attributes. Others are routed: with
        ``sklearn.set_config(enable_metadata_routing=True)``, ``sensitive_features`` that a search or a
        cross-validation is given come here by themselves, ``sample_weight`` after
        ``.set_score_request(sample_weight=True)``. A mixture (`RateClassifier`) is scored by its expected rates, other
        classifiers by what they predict.

    Examples
    --------
    >>> import numpy as np, equirate as eq
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where(X[:, 0] + rng.normal(size=300) > 0.5, "good", "bad")
    >>> score = eq.scorer(eq.maximize(eq.recall()), [eq.positive_rate() <= 0.5], pos_label="good")
    >>> cross_val_score(LogisticRegression(), X, y, scoring=score, cv=3).round(2).tolist()
    [0.55, 0.55, 0.81]
    """
    if not isinstance(objective, Objective):
        raise TypeError(f"the objective must be made with minimize(...) or maximize(...); got {objective!r}")
    problem = Problem(objective, constraints)
    if problem.losses():
        raise EquirateError(
            f"{problem.losses()[0]!r} is no function of decisions, by which a scorer judges: leave it out, or score it "
            'with scikit-learn\'s "neg_log_loss"'
        )
    if not isinstance(penalty, (int, float)) or not penalty >= 0:
        raise EquirateError(f"the penalty must be a number of at least 0; got {penalty!r}")
    if missing not in MISSING:
        raise EquirateError(f"missing must be one of {', '.join(map(repr, MISSING))}; got {missing!r}")
    return RateScorer(problem, float(penalty), pos_label, missing)


@dataclass(frozen=True)
class RateScorer:
    """A problem as a scikit-learn scorer; made by `scorer`."""

    problem: Problem
    penalty: float = PRICE
    pos_label: Any = None
    missing: str = "refuse"
    requests: dict[str, Any] = field(default_factory=lambda: {"sensitive_features": True, "sample_weight": None})

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y_true: ArrayLike,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Score a fitted classifier on data."""
        classes = np.asarray(getattr(estimator, "classes_", np.unique(to_numpy(y_true))))
        positive = self._positive(estimator, classes)
        labels = to_numpy(y_true)
        refuse_missing(labels, "y")
        examples = Examples.of((labels == positive).ravel(), sensitive_features, sample_weight, fallback=X)
        columns = dict(examples.columns) if self.missing == "refuse" else fill_missing(examples.columns)
        examples = examples.with_columns(read_like_labels(columns, self.problem.baselines(), classes, positive))
        problem = self.problem.expanded(examples)
        measure = measurer(examples, _decided(estimator, X, sensitive_features, positive))
        objective = float(problem.objective.expr.value(measure))
        broken = [float(c.residual.value(measure)) for c in problem.constraints if isinstance(c, Constraint)]
        violation = max(broken, default=0.0)
        score = objective if problem.objective.sense == "maximize" else -objective
        return score if not violation > 0 else score - self.penalty * violation

    def _positive(self, estimator: Any, classes: NDArray[Any]) -> Any:
        chosen = getattr(_served(estimator), "pos_label", None) if self.pos_label is None else self.pos_label
        if chosen is None:
            return classes[-1]
        if chosen not in classes:
            raise DataError(f"pos_label {chosen!r} is not among the labels {classes.tolist()!r}")
        return chosen

    # -- routing ---------------------------------------------------------------------------------

    def set_score_request(self, *, sensitive_features: Any = UNCHANGED, sample_weight: Any = UNCHANGED) -> RateScorer:
        """Return the scorer with other requests for metadata: True, False, None, or the name that it is passed by."""
        given = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        changed = {name: value for name, value in given.items() if value is not UNCHANGED}
        return replace(self, requests={**self.requests, **changed})

    def get_metadata_routing(self) -> Any:
        """What scikit-learn is asked to pass on to the scorer."""
        request = MetadataRequest(owner=self)
        for name, wanted in self.requests.items():
            request.score.add_request(param=name, alias=wanted)
        return request

    def __repr__(self) -> str:
        constraints = f", {list(self.problem.constraints)!r}" if self.problem.constraints else ""
        return f"scorer({self.problem.objective!r}{constraints})"


def _served(estimator: Any) -> Any:
    """The classifier that decides: the last step of a pipeline, the best one of a search."""
    if isinstance(estimator, Pipeline):
        return _served(estimator[-1])
    return _served(estimator.best_estimator_) if hasattr(estimator, "best_estimator_") else estimator


def _decided(estimator: Any, X: Any, sensitive_features: Any, positive: Any) -> Array:
    """Probability of deciding for the positive label: a mixture's own, or 0 and 1."""
    if hasattr(estimator, "best_estimator_"):
        return _decided(estimator.best_estimator_, X, sensitive_features, positive)
    if isinstance(estimator, Pipeline) and hasattr(_served(estimator), "predict_pmf"):
        for _, step in estimator.steps[:-1]:  # a pipeline has no predict_pmf
            X = X if step in (None, "passthrough") else step.transform(X)
        return _decided(estimator[-1], X, sensitive_features, positive)
    mixed = hasattr(estimator, "predict_pmf")
    decide = estimator.predict_pmf if mixed else estimator.predict
    takes = sensitive_features is not None and "sensitive_features" in inspect.signature(decide).parameters
    answer = to_numpy(decide(X, sensitive_features=sensitive_features) if takes else decide(X))
    if mixed:
        return np.asarray(answer[:, list(estimator.classes_).index(positive)], dtype=float)
    return np.asarray(answer == positive, dtype=float)
