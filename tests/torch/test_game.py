"""`RateGame` in loops of one's own: losses, accumulation, several optimisers, snapshots, state, bad input."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import equirate as eq
from equirate.data.sample import Sample
from equirate.models import Linear, Rows
from equirate.players.steps import ADAM
from equirate.torch import RateGame, load_checkpoint, save, save_checkpoint

N = 600
rng = np.random.default_rng(1)
X = torch.from_numpy(rng.normal(size=(N, 3)).astype(np.float32))
GROUP = np.where(rng.random(N) < 0.4, "a", "b")
Y = (X[:, 0].numpy() ** 2 + 0.4 * (GROUP == "a") + 0.3 * rng.normal(size=N) > 0.8).astype(int)
A, B = eq.attr("group") == "a", eq.attr("group") == "b"
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()), [abs(eq.positive_rate(A) - eq.positive_rate(B)) <= 0.05])


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def game_of(problem=PROBLEM, held_out=None, **settings):
    return RateGame(problem, Y, attributes={"group": GROUP}, held_out=held_out, **settings)


def train(game, module, epochs=12, size=50, optimizer=None, snapshot_from=4):
    optimizer = optimizer or torch.optim.Adam(module.parameters(), lr=0.02)
    order = np.random.default_rng(0)
    for epoch in range(epochs):
        for index in np.array_split(order.permutation(N), N // size):
            loss = game(module(X[index]), torch.from_numpy(index))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            game.step()
        if epoch >= snapshot_from:
            game.snapshot(module)
    return game


def test_the_loss_of_all_rows_is_the_surrogate_lagrangian_with_the_linear_models_gradient():
    game = game_of(problem=eq.Problem(eq.minimize(eq.error_rate() + 0.3 * eq.log_loss(A)), PROBLEM.constraints))
    module = torch.nn.Linear(3, 1)
    loss = game(module(X), torch.arange(N))
    loss.backward()
    rows = Rows.of(Sample(X.numpy(), game.table.examples), game.table.cells)
    linear = Linear().bind(rows, 1, ADAM, [0])
    linear.W = np.append(module.weight.detach().numpy()[0], module.bias.item())[:, None].astype(np.float32)
    linear.answer(game.turn.asked)
    found = np.append(module.weight.grad.numpy()[0], module.bias.grad.item())
    np.testing.assert_allclose(found, linear.slope[:, 0], rtol=1e-5, atol=1e-6)
    with torch.no_grad():
        module.bias += 1e-2
        up = game(module(X), torch.arange(N))
        module.bias -= 2e-2
        down = game(module(X), torch.arange(N))
    assert float(up - down) / 2e-2 == pytest.approx(module.bias.grad.item(), abs=2e-3)  # the value goes with its slope


def test_gradients_that_are_accumulated_are_those_of_the_whole_batch():
    game, module, rows = game_of(), network(), torch.arange(200)
    (game(module(X[rows]), rows)).backward()
    whole = module[0].weight.grad.clone()
    module.zero_grad()
    for part in rows.split(50):
        (game(module(X[part]), part) / 4).backward()
    torch.testing.assert_close(module[0].weight.grad, whole)


def test_a_batch_without_a_group_has_a_loss_and_keeps_what_is_known_of_the_group():
    game, module = game_of(), network()
    game(module(X), torch.arange(N))
    before = game.ledger.estimate()
    others = torch.from_numpy(np.flatnonzero(GROUP == "b")[:20])
    loss = game(module(X[others]), others)
    assert torch.isfinite(loss)
    np.testing.assert_array_equal(game.ledger.estimate(), before)


def test_a_loop_of_ones_own_keeps_its_constraint_and_exact_rates_are_exact():
    game, module = game_of(), network()
    train(game, module)
    classifier = game.finish(module, X)
    found = classifier.evaluate(PROBLEM, X, Y, attributes={"group": GROUP})
    assert max(found["violations"]) <= 1e-3
    assert found["objective"] < 0.2
    assert game.status.objective == pytest.approx(found["objective"])
    assert game.status.feasible
    assert classifier.notes["status"] is game.status
    assert set(game.multipliers) == {f"{j}: {part!r}" for j, (_, part) in enumerate(game.table.program.parts)}


def test_without_inputs_the_status_says_that_rates_are_remembered():
    game, module = game_of(), network()
    classifier = train(game, module).finish(module)
    assert any("remembered predictions" in line for line in game.status.advice)
    found = classifier.evaluate(PROBLEM, X, Y, attributes={"group": GROUP})
    assert found["objective"] == pytest.approx(game.status.objective, abs=0.03)


def test_the_sampler_puts_rare_rows_into_every_batch_of_a_loader():
    rare = np.where(np.arange(N) % 100 == 7, "rare", "other")

    class Rows(Dataset):
        def __len__(self):
            return N

        def __getitem__(self, row):
            return X[row], row

    group = eq.attr("rare") == "rare"
    game = RateGame(eq.Problem(eq.maximize(eq.g_mean()), [eq.tpr(group) >= 0.5]), Y, attributes={"rare": rare})
    loader = DataLoader(Rows(), batch_sampler=game.sampler(30, least=1))
    module = network()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(3):
        for inputs, index in loader:
            assert (rare[index] == "rare").any()
            loss = game(module(inputs), index)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            game.step()
    assert not len(game.ledger.unseen())
    assert np.isfinite(game.game.multipliers.lam).all()


def test_several_optimisers_and_ordinary_losses_beside_rates():
    game, module = game_of(lambda_step=0.5, every=2), network()
    body, head = (torch.optim.SGD(part.parameters(), lr=0.1) for part in (module[0], module[2]))
    for epoch in range(6):
        for index in torch.randperm(N, generator=torch.Generator().manual_seed(epoch)).split(60):
            scores = module(X[index])[:, 0]
            labels = torch.from_numpy(Y[index.numpy()]).float()
            ordinary = torch.nn.functional.binary_cross_entropy_with_logits(scores, labels)
            body.zero_grad()
            head.zero_grad()
            (game(scores, index) + 0.5 * ordinary).backward()
            body.step()
            head.step()
            game.step()
    assert game.rounds == 30  # every second of sixty batches
    game.finish(module, X)


def test_held_out_rows_are_measured_and_not_trained_on():
    held = np.arange(N) % 3 == 0
    game, module = game_of(held_out=held), network()
    loss = game(module(X[held]), torch.from_numpy(np.flatnonzero(held)))
    loss.backward()
    assert loss.item() == 0
    assert not module[0].weight.grad.any()
    game.measure(module(X[held]), np.flatnonzero(held))
    np.testing.assert_allclose(
        game.ledger.sums[:, 0], game.cells.sums((module(X).detach().numpy() > 0) & held[:, None])[:, 0]
    )
    training = torch.from_numpy(np.flatnonzero(~held))
    assert game(module(X[training]), training).item() > 0


def test_a_state_is_resumed_as_if_nothing_had_happened(tmp_path):
    whole, module = game_of(), network()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    train(whole, module, 6, optimizer=optimizer, snapshot_from=2)
    other, again = game_of(), network()
    moving = torch.optim.Adam(again.parameters(), lr=0.02)
    train(other, again, 3, optimizer=moving, snapshot_from=2)
    path = tmp_path / "checkpoint.pt"
    assert load_checkpoint(path, game=other) is None
    save_checkpoint(path, game=other, module=again, optimizer=moving, epoch=3)
    fresh, copy = game_of(), network()
    copied = torch.optim.Adam(copy.parameters(), lr=0.02)
    assert load_checkpoint(path, game=fresh, module=copy, optimizer=copied)["epoch"] == 3
    order = np.random.default_rng(0)
    for _ in range(3):
        order.permutation(N)
    for _ in range(3):
        for index in np.array_split(order.permutation(N), N // 50):
            loss = fresh(copy(X[index]), torch.from_numpy(index))
            copied.zero_grad()
            loss.backward()
            copied.step()
            fresh.step()
        fresh.snapshot(copy)
    np.testing.assert_array_equal(fresh.game.multipliers.lam, whole.game.multipliers.lam)
    one, two = (game.finish(net, X) for game, net in ((whole, module), (fresh, copy)))
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one.positive_probability(X), two.positive_probability(X))
    with pytest.raises(eq.DataError, match="the state is of another game"):
        RateGame(eq.maximize(eq.g_mean()), Y).load_state_dict(fresh.state_dict())
    with pytest.raises(eq.FileError, match="holds no 'other'"):
        load_checkpoint(path, other=module)


def test_a_mixture_is_saved_and_loaded_with_the_constructor(tmp_path):
    game, module = game_of(), network()
    classifier = train(game, module, 3, snapshot_from=0).finish(module, X)
    save(classifier, tmp_path / "mixture.equirate")
    again = eq.load(tmp_path / "mixture.equirate", module=network)
    np.testing.assert_array_equal(again.positive_probability(X), classifier.positive_probability(X))
    assert repr(again.problem) == repr(classifier.problem)
    with pytest.raises(eq.FileError, match="save takes a classifier"):
        save(module, tmp_path / "other")
    with pytest.raises(eq.FileError, match="hand its constructor back"):
        eq.load(tmp_path / "mixture.equirate")


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "index", "message"),
    [
        (torch.zeros(3, 2), [0, 1, 2], r"one number for each of the 3 rows of index.*got \(3, 2\)"),
        (torch.zeros(2), [0, 1, 2], r"got \(2,\)"),
        (np.zeros(3), [0, 1, 2], "got ndarray"),
        (torch.tensor([0.0, float("nan"), 1.0]), [4, 5, 6], r"NaN or infinite at batch 1 \(row 5\)"),
        (torch.zeros(3), [0, 1, N], f"index has row {N}, but y has {N} rows"),
        (torch.zeros(3), [0, -1, 2], "index has row -1"),
        (torch.zeros(3), [0, 7, 7], "row 7 twice in one batch"),
        (torch.zeros(3), [0.0, 1.0, 2.0], "whole numbers"),
        (torch.zeros(3, device="meta"), [0, 1, 2], "device 'meta'"),
    ],
    ids=["shape", "length", "array", "nan", "range", "negative", "twice", "float", "device"],
)
def test_bad_batches_are_refused(scores, index, message):
    with pytest.raises(eq.EquirateError, match=message):
        game_of()(scores, torch.tensor(index))


def test_rows_that_were_never_seen_are_named():
    game, module = game_of(), network()
    game(module(X[:590]), torch.arange(590))
    game.step()
    with pytest.raises(eq.DataError, match=r"10 of 600 rows were never seen \(rows 590, 591, 592, 593, 594, ...\)"):
        game.finish(module)
    assert game.finish(module, X).weights.sum() == pytest.approx(1)


def test_ordinary_losses_need_the_inputs_at_the_end():
    game, module = game_of(eq.minimize(eq.log_loss())), network()
    game(module(X), torch.arange(N))
    game.step()
    with pytest.raises(eq.DataError, match=r"has log_loss\(\), which remembered predictions do not tell"):
        game.finish(module)
    assert game.finish(module, X) is not None


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"algorithm": "oracle"}, eq.AlgorithmError, "oracle needs a best response"),
        ({"algorithm": "spade_plus"}, eq.AlgorithmError, "surrogate rates of all rows"),
        ({"every": 0}, eq.AlgorithmError, "every must be a whole number"),
        ({"lambda_step": (0.1, 1.0)}, eq.AlgorithmError, "lambda_step must be one number"),
        ({"lambda_step": "theory"}, eq.AlgorithmError, "give a number"),
        ({"held_out": np.ones(N, bool)}, eq.DataError, "some of the rows, and not all"),
        ({"held_out": [N]}, eq.DataError, f"index has row {N}"),
        ({"problem": "error"}, TypeError, "RateGame takes a Problem"),
        ({"problem": eq.minimize(eq.positive_rate(eq.attr("group") == "c"))}, eq.DataError, "has no value .c."),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        game_of(**settings)


def test_the_status_says_on_which_rows():
    trained, module = game_of(), network()
    train(trained, module, 5)
    trained.finish(module, X)
    assert "rows that the module was trained on" in str(trained.status)
    assert any("held_out" in line for line in trained.status.advice)
    held, module = game_of(held_out=0.25), network()
    train(held, module, 5)
    held.finish(module, X)
    share = (held.cells.weights > 0).mean()
    assert share == pytest.approx(0.25, abs=0.02)
    assert not ((held.cells.weights > 0) & (held.trained.weights > 0)).any()
    assert "held-out rows" in str(held.status)
    with pytest.raises(eq.DataError, match="between 0 and 1"):
        game_of(held_out=1.5)
    with pytest.raises(eq.DataError, match='"auto"'):
        game_of(held_out="some")


def test_by_default_rows_are_held_out_where_enough_are_left():
    game, module = RateGame(PROBLEM, Y, attributes={"group": GROUP}), network()
    held = game.cells.weights > 0
    assert held.mean() == pytest.approx(0.25, abs=0.02)
    assert (held ^ (game.trained.weights > 0)).all()
    train(game, module, 5)
    mixture = game.finish(module, X)
    assert "held-out rows" in str(game.status)
    held_out_error = eq.error_rate().evaluate(Y[held], mixture.positive_probability(X[held]))
    assert game.status.objective == pytest.approx(held_out_error)
    rare = np.where(np.arange(N) < 8, "yes", "no")  # a quarter of 8 is too few to judge a rate on
    problem = eq.Problem(eq.maximize(eq.g_mean()), [eq.positive_rate(eq.attr("rare") == "yes") <= 0.5])
    few, module = RateGame(problem, Y, attributes={"rare": rare}), network()
    assert (few.cells.weights > 0).all()
    train(few, module, 5)
    few.finish(module, X)
    assert any("held_out" in line for line in few.status.advice)


def test_a_batch_stands_for_all_trained_rows_whoever_else_is_in_it():
    game, module = game_of(held_out=0.25), network()
    held = np.flatnonzero(game.cells.weights > 0)[:40]
    trained = np.flatnonzero(game.trained.weights > 0)[:60]
    alone = game(module(X[trained]), trained)
    among = game(module(X[np.append(trained, held)]), np.append(trained, held))
    assert float(among.detach()) == pytest.approx(float(alone.detach()), rel=1e-5)


def test_the_sampler_of_a_game_has_the_rows_that_multipliers_see():
    game, module = game_of(held_out=0.25), network()
    batches = list(game.sampler(50))
    assert set(np.concatenate(batches)) == set(range(N))
    whole = game_of(held_out=0.25)
    rows = np.flatnonzero(whole.trained.weights > 0)
    expected = float(whole(module(X[rows]), rows).detach())
    found = np.mean([float(game(module(X[batch]), batch).detach()) for batch in batches])
    assert found == pytest.approx(expected, rel=0.05)


def test_a_state_of_other_held_out_rows_is_refused() -> None:
    def game(held_out: object) -> RateGame:
        return RateGame(PROBLEM.objective, Y, held_out=held_out)

    state = game(np.arange(100)).state_dict()
    game(np.arange(100)).load_state_dict(state)
    for other in (np.arange(1, 101), None, 0.25):
        with pytest.raises(eq.DataError, match=r"held out other rows: give the same held_out="):
            game(other).load_state_dict(state)
    old = {key: value for key, value in state.items() if key != "trained"}  # of an earlier version
    game(None).load_state_dict(old)
