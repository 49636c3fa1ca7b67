"""`RatePostprocessor`: keep a classifier, and choose thresholds on its scores that solve the problem.

The strong baseline of post-processing (Cruz and Hardt 2024): take a model trained for accuracy, and mix thresholds on
its scores, one for everybody or one per group, for the same objectives and constraints as `RateClassifier`. The best
response is exact, so the result is the best mixture of thresholds on the scores given. Those are scores of rows that
their classifier was not trained on (`out_of_fold`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._core.choices import ConfidenceMethod, Missing, OnInterrupt, ThresholdOutput
from .._core.errors import DataError, EquirateError
from .._core.hashing import Hashes
from .._core.peers import ALONE, all_processes
from ..certification.holdout import refuse_inexact
from ..data.arrays import refuse_missing, to_numpy
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.groups import Groups, refuse_many
from ..data.labels import one_hot
from ..data.predictions import probabilities_of, scores_of
from ..data.sample import Given, Sample
from ..data.slices import EVERYBODY, Attribute, Slice
from ..game.classifiers import Classifier
from ..judge.evaluation import Evaluation
from ..language.parity import attributes_in
from ..models.class_scores import ClassScores
from ..models.thresholds import Thresholds
from ..problem.problem import Objective, Problem
from ..problem.table import problem_cells
from ..storage.provenance import keep_provenance
from ..storage.saving import plain_postprocessor, read_postprocessor
from ..training.draws import rows_repeat
from ..training.out_of_fold import Scored, as_given, name_of, out_of_fold, scorer_of, used_as_given
from ..training.settings import TEST_SHARE, Settings
from ..training.training import EvaluationPart, Training
from .absent import Absent, method_if
from .base import RateEstimator
from .inputs import classes_in, compare_indexes, refuse_empty
from .keys import row_keys
from .outputs import fit_outputs
from .refitting import all_or_nothing

Array = NDArray[np.float64]
OUTPUTS = ("hashed", "stochastic")
NOT_OFFERED = (
    "this RatePostprocessor has no {0}: it hands on its estimator's, which has none. predict_pmf(X) is the probability "
    "with which each label is predicted"
)


def _offers(method: str) -> Callable[[Any], bool]:
    """Whether the estimator behind a postprocessor, fitted or not, has a method."""
    return lambda post: hasattr(getattr(post, "estimator_", post.estimator), method)


class RatePostprocessor(RateEstimator):
    """Mix thresholds on a classifier's scores for a function of rates under constraints.

    Parameters
    ----------
    estimator
        A classifier with ``decision_function`` or ``predict_proba``. `fit` trains it, whether it is fitted or not:
        clones of it score rows that they have not seen, thresholds are chosen on those scores, and one trained on
        everything serves. A ``sklearn.frozen.FrozenEstimator`` is used as it is; the rows given to `fit` should then be
        new to it. None: every method takes the scores themselves instead of X, higher for the larger label
        (one per example: an array, a series or a column).
    objective, constraints
        As in `RateClassifier`.
    groups
        None: one threshold for everybody, so that predicting needs no attributes. An attribute (``attr("sex")`` or
        ``"sex"``), several, or a list of slices: a threshold per group, and predicting needs ``sensitive_features``.
    cv
        How the scores are computed: a number of folds, stratified and shuffled; a share of the rows below 1, held out
        once; a splitter of scikit-learn; pairs of rows to train and to test on (for a splitter that needs groups:
        ``list(splitter.split(X, y, groups))``); or ``"prefit"``, to use a fitted estimator as it is.
    refit
        Train on everything to serve. False: serve with the classifier of the one fold that there is. With
        ``confidence`` it is False, and a number of folds becomes half of the rows: what is tested is what serves.
    output
        ``"hashed"``: the mixture, each row (or each ``key``) always decided the same way; ``"stochastic"``: drawn for
        each row by its place.
    n_rounds
        Rounds of the game.
    confidence, confidence_method
        As in `RateClassifier`: a margin, the smallest that passes a test, on scores of rows that the classifier has not
        seen. Folds are folds of these scores; with ``"cross"`` every one is decided by thresholds chosen without its
        fold.
    pos_label
        The label to call positive; the larger one by default.
    missing
        What to do with missing values in an attribute: ``"refuse"``, or ``"group"``, as in `RateClassifier`.
    on_interrupt
        What `fit` does after Ctrl-C, once there is a result: ``"raise"`` leaves the estimator as it was, keeps the
        result as ``resume_``, and raises KeyboardInterrupt again; ``"keep"`` returns with the result, and
        ``status_.interrupted`` is True. Either way nothing is certified. Before there is a result, KeyboardInterrupt
        is raised.
    n_jobs
        Number of folds that are trained in parallel, as in scikit-learn.
    random_state
        Seed of the folds, of the salt of hashed predictions and of stochastic ones: a whole number, or a numpy
        RandomState or Generator, from which `fit` draws one.

    Attributes
    ----------
    classes_, problem_, status_
        As in `RateClassifier`.
    estimator_
        The classifier that serves; None for given scores.
    certification_
        As in `RateClassifier`.
    train_
        Evaluation on the data given to `fit`, by scores of classifiers that were trained without the row.
    salt_
        The salt of hashed predictions.
    resume_
        Only after an interrupted fit: a fitted copy of this estimator with the result until then. It predicts, reports
        and saves like any other.

    Examples
    --------
    >>> import numpy as np, equirate as eq
    >>> from equirate import RatePostprocessor
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = (X[:, 0] + rng.normal(size=500) > 0.8).astype(int)
    >>> post = RatePostprocessor(
    ...     LogisticRegression(), eq.maximize(eq.f1()), [eq.positive_rate() <= 0.2], random_state=0
    ... )
    >>> post.fit(X, y).train_.violation < 1e-6
    True
    """

    _outputs = OUTPUTS

    def __init__(
        self,
        estimator: Any,
        objective: Objective,
        constraints: Any = (),
        *,
        groups: Any = None,
        cv: Any = 5,
        refit: bool = True,
        output: ThresholdOutput = "hashed",
        n_rounds: int = 300,
        confidence: float | None = None,
        confidence_method: ConfidenceMethod = "cross",
        pos_label: Any = None,
        missing: Missing = "refuse",
        on_interrupt: OnInterrupt = "raise",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.constraints = constraints
        self.groups = groups
        self.cv = cv
        self.refit = refit
        self.output = output
        self.n_rounds = n_rounds
        self.confidence = confidence
        self.confidence_method = confidence_method
        self.pos_label = pos_label
        self.missing = missing
        self.on_interrupt = on_interrupt
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        probable = self.estimator is None or hasattr(self.estimator, "predict_proba")
        tags.classifier_tags.multi_class = probable and self._problem_takes_classes()
        tags.non_deterministic = self.output == "stochastic"  # rows are drawn by their place
        if self.estimator is not None and hasattr(self.estimator, "__sklearn_tags__"):
            inner = self.estimator.__sklearn_tags__()
            tags.input_tags = inner.input_tags
            tags.classifier_tags.poor_score = bool(inner.classifier_tags and inner.classifier_tags.poor_score)
        return tags

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        clusters: Any = None,
    ) -> Self:
        """Train the classifier on folds and on everything, and choose the thresholds on out-of-fold scores.

        Parameters
        ----------
        X
            Features as the estimator takes them; scores where there is none.
        y
            Labels with two values of any kind.
        sensitive_features
            Attributes that slices, groups and baselines refer to, as in `RateClassifier`.
        sample_weight
            Non-negative weights; for the rates, and to train with where the estimator takes them.
        clusters
            As in `RateClassifier.fit`; folds of ``cv`` by their number or share keep clusters together.

        Returns
        -------
        Self
            The fitted estimator.
        """
        with all_processes() as shared:
            shared.require_single_process("RatePostprocessor")
        with all_or_nothing(self):
            self._fit(Given(X, y, sensitive_features, sample_weight), clusters)
        return self

    def _fit(self, data: Given, clusters: Any) -> None:
        self._check_parameters(ALONE)
        labels = _one_column(data.y)
        self.classes_ = self._classes_of(labels)
        compare_indexes(*data[:4])
        problem = Problem(self.objective, self.constraints)
        examples = self._examples(problem, labels, data, clusters)
        self.problem_ = self._expanded(problem, examples)
        weights = None if data.sample_weight is None else examples.weights
        scored = self._scored(data.X, labels, weights, examples.clusters)
        self.estimator_ = scored.estimator
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(scored.estimator, name):
                setattr(self, name, getattr(scored.estimator, name))
        self.score_notes_ = scored.notes
        self._choose(scored, examples, self._hashes(data.X, scored.rows))
        keep_provenance(self, data[:4], ALONE)

    def _hashes(self, X: Any, rows: NDArray[np.intp]) -> Hashes | None:
        """The hashes that scored rows draw by; None if rows do not repeat, except by being scored more than once."""
        if self.output != "hashed" or not self.problem_.constraints:
            return None
        hashes = row_keys(X)
        again = np.bincount(rows).max(initial=0) > 1
        return None if again and not rows_repeat(hashes) else hashes[rows]

    def _classes_of(self, labels: NDArray[Any]) -> NDArray[Any]:
        """The classes of a fitted estimator; those in y if it is trained here, or scores are given."""
        classes = classes_in(labels, ALONE, self.pos_label)
        if used_as_given(self.estimator, self.cv):
            return np.asarray(getattr(self.estimator, "classes_", classes))
        return classes

    def _scored(
        self, X: Any, labels: NDArray[Any], weights: Array | None, clusters: NDArray[np.int64] | None
    ) -> Scored:
        """Scores to choose thresholds on, and the estimator that serves."""
        if self.estimator is None:
            scores = probabilities_of(X, self.class_values_) if self._many else scores_of(X)
            return Scored(None, np.arange(len(scores)), scores)
        if used_as_given(self.estimator, self.cv):
            return as_given(self.estimator, X)
        cv, refit = self.cv, self.refit
        if self.confidence is not None and self.problem_.constraints:  # what serves must be what is tested
            cv, refit = TEST_SHARE if isinstance(cv, Integral) else cv, False
        return out_of_fold(self.estimator, X, labels, weights, cv, refit, self.n_jobs, self.seed_, clusters)

    def _choose(self, scored: Scored, examples: Examples, hashes: Hashes | None) -> None:
        """Choose the thresholds, and evaluate them on the scores that they were chosen on.

        ``hashes`` are those that the rows of the scores draw by.
        """
        rows, scores = scored.rows, scored.scores
        if len(scores) != len(rows) or (len(rows) and int(rows.max()) >= len(examples)):
            raise DataError(
                f"there are {len(scores)} scores for {len(examples)} labels: they must describe the same rows"
            )
        cells = everything = problem_cells(self.problem_, examples)
        times = np.bincount(rows, minlength=len(examples))  # more than once where folds are repeated
        chosen = examples
        if not ((times == 1).all() and (rows == np.arange(len(rows))).all()):
            selected = examples.take(rows)
            chosen = replace(selected, weights=selected.weights / times[rows])
            cells = everything.batch(rows).weighing(chosen.weights)
        refuse_empty(self.problem_, chosen)
        slices = self._slices(examples)
        model: Any = ClassScores(len(self.classes_), slices) if self._many else Thresholds(self._scorer(None), slices)
        confidence = self.confidence if self.problem_.constraints else None
        if confidence is not None and times.max(initial=1) > 1:
            raise EquirateError("confidence needs rows that are scored once each: take a cv that does not repeat folds")
        settings = Settings(
            model, n_rounds=self.n_rounds, confidence=confidence, confidence_method=self.confidence_method
        )
        if settings.test_share:
            refuse_inexact(self.problem_, chosen, cells)
        sample = Sample(scores, chosen)
        training = Training.of(settings, self.problem_, sample, cells, self.seed_, hashes)
        draws = training.draws if training.draws is None or hashes is None else replace(training.draws, hashes=hashes)
        part: Any = EvaluationPart(sample, cells, draws)
        if chosen is not examples:
            part = _ScoredPart.of(part, examples, everything, rows)
        original = Problem(self.objective, self.constraints)
        fit_outputs(self, training, original, parts={"train": part}, serve=self._serving)

    def _serving(self, classifier: Classifier) -> Classifier:
        """The same thresholds on the scores of the estimator that serves."""
        return replace(classifier, members=classifier.members.with_scorer(self._scorer(self.estimator_)))

    def _scorer(self, estimator: Any) -> Any:
        return scorer_of(estimator, self.classes_, self.class_values_[-1])

    def _slices(self, examples: Examples) -> tuple[Slice, ...]:
        if self.groups is None:
            return (EVERYBODY,)
        parts = attributes_in(self.groups)
        if parts and all(isinstance(part, Attribute) for part in parts):
            names = tuple(part.name for part in parts)
            groups = Groups.of(names, examples)
            refuse_many(groups, len(groups), f"groups={self.groups!r}")
            return tuple(map(groups.slice, range(len(groups))))
        if parts and all(isinstance(part, Slice) for part in parts):
            return tuple(parts) if len(parts) > 1 else (parts[0], ~parts[0])
        raise TypeError(f"groups must be attributes, as in attr('sex'), or slices; got {self.groups!r}")

    @property
    def train_(self) -> Evaluation:
        """What it achieves on the data given to `fit`."""
        return self.parts_["train"]

    def _extra_notes(self) -> Iterable[str]:
        return self.score_notes_

    def _unconstrained(self, X: Any, attributes: Any) -> tuple[str, str, Array] | None:
        if self.estimator_ is None:
            return super()._unconstrained(X, attributes)
        note = "The classifier with the threshold that it was trained with."
        labels = self._labels(self.estimator_.predict(X))
        theirs = one_hot(labels, len(self.classes_)) if self._many else labels.astype(float)
        return name_of(self.estimator_), note, theirs

    @method_if(_offers("predict_proba"), NOT_OFFERED.format("predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """The estimator's probabilities of ``classes_``. They rank and explain; thresholds on them decide.

        Parameters
        ----------
        X
            Features.

        Returns
        -------
        numpy.ndarray
            One row per example, one column for each of ``classes_``.
        """
        return np.asarray(self._fitted_estimator().predict_proba(X))

    @method_if(_offers("predict_log_proba"), NOT_OFFERED.format("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of the estimator's probabilities.

        Parameters
        ----------
        X
            Features.

        Returns
        -------
        numpy.ndarray
            One row per example, one column for each of ``classes_``.
        """
        return np.asarray(self._fitted_estimator().predict_log_proba(X))

    @method_if(_offers("decision_function"), NOT_OFFERED.format("decision_function"))
    def decision_function(self, X: Any) -> Array:
        """The estimator's scores of ``classes_[1]``; other thresholds than 0 on them decide.

        Parameters
        ----------
        X
            Features.

        Returns
        -------
        numpy.ndarray
            One score per example.
        """
        return np.asarray(self._fitted_estimator().decision_function(X))

    partial_fit = Absent(
        "a RatePostprocessor has no partial_fit: thresholds are chosen on all rows at once. Train the estimator in "
        "parts, wrap it in sklearn.frozen.FrozenEstimator, and fit the thresholds on new rows"
    )

    def _fitted_estimator(self) -> Any:
        """The fitted estimator whose scores are thresholded."""
        check_is_fitted(self, "outputs_")
        return self.estimator_

    _plain, _read = plain_postprocessor, classmethod(read_postprocessor)


