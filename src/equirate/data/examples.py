"""Input checks: labels, attributes and weights as users have them, checked once.

In: anything array-like, pandas or polars frames, dicts. Out: `Examples`, which knows labels (0/1), weights
and attribute columns, and measures a linear rate on given predictions. Everything past this module trusts it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.errors import DataError
from .._core.late import Late
from .._core.peers import Peers, peers
from .alignment import check_indexes
from .kinds import ClassCodes, RateKind, among, class_terms
from .labels import BINARY, Classes, check_number, class_probabilities, classes_of, codes_of, plain
from .slices import (
    EVERYBODY,
    Columns,
    Comparison,
    Complement,
    Everybody,
    Mask,
    Slice,
    column_of,
    comparisons,
    is_missing,
    unknown_values,
)

if TYPE_CHECKING:
    import narwhals as nw
else:
    nw = Late("narwhals")

Array = NDArray[np.float64]

_ORDERED = ("<", "<=", ">", ">=")

UNNAMED = "group"
"""Name of an attribute given as a bare array or an unnamed series."""
_LIGHTEST = 2.0**-64  # products of weights that are all much smaller, or much larger, would under- or overflow
_ROUNDED = 1e-9  # how far rounding in other libraries takes a probability out of [0, 1]
_BLOCK = 1 << 20  # examples that are processed together
_ALONE = 1 << 16  # examples up to which each has a weight of its own in memory
_MASKS = 64  # masks that are cached: those of more slices, such as hundreds of groups, would fill the memory
_LONGEST_TEXT = 100  # fixed-width arrays of longer text would take too much memory


@dataclass(frozen=True, eq=False)
class Examples:
    """Labels, weights and attributes of a sample, checked.

    Use `Examples.of` to make one.
    """

    labels: NDArray[Any]
    """Codes of ``classes``: 0 and 1, or 0, 1, 2 ..."""
    weights: Array
    columns: Columns
    categories: frozenset[str] = frozenset()
    given: bool = True
    """Whether there are attributes beside the columns of features."""
    ambiguous: frozenset[str] = frozenset()
    """Names that several columns of features share."""
    clusters: NDArray[np.int64] | None = None
    """Number of the cluster, such as a person, that each example belongs to; None if examples are independent."""
    classes: Classes = BINARY
    """The labels by value, in the order of their codes."""
    shared: Peers = field(default_factory=peers, repr=False)
    """The processes that share the examples; sums over the examples are sums over these processes."""
    _masks: dict[Slice, Mask] = field(default_factory=dict, repr=False)
    _codes: dict[str, tuple[dict[Any, int], NDArray[np.int32]]] = field(default_factory=dict, repr=False)
    _checked: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        y: ArrayLike,
        attributes: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        fallback: Any = None,
        two_classes: bool = False,
        compared: bool = False,
        classes: Classes | None = None,
    ) -> Examples:
        """Check labels, attributes and weights and combine them.

        Parameters
        ----------
        y
            Labels: 0/1, False/True or -1/1; values of ``classes`` where these are given.
        attributes
            A data frame, a dict of arrays, a series or an array (then its name is ``"group"``).
        sample_weight
            Non-negative weights, one per example; None for equal weights.
        fallback
            The features: where they are a data frame, its columns serve as attributes not given otherwise.
        two_classes
            Whether both labels must occur (training) or not (evaluation).
        compared
            Whether the caller has compared the indexes of pandas inputs already.
        classes
            All classes by value, where labels are not 0/1; of two, the second one counts as 1.
        """
        refuse_lazy(fallback, "X")
        if not compared:
            check_indexes({"X": fallback, "y": y, "attributes": attributes, "sample_weight": sample_weight})
        labels = binary(y, "y") if classes is None else coded(y, classes, "y")
        if two_classes and labels.size:
            low, high = peers().range(int(labels.min()), int(labels.max()))
            if low == high:
                raise DataError(f"y has one class only (all {low}): a classifier needs examples of both labels")
        columns = columns_of(attributes, fallback)
        categories = _categories(fallback) | _categories(attributes)
        for name, column in columns.items():
            same_length(column, len(labels), f"attribute {name!r}")
        weights, shared = _weights(sample_weight, len(labels)), shared_names(fallback) - columns.keys()
        values = BINARY if classes is None else classes
        return cls(labels, weights, columns, categories, attributes is not None, shared, classes=values)

    def __len__(self) -> int:
        """Count the examples."""
        return len(self.labels)

    def take(self, rows: NDArray[np.intp] | slice) -> Examples:
        """Some of the examples, in the order given; masks and columns that were checked are not checked again."""
        masks = {slice_: mask[rows] for slice_, mask in self._masks.items()}
        checked = {name: column[rows] for name, column in self._checked.items()}
        columns = TakenColumns(self.columns, rows)
        labels, weights = self.labels[rows], taken_weights(self.weights, rows)
        codes = {name: (numbers, coded[rows]) for name, (numbers, coded) in self._codes.items()}
        clusters = None if self.clusters is None else self.clusters[rows]
        part = replace(self, labels=labels, weights=weights, columns=columns, clusters=clusters)
        return replace(part, _masks=masks, _checked=checked, _codes=codes)

    def with_columns(self, columns: Columns) -> Examples:
        """The same examples with other attribute columns."""
        return replace(self, columns=columns, _masks={}, _checked={}, _codes={})

    def column(self, name: str) -> NDArray[Any]:
        """Return an attribute with no missing values, in the plainest dtype; refuses others by name."""
        if name in self.ambiguous:
            raise DataError(
                f"several columns of X are called {name!r}: rename them, or pass the one you mean as an attribute"
            )
        if name not in self._checked:
            self._checked[name] = _complete(column_of(self.columns, name, self.given), name)
        return self._checked[name]

    def mask(self, slice_: Slice) -> Mask:
        """Which examples belong to a slice; refuses unknown attributes and missing values by name."""
        known = self._masks.get(slice_)
        if known is not None:
            return known
        mask = self._mask(slice_)
        if len(self._masks) < _MASKS:
            self._masks[slice_] = mask
        return mask

    def _mask(self, slice_: Slice) -> Mask:
        if isinstance(slice_, Everybody):
            return np.ones(len(self), dtype=bool)
        if isinstance(slice_, Complement):
            return ~self.mask(slice_.part)
        if isinstance(slice_, Comparison) and slice_.symbol == "==" and len(self._masks) >= _MASKS:
            column = self.column(slice_.attribute)
            if column.dtype.kind in "UO" and isinstance(slice_.value, str):
                numbers, codes = self._coded(slice_.attribute)
                return np.asarray(codes == numbers.get(slice_.value, -1))
        for part in comparisons(slice_):
            text = part.attribute in self.categories and self.column(part.attribute).dtype.kind not in "biuf"
            if text and part.symbol in _ORDERED:
                raise DataError(
                    f"cannot evaluate the slice {slice_!r}: {part.attribute!r} holds categories, whose order "
                    "is not that of their names; list them, as in .isin([...]), or give numbers"
                )
        return slice_.mask({name: self.column(name) for name in sorted(slice_.attributes)})

    def _coded(self, name: str) -> tuple[dict[Any, int], NDArray[np.int32]]:
        """Codes of the distinct values of an attribute, and the code of each example: for many slices of it."""
        if name not in self._codes:
            numbers: dict[Any, int] = {}
            column = self.column(name).tolist()
            codes = np.fromiter((numbers.setdefault(value, len(numbers)) for value in column), np.int32, len(column))
            self._codes[name] = numbers, codes
        return self._codes[name]

    def baseline(self, name: str) -> NDArray[Any]:
        """Return another model's predictions, held in an attribute: 0/1, or codes of more than two classes."""
        if len(self.classes) > 2:
            return codes_of(self.column(name), self.classes, f"the baseline {name!r}")
        try:
            return binary(self.column(name), f"the baseline {name!r}", only_01=True)
        except DataError as error:
            if name not in self.columns:
                raise
            raise DataError(f"{error}; give the other model's 0/1 predictions in that attribute") from None

    def has(self, kind: RateKind, slice_: Slice, codes: ClassCodes | None = None) -> bool:
        """Whether any process has examples to measure a rate on."""
        inside = self.mask(slice_)
        if len(kind.labels) == 1:  # measured among one label only
            inside = inside & among(kind, codes, self.labels)
        return self.shared.some((self.weights[inside] != 0).any())

    def measure(
        self,
        kind: RateKind,
        slice_: Slice,
        baseline: str | None,
        predictions: Array,
        codes: ClassCodes | None = None,
    ) -> float:
        """Return the exact value of a linear rate on predictions.

        They are 0/1 or probabilities of predicting 1; of more than two classes, probabilities (examples, classes).
        """
        if len(self.classes) > 2:
            return self._measure_classes(kind, slice_, baseline, predictions, codes)
        mask, other = self.mask(slice_), None if baseline is None else self.baseline(baseline)
        sums = np.zeros(2)
        for first in range(0, len(self), _BLOCK):  # temporary arrays of one block only
            rows = slice(first, first + _BLOCK)
            labels = self.labels[rows]
            weight = np.where(mask[rows] & np.isin(labels, kind.labels), self.weights[rows], 0.0)
            table = np.array(kind.contributions)[labels, 0 if other is None else other[rows]]
            sums += weight @ (table[:, 0] * predictions[rows] + table[:, 1]), weight.sum()
        counted, total = self.shared.total(sums)
        if total <= 0:
            raise DataError(empty_message(kind, slice_, self))
        rate = float(counted / total)
        return min(max(rate, 0.0), 1.0)  # rounding must not take a rate out of [0, 1]

    def _measure_classes(
        self, kind: RateKind, slice_: Slice, baseline: str | None, predictions: Array, codes: ClassCodes | None
    ) -> float:
        mask, other = self.mask(slice_), None if baseline is None else self.baseline(baseline)
        sums = np.zeros(2)
        for first in range(0, len(self), _BLOCK):
            rows = slice(first, first + _BLOCK)
            labels = self.labels[rows]
            weight = np.where(mask[rows] & among(kind, codes, labels), self.weights[rows], 0.0)
            terms = class_terms(kind, codes, labels, None if other is None else other[rows])
            sums += weight @ terms.expected(predictions[rows]), weight.sum()
        counted, total = self.shared.total(sums)
        if total <= 0:
            raise DataError(empty_message(kind, slice_, self, codes))
        return min(max(float(counted / total), 0.0), 1.0)


