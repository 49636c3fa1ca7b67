"""Count lines of code: without docstrings, comments and blank lines.

python tools/count_code.py [--beside COMMIT] [PACKAGE ...] counts packages of src/equirate (by default those whose size
is followed), and shows beside them what a commit had. Below it are the modules that hold nothing but what the library
could not do at the commit of the issue, and what is left without them.
"""

import argparse
import ast
import io
import subprocess
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "src/equirate"
FOLLOWED = ("estimators", "game", "models", "mixtures", "training", "selection", "certification", "storage")
ELSEWHERE = ("storage/checkpoints.py",)
"""Modules that came from packages whose size is not followed."""
COMMIT = "6097329"
ADDED = {
    "more than two classes": ("models/class_*.py", "models/multinomial*.py"),
    "column generation": (
        *("game/automatic.py", "game/column_generation.py", "game/engine.py", "game/linear_engine.py"),
        *("game/refining.py", "mixtures/master.py", "models/cell_rows.py", "models/independent_rows.py"),
        *("models/logistic_oracle.py", "models/row_blocks.py", "models/row_counts.py"),
    ),
    "rows that repeat": ("selection/salts.py", "training/draws.py", "training/merged_rows.py"),
    "ONNX and explanations": ("estimators/exporting.py", "models/contributions.py"),
    "reports and scores of any estimator": (
        *("estimators/any_report.py", "estimators/attributes.py", "estimators/displays.py"),
        *("estimators/predictions.py", "estimators/absent.py"),
    ),
    "interrupts, provenance, notes on groups": (
        *("estimators/refitting.py", "selection/group_notes.py", "storage/provenance.py"),
    ),
}
"""Modules that came after `COMMIT` with something that the library could not do before."""
LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


def code_lines(text: str) -> int:
    """How many lines of a module hold code."""
    documented = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documented |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def now(package: str) -> int:
    left_out = {ROOT / SOURCE / name for name in ELSEWHERE}
    paths = set((ROOT / SOURCE / package).rglob("*.py")) - left_out
    return sum(code_lines(path.read_text("utf-8")) for path in paths)


def before(package: str, commit: str) -> int:
    """The same at a commit; 0 where it had no such package."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    names = git("ls-tree", "-r", "--name-only", commit, f"{SOURCE}/{package}/").splitlines()
    return sum(code_lines(git("show", f"{commit}:{name}")) for name in names if name.endswith(".py"))


def table(packages: list[str], commit: str) -> str:
    rows = [(package, before(package, commit), now(package)) for package in packages]
    rows.append(("together", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    lines = [f"{'package':<14}{commit:>10}{'now':>8}{'change':>9}"]
    for name, old, new in rows:
        lines.append(f"{name:<14}{old:>10,}{new:>8,}{f'{new / old - 1:+.1%}' if old else '':>9}")
    return "\n".join(lines)


def added() -> str:
    """The lines of modules that are new with what they do, and the lines of all others."""
    counts = {
        what: sum(code_lines(path.read_text("utf-8")) for name in names for path in (ROOT / SOURCE).glob(name))
        for what, names in ADDED.items()
    }
    old, new = (sum(count(package) for package in FOLLOWED) for count in (lambda p: before(p, COMMIT), now))
    rest = new - sum(counts.values())
    lines = [f"{what:<44}{count:>8,}" for what, count in counts.items()]
    return "\n".join(
        [*lines, f"{'all others, beside ' + f'{old:,} lines at {COMMIT}':<44}{rest:>8,}{rest / old - 1:>+9.1%}"]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="*", default=list(FOLLOWED), metavar="PACKAGE")
    parser.add_argument("--beside", default=COMMIT, metavar="COMMIT")
    options = parser.parse_args()
    print(table(options.packages, options.beside))
    if options.packages == list(FOLLOWED):
        print(f"\n{added()}")
