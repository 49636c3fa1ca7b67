"""Ready-made constraints: over slices, over attributes, and what they are worth."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import equirate as eq
from equirate.data.examples import Examples
from equirate.language.parity import ConstraintFamily

WOMEN = eq.attr("sex") == "F"
ONE_METRIC = {
    eq.demographic_parity: eq.positive_rate,
    eq.equal_opportunity: eq.tpr,
    eq.predictive_parity: eq.precision,
    eq.f1_parity: eq.f1,
}
PARITIES = [*ONE_METRIC, eq.equalized_odds]


def expand(constraints, y, attributes, weights=None) -> list[str]:
    problem = eq.Problem(eq.minimize(eq.error_rate()), constraints)
    return [repr(c) for c in problem.expanded(Examples.of(y, attributes, weights)).constraints]


Y = np.tile([0, 1], 6)
RACE = np.repeat(["a", "b", "c"], 4)
SEX = np.tile(["F", "F", "M", "M"], 3)
PEOPLE = {"race": RACE, "sex": SEX, "old": np.tile([0, 1, 1, 0], 3)}


# -- over slices ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("parity", "metric"), ONE_METRIC.items(), ids=lambda f: f.__name__)
def test_over_slices(parity, metric) -> None:
    name = metric.__name__
    for over in (WOMEN, [WOMEN], [WOMEN, ~WOMEN]):
        (constraint,) = parity(over, tolerance=0.05)
        assert repr(constraint) == f"abs({name}(sex == 'F') - {name}(~(sex == 'F'))) <= 0.05"
    groups = [eq.attr("race") == r for r in "abc"]
    rest = parity(groups, tolerance=0.1)
    assert [repr(c) for c in rest] == [f"abs({name}(race == '{r}') - {name}(~(race == '{r}'))) <= 0.1" for r in "abc"]
    pairs = parity(groups, tolerance=0.1, compare="pairs")
    assert [repr(c) for c in pairs] == [
        f"abs({name}(race == '{a}') - {name}(race == '{b}')) <= 0.1" for a, b in itertools.combinations("abc", 2)
    ]
    overall = parity(groups, tolerance=0.1, compare="overall")
    assert [repr(c) for c in overall] == [f"abs({name}(race == '{r}') - {name}()) <= 0.1" for r in "abc"]


def test_equalized_odds_has_two_rates() -> None:
    assert [repr(c) for c in eq.equalized_odds(WOMEN, tolerance=0.05)] == [
        "abs(tpr(sex == 'F') - tpr(~(sex == 'F'))) <= 0.05",
        "abs(fpr(sex == 'F') - fpr(~(sex == 'F'))) <= 0.05",
    ]


def test_churn_difference() -> None:
    for baseline in ("old", eq.attr("old")):
        (constraint,) = eq.churn_difference(baseline, WOMEN, tolerance=0.5)
        assert repr(constraint) == (
            "abs(win_loss_ratio('old', sex == 'F') - win_loss_ratio('old', ~(sex == 'F'))) <= 0.5"
        )
    assert repr(eq.churn_difference("old", eq.attr("sex"), tolerance=0.5)) == (
        "[churn_difference('old', sex, tolerance=0.5)]"
    )


def test_values() -> None:
    rng = np.random.default_rng(0)
    n = 400
    y, p, old, w = rng.integers(0, 2, n), rng.random(n), rng.integers(0, 2, n), rng.exponential(size=n)
    women = rng.random(n) < 0.4
    people = {"sex": np.where(women, "F", "M"), "old": old}

    def mean(x, where):
        return (x * w)[where].sum() / w[where].sum()

    def gap(metric):
        return abs(metric(women) - metric(~women)) - 0.05

    differs = np.where(old == 1, 1 - p, p)
    expected = {
        eq.demographic_parity: [gap(lambda m: mean(p, m))],
        eq.equal_opportunity: [gap(lambda m: mean(p, m & (y == 1)))],
        eq.equalized_odds: [gap(lambda m: mean(p, m & (y == 1))), gap(lambda m: mean(p, m & (y == 0)))],
        eq.predictive_parity: [gap(lambda m: mean(p * y, m) / mean(p, m))],
        eq.f1_parity: [gap(lambda m: 2 * mean(p * y, m) / (mean(p, m) + mean(y, m)))],
    }
    for parity, values in expected.items():
        for over in (WOMEN, eq.attr("sex")):
            problem = eq.Problem(eq.minimize(eq.error_rate()), parity(over, tolerance=0.05))
            made = problem.expanded(Examples.of(y, people, w)).constraints
            assert [c.evaluate(y, p, attributes=people, sample_weight=w) for c in made] == pytest.approx(values)
    (constraint,) = eq.churn_difference("old", WOMEN, tolerance=0.05)
    ratio = gap(lambda m: mean(differs * (y != old), m) / mean(differs * (y == old), m))
    assert constraint.evaluate(y, p, attributes=people, sample_weight=w) == pytest.approx(ratio)


# -- over attributes ------------------------------------------------------------------------------


@pytest.mark.parametrize("parity", PARITIES, ids=lambda f: f.__name__)
def test_a_family_waits_for_the_data(parity) -> None:
    (family,) = parity(eq.attr("race"), tolerance=0.1)
    assert isinstance(family, ConstraintFamily)
    assert repr(family) == f"{parity.__name__}(race, tolerance=0.1)"
    assert len(expand([family], Y, PEOPLE)) == 3 * len(family.metrics)
    assert len(expand(parity(eq.attr("race"), tolerance=0.1, compare="pairs"), Y, PEOPLE)) == 3 * len(family.metrics)
    assert len(expand(parity(eq.attr("sex"), tolerance=0.1), Y, PEOPLE)) == len(family.metrics)
    for again in (copy.deepcopy(family), pickle.loads(pickle.dumps(family))):
        assert again == family
        assert repr(again) == repr(family)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "tolerance=0.1"),
        ({"compare": "pairs"}, "tolerance=0.1, compare='pairs'"),
        ({"intersect": True}, "tolerance=0.1, intersect=True"),
        ({"min_support": 5}, "tolerance=0.1, min_support=5"),
        ({"tolerance": np.float64(0.1)}, "tolerance=0.1"),
    ],
)
def test_repr_reads_as_written(options, text: str) -> None:
    over = [eq.attr("race"), eq.attr("sex")]
    made = eq.equal_opportunity(over, **{"tolerance": 0.1, **options})
    assert repr(made) == f"[equal_opportunity([race, sex], {text})]"
    names = {"race": over[0], "sex": over[1], "equal_opportunity": eq.equal_opportunity}
    assert eval(repr(made[0]), names) == made


def test_a_plain_string_is_the_name_of_an_attribute() -> None:
    for parity in PARITIES:
        assert parity("race", tolerance=0.1) == parity(eq.attr("race"), tolerance=0.1)
        assert parity(["race", "sex"], tolerance=0.1) == parity([eq.attr("race"), eq.attr("sex")], tolerance=0.1)
    named = eq.churn_difference("old", "sex", tolerance=0.1)
    assert named == eq.churn_difference(eq.attr("old"), eq.attr("sex"), tolerance=0.1)
    with pytest.raises(eq.DataError, match="unknown attribute 'rase': the attributes given are 'race'"):
        expand(eq.demographic_parity("rase", tolerance=0.1), Y, PEOPLE)


def test_a_quantity_is_no_family_of_groups() -> None:
    n = 240
    y = np.arange(n) % 2
    few, many = np.arange(n) // 3, np.arange(n) // 2  # 80 and 120 values
    text = many.astype(str)
    assert len(expand(eq.demographic_parity("age", tolerance=0.1), y, {"age": few})) == 80
    assert len(expand(eq.demographic_parity("code", tolerance=0.1), y, {"code": text})) == 120
    with pytest.warns(eq.EquirateWarning, match=r"'age' has 120 different values.*bins.*attr\('age'\) < 60"):
        expand(eq.demographic_parity("age", tolerance=0.1), y, {"age": many})


def test_two_groups_are_compared_with_each_other() -> None:
    assert expand(eq.demographic_parity(eq.attr("sex"), tolerance=0.1), Y, PEOPLE) == [
        "abs(positive_rate(sex == 'F') - positive_rate(sex == 'M')) <= 0.1"
    ]


def test_several_attributes() -> None:
    over = [eq.attr("race"), eq.attr("sex")]
    assert len(expand(eq.demographic_parity(over, tolerance=0.1), Y, PEOPLE)) == 3 + 1
    crossed = expand(eq.demographic_parity(over, tolerance=0.1, intersect=True), Y, PEOPLE)
    assert len(crossed) == 6
    assert crossed[0].startswith("abs(positive_rate((race == 'a') & (sex == 'F')) - positive_rate(~(")


def test_combinations_that_do_not_occur_are_no_groups() -> None:
    people = {"race": ["a", "a", "b", "b"], "sex": ["F", "F", "M", "F"]}
    over = [eq.attr("race"), eq.attr("sex")]
    made = expand(eq.demographic_parity(over, tolerance=0.1, intersect=True, compare="pairs"), [0, 1, 0, 1], people)
    assert len(made) == 3


@pytest.mark.parametrize("support", [3, 0.2])
def test_min_support_names_what_it_leaves_out(support) -> None:
    people = {"race": ["a"] * 6 + ["b"] * 6 + ["c"] * 2}
    constraints = eq.demographic_parity(eq.attr("race"), tolerance=0.1, min_support=support)
    with pytest.warns(eq.EquirateWarning, match=r"demographic_parity\(race.* leaves out .*min_support: race == 'c'$"):
        assert expand(constraints, np.tile([0, 1], 7), people) == [
            "abs(positive_rate(race == 'a') - positive_rate(race == 'b')) <= 0.1"
        ]


def test_min_support_below_one_is_a_share_of_the_weight() -> None:
    people, weights = {"race": ["a", "a", "b", "b", "c", "c"]}, [1, 1, 1, 1, 10, 10]
    constraints = eq.demographic_parity(eq.attr("race"), tolerance=0.1, min_support=0.05)
    assert len(expand(constraints, [0, 1] * 3, people, weights)) == 3
    constraints = eq.demographic_parity(eq.attr("race"), tolerance=0.1, min_support=0.1)
    with (
        pytest.warns(eq.EquirateWarning, match="race == 'a', race == 'b'"),
        pytest.raises(eq.DataError, match="needs at least two groups with enough examples in 'race'; found 1"),
    ):
        expand(constraints, [0, 1] * 3, people, weights)


def test_the_warning_does_not_list_every_group() -> None:
    people = {"code": [*range(20), *[100] * 5, *[200] * 5]}
    constraints = eq.demographic_parity(eq.attr("code"), tolerance=0.1, min_support=2)
    with pytest.warns(eq.EquirateWarning, match=r"code == 0, .*code == 4 and 15 more"):
        assert len(expand(constraints, np.arange(30) % 2, people)) == 1


def test_one_group_only() -> None:
    with pytest.raises(
        eq.DataError, match=r"equal_opportunity\(race, tolerance=0.1\) needs at least two groups .*found 1"
    ):
        expand(eq.equal_opportunity(eq.attr("race"), tolerance=0.1), [0, 1], {"race": ["a", "a"]})


def test_missing_attribute_and_missing_values() -> None:
    constraints = eq.equal_opportunity(eq.attr("race"), tolerance=0.1)
    with pytest.raises(eq.DataError, match="unknown attribute 'race': the attributes given are 'sex'"):
        expand(constraints, [0, 1], {"sex": ["F", "M"]})
    with pytest.raises(eq.DataError, match="attribute 'race' has 1 missing values"):
        expand(constraints, [0, 1], {"race": ["a", None]})


DTYPES = {
    "str": (np.array(["a", "b", "a", "b"]), "'a'", "'b'"),
    "object": (np.array(["a", "b", "a", "b"], dtype=object), "'a'", "'b'"),
    "int": (np.array([1, 2, 1, 2]), "1", "2"),
    "bool": (np.array([False, True, False, True]), "False", "True"),
    "float": (np.array([0.5, 1.5, 0.5, 1.5]), "0.5", "1.5"),
    "category": (pd.Series(["a", "b", "a", "b"], dtype="category"), "'a'", "'b'"),
    "number category": (pd.Series([1, 2, 1, 2], dtype="category"), "1", "2"),
    "pandas": (pd.Series(["a", "b", "a", "b"]), "'a'", "'b'"),
    "Int64": (pd.Series([1, 2, 1, 2], dtype="Int64"), "1", "2"),
    "boolean": (pd.Series([False, True, False, True], dtype="boolean"), "False", "True"),
    "polars": (pl.Series(["a", "b", "a", "b"]), "'a'", "'b'"),
    "polars category": (pl.Series(["a", "b", "a", "b"], dtype=pl.Categorical), "'a'", "'b'"),
    "mixed": (np.array([1, "b", 1, "b"], dtype=object), "1", "'b'"),
    "list": (["a", "b", "a", "b"], "'a'", "'b'"),
}


@pytest.mark.parametrize("kind", DTYPES)
def test_attributes_of_every_dtype(kind: str) -> None:
    column, first, second = DTYPES[kind]
    expected = [f"abs(positive_rate(g == {first}) - positive_rate(g == {second})) <= 0.1"]
    constraints = eq.demographic_parity(eq.attr("g"), tolerance=0.1)
    y, p = [0, 1, 0, 1], [1, 0, 0.5, 0]
    assert expand(constraints, y, {"g": column}) == expected
    (constraint,) = (
        eq.Problem(eq.minimize(eq.error_rate()), constraints).expanded(Examples.of(y, {"g": column})).constraints
    )
    assert constraint.evaluate(y, p, attributes={"g": column}) == pytest.approx(0.65)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, dict])
def test_frames(frame) -> None:
    assert len(expand(eq.demographic_parity(eq.attr("race"), tolerance=0.1), Y, frame(PEOPLE))) == 3


def test_a_bare_array_is_called_group() -> None:
    for people in (RACE, RACE.tolist(), pd.Series(RACE)):
        assert len(expand(eq.demographic_parity(eq.attr("group"), tolerance=0.1), Y, people)) == 3
    assert len(expand(eq.demographic_parity(eq.attr("race"), tolerance=0.1), Y, pd.Series(RACE, name="race"))) == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: eq.demographic_parity(3, tolerance=0.1), r"takes attributes, as in attr\('sex'\).*got 3"),
        (lambda: eq.demographic_parity("", tolerance=0.1), "the name of a column as a non-empty string"),
        (lambda: eq.demographic_parity(["sex", WOMEN], tolerance=0.1), "takes attributes"),
        (lambda: eq.demographic_parity([], tolerance=0.1), "takes attributes"),
        (lambda: eq.demographic_parity([WOMEN, eq.attr("race")], tolerance=0.1), "takes attributes"),
        (
            lambda: eq.demographic_parity(WOMEN, tolerance=-0.1),
            "the tolerance of demographic_parity must be a number >= 0",
        ),
        (lambda: eq.demographic_parity(WOMEN, tolerance="0.1"), "a number for the tolerance"),
        (lambda: eq.demographic_parity(WOMEN, tolerance=True), "a number for the tolerance"),
        (lambda: eq.demographic_parity(WOMEN, tolerance=float("nan")), "a number for the tolerance"),
        (
            lambda: eq.demographic_parity(WOMEN, tolerance=0.1, compare="all"),
            "must be one of 'rest', 'pairs', 'overall'",
        ),
        (lambda: eq.demographic_parity(WOMEN, tolerance=0.1, min_support=-1), "min_support of demographic_parity"),
        (lambda: eq.demographic_parity(WOMEN), r"write demographic_parity\(sex == 'F', tolerance=0\.05\)"),
        (lambda: eq.demographic_parity("sex", 0.1), r"write demographic_parity\('sex', tolerance=0\.1\)"),
        (lambda: eq.churn_difference("old", "sex", 0.1), r"write churn_difference\('old', 'sex', tolerance=0\.1\)"),
        (lambda: eq.churn_difference(3, WOMEN, tolerance=0.1), "the baseline of churn_difference"),
    ],
)
def test_refusals(make, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()
