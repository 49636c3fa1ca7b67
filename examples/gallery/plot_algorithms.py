"""
The paper's algorithms side by side
===================================

Each algorithm of the paper is a choice of three players. They are there by name. Here three of them play the same
problem, and the figure shows the *equilibrium gap*: how far the mixture of all iterates so far is from the optimum, as
excess of the objective plus violation. Column generation, the default, gives the optimum to compare with.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

import equirate as eq
from equirate.datasets import load_compas

compas = load_compas()
X = StandardScaler().fit_transform(compas.features)
y, people = compas.label, compas.attributes
women = eq.attr("sex") == "Female"
problem = eq.Problem(
    eq.minimize(eq.error_rate()), [eq.positive_rate(women) >= eq.positive_rate(~women) - 0.05, eq.tpr() >= 0.6]
)

# %%
# The optimum of the mixtures that column generation finds.
reference = eq.solve(problem, X, y, attributes=people)
optimum, _ = reference.value_of(reference.polish())
print(f"error under the constraints: {optimum:.4f}")

# %%
# Rates of a uniform mixture are means of the rates of its members, so the gap after every round follows from the
# record.
fig, ax = plt.subplots()
for name in ("surrogate", "oracle", "proxy_lagrangian"):
    played = eq.solve(
        problem, X, y, attributes=people, algorithm=name, n_rounds=300, theta_step=0.05, lambda_step=0.3, record_every=5
    )
    columns = played.columns
    rates = np.cumsum(columns.rates, axis=1) / np.arange(1, columns.rates.shape[1] + 1)
    minimised, violations = played.values(rates)
    gap = np.maximum(minimised - optimum, 0) + np.maximum(violations.max(axis=0), 0)
    rounds = np.linspace(1, 300, len(gap))
    ax.plot(rounds, np.maximum(gap, 1e-4), label=name)
ax.set(
    xlabel="round",
    ylabel="gap of the mixture of all iterates",
    yscale="log",
    title="COMPAS: error under two constraints",
)
ax.legend()
