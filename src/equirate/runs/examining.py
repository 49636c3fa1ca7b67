"""``equirate check``: what a table needs before it can be trained on, for a person and for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import equirate as eq

from ..tables.findings import TableFinding
from ..tables.reading import open_source
from .checking import Checked, check, command, table_of, written_options
from .fitting import Exit, RunOutcome
from .names import check_names
from .preparing import Teller, features_of
from .settings import RunSettings


def check_table(settings: RunSettings, tell: Teller) -> RunOutcome:
    """Look at a table; the code is 2 where something must be decided before it can be trained on."""
    if settings.maximize or settings.minimize:
        settings.problem()
    source = open_source(Path(settings.data), settings.reading())
    features = features_of(settings, source)
    check_names([text for text in settings.texts if text], settings.attributes, source.names)
    tell.stage(f"Reading {settings.data}")
    found = check(settings, source, features)
    summary = {
        "equirate": eq.__version__,
        "data": settings.data,
        "rows": found.table.num_rows,
        "columns": list(source.names),
        "findings": [_plain(each) for each in found.findings],
        "options": written_options(found.proposed),
        "command": command(settings, found),
    }
    return RunOutcome(_text(settings, found), summary, Exit.BAD_INPUT if found.stops else Exit.DONE)


def _plain(finding: TableFinding) -> dict[str, Any]:
    return {
        "column": finding.column or None,
        "what": finding.what,
        "options": written_options(finding.options),
        "stops": finding.stops,
    }


def _text(settings: RunSettings, found: Checked) -> str:
    lines = [f"{settings.data}: {found.facts}"]
    lines += [f"{rows:,} rows {why} are left out" for why, rows in found.dropped.items()]
    for title, findings in (("To decide:", found.stops), ("To know:", found.remarks)):
        if findings:
            lines += ["", title, *table_of(findings)]
    if not found.findings:
        lines += ["", "Nothing to decide."]
    return "\n".join([*lines, "", "Then:", f"  {command(settings, found)}"])
