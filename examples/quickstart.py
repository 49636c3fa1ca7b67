"""The largest F1 under two constraints, on data made up here."""

import numpy as np

import equirate as eq

rng = np.random.default_rng(0)
sex = rng.choice(["Female", "Male"], size=3000)
X = rng.normal(size=(3000, 5))
X[:, 1] += 1.5 * (sex == "Male")  # sex is not a feature, but this one tells
y = (X[:, 0] + X[:, 1] + rng.normal(size=3000) > 2).astype(int)
train, test = slice(0, 2000), slice(2000, 3000)

women = eq.attr("sex") == "Female"
problem = eq.Problem(
    eq.maximize(eq.f1()),
    [eq.recall(women) >= eq.recall(~women) - 0.02, eq.positive_rate() <= 0.25],  # each costs something
)
solution = eq.solve(problem, X[train], y[train], attributes={"sex": sex[train]})
print(solution.status)

classifier = solution.polish()  # the best mixture of what was found
print(classifier.predict(X[test])[:10])  # needs no attributes
print(classifier.evaluate(problem, X[test], y[test], attributes={"sex": sex[test]}))
