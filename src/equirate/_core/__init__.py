"""What every package uses and nobody else needs to know: errors, seeds, hashes, threads, compiled kernels."""
