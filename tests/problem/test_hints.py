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
        ("FPR() <= 0.1", "did you mean 'fpr'?"),
        ("tpr(Sex of applicant == 'female') >= 0.5", "write attr('Sex of applicant') == 'female'"),
        ("tpr(Sex of applicant = 'female') >= 0.5", "write attr('Sex of applicant') == 'female'"),
        ("tpr('Sex of applicant' == 'female') >= 0.5", "write attr('Sex of applicant') == 'female'"),
        ("tpr(`Sex of applicant` == 'female') >= 0.5", "write attr('Sex of applicant') == 'female'"),
        ("tpr(job == 'not known' and Loan amount > 3) >= 0.5", "write attr('Loan amount') > 3"),
        ("demographic_parity(Sex of applicant, tolerance=0.1)", "write attr('Sex of applicant')"),
        ("tpr(marital-status == 'single') >= 0.5", "write attr('marital-status')"),
        ("tpr(sex == 'F' and age > 30) >= 0.5", "write (sex == 'F') & (age > 30)"),
        ("tpr(sex == 'F' or age > 30) >= 0.5", "write (sex == 'F') | (age > 30)"),
        ("tpr(not sex == 'F') >= 0.5", "write ~(sex == 'F')"),
        ("f1() >= 0.5 and recall() >= 0.5", "give them as two constraints"),
        ("(f1() >= 0.5) & (recall() >= 0.5)", "give them as two constraints"),
        ("tpr(sex in ['F', 'M']) >= 0.5", "write sex.isin(['F', 'M'])"),
        ("tpr(sex not in ['F', 'M']) >= 0.5", "write ~sex.isin(['F', 'M'])"),
        ("tpr(sex is 'F') >= 0.5", "write sex == 'F'"),
        ("tpr(30 <= age < 40) >= 0.5", "write (age >= 30) & (age < 40)"),
        ("tpr(30 <= age) >= 0.5", "write age >= 30"),
        ("0.2 <= f1() <= 0.5", "give a chain as two constraints, f1() >= 0.2, f1() <= 0.5"),
        ("demographic_parity(sex, 0.05)", "write demographic_parity(sex, tolerance=0.05)"),
        ("demographic_parity('sex') <= 0.05", "write demographic_parity('sex', tolerance=0.05)"),
        ("demographic_parity(sex, tolerance=0.05) <= 0.1", "leave the comparison out"),
        ("demographic_parity(sex, tolerance=0,05)", "with a decimal point, 0.05"),
        ("f1() => 0.3", "at least is >="),
        ("eq.f1() >= 0.3", "leave 'eq.' out"),
    ],
)
def test_the_hint_is_given(text: str, says: str) -> None:
    with pytest.raises(eq.ParseError) as refusal:
        eq.parse(text)
    assert says in str(refusal.value)
    assert refusal.value.column is not None


def test_a_decimal_comma() -> None:
    with pytest.raises(eq.ParseError, match=r"with a decimal point, 0\.3"):
        eq.parse("f1() >= 0,3")


def test_other_options_get_no_hint() -> None:
    with pytest.raises(eq.ParseError) as refusal:
        eq.parse("demographic_parity(sex, tol=0.1)")
    assert "equals" not in str(refusal.value)


def test_every_hint_names_what_there_is() -> None:
    for said in _CALLED.values():
        assert set(re.findall(r"(\w+)\(", said)) <= set(CATALOGUE)


def test_what_is_given_instead_of_constraints() -> None:
    objective = eq.maximize(eq.f1())
    for given, says in (("f1() >= 0.5", "eq.parse"), (eq.parse("recall >= 0.9"), r"did you mean recall\(\)\?")):
        with pytest.raises(TypeError, match=says):
            eq.Problem(objective, [given])
    with pytest.raises(TypeError, match=r"text is read by eq\.parse"):
        eq.RateClassifier("maximize(f1())").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(eq.InfeasibleError, match=r"for 90% write 0\.9"):
        eq.Problem(objective, [eq.precision() >= 90])
