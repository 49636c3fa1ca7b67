"""More than two classes with rows in files, or that processes share: the same classifier as from one place."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import equirate as eq
from equirate.data import cells, labels
from equirate.data.mapped import is_mapped
from equirate.game import classifiers
from equirate.judge import class_spread, evaluation
from equirate.models import rows as model_rows
from equirate.models.class_plug_in import ClassPlugIn

N = 1500
NAMES = np.array(["cat", "cow", "dog", "owl"])
rng = np.random.default_rng(5)
X = rng.normal(size=(N, 4)) * [1, 2, 0.5, 1] + [0, 1, 0, 5]
SCORES = np.stack([X[:, 0] + 1.0, 0.5 * X[:, 1] + 0.5, X[:, 3] - 5 + 0.5 * X[:, 0], 2 * X[:, 2] - 0.5], axis=1)
CODES = (SCORES + rng.gumbel(size=(N, 4))).argmax(axis=1)
ORDER = np.argsort(CODES, kind="stable")  # by class: some processes lack some of them
X, Y = X[ORDER], NAMES[CODES[ORDER]]
SEX = np.where(rng.random(N) < 1 / (1 + np.exp(-X[:, 0])), "F", "M")
WEIGHTS = rng.random(N) + 0.5
FRAME = pd.DataFrame(X.astype(np.float32), columns=list("abcd"))
CONSTRAINTS = [eq.recall(label="owl") >= 0.4, *eq.demographic_parity("sex", tolerance=0.05)]
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()), CONSTRAINTS)


def cut(size, unequal=False):
    edges = np.linspace(0, N, size + 1).astype(int)
    if unequal:
        edges[1:-1] = edges[1:-1] // 3
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def raised(found):
    for each in found:
        if isinstance(each, BaseException):
            raise each
    return found


def fitted(together, size, features=X, unequal=False, weights=None, problem=PROBLEM, **settings):
    parts = cut(size, unequal)

    def work(rank):
        part = parts[rank]
        given = {"sensitive_features": {"sex": SEX[part]}}
        if weights is not None:
            given["sample_weight"] = weights[part]
        own = eq.RateClassifier(problem.objective, problem.constraints, **{"random_state": 0, **settings})
        own.fit(features[part], Y[part], **given)
        return own, own.evaluate(features[part], Y[part], **given)

    return raised(together(size, work))


def numbers(evaluation):
    flat = [evaluation.objective, evaluation.low, evaluation.high]
    flat += [value for c in evaluation.constraints for value in (c.left, c.violation, c.low, c.high)]
    tables = [np.ravel(table.shares) for table in evaluation.classes]
    return np.concatenate([np.array(flat), *tables, *(table.examples for table in evaluation.classes)])


def differing(own, other, features=X):
    """Share of the rows that two mixtures do not decide alike."""
    return np.mean(np.abs(own.predict_pmf(features) - other.predict_pmf(features)).max(axis=1) > 1e-4)


@pytest.mark.parametrize("kind", ["float32", "float64", "sparse"])
def test_any_number_of_processes_comes_to_the_same_classifier(together, kind):
    features = sp.csr_array(X) if kind == "sparse" else X.astype(kind)
    (reference, value), *_ = fitted(together, 1, features)
    assert reference.classes_.tolist() == NAMES.tolist()
    assert len(set(Y[cut(4)[0]])) < 4  # the first of four processes lacks classes
    for size, unequal in ((2, False), (3, True), (4, False)):
        for own, found in fitted(together, size, features, unequal):
            assert own.classes_.tolist() == NAMES.tolist()
            assert differing(own, reference, features) <= 1e-4
            np.testing.assert_allclose(numbers(found), numbers(value), atol=1e-6)
            assert own.status_.objective == pytest.approx(reference.status_.objective, abs=1e-6)
            for part, achieved in own.parts_.items():
                np.testing.assert_allclose(numbers(achieved), numbers(reference.parts_[part]), atol=1e-6)


def test_one_process_among_others_is_a_process_by_itself(together):
    settings = {"output": "deterministic"}
    (shared, value), *_ = fitted(together, 3, **settings)
    single = eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, random_state=0, **settings)
    single.fit(X, Y, sensitive_features={"sex": SEX})
    np.testing.assert_array_equal(shared.predict(X), single.predict(X))
    np.testing.assert_allclose(
        numbers(value), numbers(single.evaluate(X, Y, sensitive_features={"sex": SEX})), atol=1e-9
    )
    assert shared.salt_ == single.salt_


def test_the_same_number_of_processes_twice_gives_the_same_bits(together):
    first, second = (fitted(together, 3, unequal=True) for _ in range(2))
    for one, other in zip([*first, *first], [*second, *second[1:], second[0]], strict=True):
        np.testing.assert_array_equal(one[0].members_.costs, other[0].members_.costs)
        np.testing.assert_array_equal(one[0].members_.posterior.label.coef_, other[0].members_.posterior.label.coef_)
        np.testing.assert_array_equal(one[0].weights_, other[0].weights_)
        np.testing.assert_array_equal(numbers(one[1]), numbers(other[1]))


@pytest.mark.filterwarnings("ignore:not certified")
@pytest.mark.parametrize(
    "settings",
    [
        {"weights": WEIGHTS},
        {"weights": np.where(np.arange(N) < N // 2, 1.0, 3.0)},
        {"validation": 0},
        {"model": eq.models.Linear(penalty=0.01)},
        {"model": eq.models.Linear(intercept=False)},
        {"problem": eq.Problem(eq.maximize(eq.macro_f1()), CONSTRAINTS[:1])},
        {"confidence": 0.9, "problem": eq.Problem(PROBLEM.objective, [eq.recall(label="owl") >= 0.2])},
    ],
    ids=["weights", "weights of processes", "no validation", "penalty", "no intercept", "macro-F1", "confidence"],
)
def test_every_way_to_fit_is_the_same_over_processes(together, settings):
    (reference, value), *_ = fitted(together, 1, **settings)
    for own, found in fitted(together, 2, unequal=True, **settings):
        assert differing(own, reference) <= 1e-4
        np.testing.assert_allclose(numbers(found), numbers(value), atol=1e-6)
        assert own.status_.certified == reference.status_.certified


@pytest.mark.filterwarnings("ignore:not certified")
def test_a_process_with_two_rows(together):
    """It has no row of some folds, and one class alone."""

    def fit(edges):
        def work(rank):
            part = slice(edges[rank], edges[rank + 1])
            problem = eq.Problem(PROBLEM.objective, [eq.recall(label="owl") >= 0.2])
            own = eq.RateClassifier(problem.objective, problem.constraints, random_state=0, confidence=0.9)
            return own.fit(X[part], Y[part])

        return raised(together(len(edges) - 1, work))

    (alone,) = fit([0, N])
    for own in fit([0, 2, N]):
        assert differing(own, alone) <= 1e-4
        assert own.status_.certified == alone.status_.certified


def test_probabilities_that_are_cross_fitted(together):
    """With few rows for each feature and class, rows are judged by regressions without their fold."""
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(N, 16))])  # 1,500 rows, and 50 * 20 * 4 would be enough
    (reference, value), *_ = fitted(together, 1, wide)
    for own, found in fitted(together, 3, wide, unequal=True):
        assert differing(own, reference, wide) <= 1e-4
        np.testing.assert_allclose(numbers(found), numbers(value), atol=1e-6)


def test_solve(together):
    def solved(size):
        parts = cut(size)

        def work(rank):
            part = parts[rank]
            people = {"sex": SEX[part]}
            solution = eq.solve(PROBLEM, X[part], Y[part], attributes=people, sample_weight=WEIGHTS[part])
            mixture = solution.polish()
            values = mixture.evaluate(
                PROBLEM, X[part], Y[part], attributes=people, sample_weight=WEIGHTS[part], classes=tuple(NAMES.tolist())
            )
            return solution, values

        return raised(together(size, work))

    ((one, value),) = solved(1)
    for other, found in solved(3):
        np.testing.assert_allclose(other.columns.rates, one.columns.rates, atol=1e-9)
        np.testing.assert_allclose(found["violations"], value["violations"], atol=1e-7)
        assert found["objective"] == pytest.approx(value["objective"], abs=1e-7)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "trees"}, "must see all rows in one place"),
        ({"two_sets": True}, "two_sets is for two classes"),
        ({"algorithm": "slack_ratios"}, "a game of two classes"),
    ],
)
def test_what_is_refused(together, settings, message):
    if settings.get("model") == "trees":
        pytest.importorskip("lightgbm", reason="the extra boosting is not installed")
    with pytest.raises(eq.EquirateError, match=message):
        fitted(together, 2, **settings)


# -- rows in files --------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="the extra distributed is not installed")
    pq = pytest.importorskip("pyarrow.parquet", reason="the extra distributed is not installed")
    columns = {name: X[:, k].astype(np.float32) for k, name in enumerate("abcd")}
    table = pa.table({**columns, "sex": SEX, "y": Y, "weight": WEIGHTS})
    for k, rows in enumerate(cut(2)):
        pq.write_table(table.slice(rows.start, rows.stop - rows.start), tmp_path / f"{k}.parquet", row_group_size=200)
    return tmp_path


def of_files(files, **settings):
    from equirate.distributed import ParquetRows

    return ParquetRows(files, label="y", attributes=["sex"], features=list("abcd"), **settings)


def estimator(**settings):
    return eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, random_state=0, **settings)


@pytest.mark.filterwarnings("ignore:not certified")
@pytest.mark.parametrize(
    "settings",
    [{}, {"output": "deterministic"}, {"confidence": 0.9}, {"confidence": 0.9, "confidence_method": "holdout"}],
    ids=["plain", "deterministic", "cross", "holdout"],
)
def test_the_same_decisions_from_files_as_from_memory(files, monkeypatch, settings):
    handed, estimate = [], ClassPlugIn.estimate

    def seen(*given):
        found = estimate(*given)
        handed.append(is_mapped(found[1]))
        return found

    monkeypatch.setattr(ClassPlugIn, "estimate", seen)
    single, weights = X.astype(np.float32), {"sample_weight": WEIGHTS}
    if "confidence_method" in settings:  # the exact test is for rows that count alike
        weights = {}
    other = estimator(**settings).fit(single, Y, sensitive_features={"sex": SEX}, **weights)
    own = estimator(**settings).fit(of_files(files, sample_weight="weight" if weights else None))
    assert handed == [False, True]  # probabilities lie beside the features
    one, two = (each.outputs_["stochastic"].classifier for each in (own, other))
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one.predict_pmf(single), two.predict_pmf(single))
    np.testing.assert_array_equal(own.predict(FRAME), other.predict(single))
    assert own.status_ == other.status_
    assert own.classes_.tolist() == NAMES.tolist()


def test_blocks_of_rows_change_no_decision(files, monkeypatch):
    whole = estimator().fit(of_files(files))
    for module, name in (
        *((classifiers, "BLOCK"), (model_rows, "BLOCK"), (class_spread, "_BLOCK"), (cells, "_BLOCK")),
        *((labels, "_BLOCK"), (evaluation, "_BLOCK")),
    ):
        monkeypatch.setattr(module, name, 100)
    own = estimator().fit(of_files(files))
    assert is_mapped(own.classifier_.predict_pmf(of_files(files).given().X))
    np.testing.assert_array_equal(own.predict_pmf(FRAME), whole.predict_pmf(FRAME))
    np.testing.assert_allclose(numbers(own.parts_["train"]), numbers(whole.parts_["train"]), rtol=1e-9, atol=1e-12)


def test_files_shared_out_by_row_groups(together, files):
    (alone,) = together(1, lambda rank: estimator().fit(of_files(files)))
    for own in raised(together(3, lambda rank: estimator().fit(of_files(files)))):
        assert differing(own, alone, FRAME) <= 1e-4
        assert own.status_.objective == pytest.approx(alone.status_.objective, abs=1e-6)


# -- processes of their own -----------------------------------------------------------------------


@pytest.mark.slow
def test_torchrun_gives_the_bits_of_as_many_threads(together, tmp_path):
    here = Path(__file__)
    (tmp_path / "job.py").write_text(JOB)
    paths = [str(here.parent), str(Path(eq.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*command, str(tmp_path / "job.py"), str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = fitted(together, 2)[0][0].predict_pmf(X)
    for rank in (0, 1):
        np.testing.assert_array_equal(np.load(tmp_path / f"{rank}.npy"), expected)


JOB = """
import os, sys
import numpy as np
import test_classes as rows

rank = int(os.environ["RANK"])
part = rows.cut(2)[rank]
own = rows.estimator().fit(rows.X[part], rows.Y[part], sensitive_features={"sex": rows.SEX[part]})
np.save(os.path.join(sys.argv[1], f"{rank}.npy"), own.predict_pmf(rows.X))
"""


@pytest.mark.slow
def test_from_a_dask_cluster(files):
    distributed = pytest.importorskip("distributed", reason="the extra distributed is not installed")
    dd = pytest.importorskip("dask.dataframe", reason="the extra distributed is not installed")
    from equirate.distributed import fit

    frame = FRAME.assign(sex=SEX, y=Y)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        one = fit(client, estimator(), dd.from_pandas(frame, npartitions=4), label="y", attributes=["sex"])
        other = fit(client, estimator(), of_files(files))
    alone = estimator().fit(FRAME, Y, sensitive_features={"sex": SEX})
    for own in (one, other):
        assert own.classes_.tolist() == NAMES.tolist()
        assert differing(own, alone, FRAME) <= 1e-4
        assert own.status_.objective == pytest.approx(alone.status_.objective, abs=1e-6)
