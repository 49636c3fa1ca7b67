"""Imports point one way, the surface is complete, and the core needs none of the extras."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import equirate as eq

SOURCE = Path(eq.__file__).parent
ORDER = [
    "errors",
    "seeds",
    "kernels",
    "threads",
    "hashing",
    "discipline",
    "slices",
    "kinds",
    "atoms",
    "indexes",
    "data",
    "measuring",
    "expressions",
    "arithmetic",
    "nodes",
    "rates",
    "parity",
    "clearing",
    "refusals",
    "problem",
    "canonical",
    "table",
    "surrogates",
    "scorelosses",
    "mixtures",
    "players",
    "models",
    "game",
    "algorithms",
    "classifiers",
    "solution",
    "theory",
    "solving",
    "baselines",
    "language",
    "files",
    "certify",
    "report",
    "splits",
    "scope",
    "choosing",
    "fitting",
    "frontier",
    "saving",
    "validating",
    "judging",
    "estimator",
    "postprocess",
    "loading",
]
"""A module imports only from those before it. Parts of a package may import each other."""
FREE = {"benchmarks", "datasets", "experiments"}
"""Stand beside the rest: anything may be imported there."""


def part_of(module: str) -> str:
    return module.split(".")[0]


def names_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imports(path: Path) -> set[str]:
    """Parts of the package that a file imports when it is loaded or when a function runs."""
    package = path.relative_to(SOURCE).parent.parts
    found = set()
    tree = ast.parse(path.read_text("utf-8"))
    for_types = {part for node in ast.walk(tree) if names_types_only(node) for part in ast.walk(node)}
    for node in set(ast.walk(tree)) - for_types:
        if isinstance(node, ast.ImportFrom) and node.level:
            above = package[: len(package) - node.level + 1]
            module = [*above, *(node.module.split(".") if node.module else [])]
            found |= {module[0]} if module else {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "equirate":
            rest = node.module.split(".")[1:]
            found |= {rest[0]} if rest else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("equirate.")}
    return found


FILES = sorted(p for p in SOURCE.rglob("*.py") if p != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(SOURCE)) for p in FILES])
def test_imports_point_one_way(path: Path) -> None:
    relative = path.relative_to(SOURCE)
    here = relative.parts[0].removesuffix(".py")
    if here not in ORDER:
        return
    allowed = {*ORDER[: ORDER.index(here)], here}
    assert imports(path) <= allowed, f"{relative} may import only what comes before it"


def test_modules_are_known() -> None:
    """The language of rates is complete in ORDER; what stands above the solver is not bound by it."""
    above = {part_of(m.name) for m in pkgutil.iter_modules([str(SOURCE)])} - set(ORDER) - FREE
    for name in ORDER[: ORDER.index("problem") + 1]:
        path = SOURCE / f"{name}.py"
        for file in [path] if path.exists() else (SOURCE / name).glob("*.py"):
            assert not imports(file) & above


def test_no_module_hides_a_public_function() -> None:
    """A submodule that is imported late would take the place of a function of the same name."""
    for module in pkgutil.iter_modules([str(SOURCE)]):
        if module.name in eq.__all__ and not isinstance(getattr(eq, module.name), type(eq)):
            function = getattr(eq, module.name)
            importlib.import_module(f"equirate.{module.name}")
            assert getattr(eq, module.name) is function


EXTRAS = ("torch", "matplotlib", "pandas", "polars", "typer", "rich", "numba", "lightgbm", "rapidfuzz")


def test_the_core_needs_no_extra() -> None:
    """scikit-learn imports some of them by itself where they are installed, so they are hidden from everybody."""
    code = f"""
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {EXTRAS}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden())
import equirate
print(equirate.f1())
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (out.stdout.strip(), out.returncode) == ("f1()", 0), out.stderr


OPTIONAL = {"torch.py", "lanes.py", "passes.py"}
"""Modules of an extra, which the core imports only where the extra is installed."""


@pytest.mark.parametrize("name", ORDER)
def test_the_core_imports_no_extra_when_loaded(name: str) -> None:
    paths = [SOURCE / f"{name}.py"] if (SOURCE / f"{name}.py").exists() else (SOURCE / name).glob("*.py")
    for path in paths:
        for node in ast.parse(path.read_text("utf-8")).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert not {n.split(".")[0] for n in names} & set(EXTRAS) or path.name in OPTIONAL, path


PUBLIC = [
    "attr",
    "Slice",
    "positive_rate",
    "negative_rate",
    "accuracy",
    "error_rate",
    "tpr",
    "recall",
    "fnr",
    "fpr",
    "tnr",
    "tp",
    "fp",
    "tn",
    "fn",
    "wins",
    "losses",
    "churn",
    "precision",
    "npv",
    "f1",
    "f_score",
    "jaccard",
    "win_loss_ratio",
    "g_mean",
    "h_mean",
    "q_mean",
    "kl_divergence",
    "log",
    "sqrt",
    "square",
    "inv",
    "abs",
    "max",
    "min",
    "norm",
    "geo_mean",
    "harmonic_mean",
    "kl",
    "black_box",
    "demographic_parity",
    "equal_opportunity",
    "equalized_odds",
    "predictive_parity",
    "f1_parity",
    "churn_difference",
    "log_loss",
    "hinge_loss",
    "Constraint",
    "minimize",
    "maximize",
    "Problem",
    "algorithms",
    "solve",
    "Solution",
    "RateClassifier",
    "load",
]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names(name: str) -> None:
    assert name in eq.__all__
    assert hasattr(eq, name)


def test_all_is_complete_and_without_repetition() -> None:
    assert len(set(eq.__all__)) == len(eq.__all__)
    for name in eq.__all__:
        assert hasattr(eq, name)


@pytest.mark.parametrize(
    "name",
    [
        "frank_wolfe",
        "spade",
        "nemsis",
        "oracle",
        "surrogate",
        "spade_plus",
        "coco",
        "slack_ratios",
        "biconvex",
        "proxy_lagrangian",
        "corrective",
    ],
)
def test_algorithms(name: str) -> None:
    assert hasattr(eq.algorithms, name)


@pytest.mark.parametrize("name", ["uniform", "shrink", "best", "average", "polish"])
def test_solution(name: str) -> None:
    assert callable(getattr(eq.Solution, name))
