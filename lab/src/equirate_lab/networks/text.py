"""Wiki Toxicity from raw text: an embedding bag over the 10,000 most frequent words of the training part.

The paper's two problems: the KL divergence of predicted proportions with the error at most 1.1 times that of the same
network trained for the error alone, and the F-measure with the protected group's at most 0.01 below the others'. The
network is trained on the training part. The multipliers see the validation part, because the network soon has no
violation left on its own, and the mixture is chosen there, as for the linear model.
"""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import equirate as eq
from equirate.torch import TorchModel

from ..experiments import paper
from ..experiments.problems import FMEASURE, KLD, fmeasure, kld
from ..experiments.splits import PROTECTED, Part, rows_of
from ..experiments.tables import Table
from .lines import Lines, Result
from .plan import Plan

WORDS, LENGTH, DIMENSIONS = 10_000, 80, 16
RECORDED = 3
"""Rounds from one recorded network to the next: where parity is bought with the others' F-measure, it falls steeply."""
_WORD = re.compile(r"[a-z']+")
LINEAR = {"kl": (0.087, 1.10), "f1": (0.853, 0.05)}
"""The linear model's means over five splits, on an embedding of the same text (lab/results/reproduction.md)."""


class Bag(torch.nn.Module):
    """The mean of the words' vectors, and a score of it; word 0 is no word."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.EmbeddingBag(WORDS + 1, DIMENSIONS, mode="mean", padding_idx=0)
        self.score = torch.nn.Linear(DIMENSIONS, 1)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """One score per comment."""
        found: torch.Tensor = self.score(self.words(words))
        return found


@cache
def comments(rows: int | None) -> tuple[list[list[str]], NDArray[np.int64], NDArray[np.int64], tuple[int, int]]:
    """Words of every comment, whether it is acceptable, whether it has the protected term, and the parts' sizes."""
    import pandas as pd

    folder = Path(os.environ.get("EQUIRATE_DATA", "../shared/data"))
    table = pd.read_csv(folder / "wiki_toxicity.csv.xz", keep_default_na=False)[:rows]
    texts = [str(comment).lower() for comment in table["comment"]]
    protected = np.array(["gay" in text for text in texts], dtype=np.int64)
    sizes = tuple(int((table["split"] == part).sum()) for part in ("train", "dev"))
    words = [_WORD.findall(text)[:LENGTH] for text in texts]
    return words, 1 - table["is_toxic"].to_numpy(dtype=np.int64), protected, (sizes[0], sizes[1])


def split(seed: int, rows: int | None) -> dict[str, Part]:
    """Three parts; the vocabulary is that of the training part."""
    words, y, protected, sizes = comments(rows)
    parts = rows_of(len(y), seed, sizes)
    counts = Counter(word for row in parts[0] for word in words[row])
    number = {word: k + 1 for k, (word, _) in enumerate(counts.most_common(WORDS))}
    X: NDArray[Any] = np.zeros((len(y), LENGTH), dtype=np.int32)
    for row, found in enumerate(words):
        known = [number[word] for word in found if word in number]
        X[row, : len(known)] = known
    made = (Part(X[part], y[part], {PROTECTED: protected[part]}) for part in parts)
    return dict(zip(("train", "validation", "test"), made, strict=True))


def measure(plan: Plan, lines: Lines, folder: Path) -> None:
    """Both problems, several splits."""
    for seed in plan.seeds:
        what = {"part": "text", "seed": seed, "epochs": plan.text_epochs, "rows": plan.text_rows}
        lines.once(what, partial(_trained, seed, plan.text_epochs, plan.text_rows))


def _trained(seed: int, epochs: int, rows: int | None) -> Result:
    parts = split(seed, rows)
    test = parts["test"]
    model = TorchModel(Bag, learning_rate=5e-3, batch_size=512, epochs=epochs)

    def mixture(problem: eq.Problem) -> Any:
        train, validation = parts["train"], parts["validation"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eq.EquirateWarning)
            others = (validation.X, validation.y, validation.attributes)
            solution = eq.solve(
                problem,
                train.X,
                train.y,
                attributes=train.attributes,
                model=model,
                seeds=[seed],
                referee=others,
                record_every=RECORDED,
            )
            return solution.polish()

    free = mixture(eq.Problem(eq.minimize(eq.error_rate())))
    errors = {name: free.evaluate(eq.error_rate(), part.X, part.y) for name, part in parts.items()}
    found: Result = {"error": errors["test"]}
    for name, problem, measures in (
        ("kl", kld(1.1 * errors["validation"]), KLD),
        ("f1", fmeasure(), FMEASURE),
    ):
        predicted = mixture(problem).positive_probability(test.X)
        found[name] = list(measures.value(predicted, test, errors["test"]))
    predicted = free.positive_probability(test.X)
    found["free"] = [list(measures.value(predicted, test, errors["test"])) for measures in (KLD, FMEASURE)]
    return found


def make_tables(lines: Lines) -> list[Table]:
    """Means over the splits beside the linear model's and the printed ones."""
    results = [result for what, result in lines.of("text")]
    rows = []
    for k, (name, title, printed) in enumerate(
        (
            ("kl", "KL divergence (error over the unconstrained)", paper.KLD["wiki_toxicity"]["alg2_stochastic"]),
            ("f1", "F-measure (violation)", paper.FMEASURE["wiki_toxicity"]["alg3_stochastic"]),
        )
    ):
        if not results:
            continue
        values = np.array([result[name] for result in results])
        free = np.mean([result["free"][k] for result in results], axis=0)
        mean, spread = values.mean(axis=0), values.std(axis=0)
        ours = f"{mean[0]:.3f} ± {spread[0]:.3f} ({mean[1]:.2f} ± {spread[1]:.2f})"
        others = (f"{a:.3f} ({b:.2f})" for a, b in (LINEAR[name], printed))
        rows.append((title, str(len(results)), f"{free[0]:.3f} ({free[1]:.2f})", ours, *others))
    error = np.mean([result["error"] for result in results]) if results else np.nan
    note = (
        f"An embedding bag on the words of the comments, trained for the error alone (test error {error:.4f}) and for "
        "each problem; means and deviations over random splits, test rows."
    )
    header = ("problem", "splits", "for the error alone", "network", "linear model", "as printed")
    return [Table("Wiki Toxicity from raw text", note, header, tuple(rows))]
