"""Promises with a confidence level: what is certified is what is deployed, the method is said, and so is the price."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import equirate as eq
from equirate.certification import holdout
from equirate.certification.constraint_test import ConstraintTest
from equirate.certification.folds import K, cross_fit, excess_on_unseen_rows
from equirate.certification.holdout import hold_out
from equirate.certification.margins import FoldMixtures
from equirate.certification.methods import constraint_test_of
from equirate.data.sample import Sample
from equirate.judge.certify import estimate
from equirate.problem.table import problem_cells
from equirate.training.settings import Settings
from equirate.training.training import Training

rng = np.random.default_rng(11)
N = 1000
G = (rng.random(N) < 0.4).astype(int)
Y = (rng.random(N) < np.where(G == 1, 0.5, 0.35)).astype(int)
X = rng.normal(size=(N, 3)) + np.outer(Y, [1.2, 0.8, 0.0]) + np.outer(G, [0.3, 0.0, 1.0])
PEOPLE = {"g": G}
IN = eq.attr("g") == 1
PARITY = abs(eq.positive_rate(IN) - eq.positive_rate(~IN)) <= 0.12
ERROR = eq.minimize(eq.error_rate())
GAME = {"n_rounds": 150, "theta_step": 0.1, "lambda_step": (0.03, 0.1)}


def fitted(*constraints, **options):
    return eq.RateClassifier(ERROR, list(constraints), confidence=0.95, random_state=2, **options).fit(
        X, Y, sensitive_features=PEOPLE
    )


@pytest.fixture(scope="module")
def cross() -> eq.RateClassifier:
    return fitted(PARITY)


@pytest.fixture(scope="module")
def strict() -> eq.RateClassifier:
    return fitted(abs(eq.positive_rate(IN) - eq.positive_rate(~IN)) <= 0.2, confidence_method="holdout")


def test_what_is_deployed_is_the_uniform_mixture_of_the_folds(cross) -> None:
    weights = cross.weights_
    assert weights.sum() == pytest.approx(1)
    # Every fold's share is a fifth: the members stand fold by fold.
    ends = np.flatnonzero(
        np.isclose(np.cumsum(weights) * K % 1, 0, atol=1e-9) | np.isclose(np.cumsum(weights) * K % 1, 1, atol=1e-9)
    )
    assert len(ends) >= K
    assert cross.certification_.examples == N
    assert cross.certification_.method == "cross"
    # Out-of-fold numbers are those of rows that were not seen: near to, and not the same as, the deployed one's here.
    told = cross.evaluate(X, Y, sensitive_features=PEOPLE)
    assert cross.status_.objective != told.objective
    assert cross.status_.objective == pytest.approx(told.objective, abs=0.03)


def test_a_certificate_is_about_every_constraint_and_within_bounds(cross) -> None:
    said = cross.certification_
    assert said.certified
    assert [row.verdict for row in said.constraints] == ["pass"]
    assert said.constraints[0].high <= 0
    assert said.objective >= said.plain_objective - 0.02
    assert "cross" in cross.status_.certificate
    assert "not proven" in str(cross.status_)


def test_the_first_line_says_whether_it_is_certified(cross) -> None:
    assert str(cross.status_).startswith("certified; constraints met; objective")
    assert str(cross.report(X, Y, sensitive_features=PEOPLE)).startswith("Certified at 95%")
    single = cross.to_deterministic()
    assert str(single.status_).startswith("NOT certified; constraints met; objective")
    assert str(single.report(X, Y, sensitive_features=PEOPLE)).startswith("Not certified at 95%")


@pytest.mark.parametrize("name", ["cross", "strict"])
def test_report_and_file_say_which_method_and_the_price(name, request, tmp_path) -> None:
    estimator = request.getfixturevalue(name)
    text = " ".join(str(estimator.report(X, Y, sensitive_features=PEOPLE)).split())
    assert f"Certified at 95% ({'cross' if name == 'cross' else 'holdout'}" in text
    assert "The price of the certificate" in text
    plain = estimator.report(X, Y, sensitive_features=PEOPLE).to_dict()
    assert plain["certification"]["objective"] == estimator.certification_.objective
    assert "price of the certificate" in plain["certificate"]
    assert "price of the certificate" in estimator.report()._repr_html_()
    estimator.save(tmp_path / "model")
    loaded = eq.load(tmp_path / "model")
    assert loaded.certification_ == estimator.certification_
    assert loaded.status_ == estimator.status_
    np.testing.assert_array_equal(loaded.predict_pmf(X), estimator.predict_pmf(X))


def test_a_certified_report_does_not_say_that_it_cannot_be() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(120, 3))
    labels = (features[:, 0] + rng.normal(size=120) > 0).astype(int)
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), [eq.precision() >= 0.7], confidence=0.95, random_state=0)
    clf.fit(features, labels)
    assert clf.certification_.certified
    assert "cannot be certified" in clf.certification_.power[0]  # at the assumed rates; this classifier is better
    assert "can be certified" not in str(clf.report(features, labels))
    assert "cannot be certified" not in str(clf.report(features, labels))
    strict = eq.RateClassifier(eq.minimize(eq.error_rate()), [eq.precision() >= 0.9], confidence=0.95, random_state=0)
    with pytest.warns(UserWarning, match="not certified"):
        strict.fit(features, labels)
    text = " ".join(str(strict.report(features, labels)).split())
    assert "what so many examples can certify with a chance of 80%, at a recall of 0.8" in text
    assert "cannot be certified" in text


def test_one_classifier_made_of_a_cross_fitted_mixture_is_not_certified(cross) -> None:
    single = cross.to_deterministic()
    assert single.status_.certified is False
    assert any('certifies the mixture (output="hashed")' in note for note in single.notes_)
    assert "Not certified" in str(single.report(X, Y, sensitive_features=PEOPLE))


def test_the_strict_method_tests_rows_of_its_own(strict) -> None:
    said = strict.certification_
    assert said.method == "holdout"
    assert said.certified
    assert said.examples == pytest.approx(N / 2, abs=3)
    assert "proven for every number of examples" in said.sentence
    if strict.to_deterministic().status_.certified is False:
        assert any("did not" in note for note in strict.to_deterministic().notes_)


def test_the_strict_method_refuses_what_it_has_no_exact_bounds_for() -> None:
    with pytest.raises(eq.EquirateError, match='use confidence_method="cross"'):
        fitted(eq.kl_divergence(IN) <= 0.1, confidence_method="holdout")
    weighted = eq.RateClassifier(ERROR, [PARITY], confidence=0.9, confidence_method="holdout", random_state=2)
    with pytest.raises(eq.EquirateError, match='use confidence_method="cross"'):
        weighted.fit(X, Y, sensitive_features=PEOPLE, sample_weight=1 + G)


@pytest.mark.parametrize(
    "constraint",
    [eq.kl_divergence(IN) <= 0.05, abs(eq.f1(IN) - eq.f1(~IN)) <= 0.25, eq.precision() >= 0.5, eq.recall(IN) >= 0.5],
    ids=["KL", "F1 parity", "precision", "recall"],
)
def test_every_kind_of_constraint_can_be_certified(constraint) -> None:
    assert fitted(constraint).status_.certified


@pytest.mark.parametrize("game", [{}, GAME], ids=["column generation", "a game"])
def test_weights_enter(game) -> None:
    estimator = eq.RateClassifier(ERROR, [eq.positive_rate() <= 0.5], confidence=0.9, random_state=2, **game)
    estimator.fit(X, Y, sensitive_features=PEOPLE, sample_weight=np.where(G == 1, 3.0, 1.0))
    assert estimator.status_.certified


@pytest.mark.parametrize("method", ["cross", "holdout"])
def test_a_game_certifies_the_same_way(method) -> None:
    limit = abs(eq.positive_rate(IN) - eq.positive_rate(~IN)) <= 0.2
    estimator = fitted(limit, confidence_method=method, **GAME)
    assert estimator.certification_.certified
    assert estimator.certification_.method == method


def test_many_features_choose_on_another_fold_than_they_train_on() -> None:
    wide = np.hstack([X, rng.normal(size=(N, 117))])  # fewer than 10 rows a feature
    estimator = eq.RateClassifier(ERROR, [eq.positive_rate() <= 0.45], confidence=0.9, random_state=2).fit(
        wide, Y, sensitive_features=PEOPLE
    )
    assert estimator.status_.certified


def test_groups_that_are_too_few_to_deal_out_give_the_plain_classifier() -> None:
    few = np.zeros(N, dtype=int)
    few[np.flatnonzero(Y)[:1]] = 1
    estimator = eq.RateClassifier(ERROR, [eq.tpr(eq.attr("few") == 1) >= 0.5], confidence=0.9, random_state=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        estimator.fit(X, Y, sensitive_features={"few": few})
    assert estimator.status_.certified is False
    assert any("too few" in note for note in estimator.notes_)


@pytest.mark.parametrize("method", ["cross", "holdout"])
def test_thresholds_certify_the_same_way(method, tmp_path) -> None:
    post = eq.RatePostprocessor(
        LogisticRegression(),
        ERROR,
        [eq.positive_rate() <= 0.5],
        confidence=0.95,
        confidence_method=method,
        random_state=0,
    ).fit(X, Y)
    assert post.status_.certified
    assert post.certification_.method == method
    assert post.certification_.examples == {"cross": N // 2, "holdout": N // 4}[method]  # new to what serves
    assert "Certified at 95%" in str(post.report(X, Y))
    post.save(tmp_path / "model")
    assert eq.load(tmp_path / "model").certification_ == post.certification_


def test_an_oracle_certifies_with_a_training_for_each_fold_and_says_so_beforehand(capsys) -> None:
    estimator = eq.RateClassifier(
        ERROR,
        [eq.positive_rate() <= 0.5],
        model=LogisticRegression(),
        n_rounds=6,
        confidence=0.9,
        verbose=True,
        random_state=0,
    ).fit(X, Y)
    assert estimator.status_.certified
    told = capsys.readouterr().err
    assert "confidence: training 1 of 5, each without one fold (about" in told
    assert "training 5 of 5" in told


def held_out_training(labels_of_test_rows=None) -> Training:
    """A training with a test part: few rows per feature, so that the mixture fits its own rows closely."""
    problem = eq.Problem(ERROR, [PARITY, eq.recall() >= 0.7])
    noise = np.random.default_rng(5).normal(size=(N, 40))
    estimator = eq.RateClassifier(
        ERROR, problem.constraints, confidence=0.95, confidence_method="holdout", random_state=2
    )
    sample = Sample.of(np.hstack([X, noise]), Y, PEOPLE)
    training = Training.of(Settings.of(estimator), problem, sample, problem_cells(problem, sample.examples), 0)
    if labels_of_test_rows is None:
        return training
    labels = training.sample.examples.labels.copy()
    labels[training.parts.test] = labels_of_test_rows
    changed = Sample.of(training.sample.X, labels, training.sample.examples.columns)
    return replace(training, sample=changed, cells=problem_cells(problem, changed.examples))


def test_training_rows_alone_show_how_much_larger_violations_are_on_unseen_rows() -> None:
    training = held_out_training()
    excess = excess_on_unseen_rows(training)
    assert excess.shape == (3,)  # the two sides of parity, and recall
    assert (excess >= 0).all()
    assert 0.005 < excess[2] < 0.2
    test = training.sample.examples.labels[training.parts.test]
    np.testing.assert_array_equal(excess_on_unseen_rows(held_out_training(1 - test)), excess)


def test_every_margin_of_a_test_part_is_wider_by_that(monkeypatch) -> None:
    kept = []

    def recorded(constraint_test, parts, excess):
        mixture = parts[0].mixture(0.0, excess)
        kept.append((excess, parts[0].values(mixture)))

    monkeypatch.setattr(holdout, "run_sequence", recorded)
    training = held_out_training()
    hold_out(training, training.solve_on_training()[1], "exact")
    [(excess, values)] = kept
    assert (values <= 2e-3 - excess).all()


def test_only_candidates_that_depend_on_the_rows_of_the_test_are_corrected_for_several_constraints() -> None:
    training = held_out_training()
    solution = training.solve_on_training()[1]
    assert hold_out(training, solution, "approximate").constraint_test.correction is None
    assert cross_fit(training, solution, 0.0).constraint_test.correction == "holm"


# -- the standard errors of mixtures -------------------------------------------------------------


def parts_of(constraint) -> tuple[ConstraintTest, FoldMixtures, np.ndarray]:
    """A trial, the columns of one part on all rows, and a mixture of them."""
    settings = Settings.of(eq.RateClassifier(ERROR, [constraint], confidence=0.95, validation=0.0, random_state=2))
    problem = eq.Problem(ERROR, [constraint])
    sample = Sample.of(X, Y, PEOPLE)
    training = Training.of(settings, problem, sample, problem_cells(problem, sample.examples), 0)
    _, solution = training.solve_on_training()
    trial = constraint_test_of(training, "approximate")
    rows = np.arange(N)
    where = {"inside": rows, "test": rows, "size": N, "over_normal": np.zeros(len(trial.parts))}
    part = FoldMixtures(trial, solution, **where)
    mu = np.random.default_rng(1).dirichlet(np.full(len(part.members), 0.3))
    return trial, part, mu


@pytest.mark.parametrize(
    "constraint",
    [PARITY, eq.precision(IN) >= 0.6, eq.recall() >= 0.9 * eq.base_rate(), abs(eq.f1(IN) - eq.f1(~IN)) <= 0.1],
    ids=["parity", "precision", "recall and a base rate", "F1 parity"],
)
def test_forms_are_the_squared_standard_errors_of_mixtures(constraint) -> None:
    trial, part, mu = parts_of(constraint)
    part.last = mu
    errors = part.margins(1.0).errors(mu)
    decided = part.members.decide(trial.sample.X) @ mu
    for residual, error in zip(trial.residuals, errors, strict=True):
        found = estimate(residual.expr, trial.sample.examples, decided)
        # The estimate counts what could have gone unseen, too: a little more, less than one example.
        assert error == pytest.approx(found.error, rel=0.05, abs=1 / N)
        assert error <= found.error * (1 + 1e-3) or constraint.residual.curvature.name != "AFFINE"


def test_a_mixture_keeps_its_margin() -> None:
    trial, part, _ = parts_of(PARITY)
    for share in (1.5, 0.5):
        mu = part.mixture(share)
        decided = part.members.decide(trial.sample.X) @ mu
        for residual in trial.residuals:
            found = estimate(residual.expr, trial.sample.examples, decided)
            assert found.value + share * trial.z * found.error <= 2e-3
    # However wide the margin, saying nearly the same to everybody keeps it: nothing varies then.
    assert np.ptp(part.members.decide(trial.sample.X) @ part.mixture(100.0)) < 0.1
