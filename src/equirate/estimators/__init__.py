"""The scikit-learn estimators, how they choose, their frontier and their files."""
