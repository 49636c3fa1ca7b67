"""equirate: classifiers for the metric you are judged by, under the constraints you are held to.

The metric and the constraints are any function of classification rates, on any slices of the data. Under it is a
game of three players (model, slack, multipliers) whose equilibrium is the classifier: Narasimhan, Cotter and Gupta,
"Optimizing Generalized Rate Metrics through Game Equilibrium" (2019).
"""

# The surface shadows the built-in abs, max and min on purpose: eq.max(a, b) reads as written.
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
from .expressions import Constraint, Expression
from .parity import (
    churn_difference,
    demographic_parity,
    equal_opportunity,
    equalized_odds,
    f1_parity,
    predictive_parity,
)
from .problem import Objective, Problem, maximize, minimize
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
from .solve import solve

__version__ = "0.1.0"
