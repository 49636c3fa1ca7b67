"""The printed numbers: Tables 4 to 7 of Narasimhan, Cotter and Gupta (2019), as data.

Every entry of Tables 5 to 7 is a pair (A, B) as printed. Table 5 and 6: KL divergence, and test error over
UncError's. Table 7: F-measure, and F of the others minus F of the protected minus 0.01 (the printed sign of B is
flipped). The names of the columns are those of `equirate_lab.experiments.tables`.
"""

from __future__ import annotations

from dataclasses import dataclass

Pair = tuple[float, float]


@dataclass(frozen=True)
class DatasetRow:
    """A row of Table 4: how the paper calls a data set, and its size (training part only)."""

    title: str
    instances: int
    features: int
    attribute: str


DATASETS: dict[str, DatasetRow] = {
    "compas": DatasetRow("COMPAS", 4073, 31, "Gender"),
    "crime": DatasetRow("Communities & Crime", 1495, 135, "Race Percentage"),
    "law_school": DatasetRow("Law School", 15388, 36, "Race"),
    "adult": DatasetRow("Adult", 32561, 122, "Gender"),
    "wiki_toxicity": DatasetRow("WikiToxicity", 95692, 100, "Term 'Gay'"),
    "business": DatasetRow("Business", 11560, 36, "Chain/Non-chain"),
}
"""Table 4."""


def _table(columns: str, rows: dict[str, tuple[Pair, ...]]) -> dict[str, dict[str, Pair]]:
    names = columns.split()
    return {dataset: dict(zip(names, pairs, strict=True)) for dataset, pairs in rows.items()}


KLD: dict[str, dict[str, Pair]] = _table(
    "unc_error post_shift spade_plus coco alg2_stochastic alg2_deterministic",
    {
        "compas": ((0.115, 1.00), (0.000, 1.01), (0.009, 1.03), (0.043, 1.01), (0.000, 1.03), (0.000, 1.03)),
        "crime": ((0.224, 1.00), (0.005, 1.40), (0.158, 1.11), (0.166, 0.90), (0.094, 1.11), (0.085, 1.16)),
        "law_school": ((0.199, 1.00), (0.001, 1.45), (0.040, 1.09), (0.043, 1.05), (0.054, 1.12), (0.056, 1.08)),
        "adult": ((0.114, 1.00), (0.000, 1.22), (0.071, 1.03), (0.011, 1.10), (0.014, 1.10), (0.014, 1.10)),
        "wiki_toxicity": ((0.175, 1.00), (0.001, 1.21), (0.083, 1.18), (0.134, 1.17), (0.133, 1.09), (0.127, 1.18)),
        "business": ((0.014, 1.00), (0.003, 1.05), (0.007, 1.03), (0.004, 1.04), (0.007, 1.07), (0.007, 1.07)),
    },
)
"""Table 5: KL divergence subject to an error of at most 1.1 times UncError's."""

KLD_UNSHRUNK: dict[str, dict[str, Pair]] = _table(
    "spade_plus_average coco_weights alg2_uniform",
    {
        "compas": ((0.000, 1.02), (0.000, 1.07), (0.016, 1.02)),
        "crime": ((0.157, 1.00), (0.043, 1.25), (0.116, 1.09)),
        "law_school": ((0.296, 1.01), (0.027, 1.13), (0.074, 1.11)),
        "adult": ((0.098, 1.01), (0.003, 1.31), (0.068, 1.08)),
        "wiki_toxicity": ((0.106, 1.23), (0.010, 1.39), (0.098, 1.30)),
        "business": ((0.006, 1.03), (0.001, 1.14), (0.005, 1.08)),
    },
)
"""Table 6: the same without shrinking."""

FMEASURE: dict[str, dict[str, Pair]] = _table(
    "unc_error unc_f1 alg3_stochastic alg3_deterministic alg4_stochastic alg4_deterministic",
    {
        "compas": ((0.652, 0.14), (0.671, 0.11), (0.618, 0.04), (0.615, 0.07), (0.629, 0.06), (0.622, 0.03)),
        "crime": ((0.742, 0.07), (0.761, 0.07), (0.735, 0.06), (0.720, 0.09), (0.692, 0.12), (0.671, 0.13)),
        "law_school": ((0.974, 0.08), (0.975, 0.09), (0.927, 0.04), (0.973, 0.09), (0.911, 0.01), (0.974, 0.08)),
        "adult": ((0.671, 0.05), (0.687, 0.05), (0.655, 0.04), (0.678, 0.07), (0.592, 0.02), (0.591, 0.02)),
        "wiki_toxicity": ((0.968, 0.19), (0.969, 0.17), (0.838, 0.05), (0.892, 0.10), (0.829, 0.02), (0.805, 0.04)),
        "business": ((0.778, 0.04), (0.783, 0.03), (0.764, -0.04), (0.764, -0.04), (0.762, -0.04), (0.754, -0.06)),
    },
)
"""Table 7: F-measure subject to F of the protected >= F of the others - 0.01."""
