"""Data before there is a problem: slices, the kinds of rates, examples, features, cells, alignment, splits."""
