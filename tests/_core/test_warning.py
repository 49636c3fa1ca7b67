"""Warnings point at the line of the user, through whatever part of the library they come."""

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import equirate as eq

X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
Y = pd.Series((X["a"] > 0).astype(int).to_numpy(), index=np.arange(100, 160))
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()))
FITTED = eq.RateClassifier(PROBLEM.objective).fit(X, Y.to_numpy())


@pytest.mark.parametrize(
    "call",
    [
        lambda: eq.solve(PROBLEM, X, Y),
        lambda: eq.RateClassifier(PROBLEM.objective).fit(X, Y),
        lambda: FITTED.evaluate(X, Y),
        lambda: eq.report(FITTED, X, Y),
        lambda: eq.report(np.ones(60), X, Y, problem=PROBLEM),
        lambda: eq.power(eq.recall() >= 0.5, Y, attributes=X),
        lambda: eq.audit(Y, FITTED.predict(X), attributes=X.assign(group=1)),
    ],
)
def test_a_warning_names_the_file_that_called(call: Callable[[], Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.suppress(eq.EquirateError):
            call()
    assert {each.filename for each in caught if "different indexes" in str(each.message)} == {__file__}
