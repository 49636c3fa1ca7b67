"""Reports: what was asked and what was achieved, for a person."""
