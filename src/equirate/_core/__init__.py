"""Internals that every package uses: errors, seeds, hashes, threads, compiled kernels."""
