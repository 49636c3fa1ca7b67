"""
The whole trade-off from one training run
=========================================

How much accuracy does parity cost? ``clf.frontier`` trains once for many tolerances and draws the curve, on training
and on test rows.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

import equirate as eq
from equirate.datasets import load_compas

compas = load_compas()
X, y, people = compas.features, compas.label, compas.attributes[["race"]]
X_train, X_test, y_train, y_test, people_train, people_test = train_test_split(
    X, y, people, test_size=0.4, random_state=0
)

# %%
# The constraint is equal opportunity with a tolerance of 0. Level 0.05 of the frontier then allows a gap of 0.05.
black = eq.attr("race") == "African-American"
clf = eq.RateClassifier(
    eq.minimize(eq.error_rate()), eq.equal_opportunity([black, ~black], tolerance=0.0), random_state=0
)
frontier = clf.frontier(
    X_train,
    y_train,
    sensitive_features=people_train,
    levels=[0.0, 0.03, 0.06, 0.1, 0.14, 0.18, 0.22],
    test=(X_test, y_test, people_test),
)
print(frontier)

# %%
fig, ax = plt.subplots()
eq.FrontierDisplay.from_frontier(frontier, ax=ax)
ax.set(title="COMPAS: error against the gap of true positive rates by race")
