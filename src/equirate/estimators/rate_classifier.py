"""`RateClassifier`: the scikit-learn estimator that trains for a metric under constraints and says what it kept.

In: an objective, constraints and a table of data. Out: a fitted classifier that predicts without attributes, and
numbers and reports of what was asked and what was achieved. This module is the estimator's surface; the steps of its
``fit`` are in `fitting`, judging is in `judging`, and the mathematics is in the modules below those.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._core.errors import DataError, EquirateError, EquirateWarning, NotSolvedWarning
from .._core.peers import joined
from .._core.seeds import stream
from .._core.threads import undisturbed
from ..data.examples import columns_of, fill_missing
from ..data.sample import Sample, given, same_everywhere
from ..game.classifiers import Classifier, hashed_uniform
from ..game.record import Start
from ..game.solution import Solution, Status
from ..judge.evaluation import Evaluation
from ..models import make_model
from ..models.linear import LinearMembers
from ..problem.problem import Objective, Problem
from .absent import Absent, told_if_absent
from .categories import Categories
from .confidence import METHODS, refuse_inexact
from .fitting import Outcome, Settings, Training, is_linear
from .frontier import Frontier, plot_history, trace
from .judging import Judged, compare_indexes, one_of, refuse_empty, two_classes
from .promises import promised
from .provenance import keep_provenance
from .reporting import UNCONSTRAINED
from .saving import plain_classifier
from .scope import SCOPES, sides
from .validating import validated

Array = NDArray[np.float64]
OUTPUTS = ("hashed", "deterministic", "stochastic")
_APART = ("objective", "constraints", "random_state", "verbose")
"""Parameters that are told in another way, or that may differ between processes."""
NO_PROBABILITY = (
    "a RateClassifier has no predict_proba: it is trained for decisions, and knows no probability of a label. "
    "predict_pmf(X) is the probability with which each label is predicted"
)
NO_SCORE = (
    "this RateClassifier has no decision_function: its decisions have no single score. predict_pmf(X) is the "
    'probability with which each label is predicted; with output="deterministic", or after to_deterministic(), there '
    "is a decision_function where one linear member decides"
)


def _is_single(estimator: RateClassifier) -> bool:
    """Whether one linear member decides, so that there is a score."""
    outputs = getattr(estimator, "_outputs", None)
    if outputs is None:
        return estimator.output == "deterministic" and is_linear(estimator.model)
    members = estimator.classifier_.members
    return len(members) == 1 and isinstance(members, LinearMembers)


class RateClassifier(Judged):
    """Train a classifier for a function of rates, subject to constraints on others.

    Parameters
    ----------
    objective
        Made with `equirate.minimize` or `equirate.maximize`.
    constraints
        Constraints, ready-made lists of them, or both.
    algorithm
        A name from `equirate.algorithms`, or ``"auto"``.
    model
        ``"linear"``, ``"trees"`` (boosted trees, by what measured best; `equirate.boosting`), a scikit-learn classifier
        (used as an oracle), a list of classifiers, a model of `equirate.models`, or a ``torch.nn.Module`` with one
        score per example (see `equirate.torch.TorchModel`).
    groups
        None: predicting needs no attributes. An attribute (``attr("sex")`` or ``"sex"``) or several: they are looked up
        when predicting, which then needs ``sensitive_features``. For ``model="trees"`` and plug-ins.
    output
        ``"hashed"``: a sparse mixture, in which a salted hash of the row (or of the ``key`` given to `predict`) draws
        the member, so that the same row is always decided the same way, alone or in a batch; ``"deterministic"``: one
        classifier that keeps the constraints by itself, the mixture made deterministic or the best single iterate,
        whichever is better; ``"stochastic"``: the mixture, drawn by the row's place in the batch.
    n_rounds
        Rounds of the game at most; by default as the model needs them (1,000 for a linear one). A network goes by its
        epochs instead.
    theta_step, lambda_step
        Step sizes of model and multipliers; every pair is a configuration, all played side by side. By default those of
        the model, four and four for a linear one. A network has an optimiser and a step of its own, and is trained
        once, unless steps of the multipliers are given.
    validation
        Share of the data that the model is not trained on, stratified by cell. The mixture is chosen on both parts
        together, or on the held-out part alone where the model may fit its own too well (any model but a linear one
        with 30 training examples per feature); 0 chooses on the training data. Trees, plug-ins and oracles hold nothing
        out (but for a confidence level): each row is judged by what was trained without it.
    two_sets
        Let the multipliers see the held-out part instead of the training part (Cotter et al. 2019): constraints then
        generalise even where the model overfits. Networks and ``BoostedTrees`` are always played so, where
        ``validation`` leaves enough rows.
    confidence
        None, or a level such as 0.95: keep a margin so that all constraints hold on new data with that confidence. The
        margin is the smallest that passes a test; where none does, the plain classifier predicts and everything says
        so (``status_.certified``, ``certification_``, `report`).
    confidence_method
        ``"cross"``: every row is decided by a mixture trained without its fold, and all rows test; the uniform mixture
        of the five is deployed. Five more trainings (one batched run for a linear model); measured, not proven.
        ``"holdout"``: half of the rows are kept for a test by exact binomial counts; proven for every sample size,
        and it costs more of the objective. It takes neither weights nor functions that bend, such as a KL divergence.
    scale
        Standardise the features inside; the fitted weights are for the features as given.
    weight_scope
        What ``sample_weight`` applies to: ``"both"``, ``"objective"`` or ``"constraints"``.
    pos_label
        The label to call positive; the larger one by default.
    missing
        What to do with missing values in an attribute that a slice looks at: ``"refuse"``, or ``"group"`` to make them
        a group of their own with the value ``"missing"`` (attributes with text or categories only).
    tolerance
        Violations up to this size count as met.
    patience
        Stop when the best mixture has not improved by ``tolerance`` for this many checks; None to play all rounds.
    finish
        Whether classifiers that the play did not pass through are added after it, until no answer of the model improves
        the best mixture (`Solution.finish`); where held-out rows say that they make it worse, they are left out. None:
        where that pays, for linear models and for models whose answers are exact.
    warm_start
        Continue from the previous fit instead of starting anew.
    random_state
        Seed of the split, of stochastic predictions, and of a network's batches, dropout and (where its module is made
        by a function) first parameters: a whole number, or a numpy RandomState or Generator, from which `fit` draws
        one.
    verbose
        Show progress: round, and objective and violation of the best mixture so far. A `ProgressLine` shows it its
        own way.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    categories_
        For trees on a frame: what each column of text or categories held; what else comes is taken as missing.
    members_, weights_
        The mixture: deterministic classifiers and their probabilities.
    status_
        Whether the output meets the constraints on the data it was chosen on, how sure we are, and what to try if not.
    problem_
        The problem, with ready-made constraints written out for the groups in the data.
    history_
        Arrays over recorded rounds and configurations: objective, violation, multipliers, slacks.
    seed_, salt_
        The seed that ``random_state`` came to (None if there was none), and the salt of hashed decisions drawn from it.
    notes_
        What a user should know of the output that predicts.
    provenance_
        When it was fitted, by which version, and the SHA-256 of the model and, with a confidence level, of the data.
    certification_
        With a confidence level: how it was tested, what that means, its price, and the reasons where nothing passed.

    Examples
    --------
    >>> import numpy as np, equirate as eq
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> y = (X[:, 0] + 0.5 * rng.normal(size=600) > 0.8).astype(int)
    >>> clf = eq.RateClassifier(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.2], n_rounds=300, random_state=0)
    >>> clf.fit(X, y).predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        objective: Objective,
        constraints: Any = (),
        *,
        algorithm: Any = "auto",
        model: Any = "linear",
        groups: Any = None,
        output: str = "hashed",
        n_rounds: int | None = None,
        theta_step: float | Sequence[float] | None = None,
        lambda_step: float | Sequence[float] | None = None,
        validation: float = 0.25,
        two_sets: bool = False,
        confidence: float | None = None,
        confidence_method: str = "cross",
        scale: bool = True,
        weight_scope: str = "both",
        pos_label: Any = None,
        missing: str = "refuse",
        tolerance: float = 1e-3,
        patience: int | None = 5,
        finish: bool | None = None,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        verbose: Any = False,
    ) -> None:
        self.objective = objective
        self.constraints = constraints
        self.algorithm = algorithm
        self.model = model
        self.groups = groups
        self.output = output
        self.n_rounds = n_rounds
        self.theta_step = theta_step
        self.lambda_step = lambda_step
        self.validation = validation
        self.two_sets = two_sets
        self.confidence = confidence
        self.confidence_method = confidence_method
        self.scale = scale
        self.weight_scope = weight_scope
        self.pos_label = pos_label
        self.missing = missing
        self.tolerance = tolerance
        self.patience = patience
        self.finish = finish
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = isinstance(self.model, str) and self.model == "trees"
        return tags

    # -- fitting ---------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X
            Features: numpy, pandas, polars or scipy.sparse, all numeric. Or `equirate.distributed.ParquetRows`, which
            have everything else, too.
        y
            Labels with two values of any kind.
        sensitive_features
            Attributes that slices and baselines refer to: data frame, dict of arrays, series or array, with the
            examples in the same places as in X. Not needed to predict.
        sample_weight
            Non-negative weights.
        """
        with joined():
            *everything, names = given(X, y, sensitive_features, sample_weight)
            training = self._training(*everything)
            if names is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
            with undisturbed(len(training.sample) if is_linear(self.model) else 0):
                began = time.monotonic()
                solution, chooser = training.play(start=self._continued(training.width))
                outcome = training.choose(chooser)
                if self.confidence is not None and training.problem.constraints:
                    outcome = promised(training, solution, chooser, outcome, time.monotonic() - began)
                self._keep(training, solution, outcome)
            keep_provenance(self, tuple(everything))
        return self

    def _training(self, X: Any, y: ArrayLike, sensitive_features: Any, sample_weight: ArrayLike | None) -> Training:
        """Check everything once, map the labels to 0 and 1, and split."""
        self._check_parameters()
        one_of(self, "output", OUTPUTS)
        one_of(self, "weight_scope", SCOPES)
        one_of(self, "confidence_method", METHODS)
        settings = Settings.of(self)
        asked = Problem(self.objective, self.constraints)
        told = {name: value for name, value in self.get_params(deep=False).items() if name not in _APART}
        same_everywhere(asked, X, sensitive_features, told)
        settings, coded = self._coded(settings, X)
        features, checked_y = validated(self, coded, y, reset=True, missing=settings.made.takes_missing)
        self.classes_ = two_classes(checked_y)
        compare_indexes(X, y, sensitive_features, sample_weight)
        examples = self._examples(asked, self._labels(checked_y), X, sensitive_features, sample_weight)
        problem = asked.expanded(examples)
        refuse_empty(problem, examples)
        if settings.tested:
            refuse_inexact(problem, sides(examples, settings.weight_scope)[1])
        return Training.of(settings, problem, Sample(features, examples), self.seed_)

    def _coded(self, settings: Settings, X: Any) -> tuple[Settings, Any]:
        """Codes in the place of categories, for a model that splits them, and the model that is told."""
        self.__dict__.pop("categories_", None)
        found = Categories.of(X) if settings.made.takes_missing else Categories({})
        told = settings.made.with_categories(found.places(X)) if found.columns else None
        if told is None:
            return settings, X
        self.categories_ = {name: list(values) for name, values in found.columns.items()}
        return replace(settings, model=told), found.coded(X)

    def _continued(self, width: int) -> Start | None:
        """Where the previous fit ended."""
        end: Start | None = getattr(self, "_end", None)
        if not self.warm_start or end is None:
            return None
        if len(end.parameters) != width + 1:
            raise DataError(
                f"cannot continue: the previous fit had {len(end.parameters) - 1} features, X has {width}; "
                "set warm_start=False"
            )
        return end

    def _keep(self, training: Training, solution: Solution, outcome: Outcome) -> None:
        """Remember the result, and what it achieves on each part."""
        self.problem_ = training.problem
        self._outputs = {name: training.served(each) for name, each in outcome.outputs.items()}
        self._statuses, self.margin_ = outcome.statuses, outcome.margin
        self.certification_ = outcome.certification
        self.history_ = solution.history
        self.configurations_ = solution.configurations
        self.n_rounds_ = solution.record.played
        self.salt_: int | None = int(stream("salt", self.seed_).integers(2**63))
        self._end = None
        if is_linear(self.model) and getattr(self.model, "intercept", True):
            self._end = solution.record.end()
        held = training.held()
        self._evaluations = {
            name: {
                part: self._evaluation(sample, classifier=classifier, cells=cells)
                for part, (sample, cells) in held.items()
            }
            for name, classifier in outcome.outputs.items()
        }
        self._tell()

    @property
    def notes_(self) -> tuple[str, ...]:  # type: ignore[override]  # follows from the output that predicts
        """What a user should know of the output that predicts."""
        notes = list(self.status_.advice)
        last = list(self.parts_.values())[-1]
        if last.positive_rate in (0.0, 1.0):
            notes.append(
                f"the classifier predicts {'1' if last.positive_rate else '0'} for everybody: the constraints may "
                "leave nothing else, or the model has too little to go by"
            )
        return tuple(dict.fromkeys(notes))

    def _tell(self) -> None:
        """Warn, from where the user called `fit`, of what was not reached."""
        for text in self.status_.warnings():
            warnings.warn(text, NotSolvedWarning, stacklevel=4)

    # -- predicting ------------------------------------------------------------------------------

    @property
    def classifier_(self) -> Classifier:
        """The mixture, or the single classifier, that predicts."""
        kind = self._kind
        return self._outputs[kind]

    @property
    def _kind(self) -> str:
        check_is_fitted(self, "_outputs")
        return "deterministic" if self.output == "deterministic" else "stochastic"

    @property
    def status_(self) -> Status:
        """What was reached on the data that the output was chosen on."""
        kind = self._kind
        return self._statuses[kind]

    @property
    def parts_(self) -> dict[str, Evaluation]:
        """What the output achieves on the parts of the training data."""
        kind = self._kind
        return self._evaluations[kind]

    @property
    def members_(self) -> Any:
        """The deterministic classifiers of the mixture."""
        return self.classifier_.members

    @property
    def weights_(self) -> Array:
        """Their probabilities."""
        return self.classifier_.weights

    def predict(self, X: Any, key: Any = None, sensitive_features: Any = None) -> NDArray[Any]:
        """Predict labels.

        Parameters
        ----------
        X
            Features.
        key
            For the hashed output: one value per row, such as the number of a person, that decides in the place of the
            row which member is drawn. Needed where many people have the same features; a deterministic output needs
            none. A stochastic output draws by the row's place, repeatably for a ``random_state``.
        sensitive_features
            Attributes, where ``groups`` are looked up.
        """
        classifier, attributes, X = self.classifier_, self._attributes(X, sensitive_features), self._features(X)
        if self.output != "stochastic":
            return self._named(self._hashed(X, key, attributes))
        if key is not None:
            raise EquirateError('key goes with output="hashed": a stochastic output draws by the place of the row')
        if X.shape[0] == 1 and not classifier.is_deterministic:
            warnings.warn(
                'a single row is always the first of its batch, so output="stochastic" gives every one of them the '
                'same draw: use output="hashed", or predict in batches',
                EquirateWarning,
                stacklevel=2,
            )
        return self._named(classifier.predict(X, attributes, random_state=self._draws))

    def _hashed(self, X: Any, key: Any = None, attributes: Any = None) -> NDArray[np.int_]:
        classifier, salt = self.classifier_, getattr(self, "salt_", None)
        if key is None and isinstance(X, np.ndarray) and np.isnan(X).any():
            # the bits of NaN differ: it is hashed as a number that nothing else is
            draws = hashed_uniform(np.where(np.isnan(X), np.float32(-3.4e38), X), salt)
            return classifier._pick(classifier.members.decide(X, attributes), draws)
        return classifier.predict_hashed(X, attributes, salt=salt, key=key)

    def _attributes(self, X: Any, sensitive_features: Any) -> Any:
        """Attributes to predict with, where they are looked up; missing ones are treated as when fitting."""
        if not self.classifier_.members.needs_attributes:
            return None
        compare_indexes(X, None, sensitive_features, None)
        columns = columns_of(sensitive_features, X)
        return columns if self.missing == "refuse" else fill_missing(columns)

    def predict_pmf(self, X: Any, sensitive_features: Any = None) -> Array:
        """Probability of predicting each class of ``classes_``. Not a calibrated probability of the label."""
        attributes = self._attributes(X, sensitive_features)
        return self._by_class(self.classifier_.positive_probability(self._features(X), attributes))

    predict_proba = Absent(NO_PROBABILITY)

    @told_if_absent(_is_single, NO_SCORE)
    def decision_function(self, X: Any) -> Array:
        """Score of ``classes_[1]``, above 0 where it is predicted; where the output is a single linear member."""
        scores = np.asarray(self.classifier_.members.scores(self._features(X))[:, 0], dtype=float)
        return -scores if self.classes_[0] == self._positive() else scores

    def to_deterministic(self) -> RateClassifier:
        """Return a fitted copy that predicts with the deterministic output."""
        check_is_fitted(self, "_outputs")
        copy = type(self)(**self.get_params(deep=False))
        copy.__dict__.update({name: value for name, value in self.__dict__.items() if name.endswith("_")})
        for name in ("_outputs", "_end", "_statuses", "_evaluations"):
            setattr(copy, name, getattr(self, name))
        copy.output = "deterministic"
        return copy

    def _features(self, X: Any) -> Any:
        known = {name: tuple(values) for name, values in getattr(self, "categories_", {}).items()}
        return validated(self, Categories(known).coded(X), reset=False, missing=make_model(self.model).takes_missing)

    # -- telling ---------------------------------------------------------------------------------

    def _unconstrained(self, sample: Sample) -> tuple[str, str, Array] | None:
        free = self._outputs.get("unconstrained")
        if free is None:
            return None
        return *UNCONSTRAINED, free.positive_probability(sample.X, sample.examples.columns)

    def plot_history(self, axes: Any = None) -> Any:
        """Draw the course of the game: objective, largest violation and multipliers of every configuration."""
        check_is_fitted(self, "_outputs")
        return plot_history(self.history_, self.problem_, axes)

    def frontier(
        self,
        X: Any,
        y: ArrayLike,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        levels: Sequence[float],
        test: tuple[Any, ...] | None = None,
    ) -> Frontier:
        """Train once for many levels of the constraints and return the whole trade-off curve.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `fit`. The estimator itself is not changed.
        levels
            How far every constraint may be overstepped, in its own units; 0 is as written, negative is tighter.
        test
            ``(X, y)``, ``(X, y, sensitive_features)`` or those and ``sample_weight``, to judge every point on.
        """
        worker = clone(self)
        with joined():
            training = worker._training(X, y, sensitive_features, sample_weight)
            return trace(training, levels, None if test is None else worker._judged(*test))

    def _plain(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return plain_classifier(self)
