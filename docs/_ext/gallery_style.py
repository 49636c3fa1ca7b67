"""How figures of the gallery look: set before every example."""

from typing import Any


def reset(gallery_conf: Any, name: Any) -> None:
    """Set matplotlib's defaults for the next example."""
    from matplotlib import pyplot as plt

    plt.rcParams.update(
        {
            "figure.figsize": (7, 4),
            "figure.constrained_layout.use": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 11,
            "legend.framealpha": 0.9,
        }
    )
