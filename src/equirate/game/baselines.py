"""The four classifiers that the paper compares with: UncError, logistic regression, UncF1 and PostShift.

Each returns a `Classifier`, so it is evaluated like all other results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.choices import LossName
from .._core.errors import AlgorithmError, DataError
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.features import features
from ..data.sample import Sample
from ..data.slices import Slice
from ..models.linear import Linear, LinearLearner
from ..models.linear_members import LinearMembers
from ..models.members import Members
from ..models.messages import Asked
from ..models.rows import Rows
from ..models.thresholds import ThresholdMembers, Thresholds, membership
from ..players.losses import LOSSES, signs
from ..players.steps import Adam, StepRule
from .classifiers import Classifier

Array = NDArray[np.float64]

__all__ = [
    "best_f1_threshold",
    "group_thresholds",
    "logistic",
    "post_shift",
    "unc_error",
    "unc_f1",
    "unconstrained",
]


def __dir__() -> list[str]:
    """The public names alone."""
    return list(__all__)


def unconstrained(
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    loss: LossName = "hinge_loss",
    n_rounds: int = 2500,
    steps: float | Sequence[float] = (0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0),
    rule: StepRule[Any] = Adam(),  # noqa: B008  # a frozen setting, not state
    model: Linear = Linear(),  # noqa: B008  # a frozen setting, not state
    validation: tuple[Any, ArrayLike] | None = None,
) -> Classifier:
    """Minimise an ordinary loss, without constraints: the paper's UncError (hinge) and logistic regression.

    All step sizes run side by side; the one with the smallest error (on ``validation`` if given) is kept.

    Parameters
    ----------
    X, y
        Features, and labels (0 or 1).
    sample_weight
        Non-negative weights.
    loss
        ``"hinge_loss"`` or ``"log_loss"``.
    n_rounds
        Gradient steps.
    steps
        Step sizes.
    rule
        How gradients become steps; Adam by default.
    model
        The linear model.
    validation
        Features and labels on which the step size is chosen; by default the training data.

    Returns
    -------
    Classifier
        One linear classifier.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> float((unconstrained(X, y, n_rounds=200).predict(X) == y).mean()) > 0.95
    True
    """
    if loss not in LOSSES:
        raise AlgorithmError(f"the loss must be one of {', '.join(map(repr, LOSSES))}; got {loss!r}")
    rates = np.atleast_1d(np.asarray(steps, dtype=float))
    if not rates.size or not (rates > 0).all() or n_rounds < 1:
        raise AlgorithmError(f"steps must be positive and n_rounds at least 1; got {steps!r} and {n_rounds!r}")
    sample = Sample.of(X, y, None, sample_weight, two_classes=True)
    cells = Cells.of_examples(sample.examples, [], [])
    learner = LinearLearner(model, Rows.of(sample, cells), rule, [0] * len(rates))
    asked = _average(cells, loss, len(rates))
    with np.errstate(over="ignore", invalid="ignore"), learner.expecting(n_rounds):
        for _ in range(n_rounds):
            learner.answer(asked)
            learner.advance(rates)
    finite = learner.finite()
    if not finite.any():
        raise AlgorithmError(f"every step size of {steps!r} diverged: take smaller steps")
    members = LinearMembers(learner.snapshot()[:, finite], learner.shifts)
    judged = sample if validation is None else Sample.of(*validation)
    scores, examples = members.scores(features(judged.X, len(judged))), judged.examples
    error = examples.weights @ ((scores > 0) != examples.labels[:, None])
    value = examples.weights @ LOSSES[loss].value(scores, signs(examples.labels, scores.dtype))
    best = int(np.lexsort((value, error))[0])
    return Classifier(members.take([best]), np.ones(1), None, "unconstrained")


def _average(cells: Cells, loss: str, count: int) -> Asked:
    """The request for the average of an ordinary loss over all examples, in every configuration."""
    share = np.full((len(cells), count), 1 / cells.weights.sum())
    if loss == "hinge_loss":  # bounds the error rate: up where the label is 0, down where it is 1
        positive = cells.labels.astype(bool)[:, None]
        return Asked(False, np.where(positive, 0.0, share), np.where(positive, -share, 0.0))
    return Asked(False, np.zeros_like(share), np.zeros_like(share), losses={loss: share})


def unc_error(X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, **options: Any) -> Classifier:
    """UncError: minimise the hinge loss without constraints. Options as in `unconstrained`.

    Parameters
    ----------
    X, y
        Features, and labels (0 or 1).
    sample_weight
        Non-negative weights.
    **options
        Other parameters of `unconstrained`.

    Returns
    -------
    Classifier
        One linear classifier.
    """
    return unconstrained(X, y, sample_weight=sample_weight, loss="hinge_loss", **options)


def logistic(X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, **options: Any) -> Classifier:
    """Logistic regression by the same optimiser. Options as in `unconstrained`.

    Parameters
    ----------
    X, y
        Features, and labels (0 or 1).
    sample_weight
        Non-negative weights.
    **options
        Other parameters of `unconstrained`.

    Returns
    -------
    Classifier
        One linear classifier.
    """
    return unconstrained(X, y, sample_weight=sample_weight, loss="log_loss", **options)


def unc_f1(X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, **options: Any) -> Classifier:
    """UncF1: UncError with the threshold that maximises the F-measure on the training data.

    Parameters
    ----------
    X, y
        Features, and labels (0 or 1).
    sample_weight
        Non-negative weights.
    **options
        Other parameters of `unconstrained`.

    Returns
    -------
    Classifier
        One linear classifier.
    """
    base = unc_error(X, y, sample_weight=sample_weight, **options)
    threshold = best_f1_threshold(base.members.scores(X)[:, 0], y, sample_weight=sample_weight)
    weights = base.members.linear_weights()
    assert weights is not None  # of the members that `unconstrained` makes
    W = weights.copy()
    W[-1] -= threshold
    return Classifier(LinearMembers(W, True), np.ones(1), None, "unc_f1")


def best_f1_threshold(scores: ArrayLike, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """The threshold t for which predicting 1 where score > t has the largest F-measure; midway between scores.

    Parameters
    ----------
    scores
        One score per example.
    y
        Labels, 0 or 1.
    sample_weight
        Non-negative weights.

    Returns
    -------
    float
        The threshold.

    Examples
    --------
    >>> best_f1_threshold([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    0.25
    """
    examples, scores = Examples.of(y, None, sample_weight), np.asarray(scores)
    if scores.shape != (len(examples),):
        raise DataError(f"best_f1_threshold needs one score for each of {len(examples)} labels; got {scores.shape}")
    order = np.argsort(-scores, kind="stable")
    s, w, y = scores[order].astype(float), examples.weights[order], examples.labels[order]
    tp, predicted = np.cumsum(w * y), np.cumsum(w)
    f1 = 2 * tp / (predicted + (w * y).sum())
    return _best_cut(s, np.append(-1.0, f1))


def _best_cut(scores: Array, merits: Array) -> float:
    """The best threshold on falling scores, midway between two; accepting the first k of them has ``merits[k]``."""
    parted = np.concatenate([[True], scores[1:] < scores[:-1], [True]])  # a threshold cannot separate equal scores
    accepted = int(np.argmax(np.where(parted, merits, -np.inf)))
    ends = np.concatenate([[scores[0] + 2.0], scores, [scores[-1] - 2.0]])
    return float((ends[accepted] + ends[accepted + 1]) / 2)


def group_thresholds(members: Members, cuts: Mapping[Slice, float]) -> ThresholdMembers:
    """One linear score with a threshold for each group: needs the attributes when predicting.

    Parameters
    ----------
    members
        Classifiers with scores; the first one is used.
    cuts
        The threshold of each slice. Slices must not overlap and must cover everybody.

    Returns
    -------
    ThresholdMembers
        One classifier, for `equirate.Classifier`.
    """
    setting = Thresholds(partial(_first_score, members), tuple(cuts))
    return ThresholdMembers(setting, np.array(list(cuts.values()))[:, None])


def _first_score(members: Members, X: Any) -> NDArray[Any]:
    return members.scores(X)[:, 0]


def post_shift(
    X: Any,
    y: ArrayLike,
    *,
    attributes: Any,
    groups: Sequence[Slice],
    rate: float | None = None,
    sample_weight: ArrayLike | None = None,
    **options: Any,
) -> Classifier:
    """PostShift: a threshold per group on logistic regression, so that each group's positive rate is ``rate``.

    ``rate`` defaults to the overall base rate. Groups must not overlap and must cover everybody.

    Parameters
    ----------
    X, y
        Features, and labels (0 or 1).
    attributes
        Attributes that the groups refer to.
    groups
        The slices that have a threshold each.
    rate
        The positive rate of every group.
    sample_weight
        Non-negative weights.
    **options
        Other parameters of `unconstrained`.

    Returns
    -------
    Classifier
        One classifier, which needs the attributes to predict.
    """
    examples = Examples.of(y, attributes, sample_weight, fallback=X, two_classes=True)
    p = float(examples.weights @ examples.labels / examples.weights.sum()) if rate is None else rate
    if not 0 <= p <= 1:
        raise DataError(f"the rate of post_shift must lie in [0, 1]; got {rate!r}")
    membership(groups, examples)  # raises an error if groups overlap or do not cover all examples
    base = logistic(X, y, sample_weight=sample_weight, **options)
    scores = base.members.scores(X)[:, 0].astype(float)
    cuts = {}
    for group in groups:
        inside = examples.mask(group) & (examples.weights > 0)
        if not inside.any():
            raise DataError(f"the slice {group!r} is empty in the data")
        cuts[group] = _quantile_cut(scores[inside], examples.weights[inside], p)
    return Classifier(group_thresholds(base.members, cuts), np.ones(1), None, "post_shift")


def _quantile_cut(scores: Array, weights: Array, rate: float) -> float:
    """The threshold for which the share of the weight above it is closest to ``rate``."""
    order = np.argsort(-scores, kind="stable")
    s, w = scores[order], weights[order]
    reached = np.append(0.0, np.cumsum(w) / w.sum())
    return _best_cut(s, -np.abs(reached - rate))
