"""``equirate explain``: needs neither typer nor pyarrow, so it answers at once."""

from __future__ import annotations

from collections.abc import Sequence

from .._core.errors import EquirateError
from . import streams
from .refusals import BAD_INPUT, refused, shown_error


def explain(text: str, json: bool) -> int:
    """Print what a text of the language means, and return the exit code."""
    from ..runs.explaining import explain as explained
    from ..runs.jsons import as_json

    explanation = explained(text)
    streams.write(streams.as_text(explanation.to_dict(), as_json) if json else f"{explanation}\n")
    return 0 if explanation.possible else BAD_INPUT


def plain(arguments: Sequence[str]) -> int | None:
    """Run ``explain TEXT [--json]``; None for any other command line, such as ``explain --help``."""
    if not arguments or arguments[0] != "explain":
        return None
    texts = [each for each in arguments[1:] if each != "--json"]
    if len(texts) != 1 or texts[0].startswith("-") or len(arguments) > 3:
        return None
    try:
        return explain(texts[0], "--json" in arguments)
    except EquirateError as error:
        return refused(shown_error(error))
