"""The values of options that are given as text, as types: editors list them, and type checkers refuse others.

What is given at run time is checked where it is used. A test compares these types with the values accepted there.
"""

from __future__ import annotations

from typing import Literal

AlgorithmName = Literal[
    "auto",
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
]
Average = Literal["macro", "micro", "weighted"]
Bounds = Literal["net", "row"]
CertificateMethod = Literal["approximate", "exact"]
Comparison = Literal["rest", "pairs", "overall"]
ConfidenceMethod = Literal["cross", "holdout"]
Correction = Literal["holm", "bonferroni"]
Library = Literal["lightgbm", "xgboost"]
LossName = Literal["log_loss", "hinge_loss"]
Missing = Literal["refuse", "group"]
OnInterrupt = Literal["raise", "keep"]
Output = Literal["hashed", "deterministic", "stochastic"]
StepRuleName = Literal["plain", "sqrt", "adam"]
SurrogateName = Literal["hinge", "logistic", "sigmoid"]
ThresholdOutput = Literal["hashed", "stochastic"]
