"""`Monitor`: what is counted when, verdicts, alarms, and what is refused."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import equirate as eq

WOMEN = eq.attr("sex") == "F"
CONSTRAINTS = [
    eq.positive_rate(WOMEN) >= eq.positive_rate(~WOMEN) - 0.1,
    eq.precision() >= 0.5,
    abs(eq.recall(WOMEN) - eq.recall(~WOMEN)) <= 0.2,
    eq.f1() >= 0.4,
    eq.g_mean() >= 0.5,
]


def rows(n: int, seed: int = 0, right: float = 0.8) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    return np.where(rng.random(n) < right, y, 1 - y), y, {"sex": np.where(rng.random(n) < 0.3, "F", "M")}


def batches(n: int, size: int) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, start + size)


@pytest.mark.parametrize("size", [1, 7, 333, 2500])
def test_batches_of_any_size_count_the_same(size: int) -> None:
    n = 2500 if size > 1 else 300
    predicted, y, people = rows(n)
    whole = eq.Monitor(CONSTRAINTS).update(predicted, y, attributes=people)
    parts = eq.Monitor(CONSTRAINTS)
    for part in batches(n, size):
        parts.update(predicted[part], y[part], attributes={"sex": people["sex"][part]})
    assert parts.status() == whole.status()
    assert [[s.number for s in f.starts] for f in parts.followers] == [
        [s.number for s in f.starts] for f in whole.followers
    ]


def test_estimates_are_the_violations_and_lie_between_the_bounds() -> None:
    predicted, y, people = rows(3000)
    for constraint, line in zip(
        CONSTRAINTS, eq.Monitor(CONSTRAINTS).update(predicted, y, attributes=people).status(), strict=True
    ):
        assert line.constraint == repr(constraint)
        assert line.estimate == pytest.approx(constraint.evaluate(y, predicted, attributes=people))
        assert line.lower < line.estimate < line.upper
        assert line.rows == 3000


def test_bounds_are_wider_than_those_of_one_look() -> None:
    """They hold at all times: a certificate of the same rows is for one look."""
    predicted, y, people = rows(3000)
    once = eq.certify(CONSTRAINTS, y, predicted, attributes=people, confidence=0.975, correction="bonferroni")
    for one, line in zip(once, eq.Monitor(CONSTRAINTS).update(predicted, y, attributes=people).status(), strict=True):
        assert line.lower < one.low
        assert one.high < line.upper


# -- labels that come late ------------------------------------------------------------------------


def test_rates_that_need_no_label_are_followed_at_once() -> None:
    predicted, y, people = rows(2000)
    monitor = eq.Monitor(CONSTRAINTS[:2]).update(predicted, attributes=people)
    at_once, waiting = monitor.status()
    assert (at_once.rows, waiting.rows) == (2000, 0)
    assert waiting.verdict == "cannot tell"
    assert np.isnan(waiting.estimate)
    monitor.update(predicted, y, attributes=people, late=True)
    assert monitor.status() == eq.Monitor(CONSTRAINTS[:2]).update(predicted, y, attributes=people).status()
    assert monitor.rows == 2000


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_rows_without_a_label_wait_for_it(missing: object) -> None:
    predicted, y, people = rows(1000)
    known = np.arange(1000) % 3 != 0
    some = np.array([label if there else missing for label, there in zip(y.tolist(), known, strict=True)], dtype=object)
    monitor = eq.Monitor(CONSTRAINTS[:2]).update(predicted, some, attributes=people)
    assert [line.rows for line in monitor.status()] == [1000, known.sum()]
    late = {"sex": people["sex"][~known]}
    monitor.update(predicted[~known], y[~known], attributes=late, late=True)
    whole = eq.Monitor(CONSTRAINTS[:2]).update(predicted, y, attributes=people).status()
    assert [(line.rows, line.lower, line.upper) for line in monitor.status()] == [
        (line.rows, line.lower, line.upper) for line in whole
    ]


def test_late_labels_are_asked_for() -> None:
    with pytest.raises(eq.DataError, match="late=True brings labels"):
        eq.Monitor(eq.recall() >= 0.5).update([0, 1], late=True)


# -- verdicts -------------------------------------------------------------------------------------


def test_alarms_stay_and_verdicts_come_in_time() -> None:
    predicted, y, people = rows(1500, right=0.6)
    monitor = eq.Monitor([eq.accuracy() >= 0.8, eq.accuracy() >= 0.4, eq.accuracy() >= 0.6])
    assert [line.verdict for line in monitor.status()] == ["cannot tell"] * 3
    monitor.update(predicted, y, attributes=people)
    assert [line.verdict for line in monitor.status()] == ["broken", "kept", "cannot tell"]
    (alarm,) = monitor.alarms
    assert (alarm.constraint, alarm.since) == ("accuracy() >= 0.8", 0)
    assert alarm.rows <= 1500
    assert alarm.lower > 0
    monitor.update(*rows(20_000, seed=1, right=1.0)[:2])
    assert monitor.alarms == [alarm]
    assert monitor.status()[0].verdict == "broken"
    assert "accuracy() >= 0.8 is broken by" in str(alarm)


def test_a_change_after_many_good_rows_is_found_from_the_rows_since_then() -> None:
    monitor = eq.Monitor(eq.accuracy() >= 0.8).update(*rows(30_000, right=0.9)[:2])
    assert not monitor.alarms
    for seed in range(10):
        monitor.update(*rows(250, seed=seed, right=0.7)[:2])
    (alarm,) = monitor.alarms
    assert 29_000 <= alarm.since <= 31_000
    (line,) = monitor.status()
    assert line.rows == monitor.rows - alarm.since
    assert line.lower > 0
    predicted, y, _ = rows(30_000, right=0.9)
    assert eq.accuracy().evaluate(y, predicted) > 0.8  # all rows together are still good


def test_old_starts_are_kept_sparsely() -> None:
    monitor = eq.Monitor(eq.accuracy() >= 0.5).update(*rows(300_000)[:2])
    numbers = [start.number for start in monitor.followers[0].starts]
    assert len(numbers) < 40
    assert numbers[0] == 0
    for age in (1, 10, 100):  # there is one of about every age
        assert any(0.6 * age <= 300 - number <= 1.6 * age for number in numbers)
    assert sum(start.share for start in monitor.followers[0].starts) <= 1


def test_all_starts_together_have_the_level() -> None:
    from equirate.monitoring.following import FollowerStart

    nobody = np.zeros((1, 2), dtype=np.int64)
    total = sum(FollowerStart(number, 0, nobody).share for number in range(10_000))
    assert 0.999 < total < 1


def test_how_many_more_rows_would_tell() -> None:
    predicted, y, _ = rows(500)
    monitor = eq.Monitor([eq.accuracy() >= 0.75, eq.accuracy() >= 0.86]).update(predicted, y)
    for line, verdict in zip(monitor.status(), ("kept", "broken"), strict=True):
        assert line.verdict == "cannot tell"
        assert line.more_rows is not None
        times = -(-line.more_rows // 500)
        again = eq.Monitor(monitor.constraints)
        for _ in range(times + 1):
            again.update(predicted, y)
        assert verdict in {each.verdict for each in again.status()}
        assert line.more_rows > 100
    (equal,) = eq.Monitor(eq.positive_rate() <= 0.5).update([0, 1], [0, 1]).status()
    assert equal.more_rows is None
    assert str(equal).endswith("on 2 rows; so near the limit that 64 times as many would not decide")


def test_where_nothing_is_counted_no_numbers_are_shown() -> None:
    monitor = eq.Monitor(eq.recall() >= 0.5)
    assert str(monitor.status()[0]) == "cannot tell recall() >= 0.5   no rows yet"
    assert str(monitor.update([0, 1], [0, 0]).status()[0]).endswith("   no rows yet behind one of its rates")


def test_false_alarms_are_rare() -> None:
    """At the boundary, looked at every hundred rows; the laboratory has 2,000 streams of 5,000 rows of six problems."""
    alarms = 0
    for seed in range(60):
        monitor = eq.Monitor([eq.positive_rate() <= 0.44, eq.precision() >= 0.64 / 0.88])  # the truths
        predicted, y, _ = rows(1500, seed=seed)
        for part in batches(1500, 100):
            monitor.update(predicted[part], y[part])
        alarms += bool(monitor.alarms)
    assert alarms <= 6  # 5 % are 3, and more than 6 have a chance of 3 %


def test_the_objective_can_have_a_floor() -> None:
    predicted, y, _ = rows(2000)
    problem = eq.Problem(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.6])
    monitor = eq.Monitor(problem, floor=0.9).update(predicted, y)
    assert [line.verdict for line in monitor.status()] == ["kept", "broken"]
    assert monitor.constraints[1].key == (eq.f1() >= 0.9).key
    below = eq.Monitor(eq.Problem(eq.minimize(eq.error_rate())), floor=0.3).update(predicted, y)
    assert [(line.constraint, line.verdict) for line in below.status()] == [("error_rate() <= 0.3", "kept")]


# -- fitted classifiers ---------------------------------------------------------------------------


def test_a_fitted_classifier_brings_its_problem_and_labels() -> None:
    rng = np.random.default_rng(0)
    X, sex = rng.normal(size=(600, 2)), rng.choice(["F", "M"], 600)
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=600) > 0, "yes", "no")
    clf = eq.RateClassifier(
        eq.minimize(eq.error_rate()), eq.demographic_parity("sex", tolerance=0.2), n_rounds=100, random_state=0
    ).fit(X, y, sensitive_features={"sex": sex})
    monitor = eq.Monitor(clf).update(clf.predict(X), y, attributes={"sex": sex})
    (line,) = monitor.status()
    assert line.constraint == "abs(positive_rate(sex == 'F') - positive_rate(sex == 'M')) <= 0.2"
    positive = clf.predict(X) == "yes"
    gap = positive[sex == "F"].mean() - positive[sex == "M"].mean()
    assert line.estimate == pytest.approx(abs(gap) - 0.2)
    with pytest.raises(eq.DataError, match="y_pred holds 'maybe', which is no label of the classifier: they are 'no'"):
        monitor.update(["maybe"], ["yes"], attributes={"sex": ["F"]})
    assert eq.Monitor(clf.classifier_).update(positive, attributes={"sex": sex}).status() == monitor.status()


def test_baselines_may_be_labels() -> None:
    class Fitted:
        classes_ = np.array(["no", "yes"])
        problem_ = eq.Problem(eq.maximize(eq.f1()), [eq.churn("old") <= 0.6])

    monitor = eq.Monitor(Fitted()).update(["yes", "no", "no"], attributes={"old": ["yes", "yes", "no"]})
    assert monitor.status()[0].estimate == pytest.approx(1 / 3 - 0.6)


# -- what is refused ------------------------------------------------------------------------------


def test_weights_that_differ_are_refused_by_name() -> None:
    monitor = eq.Monitor(eq.positive_rate() <= 0.3)
    with pytest.raises(eq.EquirateError, match="a weighted sum is not a count: leave sample_weight out"):
        monitor.update([0, 1], sample_weight=[1, 2])
    monitor.update([0, 1, 1], sample_weight=[2, 2, 0])
    assert (monitor.rows, monitor.status()[0].estimate) == (2, 0.2)


def test_several_rows_of_one_cluster_are_refused() -> None:
    monitor = eq.Monitor(eq.positive_rate() <= 0.3)
    with pytest.raises(eq.DataError, match="1 of 2 clusters have several rows, such as 'b' with 2"):
        monitor.update([0, 1, 1], clusters=["a", "b", "b"])
    with pytest.raises(eq.DataError, match="clusters has the shape"):
        monitor.update([0, 1, 1], clusters=["a"])
    assert monitor.update([0, 1], clusters=["a", "b"]).rows == 2


def test_probabilities_are_refused() -> None:
    with pytest.raises(eq.DataError, match=r"decisions as they were served, 0 and 1; got 0.5: give what predict"):
        eq.Monitor(eq.positive_rate() <= 0.3).update([0.0, 0.5])


def test_ready_made_constraints_are_those_of_the_first_rows(tmp_path: Path) -> None:
    predicted, y, people = rows(500)
    monitor = eq.Monitor(eq.Problem(eq.maximize(eq.f1()), eq.demographic_parity("sex", tolerance=0.1)), floor=0.3)
    assert monitor.constraints == monitor.status() == []
    with pytest.raises(eq.FileError, match="the groups of ready-made constraints are not known"):
        monitor.save(tmp_path / "state.json")
    with pytest.raises(eq.DataError, match="needs at least two groups"):
        monitor.update([1], [1], attributes={"sex": ["F"]})
    monitor.update(predicted, y, attributes=people)
    text = "abs(positive_rate(sex == 'F') - positive_rate(sex == 'M')) <= 0.1"
    assert [repr(constraint) for constraint in monitor.constraints] == [text, "f1() >= 0.3"]
    written = eq.Monitor(monitor.constraints).update(predicted, y, attributes=people)
    assert monitor.status() == written.status()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: eq.Monitor([]), eq.EquirateError, "there is nothing to follow"),
        (lambda: eq.Monitor(eq.Problem(eq.maximize(eq.f1()))), eq.EquirateError, "or a floor of the objective"),
        (lambda: eq.Monitor(eq.f1() >= 0.5, floor=0.4), eq.EquirateError, "floor is about the objective"),
        (lambda: eq.Monitor(3), TypeError, "takes a problem, constraints or a fitted classifier; got 3"),
        (lambda: eq.Monitor(eq.f1() >= 0.5, 1.5), eq.EquirateError, "confidence must lie between 0.5 and 1"),
        (lambda: eq.Monitor(eq.f1() >= 0.5).update([0, 1], [0]), eq.DataError, "y has 1 values, but"),
        (lambda: eq.Monitor(eq.f1(WOMEN) >= 0.5).update([0, 1], [0, 1]), eq.DataError, "unknown attribute 'sex'"),
        (lambda: eq.Monitor(eq.f1() >= 0.5).update([[0, 1], [1, 1]]), eq.DataError, "must be one-dimensional"),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]


def test_rows_that_are_refused_leave_the_counts_as_they_were() -> None:
    predicted, y, people = rows(100)
    monitor = eq.Monitor(CONSTRAINTS).update(predicted, y, attributes=people)
    before = monitor.status()
    with pytest.raises(eq.DataError):
        monitor.update(predicted, y, attributes={"age": people["sex"]})
    assert monitor.status() == before
    assert monitor.rows == 100


def test_indexes_in_another_order_are_refused() -> None:
    frame = pd.DataFrame({"p": [0, 1], "y": [0, 1]}, index=[1, 2])
    with pytest.raises(eq.DataError, match="same index in another order"):
        eq.Monitor(eq.f1() >= 0.5).update(frame["p"], frame["y"].iloc[::-1])


def test_no_rows_are_no_news() -> None:
    monitor = eq.Monitor(eq.f1() >= 0.5).update([], [])
    assert monitor.rows == 0


def test_lengths_that_differ_are_told_by_their_names() -> None:
    with pytest.raises(eq.DataError, match="y has 3 values, but y_pred has 2: they must describe the same rows"):
        eq.Monitor([eq.positive_rate() <= 0.5]).update([0, 1], [0, 1, 1])