class _ScoredPart(NamedTuple):
    """Rows that may have been scored in several folds: evaluated once each, by the mean of their decisions."""

    scored: EvaluationPart
    sample: Sample
    cells: Cells
    rows: NDArray[np.intp]

    @classmethod
    def of(cls, scored: EvaluationPart, examples: Examples, cells: Cells, rows: NDArray[np.intp]) -> _ScoredPart:
        """All rows that were scored; ``rows`` has the row of each score."""
        seen, place = np.unique(rows, return_inverse=True)
        return cls(scored, Sample(scored.sample.X[:0], examples.take(seen)), cells.subset(seen), place)

    def decided(self, classifier: Classifier, salt: int | None) -> Array:
        """Mean decision for each row."""
        decided = self.scored.decided(classifier, salt)
        sums = np.zeros((len(self.sample.examples), *decided.shape[1:]))
        np.add.at(sums, self.rows, decided)
        return (sums.T / np.bincount(self.rows)).T


def _one_column(y: ArrayLike) -> NDArray[Any]:
    """Labels as one column, none missing."""
    if y is None:
        raise DataError("RatePostprocessor requires y to be passed, but the target y is None")
    labels: NDArray[Any] = to_numpy(y)
    refuse_missing(labels, "y")
    return np.asarray(column_or_1d(labels, warn=True))
