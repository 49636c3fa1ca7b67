"""From a Dask cluster the same classifier as from here, and errors that are told here."""

from __future__ import annotations

import multiprocessing
import multiprocessing.forkserver
import os
import signal
import threading
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import equirate as eq

dask = pytest.importorskip("dask", reason="the extra distributed is not installed")
distributed = pytest.importorskip("distributed", reason="the extra distributed is not installed")
dd = pytest.importorskip("dask.dataframe", reason="the extra distributed is not installed")

pytestmark = pytest.mark.slow

N = 1200
rng = np.random.default_rng(11)
FRAME = pd.DataFrame(rng.normal(size=(N, 4)), columns=list("abcd"))
FRAME["group"] = np.where(rng.random(N) < 0.4, "a", "b")
SCORE = FRAME["a"] + 0.5 * (FRAME["group"] == "a") + 0.6 * rng.normal(size=N)
FRAME["y"] = np.where(SCORE > 0.3, "yes", "no")
FEATURES, NAMED = list("abcd"), {"label": "y", "attributes": ["group"]}


def estimator(**settings):
    constraints = eq.demographic_parity("group", tolerance=0.05)
    return eq.RateClassifier(
        eq.maximize(eq.f1()),
        constraints,
        random_state=0,
        pos_label="yes",
        **settings,
    )


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_frame_is_fitted_as_if_it_were_here(client, together):
    from equirate.distributed import fit

    given = estimator()
    own = fit(client, given, dd.from_pandas(FRAME, npartitions=4), **NAMED)
    assert own is given

    def work(rank):
        part = FRAME[rank * N // 2 : (rank + 1) * N // 2]
        return estimator().fit(part[FEATURES], part["y"], sensitive_features=part[["group"]])

    for other in together(2, work):
        np.testing.assert_array_equal(own.members_.W, other.members_.W)
        np.testing.assert_array_equal(own.weights_, other.weights_)
    np.testing.assert_array_equal(own.feature_names_in_, FEATURES)
    assert set(own.predict(FRAME[FEATURES])) == {"yes", "no"}


def test_parquet_files_and_partitions_without_rows(client, tmp_path):
    from equirate.distributed import fit

    FRAME.to_parquet(tmp_path / "rows.parquet", row_group_size=300)
    one = fit(client, estimator(), tmp_path / "rows.parquet", **NAMED)
    frame = dd.from_pandas(FRAME, npartitions=3)
    other = fit(client, estimator(), dd.concat([frame, frame[frame["a"] > 1e9]]), **NAMED)
    assert one.status_.objective == pytest.approx(other.status_.objective, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "named", "message"),
    [
        (lambda frame: frame, {"label": "z"}, "there is no column 'z'; the columns are 'a'"),
        (lambda frame: frame, {}, "name the label"),
        (lambda frame: frame.assign(b=frame["b"].where(frame.index != 900)), NAMED, "NaN in 1 row of column 'b'"),
        (lambda frame: frame.assign(y=frame["y"].where(frame.index != 3, "perhaps")), NAMED, "for two classes"),
        (lambda frame: frame[frame["a"] > 1e9], NAMED, "has no rows"),
    ],
)
def test_errors_are_told_here(client, change, named, message):
    from equirate.distributed import fit

    with pytest.raises(eq.DataError, match=message):
        fit(client, estimator(), dd.from_pandas(change(FRAME), npartitions=2), **named)


def test_other_estimators_and_data_are_refused(client):
    from sklearn.linear_model import LogisticRegression

    from equirate.distributed import fit

    with pytest.raises(eq.EquirateError, match="takes a RateClassifier; got a LogisticRegression"):
        fit(client, LogisticRegression(), FRAME, **NAMED)
    with pytest.raises(eq.DataError, match="a Dask data frame, a path or ParquetRows; got a DataFrame"):
        fit(client, estimator(), FRAME, **NAMED)


def test_warnings_are_given_here(client):
    from equirate.distributed import fit

    impossible = eq.RateClassifier(
        eq.minimize(eq.error_rate()), [eq.tpr() >= 0.99, eq.fpr() <= 0.01], random_state=0, pos_label="yes"
    )
    with pytest.warns(eq.NotSolvedWarning, match="the constraints are not met"):
        fit(client, impossible, dd.from_pandas(FRAME, npartitions=2), **NAMED)


def quick_workers():
    """How to start workers that have everything loaded already."""
    loaded = ["distributed", "pandas", "torch.distributed", "equirate.distributed"]
    multiprocessing.get_context("forkserver").set_forkserver_preload(loaded)
    multiprocessing.forkserver.ensure_running()
    return "forkserver"


def ended(work, limit=300):
    """What a function returns, or the error that it ends with; one that hangs fails the test."""
    found = []

    def run():
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(limit)
    assert found, "the fit hangs"
    return found[0]


def killed(client, rank):
    """Kill the worker of a process once the next fit has left a checkpoint; its address, and when it died."""
    known, died = set(client.get_metadata(["equirate"], default={})), []

    def kill():
        while not died:
            with suppress(OSError):  # one that died before may still be listed
                fits = client.get_metadata(["equirate"], default={})
                if any(name not in known and fit.get("checkpoints") for name, fit in fits.items()):
                    address, pid = sorted(client.run(os.getpid).items())[rank]
                    died[:] = [address, time.monotonic()]
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    threading.Thread(target=kill, daemon=True).start()
    return died


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="workers are forked and killed")
def test_a_worker_that_is_killed(together, monkeypatch):
    """With a restart the fit comes to the same bits; without one it ends, and says who died."""
    from equirate.distributed import cluster as room, fit

    monkeypatch.setattr(room, "PATIENCE", 1.0)  # the worker that is left has a thread for the lost one's rows
    frame = dd.from_pandas(FRAME, npartitions=4)
    long = {"algorithm": "slack_ratios", "n_rounds": 1500, "patience": None}

    def work(rank):
        part = FRAME[rank * N // 2 : (rank + 1) * N // 2]
        return estimator(**long).fit(part[FEATURES], part["y"], sensitive_features=part[["group"]])

    expected, _ = together(2, work)
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": quick_workers()}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=":0", memory_limit=0) as cluster,
        distributed.Client(cluster) as client,
    ):
        died = killed(client, 0)
        own = ended(lambda: fit(client, estimator(**long), frame, **NAMED, restarts=1, every=0.0))
        assert died
        assert isinstance(own, eq.RateClassifier), own
        np.testing.assert_array_equal(own.members_.W, expected.members_.W)
        np.testing.assert_array_equal(own.weights_, expected.weights_)
        died = killed(client, 0)
        error = ended(lambda: fit(client, estimator(**long), frame, **NAMED, every=0.0))
        assert isinstance(error, eq.ProcessError), error
        address, moment = died
        assert time.monotonic() - moment < 60
        assert f"(worker {address}) died, so the fit ends here; restarts=1 would go on without loss" in str(error)
        assert str(error).startswith("process ")
