"""The passes over the features: every way of running one gives what a plain reading of the definition gives."""

import os
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from numpy.typing import NDArray

import equirate as eq
from equirate._core import kernels, threads
from equirate._core.peers import ALONE
from equirate.data.cells import Cells
from equirate.data.examples import Examples
from equirate.models import design as designs
from equirate.models.design import Design, Standard
from equirate.models.messages import Asked

Array = NDArray[np.float64]
rng = np.random.default_rng(0)

COMPILED = [pytest.param(False, id="numpy")]
if kernels.ready():
    COMPILED.append(pytest.param(True, id="compiled"))


@pytest.fixture
def compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    take(request.param, monkeypatch)
    return bool(request.param)


def take(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the compiled passes or those in numpy, however little there is to do."""
    monkeypatch.setattr(kernels, "MIN_COMPILED_WORK", 0.0)
    monkeypatch.setattr(kernels, "_available", lambda: compiled)


@pytest.mark.skipif(os.environ.get("EQUIRATE_KERNELS") == "0", reason="the compiled passes are turned off")
def test_the_compiled_passes_are_tested_where_numba_is() -> None:
    pytest.importorskip("numba")
    assert kernels.ready()


def one_hot(n: int, seed: int = 0) -> Array:
    """Categories with few values: most entries are zero and many rows are equal."""
    source = np.random.default_rng(seed)
    return np.concatenate([np.eye(k)[source.integers(k, size=n)] for k in (2, 3, 5)], axis=1)


def cells_of(n: int, weights: Array | None = None, seed: int = 0) -> Cells:
    source = np.random.default_rng(seed)
    group = source.integers(3, size=n)
    labels = (source.random(n) < 0.4).astype(int)
    labels[:2] = 0, 1
    examples = Examples.of(labels, {"g": group}, weights)
    return Cells.of_examples(examples, [eq.attr("g") == k for k in range(3)], [])


def by_definition(X: Any, cells: Cells, trained: Cells, W: Array, up: Array, down: Array) -> tuple[Array, Array]:
    """Sums and slope, example by example, in double precision."""
    rows = X.toarray() if sp.issparse(X) else X
    scores = rows.astype(float) @ W[:-1] + W[-1]
    sums, slope = np.zeros((len(cells), W.shape[1])), np.zeros_like(W)
    for i, s in enumerate(scores):
        sums[cells.index[i]] += cells.weights[i] * (s > 0)
        g = trained.weights[i] * (up[trained.index[i]] * (s > -1) + down[trained.index[i]] * (s < 1))
        slope[:-1] += rows[i][:, None].astype(float) * g
        slope[-1] += g
    return sums, slope


def costs(cells: Cells, count: int, net: bool) -> tuple[Array, Array]:
    up, down = rng.random((len(cells), count)), -rng.random((len(cells), count))
    if net:
        rising = rng.random(up.shape) < 0.5
        up, down = np.where(rising, up, 0.0), np.where(rising, 0.0, down)
    return up, down


def swept(design: Design, W: Array, up: Array, down: Array) -> tuple[Array, Array]:
    """Sums and slope."""
    found = design.sweep(W, Asked(False, up, down))
    return found.seen.sums, found.slope


STORED = {
    "dense": lambda n: rng.normal(size=(n, 7)),
    "one-hot": one_hot,
    "csr": lambda n: sp.random_array((n, 9), density=0.2, rng=rng, format="csr"),
    "fortran": lambda n: np.asfortranarray(rng.normal(size=(n, 7))),
}


# Each combination is compiled on its own, for some seconds: these have every storage, precision and kind of weights.
QUICK = {
    ("dense", np.float32, "no"),
    ("dense", np.float64, "real"),
    ("one-hot", np.float32, "no"),
    ("csr", np.float32, "whole"),
    ("fortran", np.float64, "no"),
}
COMBINATIONS = [
    pytest.param(
        stored, dtype, weighted, way.values[0], id=f"{weighted}-{dtype.__name__}-{stored}-{way.id}", marks=marks
    )
    for stored, dtype, weighted, way in product(STORED, (np.float32, np.float64), ("no", "whole", "real"), COMPILED)
    for marks in [[pytest.mark.slow] if way.values[0] and (stored, dtype, weighted) not in QUICK else []]
]


@pytest.mark.parametrize(("stored", "dtype", "weighted", "compiled"), COMBINATIONS, indirect=["compiled"])
@pytest.mark.parametrize("count", [1, 16, 19])
def test_a_pass_is_what_its_definition_says(
    compiled: bool, stored: str, count: int, dtype: type, weighted: str
) -> None:
    n = 203
    weights = {"no": None, "whole": rng.integers(0, 4, n).astype(float), "real": rng.random(n)}[weighted]
    X = STORED[stored](n).astype(dtype)
    cells = cells_of(n, weights)
    W = rng.normal(size=(X.shape[1] + 1, count)).astype(dtype)
    up, down = costs(cells, count, net=bool(count % 2))
    found = Design(X, cells, cells)
    (sums, bounds, _), slope = found.sweep(W, Asked(False, up, down, bounded=True))
    wanted = by_definition(X, cells, cells, W.astype(float), up, down)
    np.testing.assert_allclose(sums, wanted[0], rtol=1e-12)
    np.testing.assert_allclose(slope, wanted[1], rtol=1e-4 if dtype is np.float32 else 1e-10, atol=1e-4)
    np.testing.assert_allclose(found.sums(W), wanted[0], rtol=1e-12)
    plain = found.sweep(W, Asked(False, up, down))
    assert plain.seen.bounds is None
    np.testing.assert_array_equal(plain.seen.sums, sums)
    np.testing.assert_array_equal(plain.slope, slope)
    scores = (X @ W[:-1] + W[-1]).astype(float)
    for part, bound in zip(bounds, (np.maximum(0, 1 + scores), np.minimum(1, scores)), strict=True):
        np.testing.assert_allclose(part, cells.sums(bound), rtol=1e-4 if dtype is np.float32 else 1e-10, atol=1e-4)


@pytest.mark.parametrize("compiled", COMPILED, indirect=True)
def test_the_model_may_be_trained_on_other_cells_and_weights(compiled: bool) -> None:
    n, count = 150, 5
    measured = cells_of(n, rng.random(n), seed=1)
    trained = cells_of(n, np.where(np.arange(n) < 60, 0.0, rng.random(n)), seed=2)
    X = one_hot(n)
    W = rng.normal(size=(X.shape[1] + 1, count))
    up, down = costs(trained, count, net=False)
    found = swept(Design(X, measured, trained), W, up, down)
    for part, wanted in zip(found, by_definition(X, measured, trained, W, up, down), strict=True):
        np.testing.assert_allclose(part, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("compiled", COMPILED, indirect=True)
def test_equal_rows_are_merged_exactly(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 500
    X, cells = one_hot(n), cells_of(n)
    W = rng.normal(size=(X.shape[1] + 1, 4))
    up, down = costs(cells, 4, net=True)
    merged = Design(X, cells, cells)
    assert merged.X.shape[0] <= 30 * len(cells) < n
    assert merged.cells.weights.sum() == n
    monkeypatch.setattr(designs, "MERGED", 0.0)
    plain = Design(X, cells, cells)
    assert plain.X.shape[0] == n
    for a, b in zip(swept(merged, W, up, down), swept(plain, W, up, down), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_rows_that_only_share_a_hash_are_not_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(designs, "row_hashes", lambda X: np.zeros(X.shape[0], dtype=np.uint64))
    X, cells = rng.normal(size=(100, 3)), cells_of(100)
    assert Design(X, cells, cells).X.shape[0] == 100


def test_rows_without_a_twin_are_left_as_they_are() -> None:
    X, cells = rng.normal(size=(100, 3)), cells_of(100)
    assert Design(X, cells, cells).X is X


@pytest.mark.parametrize("compiled", COMPILED, indirect=True)
def test_zeros_are_left_out_only_where_most_values_are_zero(compiled: bool) -> None:
    cells = cells_of(60)
    assert sp.issparse(Design(np.eye(60), cells, cells).X) == compiled  # products in numpy are faster dense
    assert not sp.issparse(Design(rng.normal(size=(60, 4)), cells, cells).X)


@pytest.mark.skipif(not kernels.ready(), reason="needs numba")
@pytest.mark.parametrize("stored", ["dense", "csr"])
def test_the_number_of_threads_does_not_matter(stored: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(designs, "_BLOCK_WORK", 100)
    n = 1000
    X, cells = STORED[stored](n).astype(np.float32), cells_of(n, rng.random(n))
    W = rng.normal(size=(X.shape[1] + 1, 16)).astype(np.float32)
    up, down = costs(cells, 16, net=True)
    found = []
    for number in (1, 2, 5):
        monkeypatch.setattr(threads, "count", lambda number=number: number)
        design = Design(X, cells, cells)
        assert len(design._cuts(16)) > 1
        found.append(swept(design, W, up, down))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_an_error_in_a_thread_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "count", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        threads.each(lambda x: 1 / x, [(1,), (0,)])
    with pytest.raises(ZeroDivisionError):
        threads.each(lambda x: 1 / x, [(0,), (1,)])


@pytest.mark.skipif(not kernels.ready(), reason="needs numba")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_adam_is_adam(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    from equirate.players.steps import Adam

    rule, gradients = Adam(), rng.normal(size=(20, 6, 5)).astype(dtype)
    rate = rng.random(5).astype(dtype)
    moves = []
    for ready in (True, False):
        take(ready, monkeypatch)
        state, steps = rule.start((6, 5), dtype), []
        for gradient in gradients:
            step, state = rule.move(state, gradient, rate)
            assert step.dtype == dtype
            steps.append(step)
        moves.append(steps)
    np.testing.assert_allclose(moves[0], moves[1], rtol=1e-4 if dtype is np.float32 else 1e-10, atol=1e-7)


# -- standardised features ------------------------------------------------------------------------

SCALES = [1e-12, 1e-6, 1.0, 1e6, 1e12]


def drawn(n: int = 300, d: int = 5, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(n, d))


def measured(X: Any, weights: Array | None = None) -> Standard:
    return Standard.of(X, np.ones(X.shape[0]) if weights is None else weights, ALONE)


@pytest.mark.parametrize("shift", [0.0, 1.0, 1e4], ids=lambda shift: f"shift {shift:g}")
@pytest.mark.parametrize("sparse", [False, True])
def test_scores_are_the_same_on_both_sides(sparse: bool, shift: float) -> None:
    X: Any = (drawn() + shift) * SCALES
    if sparse:
        X[np.random.default_rng(1).random(X.shape) < 0.6] = 0.0
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    standard = measured(sp.csr_array(X) if sparse else X)
    W = np.random.default_rng(2).normal(size=(6, 20))
    V = standard.raw(W)
    np.testing.assert_allclose(X @ V[:-1] + V[-1], Z @ W[:-1] + W[-1], atol=1e-7)
    np.testing.assert_allclose(standard.standard(V), W, rtol=1e-9, atol=1e-9)


def test_the_slope_is_that_of_the_standardised_weights() -> None:
    X, G = 3 + 2 * drawn(), np.random.default_rng(3).normal(size=(300, 4))
    standard = measured(X)
    Z = standard.features(X)
    raw = np.vstack([X.T @ G, G.sum(axis=0)])
    np.testing.assert_allclose(standard.slope(raw), np.vstack([Z.T @ G, G.sum(axis=0)]), atol=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.7, 1e-12, 1e12 / 3, 1e300])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_constant_feature_has_no_weight(value: float, dtype: type, weighted: bool, sparse: bool) -> None:
    value = min(value, 1e30 if dtype is np.float32 else 1e150)
    n = 10_007
    X: Any = np.column_stack([np.full(n, value), drawn(n, 1)]).astype(dtype)
    weights = np.random.default_rng(0).random(n) if weighted else None
    standard = measured(sp.csr_array(X) if sparse else X, weights)
    assert standard.spread[0] == np.inf
    V = standard.raw(np.array([[1.0], [1.0], [0.0]]))
    assert V[0] == 0
    assert np.isfinite(V).all()
    assert standard.slope(np.array([[1.0], [1.0], [0.5]]))[0] == 0
    assert standard.standard(V)[0] == 0


@given(st.lists(st.integers(0, 4), min_size=12, max_size=12).filter(any), st.booleans())
def test_a_weight_counts_like_so_many_copies(counts: list[int], sparse: bool) -> None:
    X = drawn(12, 3) * [1e-6, 1, 1e6] + [0, 5, 0]
    copies = np.repeat(X, counts, axis=0)
    as_given = sp.csr_array if sparse else np.asarray
    a, b = measured(as_given(X), np.array(counts, dtype=float)), measured(as_given(copies))
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-9, atol=1e-18)
    np.testing.assert_allclose(a.spread, b.spread, rtol=1e-6)


def test_stored_zeros_and_duplicates_count_once() -> None:
    X = sp.csr_array((np.array([1.0, 2.0, 0.0, 5.0]), np.array([0, 0, 0, 0]), np.array([0, 2, 3, 4])), shape=(3, 1))
    assert measured(X).spread == pytest.approx(np.std([3.0, 0.0, 5.0]))


def test_no_weight_at_all_is_equal_weight() -> None:
    X = drawn(20, 2)
    np.testing.assert_allclose(measured(X, np.zeros(20)).spread, measured(X).spread)


def test_single_precision_is_for_features_it_can_hold() -> None:
    assert measured(drawn() * 7 + 3).single
    assert not measured(drawn() + 1e4).single
    assert not measured(drawn() * 1e20).single
    assert measured(np.column_stack([drawn(), np.full(300, 1e6)])).single  # a constant has no weight
    assert not measured(np.column_stack([drawn(), np.full(300, 1e35)])).single


# -- whole runs -----------------------------------------------------------------------------------

N = 600
RUN_X = np.column_stack([one_hot(N, seed=4), np.round(drawn(N, 2, seed=5), 1)])
RUN_G = np.random.default_rng(6).integers(2, size=N)
RUN_Y = (RUN_X[:, 0] + RUN_X[:, -1] + 0.5 * RUN_G + drawn(N, 1, seed=7)[:, 0] > 1).astype(int)
GROUP = eq.attr("g") == 1
RUNS = {
    "kld": eq.Problem(eq.minimize(eq.kl_divergence(GROUP) + eq.kl_divergence(~GROUP)), [eq.error_rate() <= 0.3]),
    "f1": eq.Problem(eq.maximize(eq.f1()), [eq.f1(GROUP) >= eq.f1(~GROUP) - 0.01]),
    "odds": eq.Problem(eq.minimize(eq.error_rate()), [abs(eq.tpr(GROUP) - eq.tpr(~GROUP)) <= 0.02]),
}


def played(name: str, X: Any = RUN_X, algorithm: str = "auto", **settings: Any) -> Any:
    settings = {"n_rounds": 60, "theta_step": (0.01, 0.1), "lambda_step": (0.01, 0.1)} | settings
    weights = settings.pop("weights", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)  # few rounds: only the course is of interest
        return eq.solve(
            RUNS[name], X, RUN_Y, attributes={"g": RUN_G}, sample_weight=weights, algorithm=algorithm, **settings
        )


def same_course(a: Any, b: Any, share: float = 0.02) -> None:
    """Rates and multipliers take the same course; a score near 0 may fall on either side by rounding."""
    np.testing.assert_allclose(a.record.stacked("rates"), b.record.stacked("rates"), atol=share)
    np.testing.assert_allclose(a.record.stacked("multipliers"), b.record.stacked("multipliers"), atol=10 * share)


@pytest.mark.skipif(not kernels.ready(), reason="needs numba")
@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        (name, algorithm)
        for algorithm in ("auto", "proxy_lagrangian", "spade_plus")
        for name in RUNS
        if name != "f1" or algorithm == "auto"  # the other two take no ratio
    ],
)
def test_a_compiled_run_is_the_run_in_numpy(name: str, algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = {"theta_step": 0.01, "lambda_step": 0.01}
    take(True, monkeypatch)
    fast = played(name, algorithm=algorithm, **bounds)
    take(False, monkeypatch)
    same_course(fast, played(name, algorithm=algorithm, **bounds))


@pytest.mark.parametrize("compiled", COMPILED, indirect=True)
@pytest.mark.parametrize("name", RUNS)
def test_sparse_features_take_the_course_of_dense_ones(compiled: bool, name: str) -> None:
    same_course(played(name), played(name, sp.csr_matrix(RUN_X)))


@pytest.mark.parametrize("compiled", COMPILED, indirect=True)
@pytest.mark.parametrize("weighted", [False, True])
def test_merged_rows_take_the_course_of_all_rows(
    compiled: bool, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = np.random.default_rng(8).random(N) if weighted else None
    X = RUN_X[:, :10]
    merged = played("kld", X, weights=weights)
    assert merged.learner.design.X.shape[0] < N / 2
    monkeypatch.setattr(designs, "MERGED", 0.0)
    plain = played("kld", X, weights=weights)
    assert plain.learner.design.X.shape[0] == N
    same_course(merged, plain)


@pytest.mark.parametrize("compiled", COMPILED, indirect=True)
@pytest.mark.parametrize("name", RUNS)
def test_a_configuration_alone_takes_the_course_it_takes_in_the_batch(compiled: bool, name: str) -> None:
    batch = played(name)
    for c, setting in enumerate(batch.configurations):
        steps = {key: setting[key] for key in ("theta_step", "lambda_step")}
        alone = played(name, **steps)
        wanted = batch.record.stacked("rates")[:, :, [c]]
        np.testing.assert_allclose(alone.record.stacked("rates"), wanted, atol=0.02)


@pytest.mark.skipif(not kernels.ready(), reason="needs numba")
def test_a_run_does_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    take(True, monkeypatch)
    monkeypatch.setattr(designs, "_BLOCK_WORK", 1000)
    runs = []
    for number in (1, 2):
        monkeypatch.setattr(threads, "count", lambda number=number: number)
        runs.append(played("kld", RUN_X.astype(np.float32)))
    np.testing.assert_array_equal(runs[0].record.stacked("rates"), runs[1].record.stacked("rates"))
    np.testing.assert_array_equal(runs[0].record.snapshots[-1], runs[1].record.snapshots[-1])


@pytest.mark.parametrize("sparse", [False, True])
def test_a_standardised_model_is_one_on_standardised_features(sparse: bool) -> None:
    X = RUN_X * np.linspace(0.1, 30, RUN_X.shape[1])
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    inside = played("odds", sp.csr_array(X) if sparse else X, model=eq.models.Linear(standardise=True))
    outside = played("odds", Z)
    same_course(inside, outside)
    p = [s.best(0).positive_probability(data) for s, data in ((inside, X), (outside, Z))]
    assert np.mean(p[0] == p[1]) > 0.98


@pytest.mark.parametrize("intercept", [True, False])
def test_a_standardised_model_goes_on_from_where_it_was(intercept: bool) -> None:
    model = eq.models.Linear(standardise=True, intercept=intercept)
    X = 3 + RUN_X
    first = played("odds", X, model=model, n_rounds=10)
    again = played("odds", X, model=model, n_rounds=10, record_every=1, start=first.record.end())
    ends = first.record.snapshots[-1], again.record.snapshots[0]
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-8)  # the first round is played before the first step


@pytest.mark.parametrize("compiled", COMPILED, indirect=True)
def test_sparse_features_are_used_as_they_are_and_left_so(compiled: bool) -> None:
    rows = sp.csr_array(RUN_X)
    twice = sp.csr_array(  # every value in two halves, columns in no order
        (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr), shape=rows.shape
    )
    for i in range(rows.shape[0]):
        part = slice(twice.indptr[i], twice.indptr[i + 1])
        twice.indices[part], twice.data[part] = twice.indices[part][::-1].copy(), twice.data[part][::-1].copy()
    kept = [array.copy() for array in (twice.data, twice.indices, twice.indptr)]
    same_course(played("odds", twice), played("odds", RUN_X))
    for before, after in zip(kept, (twice.data, twice.indices, twice.indptr), strict=True):
        np.testing.assert_array_equal(after, before)


def strided(X: Array) -> Array:
    wide = np.zeros((len(X), 2 * X.shape[1]), X.dtype)
    wide[:, ::2] = X
    return wide[:, ::2]


def read_only(X: Array) -> Array:
    X = X.copy()
    X.flags.writeable = False
    return X


def mapped(X: Array, path: Any) -> Array:
    stored = np.memmap(path, dtype=X.dtype, mode="w+", shape=X.shape)
    stored[:] = X
    stored.flush()
    return np.memmap(path, dtype=X.dtype, mode="r", shape=X.shape)


@pytest.mark.parametrize(
    "kind", ["read-only", "memory map", "fortran", "strided", "other byte order", "csc", "long csr"]
)
def test_features_may_be_stored_in_any_way(kind: str, tmp_path: Any) -> None:
    X = RUN_X.astype(np.float32)
    rows = sp.csr_array(X)
    stored = {
        "read-only": read_only,
        "memory map": lambda X: mapped(X, tmp_path / "features"),
        "fortran": np.asfortranarray,
        "strided": strided,
        "other byte order": lambda X: X.astype(X.dtype.newbyteorder()),
        "csc": sp.csc_matrix,
        "long csr": lambda X: sp.csr_array(
            (rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)), shape=X.shape
        ),
    }[kind](X)
    same_course(played("odds", stored), played("odds", X))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("size", [1e-160, 1e-300])
def test_features_too_small_to_square_are_refused_by_name(form, size):
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1.0, size]
    with pytest.raises(eq.DataError, match=r"column 2 of X has values of at most .*MaxAbsScaler"):
        Standard.of(form(X), np.ones(50), ALONE)
    X[:, 2] = size  # a constant is a constant, however small
    assert Standard.of(form(X), np.ones(50), ALONE).spread[2] == np.inf
