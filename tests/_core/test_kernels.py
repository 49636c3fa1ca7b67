"""When the compiled passes are used: by the amount of work, whatever happens to be loaded."""

import subprocess
import sys

import numpy as np
import pytest

import equirate as eq
from equirate._core import kernels


def test_the_choice_is_by_the_work_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EQUIRATE_KERNELS", raising=False)
    monkeypatch.setattr(kernels, "_available", lambda: True)
    assert kernels.ready()  # nobody knows how much
    assert kernels.ready(kernels.MIN_COMPILED_WORK)
    assert not kernels.ready(kernels.MIN_COMPILED_WORK - 1)
    with kernels.expecting(10):
        assert not kernels.ready()
        with kernels.expecting(2 * kernels.MIN_COMPILED_WORK):
            assert kernels.ready()
        assert not kernels.ready()
    assert kernels.ready()
    monkeypatch.setattr(kernels, "_available", lambda: False)
    assert not kernels.ready()


@pytest.mark.parametrize(("wish", "used"), [("0", False), ("1", True)])
def test_the_environment_overrules_it(wish: str, used: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_available", lambda: True)
    monkeypatch.setenv("EQUIRATE_KERNELS", wish)
    assert kernels.ready(1) == kernels.ready(10 * kernels.MIN_COMPILED_WORK) == kernels.ready() == used


def test_a_play_announces_rows_columns_configurations_and_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    announced = []
    real = kernels.expecting
    monkeypatch.setattr(kernels, "expecting", lambda work: (announced.append(work), real(work))[1])
    X = np.random.default_rng(0).normal(size=(50, 3))
    y = (X[:, 0] > 0).astype(int)
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.6])
    solution = eq.solve(problem, X, y, n_rounds=7, theta_step=(0.1, 0.2), lambda_step=0.1)
    assert announced == [50 * 3 * 2 * 7]
    solution.on(X[:20], y[:20])
    eq.baselines.unc_error(X, y, n_rounds=9, steps=(0.1, 0.2))
    assert announced[2] == 50 * 3 * 2 * 9


def test_a_small_fit_loads_no_compiler() -> None:
    code = """
import sys
import numpy as np
import equirate as eq

X = np.random.default_rng(0).normal(size=(200, 3))
y = (X[:, 0] > 0).astype(int)
fitted = eq.RateClassifier(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.6], n_rounds=50).fit(X, y)
fitted.predict(X)
print("numba" in sys.modules)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert out.stdout.strip() == "False", out.stderr


def doubled(x):
    return 2 * x


@pytest.mark.parametrize("fails", ["save", "load", "no place"])
def test_a_cache_that_fails_is_no_cache(fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernels._available():
        pytest.skip("no compiled passes here")
    from numba.core import caching

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    def nowhere(*_: object, **__: object) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    target = {"save": caching.IndexDataCacheFile, "load": caching.IndexDataCacheFile, "no place": caching.FunctionCache}
    name = "__init__" if fails == "no place" else fails
    monkeypatch.setattr(target[fails], name, nowhere if fails == "no place" else full)
    assert kernels.compiled()._compiled(doubled)(3) == 6


def test_small_pieces_of_work_add_up_to_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EQUIRATE_KERNELS", raising=False)
    monkeypatch.setattr(kernels, "_available", lambda: True)
    monkeypatch.setattr(kernels, "_spent", 0.0)
    kernels.compiled.cache_clear()
    assert not kernels.ready_by_now(0.6 * kernels.MIN_COMPILED_WORK)
    assert kernels.ready_by_now(0.6 * kernels.MIN_COMPILED_WORK)
    assert kernels.ready_by_now(1.0)
    monkeypatch.setenv("EQUIRATE_KERNELS", "0")
    assert not kernels.ready_by_now(1.0)


def test_once_loaded_small_pieces_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EQUIRATE_KERNELS", raising=False)
    if not kernels._available():
        pytest.skip("no compiled passes here")
    kernels.compiled()
    monkeypatch.setattr(kernels, "_spent", 0.0)
    assert kernels.ready_by_now(1.0)
