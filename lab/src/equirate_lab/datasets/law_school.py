"""Law School: whether a student passes the bar exam, at the first or the second attempt.

In: the raw table of the LSAC bar passage study. Out: 20,512 complete rows, 36 features, all indicators: the
quartiles of two admission and two law-school scores, full or part time, family income, sex, race and tier of
the school. Quartiles are those of all rows. The paper's own recipe was not published; this one is inferred
from its counts. Columns that reveal the outcome are not features.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from equirate.datasets import Dataset

from .sources import SOURCES
from .tabular import Columns, category_columns, frame, quantile_columns

__all__ = ["build"]

COMPLETE = ("zfygpa", "zgpa", "fulltime", "fam_inc", "gender", "race1", "tier")
SCORES = ("lsat", "ugpa", "zfygpa", "zgpa")
RACES = {"asian": "Asian", "black": "Black", "hisp": "Hispanic", "other": "Other", "white": "White"}
SEXES = {"female": "Female", "male": "Male"}
ENROLMENT = {1: "full-time", 2: "part-time"}


def build(table: pd.DataFrame) -> Dataset:
    """Build the data set from the raw table."""
    source = SOURCES["law_school"]
    people = table.dropna(subset=list(COMPLETE)).reset_index(drop=True)
    attributes = pd.DataFrame({"sex": people["gender"].map(SEXES), "race": people["race1"].map(RACES)})
    columns: Columns = {}
    for name in SCORES:
        columns |= quantile_columns(name, people[name], 4)
    columns |= category_columns("enrolment", people["fulltime"].map(ENROLMENT))
    columns |= category_columns("fam_inc", people["fam_inc"].astype(int))
    columns |= category_columns("sex", attributes["sex"])
    columns |= category_columns("race", attributes["race"])
    columns |= category_columns("tier", people["tier"].astype(int))
    return Dataset(
        name=source.name,
        features=frame(columns),
        label=people["pass_bar"].to_numpy(dtype=np.int64, copy=True),
        attributes=attributes,
        protected=source.protected,
        description=source.description,
    )
