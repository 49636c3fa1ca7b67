"""Frames of every kind as features: lazy ones, dates, identifiers, text and categories; and inputs of networks."""

import datetime as dt
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from torch.utils.data import Dataset, TensorDataset
from xgboost import XGBClassifier

import equirate as eq
from equirate.boosting import default_trees
from equirate.estimators.categories import dates_as_numbers
from equirate.torch import RateGame, TorchModel

N = 240
RNG = np.random.default_rng(0)
DAYS = RNG.integers(0, 400, N)
DATES = pd.Timestamp("2020-01-01") + pd.to_timedelta(DAYS, unit="D")
COLOUR = RNG.choice(["red", "green", "blue", "grey"], N)
NUMBER = RNG.normal(size=N)
Y = ((DAYS > 200) ^ (COLOUR == "red")).astype(int)
FRAME = pd.DataFrame({"number": NUMBER, "colour": COLOUR, "opened": DATES})
ERROR = eq.minimize(eq.error_rate())
TREES: dict[str, Any] = {"model": "trees", "n_rounds": 10, "random_state": 0}


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        yield


# -- lazy frames ---------------------------------------------------------------------------------------


def test_lazy_frames_say_what_to_call() -> None:
    lazy = pl.DataFrame({"a": NUMBER, "b": NUMBER}).lazy()
    clf = eq.RateClassifier(ERROR, n_rounds=10, theta_step=0.1, lambda_step=0.1)
    with pytest.raises(eq.DataError, match=r"X is a LazyFrame, whose rows are not there yet: call \.collect\(\)"):
        clf.fit(lazy, Y)
    with pytest.raises(eq.DataError, match=r"sensitive_features .*is a LazyFrame.*\.collect\(\)"):
        clf.set_params(constraints=[eq.tpr(eq.attr("a") > 0) >= 0.1]).fit(NUMBER[:, None], Y, sensitive_features=lazy)
    with pytest.raises(eq.DataError, match=r"LazyFrame.*\.collect\(\)"):
        eq.solve(eq.Problem(ERROR), lazy, Y)
    with pytest.raises(eq.DataError, match=r"LazyFrame.*\.collect\(\)"):
        clf.set_params(constraints=()).fit(NUMBER[:, None], pl.DataFrame({"y": Y}).lazy())


# -- dates and identifiers ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars dates", "objects", "with a zone"])
def test_dates_are_days_for_trees(kind: str) -> None:
    frame: Any = {
        "pandas": lambda: FRAME,
        "polars": lambda: pl.DataFrame({"number": NUMBER, "colour": COLOUR, "opened": DATES.to_pydatetime()}),
        "polars dates": lambda: pl.DataFrame({"number": NUMBER, "colour": COLOUR, "opened": DATES.date}),
        "objects": lambda: FRAME.assign(opened=pd.Series(DATES.date, dtype=object)),
        "with a zone": lambda: FRAME.assign(opened=DATES.tz_localize("UTC")),
    }[kind]()
    found = np.asarray(dates_as_numbers(frame)["opened"], dtype=float)
    np.testing.assert_allclose(found, DAYS + (dt.date(2020, 1, 1) - dt.date(1970, 1, 1)).days)
    clf = eq.RateClassifier(ERROR, **TREES).fit(frame, Y)
    assert list(clf.categories_) == ["colour"]
    assert np.mean(clf.predict(frame) == Y) > 0.75  # without the date, 0.675
    assert not clf.notes_


def test_missing_dates_durations_and_times() -> None:
    frame = pd.DataFrame(
        {
            "date": pd.to_datetime(["1970-01-03", None]),
            "lasted": pd.to_timedelta(["36h", None]),
            "at": pd.Series([dt.time(6), None], dtype=object),
        }
    )
    found = dates_as_numbers(frame.drop(columns="at"))
    assert found["date"].tolist()[0] == 2.0
    assert found["lasted"].tolist()[0] == 1.5
    assert found.isna().sum().tolist() == [1, 1]
    times = dates_as_numbers(pl.DataFrame({"at": [dt.time(6), None]}))
    assert times["at"].to_list()[0] == 0.25


def test_dates_are_refused_by_name_where_they_are_no_numbers() -> None:
    with pytest.raises(eq.DataError, match="'opened'"):
        eq.RateClassifier(ERROR, n_rounds=5).fit(FRAME[["number", "opened"]], Y)


def test_a_column_in_which_almost_every_row_has_its_own_value_is_noted(tmp_path: Any) -> None:
    frame = FRAME.assign(opened=[f"person {k}" for k in range(N)])
    clf = eq.RateClassifier(ERROR, **TREES).fit(frame, Y)
    (note,) = clf.notes_
    assert note.startswith("column 'opened' of X has 240 different values in 240 rows: it identifies rows")
    assert note in str(clf.report(frame, Y)).replace("\n  ", " ")
    clf.save(tmp_path / "model")
    assert eq.load(tmp_path / "model").notes_ == clf.notes_


