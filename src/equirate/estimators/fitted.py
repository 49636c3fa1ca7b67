"""State of a fitted estimator: its outputs, how the hashed one draws, and what pickle and skops store.

In: the outputs that `fit` has stored. Out: the classifier that predicts, its status, and decisions row by row.
`FittedEstimator` is the second part of `RateEstimator`.
"""

from __future__ import annotations

import copyreg
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._core.errors import FileError
from .._core.hashing import salted, uniform
from .._core.peers import Peers
from ..data.attributes import columns_of, fill_missing
from ..data.labels import one_hot
from ..game.classifiers import Classifier, checked_key, hashed_uniform
from ..game.status import Status
from ..judge.evaluation import Evaluation
from ..problem.problem import Problem
from ..selection.choice import FittedOutput
from ..storage import container
from ..training.draws import rows_repeat
from .attributes import named
from .inputs import InputChecks, compare_indexes
from .keys import row_keys, warn_few_keys

Array = NDArray[np.float64]
_FILE = "equirate_file"
"""The one entry of the state that skops stores: bytes, which are checked like any file."""


class FittedEstimator(InputChecks):
    """An estimator with outputs, one of which predicts.

    A subclass defines which one (`_output_name`), how features are checked (`_features`), and how it is saved
    (`_plain`, `_read`).
    """

    problem_: Problem
    notes_: Sequence[str]
    salt_: int
    outputs_: Mapping[str, FittedOutput]

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
        return self.classifier_.predict(X, attributes=attributes, random_state=self._draw_seed)

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
