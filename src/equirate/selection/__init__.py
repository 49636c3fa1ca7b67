"""Selection: which classifiers are made from the columns, and their objective and violations."""
