"""Sphinx extension: numbers of the site, read from the laboratory's result files.

In: ``lab/benchmarks/results.json`` and the tables of ``lab/results``. Out: tables for the pages that ask for them.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "lab" / "results"


def rows(file: str, heading: str) -> list[dict[str, str]]:
    """The first table below a heading of a result file, as one dict for each row."""
    text = (RESULTS / f"{file}.md").read_text("utf-8")
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", text, re.DOTALL | re.MULTILINE)
    if found is None:
        raise LookupError(f"{file}.md has no heading {heading!r}")
    lines = [line for line in found[1].splitlines() if line.startswith("|")]
    names, _, *body = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(names, cells, strict=True)) for cells in body]


def confidence_table() -> str:
    """What promises come to, by method."""
    named = {"plain": "(default)", "cross": "`confidence=0.95`", "holdout": '`confidence_method="holdout"`'}
    lines = ["| | says that it holds | of those, broken on new data |", "|---|---|---|"]
    for row in rows("confidence", "All problems together"):
        lines.append(f"| {named[row['method']]} | {row['claims']} samples | {row['broken']} ({row['share']}) |")
    return "\n".join(lines)


def copy_results(app: Any) -> None:
    """Put the full tables of the laboratory beside the pages, as pages of the site."""
    target = Path(app.srcdir) / "results"
    target.mkdir(exist_ok=True)
    for path in sorted(RESULTS.glob("*.md")):
        text = (
            path.read_text("utf-8")
            .replace("](../../docs/", "](../")
            .replace("](../benchmarks/", "](../../lab/benchmarks/")
        )
        text = re.sub(r"\]\((\w+\.svg)\)", r"](../../lab/results/\1)", text)
        text = re.sub(r"<!--.*?-->\n", "", text)
        if path.name == "README.md":
            path = path.with_name("index.md")
        if not (target / path.name).exists() or (target / path.name).read_text("utf-8") != text:
            (target / path.name).write_text(text, "utf-8")


def edit(app: Any, docname: str, source: list[str]) -> None:
    """Put tables where a page names them; links to files of the repository lead to pages of the site."""
    up = "../" * docname.count("/")
    source[0] = re.sub(rf"\]\({re.escape(up)}\.\./examples/gallery/(\w+)\.py\)", rf"]({up}gallery/\1.rst)", source[0])
    source[0] = re.sub(rf"\]\({re.escape(up)}\.\./lab/results/(\w+)\.md", rf"]({up}results/\1.md", source[0])
    source[0] = source[0].replace("results/README.md", "results/index.md")
    for name, made in TABLES.items():
        mark = "{{ " + name + " }}"
        if mark in source[0]:
            source[0] = source[0].replace(mark, made())


TABLES = {"confidence_table": confidence_table}


def setup(app: Any) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", copy_results)
    app.connect("source-read", edit)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
