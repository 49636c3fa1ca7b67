"""
Thresholds on a model that you have
===================================

You have a trained classifier and do not want to train again. :class:`~equirate.RatePostprocessor` puts thresholds on
its scores: one for everybody, or one for each group. The choice is exact, and the classifier stays as it is.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

import equirate as eq


def sample(n, seed):
    """Rows of two groups, one with lower scores."""
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(n) < 0.35, "b", "a")
    X = rng.normal(size=(n, 4))
    X[:, 0] -= 0.8 * (group == "b")
    return X, (X[:, 0] + 0.6 * X[:, 1] + rng.normal(size=n) > 0.3).astype(int), {"group": group}


X_old, y_old, _ = sample(4000, seed=0)
trained = RandomForestClassifier(150, min_samples_leaf=20, random_state=0).fit(X_old, y_old)

# %%
# Thresholds are chosen on rows that the classifier has not seen.
X, y, people = sample(4000, seed=1)
clf = eq.RatePostprocessor(
    FrozenEstimator(trained),
    eq.minimize(eq.error_rate()),
    eq.equal_opportunity("group", tolerance=0.02),
    groups="group",
    random_state=0,
)
clf.fit(X, y, sensitive_features=people)
print(clf.status_)

# %%
# The scores of positive rows by group, and the probability of predicting 1 at each score
# ----------------------------------------------------------------------------------------
X_new, y_new, people_new = sample(8000, seed=2)
scores = trained.predict_proba(X_new)[:, 1]
p = clf.predict_pmf(X_new, sensitive_features=people_new)[:, 1]
fig, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4.6))
for ax, name, colour in zip(axes, ("a", "b"), ("tab:blue", "tab:orange"), strict=True):
    own = people_new["group"] == name
    ax.hist(scores[own & (y_new == 1)], bins=40, range=(0, 1), color=colour, alpha=0.5, density=True)
    order = np.argsort(scores[own])
    twin = ax.twinx()
    twin.plot(scores[own][order], p[own][order], color="black", linewidth=1.5)
    twin.set(ylim=(-0.05, 1.05), ylabel="P(predict 1)")
    recall = eq.tpr(eq.attr("group") == name).evaluate(y_new, p, attributes=people_new)
    ax.set(ylabel="positive rows", title=f"group {name}: true positive rate {recall:.3f} on new rows")
axes[1].set_xlabel("score of the random forest")
