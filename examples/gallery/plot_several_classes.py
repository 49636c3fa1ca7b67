"""
Several classes
===============

The rarest of six classes are seldom predicted by a classifier that is right as often as possible. What does it cost to
find at least half of every class?

``label=`` names a class in any rate; ``worst_recall()`` is the smallest recall of all classes.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import equirate as eq

rng = np.random.default_rng(0)
names = np.array(["ash", "birch", "elm", "lime", "oak", "pine"])
y = rng.choice(6, size=6000, p=[0.34, 0.26, 0.18, 0.11, 0.07, 0.04])
centres = rng.normal(size=(6, 4))
X = centres[y] + rng.normal(size=(6000, 4))
X_train, X_test, y_train, y_test = train_test_split(X, names[y], test_size=0.5, stratify=y, random_state=0)

# %%
# Be right as often as possible, with a recall of at least one half for every class.
clf = eq.RateClassifier(
    eq.maximize(eq.accuracy()),
    [eq.worst_recall() >= 0.5],
    random_state=0,
).fit(X_train, y_train)
print(clf.report(X_test, y_test))

# %%
# The floor is met on training rows; the rarest classes have too few of them to meet it on test rows exactly. With
# ``confidence=0.95`` it would be met with a margin, or the classifier would say that it cannot be certified.
#
# Beside the largest probability of a logistic regression, on test rows: the recall of every class.
plain = LogisticRegression(max_iter=500).fit(X_train, y_train).predict(X_test)
before = [np.mean(plain[y_test == name] == name) for name in names]
pmf = clf.predict_pmf(X_test)
after = [pmf[y_test == name, k].mean() for k, name in enumerate(clf.classes_)]

fig, ax = plt.subplots(layout="constrained")
places = np.arange(len(names))
ax.bar(places - 0.2, before, 0.4, label="largest probability")
ax.bar(places + 0.2, after, 0.4, label="worst_recall() >= 0.5")
ax.set_xticks(places, [f"{name}\n{np.mean(y_test == name):.0%}" for name in names])
ax.set(xlabel="class, and its share of the labels", ylabel="recall", ylim=(0, 1), title="Recall of every class")
ax.legend(loc="upper right")
print(f"smallest recall: {min(before):.2f} by the largest probability, {min(after):.2f} with worst_recall() >= 0.5")
