"""The border of judging: `certify`, `audit` and `power` for predictions and data as users have them.

In: constraints (or a problem, or ready-made ones), labels, predictions, attributes. Out: certificates, and what can be
certified at all. The classifier may be any: only its predictions are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from .._core.choices import CertificateMethod, Correction
from .._core.errors import DataError, EquirateError
from ..data.alignment import check_indexes
from ..data.arrays import same_length
from ..data.attributes import suggest_argument
from ..data.examples import Examples
from ..data.labels import binary, coded, label_classes, listed_values, many_classes
from ..data.predictions import by_label, examples_and_predictions
from ..language.expressions import Constraint
from ..language.parity import ConstraintFamily
from ..problem.hints import given_hint
from ..problem.problem import Problem
from . import audit as _audit, certify as _certify
from .audit import SMALLEST, Audit
from .power import Power, assumed_predictions, powers
from .spread import clusters_of


def certify(
    constraints: Any,
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    attributes: Any = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    method: CertificateMethod = "approximate",
    clusters: Any = None,
    correction: Correction | None = None,
    random_state: int = 0,
    classes: Sequence[Any] | None = None,
) -> _certify.Certificates:
    """Judge constraints on held-out predictions of any classifier: pass, fail or cannot tell.

    Parameters
    ----------
    constraints
        A constraint, a list of them (ready-made ones too), or a `Problem`.
    y_true, y_pred
        Labels, and predictions: 0/1, or probabilities of predicting 1; of more classes labels, or probabilities
        (examples, classes). The data must be new to the classifier.
    attributes, sample_weight
        As in `Expression.evaluate`.
    confidence
        One-sided, of each bound: a constraint that is broken passes with a chance of at most 1 - confidence.
    method
        ``"approximate"`` covers well and is sharp. ``"exact"`` (binomial counts and union bounds) holds for every
        number of examples and says less; it draws decisions where predictions are probabilities, takes neither weights
        nor clusters, and only sums of rates and ratios.
    clusters
        A name for each example: examples of one name, such as several rows of a person, belong together.
    correction
        ``"holm"`` or ``"bonferroni"``: among several constraints, every single verdict can be trusted at once. That
        *all* pass needs none.
    random_state
        Seed of the decisions that the exact method draws.
    classes
        As in `Expression.evaluate`.

    Returns
    -------
    Certificates
        A list with a `Certificate` for each constraint, and a verdict on all of them.

    Examples
    --------
    >>> import numpy as np
    >>> import equirate as eq
    >>> y = np.arange(400) % 2
    >>> certificates = eq.certify([eq.positive_rate() <= 0.4, eq.recall() >= 0.5], y, np.arange(400) < 120)
    >>> [certificate.verdict for certificate in certificates], certificates.verdict
    (['pass', 'fail'], 'fail')
    """
    examples, predictions = examples_and_predictions(
        y_true, y_pred, attributes, sample_weight, classes=classes, mentioned=_mentioned(constraints)
    )
    examples = replace(examples, clusters=clusters_of(clusters, len(examples), examples.shared))
    return _certify.certify(
        constraints_in(constraints, examples),
        examples,
        predictions,
        confidence,
        method=method,
        correction=correction,
        seed=random_state,
    )


@suggest_argument("attributes", "sensitive_features")
def audit(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    attributes: Any,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    labels: Sequence[Any] | None = None,
    confidence: float = 0.95,
    smallest: int = SMALLEST,
) -> Audit:
    """Compare every rate of every group, and of every pair of groups, with everybody else's.

    No constraints are given: an audit looks for differences that are more than chance, in the decisions of any
    classifier. To judge constraints that are known beforehand, use `certify`; for a fitted estimator, `report`.

    Parameters
    ----------
    y_true, y_pred
        Labels and predicted labels: 0/1, any two values with ``pos_label``, or more than two classes, each of which is
        compared with the rest.
    attributes
        What groups are made of: a data frame, a dict of arrays, a series or an array. Numbers with many values are cut
        into quarters.
    sample_weight
        Non-negative weights.
    pos_label
        The label to call positive, where labels are not 0 and 1.
    labels
        Of more than two classes, those to look at; all by default. Fewer are looked at more closely.
    confidence
        With which all intervals hold at once.
    smallest
        Fewest examples behind a rate; groups with fewer are left out, and named.

    Returns
    -------
    Audit
        Rates of all groups, and the differences, the worst first.

    Examples
    --------
    >>> import numpy as np
    >>> import equirate as eq
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["Female", "Male"], 2000)
    >>> y = rng.random(2000) < 0.4
    >>> result = eq.audit(y, np.where(sex == "Male", y, rng.random(2000) < 0.2), attributes={"sex": sex})
    >>> result.findings[0].rate, result.findings[0].clear
    ('tpr', True)
    """
    if pos_label is not None:
        y_true, y_pred = by_label(y_true, y_pred, pos_label)
    classes = many_classes(y_true)
    if classes is not None:  # predictions may hold a class that these rows do not have
        classes = label_classes(y_true, "y", label_classes(y_pred, "y_pred"))
    _check_labels(labels, classes)
    check_indexes({"y": y_true, "attributes": attributes, "sample_weight": sample_weight})
    examples = Examples.of(y_true, attributes, sample_weight, classes=classes, compared=True)
    decided = binary(y_pred, "y_pred") if classes is None else coded(y_pred, classes, "y_pred")
    same_length(decided, len(examples), "y_pred")
    columns = {name: examples.column(name) for name in examples.columns}
    return _audit.audit(
        examples.labels,
        decided,
        attributes=columns,
        sample_weight=examples.weights,
        confidence=confidence,
        smallest=smallest,
        classes=classes,
        among=labels,
    )


def _check_labels(labels: Sequence[Any] | None, classes: Sequence[Any] | None) -> None:
    """Refuse classes to look at that are not there."""
    if labels is None:
        return
    if classes is None:
        raise DataError("labels= is for more than two classes: leave it out, or name one of two with pos_label=")
    strange = [value for value in labels if value not in classes]
    if strange or isinstance(labels, str) or not len(labels):
        raise DataError(f"labels must be a list of classes of y, {listed_values(classes)}; got {labels!r}")


def power(
    constraints: Any,
    y: ArrayLike,
    *,
    attributes: Any = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    power: float = 0.8,
    rates: Mapping[Any, float] | None = None,
    predictions: ArrayLike | None = None,
    clusters: Any = None,
    classes: Sequence[Any] | None = None,
) -> Power:
    """Say what can be certified with these data, before anything is trained.

    Parameters
    ----------
    constraints
        A `Problem`, a constraint or a list of them.
    y, attributes, sample_weight
        The data that constraints will be certified on.
    confidence, power
        Of the certificate, and the chance with which it is to pass.
    rates
        ``"tpr"`` and ``"fpr"`` of the classifier to come, in every group; by default 0.8, and what makes precision
        the same. With more than two classes, the recall of each class; by default 0.8.
    predictions
        Instead of ``rates``, predictions of a pilot classifier for these data: 0/1, or probabilities of predicting 1.
    clusters
        As in `certify`; needs ``predictions``, which show how much examples of a cluster have in common.
    classes
        As in `Expression.evaluate`.

    Returns
    -------
    Power
        For each constraint, whether it can be certified, and how many examples that needs.

    Examples
    --------
    >>> import numpy as np
    >>> import equirate as eq
    >>> y, women = np.repeat([1, 0], 1000), np.arange(2000) % 7 == 0
    >>> sex = np.where(women, "F", "M")
    >>> result = eq.power(eq.equal_opportunity("sex", tolerance=0.05), y, attributes={"sex": sex})
    >>> print(result.constraints[0])
    with 143 examples of sex == 'F' with label 1, abs(tpr(sex == 'F') - tpr(sex == 'M')) <= 0.05
    cannot be certified at 95%; about 690 would do, or a tolerance of 0.12
    """
    examples, given = examples_and_predictions(
        y,
        y if predictions is None else predictions,
        attributes,
        sample_weight,
        classes=classes,
        mentioned=_mentioned(constraints),
    )
    if clusters is not None and predictions is None:
        raise EquirateError(
            "power with clusters needs predictions of a pilot classifier: "
            "how much examples of a cluster have in common cannot be assumed"
        )
    if predictions is not None and rates is not None:
        raise EquirateError("power takes rates or predictions, not both")
    if predictions is not None:
        assumed, words = given, "the predictions that were given"
    else:
        assumed, words = assumed_predictions(examples, dict(rates) if rates is not None else None)
    examples = replace(examples, clusters=clusters_of(clusters, len(examples), examples.shared))
    return powers(
        constraints_in(constraints, examples),
        examples,
        assumed,
        drawn=predictions is None,
        assumed=words,
        confidence=confidence,
        power=power,
    )


def _mentioned(given: Any) -> list[Any]:
    """The classes that constraints name."""
    if isinstance(given, Constraint):
        return [*given.left.labels(), *given.right.labels()]
    if isinstance(given, ConstraintFamily):
        return list(given.labels or ())
    if isinstance(given, Problem):
        return [*given.objective.expr.labels(), *_mentioned(given.constraints)]
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        return [label for part in given for label in _mentioned(part)]
    return []


def constraints_in(given: Any, examples: Examples) -> list[Constraint]:
    """The constraints of whatever holds some, written out for the groups in the data."""
    if isinstance(given, Constraint):
        return [given.on(examples)]
    if isinstance(given, ConstraintFamily):
        return given.expanded(examples)
    if isinstance(given, Problem):
        given = given.constraints
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        raise TypeError(f"constraints are made with <= or >= between expressions; got {given!r}{given_hint(given)}")
    return [constraint for part in given for constraint in constraints_in(part, examples)]
