"""The border: what is let in, in which shape, and what is refused by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import equirate as eq
from equirate.data.attributes import attribute_columns
from equirate.data.examples import Examples
from equirate.data.labels import binary
from equirate.data.predictions import predictions_of

Y = [0, 1, 1, 0]


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, 1, 0],
        [-1, 1, 1, -1],
        [False, True, True, False],
        [0.0, 1.0, 1.0, 0.0],
        np.array([[0], [1], [1], [0]]),
        np.array([0, 1, 1, 0], dtype=object),
        np.array([0, 1, 1, 0], dtype=np.uint8),
        pd.Series([0, 1, 1, 0], index=[9, 8, 7, 6]),
        pd.Series([0, 1, 1, 0], dtype="Int64"),
        pd.Series([False, True, True, False], dtype="boolean"),
        pl.Series([0, 1, 1, 0]),
        pd.DataFrame({"y": [0, 1, 1, 0]}),
    ],
)
def test_labels_of_any_kind(y) -> None:
    labels = binary(y, "y")
    assert labels.dtype == np.int8
    assert labels.tolist() == Y


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([], "y is empty"),
        ([0, 1, 2], r"y must hold 0 and 1 .*got the values 0, 1, 2"),
        ([1, 2], r"got the values 1, 2"),
        (list(range(9)), r"0, 1, 2, 3, 4, \.\.\."),
        ([0, 1, np.nan], r"y has \d missing values?|y has infinite values, the first in row"),
        ([0, 1, np.inf], r"y has \d missing values?|y has infinite values, the first in row"),
        (["0", "1"], r"got '0', '1'. RateClassifier takes any two label values"),
        (np.array(["0", "1"], dtype=object), r"got '0', '1'"),
        (["yes", "no"], r"got 'no', 'yes'.*give pos_label, or compare: y == 'yes'$"),
        ([0, 1, None], "y has 1 missing value"),
        (pd.Series([0, 1, pd.NA], dtype="object"), "y has 1 missing value"),
        (pd.Series([True, None, None], dtype="boolean"), "y has 2 missing values"),
        (pd.Series([pd.NaT, pd.Timestamp("2020-01-01")]), "y must hold 0 and 1"),
        ([[0, 1], [1, 0]], r"one-dimensional; got shape \(2, 2\)"),
        (1, r"one-dimensional; got shape \(\)"),
        (np.array([1j, 0]), "y must hold 0 and 1"),
        ([[0], [1, 2]], "cannot make an array of a list"),
    ],
)
def test_labels_refused(y, message: str) -> None:
    with pytest.raises(eq.DataError, match=message):
        Examples.of(y)


def test_one_class() -> None:
    assert len(Examples.of([1, 1, 1])) == 3
    with pytest.raises(eq.DataError, match=r"y has one class only \(all 1\)"):
        Examples.of([1, 1, 1], two_classes=True)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1, 1], "sample_weight has 3 values, but y has 4"),
        ([1, 1, 1, np.nan], r"sample_weight has \d missing values?|sample_weight has infinite"),
        ([1, 1, 1, np.inf], r"sample_weight has \d missing values?|sample_weight has infinite"),
        ([1, 1, 1, -2], "must not be negative; the smallest is -2"),
        ([0, 0, 0, 0], "sums to zero"),
        (["1", "1", "1", "1"], "sample_weight must hold numbers"),
        ([1, 1, 1, None], "sample_weight has 1 missing value"),
        ([[1, 1], [1, 1]], "one-dimensional"),
        (2.0, "one-dimensional"),
    ],
)
def test_weights_refused(weights, message: str) -> None:
    with pytest.raises(eq.DataError, match=message):
        eq.tpr().evaluate(Y, Y, sample_weight=weights)


@pytest.mark.parametrize(
    ("y_pred", "message"),
    [
        ([0, 1, 1], "y_pred has 3 values, but y has 4"),
        ([], "y_pred has 0 values"),
        ([0, 1, 1, 1.5], "all in \\[0, 1\\]; they range from 0 to 1.5"),
        ([0, 1, 1, -0.1], "range from -0.1 to 1"),
        ([0, 1, 1, np.nan], r"y_pred has 1 missing value .*, the first in row 3"),
        ([0, 1, 1, None], "y_pred has 1 missing value"),
        (["0", "1", "1", "0"], "y_pred must hold 0/1 predictions or probabilities"),
        ([[0.5, 0.5]] * 4, r"y_pred must be one-dimensional; got shape \(4, 2\)"),
        (0.5, "y_pred must be one-dimensional"),
    ],
)
def test_predictions_refused(y_pred, message: str) -> None:
    with pytest.raises(eq.DataError, match=message):
        eq.tpr().evaluate(Y, y_pred)


@pytest.mark.parametrize(
    ("y_pred", "expected"),
    [
        ([-1, 1, 1, -1], [0, 1, 1, 0]),
        ([-1, -1, -1, -1], [0, 0, 0, 0]),
        ([1, 1, 1, 1], [1, 1, 1, 1]),
        ([True, False, True, False], [1, 0, 1, 0]),
        (pl.Series([0.25, 0.5, 1.0, 0.0]), [0.25, 0.5, 1, 0]),
        (np.array([[0.25], [0.5], [1.0], [0.0]]), [0.25, 0.5, 1, 0]),
    ],
)
def test_predictions_of_any_kind(y_pred, expected) -> None:
    assert predictions_of(y_pred, 4).tolist() == expected


def test_lists_of_attributes_come_in_any_container() -> None:
    sex, age = ["F", "M", "F", "M"], [20, 30, 40, 50]
    for container in (
        {"sex": sex, "age": age},
        {"sex": np.array(sex), "age": pd.Series(age)},
        pd.DataFrame({"sex": sex, "age": age}, index=[4, 3, 2, 1]),
        pl.DataFrame({"sex": sex, "age": age}),
    ):
        columns = attribute_columns(container)
        assert list(columns) == ["sex", "age"]
        value = eq.positive_rate((eq.attr("sex") == "F") & (eq.attr("age") > 20)).evaluate(
            Y, [0, 1, 0.25, 1], attributes=container
        )
        assert value == 0.25
    for container in (pd.Series(sex, name="sex"), pl.Series("sex", sex)):
        assert eq.tpr(eq.attr("sex") == "F").evaluate(Y, Y, attributes=container) == 1
    for container in (sex, np.array(sex), pd.Series(sex), pl.Series(sex), np.array(sex)[:, None]):
        assert eq.tpr(eq.attr("group") == "F").evaluate(Y, Y, attributes=container) == 1
    assert list(attribute_columns(np.zeros((4, 2)))) == ["group_0", "group_1"]
    assert attribute_columns(None) == {}


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"sex": ["F", "M"]}, "attribute 'sex' has 2 values, but y has 4"),
        ({"sex": np.zeros((4, 2))}, r"attribute 'sex' must be one-dimensional; got shape \(4, 2\)"),
        ({"sex": "F"}, "attribute 'sex' must be one-dimensional"),
        (np.zeros((4, 2, 2)), r"got ndarray of shape \(4, 2, 2\)"),
        ([["a"], ["b", "c"]], "cannot make an array of a list"),
        (pd.DataFrame([[1, 2]] * 4, columns=["a", "a"]), "two columns with the same name"),
        (5, "attributes must be a data frame"),
    ],
)
def test_attributes_refused(attributes, message: str) -> None:
    with pytest.raises(eq.DataError, match=message):
        eq.tpr().evaluate(Y, Y, attributes=attributes)


@pytest.mark.parametrize(
    "column",
    [
        np.array(["F", None, "M", None], dtype=object),
        np.array(["F", np.nan, "M", np.nan], dtype=object),
        pd.Series(["F", None, "M", None]),
        pd.Series(["F", None, "M", None], dtype="category"),
        pd.Series(["F", pd.NA, "M", pd.NA], dtype="string"),
        pl.Series(["F", None, "M", None]),
        pd.Series([pd.Timestamp("2020-01-01"), pd.NaT, pd.Timestamp("2020-01-01"), pd.NaT]),
        np.array([1.0, np.nan, 1.0, np.nan]),
        pd.Series([1, None, 2, None], dtype="Int64"),
        pd.Series([True, None, True, None], dtype="boolean"),
        np.array([1.0, float("nan"), 1.0, float("nan")], dtype=object),
    ],
)
def test_missing_values_are_refused_by_name_and_only_where_they_are_used(column) -> None:
    attributes = {"group": column, "sex": ["F", "M", "F", "M"]}
    assert eq.tpr(eq.attr("sex") == "F").evaluate(Y, Y, attributes=attributes) == 1
    with pytest.raises(eq.DataError, match="attribute 'group' has 2 missing values: fill them"):
        eq.tpr(eq.attr("group") == "F").evaluate(Y, Y, attributes=attributes)
    with pytest.raises(eq.DataError, match="attribute 'group' has 2 missing values"):
        eq.churn("group").evaluate(Y, Y, attributes=attributes)


def test_unknown_attribute_lists_the_known_ones() -> None:
    with pytest.raises(eq.DataError, match="unknown attribute 'race': the attributes given are 'sex', 'age'"):
        eq.tpr(eq.attr("race") == 1).evaluate(Y, Y, attributes={"sex": Y, "age": Y})
    with pytest.raises(eq.DataError, match="unknown attribute 'race': no sensitive_features were given"):
        eq.tpr(eq.attr("race") == 1).evaluate(Y, Y)
    with pytest.raises(eq.DataError, match=r"^unknown attribute 'old': the attributes given are 'sex'$"):
        eq.churn("old").evaluate(Y, Y, attributes={"sex": Y})


@pytest.mark.parametrize("column", [[0, 1, 2, 0], [-1, 1, 1, -1], [0.5, 1, 0, 0], ["0", "1", "0", "1"]])
def test_baseline_must_hold_0_and_1(column) -> None:
    with pytest.raises(eq.DataError, match=r"the baseline 'old' must hold 0 and 1; .*0/1 predictions in that"):
        eq.wins("old").evaluate(Y, Y, attributes={"old": column})


@pytest.mark.parametrize("column", [[0, 1, 0, 1], [False, True, False, True], [0.0, 1.0, 0.0, 1.0]])
def test_baseline_of_any_kind(column) -> None:
    for values in (column, np.array(column, dtype=object), pd.Series(column), pl.Series(column)):
        assert eq.churn("old").evaluate(Y, Y, attributes={"old": values}) == 0.5


def test_an_empty_slice_is_named() -> None:
    attributes = {"sex": ["F", "M", "F", "M"]}
    with pytest.raises(
        eq.DataError, match="tpr cannot be measured: the slice sex == 'X' holds no example with label 1"
    ):
        eq.tpr(eq.attr("sex") == "X").evaluate(Y, Y, attributes=attributes)
    with pytest.raises(eq.DataError, match="fpr cannot be measured: the data holds no example with label 0"):
        eq.fpr().evaluate([1, 1], [1, 0])
    with pytest.raises(eq.DataError, match=r"accuracy .* the slice sex == 'F' holds no example with positive weight"):
        eq.accuracy(eq.attr("sex") == "F").evaluate(Y, Y, attributes=attributes, sample_weight=[0, 1, 0, 1])


def test_a_value_that_nobody_has_is_told_with_those_that_there_are() -> None:
    race = np.array(["Asian", "African", "European", "african american"])
    with pytest.raises(eq.DataError, match=r"has no value 'Afican', but 'African', 'Asian', 'african american', 'Euro"):
        eq.tpr(eq.attr("race") == "Afican").evaluate(Y, Y, attributes={"race": race})
    with pytest.raises(eq.DataError, match=r"no value 31, but 30, 40, 20, 50\)$"):
        eq.accuracy(eq.attr("age") == 31).evaluate(Y, Y, attributes={"age": [20, 30, 40, 50]})
    with pytest.raises(eq.DataError, match=r"no value 'x'.*; the attribute 'race' has no value 'y', but"):
        eq.accuracy(eq.attr("race").isin(["x", "y"])).evaluate(Y, Y, attributes={"race": race})
    many = np.array([f"town {k:02}" for k in range(20)])
    with pytest.raises(eq.DataError, match=r"but 'town 07', 'town 0.*' and 12 more\)") as caught:
        eq.accuracy(eq.attr("town") == "twn 07").evaluate([0, 1] * 10, [0, 1] * 10, attributes={"town": many})
    assert str(caught.value).count("'town ") == 8
    with pytest.raises(eq.DataError, match=r"label 1 with positive weight$"):  # the value is there, the label is not
        eq.tpr(eq.attr("age") == 20).evaluate(Y, Y, attributes={"age": [20, 30, 40, 50]})


def test_features_serve_as_attributes_unless_given_otherwise() -> None:
    X = pd.DataFrame({"age": [20, 30, 40, 50], "sex": ["x"] * 4})
    examples = Examples.of(Y, {"sex": ["F", "M", "F", "M"]}, fallback=X)
    assert examples.mask(eq.attr("age") > 30).tolist() == [False, False, True, True]
    assert examples.mask(eq.attr("sex") == "F").sum() == 2
    twice = pd.DataFrame([[1, 2]] * 4, columns=["a", "a"])
    assert len(Examples.of(Y, {"sex": ["F", "M", "F", "M"]}, fallback=twice)) == 4
    assert len(Examples.of(Y, fallback=np.zeros((4, 2)))) == 4


def test_unhashable_values_are_refused_by_name() -> None:
    column = np.empty(4, dtype=object)
    column[:] = [[1], [2], [1], [2]]
    with pytest.raises(eq.DataError, match="attribute 'g' holds values that are no numbers, text or dates"):
        eq.tpr(eq.attr("g") == 1).evaluate(Y, Y, attributes={"g": column})


def test_rates_never_leave_the_unit_interval_by_rounding() -> None:
    rng = np.random.default_rng(0)
    for n in range(3, 60):
        y = np.arange(n) % 2
        weights = rng.exponential(size=n)
        assert eq.accuracy().evaluate(y, y, sample_weight=weights) <= 1
        assert eq.sqrt(1 - eq.accuracy()).evaluate(y, y, sample_weight=weights) == pytest.approx(0, abs=1e-7)


def test_every_error_is_a_value_error() -> None:
    for error in (eq.DisciplineError, eq.DataError, eq.AlgorithmError):
        assert issubclass(error, eq.EquirateError)
        assert issubclass(error, ValueError)
    for warning in (eq.NotSolvedWarning, eq.UndefinedRateWarning):
        assert issubclass(warning, eq.EquirateWarning)
