"""equirate: classifiers for the metric you are judged by, under the constraints you are held to.

The metric and the constraints are any function of classification rates, on any slices of the data. Under it is a
game of three players (model, slack, multipliers) whose equilibrium is the classifier: Narasimhan, Cotter and Gupta,
"Optimizing Generalized Rate Metrics through Game Equilibrium" (2019).
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any as _Any

from ._core.errors import (
    AlgorithmError as AlgorithmError,
    DataError as DataError,
    DisciplineError as DisciplineError,
    EquirateError as EquirateError,
    EquirateWarning as EquirateWarning,
    FileError as FileError,
    InfeasibleError as InfeasibleError,
    NotSolvedWarning as NotSolvedWarning,
    ParseError as ParseError,
    ProcessError as ProcessError,
    UndefinedRateWarning as UndefinedRateWarning,
)

if TYPE_CHECKING:  # what type checkers should know of; when the package runs, `__getattr__` finds it
    from . import datasets as datasets, mixtures as mixtures, models as models
    from .data.slices import Slice as Slice, attr as attr
    from .estimators.any_report import report as report
    from .estimators.displays import FrontierDisplay as FrontierDisplay, RateDisplay as RateDisplay
    from .estimators.loading import SKOPS_TRUSTED as SKOPS_TRUSTED, load as load
    from .estimators.postprocessor import RatePostprocessor as RatePostprocessor
    from .estimators.rate_classifier import RateClassifier as RateClassifier
    from .estimators.scoring import scorer as scorer
    from .game import algorithms as algorithms, baselines as baselines
    from .game.classifiers import Classifier as Classifier
    from .game.solution import Solution as Solution, Status as Status
    from .game.solving import solve as solve
    from .judge.border import audit as audit, certify as certify, power as power

    from .language.atoms import Atom as Atom
    from .language.curvature import Curvature as Curvature
    from .language.expressions import Constraint as Constraint, Expression as Expression
    from .monitoring.monitor import Monitor as Monitor

    # abs, max and min shadow the built-in ones on purpose: eq.max(a, b) reads as written. `import *` leaves them out.
    from .language.functions import (
        abs as abs,
        black_box as black_box,
        geo_mean as geo_mean,
        harmonic_mean as harmonic_mean,
        inv as inv,
        kl as kl,
        log as log,
        max as max,
        min as min,
        norm as norm,
        ratio as ratio,
        sqrt as sqrt,
        square as square,
    )
    from .language.class_metrics import macro_f1 as macro_f1, worst as worst, worst_recall as worst_recall
    from .language.metrics import (
        balanced_accuracy as balanced_accuracy,
        cost as cost,
        f1 as f1,
        f_score as f_score,
        g_mean as g_mean,
        h_mean as h_mean,
        informedness as informedness,
        jaccard as jaccard,
        kappa as kappa,
        kl_divergence as kl_divergence,
        lift as lift,
        markedness as markedness,
        matthews as matthews,
        npv as npv,
        precision as precision,
        q_mean as q_mean,
        win_loss_ratio as win_loss_ratio,
    )
    from .language.parity import (
        churn_difference as churn_difference,
        demographic_parity as demographic_parity,
        equal_opportunity as equal_opportunity,
        equalized_odds as equalized_odds,
        f1_parity as f1_parity,
        predictive_parity as predictive_parity,
    )
    from .language.rates import (
        accuracy as accuracy,
        base_rate as base_rate,
        churn as churn,
        confusion as confusion,
        coverage as coverage,
        error_rate as error_rate,
        fn as fn,
        fnr as fnr,
        fp as fp,
        fpr as fpr,
        hinge_loss as hinge_loss,
        log_loss as log_loss,
        losses as losses,
        negative_rate as negative_rate,
        positive_rate as positive_rate,
        recall as recall,
        tn as tn,
        tnr as tnr,
        tp as tp,
        tpr as tpr,
        wins as wins,
    )
    from .problem.problem import (
        Objective as Objective,
        Problem as Problem,
        maximize as maximize,
        minimize as minimize,
    )
    from .problem.text import parse as parse

__version__ = "0.2.0"

_MODULES = {
    "algorithms": "game.algorithms",
    "models": "models",
    "baselines": "game.baselines",
    "mixtures": "mixtures",
    "datasets": "datasets",
}
_NAMES = {
    "attr": "data.slices",
    "Slice": "data.slices",
    "Atom": "language.atoms",
    "Curvature": "language.curvature",
    "Constraint": "language.expressions",
    "Expression": "language.expressions",
    "churn_difference": "language.parity",
    "demographic_parity": "language.parity",
    "equal_opportunity": "language.parity",
    "equalized_odds": "language.parity",
    "f1_parity": "language.parity",
    "predictive_parity": "language.parity",
    "Objective": "problem.problem",
    "Problem": "problem.problem",
    "maximize": "problem.problem",
    "minimize": "problem.problem",
    "parse": "problem.text",
    "solve": "game.solving",
    "Solution": "game.solution",
    "Status": "game.solution",
    "Classifier": "game.classifiers",
    "RateClassifier": "estimators.rate_classifier",
    "RatePostprocessor": "estimators.postprocessor",
    "scorer": "estimators.scoring",
    "load": "estimators.loading",
    "SKOPS_TRUSTED": "estimators.loading",
    "RateDisplay": "estimators.displays",
    "FrontierDisplay": "estimators.displays",
    "report": "estimators.any_report",
    "audit": "judge.border",
    "certify": "judge.border",
    "power": "judge.border",
    "Monitor": "monitoring.monitor",
}
"""What is imported when first used, and from where: the command line starts without numpy and scikit-learn."""

_LIKE_BUILTINS = ("abs", "max", "min")
"""Public names that ``from equirate import *`` leaves out: they would take the place of Python's own."""
_PUBLIC = [
    # slices
    "attr",
    "Slice",
    # rates, ratios, scores, functions of them, losses
    "*",
    "Atom",
    # ready-made constraints
    "demographic_parity",
    "equal_opportunity",
    "equalized_odds",
    "predictive_parity",
    "f1_parity",
    "churn_difference",
    # expressions and problems
    "Expression",
    "Curvature",
    "Constraint",
    "Objective",
    "minimize",
    "maximize",
    "Problem",
    "parse",
    # solving
    "algorithms",
    "models",
    "baselines",
    "mixtures",
    "datasets",
    "solve",
    "Solution",
    "Status",
    "Classifier",
    # the estimator
    "RateClassifier",
    "RatePostprocessor",
    "scorer",
    "load",
    "SKOPS_TRUSTED",
    # judging any classifier
    "report",
    "audit",
    "certify",
    "RateDisplay",
    "FrontierDisplay",
    "power",
    "Monitor",
    # errors and warnings
    "EquirateError",
    "DisciplineError",
    "InfeasibleError",
    "DataError",
    "AlgorithmError",
    "ParseError",
    "FileError",
    "ProcessError",
    "EquirateWarning",
    "NotSolvedWarning",
    "UndefinedRateWarning",
    "__version__",
]


def _catalogue() -> dict[str, _Any]:
    """Every rate, ratio, score, loss and function of the language by name."""
    catalogue: dict[str, _Any] = _import_module(f"{__name__}.language.catalogue").CATALOGUE
    return catalogue


if not TYPE_CHECKING:  # for which any name would be there

    def __getattr__(name: str) -> _Any:
        """Import a public name when it is first used."""
        if name == "__all__":
            names = [each for public in _PUBLIC for each in (_catalogue() if public == "*" else [public])]
            value: _Any = [name for name in names if name not in _LIKE_BUILTINS]
        elif name in _MODULES:
            value = _import_module(f"{__name__}.{_MODULES[name]}")
        elif name in _NAMES:
            value = getattr(_import_module(f"{__name__}.{_NAMES[name]}"), name)
        elif not name.startswith("_") and name in _catalogue():
            value = _catalogue()[name]
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        """The public surface."""
        return [*__getattr__("__all__"), *_LIKE_BUILTINS, "__doc__", "__file__", "__name__", "__path__"]
