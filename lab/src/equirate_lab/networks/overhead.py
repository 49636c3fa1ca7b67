"""To come."""
from pathlib import Path

from ..experiments.tables import Table
from .lines import Lines
from .plan import Plan


def measure(plan: Plan, lines: Lines, folder: Path) -> None:
    """Nothing."""
def make_tables(lines: Lines) -> list[Table]:
    """None."""
    return []
