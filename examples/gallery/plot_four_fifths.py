"""
The four-fifths rule
====================

The rule of US employment law compares selection rates: that of each group is to be at least four fifths of the largest.
As a constraint, ``positive_rate(women) >= 0.8 * positive_rate(~women)``.

The data are a part of Adult: who earns more than 50,000 dollars. Sex is not a feature.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import equirate as eq
from equirate.datasets import load_adult

adult = load_adult()
rows = np.random.default_rng(0).choice(adult.n_rows, 12_000, replace=False)
X = adult.features.iloc[rows]
X = X[[name for name in X.columns if "sex" not in name.lower() and "gender" not in name.lower()]]
y, people = adult.label[rows], adult.attributes.iloc[rows]
X_train, X_test, y_train, y_test, people_train, people_test = train_test_split(
    X, y, people, test_size=0.5, random_state=0
)

# %%
# The same classifier, without and with the rule
# ----------------------------------------------
women = eq.attr("sex") == "Female"
rule = eq.positive_rate(women) >= 0.8 * eq.positive_rate(~women)
plain = eq.RateClassifier(eq.minimize(eq.error_rate()), random_state=0)
fair = eq.RateClassifier(eq.minimize(eq.error_rate()), [rule], random_state=0)
for clf in (plain, fair):
    clf.fit(X_train, y_train, sensitive_features=people_train)
print(fair.report(X_test, y_test, sensitive_features=people_test))

# %%
# Offers by sex on test rows, and the price in errors
# ---------------------------------------------------
fig, axes = plt.subplots(1, 2, sharey=True, figsize=(8, 3.6))
for ax, clf, title in zip(axes, (plain, fair), ("without the rule", "with the rule"), strict=True):
    p = clf.predict_pmf(X_test)[:, 1]
    rates = [eq.positive_rate(s).evaluate(y_test, p, attributes=people_test) for s in (women, ~women)]
    error = eq.error_rate().evaluate(y_test, p)
    ax.bar(["women", "men"], rates, color=["tab:purple", "tab:orange"], width=0.6)
    ax.axhline(0.8 * rates[1], color="0.2", linestyle=":", label="four fifths of the men's rate")
    ax.set_title(f"{title}\nratio {rates[0] / rates[1]:.2f}, error {error:.3f}")
axes[0].set_ylabel("predicted above 50,000 dollars")
axes[1].legend(loc="upper left")
axes[0].set_ylim(0, 0.33)

# %%
# To promise the rule for people who are not in the data, add ``confidence=0.95``. ``make demo`` tells that story.
