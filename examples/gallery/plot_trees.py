"""
Trees, blind and aware
======================

``model="trees"`` trains boosted trees. By default they are *blind*: they decide without looking the group up. With
``groups="group"`` they are *aware*. An aware classifier makes fewer errors at the same gap, and may not be lawful for
your use.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import equirate as eq


def sample(n, seed):
    """A label that depends on an interaction, and a feature that tells the group in part."""
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(n) < 0.4, "b", "a")
    X = rng.normal(size=(n, 5))
    X[:, 2] += 1.2 * (group == "a")
    score = X[:, 0] * X[:, 1] + X[:, 2] + np.abs(X[:, 3]) + 0.7 * (group == "a")
    return X, (score + 0.6 * rng.normal(size=n) > 2.0).astype(int), {"group": group}


X, y, people = sample(5000, seed=0)
X_new, y_new, people_new = sample(20_000, seed=1)
b = eq.attr("group") == "b"
gap = eq.positive_rate(~b) - eq.positive_rate(b)

# %%
# Error and gap on new rows, for three tolerances each. Linear models cannot see the interaction.
fig, ax = plt.subplots()
kinds = {"linear": {}, "trees, blind": {"model": "trees"}, "trees, aware": {"model": "trees", "groups": "group"}}
for name, options in kinds.items():
    points = []
    for tolerance in (0.02, 0.1, 0.2):
        constraints = [gap <= tolerance]
        clf = eq.RateClassifier(eq.minimize(eq.error_rate()), constraints, random_state=0, **options)
        clf.fit(X, y, sensitive_features=people)
        told = {"sensitive_features": people_new} if "groups" in options else {}
        p = clf.predict_pmf(X_new, **told)[:, 1]
        points.append((gap.evaluate(y_new, p, attributes=people_new), eq.error_rate().evaluate(y_new, p)))
    ax.plot(*zip(*points, strict=True), "o-", label=name)
ax.set(xlabel="gap of positive rates, new rows", ylabel="error, new rows", title="Asked for: gaps of 0.02, 0.1 and 0.2")
ax.legend()
