"""Networks with a score for each of more than two classes: plug-in rules on probabilities of held-out rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

import equirate as eq
from equirate._core.errors import FileError
from equirate.boosting import BoostedTrees
from equirate.data.sample import Sample
from equirate.models.members import Written
from equirate.models.registry import read_members
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table
from equirate.torch import RateGame, TorchModel, save
from equirate.torch.classes import NetworkTrainer, of_torch

N = 900
NAMES = ("a", "b", "c")


def rings(seed=0, n=N):
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(n) < 0.5, "F", "M")
    X = rng.normal(size=(n, 2)) + 0.7 * (group == "F")[:, None]
    radius = np.hypot(*X.T) + 0.2 * rng.normal(size=n)
    return X.astype(np.float32), np.array(NAMES)[(radius > 0.8).astype(int) + (radius > 1.6)], group


X, Y, GROUP = rings()
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()), [eq.recall(label="c") >= 0.9, eq.coverage("b") <= 0.5])


def network(outputs=3, width=16):
    return torch.nn.Sequential(torch.nn.Linear(2, width), torch.nn.Tanh(), torch.nn.Linear(width, outputs))


def quick(module=network, **settings):
    return TorchModel(module, **{"learning_rate": 0.02, "batch_size": 64, "epochs": 12, **settings})


def solved(model, X=X, **settings):
    return eq.solve(PROBLEM, X, Y, attributes={"group": GROUP}, model=model, **settings)


# -- training ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_a_step_is_one_of_weighted_cross_entropy(weighted):
    weights = np.random.default_rng(1).random(N) + 0.5 if weighted else np.ones(N)
    sample = Sample.of(X, Y, None, weights, classes=NAMES)
    cells = make_table(canonicalize(PROBLEM.in_classes(NAMES)), sample.examples).cells
    module = torch.nn.Linear(2, 3)
    model = TorchModel(module, optimizer=lambda p: torch.optim.SGD(p, lr=0.5), batch_size=None, epochs=1)
    rows, target = np.arange(N), cells.labels[cells.index].astype(np.intp)
    trainer = NetworkTrainer(model, X, cells, [rows], rows[:0], 0)
    fitted, _ = trainer.fit(target, weights if weighted else None, 3)
    loss = torch.nn.functional.cross_entropy(module(torch.from_numpy(X)), torch.from_numpy(target), reduction="none")
    ((loss * torch.from_numpy(weights)).sum() / weights.sum()).backward()
    for name, part in module.named_parameters():
        expected = (part - 0.5 * part.grad).detach().numpy()
        np.testing.assert_allclose(fitted.members.state(0)[name].numpy(), expected, atol=1e-5)


def test_batches_with_rare_cells_step_by_the_whole_gradient_on_average():
    sample = Sample.of(X, Y, None, None, classes=NAMES)
    cells = make_table(canonicalize(PROBLEM.in_classes(NAMES)), sample.examples).cells
    kept = np.flatnonzero((Y != "c") | (np.arange(N) % 40 == 0))  # few rows of one class
    weights = np.zeros(N)
    weights[kept] = 1.0
    target, module = cells.labels[cells.index].astype(np.intp), torch.nn.Linear(2, 3)
    moved = []
    for seed in range(60):
        model = TorchModel(module, optimizer=lambda p: torch.optim.SGD(p, lr=1e-4), batch_size=60, epochs=1, rare=4)
        trainer = NetworkTrainer(model, X, cells.weighing(weights), [kept], np.arange(0), seed)
        strata = model.strata(cells.weighing(weights))
        assert strata.rare_rows  # or the weights of the rows would not be tried
        fitted, _ = trainer.fit(target, None, 3)
        step = (module.bias.detach() - fitted.members.state(0)["bias"]).numpy() / 1e-4 / strata.batches
        moved.append(step)
    loss = torch.nn.functional.cross_entropy(module(torch.from_numpy(X[kept])), torch.from_numpy(target[kept]))
    loss.backward()
    np.testing.assert_allclose(np.mean(moved, axis=0), module.bias.grad.numpy(), atol=0.01)


def test_rates_are_those_of_rows_that_were_not_trained_on():
    rng = np.random.default_rng(2)
    wide, noise = rng.normal(size=(300, 40)), rng.choice(NAMES, 300)
    module = torch.nn.Sequential(torch.nn.Linear(40, 64), torch.nn.Tanh(), torch.nn.Linear(64, 3))
    solution = eq.solve(eq.minimize(eq.error_rate()), wide, noise, model=quick(module, epochs=60))
    assert 0.5 < solution.status.objective < 0.75
    network = solution.polish().members.posterior.label
    guessed = np.array(NAMES)[network.predict_proba(wide).argmax(axis=1)]
    assert (guessed != noise).mean() < 0.1  # its own rows would have said so


def test_a_network_beats_the_linear_model_and_keeps_its_constraints_on_new_rows():
    own, linear = solved(quick(epochs=30)), solved("linear")
    assert own.status.feasible
    assert own.status.objective < linear.status.objective - 0.1
    classifier = own.polish()
    Z, z, _ = rings(1, 4000)
    found = classifier.evaluate(None, Z, z, classes=NAMES)
    assert max(found["violations"]) <= 0.05
    pmf = classifier.predict_pmf(Z)
    assert pmf.shape == (4000, 3)
    np.testing.assert_allclose(pmf.sum(axis=1), 1.0)


def test_groups_are_estimated_by_a_layer_on_top():
    parity = eq.demographic_parity("group", tolerance=0.05)
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), parity, model=quick(), random_state=0)
    clf.fit(X, Y, sensitive_features={"group": GROUP})
    assert clf.status_.feasible
    plain = eq.RateClassifier(eq.minimize(eq.error_rate()), model=quick(), random_state=0).fit(X, Y)
    Z, _, group = rings(1, 4000)
    assert _gap(clf, Z, group) < _gap(plain, Z, group) / 2


def _gap(clf, Z, group):
    """Largest difference of the shares predicted as a class."""
    pmf = clf.predict_pmf(Z)
    return np.abs(pmf[group == "F"].mean(axis=0) - pmf[group == "M"].mean(axis=0)).max()


def test_a_run_repeats_itself_disturbs_nobodys_random_numbers_and_leaves_the_module_alone():
    module = torch.nn.Sequential(network(), torch.nn.Dropout(0.1))
    before = {name: part.clone() for name, part in module.state_dict().items()}
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    runs = [solved(quick(module, epochs=2)) for _ in range(2)]
    assert torch.rand(1) == expected
    np.testing.assert_array_equal(runs[0].columns.rates, runs[1].columns.rates)
    assert all(torch.equal(part, before[name]) for name, part in module.state_dict().items())


@pytest.mark.parametrize(
    "settings",
    [
        {"rare": 0},
        {"averaging": 0.5},
        {"amp": True},
        {"compiled": "eager"},
        {
            "optimizer": lambda p: torch.optim.SGD(p, lr=0.5),
            "scheduler": lambda o: torch.optim.lr_scheduler.StepLR(o, 6),
        },
        {"batch_size": None, "epochs": 150},
    ],
    ids=lambda settings: ",".join(settings),
)
def test_every_setting_trains(settings, monkeypatch):
    if "amp" in settings:  # oneDNN's bfloat16 wants tiles that some machines lock
        monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    solution = solved(quick(**settings))
    assert solution.status.feasible
    assert solution.status.objective < 0.45


# -- inputs -------------------------------------------------------------------------------------------------


class Explodes(torch.nn.Module):
    """Its scores are infinite."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2, 3))

    def forward(self, x):
        return (x @ self.weight) * 1e30 * 1e30


