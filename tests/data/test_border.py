"""Data as they come: what is wrong is refused with its place and the fix, and what only looks wrong is not."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import equirate as eq
from equirate.data.examples import Examples
from equirate.data.features import features, refuse_corrupt
from equirate.data.predictions import predictions_of

rng = np.random.default_rng(0)
N = 120
X = rng.normal(size=(N, 3))
Y = (X[:, 0] + rng.normal(size=N) > 0).astype(int)
GROUP = rng.choice(["a", "b"], N)
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()))
SLICED = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr(eq.attr("sex") == "a") >= 0.1])


def missing(kind: str) -> np.ndarray:
    labels = Y.astype(object) if kind != "nan" else Y.astype(float)
    labels[[7, 9]] = {"nan": np.nan, "none": None, "na": pd.NA}[kind]
    return labels


@pytest.mark.parametrize("kind", ["nan", "none", "na"])
def test_missing_labels_are_counted_and_found(kind: str) -> None:
    labels = missing(kind)
    said = r"y has 2 missing values \(NaN or None\), the first in row 7: drop those examples or fill them in"
    for refused in (
        lambda: Examples.of(labels),
        lambda: eq.solve(PROBLEM, X, labels),
        lambda: eq.RateClassifier(PROBLEM.objective).fit(X, labels),
        lambda: eq.RateClassifier(PROBLEM.objective).fit(X, pd.Series(labels)),
    ):
        with pytest.raises(eq.DataError, match=said):
            refused()


def test_missing_among_text_labels() -> None:
    labels = np.array(["no", "yes"], dtype=object)[Y]
    labels[3] = None
    with pytest.raises(eq.DataError, match=r"y has 1 missing value .* the first in row 3"):
        eq.RateClassifier(PROBLEM.objective).fit(X, labels)
    with pytest.raises(eq.DataError, match="y has infinite values, the first in row 2"):
        Examples.of([0, 1, np.inf])


@pytest.mark.parametrize("scale", [1e100, 1e300, 1e-100, 1e-300, 5e-324])
def test_only_the_proportions_of_weights_count(scale: float) -> None:
    weights = scale * np.where(GROUP == "a", 2.0, 1.0) if scale > 1e-323 else np.where(GROUP == "a", 2, 1) * scale
    plain = np.where(GROUP == "a", 2.0, 1.0)
    assert Examples.of(Y, None, weights).weights / Examples.of(Y, None, weights).weights.min() == pytest.approx(plain)
    p = rng.random(N)
    for metric in (eq.error_rate(), eq.f1(), eq.kl_divergence()):
        assert metric.evaluate(Y, p, attributes=None, sample_weight=weights) == pytest.approx(
            metric.evaluate(Y, p, attributes=None, sample_weight=plain), rel=1e-12
        )
    found = eq.RateClassifier(PROBLEM.objective, n_rounds=100, random_state=0).fit(X, Y, sample_weight=weights)
    same = eq.RateClassifier(PROBLEM.objective, n_rounds=100, random_state=0).fit(X, Y, sample_weight=plain)
    difference = np.abs(found.predict_pmf(X) - same.predict_pmf(X)).mean()
    assert difference < 0.05


def test_ordinary_weights_are_left_alone() -> None:
    weights = np.array([0.1, 3.0, 1e-30, 1e9])
    assert (Examples.of([0, 1, 1, 0], None, weights).weights == weights).all()
    assert Examples.of([0, 1], None, [1e308, 1e308]).weights.sum() == pytest.approx(1, abs=1.01)


def test_probabilities_beyond_one_by_rounding() -> None:
    p = predictions_of(np.array([1 + 1e-12, -1e-13, 0.5]), 3)
    assert p.tolist() == [1.0, 0.0, 0.5]
    with pytest.raises(eq.DataError, match=r"they range from 0 to 1\.000001"):
        predictions_of(np.array([1 + 1e-6, 0.0]), 2)


def broken(change) -> sp.csr_array:
    matrix = sp.csr_array(np.where(X > 0, X, 0.0))
    change(matrix)
    return matrix


def outside(m) -> None:
    m.indices[0] = 99


def negative(m) -> None:
    m.indices[1] = -5


def falling(m) -> None:
    m.indptr[3] = m.indptr[5] + 1


def beyond(m) -> None:
    m.indptr[-1] = 10**6


def short(m) -> None:
    m.indptr = m.indptr[:-1].copy()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (outside, "indices range from 0 to 99, but there are 3 places"),
        (negative, "indices range from -5 to 2"),
        (falling, "indptr does not rise from 0, one step for each row"),
        (beyond, "indptr ends at 1000000, but there are"),
        (short, "indptr does not rise from 0"),
    ],
)
def test_corrupt_sparse_matrices_are_refused(change, what: str) -> None:
    for refused in (
        lambda: features(broken(change)),
        lambda: eq.solve(PROBLEM, broken(change), Y),
        lambda: eq.RateClassifier(PROBLEM.objective).fit(broken(change), Y),
    ):
        with pytest.raises(eq.DataError, match=f"X is a corrupt sparse matrix: {what}"):
            refused()


def test_sound_sparse_matrices_of_all_formats_are_not() -> None:
    for make in (sp.csr_array, sp.csc_array, sp.coo_array, sp.bsr_array, sp.csr_matrix, sp.dok_array, sp.lil_array):
        refuse_corrupt(make(X))
    refuse_corrupt(sp.csr_array((0, 3)))
    coo = sp.coo_array(X)
    coo.col[0] = 7
    with pytest.raises(eq.DataError, match="indices range from 0 to 7, but there are 3 places"):
        refuse_corrupt(coo)


@pytest.mark.parametrize("scale", [1e155, 1e300])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: pd.DataFrame(X, columns=["a", "b", "c"])])
def test_features_whose_squares_overflow_are_named(scale: float, form) -> None:
    large = form(X * [1, scale, 1])
    name = "'b'" if isinstance(large, pd.DataFrame) else "1"
    for refused in (lambda: eq.solve(PROBLEM, large, Y), lambda: eq.RateClassifier(PROBLEM.objective).fit(large, Y)):
        with pytest.raises(
            eq.DataError, match=rf"column {name} of X has values up to \d.*, whose squares are too large"
        ):
            refused()


def test_large_features_of_single_precision_are_fine() -> None:
    assert features((X * 1e30).astype(np.float32)).dtype == np.float32
    assert features(X * 1e150).max() > 1e149


def test_features_that_share_a_name() -> None:
    frame = pd.DataFrame(X, columns=["a", "a", "age"])
    found = eq.solve(PROBLEM, frame, Y, n_rounds=30).polish()
    assert found.predict(X).shape == (N,)
    older = eq.Problem(PROBLEM.objective, [eq.tpr(eq.attr("age") > 0) >= 0.1])
    eq.solve(older, frame, Y, n_rounds=30)
    shared = eq.Problem(PROBLEM.objective, [eq.tpr(eq.attr("a") > 0) >= 0.1])
    with pytest.raises(eq.DataError, match="several columns of X are called 'a': rename them"):
        eq.solve(shared, frame, Y)
    eq.solve(shared, frame, Y, attributes={"a": X[:, 0]}, n_rounds=30)
    with pytest.raises(eq.DataError, match="X has several columns called 'a': rename them"):
        eq.RateClassifier(PROBLEM.objective).fit(frame, Y)


@pytest.mark.parametrize(
    ("columns", "given", "said"),
    [
        (
            ["age", "income", "Sex_"],
            None,
            r"unknown attribute 'sex': no sensitive_features were given \(attributes in solve and evaluate\), and X "
            r"has no column of that name; the nearest is 'Sex_' \(its columns are 'age', 'income', 'Sex_'\)",
        ),
        (["age", "income", "x"], None, r"no sensitive_features were given .*, and X has no column of that name \(its"),
        (
            None,
            None,
            r"unknown attribute 'sex': no sensitive_features were given \(attributes in solve and evaluate\)"
            r"($|\. In a pipeline)",
        ),
        (["age", "b", "c"], {"job": GROUP}, "the attributes given are 'job', 'age', 'b', 'c'"),
        (None, {"Sex": GROUP}, "unknown attribute 'sex': the attributes given are 'Sex'; the nearest is 'Sex'"),
    ],
)
def test_forgotten_attributes_are_named_first(columns, given, said: str) -> None:
    table = X if columns is None else pd.DataFrame(X, columns=columns)
    clf = eq.RateClassifier(SLICED.objective, SLICED.constraints)
    for refused in (
        lambda: eq.solve(SLICED, table, Y, attributes=given),
        lambda: clf.fit(table, Y, sensitive_features=given),
    ):
        with pytest.raises(eq.DataError, match=said):
            refused()


def test_an_array_without_a_name_is_called_group_where_there_is_no_estimator() -> None:
    with pytest.raises(eq.DataError, match="the attributes given are 'group'; an array without a name is called 'gr"):
        eq.solve(SLICED, X, Y, attributes=GROUP)
