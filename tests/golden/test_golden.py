"""Fits give what they gave when they were recorded: the same decisions and statuses, floats within 1e-9.

A change that is meant to alter some of them records these again (see `golden_fits`) and names them.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from golden_fits import FILE, NEEDS, fits, machine, run

RECORDED = json.loads(FILE.read_text("utf-8"))


def differences(recorded: Any, now: Any, where: str = "") -> list[str]:
    """Places where two results differ, with both values."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        names = sorted(recorded.keys() | now.keys())
        pairs = [(f"{where}.{name}", recorded.get(name), now.get(name)) for name in names]
    elif isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        pairs = [(f"{where}[{k}]", *pair) for k, pair in enumerate(zip(recorded, now, strict=True))]
    elif isinstance(recorded, float) and isinstance(now, float):
        return [] if np.isclose(recorded, now, rtol=1e-9, atol=1e-9) else [f"{where}: {recorded!r} became {now!r}"]
    else:
        return [] if recorded == now else [f"{where}: {recorded!r} became {now!r}"]
    return [line for name, before, after in pairs for line in differences(before, after, name)]


def test_differences_are_found() -> None:
    before = {"a": [1.0, "x"], "b": True}
    assert differences(before, {"a": [1.0 + 1e-12, "x"], "b": True}) == []
    assert differences(before, {"a": [1.0 + 1e-6, "x"], "b": True}) == [".a[0]: 1.0 became 1.000001"]
    assert len(differences(before, {"a": [1.0], "b": False})) == 2


def test_every_fit_is_recorded() -> None:
    assert sorted(fits()) == sorted(RECORDED["fits"])


@pytest.mark.parametrize("name", sorted(RECORDED["fits"]))
def test_golden_fit(name: str) -> None:
    if needed := NEEDS.get(name, "lightgbm" if name.startswith("trees") else ""):
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    try:
        here = machine()
    except PackageNotFoundError as missing:
        pytest.skip(f"recorded with {missing.name}, which is not installed")
    if here != RECORDED["machine"]:
        pytest.skip(f"recorded with {RECORDED['machine']}: other versions and processors give other last digits")
    assert differences(RECORDED["fits"][name], json.loads(json.dumps(run(name)))) == []
