"""
Equal precision, equal F1
=========================

Equal error rates are not always what is asked for. If a positive prediction is an invitation, each group may ask that
an invitation is worth as much to it as to others: equal *precision*. Precision and F1 are ratios of rates, which most
libraries cannot constrain in training.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import equirate as eq
from equirate.datasets import load_compas

compas = load_compas()
X, y, people = compas.features, compas.label, compas.attributes[["sex"]]
X_train, X_test, y_train, y_test, people_train, people_test = train_test_split(
    X, y, people, test_size=0.5, random_state=1
)

# %%
# Three problems on the same data
# -------------------------------
problems = {
    "no constraints": [],
    "equal precision": eq.predictive_parity("sex", tolerance=0.02),
    "equal F1": eq.f1_parity("sex", tolerance=0.02),
}
women = eq.attr("sex") == "Female"
shown = {"precision": eq.precision, "F1": eq.f1}
values = {}
for name, constraints in problems.items():
    clf = eq.RateClassifier(eq.maximize(eq.f1()), constraints, random_state=0)
    clf.fit(X_train, y_train, sensitive_features=people_train)
    p = clf.predict_pmf(X_test)[:, 1]
    values[name] = {
        what: [rate(s).evaluate(y_test, p, attributes=people_test) for s in (women, ~women)]
        for what, rate in shown.items()
    }

# %%
# On test rows
# ------------
# There are about 590 women among the test rows, so differences of a few hundredths are chance.
fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.6), sharey=True)
place = np.arange(len(problems))
for ax, what in zip(axes, shown, strict=True):
    for k, (group, colour) in enumerate((("women", "tab:purple"), ("men", "tab:orange"))):
        heights = [values[name][what][k] for name in problems]
        bars = ax.bar(place + 0.36 * (k - 0.5), heights, 0.34, color=colour, label=group)
        ax.bar_label(bars, fmt="%.2f", fontsize=8)
    ax.set_xticks(place, problems, fontsize=9)
    ax.set_title(f"{what} on test rows")
axes[0].set_ylim(0, 0.85)
axes[0].legend(loc="lower left")
