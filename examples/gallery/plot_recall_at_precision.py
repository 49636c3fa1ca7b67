"""
The largest recall at a precision of 0.9
========================================

Alerts go to a team that stops reading them when too many are wrong. So at least 90 % of all alerts must be right, and
as many positives as possible must be found: *recall at precision 0.9*.

A threshold on a score is the usual answer. :class:`~equirate.RateClassifier` trains for the problem itself.
"""

# %%
# Data and problem
# ----------------
# One row in eight is positive. The problem is written as it is said.
import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_curve
from sklearn.model_selection import train_test_split

import equirate as eq

X, y = make_classification(12_000, 12, n_informative=6, weights=[0.88], class_sep=1.6, flip_y=0.01, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

clf = eq.RateClassifier(eq.maximize(eq.recall()), [eq.precision() >= 0.9], random_state=0)
clf.fit(X_train, y_train)
print(clf.report(X_test, y_test))

# %%
# Beside a plain threshold
# ------------------------
# Logistic regression at 0.5 has no reason to stop at a precision of 0.9. Its whole curve shows what a threshold on its
# score could reach on the test rows, if one knew where to put it.
plain = LogisticRegression().fit(X_train, y_train)
precision, recall, _ = precision_recall_curve(y_test, plain.predict_proba(X_test)[:, 1])


def point(probability):
    """Recall and precision of predictions, or of a mixture's probabilities of predicting 1."""
    return eq.recall().evaluate(y_test, probability), eq.precision().evaluate(y_test, probability)


fig, ax = plt.subplots()
ax.plot(recall, precision, color="0.6", label="thresholds on logistic regression")
ax.plot(*point(plain.predict(X_test)), "s", markersize=9, label="logistic regression at 0.5")
ax.plot(*point(clf.predict_pmf(X_test)[:, 1]), "o", markersize=11, label="RateClassifier")
ax.axhline(0.9, color="tab:red", linestyle=":", label="asked for")
ax.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0.5, 1.01), title="Recall at precision 0.9, test rows")
ax.legend(loc="lower left")

# %%
# The precision on test rows may fall a little below 0.9: the constraint holds on the rows given to ``fit``. To keep it
# on new rows, ask for ``confidence=0.95``; see :ref:`sphx_glr_gallery_plot_certified.py`.
