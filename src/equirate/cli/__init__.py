"""The command line: arguments only. What the commands do is in `runs`.

Nothing but the standard library is imported here, so that the command says in one line what is not installed.
"""

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

NEEDED = ("typer", "rich", "pyarrow")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    absent = [name for name in NEEDED if find_spec(name) is None]
    if absent:
        print(f"equirate: the command line needs {', '.join(absent)}: pip install 'equirate[cli]'", file=sys.stderr)
        return 2
    # Read when the first library with OpenMP is loaded: threads that wait for others must not keep the cores busy.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from .app import run

    return run(sys.argv[1:] if arguments is None else list(arguments))
