"""``equirate check``: what a table needs before it can be trained on, for a person and for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import equirate as eq

from ..problem.text import parse_constraints
from ..tables.findings import TableFinding
from ..tables.reading import open_source
from .checking import Checked, check, command, table_of, written_options
from .fitting import Exit, RunOutcome
from .names import check_names
from .preparing import RunLog, features_of
from .settings import RunSettings


def check_table(settings: RunSettings, log: RunLog) -> RunOutcome:
    """Check a table; the exit code is 2 if the user must decide something before training."""
    if settings.maximize or settings.minimize:
        settings.problem()
    for text in settings.subject_to:
        parse_constraints(text)
    source = open_source(Path(settings.data), settings.reading())
    features = features_of(settings, source)
    check_names([text for text in settings.texts if text], settings.attributes, source.names)
    log.stage(f"Reading {settings.data}")
    checked = check(settings, source, features)
    summary = {
        "equirate": eq.__version__,
        "data": settings.data,
        "rows": checked.table.num_rows,
        "columns": list(source.names),
        "findings": [_plain(each) for each in checked.findings],
        "options": written_options(checked.proposed),
        "command": command(settings, checked),
    }
    return RunOutcome(_text(settings, checked), summary, Exit.BAD_INPUT if checked.stops else Exit.DONE)


def _plain(finding: TableFinding) -> dict[str, Any]:
    return {
        "column": finding.column or None,
        "what": finding.what,
        "options": written_options(finding.options),
        "stops": finding.stops,
    }


def _text(settings: RunSettings, checked: Checked) -> str:
    lines = [f"{settings.data}: {checked.facts}"]
    lines += [f"{rows:,} rows {why} are left out" for why, rows in checked.dropped.items()]
    for title, findings in (("To decide:", checked.stops), ("To know:", checked.remarks)):
        if findings:
            lines += ["", title, *table_of(findings)]
    if not checked.findings:
        lines += ["", "Nothing to decide."]
    return "\n".join([*lines, "", "Then:", f"  {command(settings, checked)}"])
