"""The command line: arguments only. What the commands do is in `runs`.

Only the standard library is imported here, so that the command can say in one line what is not installed, and starts
quickly where it only explains or prints help.
"""

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from .refusals import interrupted
from .streams import end_process, prepare

NEEDED = ("typer", "rich", "pyarrow")
SETTINGS = {"OMP_WAIT_POLICY": "passive", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Read by libraries when they are loaded: threads that wait leave the cores to others, and tables give memory back."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; by default that of the process, which may end here."""
    prepare()
    if arguments is not None:
        return _run(list(arguments))
    code = _run(sys.argv[1:])
    if "pyarrow" in sys.modules:
        # Threads of Arrow may still hold Python objects, and abort the process if they free one while Python exits.
        end_process(code)
    return code


def _run(given: list[str]) -> int:
    try:
        return _started(given)
    except KeyboardInterrupt:  # while libraries are loaded: commands themselves see to it later
        return interrupted()


def _started(given: list[str]) -> int:
    if given[:1] == ["explain"]:
        from .explaining import plain

        if "numpy" not in sys.modules:
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # nothing is computed: threads would only be started
        code = plain(given)
        if code is not None:
            return code
    absent = [name for name in NEEDED if find_spec(name) is None]
    if absent:
        print(f"equirate: the command line needs {', '.join(absent)}: pip install 'equirate[cli]'", file=sys.stderr)
        return 2
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    from .app import run

    return run(given)
