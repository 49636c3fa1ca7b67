"""The benchmark of trees: it keeps what it measured, goes on where it was, and its tables say over how many splits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from equirate_lab.trees import page, predicting
from equirate_lab.trees.methods import METHODS, achieved, constraint
from equirate_lab.trees.runner import KEY, Plan, read, run

SMALL = Plan(
    data=("adult",), attributes=("sex",), kinds=("tpr",), methods=("lightgbm", "trees"), splits=1, levels=(0.05,)
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees")
    run(SMALL, folder, None, lambda text: None)
    return folder


@pytest.mark.slow
def test_what_is_measured_is_not_measured_again(measured: Path) -> None:
    before = (measured / "trees.jsonl").read_text("utf-8")
    told: list[str] = []
    lines = run(SMALL, measured, None, told.append)
    assert (measured / "trees.jsonl").read_text("utf-8") == before
    assert told == []
    assert {line["method"] for line in lines} == {"lightgbm", "trees"}
    ours = next(line for line in lines if line["method"] == "trees")
    assert ours["error"] < 0.2
    assert ours["gap"] < 0.12


def lines() -> list[dict[str, object]]:
    place = {"data": "acs", "attribute": "race", "kind": "dp", "rows": 100}
    made = [
        {**place, "method": "lightgbm", "split": s, "level": 0.0, "error": 0.19, "gap": 0.25, "seconds": 1.0}
        for s in (0, 1)
    ]
    for split in (0, 1):
        for level, error in ((0.03, 0.22), (0.05, 0.21)):
            values = {"level": level, "error": error, "gap": level + 0.01 * split, "seconds": 3.0}
            made.append({**place, "method": "trees", "split": split, **values})
    failed = {"level": 0.05, "error": float("nan"), "gap": float("nan"), "seconds": float("nan")}
    return [*made, {**place, "method": "oxonfair", "split": 0, **failed}]


def test_tables_and_plots_are_made_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "trees.jsonl"
    path.write_text("\n".join(map(json.dumps, lines())) + '\n{"data": "acs", "attr', "utf-8")  # cut short
    found = read(path)
    assert len(found) == 7
    (table,) = page.tables(found)
    row = dict(zip(table.header, next(row for row in table.rows if "trees" in row[0]), strict=True))
    assert row["splits"] == "2"
    assert row["error at gap ≤ 0.05"] == "0.2125 ± 0.0025"  # between (0.035, 0.22) and (0.055, 0.21)
    assert row["error at gap ≤ 0.03"] == page.ABSENT  # the mean gap is above that
    assert "0.03: 0.035 ± 0.005 (0.2200)" in row["asked: achieved (error)"]
    assert page.cost(found).rows[1][1] == "3.00 (4 fits)"
    assert page.failed(found) == ["OxonFair: ACSIncome, demographic parity"]
    assert page.curves(found).startswith("<svg")


def test_methods_are_compared_at_the_same_gap_over_the_splits_that_both_have() -> None:
    found = lines()
    for split, change in ((0, -0.002), (1, -0.004)):
        for line in [each for each in lines() if each["method"] == "trees" and each["split"] == split]:
            found.append({**line, "method": "reductions", "error": float(str(line["error"])) - change})
    (row,) = page.limits(found).rows
    assert row[1:3] == ("blind less fairlearn", "2")
    assert row[3] == page.ABSENT
    assert row[4] == row[6] == "-0.0030 ± 0.0010"


def test_trees_are_set_beside_the_linear_model_on_new_rows() -> None:
    place = {"data": "compas", "attribute": "group", "kind": "dp", "level": 0.05, "rows": 9, "seconds": 1.0}
    gaps = {"linear": (0.06, 0.08), "trees": (0.04, 0.11)}
    found = [
        {**place, "method": name, "split": split, "gap": gap, "error": 0.3}
        for name, own in gaps.items()
        for split, gap in enumerate(own)
    ]
    (row,) = page.generalises(found).rows
    assert row[:4] == ("COMPAS, group, demographic parity", "0.05", "2", "0.0200 ± 0.0100")
    assert row[4:6] == ("0.0300 ± 0.0300", "+0.0100 ± 0.0200")
    assert page.tables(found) == []


def test_predicting_goes_down_every_ensemble_once() -> None:
    class Tree:
        roots = (0,)

    class Learned:
        def __init__(self) -> None:
            self.forest = Tree()

    class Holder:
        pass

    label, groups, own = Learned(), Learned(), Learned()
    rule, members = Holder(), Holder()
    rule.posterior = Holder()  # type: ignore[attr-defined]
    rule.posterior.label, rule.posterior.groups = label, groups  # type: ignore[attr-defined]
    assert predicting.ensembles(rule) == [label.forest, groups.forest]
    members.fitted = []  # type: ignore[attr-defined]
    for classifier in (rule, label, rule, own):
        members.fitted.append(Holder())  # type: ignore[attr-defined]
        members.fitted[-1].classifier = classifier  # type: ignore[attr-defined]
    assert predicting.ensembles(members) == [label.forest, groups.forest, own.forest]
    line = {"method": "trees", "members": 4, "trees": 3, "rows": 10, "mixture": 1.1, "ensembles": 1.0}
    assert predicting.table([line]).rows[0][-1] == "1.10"


def test_cells_are_split_by_split_and_only_what_a_method_can() -> None:
    cells = list(Plan(splits=2).cells())
    assert [cell[0] for cell in cells] == sorted(cell[0] for cell in cells)
    assert all(cell[3] in cell[4].kinds for cell in cells)
    assert "dp" not in METHODS["fairgbm"].kinds
    assert KEY == ("data", "attribute", "kind", "method", "split", "level")


def test_what_is_achieved_is_what_the_constraint_bounds() -> None:
    from equirate_lab.trees.data import Halves

    rng = np.random.default_rng(0)
    y, group, decided = rng.integers(0, 2, 300), rng.integers(0, 3, 300), rng.random(300)
    parts = Halves(*[np.zeros(0)] * 3, np.zeros((300, 1)), y, group)
    for kind in ("dp", "tpr", "odds", "f1", "precision", "kl"):
        error, gap = achieved(kind, parts, decided)
        assert error == pytest.approx(np.where(y == 1, 1 - decided, decided).mean())
        wanted = []
        for part in constraint(kind, 0.0, [0, 1, 2]):
            import equirate as eq

            problem = eq.Problem(eq.minimize(eq.error_rate()), [part]).expanded(
                eq.data.examples.Examples.of(y, {"group": group})
            )
            wanted += [c.evaluate(y, decided, attributes={"group": group}) for c in problem.constraints]
        assert gap == pytest.approx(max(wanted))
