"""Linear-Gaussian networks."""
