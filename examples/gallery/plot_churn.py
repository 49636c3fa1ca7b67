"""
Replace a model without surprises
=================================

A new model is to replace the one in production. Every decision that changes has to be explained to somebody. *Churn* is
the share of decisions that change; *wins* are changes that are right, *losses* are changes that are wrong.

The predictions of the old model are given as an attribute, and constraints are about them.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import equirate as eq

rng = np.random.default_rng(1)
X = rng.normal(size=(10_000, 6))
y = (X[:, 0] + 0.9 * X[:, 1] - 0.7 * X[:, 2] + 0.5 * X[:, 3] + 0.5 * rng.normal(size=10_000) > 0.3).astype(int)
train, test = train_test_split(np.arange(len(y)), test_size=0.5, random_state=0)
old = LogisticRegression().fit(X[train][:, :2], y[train])  # the model in production knew two features
decided = {"old": old.predict(X[:, :2])}
before = {"old": decided["old"][train]}
after = {"old": decided["old"][test]}

# %%
# The frontier trains once for all limits of churn.
clf = eq.RateClassifier(eq.minimize(eq.error_rate()), [eq.churn("old") <= 0.02], random_state=0)
levels = [0.0, 0.02, 0.04, 0.06, 0.10, 0.14]
frontier = clf.frontier(X[train], y[train], sensitive_features=before, levels=levels)

wins, losses, errors = [], [], []
for classifier in frontier.classifiers:
    p = classifier.positive_probability(X[test])
    wins.append(eq.wins("old").evaluate(y[test], p, attributes=after))
    losses.append(eq.losses("old").evaluate(y[test], p, attributes=after))
    errors.append(eq.error_rate().evaluate(y[test], p))

# %%
# The first changes are almost all wins. With a larger limit more of them are losses.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
limits = [f"{0.02 + level:.0%}" for level in levels]
left.bar(limits, wins, color="tab:green", label="wins")
left.bar(limits, -np.array(losses), color="tab:red", label="losses")
left.axhline(0, color="black", linewidth=0.8)
left.set(xlabel="limit of churn", ylabel="share of all decisions", title="Decisions that change")
left.legend()
right.plot(limits, errors, "o-", label="new model")
right.axhline(eq.error_rate().evaluate(y[test], after["old"]), linestyle=":", color="0.4", label="model in production")
right.set(xlabel="limit of churn", ylabel="error on test rows", title="What a larger limit brings")
right.legend()
