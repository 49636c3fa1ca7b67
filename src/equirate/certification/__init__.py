"""Certification: classifiers that keep their constraints on new rows, by a test that they passed."""
