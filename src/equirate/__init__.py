"""equirate: classifiers for the metric you are judged by, under the constraints you are held to.

The metric and the constraints are any function of classification rates, on any slices of the data. Under it is a
game of three players (model, slack, multipliers) whose equilibrium is the classifier: Narasimhan, Cotter and Gupta,
"Optimizing Generalized Rate Metrics through Game Equilibrium" (2019).
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ._core.errors import (
    AlgorithmError,
    DataError,
    DisciplineError,
    EquirateError,
    EquirateWarning,
    FileError,
    NotSolvedWarning,
    ParseError,
    UndefinedRateWarning,
)
from .data.slices import Slice, attr
from .language.atoms import Atom
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

# abs, max and min shadow the built-in ones on purpose: eq.max(a, b) reads as written.
from .language.rates import (
    abs,
    accuracy,
    base_rate,
    black_box,
    churn,
    error_rate,
    f1,
    f_score,
    fn,
    fnr,
    fp,
    fpr,
    g_mean,
    geo_mean,
    h_mean,
    harmonic_mean,
    hinge_loss,
    inv,
    jaccard,
    kl,
    kl_divergence,
    log,
    log_loss,
    losses,
    max,
    min,
    negative_rate,
    norm,
    npv,
    positive_rate,
    precision,
    q_mean,
    ratio,
    recall,
    sqrt,
    square,
    tn,
    tnr,
    tp,
    tpr,
    win_loss_ratio,
    wins,
)
from .problem.problem import Objective, Problem, maximize, minimize
from .problem.text import parse

if _TYPE_CHECKING:
    from . import models
    from .estimators.loading import load
    from .estimators.postprocessor import RatePostprocessor
    from .estimators.rate_classifier import RateClassifier
    from .game import algorithms, baselines
    from .game.classifiers import Classifier
    from .game.solution import Solution, Status
    from .game.solving import solve
    from .judge.border import certify, power

__version__ = "0.1.0"

_MODULES = {"algorithms": "game.algorithms", "models": "models", "baselines": "game.baselines"}
_NAMES = {
    "solve": "game.solving",
    "Solution": "game.solution",
    "Status": "game.solution",
    "Classifier": "game.classifiers",
    "RateClassifier": "estimators.rate_classifier",
    "RatePostprocessor": "estimators.postprocessor",
    "load": "estimators.loading",
    "certify": "judge.border",
    "power": "judge.border",
}
"""What is imported when first asked for, and from where: scipy and scikit-learn take a second to import."""

__all__ = [  # noqa: RUF022  (in reading order, not in that of the alphabet)
    # slices
    "attr",
    "Slice",
    # linear rates
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
    "base_rate",
    "wins",
    "losses",
    "churn",
    # ratios
    "precision",
    "npv",
    "f1",
    "f_score",
    "jaccard",
    "win_loss_ratio",
    "ratio",
    # scores and divergences
    "g_mean",
    "h_mean",
    "q_mean",
    "kl_divergence",
    # atoms
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
    "Atom",
    # ready-made constraints
    "demographic_parity",
    "equal_opportunity",
    "equalized_odds",
    "predictive_parity",
    "f1_parity",
    "churn_difference",
    # ordinary losses
    "log_loss",
    "hinge_loss",
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
    "solve",
    "Solution",
    "Status",
    "Classifier",
    # the estimator
    "RateClassifier",
    "RatePostprocessor",
    "load",
    # judging any classifier
    "certify",
    "power",
    # errors and warnings
    "EquirateError",
    "DisciplineError",
    "DataError",
    "AlgorithmError",
    "ParseError",
    "FileError",
    "EquirateWarning",
    "NotSolvedWarning",
    "UndefinedRateWarning",
    "__version__",
]


def __getattr__(name: str) -> _Any:
    """Import what is imported late."""
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
