"""What is shown while a command runs, on standard error: stages, the columns of a table, rounds with the time left.

In: messages of `runs`. Out: lines and bars by rich. Names and values from files are shown as they are, never as markup.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.status import Status
from rich.table import Table
from rich.text import Text

from ..game.column_generation import Generation
from ..game.loop import Moment
from ..game.progress import ProgressLine, standing
from ..runs.preparing import ColumnRole

_PAUSE = 5.0  # seconds between lines where there is no terminal


class Shown:
    """Shows the progress of a run, unless ``quiet``."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False)
        self._status: Status | None = None
        self._last = ""

    def stage(self, what: str) -> None:
        """Show a stage that begins: a line that changes on a terminal, a line for each stage elsewhere."""
        if self.quiet:
            return
        if self.console.is_terminal:
            if self._status is None:
                self._status = self.console.status("")
                self._status.start()
            self._status.update(_one_line(what, self.console))
        elif what.partition(":")[0] != self._last:
            self._last = what.partition(":")[0]
            self.console.print(Text(what), soft_wrap=True)

    def roles(self, roles: Sequence[ColumnRole], rows: int) -> None:
        """Show what the columns are used for."""
        if self.quiet:
            return
        table = Table(title=Text(f"{rows:,} rows"), title_justify="left", box=None, pad_edge=False)
        for name in ("column", "used as", "holds", "becomes"):
            table.add_column(name, overflow="fold")
        for role in roles:
            table.add_row(*map(Text, (role.column, role.role, role.kind, role.becomes)))
        self.console.print(table)

    def note(self, text: str) -> None:
        """Show a remark for the user."""
        if not self.quiet:
            self.console.print(Text(f"! {text}"), soft_wrap=True)

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Show warnings as remarks, without the line of code that they come from."""

        def show(message: Warning | str, *where: Any, **more: Any) -> None:
            self.note(str(message))

        with warnings.catch_warnings():
            warnings.showwarning = show
            yield

    def line(self, sense: str) -> ProgressLine | None:
        """A progress callback for passes over the data, or for the rounds of a game."""
        if self.quiet:
            return None
        self.done()
        return Rounds(sense, self.console)

    def done(self) -> None:
        """Leave the terminal as it was."""
        if self._status is not None:
            self._status.stop()
            self._status = None


class Rounds(ProgressLine):
    """Passes as a line, and the rounds of a game as a bar, with the best mixture so far and the most time left."""

    def __init__(self, sense: str, console: Console) -> None:
        super().__init__(sense)
        self.console = console
        self._status: Status | None = None
        self._bar: Progress | None = None
        self._task: Any = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Rounds:
        """There is one terminal: scikit-learn copies parameters when it clones."""
        return self

    def __call__(self, moment: Moment) -> None:
        """Show the progress of the game, a few times a second."""
        now = time.monotonic()
        seconds = self.seconds_left(moment, now)
        if now - self.last < 0.2 and moment.round < moment.n_rounds:
            return
        if not self.console.is_terminal:
            self._written(moment, now, seconds)
            return
        self.last = now
        if self._bar is None:
            self._bar = Progress(*self._parts(), console=self.console, transient=True)
            self._task = self._bar.add_task("", total=moment.n_rounds, best="")
            self._bar.start()
        self._bar.update(self._task, completed=moment.round, best=self._best)

    def watch(self, generations: Sequence[Generation]) -> None:
        """Show the progress of column generation: a line that changes on a terminal, a line now and then elsewhere."""
        now = time.monotonic()
        if self.console.is_terminal:
            if self._status is None:
                self._status = self.console.status("")
                self._status.start()
            self._status.update(_one_line(standing(generations[0]), self.console))
        elif now - max(self.last, self.start) >= _PAUSE:
            self.last = now
            self.console.print(Text(standing(generations[0])), soft_wrap=True)

    def _parts(self) -> list[ProgressColumn]:
        """The columns that fit one line of the terminal: a line that wraps cannot be erased."""
        parts: list[ProgressColumn] = [TextColumn("round"), MofNCompleteColumn()]
        if self.console.width >= 80:
            parts.append(BarColumn(10))
        if self.console.width >= 48:
            parts.append(TextColumn("{task.fields[best]}", markup=False))
        if self.console.width >= 72:
            parts += [TextColumn("at most"), TimeRemainingColumn(), TextColumn("left")]
        return parts

    @property
    def _best(self) -> str:
        return "" if self.mixture is None else "{:.4f}, violation {:.4f}".format(*self.mixture)

    def _written(self, moment: Moment, now: float, left: float | None) -> None:
        """Where there is no terminal: a line now and then."""
        if now - max(self.last, self.start) < _PAUSE:
            return
        self.last = now
        to_go = "" if left is None else f"  at most {left:.0f} s left"
        line = f"round {moment.round}/{moment.n_rounds}  {self._best}{to_go}"
        self.console.print(Text(line), soft_wrap=True)

    def end(self) -> None:
        """Take the bar or the line away, once."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if self._status is not None:
            self._status.stop()
            self._status = None


def _one_line(what: str, console: Console) -> Text:
    """A text cut to fit beside the spinner of a status: a line that wraps cannot be erased."""
    text = Text(what)
    text.truncate(console.width - 3, overflow="ellipsis")
    return text
