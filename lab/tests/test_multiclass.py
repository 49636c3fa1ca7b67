"""Several classes in the laboratory: what is measured, against counts by hand, and the printed numbers."""

import os
from pathlib import Path

import numpy as np
import pytest
from equirate_lab.multiclass import PROBLEMS, columns, comparison, data, published, tables
from equirate_lab.multiclass.comparison import ARGMAX, OURS, SHIFT, Measured, Rules
from equirate_lab.multiclass.data import Rows
from sklearn.metrics import f1_score, recall_score

FOLDER = next(
    (
        folder
        for folder in (os.environ.get("EQUIRATE_DATA"), "../shared/data", "../../shared/data")
        if folder and (Path(folder) / "multiclass" / "published.json").exists()
    ),
    None,
)
with_data = pytest.mark.skipif(FOLDER is None, reason="the data with several classes are not here")
RNG = np.random.default_rng(0)
ROWS = Rows(RNG.normal(size=(200, 3)), np.arange(200) % 4, np.arange(200) % 2)
DECIDED = RNG.integers(0, 4, 200)
PMF = np.eye(4)[DECIDED]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("macro-F1", f1_score(ROWS.y, DECIDED, average="macro")),
        ("worst recall", recall_score(ROWS.y, DECIDED, average=None).min()),
        ("error, coverage", (ROWS.y != DECIDED).mean()),
    ],
)
def test_scores_are_those_of_scikit_learn(name: str, expected: float) -> None:
    problem = next(each for each in PROBLEMS if each.name == name)
    assert problem.score(ROWS, PMF) == pytest.approx(expected)


def test_violations_are_counted() -> None:
    prior = np.full(4, 0.25)
    shares = np.bincount(DECIDED, minlength=4) / 200
    known = {each.name: each for each in PROBLEMS}
    assert known["error, coverage"].violation(ROWS, PMF, prior) == pytest.approx(np.abs(shares - 0.25).max() - 0.025)
    by_group = [np.bincount(DECIDED[ROWS.group == g], minlength=4) / 100 for g in (0, 1)]
    gap = np.abs(by_group[0] - by_group[1]).max() - comparison.PARITY
    assert known["error, demographic parity"].violation(ROWS, PMF, prior) == pytest.approx(max(gap, 0))
    assert known["KL of proportions"].score(ROWS, PMF) == pytest.approx(0.25 * np.log(0.25 / shares).sum())


def test_the_published_task_is_measured_as_the_paper_does() -> None:
    h_mean, deviation = published.measured(PMF, ROWS.y, np.arange(4))
    recalls = recall_score(ROWS.y, DECIDED, average=None)
    assert h_mean == pytest.approx(4 / (1 / recalls).sum())
    assert deviation == pytest.approx(np.abs(np.bincount(DECIDED, minlength=4) / 200 - 0.25).max())


def test_a_shift_of_the_prior_is_tuned_on_held_out_rows() -> None:
    rows = data.load("digits")
    train, test = data.split(rows, 0)
    rules = Rules.of(train, test, "linear", 0)
    tuned = next(each for each in PROBLEMS if each.name == "worst recall")
    assert rules.shifted(0.0).argmax(axis=1).tolist() == rules.logits.argmax(axis=1).tolist()
    assert tuned.score(rules.held_out, rules.shifted(1.0, held_out=True)) >= 0
    assert rules.tuned(tuned).shape == (len(test.y), rows.n_classes)
    assert not set(map(tuple, train.X)) & set(map(tuple, test.X))


def test_the_digits_have_a_long_tail_and_every_class_enough_rows() -> None:
    counts = np.bincount(data.load("digits").y)
    assert counts.min() >= data.FEWEST
    assert counts[0] > 4 * counts[-1]


def test_the_columns_of_the_proof_differ() -> None:
    decided = columns.rules(ROWS.X, ROWS.y, count=5)
    assert decided.shape == (200, 5)
    assert len(np.unique(decided, axis=1).T) == 5


def test_gains_have_the_sign_of_what_is_better() -> None:
    scores = {ARGMAX: 0.3, SHIFT: 0.2, OURS: 0.25}
    kept = dict.fromkeys(scores, 0.0)
    found = [Measured("digits", 0, "linear", name, scores, kept, 1.0) for name in ("macro-F1", "error, coverage")]
    assert [round(each.gain(ARGMAX), 3) for each in found] == [-0.05, 0.05]
    made = tables.comparison_tables(found)
    assert made[0].rows[0][4:6] == ("-.050", "+.050")
    assert made[1].rows == (("digits", "-.050 / +.050", "+.050 / -.050"),)


@with_data
def test_the_printed_numbers_are_those_of_the_paper() -> None:
    splits = [published.Split(name, k, 0, 0, 0.5, 0.01, 1.0) for name in ("abalone", "page_blocks") for k in range(10)]
    table = tables.published_table(splits, FOLDER)
    assert table.rows[0][2:5] == (".500 (.010)", ".169 (.024)", ".143 (.032)")
    assert table.rows[1][3:5] == (".832 (.011)", ".841 (.010)")


@with_data
@pytest.mark.parametrize("name", data.NAMES)
def test_every_data_set_has_at_least_three_classes(name: str) -> None:
    rows = data.load(name, FOLDER)
    assert rows.n_classes >= 3
    assert len(np.unique(rows.y)) == rows.n_classes
    assert np.isfinite(rows.X).all()


def test_a_run_goes_on_where_it_ended() -> None:
    kept: list[int] = []
    once = comparison.compared(["digits"], 1, ["linear"], PROBLEMS[:1], keep=lambda made: kept.append(len(made)))
    both = comparison.compared(
        ["digits"], 1, ["linear"], PROBLEMS[:2], done=once, keep=lambda made: kept.append(len(made))
    )
    assert kept == [1, 2]
    assert both[0] is once[0]
    again = comparison.compared(["digits"], 1, ["linear"], PROBLEMS[:2], done=both, keep=lambda made: kept.append(0))
    assert again == both
    assert kept == [1, 2]


def test_violations_by_chance_become_smaller_with_more_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    from equirate_lab.multiclass import chance

    found = []
    for rows in (200, 20_000):
        labels = np.arange(rows) % 4
        monkeypatch.setattr(chance, "load", lambda name, folder, y=labels: Rows(np.zeros((len(y), 1)), y))
        found.append(chance.by_chance(["made up"], 1)[0])
    assert found[1].centred < 0.1 * found[0].centred
    # at the limits: the largest of four binomial errors, some of which point inwards
    assert 0.3 * np.sqrt(0.25 * 0.75 / 6000) < found[1].at_limits < 0.02
    assert found[1].centred <= found[1].at_limits


def test_whole_fits_are_timed() -> None:
    from equirate_lab.multiclass import timed, times_table

    found = timed([(3, 300, 3)], repetitions=1)
    assert [each.problem for each in found] == ["macro-F1", "worst recall", "error, demographic parity"]
    assert all(each.seconds > 0 and each.regression > 0 for each in found)
    assert times_table(found).rows[0][1] == "3 classes, 300 rows, 3 features"
