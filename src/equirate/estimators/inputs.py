"""Checks of the inputs of estimators: parameters, labels, attributes and weights.

In: parameters and data as users pass them. Out: labels encoded as 0 and 1 with their attributes and weights
(`Examples`), or an error that names what is wrong. `InputChecks` is the first part of `RateEstimator`.
"""

from __future__ import annotations

import inspect
import itertools
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import MethodType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import type_of_target

from .._core.choices import Missing
from .._core.errors import DataError, EquirateError
from .._core.peers import Peers
from .._core.seeds import seed_of
from ..certification.methods import METHODS
from ..data.alignment import check_indexes
from ..data.arrays import one_dimensional, to_numpy
from ..data.attributes import fill_missing
from ..data.examples import Examples, empty_message
from ..data.labels import (
    Classes,
    check_number,
    codes_of,
    codes_of_predictions,
    distinct,
    plain,
    positive_label,
    refuse_mixed,
)
from ..data.sample import Given
from ..data.slices import Attribute
from ..judge.spread import clusters_of
from ..language.expressions import Constraint
from ..language.parity import attributes_in
from ..problem.problem import Objective, Problem, flat_constraints, not_an_objective
from .absent import refuse_unknown
from .attributes import attribute_names, named, refuse_unrouted, refuse_unsplit
from .refitting import ON_INTERRUPT
from .reporting import shown_label

Array = NDArray[np.float64]
MISSING = ("refuse", "group")
ONLY_BINARY = "Only binary classification is supported by "
"""Beginning of the error of a binary classifier for more than two classes, as scikit-learn's checks require it."""
UNKNOWN = "Unknown label type"
"""Beginning of the error of labels in an array of objects, as scikit-learn's checks require it."""
_THREE = (0, 1, 2)
_LOOKED_AT = 50  # constraints to check for more than two classes


