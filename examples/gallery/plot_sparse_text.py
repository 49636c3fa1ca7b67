"""
Sparse text
===========

A filter for comments learns that some names of groups come with insults, and then flags harmless comments that mention
them. The constraint compares false positive rates. Features are a sparse matrix of word counts.
"""

# %%
# Comments are made up: words, some of them insults, and a name of a group that comes with insults more often.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

import equirate as eq

rng = np.random.default_rng(0)
plain = [f"word{k}" for k in range(100)]
insults = ["idiot", "liar", "trash", "stupid", "awful"]


def comment(toxic, mentions):
    """Words of one comment."""
    words = list(rng.choice(plain, rng.integers(6, 14)))
    words += list(rng.choice(insults, rng.integers(1, 3))) if toxic and rng.random() < 0.75 else []
    words += ["awful"] if not toxic and rng.random() < 0.06 else []
    return " ".join([*words, "martians"] if mentions else words)


n = 16_000
mentions = rng.random(n) < 0.2
toxic = rng.random(n) < np.where(mentions, 0.55, 0.12)
texts = [comment(*each) for each in zip(toxic, mentions, strict=True)]
vectorizer = CountVectorizer(token_pattern=r"\S+")
X = vectorizer.fit_transform(texts)  # scipy.sparse
y = toxic.astype(int)
people = {"mentions": np.where(mentions, "martians", "nobody")}
train, test = np.arange(0, n // 2), np.arange(n // 2, n)

# %%
martians = eq.attr("mentions") == "martians"
fair = eq.RateClassifier(
    eq.minimize(eq.error_rate()), [eq.fpr(martians) <= eq.fpr(~martians) + 0.03], confidence=0.95, random_state=0
)
fair.fit(X[train], y[train], sensitive_features={"mentions": people["mentions"][train]})
usual = LogisticRegression(C=0.3).fit(X[train], y[train])

# %%
# False positive rates on test rows, and what is still found
# ----------------------------------------------------------
told = {"mentions": people["mentions"][test]}
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4))
for k, (name, clf) in enumerate((("logistic regression", usual), ("RateClassifier", fair))):
    p = clf.predict(X[test])
    rates = [eq.fpr(s).evaluate(y[test], p, attributes=told) for s in (martians, ~martians)]
    bars = axes[0].bar(np.arange(2) + 0.36 * (k - 0.5), rates, 0.34, label=f"{name}, error {np.mean(p != y[test]):.3f}")
    axes[0].bar_label(bars, fmt="%.3f", fontsize=8)
    found = [eq.tpr(s).evaluate(y[test], p, attributes=told) for s in (martians, ~martians)]
    axes[1].bar_label(axes[1].bar(np.arange(2) + 0.36 * (k - 0.5), found, 0.34), fmt="%.2f", fontsize=8)
axes[0].set_xticks(range(2), ["mention martians", "others"])
axes[0].set(ylabel="false positive rate", title="Harmless comments that are flagged")
axes[0].legend(fontsize=8)
axes[1].set_xticks(range(2), ["mention martians", "others"])
axes[1].set(ylabel="true positive rate", title="Toxic comments that are flagged")
