"""The picture of the README: error against demographic parity on Adult, one training run against thresholds.

Run ``python examples/frontier.py [picture.svg]``; it needs pandas and matplotlib, and takes a minute or so.
"""

import sys

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import equirate as eq
from equirate import datasets

LEVELS = [0.01, 0.03, 0.06, 0.09, 0.12, 0.15, 0.18]

data = datasets.load("adult")
features = data.features.drop(columns=["sex=Female", "sex=Male"])  # an attribute to slice by, and nothing to predict by
X, X_test, y, y_test, people, people_test = train_test_split(
    features, data.label, data.attributes, test_size=1 / 3, random_state=0
)
women = eq.attr("sex") == "Female"
gap = abs(eq.positive_rate(women) - eq.positive_rate(~women))

clf = eq.RateClassifier(eq.minimize(eq.error_rate()), [gap <= 0.0], random_state=0)
frontier = clf.frontier(X, y, sensitive_features=people, levels=LEVELS, test=(X_test, y_test, people_test))
print(frontier)
trained = [(row["violation_test"], row["objective_test"]) for row in frontier.table()]

plain = LogisticRegression(max_iter=2000).fit(X, y)
moved = []
for level in LEVELS:
    post = eq.RatePostprocessor(plain, eq.minimize(eq.error_rate()), [gap <= level])
    p = post.fit(X, y, sensitive_features=people).predict_pmf(X_test)[:, 1]
    moved.append((gap.evaluate(y_test, p, attributes=people_test), eq.error_rate().evaluate(y_test, p)))
start = plain.predict(X_test)
alone = gap.evaluate(y_test, start, attributes=people_test), eq.error_rate().evaluate(y_test, start)
print("thresholds:", moved, "as trained:", alone)

plt.rcParams.update({"svg.fonttype": "none", "font.size": 11})
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.plot(*zip(*moved, strict=True), "s--", color="#888888", label="thresholds on logistic regression")
ax.plot(*zip(*trained, strict=True), "o-", color="#0b6e99", label="RateClassifier.frontier, one run")
ax.plot(*alone, "k*", markersize=11, label="logistic regression")
ax.set_xlabel("difference of positive rates between women and men, test data")
ax.set_ylabel("error, test data")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "frontier.svg", facecolor="white", metadata={"Date": None})
