"""Draw the diagrams of the documentation as SVG files: ``python tools/draw_diagrams.py docs/img``."""

import itertools
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

FILL = {"step": "#eef4fb", "question": "#fff7e6", "answer": "#e9f6ec", "plain": "#ffffff"}
LINE = {"step": "#2b6cb0", "question": "#b7791f", "answer": "#2f855a", "plain": "#4a5568"}
HEIGHT = 18


@dataclass(frozen=True)
class Box:
    """A box around lines of text; x and y are its centre."""

    x: float
    y: float
    text: str
    kind: str = "step"
    width: float = 170

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @property
    def height(self) -> float:
        return HEIGHT * len(self.lines) + 16

    def svg(self) -> str:
        left, top = self.x - self.width / 2, self.y - self.height / 2
        radius = 4 if self.kind != "question" else 16
        shape = (
            f'<rect x="{left}" y="{top}" width="{self.width}" height="{self.height}" rx="{radius}" '
            f'fill="{FILL[self.kind]}" stroke="{LINE[self.kind]}"/>'
        )
        first = self.y - HEIGHT * (len(self.lines) - 1) / 2 + 4.5
        bold = ' font-weight="600"' if self.kind != "plain" else ""
        words = "".join(
            f'<text x="{self.x}" y="{first + HEIGHT * k}"{bold if k == 0 else ""}>{escape(line)}</text>'
            for k, line in enumerate(self.lines)
        )
        return shape + words


@dataclass(frozen=True)
class Arrow:
    """An arrow from one box to another, with a few words beside it."""

    start: Box
    end: Box
    text: str = ""
    dashed: bool = False

    def svg(self) -> str:
        a, b = self.start, self.end
        dx, dy = b.x - a.x, b.y - a.y
        if abs(dy) >= (a.height + b.height) / 2:  # from bottom to top, or back
            sign = 1 if dy > 0 else -1
            x1, y1, x2, y2 = a.x, a.y + sign * a.height / 2, b.x, b.y - sign * (b.height / 2 + 2)
        else:
            sign = 1 if dx > 0 else -1
            x1, y1, x2, y2 = a.x + sign * a.width / 2, a.y, b.x - sign * (b.width / 2 + 2), b.y
        style = ' stroke-dasharray="5 4"' if self.dashed else ""
        line = f'<path d="M{x1} {y1} L{x2} {y2}" stroke="#4a5568" fill="none" marker-end="url(#tip)"{style}/>'
        if not self.text:
            return line
        x, y = (x1 + x2) / 2, (y1 + y2) / 2
        wide = 7.2 * len(self.text) + 8
        return (
            line + f'<rect x="{x - wide / 2}" y="{y - 10}" width="{wide}" height="19" fill="#ffffff"/>'
            f'<text x="{x}" y="{y + 4}" font-style="italic">{escape(self.text)}</text>'
        )


@dataclass(frozen=True)
class Bend:
    """A curved arrow between two points."""

    x1: float
    y1: float
    x2: float
    y2: float

    def svg(self) -> str:
        middle, end = (self.x1 + self.x2) / 2, self.x2 - 2
        return (
            f'<path d="M{self.x1} {self.y1} C{middle} {self.y1} {middle} {self.y2} {end} {self.y2}" '
            'stroke="#4a5568" fill="none" marker-end="url(#tip)"/>'
        )


def picture(title: str, width: int, height: int, parts: list[Box | Arrow | Bend]) -> str:
    """An SVG file."""
    shapes = [part.svg() for part in parts if not isinstance(part, Box)]
    shapes += [part.svg() for part in parts if isinstance(part, Box)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="system-ui, sans-serif" font-size="13" text-anchor="middle" fill="#1a202c">'
        f"<title>{escape(title)}</title>"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#4a5568"/></marker></defs>'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>' + "\n".join(shapes) + "</svg>\n"
    )


def tree(title: str, question: str, choices: list[tuple[str, str]]) -> str:
    """A decision picture: one question, and an answer for each case."""
    step = 64
    width, height = 720, step * len(choices) + 40
    root = Box(110, height / 2, question, "question", 190)
    parts: list[Box | Arrow | Bend] = [root]
    for k, (case, answer) in enumerate(choices):
        y = 20 + step * (k + 0.5)
        left, right = Box(365, y, case, "plain", 220), Box(605, y, answer, "answer", 200)
        bend = Bend(root.x + root.width / 2, root.y, left.x - left.width / 2, y)
        parts += [left, right, Arrow(left, right), bend]
    return picture(title, width, height, parts)


