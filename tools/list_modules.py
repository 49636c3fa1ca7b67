"""List every module of the library, and every documented number in it: ``python tools/list_modules.py``.

It writes ``docs/modules.md``; `tests/docs/test_pages.py` holds the page to the modules.
"""

import ast
import itertools
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE, PAGE = ROOT / "src" / "equirate", ROOT / "docs" / "modules.md"
HEAD = """# Every module in one line

Where to look for a behaviour that the [architecture](architecture.md) does not name, and for the numbers behind rules,
limits and defaults. `python tools/list_modules.py` writes this page from the first lines of the docstrings.
"""


def in_a_cell(docstring: str | None) -> str:
    """The first line of a docstring, as a cell of a table."""
    return (docstring or "").partition("\n")[0].strip().replace("``", "`").replace("|", "\\|")


def numbers(module: ast.Module) -> list[tuple[str, str, str]]:
    """Name, value and meaning of the constants of a module that are numbers and have a docstring."""
    result = []
    for statement, after in itertools.pairwise(module.body):
        match statement, after:
            case ast.Assign(targets=[ast.Name() | ast.Tuple() as target], value=value), ast.Expr(
                ast.Constant(str(docstring))
            ):
                name = ast.unparse(target).strip("()")
                inside = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant)]
                plain = not any(isinstance(node, ast.Name | ast.Call | ast.Dict) for node in ast.walk(value))
                if name.isupper() and plain and inside and all(type(number) in (int, float) for number in inside):
                    result.append((name, ast.unparse(value).replace("|", "\\|"), in_a_cell(docstring)))
    return result


def page() -> str:
    """The page, with a table for each package."""
    parts = [HEAD]
    for package in sorted(path for path in SOURCE.iterdir() if (path / "__init__.py").is_file()):
        parts.append(f"\n## {package.name}\n\n| module | |\n|---|---|\n")
        rows = []
        for path in sorted(package.rglob("*.py")):
            module = ast.parse(path.read_text("utf-8"))
            name = path.relative_to(SOURCE).as_posix()
            if path.name != "__init__.py":
                parts.append(f"| `{name}` | {in_a_cell(ast.get_docstring(module))} |\n")
            rows += [f"| `{constant}`, `{name}` | `{value}` | {text} |\n" for constant, value, text in numbers(module)]
        if rows:
            parts += ["\n| number | value | |\n|---|---|---|\n", *rows]
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
