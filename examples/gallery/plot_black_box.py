"""
A metric of your own
====================

The metric need not be convex, and need not have a formula: :func:`equirate.black_box` takes any Python function of up
to three rates that rises or falls with each. Here a bank pays for reviews in blocks, and fraud that is missed costs
more the more of it there is.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import equirate as eq


def bill(fpr, fnr):
    """Reviews are bought in steps; missed fraud costs more than in proportion."""
    reviews = np.ceil(np.asarray(fpr) / 0.08) * 0.08
    return 2.0 * reviews + 1.5 * np.asarray(fnr) ** 1.5


rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 5))
y = (X[:, 0] + 0.8 * X[:, 1] + 0.9 * rng.normal(size=6000) > 1.3).astype(int)
cost = eq.black_box(bill, eq.fpr(), eq.fnr(), increasing=True)
clf = eq.RateClassifier(eq.minimize(cost), random_state=0).fit(X, y)
least_error = eq.RateClassifier(eq.minimize(eq.error_rate()), random_state=0).fit(X, y)

# %%
# The metric over the plane of the two rates, and where the classifiers lie
# -------------------------------------------------------------------------
a, b = np.meshgrid(np.linspace(0, 0.5, 201), np.linspace(0, 0.8, 201))
fig, ax = plt.subplots()
levels = ax.contourf(a, b, bill(a, b), levels=14, cmap="viridis_r")
fig.colorbar(levels, ax=ax, label="bill")
cuts = np.quantile(X[:, 0] + 0.8 * X[:, 1], np.linspace(0.3, 0.99, 80))
curve = [(X[:, 0] + 0.8 * X[:, 1] > cut).astype(int) for cut in cuts]
rates = [(eq.fpr().evaluate(y, p), eq.fnr().evaluate(y, p)) for p in curve]
ax.plot(*zip(*rates, strict=True), color="white", linewidth=2, label="thresholds on the true direction")
for name, model, mark in (("least bill", clf, "*"), ("least error", least_error, "s")):
    p = model.predict_pmf(X)[:, 1]
    where = eq.fpr().evaluate(y, p), eq.fnr().evaluate(y, p)
    ax.plot(
        *where, mark, color="tab:red", markersize=13, markeredgecolor="white", label=f"{name}: bill {bill(*where):.3f}"
    )
ax.set(xlabel="false positive rate", ylabel="false negative rate", xlim=(0, 0.5), ylim=(0, 0.8))
ax.legend(facecolor="0.35", labelcolor="white")
