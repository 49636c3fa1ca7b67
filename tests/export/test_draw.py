"""The hashed draw is what the documents specify: test vectors, and the same in JavaScript."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import equirate as eq
from equirate.game.classifiers import Classifier, hashed_uniform
from equirate.models.linear_members import LinearMembers

DOCS = Path(__file__).resolve().parents[2] / "docs"
VECTORS = json.loads((DOCS / "hashed-draw.json").read_text("utf-8"))
SCRIPT = """
import { readFileSync } from "node:fs";
const draw = await import(process.argv[2]);
const asked = JSON.parse(readFileSync(0));
const row = (values) => values.map((x) => (x === null ? NaN : x));
console.log(JSON.stringify({
  rows: asked.rows.map((each) => draw.drawByRow(row(each.row), each.salt)),
  keys: asked.keys.map((each) => draw.drawByKey(each.key, each.salt)),
  members: asked.members.map((each) => draw.member(each.weights, each.u)),
}));
"""


def numbers(row: list[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in row]


def by_key(key: str, salt: int) -> float:
    return float(hashed_uniform(np.zeros((1, 1)), salt, np.array([key], dtype=object))[0])


def drawn_member(weights: list[float], u: float) -> int:
    mixture = Classifier(LinearMembers(np.zeros((2, len(weights)))), np.array(weights))
    return int(mixture.drawn(np.array([u]))[0])


def test_vectors_are_pythons() -> None:
    clf = eq.RateClassifier(eq.maximize(eq.f1()))
    for each in VECTORS["rows"]:
        clf.salt_ = int(each["salt"])
        assert clf._uniform(np.array([numbers(each["row"])])).tolist() == [each["u"]]
    for each in VECTORS["keys"]:
        assert by_key(each["key"], int(each["salt"])) == each["u"]
    for each in VECTORS["members"]:
        assert drawn_member(each["weights"], each["u"]) == each["member"]


def test_javascript_draws_the_same(tmp_path: Path) -> None:
    """The vectors, and random rows and keys with salts and weights of any size."""
    if shutil.which("node") is None:
        pytest.skip("no node: JavaScript cannot be run")
    rng = np.random.default_rng(0)
    salts = [int(salt) for salt in rng.integers(2**63, size=200)]
    rows = rng.normal(size=(200, 5)) * 10.0 ** rng.integers(-50, 50, size=(200, 5))
    rows[rng.random(rows.shape) < 0.1] = 0.0
    keys = ["".join(map(chr, rng.integers(32, 900, size=length))) for length in rng.integers(0, 300, size=200)]
    weights = [rng.dirichlet(np.ones(count)).tolist() for count in rng.integers(1, 9, size=200)]
    draws = rng.random(200).tolist()
    asked = {
        "rows": VECTORS["rows"] + [{"row": r, "salt": str(s)} for r, s in zip(rows.tolist(), salts, strict=True)],
        "keys": VECTORS["keys"] + [{"key": k, "salt": str(s)} for k, s in zip(keys, salts, strict=True)],
        "members": VECTORS["members"] + [{"weights": w, "u": u} for w, u in zip(weights, draws, strict=True)],
    }
    script = tmp_path / "run.mjs"
    script.write_text(SCRIPT, "utf-8")
    command = ["node", str(script), (DOCS / "hashed-draw.mjs").as_uri()]
    out = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    found = json.loads(out.stdout)
    assert found["rows"] == [
        *(each["u"] for each in VECTORS["rows"]),
        *(hashed_uniform(row[None], salt)[0] for row, salt in zip(rows, salts, strict=True)),
    ]
    assert found["keys"] == [
        *(each["u"] for each in VECTORS["keys"]),
        *(
            hashed_uniform(np.zeros((1, 1)), s, np.array([k], dtype=object))[0]
            for k, s in zip(keys, salts, strict=True)
        ),
    ]
    expected = [
        np.minimum(np.searchsorted(np.cumsum(w), u, side="right"), len(w) - 1)
        for w, u in zip(weights, draws, strict=True)
    ]
    assert found["members"] == [*(each["member"] for each in VECTORS["members"]), *map(int, expected)]


def test_the_javascript_is_short() -> None:
    assert len((DOCS / "hashed-draw.mjs").read_text("utf-8").splitlines()) < 40
