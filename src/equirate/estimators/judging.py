"""What `RateClassifier` and `RatePostprocessor` share: the border for labels and attributes, and judging on data.

In: features, labels, attributes and weights as users have them. Out: numbers, certificates and reports of what a fitted
classifier achieves for its problem. Labels of any two values become 0 and 1 here, and predictions become labels again.
"""

from __future__ import annotations

import copyreg
import inspect
import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from .._core.choices import CertificateMethod, Correction, Missing
from .._core.errors import DataError, EquirateError, FileError
from .._core.hashing import Hashes
from .._core.peers import joined, peers
from .._core.seeds import seed_of
from ..data.alignment import check_indexes
from ..data.cells import Cells
from ..data.examples import Examples, empty_message, fill_missing, to_numpy
from ..data.sample import Sample
from ..data.slices import Attribute
from ..explanations import Explanations
from ..export.model import Export
from ..game.classifiers import Classifier
from ..judge.certify import Certificates, certify
from ..judge.evaluation import Evaluation
from ..judge.spread import clusters_of
from ..language.expressions import Constraint
from ..language.parity import attributes_in
from ..problem.problem import Objective, Problem
from ..reports.report import Report
from . import explaining, exporting, files, reporting, state
from .attributes import attribute_names, named, refuse_unrouted, refuse_whole
from .keys import warn_few_keys
from .scores import refuse_unknown
from .serving import hashes_of, rows_repeat

Array = NDArray[np.float64]
MISSING = ("refuse", "group")


