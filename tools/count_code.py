"""Count lines of code: without docstrings, comments and blank lines.

python tools/count_code.py [--beside COMMIT] [PACKAGE ...] counts packages of src/equirate (by default those whose size
is followed), and shows beside them what a commit had.
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="*", default=list(FOLLOWED), metavar="PACKAGE")
    parser.add_argument("--beside", default=COMMIT, metavar="COMMIT")
    options = parser.parse_args()
    print(table(options.packages, options.beside))
