"""What the commands do: explanations, options in files, names, and the model's folder."""

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

pytest.importorskip("pyarrow")

import equirate as eq
from equirate.game.classifiers import Classifier
from equirate.language.curvature import Curvature
from equirate.models.finite import FiniteMembers
from equirate.models.sklearn_classifiers import Always
from equirate.problem import text as language
from equirate.runs import settings as options
from equirate.runs.explaining import directions, explain, words
from equirate.runs.fitting import write_report
from equirate.runs.models import Trained
from equirate.runs.names import check_names, mentioned
from equirate.runs.preparing import Labels
from equirate.runs.settings import RunSettings

# -- explain --------------------------------------------------------------------------------------

EXPRESSIONS = [
    *("f1()", "precision(sex == 'F') - precision(sex == 'M')", "tpr() - 0.5 * fpr()", "g_mean()", "q_mean()"),
    *("kl_divergence()", "jaccard()", "f_score(2)", "npv()", "max(fpr(), fnr())", "square(tpr() - fpr())"),
    *("tp() / (tp() + fp() + 0.1)", "log(tpr())", "inv(1 + fpr())", "abs(tpr() - tnr())", "h_mean()", "-tpr() / 2"),
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_directions_are_what_the_values_do(text: str) -> None:
    """Move one rate at a time, the others held, and see where the value goes."""
    expr = eq.parse(text)
    rates = list({rate.key: rate for rate in expr.rates()}.values())
    rng = np.random.default_rng(0)
    points = rng.uniform(0.05, 0.9, size=(len(rates), 500))
    said = directions(expr)
    for k, rate in enumerate(rates):
        if rate.curvature is Curvature.CONSTANT:
            continue
        moved = points.copy()
        moved[k] += 0.05
        values = []
        for at in (points, moved):
            known = {each.key: at[j] for j, each in enumerate(rates)}
            values.append(np.asarray(expr.value(lambda part, known=known: known[part.key]), dtype=float))
        change = values[1] - values[0]
        word = said.get(repr(rate), "")
        assert not (change > 1e-9).any() or "rises" in word, (text, rate)
        assert not (change < -1e-9).any() or "falls" in word, (text, rate)


@pytest.mark.parametrize("name", sorted(language._RATES))
def test_every_function_reads_in_words(name: str) -> None:
    arguments = {
        **{"wins": "'old'", "losses": "'old'", "churn": "'old'", "win_loss_ratio": "'old'", "f_score": "2"},
        **{"ratio": "tp(), fp(), floor=0.1", "kl": "0.5, tpr()", "cost": "fp=1, fn=2"},
        **{"confusion": "'a', 'b'", "coverage": "'a'", "worst": "'precision'"},
    }
    inside = "tpr(), tnr()" if name in ("max", "min", "norm", "geo_mean", "harmonic_mean") else ""
    inside = inside or ("tpr()" if name in ("log", "sqrt", "square", "inv", "abs") else "")
    said = words(eq.parse(f"{name}({arguments.get(name, inside)})"))
    assert "(" not in said.replace("(the harmonic mean of precision and recall)", ""), said


@pytest.mark.parametrize(
    ("text", "what", "algorithm"),
    [
        ("minimize(error_rate())", "solved", "column_generation"),
        ("maximize(f1())", "solved", "column_generation"),
        ("precision() >= 0.8", "kept", "column_generation"),
        ("demographic_parity(sex, tolerance=0.1)", "kept", "column_generation"),
        ("minimize(log_loss())", "solved", "surrogate (linear), no loss of scores with trees or thresholds"),
    ],
)
def test_the_algorithm_is_named(text: str, what: str, algorithm: str) -> None:
    found = explain(text)
    assert found.algorithms == {what: algorithm}
    assert found.possible
    json.dumps(found.to_dict())


def test_refusals_come_with_their_rewrite() -> None:
    found = explain("maximize(tpr() * tnr())")
    assert not found.possible
    assert "Write geo_mean(tpr(), tnr())" in found.refusals["solved"]
    either = explain("g_mean()")
    assert set(either.algorithms) == {"maximised"}
    assert set(either.refusals) == {"minimised"}


def test_slices_and_attributes_are_explained() -> None:
    assert (
        explain("(sex == 'F') & ~(age >= 40)").words
        == "those whose sex is 'F' and all but those whose age is at least 40"
    )
    assert explain("sex").what == "attribute"


def test_metrics_over_all_classes_are_explained_without_naming_one() -> None:
    assert explain("macro_f1(sex == 'F')").directions == {
        "tp(sex == 'F', label=...) of each class": "rises",
        "fp(sex == 'F', label=...) of each class": "falls",
        "fn(sex == 'F', label=...) of each class": "falls",
    }
    both = explain("worst_recall() + recall(label=0)").directions
    assert both == {"recall(label=...) of each class": "rises", "recall(label=0)": "rises"}


# -- options --------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=20)
OPTIONS = st.fixed_dictionaries(
    {"data": TEXTS, "label": TEXTS},
    optional={
        **{"positive": TEXTS, "attributes": st.lists(TEXTS, max_size=3).map(tuple), "maximize": TEXTS, "weight": TEXTS},
        **{
            "subject_to": st.lists(TEXTS, max_size=3).map(tuple),
            "split": st.floats(0.01, 0.99),
            "seed": st.integers(0, 9),
        },
        **{"model": st.sampled_from(options.MODELS), "confidence": st.floats(0.6, 0.99)},
    },
)


@given(chosen=OPTIONS)
def test_options_survive_a_file(tmp_path_factory: pytest.TempPathFactory, chosen: dict[str, Any]) -> None:
    settings = RunSettings.of(chosen)
    path = tmp_path_factory.mktemp("options") / "problem.toml"
    path.write_text(settings.as_toml(), "utf-8", newline="")
    assert RunSettings.of(options.read(path)) == settings
    tomllib.loads(settings.as_toml())


def test_the_command_says_the_same() -> None:
    chosen = {"data": "a b.csv", "label": "y", "attributes": ("sex", "race"), "maximize": "f1()", "seed": 3}
    said = "equirate fit 'a b.csv' --label y --attributes sex --attributes race --maximize 'f1()' --seed 3"
    assert RunSettings.of(chosen).command() == said


class Page:
    """A report with a page, or with one that needs what is not installed."""

    def __init__(self, absent: bool) -> None:
        self.absent = absent

    def to_html(self, path: Path, command: str | None = None) -> None:
        if self.absent:
            raise ImportError("the page needs jinja2")
        path.write_text(f"<p>{command}</p>", "utf-8")

    def __str__(self) -> str:
        return "the long text"


class Told:
    """Remembers notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_the_page_is_written_where_there_is_one(tmp_path: Path) -> None:
    told: Any = Told()
    assert write_report(Page(absent=False), tmp_path, "text", "equirate fit", told) == "report.html"
    assert (tmp_path / "report.html").read_text("utf-8") == "<p>equirate fit</p>"
    assert write_report(Page(absent=True), tmp_path, "text", "equirate fit", told) == "report.txt"
    assert (tmp_path / "report.txt").read_text("utf-8") == "text\n\nthe long text\n"
    assert told.notes == ["the report is text only: the page needs jinja2"]


# -- names ----------------------------------------------------------------------------------------


def test_names_that_a_text_mentions() -> None:
    text = "wins('old', sex == 'F') + tpr(attr('the age') >= 3) - churn_difference('new', region)[0]"
    assert {name for name, _ in mentioned(text)} == {"old", "sex", "the age", "new", "region"}
    assert {name for name, _ in mentioned("equal_opportunity(['a', b], tolerance=0.1)")} == {"a", "b"}
    check_names(["f1()", "tpr(sex == 'F') >= 0.1"], ["sex"], ["sex", "age"])


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("f1(sx == 'F')", 3, "did you mean 'sex'?"),
        ("f1(é == 'F') + tpr(sx == 1)", 3, "there is no attribute 'é'"),
        ("f1() + tpr(age == 1)", 11, "add it to --attributes"),
        ("churn('odl')", 6, "did you mean 'old'?"),
    ],
)
def test_a_name_that_is_no_attribute_is_pointed_at(text: str, column: int, says: str) -> None:
    with pytest.raises(eq.ParseError) as refusal:
        check_names([text], ["sex", "old"], ["sex", "old", "age"])
    assert refusal.value.column == column
    assert says in refusal.value.reason


# -- models ---------------------------------------------------------------------------------------


class Keyed:
    """An estimator that decides by keys."""

    def predict(self, X: Any, key: Any = None) -> Any:
        return np.array(["no" if key is None else str(each) for each in (range(len(X)) if key is None else key)])


def test_a_key_goes_to_an_estimator_that_takes_one() -> None:
    labels = Labels("hired", "yes", "no")
    problem = eq.Problem(eq.maximize(eq.f1()))
    mixture: Any = Classifier(FiniteMembers((Always(True),)), np.ones(1), problem)
    X = np.zeros((2, 1))
    keyed = Trained("linear", Keyed(), mixture, problem)
    assert keyed.decide(X, labels, np.array(["a", "b"])).tolist() == ["a", "b"]
    plain = Trained("trees", None, mixture, problem)
    assert plain.decide(X, labels).tolist() == ["yes", "yes"]
    assert plain.decide(X, labels, np.array(["a", "b"])).tolist() == ["yes", "yes"]