class Judged(ClassifierMixin, BaseEstimator):
    """A classifier for a problem, with everything by which it is judged.

    A subclass has the parameters below and, when fitted, ``classes_``, ``problem_``, ``notes_``, ``classifier_`` and
    ``parts_``; it says how features are checked (`_features`) and how it is saved (`_plain`).
    """

    objective: Objective
    constraints: Any
    pos_label: Any
    missing: Missing
    random_state: Any
    classes_: NDArray[Any]
    problem_: Problem
    notes_: Sequence[str]
    salt_: int

    @property
    def classifier_(self) -> Classifier:
        """The mixture, or the single classifier, that predicts."""
        raise NotImplementedError

    @property
    def parts_(self) -> dict[str, Evaluation]:
        """What it achieves on the parts of the training data."""
        raise NotImplementedError

    def _uniform(self, X: Any, key: Any = None) -> Array:
        """A number in [0, 1) for each row, by which the hashed output draws: a hash of the row or of its key."""
        raise NotImplementedError

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__signature__ = _without_self(cls.__init__)  # `__new__` would hide it

    def __new__(cls, *arguments: Any, **parameters: Any) -> Self:
        """Refuse parameters of other classifiers, and say what to use instead."""
        refuse_unknown(cls, parameters)
        made: Self = super().__new__(cls)
        return made

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, as in scikit-learn; refuses those of other classifiers, and says what to use instead."""
        refuse_unknown(type(self), parameters)
        super().set_params(**parameters)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # as scikit-learn names it
        """The parameters and, of a fitted estimator, what was reached."""
        written = str(super().__repr__(N_CHAR_MAX))
        status = getattr(self, "status_", None) if hasattr(self, "classes_") else None
        return written if status is None else "\n  # ".join([written, *status.summary()])

    def _mixture(self) -> Classifier:
        """The mixture that keys draw from."""
        return self.classifier_

    def _hashed(self, X: Any, key: Any = None, attributes: Any = None) -> NDArray[np.int_]:
        """Decisions, 0 and 1, as the hashes of the rows draw them, or from the mixture those of their keys."""
        classifier = self.classifier_ if key is None else self._mixture()
        decided = classifier.members.decide(X, attributes=attributes)
        if classifier.is_deterministic:
            return decided[:, 0].astype(int)
        warn_few_keys(key)
        return classifier.pick(decided, self._uniform(X, key))

    def _row_hashes(self, X: Any) -> Hashes | None:
        """The hashes of rows by which the hashed output draws, before the salt; None where rows have none."""
        return hashes_of(X)

    def _repeat(self, X: Any) -> bool:
        """Whether rows repeat, in training or here, so that the hashed output is judged by its decisions."""
        if getattr(self, "output", "") != "hashed" or self.classifier_.is_deterministic or peers().size > 1:
            return False
        if getattr(self, "repeats_", False):
            return True
        hashes = self._row_hashes(X)
        return hashes is not None and rows_repeat(hashes)

    def _served(self, X: Any, attributes: Any) -> Array:
        """What is judged: the decisions that are served where rows repeat, else the mixture's probabilities."""
        if self._repeat(X):
            return self._hashed(X, None, attributes).astype(float)
        return self.classifier_.positive_probability(X, attributes=attributes)

    def _attributes(self, X: Any, sensitive_features: Any) -> Any:
        """Attributes to predict with, where they are looked up."""
        raise NotImplementedError

    def _features(self, X: Any) -> Any:
        """New features, checked where the classifier itself does not do that."""
        return X

    def _looked_up(self) -> tuple[str, ...]:
        """Names of the attributes that predicting looks up."""
        groups = getattr(self, "groups", None)
        parts = () if groups is None else attributes_in(groups)
        return tuple(sorted({name for part in parts for name in _names_in(part)}))

    def _plain(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything to save, as JSON-ready data and arrays."""
        raise NotImplementedError

    def _export(self) -> Export:
        """What an ONNX model is made of."""
        raise NotImplementedError

    def __getstate__(self) -> Any:
        """What skops keeps: of a fitted estimator the content of a file."""
        return state.as_file(self) if hasattr(self, "problem_") else super().__getstate__()

    def __setstate__(self, given: Any) -> None:
        if not state.is_file(given):
            super().__setstate__(given)
            return
        found = state.restored(given)
        if type(found) is not type(self):
            raise FileError(f"the state is that of a {type(found).__name__}, not of a {type(self).__name__}")
        self.__dict__.update(found.__dict__)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """What pickle and ``copy`` keep: everything, also what no file holds."""
        return copyreg.__newobj__, (type(self),), super().__getstate__()  # type: ignore[attr-defined]  # not in the stubs

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a classifier; what an interrupted fit has left beside it does not count."""
        return hasattr(self, "classifier_")

    # -- the border ------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse what cannot be, and take a seed from ``random_state``."""
        if not isinstance(self.objective, Objective):
            raise TypeError(f"the objective must be made with minimize(...) or maximize(...); got {self.objective!r}")
        one_of(self, "missing", MISSING)
        seed = seed_of(self.random_state, type(self).__name__)
        if peers().size > 1:  # the same on every process, also where nobody gave one
            seed = peers().first(secrets.randbelow(2**31) if seed is None else seed)
        self.seed_ = seed

    @property
    def _draws(self) -> int:
        """Seed of stochastic predictions; a generator was drawn from once, when fitting."""
        drawn = isinstance(self.random_state, (np.random.RandomState, np.random.Generator))
        return seed_of(getattr(self, "seed_", None) if drawn else self.random_state, type(self).__name__) or 0

    def _positive(self) -> Any:
        if self.pos_label is None:
            return self.classes_[1]
        if self.pos_label not in self.classes_:
            raise DataError(f"pos_label {self.pos_label!r} is not among the labels {list(self.classes_)!r}")
        return self.pos_label

    def _taken_label(self) -> str:
        """The label that is positive because nobody said otherwise, where labels are text; empty for others."""
        text = np.asarray(self.classes_).dtype.kind in "UO" and isinstance(self.classes_[-1], str)
        return reporting.shown_label(self._positive()) if text and self.pos_label is None else ""

    def _negative(self) -> Any:
        return self.classes_[0] if self.classes_[1] == self._positive() else self.classes_[1]

    def _labels(self, y: ArrayLike) -> NDArray[np.int8]:
        """Labels as 0 and 1; refuses those that are not in ``classes_``."""
        labels = to_numpy(y)
        labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
        positive = labels == self._positive()
        unknown = labels[~(positive | (labels == self._negative()))]
        if unknown.size:
            found = sorted({str(label) for label in unknown.tolist()})
            raise DataError(
                f"y holds labels that were not in training: {', '.join(found[:5])}{', ...' if len(found) > 5 else ''}; "
                f"the labels that the estimator was trained on are {self.classes_.tolist()}"
            )
        return np.asarray(positive, dtype=np.int8)

    def _examples(
        self,
        problem: Problem,
        labels: NDArray[np.int8],
        X: Any,
        sensitive_features: Any,
        sample_weight: ArrayLike | None,
    ) -> Examples:
        """Labels, attributes and weights, with missing attributes treated as asked and baselines read like labels."""
        sensitive_features = named(sensitive_features, attribute_names(problem) | set(self._looked_up()), X)
        refuse_whole(sensitive_features, len(labels))
        examples = Examples.of(labels, sensitive_features, sample_weight, fallback=X, compared=True)
        refuse_unrouted(problem, examples)
        columns = dict(examples.columns) if self.missing == "refuse" else fill_missing(examples.columns)
        return examples.with_columns(read_like_labels(columns, problem.baselines(), self.classes_, self._positive()))

    def _judged(
        self,
        X: Any,
        y: ArrayLike,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        clusters: Any = None,
    ) -> Sample:
        """Features and examples to judge on."""
        compare_indexes(X, y, sensitive_features, sample_weight)
        features, asked = self._features(X), Problem(self.objective, self.constraints)
        examples = self._examples(asked, self._labels(y), X, sensitive_features, sample_weight)
        return Sample(features, replace(examples, clusters=clusters_of(clusters, len(examples))))

    def _named(self, decided: NDArray[np.int_]) -> NDArray[Any]:
        """Decisions, 0 and 1, as labels."""
        return np.where(decided == 1, np.array([self._positive()]), np.array([self._negative()]))

    def _by_class(self, p: Array) -> Array:
        """Probabilities of the positive class as a column for each of ``classes_``."""
        return np.stack([p, 1 - p] if self.classes_[0] == self._positive() else [1 - p, p], axis=1)

    # -- judging ---------------------------------------------------------------------------------

    def _evaluation(
        self,
        sample: Sample,
        confidence: float = 0.95,
        classifier: Classifier | None = None,
        cells: Cells | None = None,
    ) -> Evaluation:
        """What a classifier achieves; without one, what is served.

        ``cells`` are those of the problem on the sample, where they are known already.
        """
        if classifier is None:
            predictions = self._served(sample.X, sample.examples.columns)
        else:
            predictions = classifier.positive_probability(sample.X, attributes=sample.examples.columns)
        return Evaluation.of(self.problem_, sample.examples, predictions, confidence, cells)

    def evaluate(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
        clusters: Any = None,
    ) -> Evaluation:
        """Return what is achieved on data: objective, constraints, intervals and sizes of slices, as an object.

        Its numbers are attributes (``objective``, ``violation``, ``constraints``, ...); `to_dict` gives plain data and
        `to_frame` a data frame. `report` is the same for a person. ``clusters`` are those of `equirate.certify`.
        """
        check_is_fitted(self, "classifier_")
        with joined():
            sample = self._judged(X, y, sensitive_features, sample_weight, clusters)
            return self._evaluation(sample, confidence)

    def score(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the accuracy of `predict`, as scikit-learn's classifiers do; `equirate.scorer` scores by a problem."""
        given = {} if sensitive_features is None else {"sensitive_features": sensitive_features}
        return float(accuracy_score(to_numpy(y), self.predict(X, **given), sample_weight=sample_weight))

    def certify(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
        method: CertificateMethod = "approximate",
        clusters: Any = None,
        correction: Correction | None = None,
    ) -> Certificates:
        """Judge every constraint on held-out data: estimate, interval, and pass, fail or cannot tell.

        ``method``, ``clusters`` and ``correction`` are those of `equirate.certify`. Where rows repeat, the decisions
        that a hashed output returns are judged. Else the approximate method judges the mixture's expected rates, the
        exact one decisions that are drawn from it, once, with ``random_state``.
        """
        check_is_fitted(self, "classifier_")
        with joined():
            sample = self._judged(X, y, sensitive_features, sample_weight)
            constraints = [c for c in self.problem_.constraints if isinstance(c, Constraint)]
            predictions = self._served(sample.X, sample.examples.columns)
            return certify(
                constraints,
                sample.examples,
                predictions,
                confidence,
                method=method,
                clusters=clusters,
                correction=correction,
                seed=self._draws,
            )

    def report(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
        baseline: Any = None,
        frontier: Any = None,
        clusters: Any = None,
    ) -> Report:
        """Return the same for a person: asked, and achieved on the training data and the data given.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            Data to judge on, preferably such as nothing was trained or chosen on.
        confidence
            Level of the intervals and verdicts on these data.
        baseline
            What to set beside it, so that the price of the constraints is seen: a fitted classifier (fairlearn's
            randomised ones count by their expected decisions), its predictions on X, or a dict with one of these under
            a name of its own. By default what the estimator has kept: the best classifier of the same training
            whatever the constraints, or the classifier whose thresholds were moved.
        frontier
            What `RateClassifier.frontier` returned: its points are then measured on X too.
        clusters
            As in `equirate.certify`.
        """
        check_is_fitted(self, "classifier_")
        if X is None:
            for name, given in (("y", y), ("baseline", baseline), ("frontier", frontier)):
                if given is not None:
                    raise DataError(f"report needs X with {name}")
            return reporting.of_training(self)
        if y is None:
            raise DataError("report needs y with X")
        sample = self._judged(X, y, sensitive_features, sample_weight, clusters)
        return reporting.of_data(self, X, sample, confidence, baseline, frontier, sensitive_features)

    def _unconstrained(self, X: Any, attributes: Any) -> tuple[str, str, Array] | None:
        """A baseline to set beside it: its name, what it is, and its predictions; None where there is none."""
        return None

    def explain(self, X: Any, *, key: Any = None, sensitive_features: Any = None) -> Explanations:
        """Say for each row why it is decided as it is.

        That is: the probability of each label, what each member decides and with which weight, how much was chance,
        what each feature adds to the score that decides, and whether the constraints changed the decision.
        Contributions are exact: they add up to the score, which is above 0 where the positive label is predicted. For
        linear members they are features times weights, in the units given; for trees they are path contributions; for
        plug-in rules they are about the log-odds of the label. Other members tell none.

        Parameters
        ----------
        X
            Features, as in `predict`.
        key
            As in `predict`, for a hashed output.
        sensitive_features
            Attributes, where they are looked up.

        Returns
        -------
        Explanations
            A sequence with an object for each row, which prints as a sentence; ``to_frame()`` has all rows.

        Examples
        --------
        >>> import numpy as np, equirate as eq
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(500, 2))
        >>> y = (X[:, 0] + rng.normal(size=500) > 0.8).astype(int)
        >>> clf = eq.RateClassifier(eq.maximize(eq.f1()), n_rounds=50, random_state=0, output="deterministic")
        >>> first = clf.fit(X, y).explain(X)[0]
        >>> bool(np.isclose(first.base + sum(reason.contribution for reason in first.reasons), first.score))
        True
        """
        check_is_fitted(self, "classifier_")
        attributes, features = self._attributes(X, sensitive_features), self._features(X)
        classifier = self.classifier_ if key is None else self._mixture()
        hashed = getattr(self, "output", "") == "hashed" and not classifier.is_deterministic
        draws = self._uniform(features, key) if hashed else None
        return explaining.explained(self, classifier, X, features, attributes, draws)

    def to_onnx(self, path: str | os.PathLike[str], X: Any = None) -> None:
        """Write an ONNX model that decides as Python does, for services that are not Python. Needs ``equirate[onnx]``.

        Its outputs are ``pmf``, the probability of predicting each class; ``members``, what each member decides; and
        ``label``, where the output is a single classifier. The decisions are compared with Python's before anything is
        written, on generated rows and on ``X``; a model that decides one of them otherwise is refused, and so is what
        cannot be exported: networks, lists of classifiers and whatever looks attributes up.

        Parameters
        ----------
        path
            The file to write.
        X
            Further rows to compare on.
        """
        check_is_fitted(self, "classifier_")
        export = self._export()
        export.write(path, None if X is None else exporting.inputs_of(export, X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to one file without pickle; `equirate.load` opens it again, on any machine, executing nothing."""
        check_is_fitted(self, "classifier_")
        files.write(path, *self._plain())


def _without_self(function: Any) -> inspect.Signature:
    found = inspect.signature(function)
    return found.replace(parameters=list(found.parameters.values())[1:])


def _names_in(part: Any) -> Iterable[str]:
    """Names of the attributes in an attribute or a slice; none in anything else, which is refused elsewhere."""
    return (part.name,) if isinstance(part, Attribute) else getattr(part, "attributes", ())


def read_like_labels(
    columns: dict[str, NDArray[Any]], names: Iterable[str], classes: NDArray[Any], positive: Any
) -> dict[str, NDArray[Any]]:
    """Columns with the predictions of other models as 0 and 1, where they are given as labels."""
    read = dict(columns)
    for name in names:
        column = columns.get(name)
        if column is not None and set(np.unique(column.astype(str))) <= set(classes.astype(str)):
            read[name] = (column.astype(str) == str(positive)).astype(np.int8)
    return read


def one_of(estimator: Any, name: str, allowed: Sequence[str]) -> None:
    """Refuse a parameter that is not one of some words."""
    value = getattr(estimator, name)
    if value not in allowed:
        raise EquirateError(
            f"The {name!r} parameter of {type(estimator).__name__} must be one of {', '.join(map(repr, allowed))}. "
            f"Got {value!r} instead."
        )


def two_classes(y: NDArray[Any]) -> NDArray[Any]:
    """The two labels in y, sorted; refuses fewer and more."""
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    classes: NDArray[Any] = np.unique(np.concatenate(peers().gather(np.unique(y))))
    if kind not in ("binary", "multiclass") or len(classes) > 2:
        raise DataError(f"Only binary classification is supported. The type of the target is {kind}.")
    if not len(classes):
        raise DataError("y is empty")
    if len(classes) < 2:
        raise DataError(f"y has one class only ({classes[0]!r}): a classifier needs examples of both labels")
    return classes


def compare_indexes(X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> None:
    """Compare the indexes of what an estimator was given, under the names that its methods give it."""
    given = {"X": X, "y": y, "sensitive_features": sensitive_features, "sample_weight": sample_weight}
    check_indexes(given, stacklevel=5)


def refuse_empty(problem: Problem, examples: Examples) -> None:
    """Refuse rates that nobody is there to measure on."""
    for rate in problem.rates():
        if not examples.has(rate.kind, rate.slice):
            raise DataError(empty_message(rate.kind, rate.slice, examples))
