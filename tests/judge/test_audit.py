"""Audits: rates as the language has them, intervals as published, and honest about how many were looked at."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import equirate as eq
from equirate.judge.audit import RATES, audit, newcombe, wilson

Z = 1.959963984540054


def made_up(n: int, seed: int, gap: float = 0.0) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    people = {
        "sex": rng.choice(["F", "M"], n),
        "region": rng.choice(["n", "s", "w"], n),
        "age": rng.integers(20, 70, n),
    }
    y = rng.random(n) < 0.4
    p = rng.random(n) < np.where(y, 0.7, 0.2) + gap * (people["sex"] == "F")
    return y, p, people


@given(st.integers(0, 200), st.integers(1, 200), st.floats(0.5, 5))
def test_wilson_solves_the_score_equation(count: int, n: int, z: float) -> None:
    share = min(count, n) / n
    for end in wilson(share, n, z):
        if 0 < end < 1:
            assert abs(share - end) == pytest.approx(z * np.sqrt(end * (1 - end) / n), abs=1e-9)


@pytest.mark.parametrize(
    ("a", "m", "b", "n", "low", "high"),
    [  # Newcombe 1998, Table II, method 10
        (56, 70, 48, 80, 0.0524, 0.3339),
        (9, 10, 3, 10, 0.1705, 0.8090),
        (10, 10, 0, 20, 0.6791, 1.0000),
    ],
)
def test_newcombe_as_published(a: int, m: int, b: int, n: int, low: float, high: float) -> None:
    first, second = ((k / size, *wilson(k / size, size, Z)) for k, size in ((a, m), (b, n)))
    assert newcombe(first, second) == pytest.approx((low, high), abs=6e-5)


def test_rates_are_those_of_the_language() -> None:
    y, p, people = made_up(3000, 0, 0.1)
    found = audit(y, p, attributes=people)
    assert {each.rate for each in found.findings} == set(RATES)
    for each in found.findings:
        inside = eq.parse(each.group)
        for slice_, value in ((inside, each.value), (~inside, each.others)):
            assert getattr(eq, each.rate)(slice_).evaluate(y, p, attributes=people) == pytest.approx(value, abs=1e-12)
        assert each.difference == pytest.approx(each.value - each.others)
        assert each.low <= each.difference <= each.high
    for name, (value, low, high) in found.overall.items():
        assert getattr(eq, name)().evaluate(y, p) == pytest.approx(value, abs=1e-12)
        assert low <= value <= high


def test_groups_pairs_and_quarters() -> None:
    y, p, people = made_up(6000, 0)
    groups = {each.group for each in audit(y, p, attributes=people).findings}
    assert "sex == 'F'" in groups
    assert "sex == 'M'" not in groups  # the same comparison, turned round
    assert "(sex == 'M') & (region == 's')" in groups
    assert sum("age" in group for group in groups) == 4 * (1 + 2 + 3)


def test_the_worst_comes_first() -> None:
    y, p, people = made_up(4000, 1, 0.25)
    found = audit(y, p, attributes=people)
    sure = [each.sure for each in found.findings]
    assert sure == sorted(sure, reverse=True)
    assert found.findings[0].clear
    assert "sex == 'F'" in found.findings[0].group


def test_more_looks_make_wider_intervals() -> None:
    y, p, people = made_up(4000, 2, 0.1)
    few = {(e.rate, e.group): e for e in audit(y, p, attributes={"sex": people["sex"]}).findings}
    many = {(e.rate, e.group): e for e in audit(y, p, attributes=people).findings}
    for key, each in few.items():
        assert many[key].low < each.low
        assert many[key].high > each.high


@pytest.mark.slow
def test_where_groups_do_not_differ_hardly_any_audit_says_so() -> None:
    """With 95 % confidence in all intervals at once, at most 5 % of audits may say that some group differs."""
    alarms = 0
    for seed in range(100):
        y, p, people = made_up(1500, seed)
        alarms += any(each.clear for each in audit(y, p, attributes=people).findings)
    assert alarms <= 11  # more than that has a probability below 1 % at 5 %


def test_small_cells_are_left_out_and_named() -> None:
    y, p, people = made_up(2000, 3)
    people["sex"][:10] = "X"
    found = audit(y, p, attributes={"sex": people["sex"], "region": people["region"]})
    assert ("sex == 'X'", 10) in found.left_out
    assert all(each.examples >= 30 for each in found.findings)
    assert not any("'X'" in each.group for each in found.findings)
    assert found.to_dict()["left_out"][0]["examples"] < 30


@given(st.floats(0.1, 10))
def test_the_scale_of_weights_does_not_matter(scale: float) -> None:
    y, p, people = made_up(400, 4)
    plain, weighted = (
        audit(y, p, attributes={"sex": people["sex"]}),
        audit(y, p, attributes={"sex": people["sex"]}, sample_weight=np.full(400, scale)),
    )
    for first, second in zip(plain.findings, weighted.findings, strict=True):
        assert (first.rate, first.group) == (second.rate, second.group)
        assert (first.low, first.high) == pytest.approx((second.low, second.high))


def test_unequal_weights_widen_intervals() -> None:
    y, p, people = made_up(2000, 5)
    weights = np.where(np.arange(2000) % 10, 0.1, 10.0)
    plain, weighted = (audit(y, p, attributes={"sex": people["sex"]}, sample_weight=w) for w in (None, weights))
    width = {each.rate: each.high - each.low for each in plain.findings}
    assert all(each.high - each.low > 1.5 * width[each.rate] for each in weighted.findings)


def test_refusals() -> None:
    with pytest.raises(TypeError, match=r"audit\(\) has no sensitive_features=: write attributes="):
        eq.audit([0, 1], [0, 1], sensitive_features={"sex": ["F", "M"]})
    with pytest.raises(TypeError, match=r"report\(\) has no attributes=: write sensitive_features="):
        eq.report([0, 1], None, [0, 1], attributes={"sex": ["F", "M"]})
    y, p, people = made_up(100, 6)
    with pytest.raises(eq.DataError, match="has one value only, 'same'"):
        audit(y, p, attributes={"a": np.full(100, "same")})
    with pytest.raises(eq.DataError, match="group them first"):
        audit(np.tile(y, 2), np.tile(p, 2), attributes={"a": np.array([f"v{k}" for k in range(200)])})
    with pytest.raises(eq.EquirateError, match="confidence"):
        audit(y, p, attributes=people, confidence=1.5)


def test_it_prints_as_a_table() -> None:
    y, p, people = made_up(1000, 7)
    found = audit(y, p, attributes=people)
    lines = repr(found).splitlines()
    assert lines[0].startswith(f"{sum(each.clear for each in found.findings)} of {found.looked_at} differences")
    assert len(lines) < 32
    first = next(k for k, line in enumerate(lines) if line.startswith("rate")) + 1
    assert [line.split()[0] for line in lines[first : first + 3]] == [each.rate for each in found.findings[:3]]
    assert len(found.text(most=2).splitlines()) < len(lines)


# -- more than two classes ---------------------------------------------------------------------------


def of_classes(n: int, seed: int, gap: float = 0.0) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    people = {"sex": rng.choice(["F", "M"], n), "region": rng.choice(["n", "s", "w"], n)}
    names = np.array(["cat", "cow", "dog"])
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    wrong = rng.random(n) < 0.2 + gap * ((people["sex"] == "F") & (y == 1))
    return names[y], names[np.where(wrong, (y + 1) % 3, y)], people


def test_rates_of_classes_are_those_of_the_language() -> None:
    y, p, people = of_classes(3000, 0, 0.3)
    weights = np.random.default_rng(1).random(3000) + 0.5
    found = eq.audit(y, p, attributes=people, sample_weight=weights)
    assert len({each.rate for each in found.findings}) == 1 + 3 * 6
    for each in found.findings:
        inside = eq.parse(each.group)
        for slice_, value in ((inside, each.value), (~inside, each.others)):
            written = (
                each.rate.replace("(label", f"({slice_!r}, label") if "(" in each.rate else f"error_rate({slice_!r})"
            )
            rate = eq.parse(written)
            assert rate.evaluate(y, p, attributes=people, sample_weight=weights) == pytest.approx(value, abs=1e-12)
    for name, (value, low, high) in found.overall.items():
        rate = eq.parse(name if "(" in name else f"{name}()")
        assert rate.evaluate(y, p, sample_weight=weights) == pytest.approx(value, abs=1e-12)
        assert low <= value <= high
    assert found.findings[0].rate == "tpr(label='cow')"
    assert found.findings[0].clear


def test_one_class_against_the_rest_is_the_audit_of_two_labels() -> None:
    y, p, people = of_classes(2000, 2)
    some = eq.audit(y, p, attributes=people, labels=["cow"])
    two = eq.audit(y == "cow", p == "cow", attributes=people)
    assert some.looked_at == two.looked_at  # the error rate is that of all classes
    theirs = {(each.rate, each.group): each for each in two.findings}
    for each in some.findings:
        if each.rate != "error_rate":
            other = theirs[each.rate.removesuffix("(label='cow')"), each.group]
            assert (each.value, each.others, each.low, each.high) == (other.value, other.others, other.low, other.high)


def test_where_classes_do_not_differ_hardly_any_audit_says_so() -> None:
    wrong = sum(
        any(each.clear for each in eq.audit(*made[:2], attributes=made[2]).findings)
        for made in (of_classes(1500, seed) for seed in range(40))
    )
    assert wrong <= 7  # 2 are expected


def test_classes_that_only_predictions_have_and_refusals() -> None:
    y, p, people = of_classes(1000, 3)
    p = p.astype(object)
    p[:50] = "yak"
    found = eq.audit(y, p, attributes=people)
    assert found.overall["positive_rate(label='yak')"][0] == pytest.approx(0.05)
    assert np.isnan(found.overall["tpr(label='yak')"][0])
    assert any(name.startswith("tpr(") and name.endswith(", label='yak')") for name, _ in found.left_out)
    for labels in (["fish"], "cow", []):
        with pytest.raises(eq.DataError, match="labels must be a list of classes of y"):
            eq.audit(y, p, attributes=people, labels=labels)
    with pytest.raises(eq.DataError, match="labels= is for more than two classes"):
        eq.audit(y == "cow", p == "cow", attributes=people, labels=[True])
