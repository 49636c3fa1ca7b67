"""`Predictor`: the outputs of a fitted estimator, one of which predicts.

In: a fitted estimator, and features. Out: labels, probabilities of labels, and the predictions that rates are measured
by. `RateEstimator` builds on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._core.errors import EquirateError, EquirateWarning
from .._core.hashing import salted, uniform
from .._core.peers import ALONE, Peers
from .._core.warning import warn
from ..data.attributes import columns_of, fill_missing
from ..data.labels import one_hot
from ..game.classifiers import Classifier, checked_key, hashed_uniform
from ..game.status import Status
from ..judge.certification_record import Certification
from ..judge.evaluation import Evaluation
from ..problem.problem import Problem
from ..selection.choice import FittedOutput
from ..training.draws import rows_repeat
from .attributes import named
from .inputs import InputChecks, compare_indexes
from .keys import row_keys, warn_few_keys

Array = NDArray[np.float64]


class Predictor(InputChecks):
    """A classifier with several outputs, one of which predicts (`_output_name`).

    A subclass defines how features are checked (`_features`).
    """

    problem_: Problem
    salt_: int
    outputs_: Mapping[str, FittedOutput]
    certification_: Certification | None

    # -- outputs ---------------------------------------------------------------------------------

    @property
    def _output_name(self) -> str:
        """Name of the output that predicts."""
        if self.output == "hashed" and "served" in self.outputs_:  # rows repeat
            return "served"
        return "deterministic" if self.output == "deterministic" else "stochastic"

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
        return self.classifier_ if self.output == "deterministic" else self.outputs_["stochastic"].classifier

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

    @property
    def notes_(self) -> tuple[str, ...]:
        """Notes for the user on the output that predicts."""
        notes = list(self.status_.advice)
        last = list(self.parts_.values())[-1]
        if last.positive_rate in (0.0, 1.0):
            notes.append(
                f"the classifier predicts {'1' if last.positive_rate else '0'} for everybody: the constraints may "
                "leave nothing else, or the features say too little about the label"
            )
        return tuple(dict.fromkeys([*notes, *self._extra_notes()]))

    def _extra_notes(self) -> Iterable[str]:
        """Further notes, on the model or its features."""
        return ()

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
            warn(
                'a single row is always the first of its batch, so output="stochastic" gives every one of them the '
                'same draw: use output="hashed", or predict in batches',
                EquirateWarning,
            )
        return decided

    def _repeat(self, X: Any, shared: Peers, weights: Array | None = None) -> bool:
        """Whether rows repeat, in training or in X, so that the hashed output is judged by its decisions.

        Rows without weight do not count.
        """
        if self.output != "hashed" or self.classifier_.is_deterministic:
            return False
        if getattr(self, "repeats_", False):
            return True
        hashes = row_keys(X)
        return rows_repeat(hashes if weights is None else hashes[weights > 0], shared=shared)

    def _served(self, X: Any, attributes: Any, shared: Peers, weights: Array | None = None) -> Array:
        """The predictions to judge: decisions if rows repeat, else the mixture's probabilities."""
        if self._repeat(X, shared, weights):
            decided = self._hashed(X, None, attributes)
            return one_hot(decided, len(self.classes_)) if self._many else decided.astype(float)
        return self.classifier_.expected(X, attributes=attributes)

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
