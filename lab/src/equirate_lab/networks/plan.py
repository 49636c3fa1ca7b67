"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Plan:
    """How much is measured: seeds, rows, and epochs by batch size (0 is the full batch)."""

    quick: bool = False
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    rows: int = 16_000
    epochs: tuple[tuple[int, int], ...] = ((0, 400), (512, 30), (64, 12), (8, 6))
    shares: tuple[float, ...] = (0.008, 0.001)
    problems: tuple[str, ...] = ("error", "g_mean", "kl", "f1")
    datasets: tuple[str, ...] = ("adult", "synthetic")
    timed_epochs: tuple[tuple[int, int], ...] = ((512, 40), (64, 8))
    repetitions: int = 3
    text_epochs: int = 6
    text_rows: int | None = None


FULL = Plan()
QUICK = replace(
    FULL,
    quick=True,
    seeds=(0,),
    rows=2000,
    epochs=((0, 20), (64, 2)),
    shares=(0.008,),
    problems=("error", "f1"),
    datasets=("synthetic",),
    timed_epochs=((512, 2),),
    repetitions=1,
    text_epochs=1,
    text_rows=2000,
)
