"""The model card: a header that hubs read, and every number of the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equirate as eq

rng = np.random.default_rng(0)
X = rng.normal(size=(900, 3))
SEX = rng.choice(["F", "M"], 900)
Y = (X[:, 0] + 0.6 * (SEX == "M") + 0.6 * rng.normal(size=900) > 0.5).astype(int)
PEOPLE = {"sex": SEX}
WOMEN = eq.attr("sex") == "F"
PROBLEM = (eq.maximize(eq.f1()), [eq.positive_rate(WOMEN) >= eq.positive_rate(~WOMEN) - 0.1])


@pytest.fixture(scope="module")
def clf() -> Any:
    return eq.RateClassifier(*PROBLEM, n_rounds=60, random_state=0).fit(X, Y, sensitive_features=PEOPLE)


def card(report: Any, tmp_path: Path, **options: Any) -> tuple[dict[str, Any], str]:
    yaml = pytest.importorskip("yaml")
    report.to_card(tmp_path / "README.md", **options)
    _, header, body = (tmp_path / "README.md").read_text("utf-8").split("---\n", 2)
    return yaml.safe_load(header), body


def test_the_header_is_what_hubs_read(clf: Any, tmp_path: Path) -> None:
    report = clf.report(X, Y, sensitive_features=PEOPLE)
    header, _ = card(report, tmp_path, name='A "name": with signs', data="Made-up people", license="mit")
    assert header["library_name"] == "equirate"
    assert header["pipeline_tag"] == "tabular-classification"
    assert header["license"] == "mit"
    (model,) = header["model-index"]
    assert model["name"] == 'A "name": with signs'
    (result,) = model["results"]
    assert result["task"] == {"type": "tabular-classification"}
    assert result["dataset"] == {"name": "Made-up people, test part", "type": "made-up-people"}
    objective, violation = result["metrics"]
    assert (objective["type"], objective["name"]) == ("f1", "f1()")
    assert objective["value"] == pytest.approx(report.last.objective, abs=1e-5)
    assert violation["value"] == pytest.approx(report.last.constraints[0].violation, abs=1e-5)


def test_everything_is_said(clf: Any, tmp_path: Path) -> None:
    report = clf.report(X, Y, sensitive_features=PEOPLE)
    header, body = card(report, tmp_path)
    assert "license" not in header
    sections = ("Problem", "Data", "Asked and achieved", "Certificate", "How decisions are drawn")
    for section in (*sections, "Intended use", "Limits", "Versions"):
        assert f"\n## {section}\n" in body
    assert report.problem in body
    rate = next(each for each in report.rates if each.rate == "tpr" and each.slice == "sex == 'F'")
    assert f"{rate.value:.4f} [{rate.low:.4f}, {rate.high:.4f}]" in body
    assert "nothing is certified" in body
    alone = clf.classifier_.is_deterministic
    assert ("without a draw" if alone else "by a salted hash of the row") in body
    assert body.count("*To be filled in.*") == 2
    assert f"| equirate | {eq.__version__} |" in body
    assert "RateClassifier(" in body


def test_without_data_and_without_a_draw(clf: Any, tmp_path: Path) -> None:
    _, body = card(clf.to_deterministic().report(), tmp_path)
    assert "One classifier decides." in body
    assert "| group | examples | labelled positive | predicted positive |" in body


def test_a_certificate_has_its_method(tmp_path: Path) -> None:
    clf = eq.RateClassifier(*PROBLEM, n_rounds=40, random_state=0, confidence=0.9).fit(X, Y, sensitive_features=PEOPLE)
    _, body = card(clf.report(X, Y, sensitive_features=PEOPLE), tmp_path)
    assert "Method: cross." in body


def test_a_place_that_cannot_be_written_to(clf: Any, tmp_path: Path) -> None:
    with pytest.raises(eq.EquirateError, match="cannot be written"):
        clf.report().to_card(tmp_path / "no" / "README.md")