@dataclass(frozen=True, eq=False)
class TakenColumns(Mapping[str, NDArray[Any]]):
    """Some rows of columns, selected on first use: most columns of a frame are no attributes."""

    columns: Columns
    rows: NDArray[np.intp] | slice

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name][self.rows]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def empty_message(kind: RateKind, slice_: Slice, examples: Examples, codes: ClassCodes | None = None) -> str:
    """Say that a rate has no examples, and which value of the slice does not occur."""
    example = {(0, 1): "example", (1,): "example with label 1", (0,): "example with label 0"}[kind.labels]
    if codes is not None and len(kind.labels) == 1:
        other = "another label than" if kind.labels == (0,) else "label"
        example = f"example with {other} {examples.classes[codes.label]!r}"
    where = "the data" if slice_ == EVERYBODY else f"the slice {slice_!r}"
    why = unknown_values(slice_, {name: examples.column(name) for name in sorted(slice_.attributes)})
    return f"{kind.name} cannot be measured: {where} holds no {example} with positive weight" + (why and f" ({why})")


def binary(values: ArrayLike, name: str, *, only_01: bool = False) -> NDArray[np.int8]:
    """Turn 0/1, False/True or (unless ``only_01``) -1/1 into int8 0/1, or refuse by name."""
    array = _one_dimensional(to_numpy(values), name)
    if array.size == 0:
        raise DataError(f"{name} is empty")
    allowed = "0 and 1" if only_01 else "0 and 1 (or False/True, or -1/1)"
    numbers = _numbers(array, name)
    if numbers is None:
        texts = sorted({str(v) for v in array.tolist()})
        shown = ", ".join(map(repr, texts[:4])) + (", ..." if len(texts) > 4 else "")
        other = f"; elsewhere give pos_label, or compare: y == {texts[-1]!r}" if len(texts) == 2 else ""
        hint = "" if only_01 else f". RateClassifier takes any two label values and maps them for you{other}"
        raise DataError(f"{name} must hold {allowed}; got {shown}{hint}")
    distinct = np.unique(np.concatenate(peers().gather(np.unique(numbers))))
    if set(distinct) <= {0.0, 1.0}:
        return numbers.astype(np.int8)
    if not only_01 and set(distinct) <= {-1.0, 1.0}:
        return (numbers > 0).astype(np.int8)
    shown = ", ".join(f"{v:g}" for v in distinct[:5]) + (", ..." if len(distinct) > 5 else "")
    raise DataError(f"{name} must hold {allowed}; got the values {shown}")


