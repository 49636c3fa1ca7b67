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
    InfeasibleError,
    NotSolvedWarning,
    ParseError,
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
    from . import models
    from .estimators.loading import load
    from .estimators.postprocessor import RatePostprocessor
    from .estimators.rate_classifier import RateClassifier
    from .game import algorithms, baselines
    from .game.classifiers import Classifier
    from .game.solution import Solution, Status
    from .game.solving import solve

    # abs, max and min shadow the built-in ones on purpose: eq.max(a, b) reads as written.
    from .language.functions import (
        abs as abs,
    )
    from .language.functions import (
        black_box as black_box,
    )
    from .language.functions import (
        geo_mean as geo_mean,
    )
    from .language.functions import (
        harmonic_mean as harmonic_mean,
    )
    from .language.functions import (
        inv as inv,
    )
    from .language.functions import (
        kl as kl,
    )
    from .language.functions import (
        log as log,
    )
    from .language.functions import (
        max as max,
    )
    from .language.functions import (
        min as min,
    )
    from .language.functions import (
        norm as norm,
    )
    from .language.functions import (
        ratio as ratio,
    )
    from .language.functions import (
        sqrt as sqrt,
    )
    from .language.functions import (
        square as square,
    )
    from .language.metrics import (
        balanced_accuracy as balanced_accuracy,
    )
    from .language.metrics import (
        cost as cost,
    )
    from .language.metrics import (
        f1 as f1,
    )
    from .language.metrics import (
        f_score as f_score,
    )
    from .language.metrics import (
        g_mean as g_mean,
    )
    from .language.metrics import (
        h_mean as h_mean,
    )
    from .language.metrics import (
        informedness as informedness,
    )
    from .language.metrics import (
        jaccard as jaccard,
    )
    from .language.metrics import (
        kappa as kappa,
    )
    from .language.metrics import (
        kl_divergence as kl_divergence,
    )
    from .language.metrics import (
        lift as lift,
    )
    from .language.metrics import (
        markedness as markedness,
    )
    from .language.metrics import (
        matthews as matthews,
    )
    from .language.metrics import (
        npv as npv,
    )
    from .language.metrics import (
        precision as precision,
    )
    from .language.metrics import (
        q_mean as q_mean,
    )
    from .language.metrics import (
        win_loss_ratio as win_loss_ratio,
    )
    from .language.rates import (
        accuracy as accuracy,
    )
    from .language.rates import (
        base_rate as base_rate,
    )
    from .language.rates import (
        churn as churn,
    )
    from .language.rates import (
        error_rate as error_rate,
    )
    from .language.rates import (
        fn as fn,
    )
    from .language.rates import (
        fnr as fnr,
    )
    from .language.rates import (
        fp as fp,
    )
    from .language.rates import (
        fpr as fpr,
    )
    from .language.rates import (
        hinge_loss as hinge_loss,
    )
    from .language.rates import (
        log_loss as log_loss,
    )
    from .language.rates import (
        losses as losses,
    )
    from .language.rates import (
        negative_rate as negative_rate,
    )
    from .language.rates import (
        positive_rate as positive_rate,
    )
    from .language.rates import (
        recall as recall,
    )
    from .language.rates import (
        tn as tn,
    )
    from .language.rates import (
        tnr as tnr,
    )
    from .language.rates import (
        tp as tp,
    )
    from .language.rates import (
        tpr as tpr,
    )
    from .language.rates import (
        wins as wins,
    )

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
    "solve",
    "Solution",
    "Status",
    "Classifier",
    # the estimator
    "RateClassifier",
    "RatePostprocessor",
    "load",
    # errors and warnings
    "EquirateError",
    "DisciplineError",
    "InfeasibleError",
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
