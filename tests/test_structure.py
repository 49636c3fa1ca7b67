"""Rules of structure that anybody can count: what is positional, what is named twice, what reaches inside others."""

import ast
import builtins
import importlib
import importlib.util
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

import equirate as eq
from equirate._core import choices
from equirate.boosting.libraries import LIBRARIES
from equirate.data.kinds import KINDS
from equirate.estimators import confidence, judging, postprocessor, rate_classifier, refitting
from equirate.judge.certify import CORRECTIONS, METHODS
from equirate.language import functions, parity, rates
from equirate.language.atoms import ATOMS
from equirate.players.losses import LOSSES
from equirate.players.steps import STEPS
from equirate.players.surrogates import SURROGATES

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


# -- options and types ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "accepted"),
    [
        (choices.AlgorithmName, ("auto", *eq.algorithms.ALGORITHMS)),
        (choices.CertificateMethod, METHODS),
        (choices.Comparison, parity._COMPARE),
        (choices.ConfidenceMethod, confidence.METHODS),
        (choices.Correction, [name for name in CORRECTIONS if name is not None]),
        (choices.Library, LIBRARIES),
        (choices.LossName, LOSSES),
        (choices.Missing, judging.MISSING),
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

NAMED_TUPLES = {"_replace", "_asdict", "_fields", "_make"}
FOREIGN = {
    "cli/streams.py": {"_run_exitfuncs", "_exit"},  # ends a process as Python has it
    "_core/kernels/passes.py": {"_cache"},  # numba's cache of compiled code has no public name
    "estimators/predictions.py": {"_pmf_predict"},  # fairlearn's expected decisions have no public name
    "models/forests.py": {"_predictors", "_baseline_prediction"},  # scikit-learn's trees have no public name
    "torch/network.py": {"_foreach_lerp_"},  # PyTorch's multi-tensor operations have no public name
}
"""Private attributes of other packages for which there is no public way."""


SHARED = ("estimators/", "runs/models.py", "runs/exporting.py")
"""Where modules still share private attributes of the estimators: to be declared in one value instead."""


def private_reads(path: str) -> Iterator[str]:
    """Private attributes of other objects that a module reads; a module's own classes may be read anywhere in it."""
    own = {node.name for node in ast.walk(TREES[path]) if isinstance(node, ast.ClassDef)} | {"self", "cls", "super()"}
    for node in ast.walk(TREES[path]):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
            continue
        owner = ast.unparse(node.value)
        if owner not in own and not owner.startswith("cls(") and not _known(path, node.attr):
            yield f"{path}:{node.lineno} {ast.unparse(node)}"


def _known(path: str, name: str) -> bool:
    return name in NAMED_TUPLES | FOREIGN.get(path, set())


def test_no_module_reads_private_attributes_of_others() -> None:
    assert [read for path in TREES if not path.startswith(SHARED) for read in private_reads(path)] == []


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