def coded(values: ArrayLike, classes: Classes, name: str) -> NDArray[Any]:
    """Labels as codes of classes by value; refuses missing values, an empty array, and values that are no class."""
    array = _one_dimensional(to_numpy(values), name)
    if array.size == 0:
        raise DataError(f"{name} is empty")
    refuse_missing(array, name)
    return codes_of(array, classes, name)


def label_classes(values: ArrayLike, name: str, more: Iterable[Any] = ()) -> Classes:
    """The distinct labels of an array and some more, in order; refuses missing values and mixed types."""
    array = _one_dimensional(to_numpy(values), name)
    refuse_missing(array, name)
    if array.dtype.kind not in "biufOUS":
        raise DataError(f"{name} must hold text, whole numbers or booleans; got the dtype {array.dtype}")
    classes = classes_of(array, name, more)
    check_number(len(classes), len(array), name)
    return classes


def _may_be_classes(array: NDArray[Any]) -> bool:
    """Whether labels are other than 0/1, False/True and -1/1; other checks refuse what is no array of labels."""
    if array.size == 0 or array.ndim > 2 or (array.ndim == 2 and array.shape[1] > 1) or has_missing(array):
        return False
    return not _is_fractional(array) and _distinct(array) not in ({0}, {1}, {-1}, {0, 1}, {-1, 1})


