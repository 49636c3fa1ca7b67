"""
One deterministic classifier from a mixture
===========================================

The best answer to constraints on rates is often a *mixture*: a few classifiers and a probability for each.
``output="deterministic"`` makes one classifier of it that keeps the constraints by itself. Two features show what that
means.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import equirate as eq

rng = np.random.default_rng(3)
n = 3000
sex = rng.choice(["women", "men"], n)
X = rng.normal(size=(n, 2)) + np.where(sex == "men", 0.9, 0.0)[:, None] * [1.0, -0.2]
y = (X[:, 0] + 0.6 * X[:, 1] + 0.8 * rng.normal(size=n) > 0.6).astype(int)
women = eq.attr("sex") == "women"
constraints = eq.equalized_odds([women, ~women], tolerance=0.05)

# %%
# Fit the mixture once. ``to_deterministic`` needs no second training.
mixture = eq.RateClassifier(eq.minimize(eq.error_rate()), constraints, random_state=0)
mixture.fit(X, y, sensitive_features={"sex": sex})
single = mixture.to_deterministic()

# %%
# The probability of predicting 1 over the plane
# ----------------------------------------------
grid = np.stack(np.meshgrid(np.linspace(-3.5, 4.5, 220), np.linspace(-3.5, 3.5, 220)), axis=-1)
cells = grid.reshape(-1, 2)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.9), sharey=True)
for ax, clf, title in zip(axes, (mixture, single), ("mixture", "deterministic"), strict=True):
    p = clf.predict_pmf(cells)[:, 1].reshape(grid.shape[:2])
    image = ax.pcolormesh(grid[..., 0], grid[..., 1], p, cmap="RdBu_r", vmin=0, vmax=1, shading="auto", rasterized=True)
    served = clf.predict_pmf(X)[:, 1]
    gaps = [(rate(~women) - rate(women)).evaluate(y, served, attributes={"sex": sex}) for rate in (eq.tpr, eq.fpr)]
    error = eq.error_rate().evaluate(y, served)
    some = slice(0, 250)
    ax.scatter(*X[some].T, c=np.where(y[some], "black", "white"), s=9, edgecolor="0.3", linewidth=0.4)
    ax.set_title(f"{title}: error {error:.4f}\nlargest gap {max(map(abs, gaps)):.4f}")
    ax.set_xlabel("first feature")
axes[0].set_ylabel("second feature")
fig.colorbar(image, ax=axes, label="probability of predicting 1")
depends = np.mean((mixture.predict_pmf(X)[:, 1] > 0) & (mixture.predict_pmf(X)[:, 1] < 1))
print(f"{len(mixture.weights_)} members; the decision of {depends:.1%} of the rows depends on the draw")
