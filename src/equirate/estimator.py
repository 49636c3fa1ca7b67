"""`RateClassifier`: the scikit-learn estimator that trains for a metric under constraints and says what it kept.

In: an objective, constraints and a table of data. Out: a fitted classifier that predicts without attributes, and
numbers and reports of what was asked and what was achieved. The steps of ``fit`` are the sections of this module:
border, parts, play, choice. The mathematics is in the modules below this one.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from . import files
from .certify import Certificate, certify, check_confidence
from .choosing import LevelPlateaus, Plateau, best_single, careful, judged_for, shifted, split, status_of
from .classifiers import Classifier
from .data import Examples, empty_message, fill_missing
from .errors import DataError, EquirateError, NotSolvedWarning
from .expressions import Constraint
from .frontier import Frontier, plot_history
from .game import Start
from .models.design import Standard
from .models.linear import Linear
from .problem import Objective, Problem
from .report import Evaluation, Report
from .saving import from_plain, to_plain
from .scope import SCOPES, doubled_rows, scoped
from .solution import Solution, Status
from .solving import ProgressLine, solve
from .splits import measurable, split_by_cell, subset

Array = NDArray[np.float64]
OUTPUTS = ("stochastic", "deterministic", "hashed")
GRID = (0.003, 0.01, 0.03, 0.1)
"""Step sizes tried side by side, for the model and for the multipliers, on scaled features."""
ENOUGH = 30
"""Training examples per feature from which on a linear model's own rates are trusted in the choice of a mixture."""
FEWEST = 5
"""Fewest examples behind a rate in every part; with less, fit uses all data for everything and says so."""


