"""The language of rates: curvature, atoms, expressions, the catalogue of rates, parity, rewrites and refusals."""
