"""Outputs: what the deterministic classifier loses against the mixture that it was made of.

In: COMPAS, Adult and, where its file is given, ACSIncome; five random splits each; three problems. Out: a table of the
mixture's objective and violation, and of how much worse the deterministic output is in both, on the rows that were
fitted on and on those that were not. ``python -m equirate_lab.outputs --acs FILE`` prints it.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import equirate as eq
from equirate import datasets

SPLITS = 5
TEST = 0.3
"""Share of the rows that nothing is fitted on."""
LIMIT = 0.02
"""Tolerance of every constraint."""
ACS_ROWS = 40_000
PROBLEMS = {
    "error, equal opportunity": (eq.minimize(eq.error_rate()), eq.equal_opportunity("sex", tolerance=LIMIT)),
    "error, demographic parity": (eq.minimize(eq.error_rate()), eq.demographic_parity("sex", tolerance=LIMIT)),
    "F1, F1 parity": (eq.maximize(eq.f1()), eq.f1_parity("sex", tolerance=LIMIT)),
}


@dataclass(frozen=True, eq=False)
class People:
    """Features, labels and the group of every row."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    sex: NDArray[Any]

    def part(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        """Some rows, as estimators take them."""
        return {"X": self.X[rows], "y": self.y[rows], "sensitive_features": {"sex": self.sex[rows]}}


def bundled(name: str) -> People:
    """A data set that comes with the library."""
    found = datasets.load(name)
    return People(name, found.features.to_numpy(float), found.label, found.attributes["sex"].to_numpy(str))


def acs_income(path: str) -> People:
    """The first rows of ACSIncome: age, hours and schooling as numbers, small categories as indicators."""
    table = pd.read_parquet(path).iloc[:ACS_ROWS]
    numbers = table[["AGEP", "WKHP", "SCHL"]].to_numpy(float)
    indicators = pd.get_dummies(table[["COW", "MAR", "RELP", "SEX"]].astype(int).astype(str)).to_numpy(float)
    sex = np.where(table["SEX"] == 2, "Female", "Male")
    return People("acs_income", np.hstack([numbers, indicators]), table["PINCP"].to_numpy(np.int64), sex)


def differences(people: People, problem: str) -> NDArray[np.float64]:
    """(splits, 2 parts, 4): the mixture's objective and violation, and how much worse the deterministic output is."""
    objective, constraints = PROBLEMS[problem]
    sign = -1.0 if objective.sense == "maximize" else 1.0
    found = np.zeros((SPLITS, 2, 4))
    for split in range(SPLITS):
        rows = np.random.default_rng(split).permutation(len(people.y))
        cut = int(TEST * len(rows))
        parts = [people.part(rows[cut:]), people.part(rows[:cut])]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eq.EquirateWarning)
            mixture = eq.RateClassifier(objective, constraints, random_state=split).fit(**parts[0])
        single = mixture.to_deterministic()
        for k, part in enumerate(parts):
            one, other = mixture.evaluate(**part), single.evaluate(**part)
            found[split, k] = (
                one.objective,
                one.violation,
                sign * (other.objective - one.objective),
                other.violation - one.violation,
            )
    return found


def lines(everybody: Sequence[People]) -> Iterator[str]:
    """The table, row by row."""
    yield "| data | problem | mixture | worse by, fitted rows | mixture, new rows | worse by, new rows |"
    yield "|---|---|---|---|---|---|"
    for people in everybody:
        for problem in PROBLEMS:
            fitted, new = differences(people, problem).mean(axis=0)
            cells = [f"{part[k]:{form}}, {part[k + 1]:{form}}" for part in (fitted, new) for k, form in FORMS]
            yield f"| {people.name} | {problem} | {' | '.join(cells)} |"


FORMS = ((0, ".4f"), (2, "+.4f"))
"""Values, then differences."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="what a deterministic output loses against its mixture")
    parser.add_argument("--acs", metavar="FILE", help="acs_income.parquet; without it the table is for two data sets")
    parser.add_argument("--only", metavar="NAME", help="one data set")
    given = parser.parse_args()
    names = [name for name in ("compas", "adult") if given.only in (None, name)]
    everybody = [bundled(name) for name in names]
    if given.acs and given.only in (None, "acs_income"):
        everybody.append(acs_income(given.acs))
    for line in lines(everybody):
        print(line, flush=True)


if __name__ == "__main__":
    main()
