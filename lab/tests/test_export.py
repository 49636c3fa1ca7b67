"""`equirate-lab export`: hard rows are hard, and what differs is seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")

from equirate_lab.cli import app
from equirate_lab.export import KINDS, make_table, run
from equirate_lab.export.kinds import People
from equirate_lab.export.rows import forests, hard_rows
from equirate_lab.export.runner import measured
from typer.testing import CliRunner

NAMED = {kind.name: kind for kind in KINDS}


@pytest.mark.parametrize("name", ["thresholds on a given score", "thresholds on logistic regression"])
def test_every_row_is_decided_alike(name: str) -> None:
    (found,) = run(2000, 500, [NAMED[name]])
    assert (found.rows, found.different, found.refused) == (2000, 0, "")
    assert found.size > 0
    assert name in make_table([found]).markdown()


def test_trees_are_compared_at_their_thresholds() -> None:
    kind = NAMED["thresholds on HistGradientBoosting"]
    people = People.drawn(300, 0)

    class Trees:
        """What `rows` looks at of an estimator: a forest in the place of members."""

        class classifier_:  # noqa: N801  # as estimators have it
            class members:  # noqa: N801
                class forest:  # noqa: N801
                    threshold, feature, category = np.array([0.5]), np.array([0]), np.array([-1])

    X = hard_rows(Trees, kind.features(people), 0)
    assert len(forests(Trees)) == 1
    near = np.array([0.5, np.nextafter(0.5, 1), np.nextafter(0.5, 0)])
    assert np.isin(X[:, 0], near).mean() > 0.3
    assert np.isnan(X).any()


def test_a_difference_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = NAMED["thresholds on a given score"]
    people = People.drawn(300, 0)
    estimator: Any = kind.fitted(people)
    X = kind.features(people)
    pmf = estimator.predict_pmf(X)
    monkeypatch.setattr(type(estimator), "predict_pmf", lambda self, given: pmf[: len(given), ::-1])
    assert measured("a", estimator, X).different == int((pmf[:, 0] != pmf[:, 1]).sum())


def test_the_command() -> None:
    options = ["export", "--rows", "200", "--train", "300", "--kind", "thresholds on a"]
    found = CliRunner().invoke(app, options)
    assert found.exit_code == 0, found.output
    assert "thresholds on a given score" in found.output
