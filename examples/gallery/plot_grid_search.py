"""
Choose with GridSearchCV
========================

``eq.scorer(objective, constraints)`` scores an estimator by what you are judged by. A classifier that breaks the
constraints loses against one that meets them. Here it chooses the strength of the penalty before thresholds are set.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import equirate as eq

rng = np.random.default_rng(0)
X = rng.normal(size=(1200, 6))
y = (X[:, 0] * X[:, 1] + X[:, 2] + 0.7 * rng.normal(size=1200) > 1.1).astype(int)
objective, constraints = eq.maximize(eq.recall()), [eq.positive_rate() <= 0.2]

# %%
# The estimator is any scikit-learn classifier; :class:`~equirate.RatePostprocessor` puts thresholds on its scores.
pipeline = make_pipeline(StandardScaler(), PolynomialFeatures(), LogisticRegression(max_iter=500))
clf = eq.RatePostprocessor(pipeline, objective, constraints, cv=3, random_state=0)
grid = {
    "estimator__polynomialfeatures__degree": [1, 2],
    "estimator__logisticregression__C": [0.003, 0.03, 0.3],
}
with sklearn.config_context(enable_metadata_routing=False):
    search = GridSearchCV(clf, grid, scoring=eq.scorer(objective, constraints), cv=3, n_jobs=1).fit(X, y)
print(search.best_params_)

# %%
# Interactions pay. A score counts recall, less a penalty where there are more than 20 % alerts.
scores = np.array(search.cv_results_["mean_test_score"]).reshape(3, 2)
spread = np.array(search.cv_results_["std_test_score"]).reshape(3, 2)
fig, ax = plt.subplots()
for k, degree in enumerate((1, 2)):
    ax.errorbar([0.003, 0.03, 0.3], scores[:, k], spread[:, k], marker="o", capsize=3, label=f"degree {degree}")
ax.set(
    xscale="log", xlabel="C of the logistic regression", ylabel="score", title="Recall with alerts on 20 %, three folds"
)
ax.legend(title="polynomial features")
