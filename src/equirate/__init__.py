"""equirate: classifiers for the metric you are judged by, under the constraints you are held to.

The metric and the constraints are any function of classification rates, on any slices of the data. Under it is a
game of three players (model, slack, multipliers) whose equilibrium is the classifier: Narasimhan, Cotter and Gupta,
"Optimizing Generalized Rate Metrics through Game Equilibrium" (2019).
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from ._core.errors import (
    AlgorithmError,
    DataError,
    DisciplineError,
    EquirateError,
    EquirateWarning,
    FileError,
    InfeasibleError,
    NotSolvedWarning,
    ParseError,
    ProcessError,
    UndefinedRateWarning,
)
from .data.slices import Slice, attr
from .language.atoms import Atom
from .language.catalogue import CATALOGUE as _CATALOGUE
from .language.curvature import Curvature
from .language.expressions import Constraint, Expression
from .language.parity import (
    churn_difference,
    demographic_parity,
    equal_opportunity,
    equalized_odds,
    f1_parity,
    predictive_parity,
)
from .problem.problem import Objective, Problem, maximize, minimize
from .problem.text import parse

if _TYPE_CHECKING:  # what type checkers should know of; when the package runs, `_CATALOGUE` says what there is
    from . import mixtures, models
    from .estimators.any_report import report
    from .estimators.displays import FrontierDisplay, RateDisplay
    from .estimators.loading import load
    from .estimators.postprocessor import RatePostprocessor
    from .estimators.rate_classifier import RateClassifier
    from .estimators.scoring import scorer
    from .estimators.state import SKOPS_TRUSTED
    from .game import algorithms, baselines
    from .game.classifiers import Classifier
    from .game.solution import Solution, Status
    from .game.solving import solve
    from .judge.border import audit, certify, power
    from .monitoring.monitor import Monitor

    # abs, max and min shadow the built-in ones on purpose: eq.max(a, b) reads as written.
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
    from .language.rates import (
        accuracy as accuracy,
        base_rate as base_rate,
        churn as churn,
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

__version__ = "0.1.0"

_MODULES = {
    "algorithms": "game.algorithms",
    "models": "models",
    "baselines": "game.baselines",
    "mixtures": "mixtures",
}
_NAMES = {
    "solve": "game.solving",
    "Solution": "game.solution",
    "Status": "game.solution",
    "Classifier": "game.classifiers",
    "RateClassifier": "estimators.rate_classifier",
    "RatePostprocessor": "estimators.postprocessor",
    "scorer": "estimators.scoring",
    "load": "estimators.loading",
    "SKOPS_TRUSTED": "estimators.state",
    "RateDisplay": "estimators.displays",
    "FrontierDisplay": "estimators.displays",
    "report": "estimators.any_report",
    "audit": "judge.border",
    "certify": "judge.border",
    "power": "judge.border",
    "Monitor": "monitoring.monitor",
}
"""What is imported when first asked for, and from where: scipy and scikit-learn take a second to import."""

__all__ = [
    # slices
    "attr",
    "Slice",
    # rates, ratios, scores, functions of them, losses
    *_CATALOGUE,
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


def __getattr__(name: str) -> _Any:
    """Find what the catalogue has, and import what is imported late."""
    if name in _CATALOGUE:
        return _CATALOGUE[name]
    if name in _MODULES:
        found: _Any = _import_module(f"{__name__}.{_MODULES[name]}")
    elif name in _NAMES:
        found = getattr(_import_module(f"{__name__}.{_NAMES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The public surface."""
    return [*__all__, "__doc__", "__file__", "__name__", "__path__"]