def many_classes(y: ArrayLike) -> Classes | None:
    """The classes of labels that are more than two; None for two or fewer, which are 0/1, False/True or -1/1."""
    if not peers().some(_may_be_classes(to_numpy(y))):  # a class may occur on one process only
        return None
    classes = label_classes(y, "y")
    return classes if len(classes) > 2 else None


def examples_and_predictions(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    attributes: Any = None,
    sample_weight: ArrayLike | None = None,
    *,
    pos_label: Any = None,
    classes: Iterable[Any] | None = None,
    mentioned: Collection[Any] = (),
) -> tuple[Examples, Array]:
    """Labels and predictions of two classes or of more, checked together.

    Labels that are 0/1, False/True or -1/1, or that ``pos_label`` splits, are two classes as everywhere else. All
    others are classes by value: those of ``classes``, or all that occur in the labels, in the predictions and among
    those ``mentioned``.
    """
    if pos_label is not None:
        y_true, y_pred = by_label(y_true, y_pred, pos_label)
    elif classes is not None or not _is_binary(y_true, y_pred, mentioned):
        return _class_predictions(y_true, y_pred, attributes, sample_weight, classes, mentioned)
    examples = Examples.of(y_true, attributes, sample_weight)
    if -1 in mentioned:
        examples = replace(examples, classes=(-1, 1))
    return examples, predictions_of(y_pred, len(examples))


