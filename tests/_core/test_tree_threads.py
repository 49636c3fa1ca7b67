"""Trees have one thread where rows are few, while they work and not afterwards; a number that is set is used."""

import importlib
import importlib.util
import threading

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

import equirate as eq
from equirate._core import forking, threads, tree_threads
from equirate._core.tree_threads import MIN_PARALLEL_ROWS, thread_count, threads_for
from equirate.boosting.libraries import bins_of
from equirate.models import Oracle, PlugIn

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))
Y = (X[:, 0] + 0.3 * rng.normal(size=300) > 0).astype(int)
GROUP = {"group": np.where(X[:, 1] > 0, "a", "b")}
ERROR, PARITY = eq.minimize(eq.error_rate()), [eq.demographic_parity("group", tolerance=0.2)]
SEEN: list[tuple[str, int]] = []


def openmp():
    """Threads of OpenMP, in this thread; every library that brings its own has the same number."""
    (number,) = {each["num_threads"] for each in threadpool_info() if each["user_api"] == "openmp"}
    return number


class HistGradientBoostingClassifier(sklearn.ensemble.HistGradientBoostingClassifier):
    """Notes how many threads it is trained and scores with."""

    def fit(self, X, y, sample_weight=None):
        """Train."""
        SEEN.append(("fit", openmp()))
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        """Score."""
        SEEN.append(("score", openmp()))
        return super().predict_proba(X)


@pytest.fixture
def two(monkeypatch):
    """Two threads of OpenMP, in a process that may use them."""
    for library in ("lightgbm", "xgboost"):  # they may bring an OpenMP of their own
        if importlib.util.find_spec(library):
            importlib.import_module(library)
    monkeypatch.setattr(threads, "count", lambda: 2)
    monkeypatch.setattr(forking, "_user", None)
    SEEN.clear()
    with threadpool_limits(limits=2, user_api="openmp"):
        if openmp() != 2:
            pytest.skip("this OpenMP cannot have two threads")
        yield
        assert openmp() == 2


TREES = HistGradientBoostingClassifier(max_iter=2)
FITS = {
    "plug-in": lambda: eq.RateClassifier(ERROR, PARITY, model=PlugIn(TREES), random_state=0),
    "oracle": lambda: eq.RateClassifier(ERROR, PARITY, model=Oracle(TREES), n_rounds=2, random_state=0),
    "post-processing": lambda: eq.RatePostprocessor(TREES, ERROR, PARITY, random_state=0),
    "a pipeline": lambda: eq.RatePostprocessor(make_pipeline(StandardScaler(), TREES), ERROR, PARITY, random_state=0),
}


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize(("many", "expected"), [(MIN_PARALLEL_ROWS, 1), (0, 2)])
def test_few_rows_have_one_thread(two, monkeypatch, kind, many, expected):
    monkeypatch.setattr(tree_threads, "MIN_PARALLEL_ROWS", many)
    FITS[kind]().fit(X, Y, sensitive_features=GROUP)
    assert ("fit", expected) in SEEN
    assert {number for _, number in SEEN} == {expected}
    assert (forking._user is None) == (expected == 1)  # one thread may be used after a fork, too


def test_the_limit_ends_with_an_error(two):
    with pytest.raises(ZeroDivisionError), threads_for(TREES, 300):
        _ = 1 / (openmp() - 1)
    assert openmp() == 2


def test_the_limit_is_that_of_the_calling_thread(two):
    inside, done = threading.Event(), threading.Event()
    seen = []

    def fit():
        with threadpool_limits(limits=2, user_api="openmp"), threads_for(TREES, 300, training=True):
            seen.append(openmp())
            inside.set()
            done.wait(30)

    other = threading.Thread(target=fit)
    other.start()
    inside.wait(30)
    seen.append(openmp())
    with threads_for(TREES, 300, training=True):
        done.set()
        other.join()  # its limit ends before this one
        seen.append(openmp())
    assert seen == [1, 2, 1]


def test_classifiers_without_trees_are_left_alone(two):
    with threads_for(LogisticRegression(), 300, training=True):
        assert openmp() == 2


@pytest.mark.parametrize("jobs", [None, 0, 2, -1])
def test_lightgbm_has_one_job_meanwhile_unless_a_number_is_set(two, jobs):
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    trees = lightgbm.LGBMClassifier(n_jobs=jobs)
    meanwhile = jobs or 1
    for around in (trees, make_pipeline(StandardScaler(), trees)):
        with threads_for(around, 300, training=True):
            assert trees.n_jobs == meanwhile
        assert trees.n_jobs == jobs
        with threads_for(around, MIN_PARALLEL_ROWS, training=True):
            assert trees.n_jobs == jobs
    with threads_for(trees, 300):  # several threads may score with the same classifier
        assert trees.n_jobs == jobs
    with threads_for(StackingClassifier([("trees", trees)]), 300, training=True):
        assert trees.n_jobs == jobs  # clones are trained, and would keep another number
    other = lightgbm.LGBMClassifier(num_threads=2)
    with threads_for(other, 300, training=True):
        assert other.n_jobs is None


@pytest.mark.parametrize("asked", [{}, {"n_jobs": 2}])
def test_all_of_xgboost_keeps_to_one_thread(two, monkeypatch, asked):
    """Labels and weights are copied by as many threads as OpenMP has, whatever nthread is: for ever, after a fork."""
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    seen = set()

    def set_weight(self, weight):
        seen.add(openmp())
        return real(self, weight)

    real = xgboost.DMatrix.set_weight
    monkeypatch.setattr(xgboost.DMatrix, "set_weight", set_weight)
    bins = bins_of("xgboost", X, asked)
    bins.fit(Y, None, 2, {**asked, "n_estimators": 2}, [bins])
    bins.grower(asked, 0.1, None).grow(np.ones(300), np.ones(300))
    assert seen == {asked.get("n_jobs", 1)}


def test_threads_are_as_many_as_asked_for(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    for rows, usual in ((MIN_PARALLEL_ROWS - 1, 1), (MIN_PARALLEL_ROWS, 3)):
        assert [thread_count({"n_jobs": n}, rows) for n in (None, 0, 1, 2, -1, -2)] == [usual, usual, 1, 2, 3, 2]
        assert thread_count({"num_threads": 2}, rows) == 2
