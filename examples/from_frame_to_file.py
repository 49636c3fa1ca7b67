"""From a data frame to a saved classifier: the worked example of docs/guide.md, on the bundled COMPAS data."""

from pathlib import Path
from tempfile import mkdtemp

from sklearn.model_selection import train_test_split

import equirate as eq
from equirate import datasets

data = datasets.load("compas")
X, y, people = data.features, data.label, data.attributes
X_train, X_test, y_train, y_test, people_train, people_test = train_test_split(
    X, y, people, test_size=1 / 3, random_state=0
)

women = eq.attr("sex") == "Female"
clf = eq.RateClassifier(
    eq.maximize(eq.f1()),
    [eq.f1(women) >= eq.f1(~women) - 0.02, eq.positive_rate() <= 0.5],
    random_state=0,
)
clf.fit(X_train, y_train, sensitive_features=people_train)

print(clf.report(X_test, y_test, sensitive_features=people_test))

path = Path(mkdtemp()) / "model.equirate"
clf.save(path)
same = eq.load(path)
print("\nloaded:", (same.predict(X_test) == clf.predict(X_test)).all(), "- members:", len(same.weights_))
