"""`RateEstimator`: what `RateClassifier` and `RatePostprocessor` share.

In: a fitted estimator, and data. Out: predictions; numbers, certificates, reports and explanations of what the
classifier that predicts achieves for its problem; and files.
"""

from __future__ import annotations

import copyreg
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._core.choices import CertificateMethod, Correction
from .._core.errors import DataError, EquirateError, EquirateWarning, FileError
from .._core.hashing import salted, uniform
from .._core.peers import ALONE, Peers, all_processes
from ..data.arrays import to_numpy
from ..data.attributes import columns_of, fill_missing
from ..data.labels import one_hot
from ..data.sample import Given, Sample
from ..game.classifiers import Classifier, checked_key, hashed_uniform
from ..game.status import Status
from ..judge.certify import Certificates, certify
from ..judge.evaluation import Evaluation
from ..problem.problem import Problem
from ..reports.report import Report
from ..selection.choice import FittedOutput
from ..storage import container
from ..training.draws import rows_repeat
from . import reporting
from .attributes import named
from .inputs import InputChecks, compare_indexes
from .keys import columns_of_features, row_keys, warn_few_keys

if TYPE_CHECKING:
    from ..explanations import Explanations

Array = NDArray[np.float64]
_FILE = "equirate_file"
"""The one entry of the state that skops stores: bytes, which are checked like any file."""