class RateClassifier(ClassifierMixin, BaseEstimator):
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
        ``"linear"``, a scikit-learn classifier (used as an oracle), a list of classifiers, or a model of
        `equirate.models`.
    output
        ``"stochastic"``: a sparse mixture, drawn anew for each row; ``"hashed"``: the same mixture, each x always
        decided the same way; ``"deterministic"``: the best single iterate.
    n_rounds
        Rounds of the game at most.
    theta_step, lambda_step
        Step sizes of model and multipliers; every pair is a configuration, all played side by side.
    validation
        Share of the data that the model is not trained on, stratified by cell. The mixture is chosen on both parts
        together, or on the held-out part alone where the model may fit its own too well (any model but a linear one
        with 30 training examples per feature); 0 chooses on the training data.
    two_sets
        Let the multipliers see the held-out part instead of the training part (Cotter et al. 2019): constraints then
        generalise even where the model overfits.
    confidence
        None, or a level such as 0.95: keep a margin so that every constraint holds on new data with that confidence.
        The margin is the smallest that passes a test on a part of its own.
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
    warm_start
        Continue from the previous fit instead of starting anew.
    random_state
        Seed of the split and of stochastic predictions.
    verbose
        Show progress.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    members_, weights_
        The mixture: deterministic classifiers and their probabilities.
    status_
        Whether the output meets the constraints on the data it was chosen on, how sure we are, and what to try if not.
    problem_
        The problem, with ready-made constraints written out for the groups in the data.
    history_
        Arrays over recorded rounds and configurations: objective, violation, multipliers, slacks.

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
        output: str = "stochastic",
        n_rounds: int = 1000,
        theta_step: float | Sequence[float] = GRID,
        lambda_step: float | Sequence[float] = GRID,
        validation: float = 0.25,
        two_sets: bool = False,
        confidence: float | None = None,
        scale: bool = True,
        weight_scope: str = "both",
        pos_label: Any = None,
        missing: str = "refuse",
        tolerance: float = 1e-3,
        patience: int | None = 5,
        warm_start: bool = False,
        random_state: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.objective = objective
        self.constraints = constraints
        self.algorithm = algorithm
        self.model = model
        self.output = output
        self.n_rounds = n_rounds
        self.theta_step = theta_step
        self.lambda_step = lambda_step
        self.validation = validation
        self.two_sets = two_sets
        self.confidence = confidence
        self.scale = scale
        self.weight_scope = weight_scope
        self.pos_label = pos_label
        self.missing = missing
        self.tolerance = tolerance
        self.patience = patience
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    # -- fitting ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike, sensitive_features: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X
            Features: numpy, pandas, polars or scipy.sparse, all numeric.
        y
            Labels with two values of any kind.
        sensitive_features
            Attributes that slices and baselines refer to: data frame, dict of arrays, series or array. Not needed to
            predict.
        sample_weight
            Non-negative weights.
        """
        self._check_parameters()
        examples, X_checked = self._border(X, y, sensitive_features, sample_weight)
        problem = Problem(self.objective, self.constraints).expanded(examples)
        parts = self._parts(problem, examples, X_checked.shape[1])
        played = self._precise(X_checked, examples, parts)
        solution, judge = self._play(problem, played, examples, parts)
        self._choose(problem, solution, judge, played, X_checked, examples, parts)
        return self

    def _check_parameters(self) -> None:
        if not isinstance(self.objective, Objective):
            raise TypeError(f"the objective must be made with minimize(...) or maximize(...); got {self.objective!r}")
        _one_of("output", self.output, OUTPUTS)
        _one_of("weight_scope", self.weight_scope, SCOPES)
        _one_of("missing", self.missing, ("refuse", "group"))
        if not 0 <= self.validation < 1:
            raise EquirateError(f"validation is a share of the data, at least 0 and below 1; got {self.validation!r}")
        if self.confidence is not None:
            check_confidence(self.confidence)
        if (self.confidence is not None or self.two_sets) and self.validation == 0:
            raise EquirateError("two_sets and confidence need held-out data: set validation to a share such as 0.4")
        if not self.tolerance >= 0:
            raise EquirateError(f"tolerance must not be negative; got {self.tolerance!r}")

    def _border(
        self, X: Any, y: ArrayLike, sensitive_features: Any, sample_weight: ArrayLike | None
    ) -> tuple[Examples, Any]:
        """Check everything once, and map the labels to 0 and 1."""
        frame = X
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind not in ("binary", "multiclass") or len(np.unique(y)) > 2:
            raise DataError(f"Only binary classification is supported. The type of the target is {kind}.")
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise DataError(f"y has one class only ({self.classes_[0]!r}): a classifier needs examples of both labels")
        positive = self._positive()
        return self._examples((y == positive).astype(np.int8), sensitive_features, sample_weight, frame), X

    def _examples(
        self, labels: NDArray[np.int8], sensitive_features: Any, sample_weight: ArrayLike | None, frame: Any
    ) -> Examples:
        """Labels, attributes and weights, with missing attributes treated as asked."""
        examples = Examples.of(labels, sensitive_features, sample_weight, fallback=frame)
        columns = dict(examples.columns) if self.missing == "refuse" else fill_missing(examples.columns)
        for name in Problem(self.objective, self.constraints).baselines():
            column = columns.get(name)
            if column is not None and set(np.unique(column.astype(str))) <= set(self.classes_.astype(str)):
                columns[name] = (column.astype(str) == str(self._positive())).astype(np.int8)
        return Examples(examples.labels, examples.weights, columns, examples.categories)

    def _positive(self) -> Any:
        if self.pos_label is None:
            return self.classes_[1]
        if self.pos_label not in self.classes_:
            raise DataError(f"pos_label {self.pos_label!r} is not among the labels {list(self.classes_)!r}")
        return self.pos_label

    def _parts(self, problem: Problem, examples: Examples, width: int) -> Parts:
        """Split into a part to train on, one to choose on and, for a confidence level, one to test on."""
        for rate in problem.rates():
            if not examples.denominator(rate.kind, rate.slice).any():
                raise DataError(empty_message(rate.kind, rate.slice))
        everything = np.arange(len(examples))
        if self.validation == 0:
            return Parts(everything, None, everything)
        shares = [1 - self.validation, self.validation]
        if self.confidence is not None:
            shares = [1 - self.validation, self.validation / 2, self.validation / 2]
        seed = None if self.random_state is None else int(self.random_state)
        found = split_by_cell(problem, examples, shares, seed)
        if all(len(np.unique(examples.labels[part])) == 2 for part in found) and all(
            measurable(problem, subset(examples, part), FEWEST) for part in found
        ):
            # Both parts together choose best (the held-out one alone is small), unless the model fits its own too well.
            honest = _is_linear(self.model) and len(found[0]) >= ENOUGH * width and not self.two_sets
            choose = np.sort(np.concatenate(found[:2])) if honest else found[1]
            return Parts(found[0], found[1], choose, found[2] if len(found) > 2 else None)
        message = "too few examples behind some rate to hold data out: the mixture is chosen on the training data"
        if self.confidence is not None or self.two_sets:
            raise DataError(f"{message}, and confidence or two_sets cannot be had; give more data or larger slices")
        warnings.warn(message, NotSolvedWarning, stacklevel=3)
        return Parts(everything, None, everything)

    def _precise(self, X: Any, examples: Examples, parts: Parts) -> Any:
        """Features in the precision to play in: single where a standardised linear model loses nothing by it."""
        if not (self.scale and _is_linear(self.model)):
            return X
        weights = np.zeros(len(examples))
        weights[parts.train] = examples.weights[parts.train]
        wanted = np.float32 if Standard.of(X, weights).single else np.float64
        return X.astype(wanted, copy=False)

    def _model(self) -> Any:
        """The model, with features standardised inside where that is asked for."""
        if not (self.scale and _is_linear(self.model)):
            return self.model
        return replace(Linear() if isinstance(self.model, str) else self.model, standardise=True)

    def _play(
        self,
        problem: Problem,
        X: Any,
        examples: Examples,
        parts: Parts,
        levels: Array | None = None,
    ) -> tuple[Solution, Solution]:
        """Play the game on the training part; return the solution, and the same judged where mixtures are chosen."""
        problem, X, doubled = scoped(problem, X, examples, self.weight_scope)
        rows = [doubled_rows(part, len(examples), len(doubled)) for part in (parts.train, parts.choose)]
        train, choose = ((X[part], subset(doubled, part)) for part in rows)
        referee = (choose[0], choose[1].labels, choose[1].columns, choose[1].weights) if self.two_sets else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotSolvedWarning)  # the status says it, with numbers
            solution = solve(
                problem,
                train[0],
                train[1].labels,
                train[1].columns,
                train[1].weights,
                algorithm=self.algorithm,
                model=self._model(),
                n_rounds=self.n_rounds,
                theta_step=self.theta_step,
                lambda_step=self.lambda_step,
                levels=levels,
                referee=referee,
                start=self._continued(X.shape[1]) if levels is None else None,
                tolerance=self.tolerance,
                progress=self._watch(levels),
            )
        if self.two_sets or parts.validation is None:
            return solution, solution
        return solution, solution.on(choose[0], choose[1].labels, choose[1].columns, choose[1].weights)

    def _watch(self, levels: Array | None) -> Any:
        """Progress, and an end to the play (or a level's) when nothing improves any more."""
        line = ProgressLine(self.objective.sense) if self.verbose else None
        if self.patience is None:
            return line
        if levels is not None:
            return LevelPlateaus(self.patience, self.tolerance, also=line)
        return Plateau(self.patience, self.tolerance, also=line)

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

    # -- choosing --------------------------------------------------------------------------------

    def _choose(
        self,
        problem: Problem,
        solution: Solution,
        chooser: Solution,
        played: Any,
        X: Any,
        examples: Examples,
        parts: Parts,
    ) -> None:
        """Make the output of the recorded iterates, and remember what it keeps on each part."""
        margin = 0.0
        if self.confidence is not None and problem.constraints:
            assert parts.test is not None  # made in _parts for a confidence level
            confident = self._constraint_examples(examples)
            on, test = ((played[rows], subset(confident, rows)) for rows in (parts.choose, parts.test))
            mixture, margin = careful(chooser, problem, on, test, self.confidence)
        else:
            mixture = chooser.polish()
        single = best_single(chooser, self.tolerance)
        self.problem_ = problem
        self._statuses = {"stochastic": chooser.status, "deterministic": status_of(chooser, single)}
        self.history_ = solution.history
        self.configurations_ = solution.configurations
        self.margin_ = margin
        self.n_rounds_ = solution.record.played
        self._end = None
        if _is_linear(self.model) and getattr(self.model, "intercept", True):
            self._end = solution.record.end()
        self._outputs = {
            "stochastic": replace(mixture, problem=problem, notes={}),
            "deterministic": replace(single, problem=problem, notes={}),
        }
        held = {"train": parts.train, "validation": parts.validation}
        self._evaluations = {
            name: {
                part: self._evaluation(X[rows], subset(examples, rows), classifier=classifier)
                for part, rows in held.items()
                if rows is not None
            }
            for name, classifier in self._outputs.items()
        }
        self._tell()

    def _evaluation(
        self, X: Any, examples: Examples, confidence: float = 0.95, classifier: Classifier | None = None
    ) -> Evaluation:
        """What a fitted classifier achieves, each side of the problem with the weights that apply to it."""
        classifier = self.classifier_ if classifier is None else classifier
        predictions = classifier.positive_probability(X, examples.columns)
        objective = (
            replace(examples, weights=np.ones(len(examples))) if self.weight_scope == "constraints" else examples
        )
        return Evaluation.of(self.problem_, objective, predictions, confidence, self._constraint_examples(examples))

    def _constraint_examples(self, examples: Examples) -> Examples:
        return replace(examples, weights=np.ones(len(examples))) if self.weight_scope == "objective" else examples

    def _tell(self) -> None:
        notes = list(self.status_.advice)
        last = list(self.parts_.values())[-1]
        if last.positive_rate in (0.0, 1.0):
            notes.append(
                f"the classifier predicts {'1' if last.positive_rate else '0'} for everybody: the constraints may "
                "leave nothing else, or the model has too little to go by"
            )
        self.notes_ = tuple(dict.fromkeys(notes))
        if not self.status_.feasible:
            warnings.warn(
                f"the constraints are not met: largest violation {self.status_.violation:.4g}; "
                "see report() and status_",
                NotSolvedWarning,
                stacklevel=4,
            )

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

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels. A stochastic output draws a member per row, repeatably for a ``random_state``."""
        X = self._features(X)
        if self.output == "hashed":
            decided = self.classifier_.predict_hashed(X)
        else:
            seed = 0 if self.random_state is None else int(self.random_state)
            decided = self.classifier_.predict(X, random_state=seed)
        positive = self._positive()
        other = self.classes_[0] if self.classes_[1] == positive else self.classes_[1]
        return np.where(decided == 1, np.array([positive]), np.array([other]))

    def predict_pmf(self, X: Any) -> Array:
        """Probability of predicting each class of ``classes_``. Not a calibrated probability of the label."""
        p = self.classifier_.positive_probability(self._features(X))
        columns = [p, 1 - p] if self.classes_[0] == self._positive() else [1 - p, p]
        return np.stack(columns, axis=1)

    @available_if(lambda self: self.output == "deterministic" and _is_linear(self.model))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def decision_function(self, X: Any) -> Array:
        """Score of ``classes_[1]``, above 0 where it is predicted; for a deterministic output."""
        scores = np.asarray(self.classifier_.members.scores(self._features(X))[:, 0], dtype=float)
        return -scores if self.classes_[0] == self._positive() else scores

    def to_deterministic(self) -> RateClassifier:
        """Return a fitted copy that predicts with the best single iterate."""
        check_is_fitted(self, "_outputs")
        copy = type(self)(**self.get_params(deep=False))
        copy.__dict__.update({name: value for name, value in self.__dict__.items() if name.endswith("_")})
        for name in ("_outputs", "_end", "_statuses", "_evaluations"):
            setattr(copy, name, getattr(self, name))
        copy.output = "deterministic"
        return copy

    def _features(self, X: Any) -> Any:
        check_is_fitted(self, "_outputs")
        return validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)

    # -- judging ---------------------------------------------------------------------------------

    def _judged(
        self, X: Any, y: ArrayLike, sensitive_features: Any, sample_weight: ArrayLike | None
    ) -> tuple[Any, Examples]:
        features = self._features(X)
        y = np.asarray(y)
        unknown = set(np.unique(y).tolist()) - set(self.classes_.tolist())
        if unknown:
            raise DataError(f"y holds labels that were not in training: {sorted(map(str, unknown))}")
        labels = (y == self._positive()).astype(np.int8)
        return features, self._examples(labels, sensitive_features, sample_weight, X)

    def evaluate(
        self,
        X: Any,
        y: ArrayLike,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
    ) -> dict[str, Any]:
        """Return what is achieved on data, as plain numbers: objective, constraints, intervals, slice sizes."""
        return self._evaluation(*self._judged(X, y, sensitive_features, sample_weight), confidence).as_dict()

    def certify(
        self,
        X: Any,
        y: ArrayLike,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
    ) -> list[Certificate]:
        """Judge every constraint on held-out data: estimate, interval, and pass, fail or cannot tell."""
        features, examples = self._judged(X, y, sensitive_features, sample_weight)
        constraints = [c for c in self.problem_.constraints if isinstance(c, Constraint)]
        predictions = self.classifier_.positive_probability(features, examples.columns)
        return certify(constraints, self._constraint_examples(examples), predictions, confidence)

    def report(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
    ) -> Report:
        """Return the same for a person: asked, and achieved on train, validation and the data given."""
        check_is_fitted(self, "_outputs")
        parts = dict(self.parts_)
        if X is not None:
            if y is None:
                raise DataError("report needs y with X")
            parts["test"] = self._evaluation(*self._judged(X, y, sensitive_features, sample_weight), confidence)
        positive = self._positive()
        label = repr(positive.item() if isinstance(positive, np.generic) else positive)
        return Report(repr(self.problem_), parts, self.notes_, label)

    def plot_history(self, axes: Any = None) -> Any:
        """Draw the course of the game: objective, largest violation and multipliers of every configuration."""
        check_is_fitted(self, "_outputs")
        return plot_history(self.history_, self.problem_, axes)

    # -- frontier --------------------------------------------------------------------------------

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
            ``(X, y)`` or ``(X, y, sensitive_features)`` to judge every point on.
        """
        worker = clone(self)
        worker._check_parameters()
        steps = np.asarray(levels, dtype=float).ravel()
        if not len(steps) or not np.isfinite(steps).all():
            raise EquirateError(f"levels must be finite numbers, at least one; got {levels!r}")
        examples, checked = worker._border(X, y, sensitive_features, sample_weight)
        problem = Problem(self.objective, self.constraints).expanded(examples)
        if not problem.constraints:
            raise EquirateError("a frontier needs at least one constraint to vary")
        parts = worker._parts(problem, examples, checked.shape[1])
        played = worker._precise(checked, examples, parts)
        _, chooser = worker._play(problem, played, examples, parts, levels=steps)
        found = []
        for level in steps:
            moved = [shifted(c, -float(level)) for c in split(chooser.problem)]
            mixture = judged_for(chooser, Problem(chooser.problem.objective, moved)).polish()
            found.append(replace(mixture, notes={}))
        judged = {"train": (checked[parts.train], subset(examples, parts.train))}
        if parts.validation is not None:
            judged["validation"] = (checked[parts.validation], subset(examples, parts.validation))
        if test is not None:
            labels = (np.asarray(test[1]) == worker._positive()).astype(np.int8)
            attributes = test[2] if len(test) > 2 else None
            features = validate_data(worker, test[0], accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
            judged["test"] = (features, worker._examples(labels, attributes, None, test[0]))
        values = {
            name: tuple(
                Evaluation.of(problem, rows, classifier.positive_probability(features, rows.columns))
                for classifier in found
            )
            for name, (features, rows) in judged.items()
        }
        return Frontier(tuple(map(float, steps)), values, tuple(found), repr(self.objective))

    # -- files -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to one file without pickle; `equirate.load` opens it again, on any machine, executing nothing."""
        check_is_fitted(self, "_outputs")
        manifest, arrays = to_plain(self)
        files.write(path, manifest, arrays)


@dataclass(frozen=True)
class Parts:
    """Rows to train on, rows held out, rows to choose the mixture on, and rows to test margins on."""

    train: NDArray[np.intp]
    validation: NDArray[np.intp] | None
    choose: NDArray[np.intp]
    test: NDArray[np.intp] | None = None


def load(path: str | os.PathLike[str]) -> RateClassifier:
    """Open a classifier saved with `RateClassifier.save`. Nothing in the file is executed.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.load("no such file")
    Traceback (most recent call last):
    ...
    equirate.files.FileError: there is no file no such file
    """
    manifest, arrays = files.read(path)
    if manifest.get("kind") != "RateClassifier":
        raise files.FileError(f"{path} holds a {manifest.get('kind')!r}, not a RateClassifier")
    try:
        restored: RateClassifier = from_plain(RateClassifier, manifest, arrays)
        return restored
    except files.FileError:
        raise
    except (EquirateError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise files.FileError(f"{path} is damaged: {error}") from error


def _is_linear(model: Any) -> bool:
    return isinstance(model, Linear) or (isinstance(model, str) and model == "linear")


def _one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise EquirateError(
            f"The {name!r} parameter of RateClassifier must be one of {', '.join(map(repr, allowed))}. "
            f"Got {value!r} instead."
        )
