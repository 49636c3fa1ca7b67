"""
Audit somebody else's predictions
=================================

You have labels, decisions and attributes, and no idea what to look for. :func:`equirate.audit` compares every rate of
every group, and of every pair of groups, with everybody else's. Its intervals hold for all comparisons at once.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equirate as eq
from equirate.datasets import load_compas

compas = load_compas()
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
decided = cross_val_predict(model, compas.features, compas.label, cv=5)  # pretend that somebody sent us these
found = eq.audit(compas.label, decided, attributes=compas.attributes)
print(f"{found.looked_at} differences, {sum(f.clear for f in found.findings)} are more than chance")

# %%
# The twelve surest differences
# -----------------------------
shown = found.findings[:12][::-1]
fig, ax = plt.subplots(figsize=(8.5, 4.6))
for place, finding in enumerate(shown):
    colour = "tab:red" if finding.difference < 0 else "tab:blue"
    ax.plot([finding.low, finding.high], [place, place], color=colour, linewidth=2)
    ax.plot(finding.difference, place, "o", color=colour)
ax.axvline(0, color="0.2", linewidth=0.8)
ax.set_yticks(range(len(shown)), [f"{f.rate}, {f.group} ({f.examples:,})" for f in shown], fontsize=8)
ax.set(xlabel="rate of the group less that of everybody else", title="COMPAS: the surest differences")
