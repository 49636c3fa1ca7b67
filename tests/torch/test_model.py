"""Networks in `solve` and `RateClassifier`: the linear model's gradients, mixtures that decide, files, bad input."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from torch.utils.data import DataLoader, Dataset, TensorDataset

import equirate as eq
from equirate.data.sample import Sample
from equirate.game.algorithms import choose
from equirate.models import Linear, Rows
from equirate.models.messages import Asked
from equirate.players.steps import ADAM
from equirate.players.surrogates import SURROGATES
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table
from equirate.torch import TorchMembers, TorchModel
from equirate.torch.snapshots import Shelf
from equirate.training.settings import Settings

N = 900
rng = np.random.default_rng(4)
X = rng.normal(size=(N, 3)).astype(np.float32)
GROUP = np.where(rng.random(N) < 0.4, "a", "b")
Y = (X[:, 0] ** 2 + 0.5 * X[:, 2] + 0.4 * (GROUP == "a") + 0.5 * rng.normal(size=N) > 0.8).astype(int)
A, B = eq.attr("group") == "a", eq.attr("group") == "b"
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()), [abs(eq.positive_rate(A) - eq.positive_rate(B)) <= 0.05])


def network(width=16):
    return torch.nn.Sequential(torch.nn.Linear(3, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))


class Flat(torch.nn.Module):
    """One score per example, of shape (batch,)."""

    def __init__(self):
        super().__init__()
        self.layers = network()

    def forward(self, x):
        return self.layers(x)[:, 0]


def solved(model, X=X, **settings):
    return eq.solve(PROBLEM, X, Y, attributes={"group": GROUP}, model=model, **settings)


def quick(module=network, **settings):
    return TorchModel(module, **{"learning_rate": 0.02, "batch_size": 64, "epochs": 12, **settings})


# -- the linear model's gradients and rates ----------------------------------------------------------------


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("net", [True, False])
def test_a_linear_module_has_the_linear_models_gradients_and_rates(surrogate, net):
    problem = eq.Problem(eq.minimize(eq.error_rate() + 0.2 * eq.log_loss(A)), PROBLEM.constraints)
    weights = rng.random(N) + 0.5
    sample = Sample.of(X, Y, {"group": GROUP}, weights)
    table = make_table(canonicalize(problem), sample.examples)
    rows = Rows.of(sample, table.cells)
    up, down = rng.random((len(table.cells), 1)) / N, -rng.random((len(table.cells), 1)) / N
    if net:
        up[::2], down[1::2] = 0, 0
    losses = {name: coefficient[:, None] for name, coefficient in table.loss.items()}
    asked = Asked(False, up, down, SURROGATES[surrogate], losses, recorded=True)
    module = torch.nn.Linear(3, 1)
    linear = Linear().bind(rows, 1, ADAM, [0])
    linear.W = np.append(module.weight.detach().numpy()[0], module.bias.item())[:, None].astype(np.float32)
    learner = TorchModel(module, optimizer=lambda p: torch.optim.SGD(p, lr=0.0), batch_size=None).bind(
        rows, 1, ADAM, [0]
    )
    seen, other = linear.answer(asked), learner.answer(asked)
    for one, two in zip(seen.parts(), other.parts(), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-5)
    learner.advance(np.ones(1))
    (network,) = learner.networks
    found = np.concatenate([part.numpy().ravel() for part in network.gradients()])
    np.testing.assert_allclose(found, linear.slope[:, 0], rtol=1e-5, atol=1e-6)


def test_batches_have_the_whole_datas_gradient_as_their_mean():
    sample = Sample.of(X[:896], Y[:896], {"group": GROUP[:896]})
    table = make_table(canonicalize(PROBLEM), sample.examples)
    rows = Rows.of(sample, table.cells)
    cost = rng.normal(size=(len(table.cells), 1)) / N
    asked = Asked(False, np.maximum(cost, 0), np.minimum(cost, 0))
    module = torch.nn.Linear(3, 1)
    gradients = {}
    for size in (None, 64):
        model = TorchModel(module, optimizer=lambda p: torch.optim.SGD(p, lr=0.0), batch_size=size, rare=0, every=1)
        learner = model.bind(rows, 1, ADAM, [0])
        learner.answer(asked)
        found = []
        for _ in range(learner.strata.batches):
            learner.advance(np.ones(1))
            found.append(np.concatenate([part.numpy().ravel().copy() for part in learner.networks[0].gradients()]))
        gradients[size] = np.mean(found, axis=0)
    np.testing.assert_allclose(gradients[64], gradients[None], atol=1e-6)


# -- mixtures that decide -----------------------------------------------------------------------------------


def test_a_module_beats_the_linear_model_where_the_truth_is_not_linear():
    own, linear = solved(quick()), solved("linear", n_rounds=300)
    assert own.status.feasible
    assert own.status.objective < linear.status.objective - 0.05
    classifier = own.polish()
    assert isinstance(classifier.members, TorchMembers)
    found = classifier.evaluate(PROBLEM, X, Y, attributes={"group": GROUP})
    assert found["objective"] == pytest.approx(own.status.objective)  # what was recorded is exact
    assert max(found["violations"]) <= 1e-3


def test_a_run_repeats_itself_disturbs_nobodys_random_numbers_and_leaves_the_module_alone():
    module = network()
    before = {name: part.clone() for name, part in module.state_dict().items()}
    module_with_dropout = torch.nn.Sequential(module, torch.nn.Dropout(0.1))
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    runs = [solved(quick(module_with_dropout, epochs=2)) for _ in range(2)]
    assert torch.rand(1) == expected
    np.testing.assert_array_equal(runs[0].columns.rates, runs[1].columns.rates)
    assert all(torch.equal(part, before[name]) for name, part in module.state_dict().items())


def test_several_steps_are_networks_side_by_side_and_seeds_are_of_the_constructor():
    solution = solved(quick(epochs=2), lambda_step=(0.1, 1.0), seeds=(0, 1))
    assert solution.configurations[1] == {"lambda_step": 0.1, "seed": 1}  # the optimiser has the model's step
    first = solution.record.snapshots[0].states()
    assert len(first) == 4
    assert not torch.equal(first[0]["0.weight"], first[1]["0.weight"])


@pytest.mark.parametrize(
    "settings",
    [
        {"every": 1},
        {"every": "epoch"},
        {"remember": False, "every": 5},
        {"rare": 0},
        {"averaging": 0.5},
        {"amp": True},
        {"compiled": "eager"},
        {
            "optimizer": lambda p: torch.optim.SGD(p, lr=0.5),
            "scheduler": lambda o: torch.optim.lr_scheduler.StepLR(o, 4),
        },
        {"logit_adjusted": True},
        {"batch_size": None, "epochs": 60},
    ],
    ids=lambda settings: ",".join(settings),
)
def test_every_setting_trains(settings, monkeypatch):
    if "amp" in settings:  # oneDNN's bfloat16 wants tiles that some machines lock
        monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    solution = solved(quick(**settings))
    assert solution.status.feasible
    assert solution.status.objective < 0.3


@pytest.mark.parametrize("algorithm", ["slack_ratios", "proxy_lagrangian", "oracle", "spade_plus"])
def test_every_kind_of_algorithm_can_be_played(algorithm):
    solution = solved(quick(epochs=3), algorithm=algorithm, **({"n_rounds": 3} if algorithm == "oracle" else {}))
    assert len(solution.columns) > 1
    assert np.isfinite(solution.columns.rates).all()


def test_ratios_are_solved_by_linearized_where_nobody_says_otherwise():
    ratios = eq.Problem(eq.maximize(eq.f1()), [eq.f1(A) >= eq.f1(B) - 0.05])
    assert choose("auto", ratios, descends=True).name == "column_generation"
    solution = eq.solve(ratios, X, Y, attributes={"group": GROUP}, model=quick())
    assert solution.algorithm.name == "linearized"
    assert solution.status.feasible
    assert solution.status.objective > 0.6


def test_the_steps_of_multipliers_go_with_the_rows_of_a_round():
    sample = Sample.of(X, Y, {"group": GROUP})
    cells = make_table(canonicalize(PROBLEM), sample.examples).cells
    for size, every in ((64, 1), (64, 3), (8, 2), (None, None)):
        model = quick(batch_size=size, every=every, rare=0)
        pace = model.pace(cells)
        assert pace.share == pytest.approx((every or 1) / model.strata(cells).batches)
        assert pace.rounds * pace.share == pytest.approx(12, abs=1)  # epochs
        assert pace.lambda_step == pytest.approx(10 / 12)


def test_ratios_of_rare_groups_are_numbers_at_every_batch_size():
    rare = np.where(np.arange(N) % 150 == 0, "rare", "other")
    group = eq.attr("rare") == "rare"
    problem = eq.Problem(eq.maximize(eq.f1()), [eq.f1(group) >= eq.f1(~group) - 0.1, eq.precision(group) >= 0.3])
    for size in (8, 64):
        solution = eq.solve(problem, X, Y, attributes={"rare": rare}, model=quick(batch_size=size, epochs=2))
        assert np.isfinite(solution.columns.rates).all()
        assert np.isfinite(solution.record.stacked("multipliers")).all()


# -- inputs -----------------------------------------------------------------------------------------------------


class Named(Dataset):
    """Items with parts by name, as text encoders take them."""

    def __len__(self):
        return N

    def __getitem__(self, row):
        return {"x": torch.from_numpy(X[row])}


class Indexed(Dataset):
    def __len__(self):
        return N

    def __getitem__(self, row):
        return torch.from_numpy(X[row]), row


class TakesX(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = network()

    def forward(self, x):
        return self.layers(x)[:, 0]


@pytest.mark.parametrize(
    ("given", "module"),
    [
        (torch.from_numpy(X), network),
        (X.astype(np.float64), network),
        (pd.DataFrame(X, columns=["p", "q", "r"]), network),
        (sp.csr_matrix(X), network),
        (TensorDataset(torch.from_numpy(X)), network),
        (Named(), TakesX),
        (DataLoader(Indexed(), batch_size=64, shuffle=True, generator=torch.Generator().manual_seed(0)), Flat),
    ],
    ids=["tensor", "float64", "frame", "sparse", "dataset", "named", "loader"],
)
def test_inputs_of_many_kinds_train_and_decide(given, module):
    model = quick(module, epochs=2)
    solution = solved(model, given)
    classifier = solution.polish()
    np.testing.assert_allclose(classifier.positive_probability(given), classifier.positive_probability(given), atol=0)
    if not isinstance(given, DataLoader):
        plain = solved(model, X) if module is network else solution
        np.testing.assert_allclose(solution.columns.rates, plain.columns.rates, atol=5e-3)


def test_whole_numbers_are_looked_up_by_modules_with_an_embedding():
    words = rng.integers(0, 20, size=(N, 5))
    labels = (words == 3).any(axis=1).astype(int)

    class Bag(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bag = torch.nn.EmbeddingBag(20, 4)
            self.out = torch.nn.Linear(4, 1)

        def forward(self, x):
            return self.out(self.bag(x))

    solution = eq.solve(eq.maximize(eq.g_mean()), words, labels, model=quick(Bag, learning_rate=0.1))
    assert solution.status.objective > 0.9


# -- the estimator and files --------------------------------------------------------------------------------------


def test_a_module_in_the_estimator_is_saved_without_code_and_loaded_with_its_constructor(tmp_path):
    clf = eq.RateClassifier(
        PROBLEM.objective, PROBLEM.constraints, model=quick(epochs=4), output="deterministic", random_state=0,
        tolerance=0.05,
    ).fit(X, Y, sensitive_features={"group": GROUP})  # fmt: skip
    assert len(clf.configurations_) == 1  # one network is trained
    path = tmp_path / "model.equirate"
    clf.save(path)
    with pytest.raises(eq.FileError, match=r"hand its constructor back, equirate.load\(path, module=...\)"):
        eq.load(path)
    again = eq.load(path, module=network)
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    np.testing.assert_array_equal(again.predict_pmf(X), clf.predict_pmf(X))
    again.output = "hashed"
    clf.output = "hashed"
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    assert again.model.epochs == 4
    with pytest.raises(eq.AlgorithmError, match="was read from a file"):
        again.fit(X, Y, sensitive_features={"group": GROUP})
    with pytest.raises(eq.FileError, match=r"'0.weight' is float32 of shape \(5, 3\), in the file .* \(16, 3\)"):
        eq.load(path, module=lambda: network(5))
    with pytest.raises(eq.FileError, match="made a int"):
        eq.load(path, module=lambda: 3)


def test_a_bare_module_is_a_model_and_is_cloned(monkeypatch):
    monkeypatch.setattr("equirate.torch.model.LEAST_STEPS", 60)

    module = network()
    clf = clone(eq.RateClassifier(eq.maximize(eq.g_mean()), model=module, random_state=0, n_rounds=5, patience=1))
    clf.fit(X[:300], Y[:300])
    assert isinstance(clf.members_, TorchMembers)
    assert clf.history_["round"][-1] > 5  # a network goes by its epochs


@pytest.mark.parametrize("make", [lambda: network, network], ids=["constructor", "module"])
def test_the_estimators_seed_is_that_of_everything_a_network_draws(make):
    torch.manual_seed(1)
    module = make()  # first parameters of a module are drawn where it is made; a constructor is called with the seed

    def fitted(seed):
        model = quick(module, epochs=2, optimizer=lambda p: torch.optim.SGD(p, lr=0.1))
        clf = eq.RateClassifier(eq.minimize(eq.error_rate()), model=model, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eq.NotSolvedWarning)
            clf.fit(X[:300], Y[:300])
        return clf.history_["objective"]

    first = fitted(3)
    torch.manual_seed(2)
    np.testing.assert_array_equal(fitted(3), first)
    assert not np.array_equal(fitted(4), first)


def test_the_estimator_lets_multipliers_see_held_out_rows_where_there_are_enough():
    clf = eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, model=quick(epochs=1), random_state=0)
    assert Settings.of(clf).referee
    assert not Settings.of(clone(clf).set_params(validation=0)).referee
    clf.fit(X, Y, sensitive_features={"group": GROUP})
    rare = np.where(np.arange(N) < 8, "a", "b")
    with pytest.warns(eq.NotSolvedWarning, match="too few examples behind some rate to hold data out"):
        clf.fit(X, Y, sensitive_features={"group": rare})
    with pytest.raises(eq.DataError, match="two_sets is not possible"):  # who asks for it is not given something else
        clf.set_params(two_sets=True).fit(X, Y, sensitive_features={"group": rare})


def test_half_precision_is_saved_and_read_back():
    members = TorchMembers(None, ({"w": torch.ones(2, dtype=torch.bfloat16), "n": torch.tensor(3)},))
    written = members.plain(1)
    assert written.arrays["state.0"].dtype == np.float32
    read = TorchMembers.from_plain(written.settings, written.arrays)
    assert read.state(0)["w"].dtype == torch.bfloat16
    assert read.state(0)["n"] == 3
    with pytest.raises(eq.FileError, match="do not fit together"):
        TorchMembers.from_plain({**written.settings, "names": ["w"]}, written.arrays)


def test_large_snapshots_go_to_disk_and_away_with_their_owner(tmp_path):
    model = quick(epochs=3, memory=1000, folder=tmp_path)
    solution = solved(model)
    files = list(tmp_path.glob("*.safetensors"))
    assert len(files) == len(solution.record.snapshots)
    in_memory = solved(quick(epochs=3))
    np.testing.assert_array_equal(solution.columns.rates, in_memory.columns.rates)
    np.testing.assert_array_equal(solution.polish().positive_probability(X), in_memory.polish().positive_probability(X))
    del solution
    import gc

    gc.collect()
    assert not list(tmp_path.glob("*.safetensors"))


def test_memory_bounds_what_is_recorded():
    size = sum(part.numel() * 4 for part in network().state_dict().values())
    solution = solved(quick(epochs=10, memory=20 * size), record_every=1)
    assert len(solution.record.snapshots) <= 20
    assert solution.record.rounds[-1] == solution.record.played  # the last one stays
    assert Shelf(20 * size).budget(size) == 20 * size


def test_averages_are_networks_too():
    solution = solved(quick(epochs=3))
    average = solution.average()
    state = average.members.state(0)
    states = [snapshot.states()[0] for snapshot in solution.record.snapshots]
    mean = sum(state["0.weight"].double() for state in states) / len(states)
    torch.testing.assert_close(state["0.weight"].double(), mean, rtol=1e-6, atol=1e-6)
    assert average.predict(X).shape == (N,)


def test_the_two_data_set_game_measures_rows_that_it_does_not_train_on():
    held = (X[600:], Y[600:], {"group": GROUP[600:]})
    solution = eq.solve(PROBLEM, X[:600], Y[:600], attributes={"group": GROUP[:600]}, model=quick(), referee=held)
    found = solution.polish().evaluate(PROBLEM, *held[:2], attributes=held[2])
    assert found["objective"] == pytest.approx(solution.status.objective)
    assert max(found["violations"]) <= 1e-3


def test_a_referee_has_whole_numbers_and_images_as_they_are():
    class Bag(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bag, self.score = torch.nn.EmbeddingBag(20, 4), torch.nn.Linear(4, 1)

        def forward(self, words):
            return self.score(self.bag(words))

    words = np.random.default_rng(0).integers(0, 20, (N, 5))
    images = X.reshape(N, 1, -1)
    flat = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(X.shape[1], 1))
    for inputs, module in ((words, Bag), (images, flat)):
        held = (inputs[600:], Y[600:], {"group": GROUP[600:]})
        given = (inputs[:600], Y[:600], {"group": GROUP[:600]})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eq.EquirateWarning)
            solution = eq.solve(PROBLEM, *given[:2], attributes=given[2], model=quick(module, epochs=2), referee=held)
        found = solution.polish().evaluate(PROBLEM, *held[:2], attributes=held[2])
        assert found["objective"] == pytest.approx(solution.status.objective)
    wrong = (images[600:, :, :2], *held[1:])
    with pytest.raises(eq.DataError, match=r"the referee's X has \(1, 2\) features, the training X \(1, 3\)"):
        eq.solve(PROBLEM, *given[:2], attributes=given[2], model=quick(flat), referee=wrong)


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            lambda: torch.nn.Linear(3, 2),
            r"one score per example, of shape \(900,\) or \(900, 1\); got shape \(900, 2\)",
        ),
        (lambda: torch.nn.LSTM(3, 1), "got tuple of 2"),
        (lambda: torch.nn.Linear(3, 1, device="meta"), "the module is on the device 'meta', which holds no numbers"),
    ],
    ids=["shape", "tuple", "device"],
)
def test_modules_that_do_not_score_are_refused(model, message):
    with pytest.raises(eq.AlgorithmError, match=message):
        solved(quick(model))


def test_a_module_whose_scores_are_elsewhere_is_refused():
    class Elsewhere(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def forward(self, x):
            return self.layer(x).to("meta")

    with pytest.raises(eq.AlgorithmError, match="scores are on the device meta, the data on cpu: move the module"):
        solved(quick(Elsewhere))


def test_scores_that_become_nan_name_the_step_and_the_last_checkpoint(tmp_path):
    class Breaks(torch.nn.Module):
        """NaN from its 200th batch on."""

        def __init__(self):
            super().__init__()
            self.layers, self.count = network(), 0

        def forward(self, x):
            self.count += self.training
            return self.layers(x) * (float("nan") if self.count >= 120 else 1.0)

    with pytest.raises(eq.AlgorithmError, match=r"NaN or infinite at step 120 \(epoch 8\)") as raised:
        solved(quick(Breaks, checkpoint=tmp_path))
    assert "the last good checkpoint, of round" in str(raised.value)
    assert (tmp_path / "state.pt").exists()


def test_one_of_several_networks_that_becomes_nan_is_dropped_and_named():
    made = []

    def constructor():
        made.append(network())
        if len(made) == 2:
            torch.nn.init.constant_(made[-1][2].weight, float("nan"))
        return made[-1]

    with pytest.warns(eq.NotSolvedWarning, match="configurations 1 diverged"):
        solution = solved(quick(constructor, epochs=2), lambda_step=(0.1, 1.0))
    assert set(solution.columns.configuration) == {0}


class Wrong(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return N

    def __getitem__(self, k):
        return torch.from_numpy(X[k]), self.rows[k]


@pytest.mark.parametrize(
    ("rows", "settings", "message"),
    [
        (np.arange(N) + 1, {}, f"index has row {N}, but y has {N} rows"),
        (np.arange(N) // 2, {}, "twice in one batch"),
        (np.arange(N) % 450, {}, "row 0 twice in one pass"),
        (np.arange(N), {"drop_last": True}, f"ended after 896 of {N} rows"),
        (np.arange(N) / 2, {}, "whole numbers"),
    ],
    ids=["range", "batch", "pass", "early", "float"],
)
def test_loaders_with_bad_row_numbers_are_refused(rows, settings, message):
    with pytest.raises(eq.DataError, match=message):
        solved(quick(Flat), DataLoader(Wrong(rows), batch_size=64, **settings))


def test_loaders_that_give_no_row_numbers_are_refused():
    with pytest.raises(eq.DataError, match=r"yields pairs \(inputs, index\)"):
        solved(quick(Flat), DataLoader(TensorDataset(torch.from_numpy(X)), batch_size=64))


def test_an_empty_group_is_refused_by_name():
    with pytest.raises(eq.DataError, match="nobody"):
        eq.solve(
            eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate(eq.attr("group") == "nobody") <= 0.5]),
            X, Y, attributes={"group": GROUP}, model=quick(),
        )  # fmt: skip


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("make", [lambda x: x, torch.from_numpy, lambda x: x[:, None, :]], ids=["2d", "tensor", "3d"])
def test_features_that_are_no_numbers_are_refused(bad, make):
    wrong = X.copy()
    wrong[3, 1] = bad
    with pytest.raises(eq.DataError, match="NaN or infin"):
        solved(quick(), make(wrong))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, "batch_size of TorchModel must be a whole number"),
        ({"epochs": 1.5}, "epochs of TorchModel"),
        ({"every": "batch"}, "every of TorchModel"),
        ({"learning_rate": 0}, "learning_rate must be positive"),
        ({"module": 3}, "must be a torch.nn.Module"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(eq.AlgorithmError, match=message):
        TorchModel(**{"module": network, **settings})


def test_without_torch_the_extra_is_named():
    code = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
try:
    import equirate.torch
except ImportError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert out.stdout.strip() == "equirate.torch needs torch, which is not installed: pip install 'equirate[torch]'"


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_the_short_way_to_a_slope_is_the_long_one(surrogate):
    sample = Sample.of(X, Y, {"group": GROUP}, rng.random(N))
    table = make_table(canonicalize(PROBLEM), sample.examples)
    learner = quick().bind(Rows.of(sample, table.cells), 1, ADAM, [0])
    cost = rng.normal(size=(len(table.cells), 1)) / N
    learner.answer(Asked(False, np.maximum(cost, 0), np.minimum(cost, 0), SURROGATES[surrogate]))
    index, scores = np.arange(50, 120), (2 * rng.normal(size=70)).astype(np.float32)
    assert learner.costs[0] is not None
    short = learner._slope(0, scores, index)
    learner.costs = [None]
    np.testing.assert_allclose(short, learner._slope(0, scores, index), rtol=1e-5, atol=1e-9)