def _is_binary(y_true: ArrayLike, y_pred: ArrayLike, mentioned: Iterable[Any]) -> bool:
    """Whether labels, and predictions that are labels, are 0/1, False/True or -1/1, or cannot be classes at all."""
    true, predicted = to_numpy(y_true), to_numpy(y_pred)
    if true.size == 0 or true.ndim > 2 or (true.ndim == 2 and true.shape[1] > 1) or has_missing(true):
        return True  # `binary` refuses these by name
    labels = _distinct(true) | set(mentioned)
    if _is_fractional(true):
        return True  # `binary` refuses these, too
    if predicted.ndim == 2 and predicted.shape[1] > 1:
        return predicted.shape[1] == 2 and (labels <= {0, 1} or labels <= {-1, 1})
    text = predicted.dtype.kind in "OUS" and any(isinstance(value, str) for value in predicted.reshape(-1)[:1])
    if predicted.dtype.kind != "f" and (not text or not labels <= {-1, 0, 1}):
        labels |= {value for value in _distinct(predicted) if not is_missing(value)}
    elif (
        predicted.dtype.kind == "f"
        and labels <= {0, 1}
        and predicted.size
        and predicted.max() >= 2
        and (predicted % 1 == 0).all()
    ):
        return False  # a label beyond 1, as a float
    return labels <= {0, 1} or labels <= {-1, 1}


def _is_fractional(array: NDArray[Any]) -> bool:
    """Whether an array holds numbers that are not whole, which are no labels."""
    return array.dtype.kind == "f" and not bool((array == np.floor(array)).all())


def _distinct(array: NDArray[Any]) -> set[Any]:
    """The different values of an array, quickly where they are -1, 0 and 1."""
    if array.dtype == object:
        return set(map(plain, array.reshape(-1).tolist()))
    if array.dtype.kind in "biuf":
        matches = [array == value for value in (-1, 0, 1)]
        if np.logical_or.reduce(matches).all():
            return {value for value, mask in zip((-1, 0, 1), matches, strict=True) if mask.any()}
    return set(np.unique(array).tolist())


def _class_predictions(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    attributes: Any,
    sample_weight: ArrayLike | None,
    classes: Iterable[Any] | None,
    mentioned: Iterable[Any],
) -> tuple[Examples, Array]:
    predicted = to_numpy(y_pred)
    predicted = predicted[:, 0] if predicted.ndim == 2 and predicted.shape[1] == 1 else predicted
    refuse_missing(predicted, "y_pred")
    if classes is None:
        more = [*mentioned, *(set(map(plain, predicted.tolist())) if predicted.ndim == 1 else ())]
        values = label_classes(y_true, "y", more)
    else:
        values = tuple(map(plain, classes))
    examples = Examples.of(y_true, attributes, sample_weight, classes=values)
    probabilities = class_probabilities(predicted, values, len(examples))
    return examples, probabilities if len(values) > 2 else probabilities[:, -1]


def predictions_of(values: ArrayLike, length: int) -> Array:
    """Check predictions: 0/1 (or -1/1), or probabilities of predicting 1."""
    array = _one_dimensional(to_numpy(values), "y_pred")
    same_length(array, length, "y_pred")
    numbers = _numbers(array, "y_pred")
    allowed = "y_pred must hold 0/1 predictions or probabilities of predicting 1, all in [0, 1]"
    if numbers is None:
        raise DataError(f"{allowed}; got values such as {array[0]!r}")
    if set(np.unique(numbers)) <= {-1.0, 1.0}:
        return np.asarray(numbers > 0, dtype=float)
    if numbers.min() < -_ROUNDED or numbers.max() > 1 + _ROUNDED:
        raise DataError(f"{allowed}; they range from {numbers.min():.12g} to {numbers.max():.12g}")
    return np.clip(numbers, 0.0, 1.0)


