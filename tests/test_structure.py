"""Rules of structure that anybody can count: what is positional, what is named twice, what reaches inside others."""

import ast
import builtins
import importlib
import importlib.util
import inspect
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import equirate as eq
from equirate._core import choices
from equirate.boosting.libraries import LIBRARIES
from equirate.certification import methods
from equirate.data import cells
from equirate.data.kinds import KINDS
from equirate.estimators import inputs, postprocessor, rate_classifier, refitting
from equirate.judge.certify import CORRECTIONS, METHODS
from equirate.language import functions, parity, rates
from equirate.language.atoms import ATOMS
from equirate.players.losses import LOSSES
from equirate.players.steps import STEPS
from equirate.players.surrogates import SURROGATES
from equirate.selection import choice

SOURCE = Path(eq.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
TREES = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in FILES}
PUBLIC = (
    *("equirate", "equirate.models", "equirate.game.algorithms", "equirate.game.baselines", "equirate.mixtures"),
    *("equirate.datasets", "equirate.boosting", "equirate.distributed", "equirate.torch", "equirate.mlflow"),
)

# -- positional parameters ------------------------------------------------------------------------

DATA = {"X", "y", "y_true", "y_pred"}
"""Parameters up to which a call may be positional."""


def callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function and public method of the public modules."""
    for module in map(importlib.import_module, PUBLIC):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) and issubclass(thing, BaseException):
                continue
            if inspect.isclass(thing) and thing.__module__.startswith("equirate"):
                yield f"{module.__name__}.{name}", thing
                for method, function in inspect.getmembers(thing, callable):
                    own = getattr(function, "__module__", "") or ""
                    public = not method.startswith("_") or method == "__call__"
                    if (
                        public
                        and (inspect.isfunction(function) or inspect.ismethod(function))
                        and own.startswith("equirate")
                    ):
                        yield f"{module.__name__}.{name}.{method}", function
            elif callable(thing):
                yield f"{module.__name__}.{name}", thing


def positional_after_data(function: Callable[..., Any]) -> list[str]:
    """Names of the parameters after X and y that may be given by position."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [name for name, each in inspect.signature(function).parameters.items() if each.kind in kinds]
    last = max((k for k, name in enumerate(names) if name in DATA), default=len(names))
    return names[last + 1 :]


def test_after_x_and_y_everything_is_keyword_only() -> None:
    found = dict(callables())
    assert {"equirate.RateClassifier.predict", "equirate.RateClassifier.score", "equirate.solve"} <= set(found)
    assert {name: after for name, each in found.items() if (after := positional_after_data(each))} == {}


def test_positional_parameters_are_found() -> None:
    assert positional_after_data(lambda X, y, people, *, weights=None: None) == ["people"]
    assert positional_after_data(lambda problem, X, y, *, attributes=None: None) == []
    assert positional_after_data(lambda path: None) == []


# -- names ----------------------------------------------------------------------------------------


def test_a_star_import_shadows_no_builtin() -> None:
    assert set(eq.__all__) & set(dir(builtins)) <= {"__doc__", "__name__"}
    assert str(eq.max(eq.tpr(), eq.tnr())) == "max(tpr(), tnr())"


@pytest.mark.parametrize("module", ["algorithms", "baselines", "datasets", "mixtures", "models"])
def test_public_modules_list_their_own_names_alone(module: str) -> None:
    found = getattr(eq, module)
    assert sorted(dir(found)) == sorted(found.__all__)
    assert all(hasattr(found, name) for name in dir(found))


def test_no_public_class_name_is_used_twice() -> None:
    places = defaultdict(list)
    for path, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_cached_properties_have_no_lock() -> None:
    """Those of Python 3.11 have one for all objects, and threads wait for each other for ever."""
    places = [
        path
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "functools"
        if "cached_property" in {alias.name for alias in node.names}
    ]
    assert places == ["_core/cached.py"]  # for type checkers


# -- options and types ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "accepted"),
    [
        (choices.AlgorithmName, ("auto", *eq.algorithms.ALGORITHMS)),
        (choices.CertificateMethod, METHODS),
        (choices.Comparison, parity._COMPARE),
        (choices.ConfidenceMethod, methods.METHODS),
        (choices.Correction, [name for name in CORRECTIONS if name is not None]),
        (choices.Library, LIBRARIES),
        (choices.LossName, LOSSES),
        (choices.Missing, inputs.MISSING),
        (choices.OnInterrupt, refitting.ON_INTERRUPT),
        (choices.Output, rate_classifier.OUTPUTS),
        (choices.StepRuleName, STEPS),
        (choices.SurrogateName, SURROGATES),
        (choices.ThresholdOutput, postprocessor.OUTPUTS),
    ],
)
def test_the_types_of_options_list_what_is_accepted(option: Any, accepted: Any) -> None:
    assert set(get_args(option)) == set(accepted)


