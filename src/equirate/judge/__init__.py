"""Judging: how sure we are of a rate, and what follows for a constraint."""