def by_label(y_true: ArrayLike, y_pred: ArrayLike, pos_label: Any) -> tuple[NDArray[np.int8], Any]:
    """Labels of any two values as 0 and 1, and predictions likewise where they are labels rather than probabilities.

    Examples
    --------
    >>> by_label(["no", "yes"], ["yes", "yes"], "yes")[1].tolist()
    [1, 1]
    >>> by_label(["no", "yes"], [0.2, 0.9], "yes")[1].tolist()
    [0.2, 0.9]
    """
    true, predicted = (_one_dimensional(to_numpy(values), name) for values, name in ((y_true, "y"), (y_pred, "y_pred")))
    for array, name in ((true, "y"), (predicted, "y_pred")):
        refuse_missing(array, name)
    labels = set(true.tolist())
    if predicted.dtype.kind != "f" or set(predicted.tolist()) <= labels | {pos_label}:
        labels |= set(predicted.tolist())
        predicted = np.asarray(predicted == pos_label, dtype=np.int8)
    if len(labels | {pos_label}) > 2 or pos_label not in labels:
        shown = ", ".join(sorted(map(repr, labels))[:5])
        raise DataError(f"with pos_label={pos_label!r}, labels must be that and one other; there are {shown}")
    return np.asarray(true == pos_label, dtype=np.int8), predicted