def packages() -> str:
    """The packages of the library, and which build on which."""

    def at(column: int, row: int, name: str, kind: str = "step") -> Box:
        return Box(90 + 150 * column, 30 + 58 * row, name, kind, 120)

    core, data, language, problem = (at(0, k, n) for k, n in enumerate(("_core", "data", "language", "problem")))
    left = [at(0, 4 + k, n) for k, n in enumerate(("mixtures", "players", "models", "boosting", "game"))]
    judge, reports, monitoring = at(1, 4, "judge"), at(2, 4, "reports"), at(2, 5, "monitoring")
    middle = [at(1, 8 + k, n) for k, n in enumerate(("training", "selection", "certification", "storage"))]
    estimators, torch = at(1, 12, "estimators"), at(0, 12, "torch")
    tables, runs, cli, datasets = at(3, 1, "tables"), at(2, 12, "runs"), at(3, 12, "cli"), at(3, 11, "datasets")
    lab = at(1, 13, "lab", "plain")
    chain = [core, data, language, problem, *left]
    boxes = [*chain, judge, *middle, reports, monitoring, estimators, torch, tables, runs, cli, datasets, lab]
    parts: list[Box | Arrow | Bend] = [Arrow(a, b) for a, b in itertools.pairwise(chain)]
    parts += [Arrow(a, b) for a, b in itertools.pairwise([judge, *middle, estimators])]
    parts += [Arrow(left[-1], middle[0]), Arrow(problem, judge), Arrow(judge, reports), Arrow(reports, estimators)]
    parts += [Arrow(reports, monitoring), Arrow(monitoring, runs), Arrow(core, tables), Arrow(tables, runs)]
    parts += [Arrow(estimators, runs), Arrow(runs, cli), Arrow(estimators, torch), Arrow(estimators, lab, dashed=True)]
    return picture("The packages of equirate", 640, 820, [*parts, *boxes])


def game() -> str:
    """A round of the game in four frames."""
    frames = [
        ("1. Prices", "Each constraint has a\nprice. A broken one\nbecomes more expensive."),
        ("2. Costs", "Prices turn into a cost\nfor predicting 1, by\nlabel and group."),
        ("3. Classifier", "The model answers with\na classifier that is\ncheap at these costs."),
        ("4. Rates", "Its exact rates say which\nconstraints are broken,\nand by how much."),
    ]
    boxes = [Box(105 + 200 * k, 70, f"{title}\n{text}", "step", 180) for k, (title, text) in enumerate(frames)]
    end = Box(405, 195, "Best mixture of the classifiers so far\nthe last one is the result", "answer", 300)
    parts: list[Box | Arrow | Bend] = [*boxes, end]
    parts += [Arrow(a, b) for a, b in itertools.pairwise(boxes)]
    parts += [Arrow(boxes[-1], end, "rates"), Arrow(end, boxes[0], "new prices")]
    return picture("A round of the game in four frames", 810, 235, parts)


def expression() -> str:
    """From an expression to costs."""
    texts = [
        ("Expression", "precision(women) >= 0.8"),
        ("Canonical form", "tp(women) - 0.8 x\npositive(women) >= 0"),
        ("Cells", "one for each label\nand set of groups"),
        ("Costs", "price x coefficient,\none number per cell"),
    ]
    boxes = [Box(105 + 200 * k, 50, f"{a}\n{b}", "step", 180) for k, (a, b) in enumerate(texts)]
    return picture(
        "From an expression to costs",
        810,
        100,
        [*boxes, *(Arrow(a, b) for a, b in itertools.pairwise(boxes))],
    )


def columns() -> str:
    """Column generation."""
    master = Box(140, 60, "Master problem\nbest mixture of the\ncolumns so far", "step", 190)
    prices = Box(400, 60, "Prices\nwhat a new column\nwould have to save", "plain", 190)
    model = Box(660, 60, "Model\none weighted fit, and\nall its thresholds", "step", 190)
    stop = Box(400, 170, "Stop when two answers in a row\nno longer improve the mixture", "answer", 260)
    parts: list[Box | Arrow | Bend] = [master, prices, model, stop, Arrow(master, prices), Arrow(prices, model)]
    parts += [Arrow(model, stop, "new columns"), Arrow(stop, master, "not yet")]
    return picture("Column generation", 800, 210, parts)


DIAGRAMS = {
    "packages": packages(),
    "game": game(),
    "expression": expression(),
    "columns": columns(),
    "choose-model": tree(
        "Which model",
        "Which model?\nWhat do you have?",
        [
            ("A table of numbers,\nor sparse text", 'model="linear"\nthe default'),
            ("A table with categories, missing\nvalues or interactions", 'model="trees"'),
            ("A trained classifier that\nyou want to keep", "RatePostprocessor(\nFrozenEstimator(clf))"),
            ("A PyTorch module", "model=module,\nor RateGame in your loop"),
            ("Another scikit-learn classifier\nwith sample_weight", "model=that classifier"),
            ("A list of classifiers", "model=[a, b, c]"),
        ],
    ),
    "choose-algorithm": tree(
        "Which algorithm",
        "Which algorithm?\nWhat do you want?",
        [
            ("A good classifier", 'algorithm="auto"\nthe default'),
            ("An algorithm of the paper,\nto compare with", 'algorithm="surrogate", ...\nsee the table below'),
            ("A neural network", 'algorithm="auto"\nplays surrogate or linearized'),
        ],
    ),
    "choose-output": tree(
        "Which output",
        "Which output?\nWho is decided on?",
        [
            ("The same row must always\nget the same answer", 'output="hashed"\nthe default'),
            ("The same person must, even\nif the features change", "predict(X, key=person)"),
            ("No randomness at all", 'output="deterministic"'),
            ("A new draw for\nevery batch", 'output="stochastic"'),
        ],
    ),
    "choose-promise": tree(
        "Which kind of promise",
        "Which promise?\nWhere must it hold?",
        [
            ("On the rows given to fit", "the default"),
            ("On new rows, with 95 %\nconfidence", "confidence=0.95"),
            ("On new rows, with a proof\nfor every sample size", 'confidence_method=\n"holdout"'),
            ("On every day of use", "eq.Monitor"),
        ],
    ),
}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/img")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in DIAGRAMS.items():
        (folder / f"{name}.svg").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
