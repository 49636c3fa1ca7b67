"""Names in the texts of a problem: every column that a slice mentions must be an attribute.

In: the texts as the user wrote them, the attributes, and the columns of the table. Out: nothing, or a `ParseError` that
points at the name and proposes the nearest one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from .._core.errors import ParseError
from ..problem.problem import Problem
from ..problem.text import place_of
from ..tables.reading import nearest


def check_names(texts: Iterable[str], attributes: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse a text that names something else than an attribute."""
    for text in texts:
        source = text.strip()
        for name, node in mentioned(source):
            if name in attributes:
                continue
            if name in columns:
                reason = f"{name!r} is a column but no attribute: add it to --attributes"
            else:
                known = ", ".join(map(repr, attributes)) or "none (name them with --attributes)"
                reason = f"there is no attribute {name!r}{nearest(name, attributes)}; the attributes are {known}"
            raise ParseError(f"cannot read {source!r}: {reason}", reason, source, place_of(source, node))


def mentioned(source: str) -> Iterator[tuple[str, ast.expr]]:
    """The columns that a text of the language names, and where."""
    tree = ast.parse(source, mode="eval")
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in functions:
            written = None if source.isascii() else ast.get_source_segment(source, node)
            yield written or node.id, node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TAKE_NAMES:
            for part in node.args:
                for each in part.elts if isinstance(part, (ast.List, ast.Tuple)) else [part]:
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        yield each.value, each


_TAKE_NAMES = frozenset(
    {
        *("attr", "wins", "losses", "churn", "win_loss_ratio", "churn_difference"),
        *("demographic_parity", "equal_opportunity", "equalized_odds", "predictive_parity", "f1_parity"),
    }
)


def attributes_of(problem: Problem) -> set[str]:
    """Every column that an expanded problem needs: those of its slices, and its baselines."""
    return {name for rate in problem.rates() for name in rate.slice.attributes} | problem.baselines()
