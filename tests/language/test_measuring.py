"""Conventions where arithmetic has no answer, and rates that are measured once."""

import numpy as np
import pytest

import equirate as eq
from equirate.data.examples import Examples
from equirate.language.atoms import INV, SQRT
from equirate.language.measuring import applied, measurer, product, quotient, total

INF, NAN = np.inf, np.nan


def test_each_rate_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    plain = Examples.measure
    monkeypatch.setattr(
        Examples, "measure", lambda self, *given: asked.append(given[0].kind.name) or plain(self, *given)
    )
    expr = eq.tpr() + eq.tpr() * eq.fpr() - eq.square(eq.fpr())
    assert expr.evaluate([0, 1, 1, 0], [0, 1, 0, 1]) == pytest.approx(0.5)
    assert asked == ["tpr", "fpr"]


def test_losses_are_given_and_not_measured() -> None:
    examples = Examples.of([0, 1])
    loss = eq.log_loss()
    assert measurer(examples, np.zeros(2), {loss.key: 0.25})(loss) == 0.25
    with pytest.raises(TypeError, match="function of scores, not of predictions"):
        loss.value(measurer(examples, np.zeros(2)))


def test_differences_of_infinities_count_as_zero() -> None:
    with pytest.warns(eq.UndefinedRateWarning, match="'whole' is the difference of two infinite numbers here"):
        assert total([INF, -INF], "whole") == 0
    assert np.isnan(total([NAN, 1.0], "whole"))
    several = total([np.array([INF, INF, NAN, 1.0]), np.array([-INF, 1.0, 1.0, 1.0])], "whole")
    np.testing.assert_array_equal(several, [0, INF, NAN, 2])


def test_zero_times_infinity_is_zero() -> None:
    np.testing.assert_array_equal(product(np.array([0.0, INF, 2.0]), np.array([INF, 0.0, 3.0])), [0, 0, 6])


def test_zero_over_zero_counts_as_zero() -> None:
    with pytest.warns(eq.UndefinedRateWarning, match="'whole' is 0/0 here and counts as 0"):
        assert quotient(0.0, 0.0, "whole") == 0
    np.testing.assert_array_equal(
        quotient(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 2.0]), "whole"), [0, INF, 0.5]
    )


def test_the_text_is_only_made_for_a_warning() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise AssertionError("nothing to warn of")

    assert total([1.0, 2.0], Silent()) == 3
    assert quotient(1.0, 2.0, Silent()) == 0.5


def test_atoms_forgive_rounding_only() -> None:
    np.testing.assert_array_equal(applied(SQRT, [np.array([4.0, -1e-17, -0.1])]), [2, 0, NAN])
    assert applied(INV, [-0.0]) == INF


def test_labels_of_any_two_values_are_told_by_the_positive_one() -> None:
    truth, said = ["no", "yes", "yes", "no"], ["no", "no", "yes", "yes"]
    numbers = [0, 1, 1, 0], [0, 0, 1, 1]
    assert eq.precision().evaluate(truth, said, pos_label="yes") == eq.precision().evaluate(*numbers)
    assert eq.recall().evaluate(truth, said, pos_label="no") == eq.tnr().evaluate(*numbers)
    assert eq.tpr().evaluate(truth, [0.1, 0.4, 0.8, 0.3], pos_label="yes") == pytest.approx(0.6)
    assert eq.fpr().evaluate([2, 1, 1, 2], [2, 2, 1, 1], pos_label=2) == 0.5
    assert (eq.recall() >= 0.9).evaluate(truth, said, pos_label="yes") == pytest.approx(0.4)
    for wrong, positive in ((truth, "maybe"), (["no", "yes", "perhaps", "no"], "yes")):
        with pytest.raises(eq.DataError, match="labels must be that and one other"):
            eq.recall().evaluate(wrong, said, pos_label=positive)
    with pytest.raises(eq.DataError, match="missing value"):
        eq.recall().evaluate(["no", None, "yes", "no"], said, pos_label="yes")