def _one_dimensional(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Refuse tables; a single column counts as one-dimensional."""
    if array.ndim == 2 and array.shape[1] == 1:
        return array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{name} must be one-dimensional; got shape {array.shape}")
    return array


def _numbers(array: NDArray[Any], name: str) -> Array | None:
    """Turn an array into floats, all finite; None if it does not hold numbers."""
    if array.dtype == object:
        refuse_missing(array, name)
        if not all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in array):
            return None
    elif array.dtype.kind not in "biuf":
        return None
    try:
        numbers = array.astype(float)
    except OverflowError:
        raise DataError(f"{name} holds a whole number beyond 1.8e308") from None
    refuse_missing(numbers, name)
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        raise DataError(f"{name} has infinite values, the first in row {row}")
    return numbers


def _missing(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are None, NaN, NaT or pandas.NA."""
    if array.dtype == object:
        return np.fromiter((is_missing(value) for value in array.ravel()), dtype=bool, count=array.size)
    return (array != array).ravel() if array.dtype.kind in "fcmM" else np.zeros(0, dtype=bool)


def has_missing(array: NDArray[Any]) -> bool:
    """Whether any value is missing."""
    return bool(_missing(array).any())


def refuse_missing(array: NDArray[Any], name: str) -> None:
    """Refuse None, NaN, NaT and pandas.NA, and say how many there are and where the first is."""
    missing = _missing(array)
    count = int(missing.sum())
    if count:
        raise DataError(
            f"{name} has {count} missing value{'s' * (count > 1)} (NaN or None), the first in row "
            f"{int(np.flatnonzero(missing)[0])}: drop those examples or fill them in"
        )


def same_length(array: NDArray[Any], length: int, name: str) -> None:
    """Refuse arrays whose length differs from the labels'."""
    if len(array) != length:
        raise DataError(f"{name} has {len(array)} values, but y has {length}: they must describe the same examples")


def scores_of(values: Any) -> Array:
    """Check scores: one finite number per example, as an array, a series or a single column."""
    array = _one_dimensional(to_numpy(values), "X (the scores)")
    numbers = _numbers(array, "X (the scores)")
    if numbers is None:
        raise DataError(f"X must hold one score per example; got values such as {array[0]!r}")
    return numbers


def probabilities_of(values: Any, classes: Classes) -> Array:
    """Check probabilities of more than two classes, given instead of features."""
    array = to_numpy(values)
    if array.ndim != 2:
        raise DataError(
            f"X must hold a probability of each of the {len(classes)} classes for each example; got shape {array.shape}"
        )
    return class_probabilities(array, classes, len(array))


def to_numpy(values: Any) -> NDArray[Any]:
    """Turn a series, a list or an array into a numpy array."""
    if type(values) is np.ndarray:  # the common case: asking narwhals would take a tenth of a millisecond
        return values
    try:
        native = nw.from_native(values, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError:  # features may share a name: their positions identify them
        native = values
    if isinstance(native, (nw.Series, nw.DataFrame)):
        return np.asarray(native.to_numpy())
    refuse_lazy(values, "the data")
    try:
        return np.asarray(values)
    except ValueError as error:
        raise DataError(f"cannot make an array of a {type(values).__name__}: {error}") from None


def refuse_lazy(values: Any, name: str) -> None:
    """Refuse a frame whose rows are still to be computed."""
    if values is None or type(values) is np.ndarray:
        return
    try:
        frame = nw.from_native(values, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError:  # other checks handle columns that share a name
        return
    if isinstance(frame, nw.LazyFrame):
        method = "collect" if hasattr(values, "collect") else "compute"
        raise DataError(
            f"{name} is a {type(values).__name__}, whose rows are not there yet: call .{method}() on it first"
        )


def fill_missing(columns: Columns, value: str = "missing") -> dict[str, NDArray[Any]]:
    """Replace missing values of text and category columns by ``value``; columns of numbers stay as they are."""
    filled = {}
    for name, column in columns.items():
        if column.dtype == object:
            absent = np.fromiter((is_missing(v) for v in column), dtype=bool, count=len(column))
            if absent.any() and all(isinstance(v, str) for v in column[~absent]):
                column = np.where(absent, value, column)
        filled[name] = column
    return filled


def columns_of(attributes: Any, fallback: Any = None) -> dict[str, NDArray[Any]]:
    """Attributes as named numpy columns, with the columns of a frame of features for those not given."""
    return {**_features(fallback), **attribute_columns(attributes)}


def attribute_columns(attributes: Any) -> dict[str, NDArray[Any]]:
    """Turn whatever holds attributes into named numpy columns."""
    if attributes is None:
        return {}
    if isinstance(attributes, Mapping):
        return {str(name): _column(values, str(name)) for name, values in attributes.items()}
    refuse_lazy(attributes, "sensitive_features (attributes)")
    try:
        columns = _frame_columns(attributes)
    except nw.exceptions.DuplicateError:
        raise DataError("the frame of attributes has two columns with the same name") from None
    if columns:
        return columns
    native = nw.from_native(attributes, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        return {str(native.name) if native.name not in (None, "") else UNNAMED: to_numpy(attributes)}
    array = to_numpy(attributes)
    if array.ndim == 1:
        return {UNNAMED: array}
    if array.ndim == 2:
        names = [UNNAMED] if array.shape[1] == 1 else [f"{UNNAMED}_{k}" for k in range(array.shape[1])]
        return {name: array[:, k] for k, name in enumerate(names)}
    raise DataError(
        "attributes must be a data frame, a dict of arrays, a series or a one- or two-dimensional array; "
        f"got {type(attributes).__name__} of shape {array.shape}"
    )


def _categories(source: Any) -> frozenset[str]:
    """Names of the columns that hold categories, which numpy would compare by the alphabet."""
    if source is None:
        return frozenset()
    if isinstance(source, Mapping):
        return frozenset(str(name) for name, values in source.items() if _is_categorical(values))
    try:
        native = nw.from_native(source, eager_only=True, allow_series=True, pass_through=True)
        kinds = dict(native.schema) if isinstance(native, nw.DataFrame) else {}
    except nw.exceptions.DuplicateError:  # other checks handle columns that share a name
        return frozenset()
    if isinstance(native, nw.DataFrame):
        return frozenset(str(name) for name, kind in kinds.items() if isinstance(kind, (nw.Categorical, nw.Enum)))
    if isinstance(native, nw.Series) and _is_categorical(source):
        return frozenset({str(native.name) if native.name not in (None, "") else UNNAMED})
    return frozenset()


def _is_categorical(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return False
    native = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        return isinstance(native.dtype, (nw.Categorical, nw.Enum))
    return hasattr(values, "categories") and hasattr(values, "codes")  # pandas.Categorical


def _frame_columns(frame: Any) -> dict[str, NDArray[Any]]:
    native = nw.from_native(frame, eager_only=True, pass_through=True) if frame is not None else None
    if not isinstance(native, nw.DataFrame):
        return {}
    return {str(name): native.get_column(name).to_numpy() for name in native.columns}


def _features(fallback: Any) -> dict[str, NDArray[Any]]:
    try:
        return _frame_columns(fallback)
    except nw.exceptions.DuplicateError:  # features may share a name; those that do cannot serve as attributes
        shared = shared_names(fallback)
        places = [(str(name), k) for k, name in enumerate(fallback.columns) if str(name) not in shared]
        return {name: np.asarray(fallback.iloc[:, k]) for name, k in places}


def shared_names(frame: Any) -> frozenset[str]:
    """Names that several columns of a frame have."""
    names = Counter(map(str, getattr(frame, "columns", ())))
    return frozenset(name for name, count in names.items() if count > 1)


def _column(values: Any, name: str) -> NDArray[Any]:
    array = to_numpy(values)
    if array.ndim != 1:
        raise DataError(f"attribute {name!r} must be one-dimensional; got shape {array.shape}")
    return array


def ones(length: int) -> Array:
    """Weights of 1; a long array is a broadcast of one value, which takes no memory (and is read-only)."""
    return np.ones(length) if length <= _ALONE else np.broadcast_to(np.ones(1), (length,))


def taken_weights(weights: Array, rows: NDArray[np.intp] | slice) -> Array:
    """Some of the weights."""
    if weights.strides == (0,) and not isinstance(rows, slice):
        return ones(len(rows)) if len(rows) <= _ALONE else np.broadcast_to(weights[:1], (len(rows),))
    return weights[rows]


def _weights(sample_weight: ArrayLike | None, length: int) -> Array:
    if sample_weight is None:
        return ones(length)
    array = _one_dimensional(to_numpy(sample_weight), "sample_weight")
    same_length(array, length, "sample_weight")
    weights = _numbers(array, "sample_weight")
    if weights is None:
        raise DataError(f"sample_weight must hold numbers; got values such as {array[0]!r}")
    if weights.min() < 0:
        raise DataError(f"sample_weight must not be negative; the smallest is {weights.min():g}")
    with np.errstate(over="ignore"):
        total = peers().total(float(weights.sum()))
    if total <= 0:
        raise DataError("sample_weight sums to zero: at least one example must count")
    heaviest = peers().range(0.0, float(weights.max()))[1]
    if not np.isfinite(total) or not _LIGHTEST < heaviest < 1 / _LIGHTEST:
        # Only their proportions count; a power of two changes no digit of them.
        weights = np.ldexp(weights, -int(np.frexp(heaviest)[1]))
    return weights


def _complete(column: NDArray[Any], name: str) -> NDArray[Any]:
    """Refuse missing values; give an object column of all text or all numbers the dtype of its values."""
    if column.dtype != object:
        missing = int((column != column).sum()) if column.dtype.kind in "fcmM" else 0
    else:
        codes, values = _encoded(column, name)
        absent = np.array([is_missing(value) for value in values.tolist()], dtype=bool)
        missing = int(absent[codes].sum())
        column = _typed(values)[codes] if not missing else column
    if missing:
        raise DataError(
            f"attribute {name!r} has {missing} missing values: fill them, drop those examples, or give the missing "
            "ones a value of their own (RateClassifier(missing='group') does that for text)"
        )
    return column


def _encoded(column: NDArray[Any], name: str) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Number the distinct values of an object column, so that each is checked once however many examples there are."""
    index: dict[Any, int] = {}
    try:
        codes = np.array([index.setdefault(value, len(index)) for value in column.tolist()], dtype=np.intp)
    except TypeError:
        raise DataError(f"attribute {name!r} holds values that are no numbers, text or dates") from None
    values = np.empty(len(index), dtype=object)
    values[:] = list(index)
    return codes, values


def _typed(values: NDArray[Any]) -> NDArray[Any]:
    """Give text (unless very long) and numbers their own dtype; leave anything else as it is."""
    plain = values.tolist()
    if all(isinstance(value, str) for value in plain):
        return values.astype(str) if max(map(len, plain), default=0) <= _LONGEST_TEXT else values
    if all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in plain):
        return np.array(plain)
    return values