class InputChecks(ClassifierMixin, BaseEstimator):
    """An estimator with a problem, whose parameters, labels and attributes are checked.

    A subclass has the parameters below and, when fitted, ``classes_``.
    """

    objective: Objective
    constraints: Any
    groups: Any
    output: str
    pos_label: Any
    missing: Missing
    random_state: Any
    classes_: NDArray[Any]
    _outputs: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__signature__ = inspect.signature(MethodType(cls.__init__, cls))  # without self; `__new__` would hide it

    def __new__(cls, *arguments: Any, **parameters: Any) -> Self:
        """Refuse parameters of other classifiers, and say what to use instead."""
        refuse_unknown(cls, parameters)
        instance: Self = super().__new__(cls)
        return instance

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, as in scikit-learn; refuses those of other classifiers, and says what to use instead.

        Parameters
        ----------
        **parameters
            Parameters of the constructor, or of an estimator inside (``name__parameter``), by name.

        Returns
        -------
        Self
            The estimator itself.
        """
        refuse_unknown(type(self), parameters)
        super().set_params(**parameters)
        return self

    def _check_parameters(self, shared: Peers) -> None:
        """Refuse invalid parameters, and take a seed from ``random_state``: one for all processes."""
        if not isinstance(self.objective, Objective):
            raise TypeError(not_an_objective(self.objective))
        one_of(self, "missing", MISSING)
        one_of(self, "output", self._outputs)
        one_of(self, "on_interrupt", ON_INTERRUPT)
        one_of(self, "confidence_method", METHODS)
        for name in ("scale", "two_sets", "warm_start", "refit"):
            value = getattr(self, name, False)
            if not isinstance(value, (bool, np.bool_)) and value not in (0, 1):
                raise EquirateError(
                    f"The {name!r} parameter of {type(self).__name__} must be True or False. Got {value!r} instead."
                )
        seed = seed_of(self.random_state, type(self).__name__)
        if shared.size > 1:
            seed = shared.first(secrets.randbelow(2**31) if seed is None else seed)
        self.seed_ = seed

    @property
    def _draw_seed(self) -> int:
        """Seed of stochastic predictions; from a generator, the number that `fit` drew."""
        drawn = isinstance(self.random_state, (np.random.RandomState, np.random.Generator))
        return seed_of(getattr(self, "seed_", None) if drawn else self.random_state, type(self).__name__) or 0

    @property
    def _many(self) -> bool:
        """Whether there are more than two classes."""
        return len(self.classes_) > 2

    @property
    def class_values_(self) -> Classes:
        """The classes by value, in the order of their codes: of two, the positive one is the second."""
        values = self.classes_ if self._many else (self._neg_label, self.pos_label_)
        return tuple(map(plain, values))

    @property
    def pos_label_(self) -> Any:
        """The positive label: ``pos_label``, or the larger one."""
        if self._many:
            raise AttributeError(f"there are {len(self.classes_)} classes, of which none is the positive one")
        return positive_label(self.pos_label, self.classes_)

    @property
    def _neg_label(self) -> Any:
        return self.classes_[0] if self.classes_[1] == self.pos_label_ else self.classes_[1]

    def _default_label(self) -> str:
        """The positive label if labels are text and ``pos_label`` was not set; else empty."""
        if self._many:
            return ""
        text = isinstance(self.classes_[-1], str)
        return shown_label(self.pos_label_) if text and self.pos_label is None else ""

    def _labels(self, y: ArrayLike) -> NDArray[Any]:
        """Encode labels as 0 and 1, or as codes of more classes; refuse those that are not in ``classes_``."""
        labels = one_dimensional(to_numpy(y), "y")
        if self._many:
            try:
                return codes_of(labels, self.class_values_, "y")
            except DataError:
                unknown = labels[~np.isin(labels.astype(object), self.classes_.astype(object))]
                if not unknown.size:
                    raise
        else:
            positive = labels == self.pos_label_
            unknown = labels[~(positive | (labels == self._neg_label))]
        if unknown.size:
            names = sorted({str(label) for label in unknown.tolist()})
            raise DataError(
                f"y holds labels that were not in training: {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}; "
                f"the labels that the estimator was trained on are {self.classes_.tolist()}"
            )
        return np.asarray(positive, dtype=np.int8)

    def _decode(self, decided: NDArray[np.int_]) -> NDArray[Any]:
        """Decode decisions, 0 and 1 or codes, to labels."""
        if self._many:
            return np.asarray(self.classes_)[decided]
        return np.where(decided == 1, np.array([self.pos_label_]), np.array([self._neg_label]))

    def _by_class(self, p: Array) -> Array:
        """Probabilities of the positive class, or of all, as a column for each of ``classes_``."""
        if self._many:
            return p
        return np.stack([p, 1 - p] if self.classes_[0] == self.pos_label_ else [1 - p, p], axis=1)

    def _problem_takes_classes(self) -> bool:
        """Whether objective and constraints take any number of classes; only the first constraints are checked."""
        try:
            self.objective.expr.for_classes(_THREE)
            for constraint in itertools.islice(flat_constraints(self.constraints), _LOOKED_AT):
                if isinstance(constraint, Constraint):
                    constraint.in_classes(_THREE)
        except (AttributeError, TypeError, EquirateError):
            return False
        return True

    def _expanded(self, problem: Problem, examples: Examples) -> Problem:
        """The problem written out for the groups and the classes in the data; refuses rates without examples."""
        try:
            expanded = problem.expanded(examples)
        except DataError as error:
            # A label that is missing from y does not mean that the problem is for two classes.
            if not self._many or self._problem_takes_classes() or "y has no class" in str(error):
                raise
            raise DataError(f"{ONLY_BINARY}this problem: {error}") from None
        refuse_empty(expanded, examples)
        return expanded

    def _looked_up(self) -> tuple[str, ...]:
        """Names of the attributes that are needed to predict."""
        parts = () if self.groups is None else attributes_in(self.groups)
        return tuple(sorted({name for part in parts for name in _names_in(part)}))

    def _examples(self, problem: Problem, y: ArrayLike, data: Given, clusters: Any) -> Examples:
        """Labels as codes, attributes and weights; missing attributes as in ``missing``, baselines as labels.

        ``y`` are the labels of the data, checked.
        """
        labels = self._labels(y)
        people = named(data.attributes, attribute_names(problem) | set(self._looked_up()), data.X)
        refuse_unsplit(people, len(labels))
        codes = tuple(range(len(self.classes_))) if self._many else None
        examples = Examples.of(labels, people, data.sample_weight, fallback=data.X, compared=True, classes=codes)
        cluster_ids = clusters_of(clusters, len(examples), examples.shared)
        examples = replace(examples, classes=self.class_values_, clusters=cluster_ids)
        refuse_unrouted(problem, examples)
        return read_baselines(examples, problem, self.missing)


def _names_in(part: Any) -> Iterable[str]:
    """Names of the attributes in an attribute or a slice; none for other types, which are refused elsewhere."""
    return (part.name,) if isinstance(part, Attribute) else getattr(part, "attributes", ())


def read_baselines(examples: Examples, problem: Problem, missing: Missing = "refuse") -> Examples:
    """Examples with predictions of other models as 0 and 1 (or values of more classes), if they are labels.

    Missing attributes are treated as ``missing`` says.
    """
    columns = examples.columns if missing == "refuse" else fill_missing(examples.columns)
    classes, read = examples.classes, dict(columns)
    for name in problem.baselines():
        codes = codes_of_predictions(columns[name], classes, f"the baseline {name!r}") if name in columns else None
        if codes is not None:
            read[name] = codes if len(classes) == 2 else np.array([classes[code] for code in codes.tolist()])
    return examples.with_columns(read)


def two_values(classes: NDArray[Any], positive: Any) -> Classes:
    """Two classes by value, the positive one second; if there is no other class, the first is ``not positive``."""
    others = [value for value in map(plain, classes) if value != positive]
    return (others[0] if others else f"not {positive!r}", plain(positive))


def one_of(estimator: Any, name: str, allowed: Sequence[str]) -> None:
    """Refuse a parameter that is not one of the allowed strings."""
    value = getattr(estimator, name)
    if value not in allowed:
        raise EquirateError(
            f"The {name!r} parameter of {type(estimator).__name__} must be one of {', '.join(map(repr, allowed))}. "
            f"Got {value!r} instead."
        )


def classes_in(y: NDArray[Any], shared: Peers, pos_label: Any = None) -> NDArray[Any]:
    """The labels in y, sorted; refuses fewer than two, and targets that are not classes."""
    refuse_mixed(np.asarray(y), "y")
    _refuse_objects(np.asarray(y))
    own_classes = distinct(np.asarray(y))
    two = y.ndim == 1 and y.dtype.kind in "iu" and len(own_classes) <= 2  # avoids scikit-learn's pass through y
    kind = "binary" if two else type_of_target(y, input_name="y", raise_unknown=True)
    classes: NDArray[Any] = np.unique(np.concatenate(shared.gather(own_classes)))
    if kind not in ("binary", "multiclass"):
        fix = " Cut a quantity into classes, or make text of numbers that name classes: y.astype(str)."
        raise DataError(
            "Only classification is supported, one class for each example. "
            f"The type of y is {kind}.{fix if kind == 'continuous' else ''}"
        )
    if not len(classes):
        raise DataError("y is empty")
    if len(classes) < 2:
        raise DataError(f"y has one class only ({plain(classes[0])!r}): a classifier needs examples of both labels")
    check_number(len(classes), len(y))
    if len(classes) > 2 and pos_label is not None:
        raise DataError(f"pos_label is for two classes, and y has {len(classes)}: name classes with label= in rates")
    return classes


def _refuse_objects(y: NDArray[Any]) -> None:
    """Refuse numbers and booleans in an array of Python objects, which scikit-learn does not take for labels."""
    if y.dtype != object or all(isinstance(label, str) for label in y.flat):
        return
    kinds = {"a boolean" if isinstance(label, (bool, np.bool_)) else "a number": plain(label) for label in y.flat}
    if len(kinds) > 1:
        shown = " and ".join(f"{label!r} ({kind})" for kind, label in sorted(kinds.items()))
        raise DataError(
            f"{UNKNOWN}: y holds labels of mixed types, such as {shown}: convert them to one type, for example with "
            "astype(int)"
        )
    kind, new = ("booleans", "bool") if "a boolean" in kinds else ("numbers", "int")
    raise DataError(
        f"{UNKNOWN}: y is an array of objects that holds {kind}: convert it, for example with astype({new})"
    )


def compare_indexes(X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> None:
    """Compare the indexes of the arguments of an estimator's methods."""
    arguments = {"X": X, "y": y, "sensitive_features": sensitive_features, "sample_weight": sample_weight}
    check_indexes(arguments)


def refuse_empty(problem: Problem, examples: Examples) -> None:
    """Refuse rates without any examples to measure them on."""
    for rate in problem.rates():
        if not examples.has(rate):
            raise DataError(empty_message(rate, examples))
