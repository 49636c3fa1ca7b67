"""A new rate or atom is one declaration: tried on a copy of the package with one of each added."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import equirate as eq
from equirate.language.catalogue import CATALOGUE

SOURCE = Path(eq.__file__).parent
RATE = """        _kind("told_apart", "P[predicted 1 and label 1]", lambda y, b: _when(y == 1, _PREDICTED)),
"""
ATOM = """
FOURTH = _public(
    Atom("fourth", Shape.CONVEX, lambda x: x[0] ** 4, lambda x: 4 * x**3, _by_sign, domain=_REALS, even=True)
)
"""
USE = """
import equirate as eq
y, p = [0, 1, 1, 1], [1, 1, 1, 0]
rate, atom = eq.told_apart(eq.attr("a") == 1), eq.fourth(eq.tpr() - eq.fpr())
assert {"told_apart", "fourth"} <= set(eq.__all__) & set(dir(eq))
for made in (rate, atom):
    assert eq.parse(repr(made)).key == made.key
assert rate.evaluate(y, p, attributes={"a": [1, 1, 1, 1]}) == 0.5
assert abs(atom.evaluate(y, p) - (1 / 3) ** 4) < 1e-12
eq.Problem(eq.minimize(atom), [rate >= 0.1])
assert eq.fourth.__doc__ and eq.told_apart.__doc__
print("used")
"""


def test_one_declaration_is_enough(tmp_path: Path) -> None:
    copy = tmp_path / "equirate"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.npz", "*.gz"))
    kinds, atoms = copy / "data" / "kinds.py", copy / "language" / "atoms.py"
    before = '        _kind("fp", '
    kinds.write_text(kinds.read_text("utf-8").replace(before, RATE + before), "utf-8")
    atoms.write_text(atoms.read_text("utf-8") + ATOM, "utf-8")
    run = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{USE}"]
    out = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (out.stdout.strip(), out.returncode) == ("used", 0), out.stderr


def test_type_checkers_are_told_of_nothing_that_is_not_there() -> None:
    told = {
        alias.name
        for block in ast.parse((SOURCE / "__init__.py").read_text("utf-8")).body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(CATALOGUE) <= told <= {*eq.__all__, "abs", "max", "min"}  # builtins, which no `import *` may shadow
