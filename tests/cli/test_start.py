"""Commands that only help or explain import little: that is what keeps their start quick on any machine."""

import subprocess
import sys

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

import equirate as eq
from equirate.cli import main

SLOW = ("numpy", "scipy", "sklearn", "narwhals", "pandas", "pyarrow", "rich", "altair")
RUN = """
import sys
from equirate.cli import main
code = main({arguments!r})
print("imported", *sorted({{name.split(".")[0] for name in sys.modules}}))
sys.exit(code)
"""


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        ([], set()),
        (["--help"], set()),
        (["--version"], set()),
        (["fit", "--help"], set()),
        (["explain", "precision(sex == 'F') >= 0.8"], {"numpy"}),
        (["explain", "f1()", "--json"], {"numpy"}),
    ],
)
def test_little_is_imported(arguments: list[str], needed: set[str]) -> None:
    code = RUN.format(arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.splitlines()[-1].split())
    assert imported & {*SLOW, "typer"} == needed | ({"typer"} if not needed else set())


def test_without_arguments_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    helped = capsys.readouterr()
    assert main([]) == 0
    assert capsys.readouterr() == helped
    assert helped.err == ""
    assert len(helped.out.splitlines()) > 10


def test_automatic_is_what_auto_chooses() -> None:
    from equirate.game.algorithms import choose
    from equirate.game.automatic import automatic

    box = eq.black_box(lambda p: p, eq.positive_rate(), increasing=[True])
    for objective in (eq.error_rate(), -eq.f1(), -eq.g_mean(), eq.kl_divergence(), box, eq.fpr() + eq.fnr()):
        problem = eq.Problem(eq.minimize(objective))
        for descends in (True, False):
            assert automatic(problem) == choose("auto", problem, descends).name


STOPPED = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "equirate.cli.app":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
from equirate.cli import main
sys.exit(main(["fit", "table.csv"]))
"""


def test_an_interruption_while_libraries_are_loaded_is_one_line() -> None:
    done = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "equirate: interrupted\n")


@pytest.mark.parametrize("module", ["equirate", "equirate.cli"])
def test_the_package_is_the_command(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()[-1]) == (0, eq.__version__)