def test_options_given_as_text_have_types_that_list_them() -> None:
    named = {"output", "missing", "confidence_method", "on_interrupt", "algorithm", "method", "correction", "compare"}
    for name, function in callables():
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name in named and isinstance(parameter.default, str):
                assert parameter.annotation not in ("str", "Any", str, Any), f"{name}({parameter.name})"


@pytest.mark.parametrize(("module", "made"), [(rates, KINDS), (functions, ATOMS)])
def test_type_checkers_see_every_function_that_a_table_makes(module: Any, made: Any) -> None:
    path = Path(module.__file__).relative_to(SOURCE).as_posix()
    (block,) = [node for node in TREES[path].body if isinstance(node, ast.If)]
    assert {node.target.id for node in block.body if isinstance(node, ast.AnnAssign)} == set(made)  # type: ignore[union-attr]


# -- reaching inside others -----------------------------------------------------------------------

BY_NAME = {"getattr", "setattr", "hasattr", "delattr"}
NAMED_TUPLES = {"_replace", "_asdict", "_fields", "_make"}
FOREIGN = {
    "cli/streams.py": {"_run_exitfuncs", "_exit"},  # ends a process as Python has it
    "_core/kernels/passes.py": {"_cache"},  # numba's cache of compiled code has no public name
    "estimators/predictions.py": {"_pmf_predict"},  # fairlearn's expected decisions have no public name
    "models/forests.py": {
        "_predictors",
        "_baseline_prediction",
        "_preprocessor",
    },  # scikit-learn's trees
    "torch/network.py": {"_foreach_lerp_"},  # PyTorch's multi-tensor operations have no public name
}
"""Private attributes of other packages for which there is no public way."""


def private_reads(path: str) -> Iterator[str]:
    """Private attributes of other objects that a module reads; a module's own classes may be read anywhere in it."""
    own = {node.name for node in ast.walk(TREES[path]) if isinstance(node, ast.ClassDef)} | {"self", "cls", "super()"}
    for node in ast.walk(TREES[path]):
        for owner, name in _read(node):
            private = name.startswith("_") and not name.startswith("__")
            if private and owner not in own and not owner.startswith("cls(") and not _known(path, name):
                yield f"{path}:{getattr(node, 'lineno', 0)} {ast.unparse(node)}"


