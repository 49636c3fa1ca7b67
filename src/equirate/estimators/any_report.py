"""`report`: what any fitted estimator, pipeline or array of predictions achieves for a problem.

In: a classifier or predictions, data to judge on and, unless it was trained for one, a problem. Out: a `Report`, as
`RateClassifier.report` gives it. Inside a pipeline or a search, the report is that of the classifier at its end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.errors import DataError, EquirateError
from ..data.arrays import one_dimensional, refuse_missing, to_numpy
from ..data.attributes import suggest_argument
from ..data.examples import Examples
from ..data.labels import codes_of, positive_label
from ..judge.evaluation import Evaluation
from ..problem.problem import Problem
from ..reports.facts import rates_by_slice
from ..reports.intersections import intersection_notes
from ..reports.report import Report
from . import reporting
from .attributes import attribute_names, named, refuse_unsplit
from .base import RateEstimator
from .inputs import compare_indexes, read_baselines, two_values
from .predictions import decided, served, unwrapped

Array = NDArray[np.float64]


@suggest_argument("sensitive_features", "attributes")
def report(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    sensitive_features: Any = None,
    problem: Problem | None = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    baseline: Any = None,
    pos_label: Any = None,
) -> Report:
    """Report what a fitted estimator achieves for a problem: required values, achieved values and confidence.

    Parameters
    ----------
    estimator
        A fitted classifier, a pipeline or a search around one, or an array of its predictions on X: labels, or
        probabilities of predicting the positive one.
    X, y
        Data to judge on, preferably such as nothing was trained or chosen on. Columns of a data frame X serve as
        attributes; with an array of predictions X may be None.
    sensitive_features
        Attributes that slices and baselines of the problem refer to.
    problem
        What to judge by. By default the problem that a `RateClassifier` or `RatePostprocessor` was trained for.
    sample_weight
        Non-negative weights.
    confidence
        Level of the intervals and verdicts.
    baseline
        What to compare with: a fitted classifier (one that draws, such as fairlearn's ``ThresholdOptimizer``, counts
        by its expected decisions), predictions on X, or a dict with one of these under a name of its own.
    pos_label
        The label to call positive; by default the estimator's own, or the larger one.

    Returns
    -------
    Report
        Prints as text; ``to_html``, ``to_card`` and ``to_dict`` give other forms.

    Examples
    --------
    >>> import numpy as np, equirate as eq
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = (X[:, 0] + rng.normal(size=400) > 0.5).astype(int)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:200], y[:200])
    >>> problem = eq.Problem(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.5])
    >>> print(eq.report(model, X[200:], y[200:], problem=problem).verdict)
    The constraint holds on the 200 examples given, at 95% confidence.
    """
    is_array = not hasattr(estimator, "predict")
    inner = None if is_array else served(estimator)
    if problem is None and isinstance(inner, RateEstimator):
        inner, features = unwrapped(estimator, X)
        result: Report = inner.report(
            X,
            y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            confidence=confidence,
            baseline=baseline,
            features=None if inner is estimator else features,
        )
        return result
    if not isinstance(problem, Problem):
        raise EquirateError(
            "report needs a problem to judge by: problem=eq.Problem(eq.maximize(...), [...]). Only a RateClassifier or "
            f"a RatePostprocessor has one of its own; got {type(estimator).__name__} and problem={problem!r}"
        )
    labels = one_dimensional(to_numpy(y), "y")
    refuse_missing(labels, "y")
    classes = np.asarray(getattr(inner, "classes_", np.unique(labels)))
    if len(classes) > 2:
        raise DataError(f"a report is about two labels; there are {len(classes)}: {classes.tolist()[:5]!r}")
    positive = positive_label(getattr(inner, "pos_label", None) if pos_label is None else pos_label, classes)
    values = two_values(classes, positive)
    compare_indexes(X, y, sensitive_features, sample_weight)
    people = named(sensitive_features, attribute_names(problem), X)
    refuse_unsplit(people, len(labels))
    examples = Examples.of(codes_of(labels, values, "y"), people, sample_weight, fallback=X, compared=True)
    examples = read_baselines(replace(examples, classes=values), problem)
    if is_array:
        predictions = reporting.as_probabilities(estimator, classes, positive, len(labels), "estimator")
    else:
        predictions = decided(estimator, X, people, positive)
    problem_here = problem.expanded(examples)
    tested = Evaluation.of(problem_here, examples, predictions, confidence)
    compared = None
    if baseline is not None:
        theirs = reporting.baseline_of(baseline, X, people, classes, positive, len(examples))
        compared = reporting.compared_with(theirs, problem_here, examples, predictions, confidence)
    notes = intersection_notes(problem, examples, predictions)
    if tested.undecided > 0:
        notes.append(f"the decision of {tested.undecided:.1%} of the examples depends on a draw")
    return Report(
        repr(problem_here),
        {"test": tested},
        notes,
        reporting.shown_label(positive),
        rates_by_slice(problem_here, examples, predictions, confidence),
        compared,
    )