class Named(Dataset):
    """Items with parts by name, as text encoders take them."""

    def __len__(self):
        return N

    def __getitem__(self, row):
        return {"x": torch.from_numpy(X[row])}


class TakesX(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = network()

    def forward(self, x):
        return self.layers(x)


@pytest.mark.parametrize(
    ("given", "module"),
    [
        (torch.from_numpy(X), network),
        (X.astype(np.float64), network),
        (pd.DataFrame(X, columns=["p", "q"]), network),
        (sp.csr_matrix(X), network),
        (TensorDataset(torch.from_numpy(X)), network),
        (Named(), TakesX),
    ],
    ids=["tensor", "float64", "frame", "sparse", "dataset", "named"],
)
def test_inputs_of_many_kinds_train_and_decide(given, module):
    solution, plain = solved(quick(module, epochs=2), given), solved(quick(epochs=2))
    if module is network:
        np.testing.assert_allclose(solution.columns.rates, plain.columns.rates, atol=5e-3)
    assert solution.polish().predict_pmf(given).shape == (N, 3)


def test_whole_numbers_are_looked_up_by_modules_with_an_embedding():
    words = np.random.default_rng(0).integers(0, 20, size=(N, 5))
    labels = (words == 3).sum(axis=1).clip(0, 2)

    class Bag(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bag = torch.nn.EmbeddingBag(20, 4, mode="sum")
            self.out = torch.nn.Linear(4, 3)

        def forward(self, x):
            return self.out(self.bag(x))

    solution = eq.solve(eq.maximize(eq.worst_recall()), words, labels, model=quick(Bag, learning_rate=0.1, epochs=20))
    assert solution.status.objective > 0.9


# -- the estimator and files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["hashed", "deterministic"])
def test_files(tmp_path, output):
    asked = [eq.recall(label="c") >= 0.8, *eq.demographic_parity("group", tolerance=0.1)]
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), asked, model=quick(), output=output, random_state=0)
    clf.fit(X, Y, sensitive_features={"group": GROUP}, sample_weight=np.linspace(0.5, 1.5, N))
    path = tmp_path / "model.equirate"
    clf.save(path)
    with pytest.raises(eq.FileError, match=r"hand its constructor back, equirate.load\(path, module=...\)"):
        eq.load(path)
    again = eq.load(path, module=network)
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    np.testing.assert_array_equal(again.predict_pmf(X), clf.predict_pmf(X))
    with pytest.raises(eq.FileError, match=r"is float32 of shape \(5, 2\), in the file .* \(16, 2\)"):
        eq.load(path, module=lambda: network(width=5))
    with pytest.raises(eq.AlgorithmError, match="was read from a file"):
        again.fit(X, Y, sensitive_features={"group": GROUP})