class RateEstimator(InputChecks):
    """A classifier for a problem, with the methods that evaluate it; it has outputs, one of which predicts.

    A subclass defines which one (`_output_name`), how features are checked (`_features`), and how it is saved
    (`_plain`, `_read`).
    """

    problem_: Problem
    notes_: Sequence[str]
    salt_: int
    outputs_: Mapping[str, FittedOutput]

    __metadata_request__score = {"sensitive_features": False}  # noqa: RUF012  # only thresholds for groups need them

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # as scikit-learn names it
        """The parameters and, for a fitted estimator, its status."""
        written = str(super().__repr__(N_CHAR_MAX))
        status = getattr(self, "status_", None) if hasattr(self, "classes_") else None
        return written if status is None else "\n  # ".join([written, *status.summary()])

    @property
    def _output_name(self) -> str:
        """Name of the output that predicts."""
        return "stochastic"

    @property
    def _output(self) -> FittedOutput:
        if "outputs_" not in self.__dict__:  # asked for several times a prediction: scikit-learn's check takes longer
            check_is_fitted(self, "outputs_")
        return self.outputs_[self._output_name]

    @property
    def classifier_(self) -> Classifier:
        """The mixture, or the single classifier, that predicts."""
        return self._output.classifier

    @property
    def mixture_(self) -> Classifier:
        """The mixture that keys draw from."""
        raise NotImplementedError

    @property
    def status_(self) -> Status:
        """Status of the output on the data that it was chosen on."""
        status = self._output.status
        if status is None:
            raise AttributeError(f"the output {self._output_name!r} has no status")
        return replace(status, positive_label=self._default_label())

    @property
    def parts_(self) -> dict[str, Evaluation]:
        """What the output achieves on the parts of the training data."""
        return dict(self._output.evaluations)

    # -- predicting ------------------------------------------------------------------------------

    def predict(self, X: Any, *, key: Any = None, sensitive_features: Any = None) -> NDArray[Any]:
        """Predict labels.

        Parameters
        ----------
        X
            Features (or scores), as in `fit`.
        key
            For the hashed output: one value per row, such as the number of a person, that decides in the place of the
            row which member is drawn. Needed where many people have the same features; a deterministic output needs
            none. A stochastic output draws by the row's place, repeatably for a ``random_state``.
        sensitive_features
            Attributes, where ``groups`` are looked up.

        Returns
        -------
        numpy.ndarray
            One label per row.
        """
        attributes, X = self._attributes(X, sensitive_features), self._features(X)
        if self.output != "stochastic":
            return self._decode(self._hashed(X, key, attributes))
        if key is not None:
            raise EquirateError('key goes with output="hashed": a stochastic output draws by the place of the row')
        return self._decode(self._drawn_by_place(X, attributes))

    def predict_pmf(self, X: Any, *, sensitive_features: Any = None) -> Array:
        """Probability of predicting each class of ``classes_``. Not a calibrated probability of the label.

        Parameters
        ----------
        X
            Features (or scores), as in `fit`.
        sensitive_features
            Attributes, where ``groups`` are looked up.

        Returns
        -------
        numpy.ndarray
            One row per example, one column for each of ``classes_``.
        """
        attributes = self._attributes(X, sensitive_features)
        return self._by_class(self.classifier_.expected(self._features(X), attributes=attributes))

    def _attributes(self, X: Any, sensitive_features: Any) -> Any:
        """Attributes to predict with, if the members need them; missing ones are treated as when fitting."""
        if not self.classifier_.members.needs_attributes:
            return None
        compare_indexes(X, None, sensitive_features, None)
        columns = columns_of(named(sensitive_features, self._looked_up(), X), X)
        return columns if self.missing == "refuse" else fill_missing(columns)

    def _features(self, X: Any) -> Any:
        """New features, checked if the classifier itself does not check them."""
        return X

    def _uniform(self, X: Any, key: Any = None) -> Array:
        """A number in [0, 1) for each row, by which the hashed output draws: a hash of the row or of its key."""
        if key is not None:
            return hashed_uniform(X, self.salt_, key)
        return uniform(salted(row_keys(X), self.salt_))

    def _hashed(self, X: Any, key: Any = None, attributes: Any = None) -> NDArray[np.int_]:
        """Decisions, 0 and 1: the hash of each row draws a member, or the hash of its key."""
        classifier = self.classifier_ if key is None else self.mixture_
        decided = classifier.members.decide(X, attributes=attributes)
        if classifier.is_deterministic:
            if key is not None:  # check keys even if nothing is drawn
                checked_key(key, len(decided))
            return decided[:, 0].astype(int)
        warn_few_keys(key)
        return classifier.pick(decided, self._uniform(X, key))

    def _drawn_by_place(self, X: Any, attributes: Any) -> NDArray[np.int_]:
        """Decisions of the stochastic output: the place of each row draws a member."""
        decided = self.classifier_.predict(X, attributes=attributes, random_state=self._draw_seed)
        if len(decided) == 1 and not self.classifier_.is_deterministic:
            warnings.warn(
                'a single row is always the first of its batch, so output="stochastic" gives every one of them the '
                'same draw: use output="hashed", or predict in batches',
                EquirateWarning,
                stacklevel=3,
            )
        return decided

    def _repeat(self, X: Any, shared: Peers) -> bool:
        """Whether rows repeat, in training or in X, so that the hashed output is judged by its decisions."""
        if self.output != "hashed" or self.classifier_.is_deterministic:
            return False
        return getattr(self, "repeats_", False) or rows_repeat(row_keys(X), shared=shared)

    def _served(self, X: Any, attributes: Any, shared: Peers) -> Array:
        """The predictions to judge: decisions if rows repeat, else the mixture's probabilities."""
        if self._repeat(X, shared):
            decided = self._hashed(X, None, attributes)
            return one_hot(decided, len(self.classes_)) if self._many else decided.astype(float)
        return self.classifier_.expected(X, attributes=attributes)

    # -- judging ---------------------------------------------------------------------------------

    def _judged(
        self,
        X: Any,
        y: ArrayLike,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        clusters: Any = None,
        features: Any = None,
    ) -> Sample:
        """Features and examples to judge on; ``features`` replaces X for the classifier, if they differ."""
        compare_indexes(X, y, sensitive_features, sample_weight)
        features = self._features(X if features is None else features)
        problem = Problem(self.objective, self.constraints)
        data = Given(X, y, sensitive_features, sample_weight)
        return Sample(features, self._examples(problem, y, data, clusters))

    def decision_probability(self, X: Any, *, sensitive_features: Any = None) -> Array:
        """Return the probability with which each row is decided for the positive label, as `evaluate` counts it.

        For a mixture that is its probability of predicting that label. Where rows repeat and ``output="hashed"``, equal
        rows are decided alike, and it is 1 or 0: the decision that `predict` returns. With more than two classes, a
        column for each of ``classes_``.

        Parameters
        ----------
        X
            Features.
        sensitive_features
            Attributes, where ``groups`` are looked up.

        Returns
        -------
        numpy.ndarray
            One probability per row; with more than two classes, a column for each.
        """
        attributes = self._attributes(X, sensitive_features)
        return self._served(self._features(X), attributes, ALONE)

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
        """Evaluate on data: return objective, constraints, intervals and sizes of slices as an object.

        Its numbers are attributes (``objective``, ``violation``, ``constraints``, ...); `to_dict` gives plain data and
        `to_frame` a data frame. `report` is the readable form.

        Parameters
        ----------
        X, y
            Data to judge on, preferably not the training data.
        sensitive_features
            Attributes that slices and baselines of the problem refer to.
        sample_weight
            Non-negative weights.
        confidence
            Level of the intervals.
        clusters
            As in `equirate.certify`.

        Returns
        -------
        Evaluation
            The achieved values.
        """
        check_is_fitted(self, "classifier_")
        with all_processes():
            sample = self._judged(X, y, sensitive_features, sample_weight, clusters)
            predictions = self._served(sample.X, sample.examples.columns, sample.examples.shared)
            return Evaluation.of(self.problem_, sample.examples, predictions, confidence)

    def score(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the accuracy of `predict`, as scikit-learn's classifiers do; `equirate.scorer` scores by a problem.

        Parameters
        ----------
        X, y
            Data to judge on.
        sensitive_features
            Attributes, where `predict` needs them.
        sample_weight
            Non-negative weights.

        Returns
        -------
        float
            The share of rows, by weight, that are predicted correctly.
        """
        from sklearn.metrics import accuracy_score

        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(accuracy_score(to_numpy(y), predicted, sample_weight=sample_weight))

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

        Where rows repeat, the decisions that a hashed output returns are judged. Else the approximate method judges the
        mixture's expected rates, the exact one decisions that are drawn from it, once, with ``random_state``.

        Parameters
        ----------
        X, y
            Data that nothing was trained or chosen on.
        sensitive_features
            Attributes that slices and baselines of the problem refer to.
        sample_weight
            Non-negative weights.
        confidence
            Confidence of the verdicts.
        method, clusters, correction
            As in `equirate.certify`.

        Returns
        -------
        Certificates
            One for each constraint, and a verdict on all of them.
        """
        check_is_fitted(self, "classifier_")
        with all_processes():
            sample = self._judged(X, y, sensitive_features, sample_weight, clusters)
            constraints = self.problem_.plain_constraints
            predictions = self._served(sample.X, sample.examples.columns, sample.examples.shared)
            return certify(
                constraints,
                sample.examples,
                predictions,
                confidence,
                method=method,
                correction=correction,
                seed=self._draw_seed,
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
        features: Any = None,
    ) -> Report:
        """Return a readable report: required and achieved values on the training data and on the data passed.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            Data to judge on, preferably such as nothing was trained or chosen on.
        confidence
            Level of the intervals and verdicts on these data.
        baseline
            A classifier to compare with, which shows the price of the constraints: a fitted classifier (fairlearn's
            randomised ones count by their expected decisions), its predictions on X, or a dict with one of these under
            a name of its own. By default one that the estimator has kept: the best classifier of the same training
            whatever the constraints, or the classifier whose thresholds were moved.
        frontier
            What `RateClassifier.frontier` returned: its points are then measured on X too.
        clusters
            As in `equirate.certify`.
        features
            X as this classifier takes it, where the steps of a pipeline transform it first; attributes and a baseline's
            predictions are then still those of X.

        Returns
        -------
        Report
            Prints as text; ``to_html``, ``to_card`` and ``to_dict`` give other forms.
        """
        check_is_fitted(self, "classifier_")
        if X is None:
            for name, argument in (("y", y), ("baseline", baseline), ("frontier", frontier)):
                if argument is not None:
                    raise DataError(f"report needs X with {name}")
            return reporting.of_training(self)
        if y is None:
            raise DataError("report needs y with X")
        sample = self._judged(X, y, sensitive_features, sample_weight, clusters, features)
        columns, shared = sample.examples.columns, sample.examples.shared
        predictions, repeated = self._served(sample.X, columns, shared), self._repeat(sample.X, shared)
        if baseline is None:
            compared = self._unconstrained(sample.X, columns)
        else:
            labels = self.classes_, None if self._many else self.pos_label_
            compared = reporting.baseline_of(baseline, X, sensitive_features, *labels, len(sample))
        return reporting.of_data(self, sample, predictions, repeated, confidence, compared, frontier)

    def _unconstrained(self, X: Any, attributes: Any) -> tuple[str, str, Array] | None:
        """A baseline to compare with: its name, a description and its predictions; None if there is none."""
        return None

    def explain(self, X: Any, *, key: Any = None, sensitive_features: Any = None) -> Explanations:
        """Explain the decision for each row.

        That is: the probability of each label, what each member decides and with which weight, how much was chance,
        what each feature adds to the score that decides, and whether the constraints changed the decision.
        Contributions are exact: they add up to the score, which is above 0 where the positive label is predicted. For
        linear members they are features times weights, in the units given; for trees they are path contributions; for
        plug-in rules they are about the log-odds of the label. Other members have no contributions, and neither do
        rules for more than two classes, which compare the costs of all classes.

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
        from ..explanations import ClassExplanations, Explanations

        attributes, features = self._attributes(X, sensitive_features), self._features(X)
        classifier = self.classifier_ if key is None else self.mixture_
        decided = classifier.members.decide(features, attributes=attributes)
        drawn = None
        if classifier.is_deterministic:
            drawn = np.zeros(len(decided), dtype=np.intp)
        elif self.output == "hashed":
            drawn = classifier.drawn(self._uniform(features, key))
        columns, free = columns_of_features(X), self._unconstrained(features, attributes)
        return (ClassExplanations if self._many else Explanations)(
            classes=self.classes_,
            positive=None if self._many else self.pos_label_,
            weights=classifier.weights,
            decided=decided,
            drawn=drawn,
            contributions=None if self._many else classifier.members.contributions(features, attributes=attributes),
            names=self._feature_names(len(columns)),
            values=tuple(columns),
            unconstrained=None if free is None else free[2],
        )

    def _feature_names(self, count: int) -> tuple[str, ...]:
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            return tuple(map(str, names))
        if getattr(self, "estimator_", self) is None:  # X holds scores instead of features
            return ("score",)
        return tuple(f"x{k}" for k in range(count))

    # -- storing ------------------------------------------------------------------------------------

    def to_onnx(self, path: str | os.PathLike[str], X: Any = None) -> None:
        """Write an ONNX model that decides as Python does, for services that are not Python. Needs ``equirate[onnx]``.

        Its outputs are ``pmf``, the probability of predicting each class; ``members``, what each member decides; and
        ``label``, where the output is a single classifier. The decisions are compared with Python's before anything is
        written, on generated rows and on ``X``; a model that decides one of them otherwise is refused, and so are
        models that cannot be exported: networks, lists of classifiers and models that need attributes.

        Parameters
        ----------
        path
            The file to write.
        X
            Further rows to compare on.
        """
        from .exporting import export_of, inputs_of

        check_is_fitted(self, "classifier_")
        export = export_of(self)
        export.write(path, None if X is None else inputs_of(export, X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to one file without pickle; `equirate.load` opens it again, on any machine, executing nothing.

        A `RatePostprocessor` can be saved if it is given scores (``estimator=None``) or has a linear classifier of
        scikit-learn, which is kept as its coefficients. Another estimator cannot be saved without pickle: save it in
        its own way, and the thresholds on its scores here.

        Parameters
        ----------
        path
            The file to write.
        """
        check_is_fitted(self, "classifier_")
        container.write(path, *self._plain())

    def _plain(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything to save, as JSON-ready data and arrays."""
        raise NotImplementedError

    def _read(self, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
        """A fitted estimator of the same class, from the output of `_plain`."""
        raise NotImplementedError

    def __getstate__(self) -> Any:
        """The state that skops stores: for a fitted estimator, the content of a saved file."""
        return {_FILE: container.to_bytes(*self._plain())} if hasattr(self, "problem_") else super().__getstate__()

    def __setstate__(self, content: Any) -> None:
        if set(content) != {_FILE}:
            super().__setstate__(content)
            return
        manifest, arrays = container.from_bytes(content[_FILE])
        if manifest.get("kind") != type(self).__name__:
            raise FileError(f"the state is that of a {manifest.get('kind')}, not of a {type(self).__name__}")
        self.__dict__.update(self._read(manifest, arrays).__dict__)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """The state that pickle and ``copy`` store: everything, including what no saved file holds."""
        return copyreg.__newobj__, (type(self),), super().__getstate__()  # type: ignore[attr-defined]  # not in the stubs

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a classifier; the result of an interrupted fit (``resume_``) does not count."""
        return hasattr(self, "classifier_")
