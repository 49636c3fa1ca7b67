"""What people write by habit is refused with what to write instead."""

import re

import pytest

import equirate as eq
from equirate.language.catalogue import CATALOGUE
from equirate.problem.hints import _CALLED


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tpr(race == Black) >= 0.5", "race == 'Black'"),
        ("tpr(race != Black) >= 0.5", "race != 'Black'"),
        ("tpr(race = 'Black') >= 0.5", "race == 'Black'"),
        ("tpr(race = Black) >= 0.5", "race == 'Black'"),
        ("tpr(age = 60) >= 0.5", "age == 60"),
        ("race = 'Black'", "race == 'Black'"),
        ("f1() >= 80%", "write 0.8 for 80%"),
        ("fpr() <= 2.5 %", "write 0.025 for 2.5 %"),
        ("tpr() >= 80% * fpr()", "write 0.8 for 80%"),
        ("auc() >= 0.9", "balanced_accuracy()"),
        ("ROC_AUC()", "balanced_accuracy()"),
        ("specificity() >= 0.9", "is tnr() here"),
        ("mcc() >= 0.5", "is matthews() here"),
    ],
)
def test_the_hint_is_given(text: str, says: str) -> None:
    with pytest.raises(eq.ParseError) as refusal:
        eq.parse(text)
    assert says in str(refusal.value)
    assert refusal.value.column is not None


def test_other_options_get_no_hint() -> None:
    with pytest.raises(eq.ParseError) as refusal:
        eq.parse("demographic_parity(sex, tol=0.1)")
    assert "equals" not in str(refusal.value)


def test_every_hint_names_what_there_is() -> None:
    for said in _CALLED.values():
        assert set(re.findall(r"(\w+)\(", said)) <= set(CATALOGUE)
