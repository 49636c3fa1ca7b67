"""Sphinx extension: numbers of the site, read from the laboratory's result files.

In: ``lab/benchmarks/results.json`` and the tables of ``lab/results``. Out: tables for the pages that name them, and
the full tables as pages of the site. The tests read `figures` to compare the README with it.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "lab" / "results"
BENCHMARKS = ROOT / "lab" / "benchmarks" / "results.json"
RIVALS = ROOT / "lab" / "benchmarks" / "rivals.json"


@dataclass(frozen=True)
class Figure:
    """One measured number beside a rival's; for all of them, less is better."""

    what: str
    rival: str
    ours: float
    theirs: float
    form: str
    source: str

    @property
    def lost(self) -> bool:
        """Whether the rival is better."""
        return self.ours > self.theirs

    @property
    def shown(self) -> tuple[str, str]:
        """Both numbers as text."""
        return self.form.format(self.ours), self.form.format(self.theirs)


def rows(file: str, heading: str) -> list[dict[str, str]]:
    """The first table below a heading of a result file, as one dict for each row."""
    text = (RESULTS / f"{file}.md").read_text("utf-8")
    section = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", text, re.DOTALL | re.MULTILINE)
    if section is None:
        raise LookupError(f"{file}.md has no heading {heading!r}")
    lines = [line for line in section[1].splitlines() if line.startswith("|")]
    names, _, *body = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(names, cells, strict=True)) for cells in body]


def cell(file: str, heading: str, column: str, **where: str) -> float:
    """The first number of one cell of a table."""
    for row in rows(file, heading):
        if all(row[name.replace("_", " ")] == value for name, value in where.items()):
            number = re.search(r"-?[\d,]*\.?\d+", row[column])
            if number is not None:
                return float(number[0].replace(",", ""))
    raise LookupError(f"{file}.md, {heading!r}: no number in {column!r} where {where}")


def benchmark(part: str, name: str, what: str) -> tuple[float, float]:
    """Median times of equirate and of the other side."""
    for case in (case for path in (BENCHMARKS, RIVALS) for case in json.loads(path.read_text("utf-8"))):
        if (case["part"], case["name"]) == (part, name):
            for comparison in case["comparisons"]:
                if comparison["what"] == what:
                    ours, theirs = comparison["samples"].values()
                    return median(ours), median(theirs)
    raise LookupError(f"neither results.json nor rivals.json has {part}, {name}, {what}")


def figures() -> dict[str, Figure]:
    """The figures that matter, by name."""
    by_race = ("trees", "ACSIncome: demographic parity, four race groups, all pairs", "error at gap ≤ 0.1")
    by_sex = ("trees", "Adult: equal opportunity, women and men", "error at gap ≤ 0.1")
    crime = {"data_set": "Communities & Crime"}
    printed = rows("reproduction", "Table 5")
    place = next(k for k, row in enumerate(printed) if row["data set"] == crime["data_set"])
    as_printed = float(printed[place + 2]["Alg. 2 stoch."].split()[0])
    return {
        "predicting": Figure(
            "probabilities of a mixture for a million rows",
            "one matrix product",
            *benchmark("growth", "predicting", "probabilities"),
            "{:.3f} s",
            "performance",
        ),
        "products": Figure(
            "a round of the paper's F-measure grid, COMPAS",
            "its two matrix products alone",
            *benchmark("products", "fmeasure-compas", "a round"),
            "{:.2f} ms",
            "performance",
        ),
        "fairgbm": Figure(
            "error at a gap of at most 0.1 in true positive rates, Adult by sex, blind trees",
            "FairGBM",
            cell(*by_sex, method='equirate, model="trees"'),
            cell(*by_sex, method="FairGBM"),
            "{:.4f}",
            "trees",
        ),
        "crime": Figure(
            "KL divergence, Algorithm 2, Communities & Crime",
            "the number printed in the paper",
            cell("reproduction", "Table 5", "Alg. 2 stoch.", **crime),
            as_printed,
            "{:.3f}",
            "reproduction",
        ),
        "fairlearn": Figure(
            "processor time of a fit under equalized odds, Adult",
            "fairlearn, ExponentiatedGradient",
            *benchmark("fits", "adult-odds", "whole fit"),
            "{:.2f} s",
            "rivals",
        ),
        "tfco": Figure(
            "the paper's KL grid on Adult, 16 configurations",
            "TensorFlow Constrained Optimization",
            *benchmark("grid", "kld-adult-rates", "the whole grid"),
            "{:.1f} s",
            "performance",
        ),
        "cooper": Figure(
            "fit to the same quality under equal opportunity, Adult",
            "cooper",
            *benchmark("cooper", "adult", "fit to cooper's quality"),
            "{:.2f} s",
            "performance",
        ),
        "networks": Figure(
            "training a network in batches of 512, times plain training",
            "cooper",
            cell("torch", "Overhead", "over plain", batch="512", side="equirate"),
            cell("torch", "Overhead", "over plain", batch="512", side="cooper"),
            "{:.2f}",
            "torch",
        ),
        "trees": Figure(
            "error at a gap of at most 0.1 in positive rates, ACSIncome by race, blind trees",
            "fairlearn on LightGBM",
            cell(*by_race, method='equirate, model="trees"'),
            cell(*by_race, method="fairlearn, ExponentiatedGradient on LightGBM"),
            "{:.4f}",
            "trees",
        ),
        "confidence": Figure(
            "promises broken on new rows, `confidence=0.95`",
            "the same without a margin",
            cell("confidence", "All problems together", "share", method="cross"),
            cell("confidence", "All problems together", "share", method="plain"),
            "{:.1f} %",
            "confidence",
        ),
    }


