"""Selection: which classifiers are made of the columns that were found, and what each of them is worth."""
