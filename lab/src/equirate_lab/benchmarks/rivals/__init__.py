"""Scripts for the rivals' own interpreters, run by file path and never imported by equirate.

Each imports its library and NumPy when it is run, and nothing of equirate. `benchmarks.environments` starts
them.
"""
