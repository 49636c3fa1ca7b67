"""One walk through the data: a fit checks everything once and tells the cells apart once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import equirate as eq
from equirate.data.cells import Cells
from equirate.data.examples import Examples
from equirate.data.sample import Sample
from equirate.problem.problem import Problem
from equirate.selection import choice

GAME = {"n_rounds": 40, "theta_step": 0.1, "lambda_step": 0.1}
BUILDERS = ((Problem, "__init__"), (Cells, "of_examples"), (Examples, "of"), (Sample, "arranged"))


def _counting(kind: type, name: str, built: Counter[str]) -> Any:
    made: Any = kind.__dict__[name]
    original: Callable[..., Any] = made.__func__ if isinstance(made, classmethod) else made

    def counted(*args: Any, **kwargs: Any) -> Any:
        built[kind.__name__] += 1
        return original(*args, **kwargs)

    return classmethod(counted) if isinstance(made, classmethod) else counted


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each thing is built."""
    counts: Counter[str] = Counter()
    for kind, name in BUILDERS:
        monkeypatch.setattr(kind, name, _counting(kind, name, counts))
    return counts


def _data() -> tuple[Any, Any, dict[str, Any]]:
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(600, 3)), rng.integers(0, 2, 600)
    return X, (X[:, 0] + 0.7 * group + rng.normal(size=600) > 0.4).astype(int), {"group": group}


@pytest.mark.parametrize(
    ("options", "arranged"),
    [({}, 0), ({"output": "stochastic"}, 0), ({"output": "deterministic"}, 0), (GAME, 1)],
    ids=["hashed", "stochastic", "deterministic", "a game"],
)
@pytest.mark.parametrize(
    ("objective", "constraints", "problems"),
    [
        (eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.5], 1),
        (eq.maximize(eq.f1()), [eq.tpr(eq.attr("group") == 1) >= 0.7], 1),
        # A family is checked before there are data, and once more when it is written out for the groups in them.
        (eq.minimize(eq.error_rate()), eq.demographic_parity("group", tolerance=0.05), 2),
    ],
)
def test_a_fit_walks_once_through_the_data(
    built: Counter[str], options: dict[str, Any], arranged: int, objective: Any, constraints: Any, problems: int
) -> None:
    X, y, groups = _data()
    eq.RateClassifier(objective, constraints, random_state=0, **options).fit(X, y, sensitive_features=groups)
    expected = {"Problem": problems, "Cells": 1, "Examples": 1, "Sample": arranged}  # a game plays on rows in order
    assert built == {name: count for name, count in expected.items() if count}


@pytest.mark.parametrize("options", [{}, {"confidence_method": "holdout"}], ids=["cross", "holdout"])
def test_a_certified_fit_tells_the_cells_apart_once_and_derandomises_once(
    built: Counter[str], monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    X, y, groups = _data()
    monkeypatch.setattr(choice, "derandomised", _called(choice.derandomised, built))
    limit = [abs(eq.positive_rate(eq.attr("group") == 1) - eq.positive_rate(eq.attr("group") == 0)) <= 0.3]
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), limit, confidence=0.9, random_state=0, **options)
    clf.fit(X, y, sensitive_features=groups)
    assert clf.certification_ is not None
    assert (built["Cells"], built["Examples"], built["derandomised"]) == (1, 1, 1)


def _called(function: Callable[..., Any], built: Counter[str]) -> Callable[..., Any]:
    def counted(*args: Any, **kwargs: Any) -> Any:
        built[function.__name__] += 1
        return function(*args, **kwargs)

    return counted


def test_judging_on_data_tells_their_cells_apart_once(built: Counter[str]) -> None:
    X, y, groups = _data()
    constraints = [eq.tpr(eq.attr("group") == 1) >= 0.2, eq.fpr() <= 0.9]
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), constraints, random_state=0).fit(
        X, y, sensitive_features=groups
    )
    built.clear()
    clf.evaluate(X, y, sensitive_features=groups)
    assert (built["Cells"], built["Examples"]) == (1, 1)


@pytest.mark.parametrize("game", [{}, GAME], ids=["column generation", "a game"])
def test_the_parts_are_worth_what_evaluate_says_of_them(game: dict[str, Any]) -> None:
    """The cells that the parts are judged with are those that judging them by themselves would find."""
    X, y, groups = _data()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    constraints = [eq.positive_rate(eq.attr("group") == 1) <= 0.6]
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), constraints, validation=0, random_state=0, **game).fit(
        X, y, sensitive_features=groups, sample_weight=weights
    )
    (part,) = clf.parts_.values()
    found = clf.evaluate(X, y, sensitive_features=groups, sample_weight=weights)
    assert found.objective == pytest.approx(part.objective, abs=1e-12)
    for key in ("violation", "low", "high"):
        assert getattr(found.constraints[0], key) == pytest.approx(getattr(part.constraints[0], key), abs=1e-9)
