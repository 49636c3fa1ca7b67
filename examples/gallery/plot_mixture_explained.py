"""
Explain a mixture to somebody who is decided upon
=================================================

A mixture draws one of a few classifiers. For most people all members agree, and chance plays no part. For the others,
the draw is made by a hash of their row or key, and is always the same. ``clf.explain`` says which case somebody is.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import equirate as eq

rng = np.random.default_rng(5)
n = 4000
sex = rng.choice(["women", "men"], n)
X = pd.DataFrame({"income": rng.normal(3.0, 1.0, n), "years": rng.normal(6.0, 3.0, n), "debt": rng.normal(1.0, 0.7, n)})
X["income"] += 0.8 * (sex == "men")
y = (X["income"] + 0.2 * X["years"] - X["debt"] + 0.8 * rng.normal(size=n) > 4.0).astype(int)
women = eq.attr("sex") == "women"
clf = eq.RateClassifier(eq.maximize(eq.f1()), eq.equalized_odds([women, ~women], tolerance=0.05), random_state=0)
clf.fit(X, y, sensitive_features={"sex": sex})

# %%
# Three people
# ------------
# One for whom all members agree on yes, one on no, and one for whom they differ.
p = clf.predict_pmf(X)[:, 1]
somebody = [int(np.argmax(p == 1)), int(np.argmax(p == 0)), int(np.argmin(np.abs(p - 0.5)))]
for person, reason in zip(somebody, clf.explain(X.iloc[somebody]), strict=True):
    print(f"person {person}: {reason}\n")

# %%
# How many decisions depend on the draw
# -------------------------------------
score = X["income"] + 0.2 * X["years"] - X["debt"]
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=[3, 2])
left.scatter(score, p, s=6, c=np.where((p > 0) & (p < 1), "tab:red", "tab:blue"), alpha=0.5)
left.set(xlabel="income + 0.2 years - debt", ylabel="probability of yes", title="All people")
parts = [np.mean(p == 1), np.mean((p > 0) & (p < 1)), np.mean(p == 0)]
names = ["all members\nsay yes", "depends on\nthe draw", "all members\nsay no"]
bars = right.bar(names, parts, color=["tab:blue", "tab:red", "tab:blue"])
right.bar_label(bars, fmt="{:.0%}")
right.tick_params(axis="x", labelsize=8)
right.set(title="Share of people", ylim=(0, 1))
