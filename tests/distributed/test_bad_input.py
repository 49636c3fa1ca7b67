"""Bad input on one process, or on all: an error on every process, and nobody waits for ever."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import equirate as eq
from equirate._core import peers as peers_module
from equirate._core.peers import all_processes

N = 300
rng = np.random.default_rng(5)
X = rng.normal(size=(N, 3))
GROUP = np.where(rng.random(N) < 0.4, "a", "b")
Y = (X[:, 0] + 0.4 * rng.normal(size=N) > 0).astype(int)
LIMIT = [eq.positive_rate(eq.attr("group") == "a") <= 0.5]


def given(rank, size=3):
    part = slice(rank * N // size, (rank + 1) * N // size)
    return {"X": X[part].copy(), "y": Y[part].copy(), "group": GROUP[part].copy(), "constraints": LIMIT, "n_rounds": 5}


def holes(data):
    data["X"][7, 1] = np.nan


def other_columns(data):
    data["X"] = pd.DataFrame(data["X"], columns=["age", "height", "weight"])


def fewer_columns(data):
    data["X"] = data["X"][:, :2]


def other_problem(data):
    data["constraints"] = [eq.positive_rate(eq.attr("group") == "a") <= 0.4]


def fewer_rounds(data):
    data["n_rounds"] = 4


def empty(data):
    for name in ("X", "y", "group"):
        data[name] = data[name][:0]


def third_label(data):
    data["y"][0] = 2


def numbered_groups(data):
    data["group"] = np.arange(len(data["group"]))


def single_precision(data):
    data["X"] = data["X"].astype(np.float32)


def unequal_lengths(data):
    data["y"] = data["y"][:-1]


ONE = {
    holes: "NaN in 1 row of column 1",
    other_columns: "the columns of X must be the same on every process",
    fewer_columns: "the columns of X must be the same on every process: process 0 has 3 columns, process 1 has 2",
    other_problem: "the problem must be the same on every process",
    fewer_rounds: "n_rounds must be the same on every process: process 0 has 5, process 1 has 4",
    empty: "has no rows here: every process needs some",
    third_label: "y has 3 classes|Only binary classification",
    numbered_groups: r"the attributes must be the same on every process: process 0 has group \(text\)",
    single_precision: "the kind of X must be the same on every process",
    unequal_lengths: "y|inconsistent numbers of samples",
}


@pytest.mark.parametrize("way", ["solve", "fit"])
@pytest.mark.parametrize("spoil", ONE, ids=lambda function: function.__name__)
def test_what_is_wrong_on_one_process_is_told_on_all(together, spoil, way):
    def work(rank):
        data = given(rank)
        if rank == 1:
            spoil(data)
        problem = eq.Problem(eq.minimize(eq.error_rate()), data["constraints"])
        if way == "solve":
            return eq.solve(
                problem, data["X"], data["y"], attributes={"group": data["group"]}, n_rounds=data["n_rounds"]
            )
        estimator = eq.RateClassifier(problem.objective, problem.constraints, n_rounds=data["n_rounds"])
        return estimator.fit(data["X"], data["y"], sensitive_features={"group": data["group"]})

    for rank, error in enumerate(together(3, work)):
        assert isinstance(error, ValueError), (rank, error)
        with pytest.raises(ValueError, match=ONE[spoil]):
            raise error


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ([eq.positive_rate(eq.attr("group") == "z") <= 0.5], "holds no example with positive weight"),
        (eq.demographic_parity("nobody", tolerance=0.1), "nobody"),
    ],
)
def test_what_is_nowhere_is_told_everywhere(together, constraints, message):
    def work(rank):
        data = given(rank)
        return eq.RateClassifier(eq.minimize(eq.error_rate()), constraints).fit(
            data["X"], data["y"], sensitive_features={"group": data["group"]}
        )

    for error in together(2, work):
        with pytest.raises(eq.DataError, match=message):
            raise error


def test_one_class_everywhere(together):
    for error in together(2, lambda rank: eq.solve(eq.minimize(eq.error_rate()), X, np.ones(N, int))):
        with pytest.raises(eq.DataError, match="one class only"):
            raise error


def test_a_label_that_one_process_alone_has_is_a_label_of_all(together):
    """Rows sorted by label are shared out as well as any others."""
    order = np.argsort(Y, kind="stable")

    def work(rank):
        part = order[rank * N // 3 : (rank + 1) * N // 3]
        return eq.RateClassifier(eq.minimize(eq.error_rate()), random_state=0).fit(X[part], Y[part])

    for own in together(3, work):
        np.testing.assert_array_equal(own.classes_, [0, 1])
        assert own.status_.objective < 0.3


def test_other_versions_are_told(together, monkeypatch):
    from equirate.distributed import gloo

    known, strange = gloo.version, threading.local()

    def version(name):
        return "9.9" if name == "numpy" and getattr(strange, "here", False) else known(name)

    monkeypatch.setattr(gloo, "version", version)

    def work(rank):
        strange.here = rank == 1
        return eq.solve(eq.minimize(eq.error_rate()), X, Y, n_rounds=5)

    for error in together(2, work):
        with pytest.raises(eq.DataError, match=r"versions must be the same on every process.*numpy 9\.9"):
            raise error


def whole(model):
    return lambda: eq.solve(eq.minimize(eq.error_rate()), X, Y, model=model, n_rounds=5)


@pytest.mark.parametrize(
    ("work", "named"),
    [
        (whole(DecisionTreeClassifier(max_depth=2)), "Oracle of a DecisionTreeClassifier"),
        (whole(eq.models.PlugIn(LogisticRegression())), "PlugIn of a LogisticRegression"),
        (whole([lambda rows: rows[:, 0] > 0]), "Finite"),
        (
            lambda: eq.RatePostprocessor(LogisticRegression(), eq.minimize(eq.error_rate())).fit(X, Y),
            "RatePostprocessor",
        ),
    ],
    ids=["oracle", "plug-in", "list", "postprocessor"],
)
def test_what_must_see_all_rows_is_refused_with_what_to_do(together, work, named):
    for error in together(2, lambda rank: work()):
        with pytest.raises(eq.AlgorithmError, match=rf"{named} must see all rows .* 2 processes .*sample.*alone\(\)"):
            raise error


def test_best_responses_are_refused_with_what_to_do(together):
    for error in together(2, lambda rank: eq.solve(eq.minimize(eq.error_rate()), X, Y, algorithm="oracle", n_rounds=5)):
        with pytest.raises(eq.AlgorithmError, match=r"cannot best-respond .* take an algorithm that descends"):
            raise error


def test_after_an_error_the_same_processes_can_fit(together):
    def work(rank):
        data = given(rank, 2)
        if rank == 0:
            holes(data)
        problem = eq.Problem(eq.minimize(eq.error_rate()))
        with pytest.raises(eq.DataError):
            eq.solve(problem, data["X"], data["y"], n_rounds=5)
        data = given(rank, 2)
        return eq.solve(problem, data["X"], data["y"], n_rounds=5).status.objective

    first, second = together(2, work)
    assert first == second


def test_a_process_that_does_something_else_is_not_waited_for_for_ever(together):
    def work(rank):
        if rank == 0:
            return eq.solve(eq.minimize(eq.error_rate()), X, Y, n_rounds=5)
        with all_processes():
            pass
        threading.Event().wait(8)
        return None

    error, nothing = together(2, work, timeout=2)
    assert isinstance(error, eq.ProcessError)
    assert nothing is None or isinstance(nothing, eq.ProcessError)


def test_a_process_that_never_comes_is_named(together):
    error, nothing = together(2, lambda rank: None if rank else eq.solve(eq.minimize(eq.error_rate()), X, Y), timeout=2)
    assert nothing is None
    with pytest.raises(eq.ProcessError, match="process 1 did not come to the fit within 2 s"):
        raise error


def test_a_process_that_stops_before_all_have_come_is_named(together, monkeypatch):
    """Rank 1 shows itself and is gone; rank 2 never comes, but nobody waits for it for long."""
    from equirate._core.peers import _known
    from equirate.distributed import gloo

    monkeypatch.setattr(gloo, "SILENT", 1.0)

    def work(rank):
        if rank == 0:
            return eq.solve(eq.minimize(eq.error_rate()), X, Y)
        if rank == 1:
            shared = _known.get()
            shared._beat()
            threading.Event().wait(1.5)
            shared._leave()
        return None

    error, *_ = together(3, work, timeout=60)
    with pytest.raises(eq.ProcessError, match="process 1 died or ended before the others"):
        raise error


def test_a_fit_that_is_given_up_ends(together):
    from equirate._core.peers import _known

    def work(rank):
        shared = _known.get()
        threading.Timer(2.0, shared.abandon).start()
        endless = {"algorithm": "surrogate", "n_rounds": 10**6, "patience": None}
        return eq.RateClassifier(eq.minimize(eq.error_rate()), LIMIT, **endless).fit(
            X, Y, sensitive_features={"group": GROUP}
        )

    for error in together(2, work):
        with pytest.raises(eq.ProcessError, match="given up"):
            raise error


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setenv(peers_module.LAUNCHED, "7")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setitem(sys.modules, "torch.distributed", None)
    with pytest.raises(ImportError, match=r"needs torch: pip install 'equirate\[distributed\]'"):
        eq.solve(eq.minimize(eq.error_rate()), X, Y)


def on_dask():
    from equirate.distributed import fit

    fit(None, eq.RateClassifier(eq.minimize(eq.error_rate())), "rows.parquet", label="y")


def from_parquet():
    from equirate.distributed import ParquetRows

    ParquetRows("rows.parquet", label="y").given()


@pytest.mark.parametrize(("work", "name"), [(on_dask, "distributed"), (from_parquet, "pyarrow")])
def test_what_else_is_missing_is_named(monkeypatch, work, name):
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, f"{name}.parquet", None)
    with pytest.raises(ImportError, match=rf"needs {name}: pip install 'equirate\[distributed\]'"):
        work()
