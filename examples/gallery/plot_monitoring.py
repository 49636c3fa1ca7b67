"""
Monitoring
==========

A classifier is in use, and labels arrive. :class:`~equirate.Monitor` follows its constraints. Its bounds hold at all
times together, so you may look after every batch. Here the recall of one group falls after 6,000 rows.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import equirate as eq

rng = np.random.default_rng(0)
women = eq.attr("sex") == "women"
monitor = eq.Monitor([eq.recall(women) >= eq.recall(~women) - 0.1, eq.positive_rate() <= 0.5])


def batch(size, recall_of_women):
    """Decisions as served, with the labels that came in."""
    sex = rng.choice(["women", "men"], size)
    y = (rng.random(size) < 0.4).astype(int)
    recall = np.where(sex == "women", recall_of_women, 0.8)
    decided = np.where(y == 1, rng.random(size) < recall, rng.random(size) < 0.1).astype(int)
    return decided, y, {"sex": sex}


# %%
# Forty batches
# -------------
course = []
for day in range(40):
    decided, y, people = batch(300, recall_of_women=0.8 if day < 20 else 0.55)
    monitor.update(decided, y, attributes=people)
    course.append([(line.estimate, line.lower, line.upper, line.verdict) for line in monitor.status()])
for line in monitor.status():
    print(line)

# %%
# The bounds of the violation over time. Below 0 the constraint is kept; an alarm is raised when the lower bound is
# above 0.
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), sharey=True)
rows = 300 * np.arange(1, 41)
for k, (ax, title) in enumerate(zip(axes, ("recall of women", "positive rate"), strict=True)):
    estimate, lower, upper = np.array([[line[k][i] for line in course] for i in range(3)], dtype=float)
    verdicts = [line[k][3] for line in course]
    ax.fill_between(rows, np.clip(lower, -1, 1), np.clip(upper, -1, 1), alpha=0.25)
    ax.plot(rows, estimate, label="violation so far")
    ax.axhline(0, color="0.2", linewidth=0.8)
    if "broken" in verdicts:
        first = rows[verdicts.index("broken")]
        ax.axvline(first, color="tab:red", label=f"alarm after {first:,} rows")
    if k == 0:
        ax.axvline(6000, color="0.4", linestyle=":", label="the change")
    ax.set(xlabel="rows", title=title, ylim=(-0.35, 0.35))
    ax.legend(loc="upper left", fontsize=8)
axes[0].set_ylabel("violation")
