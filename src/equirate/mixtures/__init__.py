"""The programmes over columns: which mixture of recorded classifiers is best."""