def figure_table() -> str:
    """The figures as a table, with what was lost first."""
    ordered = sorted(figures().values(), key=lambda figure: not figure.lost)
    lines = ["| | less is better | equirate | the other | |", "|---|---|---|---|---|"]
    for figure in ordered:
        ours, theirs = figure.shown
        verdict = "lost" if figure.lost else "won"
        link = f"[table](../lab/results/{figure.source}.md)"
        lines.append(f"| {verdict} | {figure.what}; beside {figure.rival} | {ours} | {theirs} | {link} |")
    return "\n".join(lines)


def fairlearn_sentence() -> str:
    """Whether it is faster than fairlearn."""
    figure = figures()["fairlearn"]
    ours, theirs = figure.shown
    word = "slower" if figure.lost else "faster"
    race = ("trees", "ACSIncome: demographic parity, four race groups, all pairs", "CPU s")
    times = [
        cell(*race, method=name) for name in ('equirate, model="trees"', "fairlearn, ExponentiatedGradient on LightGBM")
    ]
    return (
        f"A fit of a linear model under equalized odds on Adult took {ours} of processor time, and fairlearn's "
        f"`ExponentiatedGradient` {theirs}: {max(figure.ours, figure.theirs) / min(figure.ours, figure.theirs):.1f} "
        f"times {word}. With boosted trees on ACSIncome it was {times[0]:g} s beside {times[1]:g} s."
    )


def lost_sentence() -> str:
    """Where it is not better than others."""
    fits = next(row for row in rows("rivals", "All comparisons in short") if row["rival"].startswith("fairlearn, Exp"))
    return (
        f"Over {fits['comparisons']} comparisons of linear models the factor was {fits['times']} in the median "
        f"({fits['range']}). In {fits['more errors']} of them fairlearn made fewer errors on new rows at its own gap, "
        f"by {fits['worst difference'].lstrip('+')} at most."
    )


def optimum_sentence() -> str:
    """How close to known optima."""
    row = next(row for row in rows("optimum", "Gaps to the optimum") if row["problems"] == "all")
    middle, most, worst = (part.strip() for part in row["`RateClassifier()`: gap"].split("/"))
    return (
        f"On {row['n']} problems whose optimum is known, the gap of `RateClassifier()` is {middle} in the median, "
        f"{most} at 90 % and {worst} at worst, in units of the objective."
    )


def confidence_table() -> str:
    """What promises come to, by method."""
    named = {"plain": "(default)", "cross": "`confidence=0.95`", "holdout": '`confidence_method="holdout"`'}
    lines = ["| | says that it holds | of those, broken on new data |", "|---|---|---|"]
    for row in rows("confidence", "All problems together"):
        lines.append(f"| {named[row['method']]} | {row['claims']} samples | {row['broken']} ({row['share']}) |")
    return "\n".join(lines)


TABLES = {
    "confidence_table": confidence_table,
    "figure_table": figure_table,
    "fairlearn_sentence": fairlearn_sentence,
    "lost_sentence": lost_sentence,
    "optimum_sentence": optimum_sentence,
}


def copy_results(app: Any) -> None:
    """Put the full tables of the laboratory beside the pages, as pages of the site."""
    target = Path(app.srcdir) / "results"
    target.mkdir(exist_ok=True)
    for path in sorted(RESULTS.glob("*.md")):
        text = path.read_text("utf-8").replace("](../../docs/", "](../")
        text = text.replace("](../benchmarks/", "](../../lab/benchmarks/")
        text = re.sub(r"\]\((\w+\.svg)\)", r"](../../lab/results/\1)", text)
        text = re.sub(r"<!--.*?-->\n", "", text)
        copy = target / ("index.md" if path.name == "README.md" else path.name)
        if not copy.exists() or copy.read_text("utf-8") != text:
            copy.write_text(text, "utf-8")


def edit(app: Any, docname: str, source: list[str]) -> None:
    """Put tables where a page names them; links to files of the repository lead to pages of the site."""
    for name, made in TABLES.items():
        if "{{ " + name + " }}" in source[0]:
            source[0] = source[0].replace("{{ " + name + " }}", made())
    up = "../" * docname.count("/")
    gallery, results = rf"{re.escape(up)}\.\./examples/gallery", rf"{re.escape(up)}\.\./lab/results"
    source[0] = re.sub(rf"\]\({gallery}/(\w+)\.py\)", rf"]({up}gallery/\1.rst)", source[0])
    source[0] = re.sub(rf"\]\({results}/README\.md", rf"]({up}results/index.md", source[0])
    source[0] = re.sub(rf"\]\({results}/(\w+)\.md", rf"]({up}results/\1.md", source[0])


def setup(app: Any) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", copy_results)
    app.connect("source-read", edit)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