def test_mixtures_are_saved(tmp_path):
    classifier = solved(quick(epochs=3)).polish()
    save(classifier, tmp_path / "mixture.equirate")
    again = eq.load(tmp_path / "mixture.equirate", module=network)
    np.testing.assert_array_equal(again.predict_pmf(X), classifier.predict_pmf(X))


def test_forged_members_are_refused():
    parity = eq.Problem(eq.minimize(eq.error_rate()), eq.demographic_parity("group", tolerance=0.1))
    solution = eq.solve(parity, X, Y, attributes={"group": GROUP}, model=quick(epochs=1))
    kind, settings, arrays = solution.polish().members.plain(2)
    assert kind == "class_torch"
    read_members(Written(kind, settings, arrays))
    first = next(name for name in arrays if name.startswith("learner.label."))
    forged = [
        (settings, {**arrays, "costs": arrays["costs"][:, :2]}),
        (settings, {**arrays, "costs": arrays["costs"][1:]}),
        (settings, {**arrays, "learner.other.state.0": arrays[first]}),
        (settings, {**arrays, "learner.label.state.99": arrays[first]}),
        (settings, {**arrays, first: np.concatenate([arrays[first]] * 2)}),
        (settings, {name: array for name, array in arrays.items() if name != first}),
        (settings, {**arrays, "more": arrays[first]}),
        ({**settings, "groups_names": None}, arrays),
        ({**settings, "groups_types": None}, arrays),
        ({**settings, "groups_names": None, "groups_types": None}, arrays),
        ({**settings, "label_names": settings["label_names"][1:]}, arrays),
        ({**settings, "label_types": ["object"] * len(settings["label_types"])}, arrays),
        ({**settings, "classes": 4}, arrays),
        ({**settings, "classes": 2}, arrays),
    ]
    for changed, data in forged:
        with pytest.raises(FileError):
            read_members(Written(kind, changed, data))


def test_confidence():
    clf = eq.RateClassifier(
        eq.minimize(eq.error_rate()), [eq.recall(label="c") >= 0.7], model=quick(), confidence=0.95, random_state=0
    ).fit(X, Y)
    assert clf.status_.certified
    Z, z, _ = rings(1, 4000)
    assert clf.evaluate(Z, z).violation == 0


# -- refusals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [1, 2, 4])
def test_a_module_with_another_number_of_scores_is_refused(outputs):
    with pytest.raises(eq.AlgorithmError, match=rf"must give 3 scores .*\(64, 3\); got shape \(64, {outputs}\)"):
        solved(quick(lambda: network(outputs)))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (quick(logit_adjusted=True), "logit_adjusted of TorchModel is for two classes, and y has 3"),
        (quick(checkpoint="folder"), "checkpoint of TorchModel is for two classes"),
        (
            quick(Explodes, epochs=3),
            "became NaN or infinite at step",
        ),
        (BoostedTrees(), "BoostedTrees is for two classes, and y has 3"),
    ],
)
def test_what_is_for_two_classes_is_refused_by_name(model, message):
    with pytest.raises(eq.AlgorithmError, match=message):
        solved(model)


def test_loaders_games_and_algorithms_are_refused():
    loader = DataLoader(TensorDataset(torch.from_numpy(X), torch.arange(N)), batch_size=64)
    with pytest.raises(eq.AlgorithmError, match="folds of the rows, which a DataLoader does not give"):
        solved(quick(), loader)
    with pytest.raises(eq.AlgorithmError, match="a game of two classes"):
        solved(quick(), algorithm="surrogate")
    with pytest.raises(eq.DataError, match="RateGame is for two classes, and y has 3"):
        RateGame(eq.minimize(eq.error_rate()), Y)
    assert of_torch(quick(), 3).capabilities.random
