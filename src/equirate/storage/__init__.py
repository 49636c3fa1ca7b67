"""Storage: saved classifiers, estimators and checkpoints, in files that hold data alone."""