# -- categories without LightGBM, and in classifiers of others -------------------------------------------


def test_text_columns_without_lightgbm(tmp_path: Any) -> None:
    clf = eq.RateClassifier(ERROR, model=default_trees("sklearn", max_iter=20), n_rounds=10, random_state=0)
    clf.fit(FRAME, Y)
    assert np.mean(clf.predict(FRAME) == Y) > 0.9
    assert clf.predict(FRAME.assign(colour="unheard of")).shape == (N,)
    with pytest.raises(eq.FileError, match="HistGradientBoostingClassifier over categories cannot be saved"):
        clf.save(tmp_path / "model")
    many = FRAME.assign(colour=[f"{k % 120} {k % 239}" for k in range(N)])
    wide = pd.concat([many, many.assign(colour=[f"x {k}" for k in range(N)])], ignore_index=True)
    with pytest.raises(eq.DataError, match=r"column 'colour' of X has 4\d\d different values.* at most 255"):
        clf.fit(wide, np.concatenate([Y, Y]))


@pytest.mark.parametrize(
    "model",
    [
        LGBMClassifier(n_estimators=20, min_child_samples=5, verbose=-1, random_state=0),
        XGBClassifier(n_estimators=20, random_state=0),
        HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5, random_state=0),
    ],
    ids=["lightgbm", "xgboost", "sklearn"],
)
def test_categories_in_an_oracle(model: Any) -> None:
    frame = FRAME.drop(columns="opened").assign(colour=pd.Categorical(COLOUR), days=DAYS)
    clf = eq.RateClassifier(ERROR, model=eq.models.Oracle(model, fits=1), n_rounds=5, random_state=0).fit(frame, Y)
    assert clf.categories_["colour"] == ["blue", "green", "grey", "red"]
    assert np.mean(clf.predict(frame) == Y) > 0.9
    assert model.get_params().get("categorical_feature") is None  # the user's own stays as it is


# -- networks ------------------------------------------------------------------------------------------


class Two(torch.nn.Module):
    """A network of two inputs."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(2, 1), torch.nn.Embedding(3, 1)

    def forward(self, numbers: torch.Tensor, code: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return scale * (self.first(numbers) + self.second(code))


class Pairs(Dataset):  # type: ignore[type-arg]
    """Items of two inputs and a label."""

    def __init__(self, *parts: torch.Tensor) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, k: int) -> tuple[torch.Tensor, ...]:
        return tuple(part[k] for part in self.parts)


NUMBERS = torch.from_numpy(RNG.normal(size=(N, 2)).astype(np.float32))
CODES = torch.from_numpy(RNG.integers(3, size=N))
LABELS = (NUMBERS[:, 0] + CODES - 1 > 0).long()


@pytest.mark.parametrize("data", [TensorDataset(NUMBERS, CODES), Pairs(NUMBERS, CODES, LABELS)], ids=["two", "labels"])
def test_a_data_set_of_tuples_for_a_module_of_two_inputs(data: Any) -> None:
    model = TorchModel(Two(), epochs=3, batch_size=64)
    problem = eq.Problem(ERROR, [eq.positive_rate() <= 0.9])
    found = eq.solve(problem, data, LABELS.numpy(), model=model).polish()
    together = found.predict((NUMBERS, CODES))
    np.testing.assert_array_equal(together, found.predict(data))
    assert together.shape == (N,)


def test_the_first_part_of_a_pair_is_all_that_one_input_takes() -> None:
    found = eq.solve(
        eq.Problem(ERROR),
        TensorDataset(NUMBERS, LABELS),
        LABELS.numpy(),
        model=TorchModel(torch.nn.Linear(2, 1), epochs=2),
    ).polish()
    np.testing.assert_array_equal(found.predict(NUMBERS), found.predict(TensorDataset(NUMBERS, LABELS)))


def test_finish_for_a_module_of_two_inputs() -> None:
    module, problem = Two(), eq.Problem(ERROR, [eq.positive_rate() <= 0.9])
    game = RateGame(problem, LABELS, held_out=None)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    index = torch.arange(N)
    for _ in range(5):
        optimizer.zero_grad()
        game(module(NUMBERS, CODES).squeeze(1), index).backward()
        optimizer.step()
        game.step()
    found = game.finish(module, (NUMBERS, CODES.numpy()))
    p = found.positive_probability((NUMBERS, CODES))
    assert game.status.objective == pytest.approx(eq.error_rate().evaluate(LABELS.numpy(), p))
    again = found.positive_probability(TensorDataset(NUMBERS, CODES))
    np.testing.assert_array_equal(p, again)
    with pytest.raises(eq.DataError, match="different numbers of rows: 240, 239"):
        found.predict((NUMBERS, CODES[1:]))