def _read(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Owner and name of attributes that an expression reads, by a dot or by their name as text."""
    if isinstance(node, ast.Attribute):
        yield ast.unparse(node.value), node.attr
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in BY_NAME and len(node.args) > 1:
        name = node.args[1]
        yield ast.unparse(node.args[0]), str(name.value) if isinstance(name, ast.Constant) else ""


def _known(path: str, name: str) -> bool:
    return name in NAMED_TUPLES | FOREIGN.get(path, set())


def test_no_module_reads_private_attributes_of_others() -> None:
    assert [read for path in TREES for read in private_reads(path)] == []


def test_models_import_none_of_their_own_inside_functions() -> None:
    """scikit-learn may be imported late: `solve` starts without it, which saves a second."""
    found = [
        f"{path}:{inner.lineno} {ast.unparse(inner)}"
        for path, tree in TREES.items()
        if path.startswith("models/")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for inner in ast.walk(node)
        if isinstance(inner, ast.ImportFrom) and (inner.level or inner.module.startswith("equirate"))
    ]
    assert found == []


UNTYPED = ("game/", "training/", "selection/", "certification/", "storage/", "estimators/")
"""Packages that ask what a model or its members can do (`Capabilities`, methods of `Members`), never what they are."""


def subclasses(*names: str) -> set[str]:
    """Names of classes of the library, and of all that derive from them."""
    classes = [node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    found, before = set(names), 0
    while before < len(found):
        before = len(found)
        found |= {node.name for node in classes if {ast.unparse(base).split("[")[0] for base in node.bases} & found}
    return found


def type_checks(tree: ast.AST, kinds: set[str]) -> Iterator[str]:
    """Checks of the type of models or members, and attributes of theirs that are asked for by name."""
    for node in ast.walk(tree):
        named = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        named |= {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}
        named |= {inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)}  # names of classes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            checked = node.func.id in ("isinstance", "issubclass") and named & kinds
            last = ast.unparse(node.args[0]).split(".")[-1] if node.args else ""
            asked = node.func.id in ("hasattr", "getattr") and last in ("members", "learner", "resolved_model")
            if checked or asked:
                yield ast.unparse(node)
        elif (isinstance(node, ast.Compare) and {"type", "__name__", "__class__"} & named and named & kinds) or (
            isinstance(node, ast.MatchClass) and ast.unparse(node.cls).split(".")[-1] in kinds
        ):
            yield ast.unparse(node)


def test_nobody_asks_for_the_type_of_a_model_or_of_members() -> None:
    kinds = subclasses("Model", "Learner", "Members")
    assert {"Linear", "LinearLearner", "SideBySide", "TorchModel"} <= kinds
    trees = {path: tree for path, tree in TREES.items() if path.startswith(UNTYPED)}
    found = {path: checks for path, tree in trees.items() if (checks := [*type_checks(tree, kinds)])}
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(a, (Linear, int))",
        "isinstance(a, linear.Linear)",
        "type(a) is Linear",
        "type(a).__name__ == 'Linear'",
        "getattr(one.members, 'setting', None)",
    ],
)
def test_type_checks_are_found(text: str) -> None:
    assert [*type_checks(ast.parse(text), {"Linear"})] == [text]


# -- sums over processes --------------------------------------------------------------------------

ASKS_FOR_PROCESSES = {
    "_core/peers.py",
    "_core/interrupts.py",
    *(f"data/{name}.py" for name in ("cells", "examples", "labels", "weights")),
}
"""Modules that may ask which processes share the rows here. Others have that from examples and cells (``shared``)."""
ADDS_UP_LATER = {"data/cells.py", "models/messages.py", "models/design.py", "game/linear_engine.py", "torch/ledger.py"}
"""Modules that may take sums of one process alone: they add them up over all, together with other sums."""


def test_processes_are_asked_for_where_examples_are_made() -> None:
    named = {path for path, tree in TREES.items() for node in ast.walk(tree) if _is_named(node, "peers")}
    assert named <= ASKS_FOR_PROCESSES


def test_sums_of_one_process_are_taken_only_where_they_are_added_up() -> None:
    named = {path for path, tree in TREES.items() for node in ast.walk(tree) if _is_named(node, "partial_sums")}
    assert named == ADDS_UP_LATER


def _is_named(node: ast.AST, name: str) -> bool:
    return name in (getattr(node, "id", None), getattr(node, "attr", None))


PROGRAMMES = {
    *("polish_weights", "shrink_weights", "best_index", "MixtureProgramme"),
    *("basic_shares", "solve_over_simplex", "Programme"),
}
"""What `mixtures` composes into the best mixture, or the best single column."""


def test_only_mixtures_compose_the_programmes_over_columns() -> None:
    found = [
        f"{path}:{node.lineno} {alias.name}"
        for path, tree in TREES.items()
        if not path.startswith("mixtures/")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in PROGRAMMES
    ]
    assert found == []


def test_columns_are_the_one_store_of_candidate_classifiers() -> None:
    """A class with rates and losses of several classifiers is a `Columns`, or has one."""
    stores = [
        f"{path} {node.name}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and {"rates", "losses", "handle"} <= {f.target.id for f in node.body if isinstance(f, ast.AnnAssign)}  # type: ignore[union-attr]
    ]
    assert stores == ["mixtures/columns.py Columns"]


# -- counting -------------------------------------------------------------------------------------


def test_the_counter_of_code_leaves_out_docstrings_comments_and_blanks() -> None:
    path = SOURCE.parents[1] / "tools" / "count_code.py"
    if not path.is_file():
        pytest.skip("the tools are in a checkout alone")
    spec = importlib.util.spec_from_file_location("count_code", path)
    assert spec is not None
    assert spec.loader is not None
    count_code = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(count_code)
    head = '"""A module.\n\nIn two parts.\n"""\n\nA = 1  # one\n"""What A is."""\n# why\n\n'
    text = head + 'def f():\n    """One."""\n    return [\n        A,\n\n        2,\n    ]\n'
    assert count_code.code_lines(text) == 6


# -- one walk -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["linear", "plug-in", "classes", "thresholds"])
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_rows_are_split_into_cells_once_and_a_mixture_is_derandomised_once(
    kind: str, confidence: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            calls[name] += 1
            return function(*arguments, **options)

        return counted

    monkeypatch.setattr(cells, "_partition", counting("cells", cells._partition))
    monkeypatch.setattr(choice, "derandomised", counting("derandomised", choice.derandomised))
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 900)
    X = rng.normal(size=(900, 3)) + 0.5 * (group == "a")[:, None]
    y = np.digitize(X[:, 0] + rng.normal(size=900), [0.0, 1.0] if kind == "classes" else [0.5])
    problem: Any = eq.minimize(eq.error_rate()), eq.demographic_parity("group", tolerance=0.1)
    options: dict[str, Any] = {"confidence": confidence, "random_state": 0}
    if kind == "thresholds":
        estimator: Any = eq.RatePostprocessor(LogisticRegression(), *problem, **options)
    else:
        model = eq.models.PlugIn(LogisticRegression()) if kind == "plug-in" else "linear"
        estimator = eq.RateClassifier(*problem, model=model, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X, y, sensitive_features={"group": group})
    assert calls == ({"cells": 1} if kind == "thresholds" else {"cells": 1, "derandomised": 1})
