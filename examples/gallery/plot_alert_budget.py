"""
A budget of alerts
==================

A team can look at 5 % of the cases. Which 5 %? And what would a larger budget bring?

``positive_rate() <= 0.05`` is the budget. The frontier trains once for all budgets.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import equirate as eq

rng = np.random.default_rng(0)
X = rng.normal(size=(12_000, 8))
y = (1.4 * X[:, 0] + X[:, 1] * X[:, 2] + 0.8 * X[:, 3] + rng.normal(size=12_000) > 2.6).astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

# %%
# Every level of a frontier loosens all constraints by that much: a budget of 5 %, 7 %, and so on.
clf = eq.RateClassifier(eq.maximize(eq.recall()), [eq.positive_rate() <= 0.05], random_state=0)
frontier = clf.frontier(X_train, y_train, levels=[0.0, 0.02, 0.05, 0.10, 0.15, 0.20, 0.25])
members = [classifier.positive_probability(X_test) for classifier in frontier.classifiers]
alerts = [eq.positive_rate().evaluate(y_test, p) for p in members]
found = [eq.recall().evaluate(y_test, p) for p in members]
right = [eq.precision().evaluate(y_test, p) for p in members]

# %%
# On test rows: the share of positives that is found, and how many alerts are right.
fig, ax = plt.subplots()
ax.plot(alerts, found, "o-", label="recall: positives that are found")
ax.plot(alerts, right, "s-", label="precision: alerts that are right")
ax.plot([0, 0.3], [0, 0.3], ":", color="0.5", label="alerts at random: recall")
ax.set(
    xlabel="share of cases with an alert",
    ylabel="rate",
    xlim=(0, 0.31),
    ylim=(0, 1),
    title="What a larger budget brings",
)
ax.legend(loc="upper left")
for limit, share in zip((0.05, 0.07, 0.10, 0.15, 0.20, 0.25, 0.30), alerts, strict=True):
    print(f"budget {limit:.0%}: alerts on {share:.1%} of the test rows")
