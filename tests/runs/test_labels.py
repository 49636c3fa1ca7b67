"""Which rows are positive: one of two values, one against the rest, or a bound."""

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

import equirate as eq
from equirate.runs.labels import Labels


def positives(wanted: str, values: list[object], decimal: str = ".") -> tuple[Labels, list[bool]]:
    column = pa.array(values)
    labels = Labels.of("y", wanted, column, decimal)
    return labels, labels.positives(column, decimal).tolist()


@pytest.mark.parametrize(
    ("wanted", "values", "positive"),
    [
        ("", ["0", "1"], [False, True]),
        ("", [0, 1], [False, True]),
        ("", ["TRUE", "false"], [True, False]),
        ("no", ["yes", "no"], [False, True]),
        ("1.0", [0, 1], [False, True]),
        ("b", ["a", "b", "c"], [False, True, False]),
        ("Yes", ["yes", "YES ", "no", "No"], [True, True, False, False]),
        ("a", ["a", "A"], [True, False]),
        (">50K", [">50K", "<=50K"], [True, False]),
        (">= 150", [149.5, 150, 151], [False, True, True]),
        ("<3", ["1", "2", "3"], [True, True, False]),
        ("> 1e2", ["99", "101"], [False, True]),
        ("<= -1", [-2, -1, 0], [True, True, False]),
        ("<5", ["<5", ">=5"], [True, False]),
    ],
)
def test_positive(wanted: str, values: list[object], positive: list[bool]) -> None:
    assert positives(wanted, values)[1] == positive


def test_a_bound_on_numbers_with_decimal_commas() -> None:
    assert positives(">= 1.5", ["1,4", "1,5", "1.000,0"], ",")[1] == [False, True, True]


def test_names_of_the_sides() -> None:
    assert positives(">=150", [1, 200])[0] == Labels("y", ">= 150", "< 150", "bound")
    assert positives("b", ["a", "b", "c"])[0] == Labels("y", "b", "not b", "rest")


@pytest.mark.parametrize(
    ("wanted", "values", "says"),
    [
        ("", ["a", "b"], "say which one is positive with --positive"),
        ("", [f"name {k}" for k in range(101)], "has 101 values"),
        ("", ["a", "a"], "has 1 value"),
        ("d", ["a", "b"], "--positive is 'd', but the label 'y' holds 'a', 'b'"),
        (">= 3", ["1", "x"], "but the label 'y' holds 'x'"),
        ("", ["1", None], "is missing in 1 rows"),
    ],
)
def test_refusals(wanted: str, values: list[object], says: str) -> None:
    with pytest.raises(eq.DataError) as refusal:
        positives(wanted, values)
    assert says in str(refusal.value)


def test_more_than_two_values_are_classes() -> None:
    labels = Labels.of("y", "", pa.array(["dog", "cat", "Cat ", "bird"]))
    assert labels.classes == labels.values == ("bird", "cat", "dog")
    codes = labels.codes(pa.array(["CAT", "dog"]))
    assert codes.tolist() == [1, 2]
    assert labels.named(codes).tolist() == ["cat", "dog"]
    with pytest.raises(
        eq.DataError, match="holds 'fish', which was not in training: there it held 'bird', 'cat', 'dog'"
    ):
        labels.codes(pa.array(["fish"]))
    with pytest.raises(eq.DataError, match="missing in 1 rows"):
        labels.codes(pa.array(["dog", None]))


def test_a_folder_says_the_classes_only_where_there_are_more_than_two() -> None:
    assert "classes" not in Labels("y", "yes", "no").plain()
    assert Labels.of("y", "", pa.array(["a", "b", "c"])).plain()["classes"] == ["a", "b", "c"]


def test_new_values_are_refused_but_where_they_are_the_rest() -> None:
    two = Labels("y", "yes", "no")
    with pytest.raises(eq.DataError, match="holds 'maybe', which was not in training"):
        two.positives(pa.array(["yes", "maybe"]))
    assert Labels("y", "yes", "not yes", "rest").positives(pa.array(["yes", "maybe"])).tolist() == [True, False]
