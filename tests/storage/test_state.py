"""What skops keeps of an estimator is the content of a file; pickle and copy keep everything."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equirate as eq

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))
Y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0.3).astype(int)
PROBLEM = (eq.maximize(eq.g_mean()), [eq.positive_rate() <= 0.4, eq.max(eq.fpr(), eq.fnr()) <= 0.6])
CLASSIFIER = eq.RateClassifier(*PROBLEM, n_rounds=30, random_state=0)
ESTIMATORS = {
    "classifier": CLASSIFIER,
    "thresholds": eq.RatePostprocessor(LogisticRegression(), *PROBLEM, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), CLASSIFIER),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_skops_trusts_the_public_list_and_no_more(name: str) -> None:
    skops = pytest.importorskip("skops.io")
    fitted = ESTIMATORS[name].fit(X, Y)
    written = skops.dumps(fitted)
    assert set(skops.get_untrusted_types(data=written)) <= set(eq.SKOPS_TRUSTED)
    loaded = skops.loads(written, trusted=list(eq.SKOPS_TRUSTED))
    assert (loaded.predict(X) == fitted.predict(X)).all()


def test_pickle_and_copy_keep_everything() -> None:
    fitted = CLASSIFIER.fit(X, Y)
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), copy.copy(fitted)):
        assert other.__dict__.keys() == fitted.__dict__.keys()
        assert (other.predict(X) == fitted.predict(X)).all()
    fresh = eq.RateClassifier(*PROBLEM, n_rounds=30)
    assert pickle.loads(pickle.dumps(fresh)).n_rounds == 30


def test_the_state_of_another_estimator_is_refused() -> None:
    state: Any = CLASSIFIER.fit(X, Y).__getstate__()
    with pytest.raises(eq.FileError, match="state is that of a RateClassifier"):
        eq.RatePostprocessor(None, *PROBLEM).__setstate__(state)
    with pytest.raises(eq.FileError):
        eq.RateClassifier(*PROBLEM).__setstate__({"equirate_file": b"nothing"})
