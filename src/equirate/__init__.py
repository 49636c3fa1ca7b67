"""equirate: classifiers for the metric you are judged by, under the constraints you are held to.

The metric and the constraints are any function of classification rates, on any slices of the data. Under it is a
game of three players (model, slack, multipliers) whose equilibrium is the classifier: Narasimhan, Cotter and Gupta,
"Optimizing Generalized Rate Metrics through Game Equilibrium" (2019).
"""

from . import algorithms, baselines, models
from .atoms import Atom
from .classifiers import Classifier
from .discipline import Curvature
from .errors import (
    AlgorithmError,
    DataError,
    DisciplineError,
    EquirateError,
    EquirateWarning,
    NotSolvedWarning,
    UndefinedRateWarning,
)
from .estimator import RateClassifier
from .expressions import Constraint, Expression
from .loading import load
from .parity import (
    churn_difference,
    demographic_parity,
    equal_opportunity,
    equalized_odds,
    f1_parity,
    predictive_parity,
)
from .postprocess import RatePostprocessor
from .problem import Objective, Problem, maximize, minimize

# abs, max and min shadow the built-in ones on purpose: eq.max(a, b) reads as written.
from .rates import (
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
from .slices import Slice, attr
from .solution import Solution, Status
from .solving import solve

__version__ = "0.1.0"

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
    "DataError",
    "AlgorithmError",
    "EquirateWarning",
    "NotSolvedWarning",
    "UndefinedRateWarning",
    "__version__",
]
