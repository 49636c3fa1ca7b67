"""Faults caused on purpose, a few of each; the laboratory causes hundreds."""

import os

import pytest
from equirate_lab import faults

pytest.importorskip("pyarrow")
pytest.importorskip("typer")


def test_what_is_wrong_is_counted() -> None:
    count = faults.Count("kills")
    count.add("the old run", True)
    count.add("neither", False, "at 3: -9")
    assert str(count) == "kills: 2; wrong 1 (neither 1, the old run 1)"
    assert count.wrong == ["neither at 3: -9"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals as shells send them")
def test_a_folder_is_whole_after_every_fault() -> None:
    found = faults.measure(pairs=3, kills_=6, seed=1)
    assert [count.wrong for count in found] == [[], [], [], []]
    assert [count.tried for count in (found[0], *found[2:])] == [3, 6, 3]
    assert found[1].tried > 0
