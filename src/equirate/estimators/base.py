"""`RateEstimator`: what `RateClassifier` and `RatePostprocessor` share.

In: a fitted estimator, and data. Out: predictions; numbers, certificates, reports and explanations of what the
classifier that predicts achieves for its problem; and files.
"""

from __future__ import annotations

import copyreg
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._core.choices import CertificateMethod, Correction
from .._core.errors import DataError, FileError
from .._core.peers import all_processes
from ..data.arrays import to_numpy
from ..data.sample import Given, Sample
from ..judge.certify import Certificates, certify
from ..judge.evaluation import Evaluation
from ..problem.problem import Problem
from ..reports.report import Report
from ..storage import container
from ..storage.provenance import is_trained_on
from . import reporting
from .inputs import compare_indexes
from .keys import columns_of_features
from .prediction import Predictor

if TYPE_CHECKING:
    from ..explanations import Explanations

Array = NDArray[np.float64]
_FILE = "equirate_file"
"""The one entry of the state that skops stores: bytes, which are checked like any file."""


class RateEstimator(Predictor):
    """A classifier for a problem, with the methods that evaluate, report and store it.

    A subclass defines how features are checked (`_features`), and how it is saved (`_plain`, `_read`).
    """

    __metadata_request__score = {"sensitive_features": False}  # noqa: RUF012  # only thresholds for groups need them

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # as scikit-learn names it
        """The parameters and, for a fitted estimator, its status."""
        written = str(super().__repr__(N_CHAR_MAX))
        status = getattr(self, "status_", None) if hasattr(self, "classes_") else None
        return written if status is None else "\n  # ".join([written, *status.summary()])

    # -- judging ---------------------------------------------------------------------------------

    def _served_rows(self, sample: Sample) -> Array:
        """The predictions to judge on a sample."""
        examples = sample.examples
        return self._served(sample.X, examples.columns, examples.shared, examples.weights)

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
            predictions = self._served_rows(sample)
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
            predictions = self._served_rows(sample)
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
        columns = sample.examples.columns
        predictions = self._served_rows(sample)
        repeated = self._repeat(sample.X, sample.examples.shared, sample.examples.weights)
        if baseline is None:
            compared = self._unconstrained(sample.X, columns)
        else:
            labels = self.classes_, None if self._many else self.pos_label_
            compared = reporting.baseline_of(baseline, X, sensitive_features, *labels, len(sample))
        report = reporting.of_data(self, sample, predictions, repeated, confidence, compared, frontier)
        if is_trained_on(self, X, y, sensitive_features, sample_weight):
            return replace(report, notes=(*report.notes, reporting.SEEN))
        return report

    def _unconstrained(self, X: Any, attributes: Any) -> tuple[str, str, Array] | None:
        """A baseline to compare with: its name, a description and its predictions; None if there is none."""
        free = self.outputs_.get("unconstrained")
        if free is None:
            return None
        return (*reporting.UNCONSTRAINED, free.classifier.expected(X, attributes=attributes))

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
