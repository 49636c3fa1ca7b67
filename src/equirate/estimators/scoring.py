"""`scorer`: a problem as a scikit-learn scorer, for cross-validation and searches over parameters.

In: an objective and constraints. Out: a `RateScorer`, called with a fitted classifier and data, which says how well the
classifier solves the problem: the objective, less a price for the largest violation. It has the parts that
``sklearn.metrics.make_scorer`` gives a scorer, so that tools that take those apart (`TunedThresholdClassifierCV`,
displays of learning curves) work with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest

from .._core.choices import Missing
from .._core.errors import EquirateError
from ..data.arrays import refuse_missing, to_numpy
from ..data.examples import Examples
from ..data.labels import codes_of, one_hot, positive_label
from ..language.measuring import measurer
from ..problem.hints import given_hint
from ..problem.problem import Objective, Problem, flat_constraints
from .attributes import attribute_names, looked_up, named, refuse_unrouted, refuse_unsplit, refuse_without_index
from .inputs import MISSING, read_baselines, two_values
from .predictions import class_probabilities_of, decided, served

Array = NDArray[np.float64]

PRICE = 10.0
"""Price of a violation of 1: a violation of 0.01 costs 0.1 of the objective."""


def scorer(
    objective: Objective | Problem,
    constraints: Any = (),
    *,
    penalty: float = PRICE,
    pos_label: Any = None,
    missing: Missing = "refuse",
    sensitive_features: Any = None,
) -> RateScorer:
    """Make a scikit-learn scorer of a problem: the objective, less ``penalty`` times the largest violation.

    Greater is better, whether the objective is maximised or minimised (then its sign is turned). A classifier that
    keeps every constraint on the data has the objective itself as its score.

    Parameters
    ----------
    objective, constraints
        As in `RateClassifier`, or a `Problem`, which has both; constraints are added to its own. Ready-made constraints
        are about the groups in the data that are scored.
    penalty
        Price of a violation of 1. Violations of a part of the data are estimates, and a price weighs them; with
        ``math.inf`` a broken constraint makes the score minus infinity.
    pos_label
        The label to call positive; by default the classifier's own, or the larger one.
    missing
        What to do with missing values in an attribute: ``"refuse"``, or ``"group"``, as in `RateClassifier`.
    sensitive_features
        A pandas data frame or series with the attributes of everybody; the rows that are scored are looked up in it by
        ``X.index``. For tools that route nothing, such as ``sklearn.inspection.permutation_importance``.

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
    problem = _problem(objective, constraints)
    if problem.losses():
        raise EquirateError(
            f"{problem.losses()[0]!r} is no function of decisions, by which a scorer judges: leave it out, or score it "
            'with scikit-learn\'s "neg_log_loss"'
        )
    if not isinstance(penalty, (int, float)) or not penalty >= 0:
        raise EquirateError(f"the penalty must be a number of at least 0; got {penalty!r}")
    if missing not in MISSING:
        raise EquirateError(f"missing must be one of {', '.join(map(repr, MISSING))}; got {missing!r}")
    if sensitive_features is not None:
        refuse_without_index(sensitive_features)
    return RateScorer(problem, float(penalty), pos_label, missing, sensitive_features)


def _problem(objective: Objective | Problem, constraints: Any) -> Problem:
    if isinstance(objective, Objective):
        return Problem(objective, constraints)
    if not isinstance(objective, Problem):
        raise TypeError(
            "the objective must be made with minimize(...) or maximize(...), or be a Problem, which has its "
            f"constraints; got {objective!r}{given_hint(objective)}"
        )
    given = tuple(flat_constraints(constraints))
    return Problem(objective.objective, (*objective.constraints, *given)) if given else objective


