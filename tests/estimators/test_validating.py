"""What scikit-learn's validation refuses, told by the names of the columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import equirate as eq

N = 120
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] > 0).astype(int)
NAMES = ["age", "pay", "on time"]


def classifier() -> eq.RateClassifier:
    return eq.RateClassifier(eq.minimize(eq.error_rate()), random_state=0)


def spoilt() -> np.ndarray:
    bad = X.copy()
    bad[:3, 1], bad[7, 2] = np.nan, np.inf
    return bad


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: spoilt(), ("1", "2")),
        (lambda: sp.csr_matrix(spoilt()), ("1", "2")),
        (lambda: spoilt().tolist(), ("1", "2")),
        (lambda: pd.DataFrame(spoilt(), columns=NAMES), ("'pay'", "'on time'")),
        (lambda: pl.DataFrame(spoilt(), schema=NAMES), ("'pay'", "'on time'")),
        (lambda: pd.DataFrame(spoilt()), ("'1'", "'2'")),
    ],
    ids=["numpy", "sparse", "list", "pandas", "polars", "pandas without names"],
)
def test_nan_and_infinity_are_named_by_column_and_rows(make, names) -> None:
    said = f"NaN in 3 rows of column {names[0]}, infinity in 1 row of column {names[1]}"
    with pytest.raises(eq.DataError) as caught:
        classifier().fit(make(), Y)
    assert said in str(caught.value)
    good = make()
    good = pd.DataFrame(X, columns=good.columns) if isinstance(good, pd.DataFrame) else X
    fitted = classifier().fit(good, Y)
    if not isinstance(make(), pl.DataFrame):  # names were not learnt from numpy
        with pytest.raises(eq.DataError) as caught:
            fitted.predict(make())
        assert said in str(caught.value)


def test_missing_values_of_pandas_are_nan() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "n": pd.array([None, *range(N - 1)], dtype="Int64")})
    with pytest.raises(eq.DataError, match="NaN in 1 row of column 'n'"):
        classifier().fit(frame, Y)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_text_is_named_by_column(frame) -> None:
    columns = {"age": X[:, 0], "sex": ["F", "M"] * (N // 2), "town": ["x"] * N}
    with pytest.raises(eq.DataError, match=r"these columns do not: 'sex' \(such as 'F'\), 'town' \(such as 'x'\)"):
        classifier().fit(frame(columns), Y)
    columns.pop("town")
    with pytest.raises(
        eq.DataError, match=r"this column does not: 'sex' .*OneHotEncoder.*pass it as sensitive_features"
    ):
        classifier().fit(frame(columns), Y)
    dates = {"age": X[:, 0], "day": pd.date_range("2020-01-01", periods=N).to_list()}
    with pytest.raises(eq.DataError, match="this column does not: 'day'"):
        classifier().fit(pd.DataFrame(dates), Y)
    with pytest.raises(eq.DataError, match=r"this column does not: 1 \(such as 'F'\)"):
        classifier().fit(np.column_stack([X[:, 0].astype(object), columns["sex"]]), Y)
    fitted = classifier().fit(frame({"age": X[:, 0], "sex": X[:, 1]}), Y)
    with pytest.raises(eq.DataError, match="this column does not: 'sex'"):
        fitted.predict(frame(columns))


def test_what_is_wrong_with_something_else_is_left_to_scikit_learn() -> None:
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        classifier().fit(X, Y[:-1])
    with pytest.raises(ValueError, match=r"y has \d+ missing values .*, the first in row"):
        classifier().fit(X, np.where(Y == 1, np.nan, 0.0))
    with pytest.raises(ValueError, match="Expected 2D array"):
        classifier().fit(X[:, 0], Y)
    with pytest.raises(TypeError, match="number"):
        classifier().fit(np.array([[{}, 1.0]] * N, dtype=object), Y)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"validation": "x"}, "validation is a share of the data"),
        ({"validation": None}, "validation is a share of the data"),
        ({"tolerance": "x"}, "tolerance must be a number"),
        ({"tolerance": float("nan")}, "tolerance must be a number"),
        ({"patience": "x"}, "patience must be None or a whole number"),
        ({"patience": 0}, "patience must be None or a whole number"),
    ],
)
def test_parameters_that_are_no_numbers(options, said) -> None:
    with pytest.raises(eq.EquirateError, match=said):
        classifier().set_params(**options).fit(X, Y)


def test_what_is_not_there_says_what_is() -> None:
    mixed = classifier().set_params(constraints=[eq.positive_rate() <= 0.3], validation=0.0)
    fitted = mixed.fit(X, Y)
    assert not hasattr(fitted, "predict_proba")
    with pytest.raises(AttributeError, match="predict_pmf"):
        _ = fitted.predict_proba
    assert len(fitted.weights_) > 1
    assert not hasattr(fitted, "decision_function")
    with pytest.raises(AttributeError, match=r"predict_pmf.*output=\"deterministic\".*to_deterministic"):
        fitted.decision_function(X)


@pytest.mark.parametrize("holes", [[None], [np.nan], [float("nan"), None]])
def test_missing_labels_of_a_postprocessor_are_counted(holes) -> None:
    names = np.where(Y == 1, "yes", "no").astype(object)
    names[5 : 5 + len(holes)] = holes
    with pytest.raises(eq.DataError, match=f"y has {len(holes)} missing values? .* first in row 5"):
        eq.RatePostprocessor(None, eq.maximize(eq.f1())).fit(X[:, 0], names)


@pytest.mark.parametrize(
    "make", [lambda d: d, lambda d: d.to_numpy(), pl.DataFrame, lambda d: d - d.iloc[0]], ids=lambda make: ""
)
def test_dates_alone_are_refused_like_dates_among_numbers(make) -> None:
    """numpy would make numbers of them, in whatever unit they are kept."""
    days = pd.DataFrame({"opened": pd.date_range("2020-01-01", periods=N)})
    with pytest.raises(eq.DataError, match=r"this column does not: .*dates as days since the first one"):
        classifier().fit(make(days), Y)
    with pytest.raises(eq.DataError, match=r"'opened'.*dates as days"):
        classifier().fit(days.assign(pay=X[:, 0]), Y)
    eq.RateClassifier(eq.minimize(eq.error_rate()), model="trees", random_state=0).fit(days, Y)


def test_labels_that_are_no_classes_are_refused_with_what_to_do() -> None:
    with pytest.raises(eq.DataError, match=r"y has one class only \(0\)"):
        classifier().fit(X, np.zeros(N, dtype=int))
    with pytest.raises(eq.DataError, match=r"make text of numbers that name classes: y.astype\(str\)"):
        classifier().fit(X, np.where(Y, 2.5, 1.0))


@pytest.mark.parametrize("constraints", [[], [eq.positive_rate() <= 0.2]], ids=["one classifier", "a mixture"])
def test_keys_are_checked_whether_something_is_drawn_or_not(constraints) -> None:
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), constraints, random_state=0).fit(X, Y)
    with pytest.raises(eq.DataError, match=r"one value per example, \(120,\); got shape \(2,\)"):
        clf.predict(X, key=[1, 2])
    key = np.arange(N, dtype=float)
    key[3] = np.nan
    with pytest.raises(eq.DataError, match=r"key has 1 missing value .*, the first in row 3"):
        clf.predict(X, key=key)


def test_a_warning_points_at_the_call_of_fit() -> None:
    with pytest.warns(eq.NotSolvedWarning, match="too few examples behind some rate") as caught:
        classifier().fit([[1.0], [2.0], [3.0]], [0, 1, 0])
    assert [each.filename for each in caught] == [__file__]


def test_groups_that_no_rate_looks_at_are_refused() -> None:
    data = np.random.default_rng(0).normal(size=(60, 2))
    sex = np.repeat(["F", "M"], 30)
    clf = eq.RateClassifier(
        eq.minimize(eq.error_rate()), eq.demographic_parity("sex", tolerance=0.1), model="trees", groups="race"
    )
    with pytest.raises(eq.EquirateError, match=r"'race' is in no objective or constraint: .* named are \['sex'\]"):
        clf.fit(data, data[:, 0] > 0, sensitive_features={"sex": sex, "race": sex})


def test_a_tolerance_of_zero_allows_for_rounding() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    clf = eq.RateClassifier(eq.maximize(eq.recall()), [eq.positive_rate() <= 0.3], tolerance=0, random_state=0)
    assert clf.fit(X, y).status_.feasible


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scale": "no"}, r"The 'scale' parameter of RateClassifier must be True or False. Got 'no' instead"),
        ({"warm_start": [1]}, r"The 'warm_start' parameter"),
        ({"pos_label": [0]}, r"pos_label \[0\] is not among the labels"),
        ({"pos_label": np.array([1])}, r"is not among the labels"),
    ],
)
def test_switches_and_labels_are_single_values(settings, message) -> None:
    clf = eq.RateClassifier(eq.maximize(eq.recall()), [eq.positive_rate() <= 0.3], **settings)
    with pytest.raises(eq.EquirateError, match=message):
        clf.fit(np.arange(40.0)[:, None], np.arange(40) % 2)
