"""Imports point one way, the surface is complete, and the core needs none of the extras."""

import ast
import builtins
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import equirate as eq

SOURCE = Path(eq.__file__).parent
LAB = SOURCE.parents[1] / "lab" / "src" / "equirate_lab"
PACKAGES = [
    "_core",
    "data",
    "language",
    "problem",
    "mixtures",
    "players",
    "models",
    "boosting",
    "game",
    "judge",
    "training",
    "selection",
    "certification",
    "storage",
    "reports",
    "monitoring",
    "explanations",
    "export",
    "estimators",
    "mlflow",
    "torch",
    "distributed",
    "datasets",
    "tables",
    "runs",
    "cli",
]
"""A package imports only from those above it, and from itself."""


def names_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imported(path: Path, root: Path = SOURCE, name: str = "equirate") -> set[str]:
    """Modules of the package that a file imports when it is loaded or when a function runs, as dotted names."""
    here = [name, *path.relative_to(root).parent.parts]
    found = set()
    tree = ast.parse(path.read_text("utf-8"))
    for_types = {part for node in ast.walk(tree) if names_types_only(node) for part in ast.walk(node)}
    for node in set(ast.walk(tree)) - for_types:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return {module for module in found if module.split(".")[0] == "equirate"}


ABOVE = {SOURCE / "__init__.py", SOURCE / "__main__.py"}
"""The package itself, and itself as a command."""
FILES = sorted(set(SOURCE.rglob("*.py")) - ABOVE)


def test_every_module_is_in_a_package() -> None:
    packages = {path.relative_to(SOURCE).parts[0] for path in FILES}
    assert packages == set(PACKAGES)


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(SOURCE)) for p in FILES])
def test_packages_import_only_from_those_above(path: Path) -> None:
    here = path.relative_to(SOURCE).parts[0]
    allowed = set(PACKAGES[: PACKAGES.index(here) + 1])
    packages = {module.split(".")[1] for module in imported(path) if module != "equirate"}
    assert packages <= allowed, f"{here} may import only from {', '.join(PACKAGES[: PACKAGES.index(here)])}"


REACHING = {"models/registry.py", "_core/peers.py"}
"""Modules that may name later packages in texts: the registry, and where the processes of torchrun are found."""


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(SOURCE)) for p in FILES])
def test_only_the_registry_names_later_packages_in_texts(path: Path) -> None:
    place = path.relative_to(SOURCE)
    if place.as_posix() in REACHING:
        return
    later = PACKAGES[PACKAGES.index(place.parts[0]) + 1 :]
    texts = [node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant)]
    named = [re.fullmatch(r"equirate\.(\w+)([.:]\w+)*", text) for text in texts if isinstance(text, str)]
    assert [found[0] for found in named if found and found[1] in later] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_is_in_it(package: str) -> None:
    docstring = ast.get_docstring(ast.parse((SOURCE / package / "__init__.py").read_text("utf-8")))
    assert docstring
    assert docstring.splitlines()[0].endswith((".", "?"))


def test_dir_shows_the_public_surface() -> None:
    shown = {name for name in dir(eq) if not name.startswith("_")}
    assert shown == {n for n in eq.__all__ if not n.startswith("_")} | {"abs", "max", "min"}


def test_no_module_hides_a_public_function() -> None:
    """A submodule that is imported late would take the place of a function of the same name."""
    for module in pkgutil.iter_modules([str(SOURCE)]):
        if module.name in eq.__all__ and not isinstance(getattr(eq, module.name), type(eq)):
            function = getattr(eq, module.name)
            importlib.import_module(f"equirate.{module.name}")
            assert getattr(eq, module.name) is function


EXTRAS = (
    *("torch", "matplotlib", "pandas", "polars", "typer", "rich", "pyarrow", "numba", "lightgbm", "rapidfuzz"),
    *("altair", "jinja2", "markupsafe", "vl_convert", "xgboost", "onnx", "onnxruntime", "mlflow"),
)
PACKAGES_OF_EXTRAS = {"torch", "datasets", "tables", "runs", "cli"}
"""Packages that need an extra by what they are for, and that no other package imports."""


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


OPTIONAL = {"lanes.py", "passes.py", "descents.py"}
"""Modules of an extra, which the core imports only where the extra is installed."""


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(SOURCE)) for p in FILES])
def test_the_core_imports_no_extra_when_loaded(path: Path) -> None:
    if path.name in OPTIONAL or path.relative_to(SOURCE).parts[0] in PACKAGES_OF_EXTRAS:
        return
    for node in ast.parse(path.read_text("utf-8")).body:
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        assert not {n.split(".")[0] for n in names} & set(EXTRAS)


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
    "certify",
    "power",
    "Monitor",
]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names(name: str) -> None:
    assert name in dir(eq)
    assert hasattr(eq, name)


def test_all_is_complete_and_without_repetition() -> None:
    assert len(set(eq.__all__)) == len(eq.__all__)
    for name in eq.__all__:
        assert hasattr(eq, name)


def test_names_that_are_not_there_are_attribute_errors_and_none_takes_the_place_of_a_builtin() -> None:
    for name in ("nonsense", "_nonsense", "__nonsense__"):
        with pytest.raises(AttributeError, match=f"'equirate' has no attribute '{name}'"):
            getattr(eq, name)
    assert not set(eq.__all__) & set(dir(builtins))
    assert {"abs", "max", "min"} <= set(dir(eq))


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
        "linearized",
        "column_generation",
    ],
)
def test_algorithms(name: str) -> None:
    assert hasattr(eq.algorithms, name)


@pytest.mark.parametrize("name", ["uniform", "shrink", "best", "average", "polish"])
def test_solution(name: str) -> None:
    assert callable(getattr(eq.Solution, name))