@dataclass(frozen=True, eq=False)
class RateScorer:
    """A problem as a scikit-learn scorer; made by `scorer`.

    ``people`` are attributes that are looked up by the index of X, ``requests`` the metadata that scikit-learn routes.
    """

    problem: Problem
    penalty: float = PRICE
    pos_label: Any = None
    missing: Missing = "refuse"
    people: Any = None
    requests: tuple[tuple[str, Any], ...] = (("sensitive_features", True), ("sample_weight", None))

    # Attributes of scikit-learn's own scorers, which its tools read.
    _sign: ClassVar[int] = 1
    _response_method: ClassVar[str] = "predict"

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y_true: ArrayLike,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Score a fitted classifier on data."""
        classes = np.asarray(getattr(estimator, "classes_", np.unique(to_numpy(y_true))))
        if self.people is not None and sensitive_features is None:
            sensitive_features = looked_up(self.people, X)
        sensitive_features = named(sensitive_features, attribute_names(self.problem), X)
        refuse_unsplit(sensitive_features, len(to_numpy(y_true)))
        positive = None
        if len(classes) > 2:
            predictions = class_probabilities_of(estimator, X, sensitive_features, tuple(classes.tolist()))
        else:
            own_label = getattr(served(estimator), "pos_label", None)
            positive = positive_label(own_label if self.pos_label is None else self.pos_label, classes)
            predictions = decided(estimator, X, sensitive_features, positive)
        return self._value(y_true, predictions, classes, positive, sensitive_features, sample_weight, X)

    def _score_func(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
    ) -> float:
        """Score predicted labels; the larger label is the positive one by default."""
        labels, predicted = to_numpy(y_true), to_numpy(y_pred)
        classes = np.unique(np.concatenate([labels, predicted]))
        if self.people is not None and sensitive_features is None:
            sensitive_features = looked_up(self.people, y_true)
        sensitive_features = named(sensitive_features, attribute_names(self.problem))
        positive = classes[-1] if pos_label is None else pos_label
        if len(classes) > 2:
            decisions = one_hot(codes_of(predicted, tuple(classes.tolist()), "y_pred"), len(classes))
        else:
            decisions = np.asarray(predicted == positive, dtype=float)
        return self._value(labels, decisions, classes, positive, sensitive_features, sample_weight, None)

    def _value(
        self,
        y_true: ArrayLike,
        predictions: Array,
        classes: NDArray[Any],
        positive: Any,
        sensitive_features: Any,
        sample_weight: ArrayLike | None,
        X: Any,
    ) -> float:
        """The objective of some predictions, less the price of the largest violation."""
        labels = to_numpy(y_true)
        refuse_missing(labels, "y")
        if len(classes) > 2:
            values = tuple(classes.tolist())
            examples = Examples.of(labels, sensitive_features, sample_weight, fallback=X, classes=values)
        else:
            values = two_values(classes, positive)
            codes = codes_of(labels.ravel(), values, "y")
            examples = replace(Examples.of(codes, sensitive_features, sample_weight, fallback=X), classes=values)
        refuse_unrouted(self.problem, examples)
        examples = read_baselines(examples, self.problem, self.missing)
        problem = self.problem.expanded(examples)
        measure = measurer(examples, predictions)
        objective = float(problem.objective.expr.value(measure))
        broken = [float(c.residual.value(measure)) for c in problem.plain_constraints]
        violation = max(broken, default=0.0)
        score = -problem.objective.sign * objective
        return score if not violation > 0 else score - self.penalty * violation

    @property
    def __name__(self) -> str:
        return repr(self.problem.objective)

    @property
    def _kwargs(self) -> dict[str, Any]:
        return {} if self.pos_label is None else {"pos_label": self.pos_label}

    def _accept_sample_weight(self) -> bool:
        return True

    # -- routing ---------------------------------------------------------------------------------

    def set_score_request(self, *, sensitive_features: Any = UNCHANGED, sample_weight: Any = UNCHANGED) -> RateScorer:
        """Return the scorer with other requests for metadata: True, False, None, or the name that it is passed by."""
        requested = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        changed = {name: value for name, value in requested.items() if value is not UNCHANGED}
        return replace(self, requests=tuple({**dict(self.requests), **changed}.items()))

    def get_metadata_routing(self) -> Any:
        """What scikit-learn is asked to pass on to the scorer."""
        request = MetadataRequest(owner=self)
        for name, alias in self.requests:
            request.score.add_request(param=name, alias=alias)
        return request

    @property
    def key(self) -> tuple[Any, ...]:
        """The values by which scorers are compared, in addition to ``people``."""
        return (self.problem, self.penalty, self.pos_label, self.missing, self.requests)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RateScorer):
            return NotImplemented
        return self.key == other.key and self.people is other.people

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        constraints = f", {list(self.problem.constraints)!r}" if self.problem.constraints else ""
        return f"scorer({self.problem.objective!r}{constraints})"
