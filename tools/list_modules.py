"""List every module of the library with the first line of its docstring: ``python tools/list_modules.py``.

It writes ``docs/modules.md``; `tests/docs/test_pages.py` holds the page to the modules.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE, PAGE = ROOT / "src" / "equirate", ROOT / "docs" / "modules.md"
HEAD = """# Every module in one line

Where to look for a behaviour that the [architecture](architecture.md) does not name. `python tools/list_modules.py`
writes this page from the first lines of the docstrings.
"""


def first_line(path: Path) -> str:
    """The first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return docstring.partition("\n")[0].strip().replace("``", "`").replace("|", "\\|")


def page() -> str:
    """The page, with a table for each package."""
    parts = [HEAD]
    for package in sorted(path for path in SOURCE.iterdir() if (path / "__init__.py").is_file()):
        parts.append(f"\n## {package.name}\n\n| module | |\n|---|---|\n")
        for path in sorted(package.rglob("*.py")):
            if path.name != "__init__.py":
                parts.append(f"| `{path.relative_to(SOURCE).as_posix()}` | {first_line(path)} |\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
