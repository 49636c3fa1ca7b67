"""`RateClassifier`: the scikit-learn estimator that trains for a metric under constraints and reports the result.

In: an objective, constraints and a table of data. Out: a fitted classifier that predicts without attributes, and
numbers and reports of the required and achieved values. This module is the estimator's interface; the steps
of its ``fit`` are in `training`, `game`, `selection` and `certification`, evaluation is in `judge`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._core.choices import AlgorithmName, ConfidenceMethod, Missing, OnInterrupt, Output
from .._core.errors import DataError, EquirateError
from .._core.peers import Peers, all_processes
from .._core.threads import undisturbed
from ..certification.certificate import certification_of
from ..certification.holdout import refuse_inexact
from ..data.sample import Given, Sample, given, same_everywhere
from ..game.algorithms import Algorithm, refuse_games
from ..game.record import Start
from ..models import make_model
from ..models.derandomised import moved_across
from ..models.registry import for_classes
from ..problem.problem import Objective, Problem
from ..problem.table import problem_cells
from ..storage.provenance import keep_provenance
from ..storage.saving import plain_classifier, read_classifier
from ..training.draws import may_repeat
from ..training.settings import Settings
from ..training.training import Training
from . import absent
from .attributes import attribute_names
from .base import RateEstimator
from .categories import categories_of, coded, dates_as_numbers, few_rows_each, places, refuse_many
from .frontier import Frontier, plot_history, trace
from .inputs import ONLY_BINARY, classes_in, compare_indexes
from .keys import row_keys
from .outputs import fit_outputs
from .refitting import all_or_nothing
from .validating import is_valid, validated

Array = NDArray[np.float64]
OUTPUTS = ("hashed", "deterministic", "stochastic")
_NOT_COMPARED = ("objective", "constraints", "random_state", "verbose")
"""Parameters that are compared between processes in another way, or that may differ."""


def _has_score(estimator: RateClassifier) -> bool:
    """Whether there is a score; before `fit`, whether the output will have one."""
    if not hasattr(estimator, "outputs_"):
        return estimator.output == "deterministic" and not isinstance(estimator.model, (list, tuple))
    members = estimator.members_
    return len(members) == 1 and members.has_scores


class RateClassifier(RateEstimator):
    """Train a classifier for a function of rates, subject to constraints on others.

    Parameters
    ----------
    objective
        Made with `equirate.minimize` or `equirate.maximize`.
    constraints
        Constraints, ready-made lists of them, or both.
    algorithm
        A name from `equirate.algorithms`, or ``"auto"``: column generation, but for networks. Naming an algorithm of
        the paper, or giving ``theta_step`` or ``lambda_step``, plays that game.
    model
        ``"linear"``, ``"trees"`` (boosted trees; see `equirate.boosting`), a scikit-learn classifier
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
        Passes over the data at most that answer prices of the constraints, by default 60; rounds of a game, where one
        is played. A network goes by its epochs instead.
    theta_step, lambda_step
        Step sizes of model and multipliers in a game; every pair is a configuration, all played side by side. A network
        has an optimiser and a step of its own, and is trained once, unless steps of the multipliers are given.
    validation
        Share of the data that is held out first, stratified by cell. A linear model trains and mixes on all rows, and
        the held-out ones say whether refined columns are kept; with fewer than five rows for each feature it trains on
        the others alone, and the mixture is chosen on these. Other models that may fit their rows too well train on the
        others alone as well. Trees, plug-ins and oracles hold nothing out: each row is judged by a classifier
        trained without it. 0 uses all rows for everything.
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
        of the five is deployed. Five more trainings (one batched run for a linear model); measured, not proven. Where
        rows repeat, and for models that are trained once more on all rows (trees, plug-ins), half of the rows are kept
        for the test instead.
        ``"holdout"``: half of the rows are kept for a test by exact binomial counts; proven for every sample size,
        and it costs more of the objective. It takes neither weights nor functions that bend, such as a KL divergence.
    scale
        Standardise the features inside; the fitted weights are for the features as given.
    pos_label
        The label to call positive; the larger one by default.
    missing
        What to do with missing values in an attribute that a slice looks at: ``"refuse"``, or ``"group"`` to make them
        a group of their own with the value ``"missing"`` (attributes with text or categories only).
    tolerance
        Violations up to this size count as met.
    patience
        Stop a game when the best mixture has not improved by ``tolerance`` for this many checks; None to play all
        rounds.
    on_interrupt
        What `fit` does after Ctrl-C, once there is a result: ``"raise"`` leaves the estimator as it was, keeps the
        result as ``resume_``, and raises KeyboardInterrupt again; ``"keep"`` returns with the result, and
        ``status_.interrupted`` is True. Either way nothing is certified. Before there is a result, KeyboardInterrupt
        is raised.
    warm_start
        Continue from the previous fit instead of starting anew. Not with ``confidence``: the previous fit may have seen
        the rows of the test.
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
        For trees on a frame: the values of each column of text or categories; other values count as missing.
    members_, weights_
        The mixture: deterministic classifiers and their probabilities.
    status_
        Whether the output meets the constraints on the data it was chosen on, how sure we are, and what to try if not.
    problem_
        The problem, with ready-made constraints written out for the groups in the data.
    history_
        Arrays over passes (or recorded rounds) and configurations: objective, violation, multipliers, bound.
    seed_, salt_
        The seed taken from ``random_state`` (None if there was none), and the salt of hashed decisions drawn from it.
    notes_
        Notes for the user on the output that predicts.
    provenance_
        When it was fitted, by which version, and the SHA-256 of the model and, with a confidence level, of the data.
    outputs_
        The classifiers that resulted from the fit, by name, with status and evaluations: ``"stochastic"``,
        ``"deterministic"``, ``"unconstrained"`` (the best without the constraints), ``"served"`` where rows repeat, and
        ``"plain"`` (without a margin) where a confidence level was reached.
    certification_
        With a confidence level: how it was tested, what that means, its price, and the reasons where nothing passed.
    resume_
        Only after an interrupted fit: a fitted copy of this estimator with the result until then. It predicts, reports
        and saves like any other; with ``warm_start=True``, its ``fit`` continues from there (linear models).

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

    _outputs = OUTPUTS

    def __init__(
        self,
        objective: Objective,
        constraints: Any = (),
        *,
        algorithm: AlgorithmName | Algorithm = "auto",
        model: Any = "linear",
        groups: Any = None,
        output: Output = "hashed",
        n_rounds: int | None = None,
        theta_step: float | Sequence[float] | None = None,
        lambda_step: float | Sequence[float] | None = None,
        validation: float = 0.25,
        two_sets: bool = False,
        confidence: float | None = None,
        confidence_method: ConfidenceMethod = "cross",
        scale: bool = True,
        pos_label: Any = None,
        missing: Missing = "refuse",
        tolerance: float = 1e-3,
        patience: int | None = 5,
        on_interrupt: OnInterrupt = "raise",
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
        self.pos_label = pos_label
        self.missing = missing
        self.tolerance = tolerance
        self.patience = patience
        self.on_interrupt = on_interrupt
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _takes_classes(self) -> bool:
        """Whether the problem, the algorithm and the model take any number of classes."""
        if self.theta_step is not None or self.lambda_step is not None:
            return False  # those of a game
        try:
            refuse_games(self.algorithm, 3)
            for_classes(make_model(self.model), 3)
        except EquirateError:
            return False
        return self._problem_takes_classes()

    def _takes_missing(self) -> bool:
        """Whether features may be missing: those of a model that takes them."""
        try:
            return make_model(self.model).capabilities.missing_values
        except (TypeError, EquirateError):  # refused when it is fitted
            return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._takes_classes()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._takes_missing()
        tags.non_deterministic = self.output == "stochastic"  # rows are drawn by their place
        return tags

    # -- fitting ---------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        clusters: Any = None,
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X
            Features: numpy, pandas, polars or scipy.sparse, all numeric. Or `equirate.distributed.ParquetRows`, which
            have everything else, too.
        y
            Labels with two values or more, of any kind.
        sensitive_features
            Attributes that slices and baselines refer to: data frame, dict of arrays, series or array, with the
            examples in the same places as in X. Not needed to predict.
        sample_weight
            Non-negative weights.
        clusters
            A name for each example: examples of one name, such as several rows of a person, stay together wherever
            rows are split, and intervals and tests count clusters.

        Returns
        -------
        Self
            The fitted estimator.
        """
        with all_or_nothing(self), all_processes() as shared:
            data = given(X, y, sensitive_features, sample_weight)
            training, problem = self._training(shared, data, clusters)
            if data.names is not None:
                self.feature_names_in_ = np.array(data.names, dtype=object)
            passes = len(training.sample) if training.settings.resolved_model.capabilities.all_parts else 0
            with undisturbed(passes, compiled=not training.generates_columns):
                fit_outputs(self, training, problem, start=self._continued(training.width))
            keep_provenance(self, data[:4], shared)
        return self

    def _training(self, shared: Peers, data: Given, clusters: Any = None) -> tuple[Training, Problem]:
        """Check everything once, map the labels to codes, and split; also return the problem as the user wrote it."""
        self._check_parameters(shared)
        settings = Settings.of(self)
        original = Problem(self.objective, self.constraints)
        if not original.constraints:  # there is nothing to certify
            settings = replace(settings, confidence=None)
        unused = sorted(settings.group_names - attribute_names(original))
        if unused:
            raise EquirateError(
                f"groups= looks attributes up that the problem names, and {unused[0]!r} is in no objective or "
                f"constraint: leave it out, or add a rate of it; named are {sorted(attribute_names(original))}"
            )
        common = {name: value for name, value in self.get_params(deep=False).items() if name not in _NOT_COMPARED}
        same_everywhere(shared, original, data.X, data.attributes, common)
        settings, X = self._coded(settings, data.X)
        missing = settings.resolved_model.capabilities.missing_values
        features, checked_y = validated(self, X, data.y, missing=missing)
        self.classes_ = classes_in(checked_y, shared, self.pos_label)
        if self._many:
            settings = self._for_classes(settings)
        compare_indexes(*data[:4])
        examples = self._examples(original, checked_y, data, clusters)
        problem = self._expanded(original, examples)
        cells = problem_cells(problem, examples)
        if settings.test_share:
            refuse_inexact(problem, examples, cells)
        drawn = self.output == "hashed" and bool(problem.constraints)
        hashes = row_keys(features) if drawn and may_repeat(features, cells) else None
        training = Training.of(settings, problem, Sample(features, examples), cells, self.seed_, hashes)
        return training, original

    def _for_classes(self, settings: Settings) -> Settings:
        """The settings for more than two classes."""
        try:
            return settings.for_classes(len(self.classes_))
        except EquirateError as error:
            raise type(error)(f"{ONLY_BINARY}these settings: {error}") from None

    def _coded(self, settings: Settings, X: Any) -> tuple[Settings, Any]:
        """Settings and features with categories as codes, for a model that splits on them."""
        self.__dict__.pop("categories_", None)
        if not settings.resolved_model.capabilities.missing_values:
            return settings, X
        categories = categories_of(X)
        model = settings.resolved_model.with_categories(places(categories, X)) if categories else None
        if model is None:
            return settings, dates_as_numbers(X)
        refuse_many(categories, settings.resolved_model.capabilities.max_categories)
        self.categories_ = categories
        return replace(settings, model=model), coded(categories, X)

    def _continued(self, width: int) -> Start | None:
        """Where the previous fit ended."""
        end: Start | None = getattr(self, "end_", None)
        if not self.warm_start or end is None or self.confidence is not None:
            return None
        if len(end.parameters) != width + 1:
            raise DataError(
                f"cannot continue: the previous fit had {len(end.parameters) - 1} features, X has {width}; "
                "set warm_start=False"
            )
        return end

    # -- predicting ------------------------------------------------------------------------------

    def _extra_notes(self) -> Iterable[str]:
        rows = sum(part.slices[0].examples for part in self.parts_.values())
        return few_rows_each(getattr(self, "categories_", {}), rows)

    @property
    def members_(self) -> Any:
        """The deterministic classifiers of the mixture."""
        return self.classifier_.members

    @property
    def weights_(self) -> Array:
        """Their probabilities."""
        return self.classifier_.weights

    predict_proba = absent.Absent(absent.NO_PROBABILITY)
    predict_log_proba = absent.Absent(absent.NO_LOG_PROBABILITY)
    partial_fit = absent.Absent(absent.NO_PARTIAL_FIT)

    @absent.method_if(_has_score, absent.NO_SCORE)
    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Array:
        """Score of ``classes_[1]``, above 0 exactly where it is predicted; where one classifier decides.

        A mixture made deterministic has the mean score of its members, moved just across 0 where the member that
        decides says otherwise.

        Parameters
        ----------
        X
            Features.
        sensitive_features
            Attributes, where ``groups`` are looked up.

        Returns
        -------
        numpy.ndarray
            One score per example.
        """
        attributes, X = self._attributes(X, sensitive_features), self._features(X)
        decided = self.members_.decide(X, attributes=attributes)[:, 0]
        scores: Array = moved_across(self.members_.scores(X, attributes=attributes)[:, 0].astype(float), decided)
        return moved_across(-scores, ~(scores > 0)) if self._first_is_positive else scores

    @property
    def _first_is_positive(self) -> bool:
        return bool(self.classes_[0] == self.pos_label_)

    @property
    def _line(self) -> Array:
        """Weights and, below them, the intercept of `decision_function` (features and intercept, 1)."""
        weights = self.members_.linear_weights()
        if weights is None or weights.shape[1] != 1:
            raise AttributeError(absent.NO_COEFFICIENTS)
        line: Array = weights.astype(float)
        return -line if self._first_is_positive else line

    @property
    def coef_(self) -> Array:
        """Weights of the features in `decision_function`, (1, features), where one linear classifier decides."""
        return self._line[:-1].T

    @property
    def intercept_(self) -> Array:
        """The intercept of `decision_function`, (1,), where one linear classifier decides."""
        intercept: Array = self._line[-1]
        return intercept

    @property
    def feature_importances_(self) -> Array:
        """Share of the trees' splits that each feature has, zeros if there are no splits; for trees."""
        counts = self.members_.split_counts()
        if counts is None:
            raise AttributeError(absent.NO_IMPORTANCES)
        return np.asarray(counts / max(float(counts.sum()), 1.0))

    def to_deterministic(self) -> RateClassifier:
        """Return a fitted copy that predicts with the deterministic output.

        Returns
        -------
        RateClassifier
            The copy; the estimator itself is not changed.
        """
        check_is_fitted(self, "outputs_")
        copy = type(self)(**self.get_params(deep=False))
        copy.__dict__.update({name: value for name, value in self.__dict__.items() if name.endswith("_")})
        copy.output = "deterministic"
        copy.certification_ = certification_of(copy.status_, copy.certification_)
        return copy

    def _features(self, X: Any) -> Any:
        if not hasattr(self, "categories_") and is_valid(self, X):
            return X
        missing = self._takes_missing()
        X = coded(getattr(self, "categories_", {}), X) if missing else X
        return validated(self, X, missing=missing)

    # -- training curve and frontier -------------------------------------------------------------

    def plot_history(self, axes: Any = None) -> Any:
        """Draw the course of the game: objective, largest violation and multipliers of every configuration.

        Parameters
        ----------
        axes
            Three matplotlib axes to draw on; by default new ones.

        Returns
        -------
        array of matplotlib axes
            The three axes.
        """
        check_is_fitted(self, "outputs_")
        return plot_history(self.history_, self.problem_, axes)

    def frontier(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        levels: Sequence[float],
        test: tuple[Any, ...] | None = None,
        clusters: Any = None,
    ) -> Frontier:
        """Train once for many levels of the constraints and return the whole trade-off curve.

        Its points keep no margin: ``confidence`` is for `fit`.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `fit`. The estimator itself is not changed.
        levels
            How far every constraint may be overstepped, in its own units; 0 is as written, negative is tighter.
        test
            ``(X, y)``, ``(X, y, sensitive_features)`` or those and ``sample_weight``, to judge every point on.
        clusters
            As in `fit`.

        Returns
        -------
        Frontier
            One point per level; ``plot()`` draws it.
        """
        worker = clone(self)
        with all_processes() as shared:
            data = Given(X, y, sensitive_features, sample_weight)
            training, _ = RateClassifier._training(worker, shared, data, clusters)
            return trace(training, levels, None if test is None else RateClassifier._judged(worker, *test))

    _plain, _read = plain_classifier, classmethod(read_classifier)
