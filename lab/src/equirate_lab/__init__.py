"""The laboratory beside equirate: the paper's experiments, and benchmarks against other libraries."""
