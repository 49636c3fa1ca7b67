"""What a monitor keeps of its word: false alarms at the boundary, rows until an alarm, speed, and kills.

`problems`
    Six constraints and a population for each, whose violation can be set.
`runner`
    Streams of rows, and how long each method takes to raise an alarm.
`running`
    A million rows, how wide the bounds are, and updates that are killed.
`tables`
    The numbers as tables.
"""

from .problems import PROBLEMS, Problem
from .runner import METHODS, Plan, run
from .running import killed, speed, widths
from .tables import make_tables

__all__ = ["METHODS", "PROBLEMS", "Plan", "Problem", "killed", "make_tables", "run", "speed", "widths"]
